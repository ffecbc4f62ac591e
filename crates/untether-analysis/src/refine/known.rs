//! Who harmed one test often harms many: what findings blame is tried with other tests first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use untether_model::Role;

use crate::refine::diagnose::{is_of_disturbed, is_subsequence};
use crate::refine::evidence::Test;
use crate::refine::strategy::{Once, as_class_runs};
use crate::refine::{Session, Stopped, Suspect};

/// Lists that are tried with a suspect, and tests that are run before all others, at a time.
const MOST_KNOWN: usize = 3;
const MOST_LEADING: usize = 3;

/// Which known lists were tried with which test.
#[derive(Debug, Default)]
pub(crate) struct Known {
    tried: HashMap<Test, BTreeSet<Vec<Test>>>,
}

impl Known {
    /// Whether it is to be tried; notes it.
    fn is_new(&mut self, test: Test, list: &[Test]) -> bool {
        let lists = self.tried.entry(test).or_default();
        lists.len() < MOST_KNOWN && lists.insert(list.to_vec())
    }
}

impl Session<'_, '_> {
    /// Lists that change other tests, in fresh JVMs: what happens only once in a JVM, while a class is initialised, does not
    /// show where JVMs are put back, and to take a schedule apart for each test would cost many times as much.
    pub(crate) fn explain_by_known(&mut self, suspects: &[Suspect], known: &mut Known) -> Result<(), Stopped> {
        for list in self.known_lists() {
            let mut meant: Vec<Test> = Vec::new();
            for suspect in suspects {
                let can_be = !list.contains(&suspect.test) && is_subsequence(&list, &suspect.before);
                if can_be && self.is_open(suspect) && known.is_new(suspect.test, &list) {
                    meant.push(suspect.test);
                }
            }
            let mut minimal: Vec<(Test, Vec<Test>)> = Vec::new();
            for test in meant {
                match list.len() {
                    1 => minimal.push((test, list.clone())),
                    _ => minimal.extend(self.minimal(test, list.clone())?.map(|list| (test, list))),
                }
            }
            self.confirm_all(&minimal)?;
        }
        Ok(())
    }

    /// What findings blame, the most blamed first.
    fn known_lists(&self) -> Vec<Vec<Test>> {
        let mut counts: BTreeMap<Vec<Test>, usize> = BTreeMap::new();
        for finding in self.findings.iter().filter(|finding| !is_of_disturbed(finding)) {
            *counts.entry(self.numbers(finding.others())).or_default() += 1;
        }
        let mut lists: Vec<(usize, Vec<Test>)> = counts.into_iter().map(|(list, count)| (count, list)).collect();
        lists.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        lists.into_iter().map(|(_, list)| list).collect()
    }

    /// What happens only once in a JVM, while a class is initialised, does not show in JVMs that are put back. A test that
    /// harmed another in that way is run before all others: then it does to each class what it can.
    pub(crate) fn search_after_known(&mut self) -> Result<(), Stopped> {
        for _ in 0..MOST_LEADING {
            let Some(polluter) = self.once_only_polluters().into_iter().find(|test| !self.leading.contains(test))
            else {
                break;
            };
            self.leading.insert(polluter);
            let class = self.evidence.class(polluter);
            let others = (0..self.evidence.tests.len()).filter(|&test| self.evidence.class(test) != class);
            let schedule: Vec<Test> = [polluter].into_iter().chain(others).collect();
            self.search_by(&mut Once(vec![as_class_runs(self.evidence, &schedule)]))?;
        }
        Ok(())
    }

    /// Those that harm a test in fresh JVMs only, the worst first.
    fn once_only_polluters(&self) -> Vec<Test> {
        let mut counts: BTreeMap<Test, usize> = BTreeMap::new();
        for finding in self.findings.iter().filter(|finding| finding.role == Role::Victim) {
            let (Some(test), others) = (self.evidence.test(&finding.test), self.numbers(finding.others())) else {
                continue;
            };
            if let [polluter] = others[..] {
                let quick = self.pairs.get(&(polluter, test)).filter(|_| self.is_trusted(test));
                if !quick.is_some_and(|&status| self.differs(test, status)) {
                    *counts.entry(polluter).or_default() += 1;
                }
            }
        }
        let mut polluters: Vec<(usize, Test)> = counts.into_iter().map(|(test, count)| (count, test)).collect();
        polluters.sort_by_key(|&(count, test)| (Reverse(count), test));
        polluters.into_iter().map(|(_, test)| test).collect()
    }
}
