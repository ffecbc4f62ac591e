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
    timed_out: &'d [String],
    unconfirmed: &'d [String],
    differing: &'d [String],
    failing: &'d [String],
    unrunnable: &'d BTreeMap<String, BTreeSet<String>>,
    manifest: Vec<FindingView<'d>>,
}

#[derive(Serialize)]
pub(crate) struct FindingView<'d> {
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

pub(crate) fn views(refinement: &StoredRefinement) -> Vec<FindingView<'_>> {
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
        timed_out: &refinement.timed_out,
        unconfirmed: &refinement.unconfirmed,
        differing: &refinement.differing,
        failing: &refinement.failing,
        unrunnable: &refinement.unrunnable,
        manifest: views(refinement),
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

/// One block per cause, in it one for each list of tests to blame; `new` marks what was not there before.
pub(crate) fn print_table(refinement: &StoredRefinement, new: Option<&BTreeSet<String>>) {
    let findings = &refinement.findings;
    if findings.is_empty() {
        println!("no dependency was found whose violation changes an outcome");
        return;
    }
    let modules = Modules::new(refinement);
    let mut by_cause: BTreeMap<(String, &str), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_cause.entry((cause(finding), modules.shown(finding))).or_default().push(finding);
    }
    for (index, ((cause, module), of_cause)) in by_cause.iter().enumerate() {
        if index > 0 {
            println!();
        }
        let tests: BTreeSet<&str> = of_cause.iter().map(|finding| finding.test.as_str()).collect();
        let certainty = match of_cause.iter().map(|finding| finding.cause.certainty).min() {
            Some(Certainty::Proven) => ", proven",
            Some(Certainty::Likely) => ", likely",
            _ => "",
        };
        let module = if module.is_empty() { String::new() } else { format!(" in {module}") };
        println!("{cause}{module}: {} can fail{certainty}", count(tests.len(), "test", "tests"));
        let mut alike: BTreeMap<_, Vec<&Finding>> = BTreeMap::new();
        for finding in of_cause {
            alike.entry((finding.role, finding.others(), outcomes(finding))).or_default().push(finding);
        }
        let mut fixes: Vec<String> = Vec::new();
        for group in alike.values() {
            print_alike(findings, group, new);
            let fix = fix_of(group[0], group.len() == 1);
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
        for fix in fixes.iter().take(3) {
            println!("  fix: {fix}");
        }
    }
}

/// Tests that differ in the same way after the same others.
fn print_alike(all: &[Finding], group: &[&Finding], new: Option<&BTreeSet<String>>) {
    let mark = |finding: &Finding| if new.is_some_and(|new| new.contains(&finding.id)) { " (new)" } else { "" };
    let first = group[0];
    if group.len() == 1 {
        println!("  {}  {}{}", short_id(all, first), sentence(first), mark(first));
    } else {
        let (relation, before) = relation(first);
        println!("  these {relation} {}{before}: {}", first.others().join(", then "), outcomes(first));
        for finding in group {
            println!("  {}  {}{}", short_id(all, finding), finding.test, mark(finding));
        }
    }
    if !first.alternatives.is_empty() {
        const MOST: usize = 3;
        let lists: Vec<String> = first.alternatives.iter().take(MOST).map(|list| list.join(", then ")).collect();
        let more = match first.alternatives.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" or {}", count(more, "other", "others")),
        };
        println!("          the same with {}{more}", lists.join(" or "));
    }
    if !first.cleaners.is_empty() {
        println!("          unless {} runs in between", first.cleaners.join(" or "));
    }
    print_messages(group);
}

/// Some of the messages of tests that fail alike, with the tests where they differ.
fn print_messages(group: &[&Finding]) {
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
        println!("          {of_test}{message}");
    }
    if messages.len() > MOST {
        println!("          and {}", count(messages.len() - MOST, "other message", "other messages"));
    }
}

/// The modules that findings are about, by the folders in which their JVMs ran.
pub(crate) struct Modules<'r> {
    refinement: &'r StoredRefinement,
    /// Tests that several modules have.
    ambiguous: BTreeSet<&'r str>,
}

impl<'r> Modules<'r> {
    pub(crate) fn new(refinement: &'r StoredRefinement) -> Self {
        let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for finding in &refinement.findings {
            let folder = refinement.launch_of(finding).map_or("", |launch| launch.directory.as_str());
            folders.entry(&finding.test).or_default().insert(folder);
        }
        let ambiguous = folders.into_iter().filter(|(_, folders)| folders.len() > 1).map(|(test, _)| test).collect();
        Modules { refinement, ambiguous }
    }

    /// The module's folder without the folders around it.
    pub(crate) fn of(&self, finding: &Finding) -> &'r str {
        let folder = self.refinement.launch_of(finding).map_or("", |launch| launch.directory.as_str());
        folder.trim_end_matches('/').rsplit('/').next().unwrap_or(folder)
    }

    /// The module, where the test's name alone does not say which test is meant.
    fn shown(&self, finding: &Finding) -> &'r str {
        if self.ambiguous.contains(finding.test.as_str()) { self.of(finding) } else { "" }
    }
}

/// What the finding says, in one line.
pub(crate) fn sentence(finding: &Finding) -> String {
    let (relation, before) = relation(finding);
    let (relation, before) = if finding.role == Role::Brittle { ("needs", " before it") } else { (relation, before) };
    let others = finding.others().join(", then ");
    format!("{} {relation} {others}{before}: {}", finding.test, outcomes(finding))
}

fn relation(finding: &Finding) -> (&'static str, &'static str) {
    match finding.role {
        Role::Brittle => ("need", " before them"),
        Role::Victim => ("must not run after", ""),
    }
}

/// What the test comes to, and when.
fn outcomes(finding: &Finding) -> String {
    let Contrast { reference, violated, counter, .. } = finding.outcome;
    match finding.role {
        Role::Brittle if reference == counter => format!("{violated} alone, {counter} then, as in the original order"),
        Role::Brittle => format!("{violated} alone, as in the original order, {counter} then"),
        Role::Victim if reference == counter => format!("{violated} then, {counter} in the original order"),
        Role::Victim => format!("{violated} then, as in the original order, {counter} alone"),
    }
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
    fix_of(finding, true)
}

/// The same for one test, or for several that are alike but for where they read.
fn fix_of(finding: &Finding, is_for_one: bool) -> String {
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
            let places = [place("before it is read at", &channel.read_at).filter(|_| is_for_one), done];
            let places: String = places.into_iter().flatten().map(|place| format!(", {place}")).collect();
            let test = if is_for_one { format!("{} itself", finding.test) } else { "each of them".to_owned() };
            format!("set {} up in {test}{places}", called(finding, &channel.field))
        }
        Role::Victim => {
            let by = match finding.cleaners.first() {
                Some(cleaner) => format!(", as {cleaner} does"),
                None => String::new(),
            };
            let read = place("read at", &channel.read_at).filter(|_| is_for_one);
            let places = [place("it is written at", &channel.written_at), read];
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
