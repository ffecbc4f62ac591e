//! What the tests of a run came to, and whether watched runs came to something else than plain ones.
//!
//! Both the worker of a plain run and a watched run name every test as `class#method[index]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use untether_runner::{ResultReader, status_of};
use untether_wire::WorkerFrame;

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
        self.tests.values().map(|counts| counts.failed).sum()
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

    /// Reads the result file of the worker; None if it lacks its last frame, that is, the worker was cut off.
    pub(crate) fn of_worker(told: &[u8], succeeded: bool) -> Option<Self> {
        let mut outcomes = Outcomes::new(succeeded);
        let mut reader = ResultReader::default();
        let mut is_done = false;
        for frame in reader.feed(told).unwrap_or_default() {
            match frame {
                // Classes are no tests. That one failed shows in the exit code and in the tests that lack.
                WorkerFrame::Ended { id, status, .. } if id.contains('#') => {
                    outcomes.add(&id, status_of(status).as_str());
                }
                WorkerFrame::Done {} => is_done = true,
                _ => {}
            }
        }
        is_done.then_some(outcomes)
    }
}

/// Everything that came of a watched run and of no plain one. A test whose outcome already varies from one plain
/// run to the next counts only if watching added one of its own.
pub(crate) fn differences(plain: &[Outcomes], watched: &[Outcomes]) -> Vec<Difference> {
    let mut found = Vec::new();
    for name in plain.iter().chain(watched).flat_map(|run| run.tests.keys()).collect::<BTreeSet<&String>>() {
        let counts = |run: &Outcomes| run.tests.get(name).copied().unwrap_or_default();
        found.extend(novelty(name, plain, watched, counts));
    }
    found.extend(novelty("all tests", plain, watched, |run| Ran(run.ran)));
    found.extend(novelty("the exit code", plain, watched, |run| Succeeded(run.succeeded)));
    found
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
struct Ran(u64);

#[derive(PartialEq)]
struct Succeeded(bool);

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
    use untether_wire::{EndStatus, Wire as _};

    use super::*;

    fn ended(id: &str, status: EndStatus) -> WorkerFrame {
        WorkerFrame::Ended { id: id.to_owned(), status, nanos: 1, message: String::new() }
    }

    fn told(frames: &[WorkerFrame]) -> Vec<u8> {
        frames.iter().fold(WorkerFrame::HEADER.to_vec(), |bytes, frame| [bytes, frame.encode()].concat())
    }

    fn watched(tests: &[(&str, &str)]) -> Outcomes {
        let mut outcomes = Outcomes::new(tests.iter().all(|(_, status)| *status != "failed"));
        tests.iter().for_each(|(name, status)| outcomes.add(name, status));
        outcomes
    }

    fn said(plain: &[Outcomes], watched: &[Outcomes]) -> Vec<String> {
        differences(plain, watched).iter().map(Difference::to_string).collect()
    }

    #[test]
    fn a_worker_that_was_cut_off_has_no_outcomes() {
        let (one, done) = (ended("a.B#c", EndStatus::Passed), WorkerFrame::Done {});
        assert_eq!(Outcomes::of_worker(&told(std::slice::from_ref(&one)), true), None);
        assert_eq!(Outcomes::of_worker(b"", true), None);
        assert_eq!(Outcomes::of_worker(&told(&[one, done]), true).unwrap().ran(), 1);
    }

    #[test]
    fn equal_outcomes_make_no_difference() {
        let told = told(&[
            ended("a.B#c", EndStatus::Passed),
            ended("a.B#d", EndStatus::Failed),
            ended("a.B#e", EndStatus::Aborted),
            ended("a.B#f", EndStatus::Skipped),
            WorkerFrame::Done {},
        ]);
        let plain = [Outcomes::of_worker(&told, false).unwrap()];
        let same = [("a.B#c", "passed"), ("a.B#d", "failed"), ("a.B#e", "aborted"), ("a.B#f", "skipped")];
        assert_eq!(said(&plain, &[watched(&same)]), Vec::<String>::new());
        let other = [("a.B#c", "failed"), ("a.B#d", "failed"), ("a.B#e", "aborted")];
        assert_eq!(said(&plain, &[watched(&same), watched(&other)]), ["a.B#c: plain 1 passed, watched 1 failed"]);
    }

    #[test]
    fn tests_that_share_a_name_are_counted() {
        let told = told(&[ended("a.B#t", EndStatus::Failed), ended("a.B#t", EndStatus::Passed), WorkerFrame::Done {}]);
        let plain = [Outcomes::of_worker(&told, false).unwrap()];
        let same = watched(&[("a.B#t", "passed"), ("a.B#t", "failed")]);
        assert_eq!(said(&plain, std::slice::from_ref(&same)), Vec::<String>::new());
        let other = watched(&[("a.B#t", "failed")]);
        assert_eq!(
            said(&plain, &[other]),
            ["a.B#t: plain 1 passed, 1 failed, watched 1 failed", "all tests: plain 2 ran, watched 1 ran"]
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
