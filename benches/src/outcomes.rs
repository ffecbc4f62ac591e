//! What the tests of a run came to, and whether watched runs came to something else than plain ones.
//!
//! The worker of a plain run names tests of the JUnit Platform by unique id; of JUnit 4 it names the failures and
//! counts the rest. A watched run names every test as `class#method[index]`. Both end up as [`Outcomes`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How often a test of one name ended in which way: parameterized tests of JUnit 4 may share one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Counts {
    passed: u64,
    failed: u64,
    aborted: u64,
}

/// What came of one run. Skipped tests are left out: JUnit 4 does not say how many a skipped class has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    /// Tests of which the whole outcome is known.
    tests: BTreeMap<String, Counts>,
    /// Tests of which only this is known: how often they failed.
    failures: BTreeMap<String, u64>,
    /// All that ran, also those without a name.
    ran: u64,
    /// Whether the process said that all is well.
    succeeded: bool,
}

/// A name and what came of it, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    name: String,
    plain: String,
    watched: String,
}

impl Outcomes {
    pub(crate) fn new(succeeded: bool) -> Self {
        Outcomes { succeeded, ..Outcomes::default() }
    }

    pub(crate) fn ran(&self) -> u64 {
        self.ran
    }

    pub(crate) fn failed(&self) -> u64 {
        self.tests.values().map(|counts| counts.failed).sum::<u64>() + self.failures.values().sum::<u64>()
    }

    /// Adds a test; statuses are those of the JSON of `untether deps`.
    pub(crate) fn add(&mut self, name: &str, status: &str) {
        if status == "skipped" {
            return;
        }
        let counts = self.tests.entry(name.to_owned()).or_default();
        match status {
            "passed" => counts.passed += 1,
            "failed" => counts.failed += 1,
            _ => counts.aborted += 1,
        }
        self.ran += 1;
    }

    /// Reads the result file of the worker; None if it lacks its last line, that is, the worker was cut off.
    pub(crate) fn of_worker(text: &str, succeeded: bool) -> Option<Self> {
        let mut outcomes = Outcomes::new(succeeded);
        let mut lines = text.lines();
        (lines.next_back()? == "done").then_some(())?;
        for line in lines {
            // A display name may have had a line break, and only the last tab is the worker's.
            let Some((name, status)) = line.rsplit_once('\t') else { continue };
            match status {
                "SUCCESSFUL" | "FAILED" | "ABORTED" => {
                    // Containers are no tests. That one failed shows in the exit code and in the tests that lack.
                    if let Some(name) = test_of_unique_id(name) {
                        let status = if status == "SUCCESSFUL" { "passed" } else { &status.to_lowercase() };
                        outcomes.add(&name, status);
                    }
                }
                "failed" => {
                    if let Some((method, class)) = name.strip_suffix(')').and_then(|name| name.rsplit_once('(')) {
                        *outcomes.failures.entry(format!("{class}#{method}")).or_default() += 1;
                    }
                }
                _ => {
                    let count = status.strip_prefix("ran ").and_then(|rest| rest.split(',').next());
                    outcomes.ran += count.and_then(|count| count.parse().ok()).unwrap_or(0);
                }
            }
        }
        Some(outcomes)
    }
}

/// The name that a watched run gives to the test, or None for a container such as a class.
fn test_of_unique_id(id: &str) -> Option<String> {
    let mut class = String::new();
    let mut method = None;
    let mut indices = String::new();
    let mut last = "";
    for segment in id.strip_prefix('[')?.strip_suffix(']')?.split("]/[") {
        let (kind, value) = segment.split_once(':')?;
        last = kind;
        match kind {
            "class" | "class-template" => class = value.to_owned(),
            "nested-class" | "nested-class-template" => class = format!("{class}${value}"),
            "method" | "test-template" | "test-factory" => {
                let name = value.split('(').next().unwrap_or(value);
                method = Some(name.rsplit('#').next().unwrap_or(name));
            }
            _ if method.is_some() => indices.extend(value.strip_prefix('#').map(|index| format!("[{index}]"))),
            _ => {}
        }
    }
    let is_test = matches!(last, "method" | "test-template-invocation" | "dynamic-test");
    is_test.then(|| format!("{class}#{}{indices}", method.unwrap_or_default()))
}

/// Everything that came of a watched run and of no plain one. A test whose outcome already varies from one plain
/// run to the next counts only if watching added one of its own.
pub(crate) fn differences(plain: &[Outcomes], watched: &[Outcomes]) -> Vec<Difference> {
    let mut found = Vec::new();
    for name in plain.iter().chain(watched).flat_map(names).collect::<BTreeSet<&str>>() {
        if plain.iter().any(|run| run.tests.contains_key(name)) {
            let counts = |run: &Outcomes| run.tests.get(name).copied().unwrap_or_default();
            found.extend(novelty(name, plain, watched, counts));
        } else {
            let failed = |run: &Outcomes| {
                let named = run.tests.get(name).map_or(0, |counts| counts.failed);
                Failed(named + run.failures.get(name).copied().unwrap_or(0))
            };
            found.extend(novelty(name, plain, watched, failed));
        }
    }
    found.extend(novelty("all tests", plain, watched, |run| Ran(run.ran)));
    found.extend(novelty("the exit code", plain, watched, |run| Succeeded(run.succeeded)));
    found
}

fn names(run: &Outcomes) -> impl Iterator<Item = &str> {
    run.tests.keys().chain(run.failures.keys()).map(String::as_str)
}

fn novelty<T: PartialEq + fmt::Display>(
    name: &str,
    plain: &[Outcomes],
    watched: &[Outcomes],
    value: impl Fn(&Outcomes) -> T,
) -> Option<Difference> {
    let known: Vec<T> = plain.iter().map(&value).collect();
    let new = watched.iter().map(&value).find(|value| !known.contains(value))?;
    Some(Difference { name: name.to_owned(), plain: known.first()?.to_string(), watched: new.to_string() })
}

#[derive(PartialEq)]
struct Failed(u64);

#[derive(PartialEq)]
struct Ran(u64);

#[derive(PartialEq)]
struct Succeeded(bool);

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} failed", self.0)
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ran", self.0)
    }
}

impl fmt::Display for Succeeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0 { "success" } else { "failure" })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(self.passed, "passed"), (self.failed, "failed"), (self.aborted, "aborted")];
        let said: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        formatter.write_str(if said.is_empty() { "did not run".to_owned() } else { said.join(", ") }.as_str())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: plain {}, watched {}", self.name, self.plain, self.watched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(tests: &[(&str, &str)]) -> Outcomes {
        let mut outcomes = Outcomes::new(tests.iter().all(|(_, status)| *status != "failed"));
        tests.iter().for_each(|(name, status)| outcomes.add(name, status));
        outcomes
    }

    fn said(plain: &[Outcomes], watched: &[Outcomes]) -> Vec<String> {
        differences(plain, watched).iter().map(Difference::to_string).collect()
    }

    #[test]
    fn unique_ids_become_the_names_of_watched_tests() {
        let name = |rest: &str| test_of_unique_id(&format!("[engine:junit-jupiter]/[class:a.B]{rest}"));
        assert_eq!(name("/[method:c(int, java.lang.String)]").as_deref(), Some("a.B#c"));
        assert_eq!(name("/[nested-class:D]/[method:c()]").as_deref(), Some("a.B$D#c"));
        assert_eq!(name("/[test-template:c(int%5B%5D)]/[test-template-invocation:#12]").as_deref(), Some("a.B#c[12]"));
        assert_eq!(
            name("/[test-factory:c()]/[dynamic-container:#1]/[dynamic-test:#2]").as_deref(),
            Some("a.B#c[1][2]")
        );
        assert_eq!(name("/[test-template:c(int)]"), None);
        assert_eq!(name(""), None);
    }

    #[test]
    fn a_worker_that_was_cut_off_has_no_outcomes() {
        assert_eq!(Outcomes::of_worker("a.B\tran 3, ignored 0\n", true), None);
        assert_eq!(Outcomes::of_worker("", true), None);
        assert_eq!(Outcomes::of_worker("a.B\tran 3, ignored 1\ndone\n", true).unwrap().ran(), 3);
    }

    #[test]
    fn equal_outcomes_of_the_platform_make_no_difference() {
        let text = "[engine:junit-jupiter]/[class:a.B]/[method:c()]\tSUCCESSFUL\n\
                    [engine:junit-jupiter]/[class:a.B]/[method:d()]\tFAILED\n\
                    [engine:junit-jupiter]/[class:a.B]/[method:e()]\tABORTED\n\
                    [engine:junit-jupiter]/[class:a.B]/[method:f()]\tSKIPPED\n\
                    done\n";
        let plain = [Outcomes::of_worker(text, false).unwrap()];
        let same = [("a.B#c", "passed"), ("a.B#d", "failed"), ("a.B#e", "aborted"), ("a.B#f", "skipped")];
        assert_eq!(said(&plain, &[watched(&same)]), Vec::<String>::new());
        let other = [("a.B#c", "failed"), ("a.B#d", "failed"), ("a.B#e", "aborted")];
        assert_eq!(said(&plain, &[watched(&same), watched(&other)]), ["a.B#c: plain 1 passed, watched 1 failed"]);
    }

    #[test]
    fn failures_of_junit4_are_compared_by_name_and_the_rest_by_number() {
        let plain = [Outcomes::of_worker("t(a.B)\tfailed\na.B\tran 3, ignored 0\ndone\n", false).unwrap()];
        let same = watched(&[("a.B#t", "failed"), ("a.B#t", "passed"), ("a.B#u", "passed")]);
        assert_eq!(said(&plain, std::slice::from_ref(&same)), Vec::<String>::new());
        let other = watched(&[("a.B#t", "passed"), ("a.B#u", "failed")]);
        assert_eq!(
            said(&plain, &[other]),
            [
                "a.B#t: plain 1 failed, watched 0 failed",
                "a.B#u: plain 0 failed, watched 1 failed",
                "all tests: plain 3 ran, watched 2 ran"
            ]
        );
    }

    #[test]
    fn a_test_that_varies_without_watching_is_no_difference() {
        let passed = watched(&[("a.B#c", "passed")]);
        let failed = watched(&[("a.B#c", "failed")]);
        let both = [passed.clone(), failed.clone()];
        assert!(differences(&both, std::slice::from_ref(&failed)).is_empty());
        assert!(!differences(std::slice::from_ref(&passed), &both).is_empty());
    }
}
