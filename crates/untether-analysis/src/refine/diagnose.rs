//! Why a test came to something else: its setters or polluters, proved in fresh JVMs.

use std::collections::BTreeSet;

use untether_model::{Contrast, Finding, Role, Status, Verdict};

use crate::refine::ddmin::minimise;
use crate::refine::evidence::Test;
use crate::refine::strategy::splits_class;
use crate::refine::{Session, Stopped, Suspect};

/// Candidates that are tried one by one before anything larger is taken apart.
const MOST_SINGLES: usize = 24;

/// Trials of one step of taking a schedule apart that run at the same time.
const AT_ONCE: usize = 4;

/// How many tests are tried in place of one of several polluters.
const MOST_ALTERNATIVES: usize = 32;

/// What a finding has besides its proof.
#[derive(Default)]
struct Extras {
    cleaners: Vec<Test>,
    alternatives: Vec<Vec<Test>>,
}

fn is_subsequence(of: &[Test], list: &[Test]) -> bool {
    let mut rest = list.iter();
    of.iter().all(|wanted| rest.any(|found| found == wanted))
}

/// Drops lists of which another is a part, and repetitions.
fn keep_smallest(lists: &mut Vec<Vec<Test>>) {
    let all = lists.clone();
    let mut distinct = BTreeSet::new();
    lists.retain(|list| {
        !all.iter().any(|other| other.len() < list.len() && is_subsequence(other, list))
            && distinct.insert(list.clone())
    });
}

fn followed_by(before: &[Test], test: Test) -> Vec<Test> {
    let mut schedule = before.to_vec();
    schedule.push(test);
    schedule
}

impl Session<'_, '_> {
    /// Finds the cause of each suspect.
    pub(crate) fn explain(&mut self, suspects: Vec<Suspect>) -> Result<(), Stopped> {
        let mut suspects: Vec<Suspect> =
            suspects.into_iter().filter(|suspect| !self.is_explained(suspect.test, &suspect.before)).collect();
        self.run_alone(&suspects)?;
        // Brittle tests first: their setters explain much of what the others see.
        suspects.sort_by_key(|suspect| (!self.is_brittle(suspect.test), suspect.test));
        self.prepare_brittle(&suspects)?;
        let mut left = suspects.len();
        for suspect in suspects {
            self.explaining(left);
            left -= 1;
            if self.unconfirmed.contains(&suspect.test)
                || self.unstable.contains(&suspect.test)
                || self.is_explained(suspect.test, &suspect.before)
            {
                continue;
            }
            let is_found = if self.is_brittle(suspect.test) {
                match self.known_setters(suspect.test) {
                    // It has its setters, and yet it differs: something comes between.
                    Some(setters) => self.explain_disturbed(&suspect, &setters)?,
                    None => self.explain_brittle(suspect.test)?,
                }
            } else {
                self.explain_victim(&suspect)?
            };
            if !is_found && !self.unstable.contains(&suspect.test) {
                self.unconfirmed.insert(suspect.test);
            }
        }
        Ok(())
    }

    /// Runs what explaining brittle tests most likely asks for, all at once: the last source of each, and the proof.
    fn prepare_brittle(&mut self, suspects: &[Suspect]) -> Result<(), Stopped> {
        let mut likely: Vec<(Test, Test)> = suspects
            .iter()
            .map(|suspect| suspect.test)
            .filter(|&test| self.is_brittle(test) && self.known_setters(test).is_none())
            .filter_map(|test| Some((*self.likely_setters(test).first()?, test)))
            .collect();
        likely.dedup();
        let schedules: Vec<Vec<Test>> = likely.iter().map(|&(setter, test)| vec![setter, test]).collect();
        self.observe_ahead(schedules)?;
        likely.retain(|&(setter, test)| {
            let seen = self.ahead_of(&[setter, test]);
            seen.is_some_and(|verdict| !self.is_violated(test, verdict.status))
        });
        let proofs = likely.iter().flat_map(|&(setter, test)| [vec![setter, test], vec![test]]).collect();
        self.observe_ahead(proofs)?;
        let disturbers = likely.iter().flat_map(|&(setter, test)| self.disturbers(test, &[setter])).collect();
        self.observe_ahead(disturbers)
    }

    /// The tests from which a brittle test got its state: the last one first, lazy state last.
    fn likely_setters(&self, test: Test) -> Vec<Test> {
        let sources = &self.evidence.sources[test];
        let mut direct: Vec<Test> = sources.keys().copied().filter(|&source| source < test).collect();
        direct.sort_by_key(|source| (!sources[source], std::cmp::Reverse(*source)));
        direct
    }

    /// Each suspect by itself, twice; those that cannot make up their minds are dropped.
    fn run_alone(&mut self, suspects: &[Suspect]) -> Result<(), Stopped> {
        let mut unknown: Vec<Test> =
            suspects.iter().map(|s| s.test).filter(|test| !self.alone.contains_key(test)).collect();
        unknown.dedup();
        let once: Vec<Vec<Test>> = unknown.iter().map(|&test| vec![test]).collect();
        let first = self.last_verdicts(&once)?;
        let second = self.last_verdicts(&once)?;
        for ((&test, first), second) in unknown.iter().zip(first).zip(second) {
            if first.status == second.status && first.status != Status::Missing {
                self.alone.insert(test, first);
            } else {
                self.unconfirmed.insert(test);
            }
        }
        Ok(())
    }

    fn is_brittle(&self, test: Test) -> bool {
        self.alone.get(&test).is_some_and(|verdict| self.is_violated(test, verdict.status))
    }

    /// Whether a finding already says that the test comes to something else after these.
    fn is_explained(&self, test: Test, before: &[Test]) -> bool {
        let name = &self.evidence.tests[test];
        let numbers =
            |names: &[String]| names.iter().filter_map(|name| self.evidence.test(name)).collect::<Vec<Test>>();
        self.findings.iter().filter(|finding| &finding.test == name).any(|finding| {
            // It differs either without the others or after them: the proof tells.
            let is_alone = finding.schedule.len() == 1;
            is_alone != is_subsequence(&numbers(finding.others()), before)
        })
    }

    fn violations(&mut self, schedules: &[Vec<Test>]) -> Result<Vec<Option<Verdict>>, Stopped> {
        let verdicts = self.last_verdicts(schedules)?;
        Ok(schedules
            .iter()
            .zip(verdicts)
            .map(|(schedule, verdict)| {
                let test = schedule.last().copied()?;
                self.is_violated(test, verdict.status).then_some(verdict)
            })
            .collect())
    }

    /// Which of the lists, run before the test, have the property; a few at a time, up to the first that has.
    fn first_that(&mut self, test: Test, lists: &[Vec<Test>], wants_violation: bool) -> Result<Vec<bool>, Stopped> {
        let mut held = Vec::with_capacity(lists.len());
        for some in lists.chunks(AT_ONCE) {
            let schedules: Vec<Vec<Test>> = some.iter().map(|before| followed_by(before, test)).collect();
            held.extend(self.violations(&schedules)?.iter().map(|violation| violation.is_some() == wants_violation));
            if held.contains(&true) {
                break;
            }
        }
        held.resize(lists.len(), false);
        Ok(held)
    }

    /// The fewest of these tests that, run before `test`, still have the effect: first by class run, then by test.
    fn fewest(&mut self, test: Test, before: Vec<Test>, wants_violation: bool) -> Result<Vec<Test>, Stopped> {
        let evidence = self.evidence;
        let runs: Vec<Vec<Test>> =
            before.chunk_by(|&a, &b| evidence.class(a) == evidence.class(b)).map(<[Test]>::to_vec).collect();
        let runs = minimise(runs, |trials| {
            let lists: Vec<Vec<Test>> = trials.iter().map(|trial| trial.concat()).collect();
            self.first_that(test, &lists, wants_violation)
        })?;
        if runs.iter().all(|run| run.len() == 1) {
            return Ok(runs.concat());
        }
        minimise(runs.concat(), |trials| self.first_that(test, trials, wants_violation))
    }

    fn explain_brittle(&mut self, test: Test) -> Result<bool, Stopped> {
        let Some(setters) = self.setters_of(test)?.filter(|setters| !setters.is_empty()) else { return Ok(false) };
        let schedule = followed_by(&setters, test);
        // Alone it has been run twice already.
        if self.confirmed(&[test], &schedule, 1)?.is_none() {
            return Ok(false);
        }
        let verdict = self.alone[&test].clone();
        if verdict.status == Status::Passed {
            // It is the original order that harms it.
            let (cleaners, alternatives) = (self.cleaners_of(test, &setters)?, self.alternatives_to(test, &setters)?);
            self.add(test, Role::Victim, &setters, vec![test], schedule, &verdict, Extras { cleaners, alternatives });
            return Ok(true);
        }
        self.add(test, Role::Brittle, &setters, vec![test], schedule, &verdict, Extras::default());
        self.find_disturbers(test, &setters)?;
        Ok(true)
    }

    /// Both schedules so often more, by turns, so that it is no accident; what the first one's last test came to.
    fn confirmed(&mut self, violating: &[Test], counter: &[Test], times: usize) -> Result<Option<Verdict>, Stopped> {
        let (violating, counter) = (violating.to_vec(), counter.to_vec());
        let mut verdict = None;
        for _ in 0..times {
            let mut both = self.violations(&[violating.clone(), counter.clone()])?;
            match (both.remove(0), both.remove(0)) {
                (Some(violated), None) => verdict = Some(violated),
                _ => {
                    // It varies, whatever the order.
                    self.unstable.extend(violating.last());
                    return Ok(None);
                }
            }
        }
        Ok(verdict)
    }

    fn known_setters(&self, test: Test) -> Option<Vec<Test>> {
        let name = &self.evidence.tests[test];
        let finding = self.findings.iter().find(|f| f.role == Role::Brittle && &f.test == name)?;
        Some(finding.setters.iter().filter_map(|name| self.evidence.test(name)).collect())
    }

    /// What must come between the setters and the test to harm it.
    fn explain_disturbed(&mut self, suspect: &Suspect, setters: &[Test]) -> Result<bool, Stopped> {
        let test = suspect.test;
        let with = |others: &[Test]| -> Vec<Test> {
            let is_meant = |other: &Test| setters.contains(other) || others.contains(other);
            suspect.before.iter().copied().filter(is_meant).collect()
        };
        let others: Vec<Test> = suspect.before.iter().copied().filter(|other| !setters.contains(other)).collect();
        if self.violations(&[followed_by(&suspect.before, test)])?[0].is_none() {
            return Ok(false);
        }
        let fewest = minimise(others, |trials| {
            let lists: Vec<Vec<Test>> = trials.iter().map(|trial| with(trial)).collect();
            self.first_that(test, &lists, true)
        })?;
        let polluters = with(&fewest);
        let (schedule, counter) = (followed_by(&polluters, test), followed_by(setters, test));
        let Some(verdict) = self.confirmed(&schedule, &counter, 2)? else { return Ok(false) };
        self.add(test, Role::Victim, &polluters, schedule, counter, &verdict, Extras::default());
        Ok(true)
    }

    fn setters_of(&mut self, test: Test) -> Result<Option<Vec<Test>>, Stopped> {
        let evidence = self.evidence;
        let earlier = |tests: BTreeSet<Test>| tests.into_iter().filter(|&other| other < test).collect::<Vec<Test>>();
        let direct = self.likely_setters(test);
        // The first alone: it is right most of the time.
        let (first, rest) = direct.split_at(direct.len().min(1));
        for some in std::iter::once(first).chain(rest.chunks(AT_ONCE)).take(MOST_SINGLES / AT_ONCE) {
            let schedules: Vec<Vec<Test>> = some.iter().map(|&setter| vec![setter, test]).collect();
            let violations = self.violations(&schedules)?;
            if let Some(found) = violations.iter().position(Option::is_none) {
                return Ok(Some(vec![some[found]]));
            }
        }
        let all_earlier: Vec<Test> = (0..test).collect();
        let mut larger: Vec<Vec<Test>> =
            vec![earlier(direct.iter().copied().collect()), earlier(evidence.closure(test)), all_earlier];
        larger.retain(|list| !list.is_empty());
        larger.dedup();
        for list in larger {
            if self.violations(&[followed_by(&list, test)])?[0].is_none() {
                return self.fewest(test, list, false).map(Some);
            }
        }
        Ok(None)
    }

    /// The setters, one more test that writes what the brittle test reads, and that test.
    fn disturbers(&self, test: Test, setters: &[Test]) -> Vec<Vec<Test>> {
        let evidence = self.evidence;
        evidence
            .writers_of(test)
            .into_iter()
            .filter(|writer| !setters.contains(writer))
            .map(|writer| followed_by(&followed_by(setters, writer), test))
            .filter(|schedule| !splits_class(evidence, schedule))
            .take(2 * MOST_SINGLES)
            .collect()
    }

    /// Tests that undo what the setters did when they come between them and the brittle test.
    fn find_disturbers(&mut self, test: Test, setters: &[Test]) -> Result<(), Stopped> {
        let schedules = self.disturbers(test, setters);
        let violations = self.violations(&schedules)?;
        let suspicious: Vec<Vec<Test>> = schedules
            .into_iter()
            .zip(&violations)
            .filter(|(_, violation)| violation.is_some())
            .map(|(schedule, _)| schedule)
            .collect();
        let counter = followed_by(setters, test);
        for schedule in suspicious {
            let Some(verdict) = self.confirmed(&schedule, &counter, 2)? else { continue };
            let polluters = &schedule[..schedule.len() - 1];
            self.add(test, Role::Victim, polluters, schedule.clone(), counter.clone(), &verdict, Extras::default());
        }
        Ok(())
    }

    fn explain_victim(&mut self, suspect: &Suspect) -> Result<bool, Stopped> {
        let test = suspect.test;
        let found = match self.polluters_of(suspect)? {
            found if found.is_empty() => return Ok(false),
            found => found,
        };
        let mut is_found = false;
        for polluters in found {
            let schedule = followed_by(&polluters, test);
            let Some(verdict) = self.confirmed(&schedule, &[test], 2)? else { continue };
            if verdict.status == Status::Passed {
                // It fails alone and in the original order, and here it does not: these are setters.
                self.add(test, Role::Brittle, &polluters, schedule, vec![test], &verdict, Extras::default());
                is_found = true;
                continue;
            }
            let extras = Extras {
                cleaners: self.cleaners_of(test, &polluters)?,
                alternatives: self.alternatives_to(test, &polluters)?,
            };
            self.add(test, Role::Victim, &polluters, schedule, vec![test], &verdict, extras);
            is_found = true;
        }
        Ok(is_found)
    }

    /// Sets of polluters, each of which is enough.
    fn polluters_of(&mut self, suspect: &Suspect) -> Result<Vec<Vec<Test>>, Stopped> {
        let (evidence, test) = (self.evidence, suspect.test);
        let writers = evidence.writers_of(test);
        let direct: Vec<Test> = suspect.before.iter().copied().filter(|other| writers.contains(other)).collect();
        // What already harmed another test is tried first, then each writer alone, the last one first.
        let mut trials: Vec<Vec<Test>> = Vec::new();
        for finding in self.findings.iter().filter(|finding| finding.role == Role::Victim) {
            let polluters: Vec<Test> = finding.polluters.iter().filter_map(|name| evidence.test(name)).collect();
            if is_subsequence(&polluters, &suspect.before) && !trials.contains(&polluters) {
                trials.push(polluters);
            }
        }
        trials.extend(direct.iter().rev().take(MOST_SINGLES).map(|&writer| vec![writer]));
        trials.dedup();
        let schedules: Vec<Vec<Test>> = trials.iter().map(|before| followed_by(before, test)).collect();
        let violations = self.violations(&schedules)?;
        let mut enough: Vec<Vec<Test>> =
            trials.into_iter().zip(violations).filter(|(_, v)| v.is_some()).map(|(trial, _)| trial).collect();
        // A set is only minimal if no part of it is enough: what harmed another test may be more than harms this one,
        // and a writer that put back what was there already is not known as one.
        keep_smallest(&mut enough);
        for set in enough.iter_mut().filter(|set| set.len() > 1) {
            *set = self.fewest(test, std::mem::take(set), true)?;
        }
        // None is needed where the test fails by itself now and then.
        enough.retain(|set| !set.is_empty());
        keep_smallest(&mut enough);
        if !enough.is_empty() {
            return Ok(enough);
        }
        let mut wider: BTreeSet<Test> = writers.clone();
        for &writer in &writers {
            wider.extend(evidence.writers_of(writer));
        }
        let indirect: Vec<Test> = suspect.before.iter().copied().filter(|other| wider.contains(other)).collect();
        let mut lists = vec![direct, indirect, suspect.before.clone()];
        lists.retain(|list| list.len() > 1 || (list.len() == 1 && list == &suspect.before));
        lists.dedup();
        for list in lists {
            if self.violations(&[followed_by(&list, test)])?[0].is_some() {
                let polluters = self.fewest(test, list, true)?;
                return Ok(if polluters.is_empty() { Vec::new() } else { vec![polluters] });
            }
        }
        Ok(Vec::new())
    }

    /// The list with one of several polluters replaced by another that uses the same state.
    fn alternatives_to(&mut self, test: Test, polluters: &[Test]) -> Result<Vec<Vec<Test>>, Stopped> {
        let evidence = self.evidence;
        let mut lists: Vec<Vec<Test>> = Vec::new();
        if polluters.len() > 1 {
            for (position, &polluter) in polluters.iter().enumerate() {
                let mut others: Vec<Test> = (0..evidence.tests.len())
                    .filter(|other| *other != test && !polluters.contains(other))
                    .filter(|&other| evidence.likeness(polluter, other) > 0)
                    .collect();
                others.sort_by_cached_key(|&other| (std::cmp::Reverse(evidence.likeness(polluter, other)), other));
                lists.extend(others.into_iter().take(MOST_ALTERNATIVES).map(|other| {
                    let mut list = polluters.to_vec();
                    list[position] = other;
                    list
                }));
            }
        }
        lists.retain(|list| !splits_class(evidence, &followed_by(list, test)));
        let schedules: Vec<Vec<Test>> = lists.iter().map(|list| followed_by(list, test)).collect();
        let wanted = self.is_brittle(test);
        let violations = self.violations(&schedules)?;
        // Where the original order itself harms the test, what harms it is no violation.
        Ok(lists.into_iter().zip(violations).filter(|(_, v)| v.is_some() != wanted).map(|(list, _)| list).collect())
    }

    fn cleaners_of(&mut self, test: Test, polluters: &[Test]) -> Result<Vec<Test>, Stopped> {
        let evidence = self.evidence;
        let polluted: BTreeSet<usize> =
            polluters.iter().flat_map(|&polluter| evidence.writes[polluter].iter().copied()).collect();
        // Those that write the polluted state itself come first.
        let mut candidates: Vec<Test> = evidence.writers_of(test).into_iter().collect();
        candidates.sort_by_key(|&writer| !evidence.writes[writer].iter().any(|group| polluted.contains(group)));
        let schedules: Vec<Vec<Test>> = candidates
            .into_iter()
            .filter(|cleaner| *cleaner != test && !polluters.contains(cleaner))
            .map(|cleaner| followed_by(&followed_by(polluters, cleaner), test))
            .filter(|schedule| !splits_class(evidence, schedule))
            .take(MOST_SINGLES)
            .collect();
        let violations = self.violations(&schedules)?;
        let wanted = self.is_brittle(test);
        let clean = schedules.iter().zip(violations).filter(|(_, violation)| violation.is_none() != wanted);
        Ok(clean.map(|(schedule, _)| schedule[schedule.len() - 2]).collect())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one finding, at the one place that makes it")]
    fn add(
        &mut self,
        test: Test,
        role: Role,
        others: &[Test],
        schedule: Vec<Test>,
        counter_schedule: Vec<Test>,
        violated: &Verdict,
        extras: Extras,
    ) {
        let evidence = self.evidence;
        let names = |tests: &[Test]| tests.iter().map(|&test| evidence.tests[test].clone()).collect::<Vec<String>>();
        let (setters, polluters) = match role {
            Role::Brittle => (names(others), Vec::new()),
            Role::Victim => (Vec::new(), names(others)),
        };
        let name = evidence.tests[test].clone();
        let id = identify(role, &name, if role == Role::Brittle { &setters } else { &polluters });
        if self.findings.iter().any(|finding| finding.id == id) {
            return;
        }
        self.findings.push(Finding {
            is_outside_heap: false,
            id,
            test: name,
            role,
            setters,
            polluters,
            alternatives: extras.alternatives.iter().map(|list| names(list)).collect(),
            cleaners: names(&extras.cleaners),
            resources: evidence.channels(others, test),
            outcome: Contrast {
                reference: self.reference[test],
                violated: violated.status,
                message: violated.message.clone(),
            },
            schedule: names(&schedule),
            counter_schedule: names(&counter_schedule),
        });
    }
}

/// Six digits that stay the same as long as the finding does.
fn identify(role: Role, test: &str, others: &[String]) -> String {
    // FNV-1a.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let text = format!("{role:?}\n{test}\n{}", others.join("\n"));
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:06x}", hash >> 40)
}
