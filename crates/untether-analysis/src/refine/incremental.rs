//! What an earlier refinement still says, and what has to be looked at again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use untether_model::{ContentHasher, Detection, Finding, OutcomeStatus, Status, UnitKind, class_of, method_of};

use crate::refine::evidence::Evidence;

/// Evidence together with what the classes of the tests look like now.
#[derive(Debug)]
pub struct Fingerprinted<'e, 'd> {
    evidence: &'e Evidence<'d>,
    /// By class.
    classes: BTreeMap<String, String>,
}

impl<'e, 'd> Fingerprinted<'e, 'd> {
    /// `of_class` gives the fingerprint of a class.
    pub fn new(evidence: &'e Evidence<'d>, of_class: impl Fn(&str) -> String) -> Self {
        let names: BTreeSet<&str> = evidence.tests.iter().map(|test| class_of(test)).collect();
        let classes = names.into_iter().map(|class| (class.to_owned(), of_class(class))).collect();
        Fingerprinted { evidence, classes }
    }

    /// What the class of a test looks like.
    pub fn of_class(&self, test: &str) -> &str {
        self.classes.get(class_of(test)).map_or("", String::as_str)
    }

    /// What the class of a test looks like, and who writes what the test reads.
    pub fn of_test(&self, test: &str) -> String {
        let mut hasher = ContentHasher::default();
        hasher.texts(self.evidence.writers_named(test));
        format!("{}-{}", self.of_class(test), hasher.finish())
    }

    /// The tests about which an earlier refinement says nothing any more: they, their writers, or the tests that a
    /// finding about them names have changed or are gone. None where that is all of them.
    pub fn outdated(&self, known: &BTreeMap<String, String>, findings: &[Finding]) -> Option<BTreeSet<String>> {
        let evidence = self.evidence;
        let is_class_changed = |test: &str| {
            let before = known.get(test).and_then(|fingerprint| fingerprint.split('-').next());
            before != Some(self.of_class(test))
        };
        let is_changed = |test: &String| {
            let named = findings.iter().filter(|f| &f.test == test).flat_map(|f| f.others().iter().chain(&f.cleaners));
            known.get(test) != Some(&self.of_test(test))
                || evidence.writers_named(test).into_iter().any(is_class_changed)
                || named.into_iter().any(|other| evidence.test(other).is_none() || is_class_changed(other))
        };
        let found: BTreeSet<String> = evidence.tests.iter().filter(|test| is_changed(test)).cloned().collect();
        (found.len() < evidence.tests.len()).then_some(found)
    }
}

/// Tests that passed when they were watched and do not in a worker: the worker lacks something.
pub fn differing(detection: &Detection, reference: &[(String, Status)]) -> Vec<String> {
    let mut is_passed: HashMap<&str, bool> = HashMap::new();
    for unit in detection.units.iter().filter(|unit| unit.kind == UnitKind::Test) {
        let passed = unit.outcome.as_ref().is_some_and(|outcome| outcome.status == OutcomeStatus::Passed);
        *is_passed.entry(method_of(&unit.name)).or_insert(true) &= passed;
    }
    reference
        .iter()
        .filter(|(test, status)| *status != Status::Passed && is_passed.get(test.as_str()) == Some(&true))
        .map(|(test, _)| test.clone())
        .collect()
}
