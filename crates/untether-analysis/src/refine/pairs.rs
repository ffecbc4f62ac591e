//! Pairs of tests, one after the other as if nobody else were there: first those of which detection says that the
//! second reads what the first writes, then, where there are not too many, all.
//!
//! What a test reads can depend on what it finds, so candidates alone are never the whole truth.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use untether_model::{Share, Status, Trial};

use crate::refine::diagnose::status_of;
use crate::refine::evidence::{Evidence, Test};
use crate::refine::{Phase, Session, Stopped, Suspect};

/// Suites of up to so many pairs are tried pair by pair; of larger ones, one pair of tests for each pair of classes.
const MOST_PAIRS: usize = 40_000;

/// JVMs that one refinement starts for pairs that can only be tried in JVMs of their own; the next one goes on.
const MOST_FRESH_PAIRS: usize = 400;
const FRESH_AT_ONCE: usize = 16;

impl Session<'_, '_> {
    pub(crate) fn search_pairs(&mut self, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        let evidence = self.evidence;
        let runnable = |list: Vec<(Test, Test)>, session: &Self| -> Vec<(Test, Test)> {
            let can_run = |test| session.can_run(test) && session.reference[test] != Status::Missing;
            list.into_iter().filter(|&(first, second)| can_run(first) && can_run(second)).collect()
        };
        let candidates = evidence.candidate_pairs(targets).map(|list| runnable(list, self));
        self.coverage.candidates.all = candidates.iter().map(Vec::len).sum();
        for (stage, list) in candidates.into_iter().enumerate() {
            // Who reads the project's own state comes first: where trials are slow, the others may have to wait.
            let readers: BTreeSet<Test> = match stage {
                0 => list.iter().map(|&(_, reader)| reader).collect(),
                _ => targets.iter().copied().filter(|&test| self.can_run(test)).collect(),
            };
            self.try_alone(readers.clone())?;
            self.check_alone(&readers)?;
            self.suspect_alone(&readers)?;
            self.coverage.candidates.tried += self.cover_pairs(list)?;
            // The time may be over before all is tried.
            self.prove_new_causes()?;
        }
        let all = runnable(self.all_pairs(targets).collect(), self);
        if all.len() <= MOST_PAIRS {
            self.coverage.pairs = Share { tried: 0, all: all.len() };
            self.coverage.pairs.tried = self.cover_pairs(all)?;
            return Ok(());
        }
        self.coverage.pairs = Share { tried: self.pairs.len(), all: all.len() };
        self.coverage.class_pairs = Share { tried: 0, all: class_pairs_of(self.evidence, &all) };
        // A hint that is quickly had; whole classes follow (orders.rs).
        let of_classes = self.class_pairs(&all);
        self.cover_pairs(of_classes)?;
        Ok(())
    }

    fn all_pairs<'t>(&self, targets: &'t BTreeSet<Test>) -> impl Iterator<Item = (Test, Test)> + use<'t> {
        let all = (0..self.evidence.tests.len()).flat_map(|first| targets.iter().map(move |&second| (first, second)));
        all.filter(|(first, second)| first != second)
    }

    /// What shows there can make more tests untrusted where JVMs are put back: then their pairs are tried as well.
    pub(crate) fn search_fresh_pairs(&mut self, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        let most = self.oracle.jvms_spent() + MOST_FRESH_PAIRS;
        loop {
            let untrusted = self.unfaithful.len();
            self.try_fresh_pairs(targets, most)?;
            if self.unfaithful.len() == untrusted {
                return Ok(());
            }
        }
    }

    /// Pairs that could not be tried otherwise, each in a JVM of its own, as packed schedules only show them in company:
    /// candidates first, then all with a test that comes to something else where JVMs are put back, be it the first or the
    /// second, and those that hung there.
    fn try_fresh_pairs(&mut self, targets: &BTreeSet<Test>, most: usize) -> Result<(), Stopped> {
        let initialized = self.evidence.fresh_pairs(targets);
        let of_untrusted: BTreeSet<Test> = targets.iter().copied().filter(|&test| self.is_doubted(test)).collect();
        let mut open: Vec<(Test, Test)> = initialized.iter().copied().collect();
        open.extend(self.evidence.candidate_pairs(targets).into_iter().flatten());
        open.extend(self.all_pairs(&of_untrusted));
        open.extend(self.all_pairs(targets).filter(|(first, _)| self.unfaithful.contains(first)));
        open.extend(self.unanswered.iter().filter(|(_, second)| targets.contains(second)));
        let mut seen = HashSet::new();
        open.retain(|&pair| {
            let is_trusted = !self.unfaithful.contains(&pair.0) && self.is_trusted(pair.1);
            let is_tried = self.pairs.contains_key(&pair) && is_trusted && !initialized.contains(&pair);
            let can_run = self.can_run(pair.0) && self.can_run(pair.1) && self.reference[pair.1] != Status::Missing;
            let is_done = self.fresh_pairs.contains(&pair) || self.untriable.contains(&pair);
            can_run && !is_tried && !is_done && seen.insert(pair)
        });
        for (at, some) in open.chunks(FRESH_AT_ONCE).enumerate() {
            if self.oracle.jvms_spent() >= most {
                break;
            }
            self.progress(Phase::Pairs { left: open.len() - at * FRESH_AT_ONCE });
            let schedules: Vec<Vec<Test>> = some.iter().map(|&(first, second)| vec![first, second]).collect();
            let verdicts = self.last_verdicts(&schedules)?;
            let mut suspects = Vec::new();
            for (&(first, test), verdict) in some.iter().zip(verdicts) {
                if verdict.status == Status::Missing {
                    self.untriable.insert((first, test));
                    continue;
                }
                self.fresh_pairs.insert((first, test));
                if self.pairs.insert((first, test), verdict.status).is_some_and(|quick| quick != verdict.status) {
                    self.unfaithful.insert(test);
                }
                let alone = self.alone.get(&test).map_or(self.reference[test], |alone| alone.status);
                if verdict.status != alone && self.is_target(test) {
                    suspects.push(Suspect { test, before: vec![first], status: verdict.status });
                }
            }
            self.explain(suspects)?;
        }
        Ok(())
    }

    /// What initializers did to the others' state is there in a JVM that is put back, whoever comes first. Whom that may
    /// concern is run in fresh JVMs to see whether it comes to the same.
    fn check_alone(&mut self, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        let readers: BTreeSet<Test> =
            self.evidence.written_by_initializers(targets).into_iter().map(|(_, reader)| reader).collect();
        let doubtful = readers.into_iter().filter(|test| self.quick_alone.contains_key(test)).collect();
        self.learn_alone(doubtful)?;
        self.try_alone(BTreeSet::new())?;
        // Who fails does not come to what it would read otherwise, so nobody knows whether that concerns it. (What it does
        // to others is the same here and there.)
        if self.evidence.has_initializer_effects() {
            let fails = |test: &Test| self.quick_alone.get(test).is_some_and(|alone| alone.status != Status::Passed);
            let failing: Vec<Test> = targets.iter().copied().filter(fails).collect();
            self.doubtful.extend(failing);
        }
        Ok(())
    }

    /// How far the search came: what was tried where it proves nothing was not tried.
    pub(crate) fn count_pairs(&mut self, targets: &BTreeSet<Test>) {
        let initialized = self.evidence.fresh_pairs(targets);
        let doubted: BTreeSet<Test> = self.unfaithful.union(&self.doubtful).copied().collect();
        let is_tried = |pair: &(Test, Test)| {
            let is_faithful = !self.unfaithful.contains(&pair.0) && !doubted.contains(&pair.1);
            let is_quick_proof = is_faithful && !initialized.contains(pair);
            let is_proof = self.fresh_pairs.contains(pair) || is_quick_proof;
            is_proof && self.pairs.contains_key(pair) && self.reference[pair.0] != Status::Missing
        };
        let candidates: Vec<(Test, Test)> = self.evidence.candidate_pairs(targets).into_iter().flatten().collect();
        let is_asked = |test: Test| self.can_run(test) && self.reference[test] != Status::Missing;
        let is_untriable = |pair: &&(Test, Test)| self.untriable.contains(pair) && is_asked(pair.0) && is_asked(pair.1);
        let untriable = candidates.iter().filter(is_untriable).count();
        let candidates = candidates.iter().filter(|pair| is_tried(pair)).count();
        self.coverage.candidates.all = self.coverage.candidates.all.saturating_sub(untriable);
        let pairs = self.pairs.keys().filter(|pair| targets.contains(&pair.1) && is_tried(pair)).count();
        self.coverage.candidates.tried = candidates.min(self.coverage.candidates.all);
        self.coverage.pairs.tried = pairs.min(self.coverage.pairs.all);
    }

    /// Tests that come to something else alone than in the original order.
    fn suspect_alone(&mut self, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        let mut suspects = Vec::new();
        for &test in targets {
            let Some(status) = self.quick_alone.get(&test).map(|verdict| verdict.status) else { continue };
            if status != self.reference[test] && self.reference[test] != Status::Missing {
                suspects.push(Suspect { test, before: Vec::new(), status });
            }
        }
        self.learn_alone(suspects.iter().map(|suspect| suspect.test).collect())?;
        // Now that it is known what they come to in fresh JVMs, it shows who is not to be trusted.
        self.try_alone(BTreeSet::new())?;
        suspects.retain(|suspect| !self.is_doubted(suspect.test));
        self.explain(suspects)
    }

    /// One pair of tests for each ordered pair of classes, where no pair of theirs was tried yet.
    fn class_pairs(&self, all: &[(Test, Test)]) -> Vec<(Test, Test)> {
        let classes = |&(first, second): &(Test, Test)| (self.evidence.class(first), self.evidence.class(second));
        let mut seen: HashSet<(&str, &str)> = self.pairs.keys().map(classes).collect();
        all.iter().filter(|pair| classes(pair).0 != classes(pair).1 && seen.insert(classes(pair))).copied().collect()
    }

    /// Tries the pairs that have not been and explains what they show; how many are known then.
    fn cover_pairs(&mut self, mut pairs: Vec<(Test, Test)>) -> Result<usize, Stopped> {
        let mut known = 0;
        self.arrange_pairs(&mut pairs);
        let mut rest = &pairs[..];
        while !rest.is_empty() && self.oracle.has_room() {
            self.progress(Phase::Pairs { left: rest.len() });
            let (some, after) = rest.split_at(self.oracle.trials_at_once().clamp(1, rest.len()));
            rest = after;
            self.try_pairs(some.to_vec())?;
            known += some.iter().filter(|pair| self.pairs.contains_key(pair)).count();
            let mut suspects: BTreeMap<Test, Vec<Suspect>> = BTreeMap::new();
            for &(first, test) in some {
                let Some(&status) = self.pairs.get(&(first, test)) else { continue };
                let is_changed = self.quick_alone.get(&test).is_some_and(|alone| alone.status != status);
                if is_changed && self.is_target(test) && !self.is_doubted(test) {
                    suspects.entry(test).or_default().push(Suspect { test, before: vec![first], status });
                }
            }
            self.explain_pairs(suspects)?;
        }
        Ok(known)
    }

    /// One pair of each test is enough for now; the others become alternatives of it.
    fn explain_pairs(&mut self, suspects: BTreeMap<Test, Vec<Suspect>>) -> Result<(), Stopped> {
        let new: Vec<Suspect> = suspects
            .into_values()
            .filter(|of_test| {
                let name = &self.evidence.tests[of_test[0].test];
                let is_known = |role| self.findings.iter().any(|it| &it.test == name && it.role == role);
                of_test.iter().any(|it| self.role_of(it.test, it.status).is_none_or(|role| !is_known(role)))
            })
            .flat_map(|of_test| {
                const MOST_TRIED: usize = 3;
                of_test.into_iter().take(MOST_TRIED)
            })
            .collect();
        self.explain(new)
    }

    /// The same first tests stand together, and so do the classes of the second ones.
    fn arrange_pairs(&self, pairs: &mut [(Test, Test)]) {
        pairs.sort_by_key(|&(first, second)| (first, self.evidence.class(second), second));
    }

    /// What the second of each pair comes to; remembered.
    pub(crate) fn try_pairs(&mut self, mut pairs: Vec<(Test, Test)>) -> Result<(), Stopped> {
        pairs.retain(|pair| !self.pairs.contains_key(pair));
        self.arrange_pairs(&mut pairs);
        let trials: Vec<Trial> = pairs.iter().map(|&(first, second)| self.trial(&[first], second)).collect();
        let tried = self.try_all(&trials)?;
        for (pair, tried) in pairs.into_iter().zip(tried) {
            match status_of(tried) {
                Some(status) => _ = self.pairs.insert(pair, status),
                None if self.is_quick => _ = self.unanswered.insert(pair),
                None => {}
            }
        }
        Ok(())
    }
}

/// How many ordered pairs of different classes there are among pairs of tests.
fn class_pairs_of(evidence: &Evidence<'_>, pairs: &[(Test, Test)]) -> usize {
    let classes = pairs.iter().map(|&(first, second)| (evidence.class(first), evidence.class(second)));
    classes.filter(|(first, second)| first != second).collect::<HashSet<_>>().len()
}
