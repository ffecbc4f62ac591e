//! What makes a finding useful beyond its proof: its cause, other tests that do the same, tests that undo it. Last of
//! all, as the time may be over before.

use std::collections::{BTreeMap, BTreeSet};

use untether_model::{Certainty, Finding, PutBack, Role, Status, Trial, World};

use crate::refine::diagnose::{Way, followed_by, is_of_disturbed, status_of};
use crate::refine::evidence::Test;
use crate::refine::strategy::splits_class;
use crate::refine::{Session, Stopped, Suspect};

/// Tests that are tried as cleaners of one cause, and as disturbers of one setter: in JVMs that are put back, and in
/// fresh ones.
const MOST_TRIED: usize = 200;
const MOST_FRESH: usize = 8;

/// Cleaners that are run once more in a fresh JVM and named.
const MOST_CLEANERS: usize = 5;

/// Other lists that are run in fresh JVMs, so that they can be named.
const MOST_FRESH_ALTERNATIVES: usize = 120;

/// How many tests are tried in place of one of several polluters.
const MOST_ALTERNATIVES: usize = 32;

impl Session<'_, '_> {
    /// What more is to be known of the findings since the last time.
    pub(crate) fn complete(&mut self) -> Result<(), Stopped> {
        let from = self.completed;
        self.find_disturbers(from)?;
        self.prove_causes(from)?;
        self.find_alternatives(from)?;
        self.merge_alike();
        let from = from.min(self.findings.len());
        self.find_cleaners(from)?;
        self.completed = self.findings.len();
        self.proved = self.completed;
        Ok(())
    }

    /// The causes of what was found since the last time: of all that can be known of it, what helps most.
    pub(crate) fn prove_new_causes(&mut self) -> Result<(), Stopped> {
        let from = std::mem::replace(&mut self.proved, self.findings.len());
        self.prove_causes(from)
    }

    /// What happens to a test through the same fields is one finding, whoever is to blame.
    fn merge_alike(&mut self) {
        let mut kept: Vec<Finding> = Vec::new();
        for finding in std::mem::take(&mut self.findings) {
            let is_alike = |other: &&mut Finding| {
                let is_same = other.test == finding.test && other.role == finding.role && other.cause == finding.cause;
                is_same && !is_of_disturbed(other) && !is_of_disturbed(&finding)
            };
            match kept.iter_mut().find(is_alike).filter(|other| !other.cause.fields.is_empty()) {
                Some(other) => {
                    for list in std::iter::once(finding.others().to_vec()).chain(finding.alternatives.clone()) {
                        if other.others() != list && !other.alternatives.contains(&list) {
                            other.alternatives.push(list);
                        }
                    }
                }
                None => kept.push(finding),
            }
        }
        self.findings = kept;
    }

    fn trusted_way(&self, test: Test) -> (Way, usize) {
        if self.is_trusted(test) { (Way::Quick, MOST_TRIED) } else { (Way::Fresh, MOST_FRESH) }
    }

    // ---- tests that come between a setter and its test

    fn find_disturbers(&mut self, from: usize) -> Result<(), Stopped> {
        let brittle: Vec<(Test, Vec<Test>)> = self.findings[from..]
            .iter()
            .filter(|finding| finding.role == Role::Brittle)
            .filter_map(|finding| Some((self.evidence.test(&finding.test)?, self.numbers(&finding.setters))))
            .collect();
        for (test, setters) in brittle {
            self.explain_original_order(test, &setters)?;
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
            let others: Vec<Vec<Test>> = disturbers.take(MOST_CLEANERS).collect();
            let does = self.changes(test, &others, Way::Fresh)?.into_iter().map(|changes| !changes);
            let others = others.iter().zip(does).filter(|(_, does)| *does).map(|(list, _)| self.names(list)).collect();
            let name = &self.evidence.tests[test];
            let is_found = |finding: &&mut Finding| &finding.test == name && Some(&finding.polluters) == found.as_ref();
            if let Some(finding) = self.findings.iter_mut().find(is_found) {
                finding.alternatives = others;
            }
        }
        Ok(())
    }

    /// A test that fails in the original order although its setters come before it.
    fn explain_original_order(&mut self, test: Test, setters: &[Test]) -> Result<(), Stopped> {
        let status = self.reference[test];
        let is_set_up = setters.iter().all(|&setter| setter < test);
        if !is_set_up || self.differs(test, status) || status == Status::Missing {
            return Ok(());
        }
        let before = self.before_in_original_order(test);
        self.explain_disturbed(&Suspect { test, before, status }, setters)?;
        Ok(())
    }

    // ---- other lists that do the same

    fn find_alternatives(&mut self, from: usize) -> Result<(), Stopped> {
        let mut lists: Vec<(usize, Vec<Test>)> = Vec::new();
        for number in from..self.findings.len() {
            let finding = &self.findings[number];
            let Some(test) = self.evidence.test(&finding.test).filter(|&test| self.is_trusted(test)) else { continue };
            if is_of_disturbed(finding) {
                continue;
            }
            let others = self.numbers(finding.others());
            let found = match others[..] {
                [_] => self.other_singles(test, finding.role, &others),
                _ => self.other_lists(test, &others)?,
            };
            lists.extend(found.into_iter().map(|list| (number, list)));
        }
        let is_alike = self.have_same_cause(&lists)?;
        let mut alike: Vec<(usize, Vec<Test>)> = Vec::new();
        let mut different: BTreeMap<usize, Vec<Vec<Test>>> = BTreeMap::new();
        for ((number, list), is_alike) in lists.into_iter().zip(is_alike) {
            if is_alike {
                alike.push((number, list));
            } else {
                different.entry(number).or_default().push(list);
            }
        }
        self.add_alternatives(alike)?;
        for (number, lists) in different {
            self.add_other_cause(number, lists)?;
        }
        Ok(())
    }

    /// Those that do the same in fresh JVMs as well.
    fn add_alternatives(&mut self, mut lists: Vec<(usize, Vec<Test>)>) -> Result<(), Stopped> {
        // One of each finding comes before the second of any.
        let mut count: BTreeMap<usize, usize> = BTreeMap::new();
        let mut places: Vec<usize> = Vec::new();
        for (number, _) in &lists {
            let place = count.entry(*number).or_default();
            places.push(*place);
            *place += 1;
        }
        let mut ordered: Vec<(usize, (usize, Vec<Test>))> = places.into_iter().zip(lists.drain(..)).collect();
        ordered.sort_by_key(|(place, (number, _))| (*place, *number));
        ordered.truncate(MOST_FRESH_ALTERNATIVES);
        let test_of = |session: &Self, number: usize| session.evidence.test(&session.findings[number].test);
        let schedules: Vec<Vec<Test>> =
            ordered.iter().filter_map(|(_, (number, list))| Some(followed_by(list, test_of(self, *number)?))).collect();
        let verdicts = self.known_verdicts(&schedules)?;
        for ((_, (number, list)), verdict) in ordered.into_iter().zip(verdicts) {
            let does_the_same = |test: Test| {
                self.differs(test, verdict.status)
                    && self.role_of(test, verdict.status) == Some(self.findings[number].role)
            };
            if test_of(self, number).is_some_and(does_the_same) {
                let named = self.names(&list);
                self.findings[number].alternatives.push(named);
            }
        }
        Ok(())
    }

    /// Other tests that alone make the test differ in the same way, of those that were tried.
    fn other_singles(&self, test: Test, role: Role, known: &[Test]) -> Vec<Vec<Test>> {
        let mut singles: Vec<Test> = self
            .pairs
            .iter()
            .filter(|((first, second), status)| {
                *second == test && !known.contains(first) && self.differs(test, **status)
            })
            .filter(|(_, status)| self.role_of(test, **status) == Some(role))
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

    /// Of each list that does the same as a finding's, whether it does so through the same fields.
    fn have_same_cause(&mut self, lists: &[(usize, Vec<Test>)]) -> Result<Vec<bool>, Stopped> {
        let is_proven =
            |finding: &Finding| finding.cause.certainty == Certainty::Proven && finding.role == Role::Victim;
        let asked: Vec<&(usize, Vec<Test>)> =
            lists.iter().filter(|(number, _)| is_proven(&self.findings[*number])).collect();
        let trials: Vec<Trial> = asked
            .iter()
            .map(|(number, list)| Trial {
                prelude: Vec::new(),
                before: self.names(list),
                put_back: PutBack::Only(self.findings[*number].cause.fields.clone()),
                last: self.findings[*number].test.clone(),
                world: World::Warm,
            })
            .collect();
        let mut tried = self.try_all(&trials)?.into_iter();
        Ok(lists
            .iter()
            .map(|(number, _)| {
                let finding = &self.findings[*number];
                if !is_proven(finding) {
                    return true;
                }
                tried.next().and_then(status_of).is_none_or(|status| status == finding.outcome.counter)
            })
            .collect())
    }

    /// Another cause of the same test: a finding of its own, with the lists that share it.
    fn add_other_cause(&mut self, number: usize, mut lists: Vec<Vec<Test>>) -> Result<(), Stopped> {
        const MOST: usize = 4;
        let Some(test) = self.evidence.test(&self.findings[number].test) else { return Ok(()) };
        for _ in 0..MOST {
            if lists.is_empty() || self.unstable.contains(&test) {
                break;
            }
            let new = self.findings.len();
            let list = lists.remove(0);
            let named = self.names(&list);
            self.confirm_all(&[(test, list)])?;
            if self.findings.len() == new {
                continue;
            }
            self.prove_causes(new)?;
            let name = self.findings[new].test.clone();
            let cause = self.findings[new].cause.clone();
            let is_equal = |finding: &&mut Finding| finding.test == name && finding.cause == cause;
            if let Some(equal) = self.findings[..new].iter_mut().find(is_equal) {
                equal.alternatives.push(named);
                self.findings.truncate(new);
                continue;
            }
            let asked: Vec<(usize, Vec<Test>)> = lists.into_iter().map(|list| (new, list)).collect();
            let is_alike = self.have_same_cause(&asked)?;
            let (alike, different): (Vec<_>, Vec<_>) =
                asked.into_iter().zip(is_alike).partition(|(_, is_alike)| *is_alike);
            self.add_alternatives(alike.into_iter().map(|(list, _)| list).collect())?;
            lists = different.into_iter().map(|((_, list), _)| list).collect();
        }
        Ok(())
    }

    // ---- tests that undo it

    /// Cleaners are looked for once per cause, among the tests that write its fields, or what the test reads.
    fn find_cleaners(&mut self, from: usize) -> Result<(), Stopped> {
        let mut by_cause: BTreeMap<(Vec<String>, Vec<String>), Vec<usize>> = BTreeMap::new();
        for (number, finding) in self.findings.iter().enumerate().skip(from) {
            let is_plain = finding.role == Role::Victim && !is_of_disturbed(finding);
            if is_plain && !finding.cause.fields.is_empty() {
                let key = (finding.cause.fields.clone(), finding.polluters.clone());
                by_cause.entry(key).or_default().push(number);
            }
        }
        for ((fields, polluters), numbers) in by_cause {
            let polluters = self.numbers(&polluters);
            let mut writers: BTreeSet<Test> =
                fields.iter().flat_map(|field| self.evidence.writers_of_field(field)).collect();
            // Where that costs no JVM, other state that the test reads may make up for it as well.
            let first = numbers.first().and_then(|&number| self.evidence.test(&self.findings[number].test));
            if let Some(test) = first.filter(|&test| self.is_trusted(test)) {
                writers.extend(self.evidence.writers_of(test));
            }
            let mut known: Option<Vec<Test>> = None;
            for number in numbers {
                let Some(test) = self.evidence.test(&self.findings[number].test) else { continue };
                let candidates = known.clone().unwrap_or_else(|| writers.iter().copied().collect());
                let cleaners = self.cleaners_of(test, &polluters, candidates, known.is_none())?;
                self.findings[number].cleaners = self.names(&cleaners);
                // What cleans nothing for the first of them is not tried for the others.
                known.get_or_insert(cleaners);
            }
        }
        Ok(())
    }

    /// Those of the candidates that, between the polluters and the test, leave it as it is alone. The first of a cause are
    /// also seen to do so in fresh JVMs.
    fn cleaners_of(
        &mut self,
        test: Test,
        polluters: &[Test],
        candidates: Vec<Test>,
        is_first: bool,
    ) -> Result<Vec<Test>, Stopped> {
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
            if !is_first {
                return Ok(cleaners);
            }
        }
        let changes = self.changes(test, &cleaned(&cleaners), Way::Fresh)?;
        let mut changes = changes.into_iter();
        cleaners.retain(|_| changes.next() == Some(false));
        cleaners.truncate(MOST_CLEANERS);
        Ok(cleaners)
    }
}
