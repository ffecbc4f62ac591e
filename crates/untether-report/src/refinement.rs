//! What a refinement found: one block per cause for people, and JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Result, Write};

use serde::Serialize;
use untether_model::{Certainty, Channel, Contrast, Coverage, Finding, RefinementRecord, Role};

use crate::findings::{Modules, cause, finding_sentence, first_line, outcomes, relation, short_id};
use crate::fix::{fix, fix_of};
use crate::json::{JSON_VERSION, write_document};
use crate::text::count;

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    strategy: &'d str,
    is_complete: bool,
    executions: usize,
    jvm_starts: usize,
    seconds: f64,
    coverage: Coverage,
    nondeterministic: &'d [String],
    timed_out: &'d [String],
    unconfirmed: &'d [String],
    differing: &'d [String],
    failing: &'d [String],
    unrunnable: &'d BTreeMap<String, BTreeSet<String>>,
    manifest: Vec<FindingView<'d>>,
}

/// A finding as JSON has it.
#[derive(Debug, Serialize)]
pub struct FindingView<'d> {
    id: &'d str,
    module: &'d str,
    test: &'d str,
    role: Role,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    setters: &'d [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    polluters: &'d [String],
    #[serde(skip_serializing_if = "<[Vec<String>]>::is_empty")]
    alternatives: &'d [Vec<String>],
    cleaners: &'d [String],
    cause: String,
    proof: Certainty,
    fields: &'d [String],
    fix: String,
    resources: &'d [Channel],
    outcome: &'d Contrast,
    schedule: &'d [String],
    counter_schedule: &'d [String],
}

pub fn finding_views(refinement: &RefinementRecord) -> Vec<FindingView<'_>> {
    let modules = Modules::new(refinement);
    refinement
        .findings
        .iter()
        .map(|finding| FindingView {
            id: &finding.id,
            module: modules.of(finding),
            test: &finding.test,
            role: finding.role,
            setters: &finding.setters,
            polluters: &finding.polluters,
            alternatives: &finding.alternatives,
            cleaners: &finding.cleaners,
            cause: cause(finding),
            proof: finding.cause.certainty,
            fields: &finding.cause.fields,
            fix: fix(finding),
            resources: &finding.resources,
            outcome: &finding.outcome,
            schedule: &finding.schedule,
            counter_schedule: &finding.counter_schedule,
        })
        .collect()
}

pub fn write_refinement_json(out: &mut dyn Write, refinement: &RefinementRecord) -> Result<()> {
    let document = Document {
        version: JSON_VERSION,
        strategy: &refinement.strategy,
        is_complete: refinement.is_complete,
        executions: refinement.cost.executions,
        jvm_starts: refinement.cost.jvm_starts,
        seconds: refinement.seconds,
        coverage: refinement.coverage,
        nondeterministic: &refinement.nondeterministic,
        timed_out: &refinement.timed_out,
        unconfirmed: &refinement.unconfirmed,
        differing: &refinement.differing,
        failing: &refinement.failing,
        unrunnable: &refinement.unrunnable,
        manifest: finding_views(refinement),
    };
    write_document(out, &document)
}

/// What `refine` shows; `new` marks what was not there before.
pub fn write_refinement(
    out: &mut dyn Write,
    refinement: &RefinementRecord,
    new: Option<&BTreeSet<String>>,
) -> Result<()> {
    if refinement.findings.is_empty() && !refinement.is_complete {
        return writeln!(out, "nothing was found before the time was over");
    }
    write_findings(out, refinement, new)
}

/// One block per cause, in it one for each list of tests to blame; `new` marks what was not there before.
pub fn write_findings(
    out: &mut dyn Write,
    refinement: &RefinementRecord,
    new: Option<&BTreeSet<String>>,
) -> Result<()> {
    let findings = &refinement.findings;
    if findings.is_empty() {
        return writeln!(out, "no dependency was found whose violation changes an outcome");
    }
    let modules = Modules::new(refinement);
    let mut by_cause: BTreeMap<(String, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_cause.entry((cause(finding), modules.shown(finding))).or_default().push(finding);
    }
    for (index, ((cause, module), of_cause)) in by_cause.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let tests: BTreeSet<&str> = of_cause.iter().map(|finding| finding.test.as_str()).collect();
        let certainty = match of_cause.iter().map(|finding| finding.cause.certainty).min() {
            Some(Certainty::Proven) => ", proven",
            Some(Certainty::Likely) => ", likely",
            _ => "",
        };
        let module = if module.is_empty() { String::new() } else { format!(" in {module}") };
        writeln!(out, "{cause}{module}: {} can fail{certainty}", count(tests.len(), "test", "tests"))?;
        let mut alike: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
        for finding in of_cause {
            alike.entry((finding.role, finding.others(), outcomes(finding))).or_default().push(finding);
        }
        let mut fixes: Vec<String> = Vec::new();
        for group in alike.values() {
            write_alike(out, findings, group, new)?;
            let fix = fix_of(group[0], group.len() == 1);
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
        for fix in fixes.iter().take(3) {
            writeln!(out, "  fix: {fix}")?;
        }
    }
    Ok(())
}

/// Tests that differ in the same way after the same others.
fn write_alike(out: &mut dyn Write, all: &[Finding], group: &[&Finding], new: Option<&BTreeSet<String>>) -> Result<()> {
    let mark = |finding: &Finding| if new.is_some_and(|new| new.contains(&finding.id)) { " (new)" } else { "" };
    let first = group[0];
    if group.len() == 1 {
        writeln!(out, "  {}  {}{}", short_id(all, first), finding_sentence(first), mark(first))?;
    } else {
        let (relation, before) = relation(first);
        writeln!(out, "  these {relation} {}{before}: {}", first.others().join(", then "), outcomes(first))?;
        for finding in group {
            writeln!(out, "  {}  {}{}", short_id(all, finding), finding.test, mark(finding))?;
        }
    }
    if !first.alternatives.is_empty() {
        const MOST: usize = 3;
        let lists: Vec<String> = first.alternatives.iter().take(MOST).map(|list| list.join(", then ")).collect();
        let more = match first.alternatives.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" or {}", count(more, "other", "others")),
        };
        writeln!(out, "          the same with {}{more}", lists.join(" or "))?;
    }
    if !first.cleaners.is_empty() {
        writeln!(out, "          unless {} runs in between", first.cleaners.join(" or "))?;
    }
    write_messages(out, group)
}

/// Some of the messages of tests that fail alike, with the tests where they differ.
fn write_messages(out: &mut dyn Write, group: &[&Finding]) -> Result<()> {
    const MOST: usize = 2;
    let mut messages: Vec<(String, &str)> = Vec::new();
    for finding in group {
        let message = first_line(&finding.outcome.message);
        if !message.is_empty() && !messages.iter().any(|(known, _)| *known == message) {
            messages.push((message, finding.test.split_once('#').map_or(&finding.test, |(_, method)| method)));
        }
    }
    for (message, test) in messages.iter().take(MOST) {
        let of_test = if messages.len() > 1 { format!("{test}: ") } else { String::new() };
        writeln!(out, "          {of_test}{message}")?;
    }
    if messages.len() > MOST {
        writeln!(out, "          and {}", count(messages.len() - MOST, "other message", "other messages"))?;
    }
    Ok(())
}
