//! `untether doctor`: what could not be watched, and whether this machine has what is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anstream::println;
use serde::Serialize;
use untether_model::{Note, Refusal, Withheld, WithheldKind};
use untether_runner::{RunnerError, agent_library, find_java};
use untether_store::{Store, StoreError};
use untether_wire::normalised;

use crate::arguments::{DoctorArguments, Format};
use crate::error::Error;
use crate::style;
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
    withheld: Vec<Withheld>,
}

pub(crate) fn run(store: &Path, request: &DoctorArguments) -> Result<u8, Error> {
    let jvms = match Store::open_to_read(store).and_then(|store| store.latest_run()) {
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
                withheld: d.launch.withheld,
            })
            .collect(),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let refinements = Store::open_to_read(store).and_then(|store| store.refinements()).unwrap_or_default();
    let unrunnable = refinements.into_iter().next().map(|last| last.unrunnable).unwrap_or_default();
    let agent = agent_library();
    let document = Document {
        version: JSON_VERSION,
        java: find_java(None).ok().map(|path| path.display().to_string()),
        agent: agent.as_ref().ok().map(|path| path.display().to_string()),
        jvms,
        unrunnable,
    };
    if request.format == Format::Json {
        println!("{}", serde_json::to_string_pretty(&document).map_err(|e| Error::Failed(e.to_string()))?);
    } else {
        print(&document, agent.err());
    }
    Ok(u8::from(document.java.is_none() || document.agent.is_none()) * 3)
}

fn print(document: &Document, no_agent: Option<RunnerError>) {
    println!(
        "java:  {}",
        document.java.as_deref().unwrap_or("not found: install a JDK of 17 or newer or set JAVA_HOME")
    );
    let no_agent = no_agent.map(|error| error.to_string()).unwrap_or_default();
    println!("agent: {}", document.agent.as_deref().unwrap_or(&no_agent));
    if document.jvms.is_empty() {
        println!("no run yet: 'untether detect' makes one");
    }
    print_jvms(&document.jvms);
    print_findings(&document.jvms);
    print_withheld(&document.jvms);
    print_unrunnable(document);
}

/// JVMs that are alike are one line.
fn print_jvms(jvms: &[JvmView]) {
    let mut alike: Vec<(String, usize)> = Vec::new();
    for jvm in jvms {
        let end = if jvm.is_complete { String::new() } else { format!(": {}", style::doubtful("ended abruptly")) };
        let text = format!("JVM {} in {}{end}", style::heading(&jvm.java_version), jvm.directory);
        match alike.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => alike.push((text, 1)),
        }
    }
    if !alike.is_empty() {
        println!();
    }
    for (text, count) in alike {
        println!("{text}{}", if count > 1 { format!(" ({count} times)") } else { String::new() });
    }
}

/// Each thing once, with the number of JVMs that it was seen in where it was not all of them.
fn print_findings(jvms: &[JvmView]) {
    let mut found: Vec<(String, usize)> = Vec::new();
    for jvm in jvms {
        let notes = jvm.notes.iter().map(|note| format!("{}: {}", note.kind, note.text));
        let refusals = jvm.refusals.iter().map(|r| format!("not watched: {} {}: {}", r.class, r.method, r.reason));
        let all: BTreeSet<String> = notes.chain(refusals).collect();
        for text in all {
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, count)) => *count += 1,
                None => found.push((text, 1)),
            }
        }
    }
    if !jvms.is_empty() {
        println!();
    }
    for (text, count) in &found {
        let extent = if *count < jvms.len() { format!(" (in {count} of {} JVMs)", jvms.len()) } else { String::new() };
        println!("{text}{}", style::aside(extent));
    }
    if !jvms.is_empty() && found.is_empty() && jvms.iter().all(|jvm| jvm.is_complete) {
        println!("{}", style::good("everything was watched"));
    }
}

/// What workers will lack unless it is in our environment when they are started.
fn print_withheld(jvms: &[JvmView]) {
    let withheld: BTreeSet<&Withheld> = jvms.iter().flat_map(|jvm| &jvm.withheld).collect();
    if withheld.is_empty() {
        return;
    }
    println!();
    println!(
        "values that were not kept, as they may be secrets; 'untether refine' takes them from its own environment:"
    );
    for Withheld { kind, name } in withheld {
        let place = match kind {
            WithheldKind::Environment => format!("environment variable {name}"),
            WithheldKind::Property => {
                format!("system property {name} (from {} in the environment)", normalised(name))
            }
            WithheldKind::Argument => format!("argument {name} (not needed again)"),
        };
        println!("  {place}");
    }
}

fn print_unrunnable(document: &Document) {
    for (reason, tests) in &document.unrunnable {
        println!();
        println!("not run in every order by the last refinement ({reason}):");
        for test in tests {
            println!("  {test}");
        }
    }
}
