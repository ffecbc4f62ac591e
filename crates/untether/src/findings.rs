//! Findings of a refinement, for people and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use untether_model::{Certainty, Channel, Contrast, Coverage, Finding, Role, StackLine};
use untether_store::StoredRefinement;

use crate::error::Error;
use crate::view::{JSON_VERSION, count};

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
    unconfirmed: &'d [String],
    differing: &'d [String],
    failing: &'d [String],
    manifest: Vec<FindingView<'d>>,
}

#[derive(Serialize)]
pub(crate) struct FindingView<'d> {
    #[serde(flatten)]
    finding: &'d Finding,
    cause: String,
    fix: String,
}

pub(crate) fn views(findings: &[Finding]) -> Vec<FindingView<'_>> {
    findings.iter().map(|finding| FindingView { finding, cause: cause(finding), fix: fix(finding) }).collect()
}

pub(crate) fn print_json(refinement: &StoredRefinement) -> Result<(), Error> {
    let document = Document {
        version: JSON_VERSION,
        strategy: &refinement.strategy,
        is_complete: refinement.is_complete,
        executions: refinement.cost.executions,
        jvm_starts: refinement.cost.jvm_starts,
        seconds: refinement.seconds,
        coverage: refinement.coverage,
        nondeterministic: &refinement.nondeterministic,
        unconfirmed: &refinement.unconfirmed,
        differing: &refinement.differing,
        failing: &refinement.failing,
        manifest: views(&refinement.findings),
    };
    println!("{}", serde_json::to_string_pretty(&document).map_err(|e| Error::Failed(e.to_string()))?);
    Ok(())
}

/// What findings are sorted by: their cause, then the test.
pub(crate) fn order(finding: &Finding) -> (String, Role, &str, &[String]) {
    (cause(finding), finding.role, &finding.test, finding.others())
}

/// The fields through which it comes about, or the test that leaves something behind where none is known.
pub(crate) fn cause(finding: &Finding) -> String {
    if !finding.cause.fields.is_empty() {
        return finding.cause.fields.iter().map(|field| called(finding, field)).collect::<Vec<_>>().join(" and ");
    }
    let others = finding.others().join(", ");
    match finding.cause.certainty {
        Certainty::Outside => format!("something outside of the heap that {others} leaves behind"),
        _ => format!("something that {others} leaves behind"),
    }
}

/// The field as a person calls it: the one property that matters, not all of them.
fn called(finding: &Finding, field: &str) -> String {
    let mut names = finding.resources.iter().filter(|channel| channel.field == field).map(|channel| &channel.name);
    match names.next() {
        Some(name) if name.starts_with("property ") && names.all(|other| other == name) => name.clone(),
        _ => field.to_owned(),
    }
}

/// One block per cause; `new` marks what was not there before.
pub(crate) fn print_table(findings: &[Finding], new: Option<&BTreeSet<String>>) {
    if findings.is_empty() {
        println!("no dependency was found whose violation changes an outcome");
        return;
    }
    let mut by_cause: BTreeMap<String, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_cause.entry(cause(finding)).or_default().push(finding);
    }
    for (index, (cause, findings)) in by_cause.iter().enumerate() {
        if index > 0 {
            println!();
        }
        let tests: BTreeSet<&str> = findings.iter().map(|finding| finding.test.as_str()).collect();
        let certainty = match findings.iter().map(|finding| finding.cause.certainty).max() {
            Some(Certainty::Proven) => ", proven",
            Some(Certainty::Likely) => ", likely",
            _ => "",
        };
        println!("{cause}: {} can fail{certainty}", count(tests.len(), "test", "tests"));
        for finding in findings {
            let mark = if new.is_some_and(|new| new.contains(&finding.id)) { " (new)" } else { "" };
            println!("  {}  {}{mark}", short_id(findings, finding), sentence(finding));
            if !finding.alternatives.is_empty() {
                const MOST: usize = 3;
                let lists: Vec<String> =
                    finding.alternatives.iter().take(MOST).map(|list| list.join(", then ")).collect();
                let more = match finding.alternatives.len().saturating_sub(MOST) {
                    0 => String::new(),
                    more => format!(" or {}", count(more, "other", "others")),
                };
                println!("          the same with {}{more}", lists.join(" or "));
            }
            if !finding.cleaners.is_empty() {
                println!("          unless {} runs in between", finding.cleaners.join(" or "));
            }
            if !finding.outcome.message.is_empty() {
                println!("          {}", first_line(&finding.outcome.message));
            }
        }
        let fixes: BTreeSet<String> = findings.iter().map(|finding| fix(finding)).collect();
        for fix in fixes.iter().take(3) {
            println!("  fix: {fix}");
        }
    }
}

/// What the finding says, in one line.
pub(crate) fn sentence(finding: &Finding) -> String {
    let Contrast { reference, violated, counter, .. } = finding.outcome;
    let relation = match finding.role {
        Role::Brittle => "needs",
        Role::Victim => "must not run after",
    };
    let outcomes = match finding.role {
        Role::Brittle if reference == counter => format!("{violated} alone, {counter} then, as in the original order"),
        Role::Brittle => format!("{violated} alone, as in the original order, {counter} then"),
        Role::Victim if reference == counter => format!("{violated} then, {counter} in the original order"),
        Role::Victim => format!("{violated} then, as in the original order, {counter} alone"),
    };
    let before = if finding.role == Role::Brittle { " before it" } else { "" };
    format!("{} {relation} {}{before}: {outcomes}", finding.test, finding.others().join(", then "))
}

pub(crate) fn first_line(message: &str) -> String {
    const MOST: usize = 160;
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// As much of a finding's id as tells it from the others, and no less than six digits.
pub(crate) fn short_id<'f>(findings: &[impl std::borrow::Borrow<Finding>], finding: &'f Finding) -> &'f str {
    let is_shared = |length: usize| {
        let mut others = findings.iter().map(|other| &other.borrow().id).filter(|&id| id != &finding.id);
        others.any(|id| id.get(..length) == finding.id.get(..length))
    };
    let length = (6..finding.id.len()).find(|&length| !is_shared(length)).unwrap_or(finding.id.len());
    &finding.id[..length.min(finding.id.len())]
}

/// Where something happens, after words that say what; nothing where that is not known.
fn place(words: &str, line: &Option<StackLine>) -> Option<String> {
    line.as_ref().map(|line| format!("{words} {line}"))
}

/// What could be done about it.
pub(crate) fn fix(finding: &Finding) -> String {
    let Some(channel) = finding.resources.first() else {
        let what = if finding.cause.certainty == Certainty::Outside {
            " (files, ports, processes; or fields that a JUnit 3 constructor reads)"
        } else {
            ""
        };
        return format!(
            "make {} clean up what it leaves behind{what}, or give {} its own",
            finding.others().last().map_or("the first test", String::as_str),
            finding.test
        );
    };
    if finding.role == Role::Victim
        && let Some(known) = known_fix(channel)
    {
        return known;
    }
    match finding.role {
        Role::Brittle => {
            let done = place("as is done at", &channel.written_at).filter(|_| channel.written_at != channel.read_at);
            let places = [place("before it is read at", &channel.read_at), done];
            let places: String = places.into_iter().flatten().map(|place| format!(", {place}")).collect();
            format!("set {} up in {} itself{places}", called(finding, &channel.field), finding.test)
        }
        Role::Victim => {
            let by = match finding.cleaners.first() {
                Some(cleaner) => format!(", as {cleaner} does"),
                None => String::new(),
            };
            let places = [place("it is written at", &channel.written_at), place("read at", &channel.read_at)];
            let places = places.into_iter().flatten().collect::<Vec<_>>().join(", and ");
            let places = if places.is_empty() { places } else { format!(" ({places})") };
            format!(
                "reset {} after {}{places}{by}",
                called(finding, &channel.field),
                finding.others().last().map_or("the polluter", String::as_str)
            )
        }
    }
}

/// State of the JDK for which there are ready-made extensions.
fn known_fix(channel: &Channel) -> Option<String> {
    let by = match channel.field.as_str() {
        "java.lang.System.props" => {
            "restore system properties: JUnit Pioneer's @RestoreSystemProperties, or System Rules' RestoreSystemProperties"
        }
        root if root.starts_with("java.util.Locale.default") => {
            "restore the default locale: JUnit Pioneer's @DefaultLocale, or Locale.setDefault in an after-method"
        }
        "java.util.TimeZone.defaultTimeZone" => {
            "restore the default time zone: JUnit Pioneer's @DefaultTimeZone, or TimeZone.setDefault in an after-method"
        }
        "java.lang.System.out" | "java.lang.System.err" | "java.lang.System.in" => {
            "restore the standard streams: JUnit Pioneer's @StdIo, or System.setOut, setErr and setIn in an after-method"
        }
        _ => return None,
    };
    let written = place("written at", &channel.written_at).map(|place| format!(" ({place})"));
    Some(format!("{by}{}", written.unwrap_or_default()))
}
