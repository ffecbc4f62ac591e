//! What makes a finding useful beyond its proof: its cause, other tests that do the same, tests that undo it. Last of
//! all, as the time may be over before.

use std::collections::{BTreeMap, BTreeSet};

use untether_model::{Certainty, Finding, PutBack, Role, Trial};

use crate::refine::diagnose::{Way, followed_by, is_of_disturbed, status_of};
use crate::refine::evidence::Test;
use crate::refine::strategy::splits_class;
use crate::refine::{Session, Stopped};

/// Tests that are tried as cleaners of one cause, and as disturbers of one setter: in JVMs that are put back, and in
/// fresh ones.
const MOST_TRIED: usize = 200;
const MOST_FRESH: usize = 8;

/// Cleaners that are run once more in a fresh JVM and named.
const MOST_CLEANERS: usize = 5;

/// How many tests are tried in place of one of several polluters.
const MOST_ALTERNATIVES: usize = 32;

impl Session<'_, '_> {
    pub(crate) fn complete(&mut self) -> Result<(), Stopped> {
        self.find_disturbers()?;
        self.prove_causes(0)?;
        self.find_alternatives()?;
        self.find_cleaners()
    }

    fn trusted_way(&self, test: Test) -> (Way, usize) {
        if self.is_trusted(test) { (Way::Quick, MOST_TRIED) } else { (Way::Fresh, MOST_FRESH) }
    }

    // ---- tests that come between a setter and its test

    fn find_disturbers(&mut self) -> Result<(), Stopped> {
        let brittle: Vec<(Test, Vec<Test>)> = self
            .findings
            .iter()
            .filter(|finding| finding.role == Role::Brittle)
            .filter_map(|finding| Some((self.evidence.test(&finding.test)?, self.numbers(&finding.setters))))
            .collect();
        for (test, setters) in brittle {
            let (way, most) = self.trusted_way(test);
            let with: Vec<Vec<Test>> = self
                .evidence
                .writers_of(test)
                .into_iter()
                .filter(|writer| !setters.contains(writer) && self.can_run(*writer))
                .map(|writer| followed_by(&setters, writer))
                .filter(|list| !splits_class(self.evidence, &followed_by(list, test)))
                .take(most)
                .collect();
            let changes = self.changes(test, &with, way)?;
            let mut disturbers = with.into_iter().zip(changes).filter(|(_, changes)| !changes).map(|(list, _)| list);
            let mut found = None;
            for list in disturbers.by_ref().take(MOST_CLEANERS) {
                if self.confirm_disturbed(test, &list, &setters)? {
                    found = Some(self.names(&list));
                    break;
                }
            }
            let others: Vec<Vec<String>> = disturbers.map(|list| self.names(&list)).collect();
            let name = &self.evidence.tests[test];
            let is_found = |finding: &&mut Finding| &finding.test == name && Some(&finding.polluters) == found.as_ref();
            if let Some(finding) = self.findings.iter_mut().find(is_found).filter(|_| way == Way::Quick) {
                finding.alternatives = others;
            }
        }
        Ok(())
    }

    // ---- other lists that do the same

    fn find_alternatives(&mut self) -> Result<(), Stopped> {
        for number in 0..self.findings.len() {
            let finding = self.findings[number].clone();
            let Some(test) = self.evidence.test(&finding.test).filter(|&test| self.is_trusted(test)) else { continue };
            if is_of_disturbed(&finding) {
                continue;
            }
            let others = self.numbers(finding.others());
            let lists = match others[..] {
                [_] => self.other_singles(test, &others),
                _ => self.other_lists(test, &others)?,
            };
            let (alike, different) = self.by_cause(&finding, lists)?;
            self.findings[number].alternatives = alike.iter().map(|list| self.names(list)).collect();
            self.add_other_cause(&finding, test, different)?;
        }
        Ok(())
    }

    /// Other tests that alone make the test differ in the same way, of those that were tried.
    fn other_singles(&self, test: Test, known: &[Test]) -> Vec<Vec<Test>> {
        let mut singles: Vec<Test> = self
            .pairs
            .iter()
            .filter(|((first, second), status)| {
                *second == test && !known.contains(first) && self.differs(test, **status)
            })
            .map(|((first, _), _)| *first)
            .collect();
        singles.sort_unstable();
        singles.into_iter().map(|single| vec![single]).collect()
    }

    /// The list with one of several replaced by another that uses the same state.
    fn other_lists(&mut self, test: Test, list: &[Test]) -> Result<Vec<Vec<Test>>, Stopped> {
        let evidence = self.evidence;
        let mut lists: Vec<Vec<Test>> = Vec::new();
        for (position, &one) in list.iter().enumerate() {
            let mut others: Vec<Test> = (0..evidence.tests.len())
                .filter(|other| *other != test && !list.contains(other) && self.can_run(*other))
                .filter(|&other| evidence.likeness(one, other) > 0)
                .collect();
            others.sort_by_cached_key(|&other| (std::cmp::Reverse(evidence.likeness(one, other)), other));
            lists.extend(others.into_iter().take(MOST_ALTERNATIVES).map(|other| {
                let mut replaced = list.to_vec();
                replaced[position] = other;
                replaced
            }));
        }
        lists.retain(|list| !splits_class(evidence, &followed_by(list, test)));
        // Not those of which a part is enough.
        let is_single = |session: &Self, &other: &Test| {
            session.pairs.get(&(other, test)).is_some_and(|&status| session.differs(test, status))
        };
        lists.retain(|list| !list.iter().any(|other| is_single(self, other)));
        let changes = self.changes(test, &lists, Way::Quick)?;
        Ok(lists.into_iter().zip(changes).filter(|(_, changes)| *changes).map(|(list, _)| list).collect())
    }

    /// Lists that do the same through the same fields, and those that do it through others.
    #[expect(clippy::type_complexity, reason = "two lists of lists")]
    fn by_cause(
        &mut self,
        finding: &Finding,
        lists: Vec<Vec<Test>>,
    ) -> Result<(Vec<Vec<Test>>, Vec<Vec<Test>>), Stopped> {
        if finding.cause.certainty != Certainty::Proven || finding.role == Role::Brittle {
            return Ok((lists, Vec::new()));
        }
        let trials: Vec<Trial> = lists
            .iter()
            .map(|list| Trial {
                before: self.names(list),
                put_back: PutBack::Only(finding.cause.fields.clone()),
                last: Some(finding.test.clone()),
            })
            .collect();
        let healed: Vec<bool> = self
            .try_all(&trials)?
            .into_iter()
            .map(|tried| status_of(tried).is_none_or(|status| status == finding.outcome.counter))
            .collect();
        let (alike, different): (Vec<_>, Vec<_>) = lists.into_iter().zip(healed).partition(|(_, healed)| *healed);
        let lists = |some: Vec<(Vec<Test>, bool)>| some.into_iter().map(|(list, _)| list).collect();
        Ok((lists(alike), lists(different)))
    }

    /// Another cause of the same test: a finding of its own.
    fn add_other_cause(&mut self, finding: &Finding, test: Test, mut lists: Vec<Vec<Test>>) -> Result<(), Stopped> {
        while let Some(list) = lists.first().cloned() {
            let before = self.findings.len();
            self.confirm_all(&[(test, list)])?;
            lists.remove(0);
            if self.findings.len() == before || self.unstable.contains(&test) {
                continue;
            }
            self.prove_causes(before)?;
            let other = self.findings[before].clone();
            if other.cause == finding.cause {
                self.findings.truncate(before);
                continue;
            }
            let (alike, different) = self.by_cause(&other, lists)?;
            self.findings[before].alternatives = alike.iter().map(|list| self.names(list)).collect();
            lists = different;
        }
        Ok(())
    }

    // ---- tests that undo it

    /// Cleaners are looked for once per cause, among the tests that write its fields.
    fn find_cleaners(&mut self) -> Result<(), Stopped> {
        let mut by_cause: BTreeMap<(Vec<String>, Vec<String>), Vec<usize>> = BTreeMap::new();
        for (number, finding) in self.findings.iter().enumerate() {
            let is_plain = finding.role == Role::Victim && !is_of_disturbed(finding);
            if is_plain && !finding.cause.fields.is_empty() {
                let key = (finding.cause.fields.clone(), finding.polluters.clone());
                by_cause.entry(key).or_default().push(number);
            }
        }
        for ((fields, polluters), numbers) in by_cause {
            let polluters = self.numbers(&polluters);
            let writers: BTreeSet<Test> =
                fields.iter().flat_map(|field| self.evidence.writers_of_field(field)).collect();
            let mut known: Option<Vec<Test>> = None;
            for number in numbers {
                let Some(test) = self.evidence.test(&self.findings[number].test) else { continue };
                let candidates = known.clone().unwrap_or_else(|| writers.iter().copied().collect());
                let cleaners = self.cleaners_of(test, &polluters, candidates)?;
                self.findings[number].cleaners = self.names(&cleaners);
                // What cleans nothing for the first of them is not tried for the others.
                if !cleaners.is_empty() {
                    known.get_or_insert(cleaners);
                }
            }
        }
        Ok(())
    }

    fn cleaners_of(&mut self, test: Test, polluters: &[Test], candidates: Vec<Test>) -> Result<Vec<Test>, Stopped> {
        let (way, most) = self.trusted_way(test);
        let evidence = self.evidence;
        let mut cleaners: Vec<Test> = candidates
            .into_iter()
            .filter(|cleaner| *cleaner != test && !polluters.contains(cleaner) && self.can_run(*cleaner))
            .filter(|&cleaner| !splits_class(evidence, &followed_by(&followed_by(polluters, cleaner), test)))
            .take(most)
            .collect();
        let cleaned = |cleaners: &[Test]| -> Vec<Vec<Test>> {
            cleaners.iter().map(|&cleaner| followed_by(polluters, cleaner)).collect()
        };
        if way == Way::Quick {
            let changes = self.changes(test, &cleaned(&cleaners), Way::Quick)?;
            let mut changes = changes.into_iter();
            cleaners.retain(|_| changes.next() == Some(false));
            cleaners.truncate(MOST_CLEANERS);
        }
        let changes = self.changes(test, &cleaned(&cleaners), Way::Fresh)?;
        let mut changes = changes.into_iter();
        cleaners.retain(|_| changes.next() == Some(false));
        cleaners.truncate(MOST_CLEANERS);
        Ok(cleaners)
    }
}
