//! What could not be watched, and whether the machine has what is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Result, Write};

use serde::Serialize;
use untether_model::{Detection, Note, Refusal, Withheld, WithheldKind};
use untether_wire::normalised;

use crate::json::{JSON_VERSION, write_document};
use crate::style;
use crate::text::count;

/// What `doctor` looks at.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Health {
    pub java: Option<String>,
    pub agent: Option<String>,
    /// Why there is none.
    #[serde(skip)]
    pub no_agent: String,
    pub store: Remembered,
    /// Those of the last run.
    pub jvms: Vec<JvmHealth>,
    /// Why the last refinement could not run tests as it wanted, and which.
    pub unrunnable: BTreeMap<String, BTreeSet<String>>,
}

/// How much is remembered.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Remembered {
    pub bytes: u64,
    /// Test classes of which it is known what they use.
    pub classes: u64,
    /// Each is of one content of what a test class uses: branches have their own.
    pub records: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct JvmHealth {
    java: String,
    java_version: String,
    directory: String,
    is_complete: bool,
    notes: Vec<Note>,
    refusals: Vec<Refusal>,
    withheld: Vec<Withheld>,
}

impl Health {
    /// Whether there is what watching needs.
    pub fn is_ready(&self) -> bool {
        self.java.is_some() && self.agent.is_some()
    }
}

impl From<Detection> for JvmHealth {
    fn from(detection: Detection) -> Self {
        JvmHealth {
            java: detection.launch.java,
            java_version: detection.launch.java_version,
            directory: detection.launch.directory,
            is_complete: detection.is_complete,
            notes: detection.notes,
            refusals: detection.refusals,
            withheld: detection.launch.withheld,
        }
    }
}

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    #[serde(flatten)]
    health: &'d Health,
}

pub fn write_health_json(out: &mut dyn Write, health: &Health) -> Result<()> {
    write_document(out, &Document { version: JSON_VERSION, health })
}

pub fn write_health(out: &mut dyn Write, health: &Health) -> Result<()> {
    let java = health.java.as_deref().unwrap_or("not found: install a JDK of 17 or newer or set JAVA_HOME");
    writeln!(out, "java:  {java}")?;
    writeln!(out, "agent: {}", health.agent.as_deref().unwrap_or(&health.no_agent))?;
    write_remembered(out, health.store)?;
    if health.jvms.is_empty() {
        writeln!(out, "no run yet: 'untether detect' makes one")?;
    }
    write_jvms(out, &health.jvms)?;
    write_remarks(out, &health.jvms)?;
    write_withheld(out, &health.jvms)?;
    write_unrunnable(out, health)
}

fn write_remembered(out: &mut dyn Write, store: Remembered) -> Result<()> {
    if store.bytes == 0 {
        return Ok(());
    }
    write!(out, "store: {:.1} MB", store.bytes as f64 / 1e6)?;
    match store.records {
        0 => writeln!(out),
        records => {
            let classes = count(store.classes as usize, "test class", "test classes");
            writeln!(out, ", {} of what {classes} used", count(records as usize, "record", "records"))
        }
    }
}

/// JVMs that are alike are one line.
fn write_jvms(out: &mut dyn Write, jvms: &[JvmHealth]) -> Result<()> {
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
        writeln!(out)?;
    }
    for (text, count) in alike {
        writeln!(out, "{text}{}", if count > 1 { format!(" ({count} times)") } else { String::new() })?;
    }
    Ok(())
}

/// Each thing once, with the number of JVMs that it was seen in where it was not all of them.
fn write_remarks(out: &mut dyn Write, jvms: &[JvmHealth]) -> Result<()> {
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
        writeln!(out)?;
    }
    for (text, count) in &found {
        let extent = if *count < jvms.len() { format!(" (in {count} of {} JVMs)", jvms.len()) } else { String::new() };
        writeln!(out, "{text}{}", style::aside(extent))?;
    }
    if !jvms.is_empty() && found.is_empty() && jvms.iter().all(|jvm| jvm.is_complete) {
        writeln!(out, "{}", style::good("everything was watched"))?;
    }
    Ok(())
}

/// What workers will lack unless it is in our environment when they are started.
fn write_withheld(out: &mut dyn Write, jvms: &[JvmHealth]) -> Result<()> {
    let withheld: BTreeSet<&Withheld> = jvms.iter().flat_map(|jvm| &jvm.withheld).collect();
    if withheld.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(
        out,
        "values that were not kept, as they may be secrets; 'untether refine' takes them from its own environment:"
    )?;
    for Withheld { kind, name } in withheld {
        let place = match kind {
            WithheldKind::Environment => format!("environment variable {name}"),
            WithheldKind::Property => {
                format!("system property {name} (from {} in the environment)", normalised(name))
            }
            WithheldKind::Argument => format!("argument {name} (not needed again)"),
        };
        writeln!(out, "  {place}")?;
    }
    Ok(())
}

fn write_unrunnable(out: &mut dyn Write, health: &Health) -> Result<()> {
    for (reason, tests) in &health.unrunnable {
        writeln!(out)?;
        writeln!(out, "not run in every order by the last refinement ({reason}):")?;
        for test in tests {
            writeln!(out, "  {test}")?;
        }
    }
    Ok(())
}
