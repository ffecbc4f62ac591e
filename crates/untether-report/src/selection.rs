//! Which test classes a change can affect, and why.

use std::collections::BTreeSet;
use std::io::{Result, Write};

use serde::Serialize;
use untether_model::{Reason, ReasonKind, Selected, Selection, Skipped, TestOutcome, class_of, outermost};

use crate::json::{JSON_VERSION, write_document};
use crate::style;
use crate::text::count;

/// More reasons than these are counted.
const MOST_REASONS: usize = 3;

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    #[serde(flatten)]
    selection: &'d Selection,
    /// Tests that were left out and then failed all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    contradictions: Option<Vec<&'d str>>,
}

/// `contradictions` are those of an audit, where there was one.
pub fn write_selection_json(
    out: &mut dyn Write,
    selection: &Selection,
    contradictions: Option<&[&TestOutcome]>,
) -> Result<()> {
    let contradictions = contradictions.map(|all| all.iter().map(|test| test.id.as_str()).collect());
    write_document(out, &Document { version: JSON_VERSION, selection, contradictions })
}

/// What one reason says.
pub fn reason_text(reason: &Reason) -> String {
    let Reason { kind, name, before, after } = reason;
    match kind {
        ReasonKind::New => "new: nothing is known of it".to_owned(),
        ReasonKind::Failed => "failed when it last ran".to_owned(),
        ReasonKind::Unfinished => "was started and did not end".to_owned(),
        ReasonKind::Environment if name.is_empty() => "the JVM's settings are others".to_owned(),
        ReasonKind::Environment => match (before.as_str(), after.as_str()) {
            ("", after) => format!("{name} is new: {after}"),
            (before, "") => format!("{name} is gone: {before}"),
            (before, after) => format!("{name} was {before}, is {after}"),
        },
        ReasonKind::Class => match (before.as_str(), after.as_str()) {
            ("absent", _) => format!("{name} is there now"),
            (_, "absent") => format!("{name} is gone"),
            (before, after) if before.len() != 32 || after.len() != 32 => {
                format!("{name} was found in {before}, now in {after}")
            }
            _ => format!("{name} changed"),
        },
        ReasonKind::File | ReasonKind::Directory | ReasonKind::Property | ReasonKind::Variable => {
            let what = match kind {
                ReasonKind::File => "file",
                ReasonKind::Directory => "entries of",
                ReasonKind::Property => "property",
                _ => "variable",
            };
            match (before.as_str(), after.as_str()) {
                ("absent", _) => format!("{what} {name} is there now"),
                (_, "absent") => format!("{what} {name} is gone"),
                _ => format!("{what} {name} changed"),
            }
        }
        ReasonKind::NotUnderstood => format!("not understood: {name}"),
        ReasonKind::Needed => format!("{name} needs it before itself"),
        ReasonKind::Asked => "all are run".to_owned(),
    }
}

/// Each selected test class with its reasons.
pub fn write_selection(out: &mut dyn Write, selection: &Selection) -> Result<()> {
    let modules = modules(selection);
    for selected in &selection.selected {
        writeln!(out, "{}", style::heading(name(&selected.module, &selected.test, modules > 1)))?;
        for reason in selected.reasons.iter().take(MOST_REASONS) {
            writeln!(out, "  {}", reason_text(reason))?;
        }
        if selected.reasons.len() > MOST_REASONS {
            let more = selected.reasons.len() - MOST_REASONS;
            writeln!(out, "  {}", style::aside(format!("and {}", count(more, "more reason", "more reasons"))))?;
        }
    }
    Ok(())
}

fn modules(selection: &Selection) -> usize {
    let mut modules: Vec<&str> = selection.selected.iter().map(|it| it.module.as_str()).collect();
    modules.extend(selection.skipped.iter().map(|it| it.module.as_str()));
    modules.sort_unstable();
    modules.dedup();
    modules.len()
}

fn name(module: &str, test: &str, has_modules: bool) -> String {
    if has_modules { format!("{module}:{test}") } else { test.to_owned() }
}

/// `12 of 345 test classes selected (3.1 s), 333 unaffected, about 48 s saved`.
pub fn selection_sentence(selection: &Selection, seconds: Option<f64>) -> String {
    let class = |module: &str, test: &str| {
        let class = if test.contains('#') { outermost(class_of(test)) } else { test };
        (module.to_owned(), class.to_owned())
    };
    let selected: BTreeSet<_> = selection.selected.iter().map(|it| class(&it.module, &it.test)).collect();
    let skipped: Vec<_> = selection.skipped.iter().map(|it| class(&it.module, &it.test)).collect();
    let tests = skipped.iter().filter(|class| selected.contains(class)).count();
    let skipped: BTreeSet<_> = skipped.into_iter().filter(|class| !selected.contains(class)).collect();
    let (selected, skipped) = (selected.len(), skipped.len());
    let all = count(selected + skipped, "test class", "test classes");
    let mut text = format!("{selected} of {all} selected");
    if let Some(seconds) = seconds.filter(|_| selected > 0) {
        text.push_str(&format!(" ({seconds:.1} s)"));
    }
    if !selection.skipped.is_empty() {
        let saved: f64 = selection.skipped.iter().map(|skipped| skipped.seconds).sum();
        text.push_str(&format!(", {skipped} unaffected"));
        if tests > 0 {
            text.push_str(&format!(", and {} of the others", count(tests, "test", "tests")));
        }
        if saved >= 0.05 {
            let digits = usize::from(saved < 10.0);
            text.push_str(&format!(", about {saved:.digits$} s saved"));
        }
    }
    text
}

/// Tests that were left out, were run all the same, and did not pass.
pub fn write_contradictions(out: &mut dyn Write, contradictions: &[&TestOutcome]) -> Result<()> {
    for test in contradictions {
        writeln!(out, "{} {} was left out, but fails", style::bad("wrong:"), test.id)?;
    }
    Ok(())
}

/// Why one test class is selected, in full.
pub fn write_selected(out: &mut dyn Write, selected: &Selected, ago: &str) -> Result<()> {
    writeln!(out, "{} is selected", style::heading(&selected.test))?;
    for reason in &selected.reasons {
        writeln!(out, "  {}", reason_text(reason))?;
        if reason.kind == ReasonKind::Class && reason.before.len() == 32 && reason.after.len() == 32 {
            writeln!(out, "    {}", style::aside(format!("{} before, {} now", reason.before, reason.after)))?;
        }
    }
    if !ago.is_empty() {
        writeln!(out, "  {}", style::aside(format!("compared with its run {ago}")))?;
    }
    Ok(())
}

/// Why one test class is not selected.
pub fn write_skipped(out: &mut dyn Write, skipped: &Skipped, ago: &str) -> Result<()> {
    writeln!(out, "{} is not selected", style::heading(&skipped.test))?;
    writeln!(out, "  it passed {ago}, and everything that it used then is as it was")
}
