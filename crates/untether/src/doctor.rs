//! `untether doctor`: what could not be watched, and whether this machine has what is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use untether_model::{Note, Refusal};
use untether_runner::{agent_library, find_java};
use untether_store::{Store, StoreError};

use crate::arguments::{DoctorArguments, Format};
use crate::error::Error;
use crate::view::JSON_VERSION;

#[derive(Serialize)]
struct Document {
    version: u32,
    java: Option<String>,
    agent: Option<String>,
    jvms: Vec<JvmView>,
    /// Why the last refinement could not run tests as it wanted, and which.
    unrunnable: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Serialize)]
struct JvmView {
    java: String,
    java_version: String,
    directory: String,
    is_complete: bool,
    notes: Vec<Note>,
    refusals: Vec<Refusal>,
}

pub(crate) fn run(store: &Path, request: &DoctorArguments) -> Result<u8, Error> {
    let jvms = match Store::open(store).and_then(|store| store.latest_run()) {
        Ok(run) => run
            .detections
            .into_iter()
            .map(|d| JvmView {
                java: d.launch.java,
                java_version: d.launch.java_version,
                directory: d.launch.directory,
                is_complete: d.is_complete,
                notes: d.notes,
                refusals: d.refusals,
            })
            .collect(),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let refinements = Store::open(store).and_then(|store| store.refinements()).unwrap_or_default();
    let unrunnable = refinements.into_iter().next().map(|last| last.unrunnable).unwrap_or_default();
    let document = Document {
        version: JSON_VERSION,
        java: find_java(None).ok().map(|path| path.display().to_string()),
        agent: agent_library().ok().map(|path| path.display().to_string()),
        jvms,
        unrunnable,
    };
    if request.format == Format::Json {
        println!("{}", serde_json::to_string_pretty(&document).map_err(|e| Error::Failed(e.to_string()))?);
    } else {
        print(&document);
    }
    Ok(u8::from(document.java.is_none() || document.agent.is_none()) * 3)
}

fn print(document: &Document) {
    println!(
        "java:  {}",
        document.java.as_deref().unwrap_or("not found: install a JDK of 17 or newer or set JAVA_HOME")
    );
    println!("agent: {}", document.agent.as_deref().unwrap_or("not found beside the untether executable"));
    if document.jvms.is_empty() {
        println!("no run yet: 'untether detect' makes one");
    }
    for jvm in &document.jvms {
        println!();
        println!("JVM {} in {}", jvm.java_version, jvm.directory);
        if !jvm.is_complete {
            println!("  ended abruptly");
        }
        for note in &jvm.notes {
            println!("  {}: {}", note.kind, note.text);
        }
        for refusal in &jvm.refusals {
            println!("  not watched: {} {}: {}", refusal.class, refusal.method, refusal.reason);
        }
        if jvm.is_complete && jvm.notes.is_empty() && jvm.refusals.is_empty() {
            println!("  everything was watched");
        }
    }
    for (reason, tests) in &document.unrunnable {
        println!();
        println!("not run in every order by the last refinement ({reason}):");
        for test in tests {
            println!("  {test}");
        }
    }
}
