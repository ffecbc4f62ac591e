//! Findings of a refinement, for people and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use untether_model::{Channel, Contrast, Finding, Role, StackLine, Status, is_jdk};
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
    nondeterministic: &'d [String],
    unconfirmed: &'d [String],
    differing: &'d [String],
    failing: &'d [String],
    unrunnable: &'d BTreeMap<String, BTreeSet<String>>,
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
        nondeterministic: &refinement.nondeterministic,
        unconfirmed: &refinement.unconfirmed,
        differing: &refinement.differing,
        failing: &refinement.failing,
        unrunnable: &refinement.unrunnable,
        manifest: views(&refinement.findings),
    };
    println!("{}", serde_json::to_string_pretty(&document).map_err(|e| Error::Failed(e.to_string()))?);
    Ok(())
}

/// What findings are sorted by: their cause, then the test.
pub(crate) fn order(finding: &Finding) -> (String, Role, &str, &[String]) {
    (cause(finding), finding.role, &finding.test, finding.others())
}

/// The field that the tests share, or the test that leaves something behind where no field is known.
pub(crate) fn cause(finding: &Finding) -> String {
    match finding.resources.first() {
        Some(channel) => channel.root.clone(),
        None if finding.is_outside_heap => {
            format!(
                "something that {} leaves behind and that is in no field that a test reads",
                finding.others().join(", ")
            )
        }
        None => format!("something that {} leaves behind", finding.others().join(", ")),
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
        println!("{cause}: {} can fail", count(tests.len(), "test", "tests"));
        for finding in findings {
            let mark = if new.is_some_and(|new| new.contains(&finding.id)) { " (new)" } else { "" };
            println!("  {}  {}{mark}", finding.id, sentence(finding));
            if !finding.alternatives.is_empty() {
                println!(
                    "          or {}; see --format json",
                    count(finding.alternatives.len(), "other list like it", "other lists like it")
                );
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
    let Contrast { reference, violated, .. } = finding.outcome;
    let relation = match finding.role {
        Role::Brittle => "needs",
        Role::Victim => "must not run after",
    };
    let outcomes = match (finding.role, violated) {
        (Role::Brittle, Status::Passed) => format!("{violated} then, {reference} in the original order"),
        (Role::Brittle, _) => format!("{violated} alone, {reference} in the original order"),
        (Role::Victim, Status::Passed) => format!("{reference} then, as in the original order, {violated} alone"),
        (Role::Victim, _) => format!("{violated} then, {reference} in the original order"),
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

/// The innermost line of the program itself.
pub(crate) fn own_line(stack: &[StackLine]) -> Option<&StackLine> {
    const FRAMEWORKS: [&str; 3] = ["org.junit.", "junit.", "org.opentest4j."];
    let is_library =
        |line: &&StackLine| is_jdk(&line.class) || FRAMEWORKS.iter().any(|prefix| line.class.starts_with(prefix));
    stack.iter().find(|line| !is_library(line)).or(stack.first())
}

/// Where something happens, after words that say what; nothing where that is not known.
fn place(words: &str, stack: &[StackLine]) -> Option<String> {
    own_line(stack).map(|line| format!("{words} {line}"))
}

/// What could be done about it.
pub(crate) fn fix(finding: &Finding) -> String {
    let Some(channel) = finding.resources.first() else {
        let what = if finding.is_outside_heap {
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
            let done =
                place("as is done at", &channel.write).filter(|_| own_line(&channel.write) != own_line(&channel.read));
            let places = [place("before it is read at", &channel.read), done];
            let places: String = places.into_iter().flatten().map(|place| format!(", {place}")).collect();
            format!("set {} up in {} itself{places}", channel.root, finding.test)
        }
        Role::Victim => {
            let by = match finding.cleaners.first() {
                Some(cleaner) => format!(", as {cleaner} does"),
                None => String::new(),
            };
            let places = [place("it is written at", &channel.write), place("read at", &channel.read)];
            let places = places.into_iter().flatten().collect::<Vec<_>>().join(", and ");
            let places = if places.is_empty() { places } else { format!(" ({places})") };
            format!(
                "reset {} after {}{places}{by}",
                channel.root,
                finding.others().last().map_or("the polluter", String::as_str)
            )
        }
    }
}

/// State of the JDK for which there are ready-made extensions.
fn known_fix(channel: &Channel) -> Option<String> {
    let by = match channel.root.as_str() {
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
    let written = place("written at", &channel.write).map(|place| format!(" ({place})"));
    Some(format!("{by}{}", written.unwrap_or_default()))
}
