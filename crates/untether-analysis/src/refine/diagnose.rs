//! Which tests make a suspect come to something else than alone: the fewest, proved in fresh JVMs.

use std::collections::{BTreeSet, HashMap};

use untether_model::{Cause, Certainty, Contrast, Finding, Role, Status, Trial, Tried, Verdict, World};

use crate::refine::ddmin::minimise;
use crate::refine::evidence::Test;
use crate::refine::known::Known;
use crate::refine::strategy::as_class_runs;
use crate::refine::{Phase, Session, Stopped, Suspect};

/// Tests that are tried one by one before a schedule is taken apart: in JVMs that are put back, and in fresh ones.
const MOST_SINGLES: usize = 400;
const MOST_FRESH_SINGLES: usize = 24;

/// Of these, so many come first, and then so many, before all others.
const FIRST_SINGLES: [usize; 2] = [4, 16];

/// Of those that showed it quickly, so many are tried in fresh JVMs.
const MOST_CONFIRMED: usize = 3;

/// Fresh JVMs of one step of taking a schedule apart that run at the same time.
const AT_ONCE: usize = 4;

/// So often, with different tests before it, something is seen of a test that cannot be reproduced.
const MOST_UNCONFIRMED: usize = 3;

/// Where trials are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Quick,
    Fresh,
}

/// Who comes to something worse than alone is a victim, who comes to something better was brittle.
fn role(alone: Status, changed: Status) -> Role {
    if alone < changed { Role::Victim } else { Role::Brittle }
}

pub(crate) fn is_subsequence(of: &[Test], list: &[Test]) -> bool {
    let mut rest = list.iter();
    of.iter().all(|wanted| rest.any(|found| found == wanted))
}

pub(crate) fn followed_by(before: &[Test], test: Test) -> Vec<Test> {
    let mut schedule = before.to_vec();
    schedule.push(test);
    schedule
}

impl Session<'_, '_> {
    /// Finds for each suspect the tests that are to blame.
    pub(crate) fn explain(&mut self, suspects: Vec<Suspect>) -> Result<(), Stopped> {
        self.learn_alone(suspects.iter().map(|suspect| suspect.test).collect())?;
        let (mut open, mut disturbed): (Vec<Suspect>, Vec<Suspect>) = (Vec::new(), Vec::new());
        for suspect in suspects {
            let Some(alone) = self.alone.get(&suspect.test).map(|verdict| verdict.status) else { continue };
            if suspect.status != alone {
                open.push(suspect);
                continue;
            }
            // It is as it is alone: then it is the original order that changes it.
            let (test, status) = (suspect.test, self.reference[suspect.test]);
            if status != alone && status != Status::Missing {
                open.push(Suspect { test, before: self.before_in_original_order(test), status });
                disturbed.push(suspect);
            }
        }
        let mut seen = BTreeSet::new();
        open.retain(|suspect| seen.insert((suspect.test, suspect.before.clone())) && !self.is_explained(suspect));
        self.explain_by_singles(&open)?;
        let mut known = Known::default();
        let mut left = open.len() + disturbed.len();
        for (at, suspect) in open.iter().enumerate() {
            self.progress(Phase::Explaining { left });
            left -= 1;
            // Who harmed one often harms many.
            self.explain_by_known(&open[at..], &mut known)?;
            if self.is_open(suspect) && !self.explain_by_several(suspect)? {
                // What only showed where JVMs are put back says nothing about fresh ones.
                let is_hint = suspect.before.len() == 1
                    && self.pairs.get(&(suspect.before[0], suspect.test)) == Some(&suspect.status)
                    && self.is_trusted(suspect.test);
                if is_hint {
                    self.unfaithful.insert(suspect.test);
                } else {
                    self.not_confirmed(suspect.test);
                }
            }
        }
        for suspect in disturbed {
            self.progress(Phase::Explaining { left });
            left -= 1;
            if self.is_open(&suspect)
                && let Some(setters) = self.setters_in(&suspect)
                && !self.explain_disturbed(&suspect, &setters)?
            {
                self.not_confirmed(suspect.test);
            }
        }
        Ok(())
    }

    pub(crate) fn before_in_original_order(&self, test: Test) -> Vec<Test> {
        let earlier: Vec<Test> = (0..test).filter(|&other| self.can_run(other)).collect();
        as_class_runs(self.evidence, &earlier)
    }

    pub(crate) fn is_open(&self, suspect: &Suspect) -> bool {
        !self.unstable.contains(&suspect.test) && !self.is_given_up(suspect.test) && !self.is_explained(suspect)
    }

    /// Each test by itself, twice, in fresh JVMs; those that cannot make up their minds are dropped.
    pub(crate) fn learn_alone(&mut self, tests: BTreeSet<Test>) -> Result<(), Stopped> {
        let unknown: Vec<Test> = tests
            .into_iter()
            .filter(|test| !self.alone.contains_key(test) && !self.unstable.contains(test))
            .filter(|test| !self.is_given_up(*test))
            .collect();
        let twice: Vec<Vec<Test>> = unknown.iter().flat_map(|&test| [vec![test], vec![test]]).collect();
        let verdicts = self.last_verdicts(&twice)?;
        for (&test, both) in unknown.iter().zip(verdicts.chunks(2)) {
            if both[0].status == Status::Missing || both[1].status == Status::Missing {
                self.unconfirmed.insert(test, MOST_UNCONFIRMED);
            } else if both[0].status == both[1].status {
                self.alone.insert(test, both[0].clone());
                if !is_alike(&both[0].message, &both[1].message) {
                    self.vague.insert(test);
                }
            } else {
                self.varies(test, [both[0].status, both[1].status]);
            }
        }
        Ok(())
    }

    fn not_confirmed(&mut self, test: Test) {
        *self.unconfirmed.entry(test).or_default() += 1;
    }

    /// Whether what the test came to could not be reproduced too often. Once says nothing of other tests before it.
    pub(crate) fn is_given_up(&self, test: Test) -> bool {
        self.unconfirmed.get(&test).is_some_and(|&times| times >= MOST_UNCONFIRMED)
    }

    fn alone_status(&self, test: Test) -> Option<Status> {
        self.alone.get(&test).map(|verdict| verdict.status)
    }

    pub(crate) fn differs(&self, test: Test, status: Status) -> bool {
        status != Status::Missing && self.alone_status(test).is_some_and(|alone| status != alone)
    }

    pub(crate) fn numbers(&self, names: &[String]) -> Vec<Test> {
        names.iter().filter_map(|name| self.evidence.test(name)).collect()
    }

    /// Findings about the test that say what changes it from what it is alone.
    fn changing(&self, test: Test) -> impl Iterator<Item = &Finding> {
        let name = &self.evidence.tests[test];
        self.findings.iter().filter(move |finding| &finding.test == name && !is_of_disturbed(finding))
    }

    fn setters_in(&self, suspect: &Suspect) -> Option<Vec<Test>> {
        self.changing(suspect.test)
            .filter(|finding| finding.role == Role::Brittle)
            .flat_map(|finding| std::iter::once(&finding.setters).chain(&finding.alternatives))
            .map(|list| self.numbers(list))
            .find(|setters| is_subsequence(setters, &suspect.before))
    }

    /// Whether a finding already says that the test comes to this after these.
    pub(crate) fn is_explained(&self, suspect: &Suspect) -> bool {
        let is_there = |list: &[String]| is_subsequence(&self.numbers(list), &suspect.before);
        if Some(suspect.status) != self.alone_status(suspect.test) {
            return self
                .changing(suspect.test)
                .flat_map(|finding| {
                    std::iter::once(finding.others()).chain(finding.alternatives.iter().map(Vec::as_slice))
                })
                .any(is_there);
        }
        let name = &self.evidence.tests[suspect.test];
        self.setters_in(suspect).is_none()
            || self.findings.iter().any(|f| &f.test == name && is_of_disturbed(f) && is_there(&f.polluters))
    }

    // ---- one test before it

    fn explain_by_singles(&mut self, suspects: &[Suspect]) -> Result<(), Stopped> {
        self.try_alone(suspects.iter().map(|suspect| suspect.test).collect())?;
        let singles: Vec<Vec<Test>> = suspects
            .iter()
            .map(|suspect| {
                let mut list = self.likely_singles(suspect);
                list.truncate(if self.is_trusted(suspect.test) { MOST_SINGLES } else { MOST_FRESH_SINGLES });
                list
            })
            .collect();
        // The likeliest are mostly to blame: where tests are slow, the others cost more than all else.
        let longest = singles.iter().map(Vec::len).max().unwrap_or(0);
        let mut from = 0;
        for until in FIRST_SINGLES.into_iter().chain([longest]) {
            let some: Vec<(usize, &[Test])> = singles
                .iter()
                .enumerate()
                .filter(|(number, list)| from < list.len() && self.is_open(&suspects[*number]))
                .map(|(number, list)| (number, &list[from..until.clamp(from, list.len())]))
                .collect();
            self.explain_by_these(suspects, &some)?;
            from = until;
        }
        Ok(())
    }

    /// Tries these single tests before suspects, which have numbers.
    fn explain_by_these(&mut self, suspects: &[Suspect], singles: &[(usize, &[Test])]) -> Result<(), Stopped> {
        let mut fresh: Vec<(usize, Test)> = Vec::new();
        let mut quick: BTreeSet<(Test, Test)> = BTreeSet::new();
        for &(number, list) in singles {
            let test = suspects[number].test;
            if self.is_trusted(test) {
                quick.extend(list.iter().map(|&single| (single, test)));
            } else {
                fresh.extend(list.iter().map(|&single| (number, single)));
            }
        }
        self.try_pairs(quick.into_iter().collect())?;
        let schedules: Vec<Vec<Test>> =
            fresh.iter().map(|&(number, single)| vec![single, suspects[number].test]).collect();
        let verdicts = self.known_verdicts(&schedules)?;
        let mut fresh_hits: HashMap<(usize, Test), Status> = HashMap::new();
        for (&key, verdict) in fresh.iter().zip(verdicts) {
            fresh_hits.insert(key, verdict.status);
        }
        let hits: Vec<(usize, Vec<Test>)> = singles
            .iter()
            .map(|&(number, list)| {
                let test = suspects[number].test;
                let is_hit = |single: &Test| {
                    let quick = self.pairs.get(&(*single, test)).filter(|_| self.is_trusted(test));
                    let status = fresh_hits.get(&(number, *single)).or(quick);
                    status.is_some_and(|&status| self.differs(test, status))
                };
                (number, list.iter().copied().filter(is_hit).collect())
            })
            .collect();
        for round in 0..MOST_CONFIRMED {
            let open: Vec<(Test, Vec<Test>)> = hits
                .iter()
                .filter(|(number, _)| self.is_open(&suspects[*number]))
                .filter_map(|(number, hits)| Some((suspects[*number].test, vec![*hits.get(round)?])))
                .collect();
            self.confirm_all(&open)?;
        }
        Ok(())
    }

    /// The tests before a suspect: those that write state of the project which it reads, those that harmed others already,
    /// then those that write anything that it reads, the nearest first, then the others.
    fn likely_singles(&self, suspect: &Suspect) -> Vec<Test> {
        let known: BTreeSet<Test> =
            self.findings.iter().filter(|f| f.others().len() == 1).flat_map(|f| self.numbers(f.others())).collect();
        let sources = &self.evidence.sources[suspect.test];
        let writers = self.evidence.writers_of(suspect.test);
        let near = self.evidence.near_writers_of(suspect.test);
        let mut singles: Vec<(usize, Test)> = Vec::new();
        for (distance, &test) in suspect.before.iter().rev().enumerate() {
            let rank = match test {
                _ if near.contains(&test) => 0,
                _ if sources.get(&test) == Some(&true) => 1,
                _ if known.contains(&test) && writers.contains(&test) => 1,
                _ if writers.contains(&test) || sources.contains_key(&test) => 2,
                _ if known.contains(&test) => 3,
                _ => 4,
            };
            if rank < 4 || self.is_trusted(suspect.test) {
                singles.push((rank * suspect.before.len() + distance, test));
            }
        }
        singles.sort_unstable();
        singles.into_iter().map(|(_, test)| test).collect()
    }

    /// Whether what the test comes to in JVMs that are put back can be trusted.
    pub(crate) fn is_trusted(&self, test: Test) -> bool {
        self.is_quick && self.quick_alone.contains_key(&test) && !self.is_doubted(test)
    }

    /// Whether what it comes to there does not count.
    pub(crate) fn is_doubted(&self, test: Test) -> bool {
        self.unfaithful.contains(&test) || self.doubtful.contains(&test)
    }

    /// Lists that were found are run in fresh JVMs, twice; those that show it become findings.
    pub(crate) fn confirm_all(&mut self, lists: &[(Test, Vec<Test>)]) -> Result<(), Stopped> {
        let twice: Vec<Vec<Test>> =
            lists.iter().flat_map(|(test, list)| [followed_by(list, *test), followed_by(list, *test)]).collect();
        let verdicts = self.last_verdicts(&twice)?;
        for ((test, list), both) in lists.iter().zip(verdicts.chunks(2)) {
            match (self.differs(*test, both[0].status), self.differs(*test, both[1].status)) {
                (true, true) => self.add_changed(*test, list, &both[0]),
                (false, false) => {}
                _ => self.varies(*test, [both[0].status, both[1].status]),
            }
        }
        Ok(())
    }

    // ---- several tests before it

    /// Of each list, run before the test, whether the test then comes to something else than alone.
    pub(crate) fn changes(&mut self, test: Test, lists: &[Vec<Test>], way: Way) -> Result<Vec<bool>, Stopped> {
        let statuses: Vec<Status> = match way {
            Way::Fresh => {
                let schedules: Vec<Vec<Test>> = lists.iter().map(|list| followed_by(list, test)).collect();
                self.known_verdicts(&schedules)?.into_iter().map(|verdict| verdict.status).collect()
            }
            Way::Quick => {
                let trials: Vec<Trial> = lists.iter().map(|list| self.trial(list, test)).collect();
                let tried = self.try_all(&trials)?;
                tried.into_iter().map(|tried| status_of(tried).unwrap_or(Status::Missing)).collect()
            }
        };
        Ok(statuses.into_iter().map(|status| self.differs(test, status)).collect())
    }

    pub(crate) fn trial(&self, before: &[Test], test: Test) -> Trial {
        Trial {
            prelude: Vec::new(),
            before: self.names(before),
            put_back: Default::default(),
            last: self.evidence.tests[test].clone(),
            world: World::Warm,
        }
    }

    /// The same, a few at a time where that costs JVMs, up to the first that has the property.
    fn first_that(&mut self, test: Test, lists: &[Vec<Test>], wanted: bool, way: Way) -> Result<Vec<bool>, Stopped> {
        let mut held = Vec::with_capacity(lists.len());
        for some in lists.chunks(if way == Way::Quick { lists.len().max(1) } else { AT_ONCE }) {
            held.extend(self.changes(test, some, way)?.iter().map(|&changes| changes == wanted));
            if held.contains(&true) {
                break;
            }
        }
        held.resize(lists.len(), false);
        Ok(held)
    }

    /// The fewest of these tests that, run before `test`, still have the effect: first by class run, then by test.
    fn fewest(&mut self, test: Test, before: Vec<Test>, way: Way) -> Result<Vec<Test>, Stopped> {
        let evidence = self.evidence;
        let runs: Vec<Vec<Test>> =
            before.chunk_by(|&a, &b| evidence.class(a) == evidence.class(b)).map(<[Test]>::to_vec).collect();
        let runs = minimise(runs, |trials| {
            let lists: Vec<Vec<Test>> = trials.iter().map(|trial| trial.concat()).collect();
            self.first_that(test, &lists, true, way)
        })?;
        if runs.iter().all(|run| run.len() == 1) {
            return Ok(runs.concat());
        }
        minimise(runs.concat(), |trials| self.first_that(test, trials, true, way))
    }

    fn explain_by_several(&mut self, suspect: &Suspect) -> Result<bool, Stopped> {
        let ways: &[Way] = if self.is_trusted(suspect.test) { &[Way::Quick, Way::Fresh] } else { &[Way::Fresh] };
        for &way in ways {
            let Some(found) = self.taken_apart(suspect, way)? else { continue };
            let Some(found) = self.minimal(suspect.test, found)? else { continue };
            self.confirm_all(&[(suspect.test, found)])?;
            if self.unstable.contains(&suspect.test) || self.is_explained(suspect) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The fewest of the tests before the suspect, looked for among those that have to do with it first.
    fn taken_apart(&mut self, suspect: &Suspect, way: Way) -> Result<Option<Vec<Test>>, Stopped> {
        let (evidence, test) = (self.evidence, suspect.test);
        let writers = evidence.writers_of(test);
        let mut wider: BTreeSet<Test> = writers.clone();
        for &writer in &writers {
            wider.extend(evidence.writers_of(writer));
        }
        wider.extend(evidence.closure(test));
        let among = |tests: &BTreeSet<Test>| -> Vec<Test> {
            suspect.before.iter().copied().filter(|other| tests.contains(other)).collect()
        };
        let mut lists = vec![among(&writers), among(&wider), suspect.before.clone()];
        lists.retain(|list| !list.is_empty());
        lists.dedup();
        for list in lists {
            if self.changes(test, std::slice::from_ref(&list), way)?[0] {
                let fewest = self.fewest(test, list, way)?;
                return Ok((!fewest.is_empty()).then_some(fewest));
            }
        }
        Ok(None)
    }

    /// The list without whatever can be left out in fresh JVMs; none where it does not show there at all.
    pub(crate) fn minimal(&mut self, test: Test, mut list: Vec<Test>) -> Result<Option<Vec<Test>>, Stopped> {
        if !self.changes(test, std::slice::from_ref(&list), Way::Fresh)?[0] {
            return Ok(None);
        }
        while list.len() > 1 {
            let shorter: Vec<Vec<Test>> = (0..list.len())
                .map(|left_out| {
                    list.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, &test)| test).collect()
                })
                .collect();
            let held = self.changes(test, &shorter, Way::Fresh)?;
            match held.iter().position(|&holds| holds) {
                Some(found) => list = shorter[found].clone(),
                None => break,
            }
        }
        Ok(Some(list))
    }

    // ---- what comes between a setter and its test

    /// What must come between the setters and the test to undo their doing.
    pub(crate) fn explain_disturbed(&mut self, suspect: &Suspect, setters: &[Test]) -> Result<bool, Stopped> {
        let test = suspect.test;
        let with = |others: &[Test]| -> Vec<Test> {
            let is_meant = |other: &Test| setters.contains(other) || others.contains(other);
            suspect.before.iter().copied().filter(is_meant).collect()
        };
        let others: Vec<Test> = suspect.before.iter().copied().filter(|other| !setters.contains(other)).collect();
        if self.changes(test, std::slice::from_ref(&suspect.before), Way::Fresh)?[0] {
            return Ok(false);
        }
        let way = if self.is_trusted(test) { Way::Quick } else { Way::Fresh };
        let fewest = minimise(others, |trials| {
            let lists: Vec<Vec<Test>> = trials.iter().map(|trial| with(trial)).collect();
            self.first_that(test, &lists, false, way)
        })?;
        if fewest.is_empty() {
            return Ok(false);
        }
        self.confirm_disturbed(test, &with(&fewest), setters)
    }

    /// Whether the polluters, who include the setters, keep the test as it is alone; if so, that is a finding.
    pub(crate) fn confirm_disturbed(
        &mut self,
        test: Test,
        polluters: &[Test],
        setters: &[Test],
    ) -> Result<bool, Stopped> {
        let (schedule, counter) = (followed_by(polluters, test), followed_by(setters, test));
        let both = [schedule.clone(), counter.clone(), schedule.clone(), counter.clone()];
        let verdicts = self.last_verdicts(&both)?;
        let is_shown =
            |pair: &[Verdict]| Some(pair[0].status) == self.alone_status(test) && self.differs(test, pair[1].status);
        if !verdicts.chunks(2).all(is_shown) {
            return Ok(false);
        }
        self.add(test, Role::Victim, polluters, (schedule, &verdicts[0]), (counter, verdicts[1].status));
        Ok(true)
    }

    // ---- findings

    /// After the list the test comes to something else than alone.
    fn add_changed(&mut self, test: Test, list: &[Test], changed: &Verdict) {
        let alone = self.alone[&test].clone();
        let after = followed_by(list, test);
        match role(alone.status, changed.status) {
            Role::Victim => self.add(test, Role::Victim, list, (after, changed), (vec![test], alone.status)),
            Role::Brittle => self.add(test, Role::Brittle, list, (vec![test], &alone), (after, changed.status)),
        }
    }

    /// What the test is if others make it come to this.
    pub(crate) fn role_of(&self, test: Test, changed: Status) -> Option<Role> {
        self.alone_status(test).filter(|alone| *alone != changed).map(|alone| role(alone, changed))
    }

    fn add(
        &mut self,
        test: Test,
        role: Role,
        others: &[Test],
        (schedule, violated): (Vec<Test>, &Verdict),
        (counter_schedule, counter): (Vec<Test>, Status),
    ) {
        let (name, others_named) = (self.evidence.tests[test].clone(), self.names(others));
        let id = identify(&self.request.scope, role, &name, &others_named);
        if self.findings.iter().any(|finding| finding.id == id) {
            return;
        }
        let resources = self.evidence.channels(others, test);
        let fields = resources.first().map(|channel| channel.field.clone()).into_iter().collect();
        let (setters, polluters) =
            if role == Role::Brittle { (others_named, Vec::new()) } else { (Vec::new(), others_named) };
        let finding = Finding {
            id,
            test: name,
            role,
            setters,
            polluters,
            alternatives: Vec::new(),
            cleaners: Vec::new(),
            cause: Cause { certainty: Certainty::Likely, fields },
            resources,
            outcome: Contrast {
                reference: self.reference[test],
                violated: violated.status,
                counter,
                message: violated.message.clone(),
            },
            schedule: self.names(&schedule),
            counter_schedule: self.names(&counter_schedule),
        };
        self.oracle.found(&finding);
        self.findings.push(finding);
    }

    /// What tests come to alone in JVMs that are put back; where that differs from fresh JVMs, they are not trusted.
    pub(crate) fn try_alone(&mut self, tests: BTreeSet<Test>) -> Result<(), Stopped> {
        let unknown: Vec<Test> = tests.into_iter().filter(|test| !self.quick_alone.contains_key(test)).collect();
        let trials: Vec<Trial> = unknown.iter().map(|&test| self.trial(&[], test)).collect();
        let tried = self.try_all(&trials)?;
        for (&test, tried) in unknown.iter().zip(tried) {
            match verdict_of(tried) {
                Some(verdict) => _ = self.quick_alone.insert(test, verdict),
                // It hangs there, or wears a JVM out, and others do not.
                None if self.is_quick => _ = self.unfaithful.insert(test),
                None => {}
            }
        }
        for (test, quick) in &self.quick_alone {
            // Who fails for another reason fails earlier or later than it would, and so hides something or shows it.
            let is_vague = self.vague.contains(test);
            let is_same = |alone: &Verdict| {
                alone.status == quick.status && (is_vague || is_alike(&alone.message, &quick.message))
            };
            if self.alone.get(test).is_some_and(|alone| !is_same(alone)) {
                self.unfaithful.insert(*test);
            }
        }
        Ok(())
    }
}

/// Whether two messages say the same, but for what differs from run to run: long numbers and identity hashes.
pub(crate) fn is_alike(one: &str, other: &str) -> bool {
    one == other || lasting_part(one) == lasting_part(other)
}

fn lasting_part(message: &str) -> String {
    const LONG: usize = 4;
    let mut part = String::new();
    let mut digits = String::new();
    let mut is_hash = false;
    for c in message.chars().chain(['\0']) {
        is_hash = c == '@' || is_hash && c.is_ascii_hexdigit();
        if c.is_ascii_digit() && !is_hash {
            digits.push(c);
            continue;
        }
        part.push_str(if digits.len() < LONG { &digits } else { "#" });
        digits.clear();
        if c == '@' || !is_hash {
            part.push(c);
        }
    }
    part
}

pub(crate) fn verdict_of(tried: Option<Tried>) -> Option<Verdict> {
    match tried {
        Some(Tried::Ended(verdict)) if verdict.status != Status::Missing => Some(verdict),
        _ => None,
    }
}

pub(crate) fn status_of(tried: Option<Tried>) -> Option<Status> {
    verdict_of(tried).map(|verdict| verdict.status)
}

/// A brittle test that somebody harms who comes between it and its setters.
pub(crate) fn is_of_disturbed(finding: &Finding) -> bool {
    finding.role == Role::Victim && finding.counter_schedule.len() > 1
}

/// Sixteen digits that stay the same as long as the finding does.
fn identify(scope: &str, role: Role, test: &str, others: &[String]) -> String {
    // FNV-1a.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let text = format!("{scope}\n{role:?}\n{test}\n{}", others.join("\n"));
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    // FNV leaves its upper digits to the last bytes; people are shown the first ones.
    hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{:016x}", hash ^ (hash >> 29))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_compared_without_what_differs_from_run_to_run() {
        assert!(is_alike("port 41234 of Server@1b2c3d is taken", "port 50001 of Server@99ffa is taken"));
        assert!(!is_alike("[Cell1] is not as expected", "[Cell2] is not as expected"));
        assert!(!is_alike("expected 12 but was 13", "expected 12 but was 14"));
        assert!(!is_alike("at a@1 b", "at a@1 c"));
    }
}
