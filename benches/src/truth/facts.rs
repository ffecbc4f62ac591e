//! What brute force has shown of a suite, and what follows: which tests depend on the order. Pure.

use std::collections::{BTreeMap, BTreeSet};

use untether_model::{Status, Verdict};

/// What a test came to in one schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        Outcome { status: verdict.status, message: verdict.message }
    }
}

impl Outcome {
    /// Another status; what could not be run says nothing.
    pub(crate) fn differs_from(&self, other: &Outcome) -> bool {
        self.status != other.status && self.status != Status::Missing && other.status != Status::Missing
    }

    /// The class of the cell in which the test found what it did not expect.
    pub(crate) fn cell(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once('[')?;
        let (name, _) = rest.split_once(']')?;
        Some(name).filter(|_| self.status != Status::Passed)
    }
}

/// Where two outcomes differ, the cell that made one of them fail.
pub(crate) fn cell_between<'o>(one: &'o Outcome, other: &'o Outcome) -> Option<&'o str> {
    one.cell().or_else(|| other.cell())
}

/// The smallest of the schedules that were tried in which a test shows that it depends on the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dependence {
    /// Alone it comes to something else than in the original order.
    Single,
    /// After one other test it comes to something else than alone.
    Pair,
    /// Only after two.
    Triple,
}

impl Dependence {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Dependence::Single => "single",
            Dependence::Pair => "pair",
            Dependence::Triple => "triple",
        }
    }
}

/// One way to see that a test depends on the order: what runs before it, and the cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shown {
    pub(crate) dependence: Dependence,
    /// Empty where it was run alone.
    pub(crate) before: Vec<String>,
    pub(crate) cell: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) tests: Vec<String>,
    /// Those that came to different outcomes in the same order: the suite is no good.
    pub(crate) unstable: BTreeSet<String>,
    pub(crate) reference: BTreeMap<String, Outcome>,
    alone: BTreeMap<String, Outcome>,
    /// By the test, then by what was run before it.
    after: BTreeMap<String, BTreeMap<Vec<String>, Outcome>>,
}

impl Facts {
    pub(crate) fn new(tests: &[String], first: &[Outcome], second: &[Outcome]) -> Self {
        let varies = |(at, _): &(usize, &String)| first[*at].status != second[*at].status;
        Facts {
            tests: tests.to_vec(),
            unstable: tests.iter().enumerate().filter(varies).map(|(_, test)| test.clone()).collect(),
            reference: tests.iter().cloned().zip(first.iter().cloned()).collect(),
            alone: BTreeMap::new(),
            after: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, mut schedule: Vec<String>, outcome: Outcome) {
        let Some(test) = schedule.pop() else { return };
        if schedule.is_empty() {
            self.alone.insert(test, outcome);
        } else {
            self.after.entry(test).or_default().insert(schedule, outcome);
        }
    }

    /// Everything that shows that the test depends on the order, the simplest first.
    pub(crate) fn shown(&self, test: &str) -> Vec<Shown> {
        let (Some(alone), Some(reference)) = (self.alone.get(test), self.reference.get(test)) else {
            return Vec::new();
        };
        let mut shown = Vec::new();
        let mut show = |dependence, before: &[String], outcome: &Outcome| {
            if outcome.differs_from(alone) {
                let cell = cell_between(outcome, alone).map(str::to_owned);
                shown.push(Shown { dependence, before: before.to_vec(), cell });
            }
        };
        show(Dependence::Single, &[], reference);
        for (before, outcome) in self.after.get(test).into_iter().flatten() {
            show(if before.len() == 1 { Dependence::Pair } else { Dependence::Triple }, before, outcome);
        }
        shown.sort();
        shown
    }

    /// Pairs of which the second comes to something else after the first than alone.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        let of = |test: &String| {
            let shown = self.shown(test).into_iter().filter(|shown| shown.dependence == Dependence::Pair);
            shown.flat_map(|shown| shown.before).map(|before| (before, test.clone())).collect::<Vec<_>>()
        };
        self.tests.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> Outcome {
        let status = if text.is_empty() { Status::Passed } else { Status::Failed };
        Outcome { status, message: text.to_owned() }
    }

    fn facts(observed: &[(&str, &str)]) -> Facts {
        let tests = ["A#a".to_owned(), "B#b".to_owned()];
        let reference = [outcome(""), outcome("")];
        let mut facts = Facts::new(&tests, &reference, &reference);
        for (schedule, text) in observed {
            facts.add(schedule.split(' ').map(str::to_owned).collect(), outcome(text));
        }
        facts
    }

    #[test]
    fn a_test_that_comes_to_the_same_everywhere_does_not_depend() {
        let facts = facts(&[("A#a", ""), ("B#b", ""), ("A#a B#b", ""), ("B#b A#a", "")]);
        assert!(facts.shown("A#a").is_empty() && facts.shown("B#b").is_empty() && facts.pairs().is_empty());
    }

    #[test]
    fn the_simplest_schedule_comes_first_and_names_the_cell() {
        let facts = facts(&[("B#b", "[Cell2] is not as expected"), ("A#a B#b", ""), ("C#c A#a B#b", "")]);
        let shown = facts.shown("B#b");
        assert_eq!(shown[0].dependence, Dependence::Single);
        assert!(shown.iter().all(|shown| shown.cell.as_deref() == Some("Cell2")), "{shown:?}");
        assert_eq!(facts.pairs(), [("A#a".to_owned(), "B#b".to_owned())]);
    }

    #[test]
    fn what_shows_only_after_two_is_a_triple() {
        let facts = facts(&[("B#b", ""), ("A#a B#b", ""), ("A#a C#c B#b", "[Cell1] is not as expected")]);
        assert_eq!(facts.shown("B#b").iter().map(|s| s.dependence).collect::<Vec<_>>(), [Dependence::Triple]);
    }

    #[test]
    fn what_could_not_be_run_says_nothing() {
        let mut facts = facts(&[("B#b", "")]);
        let missing = Outcome { status: Status::Missing, message: String::new() };
        facts.add(vec!["A#a".to_owned(), "B#b".to_owned()], missing);
        assert!(facts.shown("B#b").is_empty());
    }
}
