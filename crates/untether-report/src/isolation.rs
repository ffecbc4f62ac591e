//! What a run came to in which classes or tests were isolated from each other.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use serde::Serialize;
use untether_model::{IsolatedRun, IsolationDifference, Status, Verdict};

use crate::findings::first_line;
use crate::json::{JSON_VERSION, write_document};
use crate::style;
use crate::text::count;

/// More reasons of a kind than these are counted.
const MOST_LISTED: usize = 5;

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    jvm_starts: usize,
    seconds: f64,
    classes: Vec<ClassForm<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<CheckForm<'d>>,
}

#[derive(Serialize)]
struct ClassForm<'d> {
    class: &'d str,
    jvm: usize,
    /// Why the JVM was not as before when the class had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_behind: Option<&'d str>,
    tests: Vec<TestForm<'d>>,
}

#[derive(Serialize)]
struct TestForm<'d> {
    id: &'d str,
    outcome: Status,
    duration_ms: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'d str,
}

#[derive(Serialize)]
struct CheckForm<'d> {
    jvm_starts: usize,
    seconds: f64,
    compared: usize,
    differences: &'d [IsolationDifference],
}

pub fn write_isolation_json(out: &mut dyn Write, run: &IsolatedRun) -> Result<()> {
    let classes = run.classes.iter().map(|class| ClassForm {
        class: &class.class,
        jvm: class.jvm,
        left_behind: class.left_behind.as_deref(),
        tests: class
            .tests
            .iter()
            .map(|test| TestForm {
                id: &test.id,
                outcome: test.verdict.status,
                duration_ms: test.verdict.nanos as f64 / 1e6,
                message: &test.verdict.message,
            })
            .collect(),
    });
    let check = run.check.as_ref().map(|check| CheckForm {
        jvm_starts: check.jvms,
        seconds: check.seconds,
        compared: check.compared,
        differences: &check.differences,
    });
    let document = Document {
        version: JSON_VERSION,
        jvm_starts: run.jvms,
        seconds: run.seconds,
        classes: classes.collect(),
        check,
    };
    write_document(out, &document)
}

/// The tests that failed, where nobody else has said so, and what came to something else in a JVM of its own.
pub fn write_isolation(out: &mut dyn Write, run: &IsolatedRun, tells_failures: bool) -> Result<()> {
    for test in run.tests().filter(|test| tells_failures && test.verdict.status.is_failure()) {
        writeln!(out, "{} {}", style::bad(test.verdict.status), test.id)?;
        if !test.verdict.message.is_empty() {
            writeln!(out, "  {}", first_line(&test.verdict.message))?;
        }
    }
    for difference in run.check.iter().flat_map(|check| &check.differences) {
        write_difference(out, difference)?;
    }
    Ok(())
}

fn write_difference(out: &mut dyn Write, difference: &IsolationDifference) -> Result<()> {
    let said =
        |verdict: &Option<Verdict>| verdict.as_ref().map_or("did not run".to_owned(), |it| it.status.to_string());
    let (isolated, alone) = (said(&difference.isolated), said(&difference.alone));
    if difference.varies {
        return writeln!(
            out,
            "{} {}: {isolated} isolated, {alone} in a JVM of its class's own, but not each time: it varies by itself",
            style::doubtful("varies"),
            difference.test
        );
    }
    writeln!(
        out,
        "{} {}: {isolated} isolated, {alone} in a JVM of its class's own",
        style::bad("differs"),
        difference.test
    )?;
    for verdict in [&difference.isolated, &difference.alone].into_iter().flatten() {
        if verdict.status.is_failure() && !verdict.message.is_empty() {
            writeln!(out, "  {}", first_line(&verdict.message))?;
        }
    }
    match difference.left_behind.as_slice() {
        [] => writeln!(out, "  nothing that is watched was left behind: a file, a port or native state may have been"),
        left => {
            for name in left.iter().take(MOST_LISTED) {
                writeln!(out, "  left behind: {name}")?;
            }
            match left.len().saturating_sub(MOST_LISTED) {
                0 => Ok(()),
                more => writeln!(out, "  and {more} more, which --format json lists"),
            }
        }
    }
}

/// The closing lines, each with the prefix.
pub fn write_isolation_summary(out: &mut dyn Write, run: &IsolatedRun, prefix: &str) -> Result<()> {
    let of = |status: Status| run.tests().filter(|test| test.verdict.status == status).count();
    let failed = run.tests().filter(|test| test.verdict.status.is_failure()).count();
    let skipped = of(Status::Skipped) + of(Status::Aborted);
    let mut text = format!("{} passed", of(Status::Passed));
    if failed > 0 {
        text.push_str(&format!(", {}", style::bad(format!("{failed} failed"))));
    }
    if skipped > 0 {
        text.push_str(&format!(", {skipped} skipped"));
    }
    if of(Status::Missing) > 0 {
        text.push_str(&format!(", {} could not be run by itself", of(Status::Missing)));
    }
    let classes = count(run.classes.len(), "isolated class", "isolated classes");
    let jvms = count(run.jvms, "JVM", "JVMs");
    writeln!(out, "{prefix}{text}; {classes} in {jvms}, {:.1} s", run.seconds)?;
    write_reasons(out, run, prefix)?;
    if let Some(check) = &run.check {
        let differing = check.differences.iter().filter(|it| !it.varies).count();
        let verdict = match differing {
            0 => style::good("every outcome was the same"),
            more => style::bad(count(more, "outcome was another", "outcomes were others")),
        };
        let jvms = count(check.jvms, "JVM", "JVMs");
        writeln!(out, "{prefix}compared with a JVM for each class ({jvms}, {:.1} s): {verdict}", check.seconds)?;
    }
    Ok(())
}

/// Why JVMs were not as before, each reason once.
fn write_reasons(out: &mut dyn Write, run: &IsolatedRun, prefix: &str) -> Result<()> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &run.not_restored {
        by_reason.entry(&one.reason).or_default().push(&one.class);
    }
    if by_reason.is_empty() {
        return Ok(());
    }
    let classes = count(run.not_restored.len(), "class", "classes");
    let what = if run.has_replaced {
        format!("after {classes} the JVM was replaced, as not all could be put back:")
    } else {
        format!("after {classes} not all could be put back, and the build went on in the same JVM:")
    };
    writeln!(out, "{prefix}{} {what}", style::doubtful("note:"))?;
    let mut reasons: Vec<(&str, Vec<&str>)> = by_reason.into_iter().collect();
    reasons.sort_by_key(|(_, classes)| std::cmp::Reverse(classes.len()));
    for (reason, classes) in reasons.iter().take(MOST_LISTED) {
        let others = match classes.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        writeln!(out, "{prefix}  {} ({}{others})", reason, classes[0])?;
    }
    if let Some(more) = reasons.len().checked_sub(MOST_LISTED).filter(|&more| more > 0) {
        writeln!(out, "{prefix}  and {} more, which --format json lists", count(more, "reason", "reasons"))?;
    }
    Ok(())
}
