//! The search that detection guides: every reader is to meet every last writer that it could have, and none.
//!
//! A schedule shows a reader, for each slot that it reads, the last writer before it. The goals are all
//! such triples. Two orders of the whole suite reach many at once; then schedules are packed for what is
//! left: first tests as if they were alone, then readers before and after writers, then tests that lack one of
//! several sources. What several writers do at once may hide what one does: so at last readers are run with one
//! writer as if nobody else were there, as far as such pairs can be packed. No class is run twice in a schedule,
//! as no build tool would do that.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::refine::evidence::{Evidence, Test};
use crate::refine::strategy::{Search, as_class_runs, reversed};

/// Tests that read a slot and write it as well keep each other from being without a writer: of more than this many,
/// only some are run so.
const MOST_ALONE: usize = 24;

/// Tests and pairs are packed as if alone as long as this many fit into a JVM, or no more than this many are left.
const FEWEST_PACKED: usize = 4;
const MOST_UNPACKED: usize = 100;

/// Schedules that are proposed at once.
const AT_ONCE: usize = 8;

/// A reader is to find this writer's value, or nobody's, in a group of slots.
type Goal = (usize, Option<Test>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    WholeOrders,
    Alone,
    BeforeWriters,
    AfterWriters,
    WithoutSource,
    Pairs,
    Over,
}

/// Which rounds are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// Whole orders.
    First,
    /// What is left for fresh JVMs after tests alone and pairs were tried otherwise: only what the project itself writes
    /// and reads, as nearly all tests of a suite share state of libraries. Or after they were not: then all.
    Last { is_all: bool },
}

pub(crate) struct Guided {
    rounds: Rounds,
    round: Round,
    /// The readers that have not yet met the goal.
    open: BTreeMap<Goal, BTreeSet<Test>>,
    /// Tests that have not been run as if alone, but for lazy state.
    not_alone: BTreeSet<Test>,
    /// Writers and readers that have not been run as if they were the only ones.
    pairs: BTreeSet<(Test, Test)>,
    without_source: Vec<Vec<Test>>,
}

/// Who wrote last, as a schedule goes on.
struct State<'e, 'd> {
    evidence: &'e Evidence<'d>,
    last: HashMap<usize, Test>,
}

impl State<'_, '_> {
    /// Whose value `reader` finds.
    fn last_writer(&self, group: usize, reader: Test) -> Option<Test> {
        let writer = *self.last.get(&group)?;
        (writer != reader).then_some(writer)
    }

    /// All whose values `reader` finds in state that is not lazy.
    fn eager_writers(&self, reader: Test) -> BTreeSet<Test> {
        let evidence = self.evidence;
        let eager = evidence.reads[reader].iter().filter(|&&group| !evidence.groups[group].is_lazy);
        eager.filter_map(|&group| self.last_writer(group, reader)).collect()
    }

    fn run(&mut self, test: Test) {
        for &group in &self.evidence.writes[test] {
            let group_of_slots = &self.evidence.groups[group];
            if !group_of_slots.is_lazy || !self.last.contains_key(&group) {
                self.last.insert(group, test);
            }
        }
    }
}

impl Guided {
    pub(crate) fn new(evidence: &Evidence<'_>, targets: &BTreeSet<Test>, rounds: Rounds) -> Self {
        let mut open: BTreeMap<Goal, BTreeSet<Test>> = BTreeMap::new();
        let mut not_alone = BTreeSet::new();
        let mut pairs = BTreeSet::new();
        let is_all = rounds == Rounds::Last { is_all: true };
        for (number, group) in evidence.groups.iter().enumerate() {
            if !is_all && !evidence.is_own(group) {
                continue;
            }
            let busy: Vec<Test> = group.readers.intersection(&group.writers).copied().collect();
            let busy_step = busy.len().div_ceil(MOST_ALONE).max(1);
            let is_spared: BTreeSet<Test> =
                busy.iter().enumerate().filter(|(at, _)| at % busy_step != 0).map(|(_, test)| *test).collect();
            for &reader in group.readers.intersection(targets) {
                if !is_spared.contains(&reader) {
                    open.entry((number, None)).or_default().insert(reader);
                }
                if group.is_lazy {
                    // Whoever comes first fills it; there is no second writer.
                    continue;
                }
                not_alone.insert(reader);
                let writers: Vec<Test> = group.writers.iter().copied().filter(|&writer| writer != reader).collect();
                for writer in writers {
                    open.entry((number, Some(writer))).or_default().insert(reader);
                    pairs.insert((writer, reader));
                }
            }
        }
        if !is_all {
            open.retain(|(_, writer), _| writer.is_none());
            pairs.clear();
        }
        Guided {
            rounds,
            round: Round::WholeOrders,
            open,
            not_alone,
            pairs,
            without_source: without_source(evidence, targets, is_all),
        }
    }

    /// Takes the goals that the schedule reaches off the list.
    fn cover(&mut self, evidence: &Evidence<'_>, schedule: &[Test]) {
        let mut state = State { evidence, last: HashMap::new() };
        for &test in schedule {
            for &group in &evidence.reads[test] {
                self.reach((group, state.last_writer(group, test)), test);
            }
            let writers = state.eager_writers(test);
            if writers.is_empty() {
                self.not_alone.remove(&test);
            }
            if let (1, Some(&writer)) = (writers.len(), writers.first()) {
                self.pairs.remove(&(writer, test));
            }
            state.run(test);
        }
    }

    fn reach(&mut self, goal: Goal, reader: Test) {
        if let Some(readers) = self.open.get_mut(&goal) {
            readers.remove(&reader);
            if readers.is_empty() {
                self.open.remove(&goal);
            }
        }
    }

    fn is_open(&self, goal: Goal, reader: Test) -> bool {
        self.open.get(&goal).is_some_and(|readers| readers.contains(&reader))
    }

    /// Tests that nobody disturbs: none that is in the schedule already writes what they read. State that is
    /// filled lazily does not count: nearly all tests of a suite may share some.
    fn alone(&self, evidence: &Evidence<'_>) -> Vec<Test> {
        let mut state = State { evidence, last: HashMap::new() };
        let mut schedule = Vec::new();
        for test in reversed(evidence, &self.not_alone.iter().copied().collect::<Vec<_>>()) {
            if state.eager_writers(test).is_empty() {
                state.run(test);
                schedule.push(test);
            }
        }
        worthwhile(schedule.len(), self.not_alone.len(), schedule)
    }

    /// Readers after one writer each, as if nobody else were there.
    fn clean_pairs(&self, evidence: &Evidence<'_>) -> Vec<Test> {
        let mut state = State { evidence, last: HashMap::new() };
        let mut used: HashSet<&str> = HashSet::new();
        let mut schedule: Vec<Test> = Vec::new();
        let mut count = 0;
        let mut by_writer: BTreeMap<Test, Vec<Test>> = BTreeMap::new();
        for &(writer, reader) in &self.pairs {
            by_writer.entry(writer).or_default().push(reader);
        }
        for (&writer, readers) in &by_writer {
            if used.contains(evidence.class(writer)) || !state.eager_writers(writer).is_empty() {
                continue;
            }
            let is_usable = |reader: &Test| {
                let class = evidence.class(*reader);
                class == evidence.class(writer) || !used.contains(class)
            };
            let run: Vec<Test> = [writer].into_iter().chain(readers.iter().copied().filter(is_usable)).collect();
            let mut after = State { evidence, last: state.last.clone() };
            after.run(writer);
            let mut chosen = Vec::new();
            for reader in as_class_runs(evidence, &run).into_iter().skip(1) {
                if after.eager_writers(reader).iter().eq([&writer]) {
                    after.run(reader);
                    chosen.push(reader);
                }
            }
            if !chosen.is_empty() {
                count += chosen.len();
                used.insert(evidence.class(writer));
                used.extend(chosen.iter().map(|&reader| evidence.class(reader)));
                schedule.push(writer);
                schedule.extend(chosen);
                state = after;
            }
        }
        worthwhile(count, self.pairs.len(), schedule)
    }

    /// Tests that come before all writers of something that they have not been without.
    fn before_writers(&self, evidence: &Evidence<'_>) -> Vec<Test> {
        let mut state = State { evidence, last: HashMap::new() };
        let mut schedule = Vec::new();
        let mut wanted: BTreeSet<Test> = BTreeSet::new();
        for ((_, writer), readers) in &self.open {
            if writer.is_none() {
                wanted.extend(readers);
            }
        }
        for test in reversed(evidence, &wanted.into_iter().collect::<Vec<_>>()) {
            let is_new = |&group: &usize| state.last_writer(group, test).is_none() && self.is_open((group, None), test);
            if evidence.reads[test].iter().any(is_new) {
                state.run(test);
                schedule.push(test);
            }
        }
        schedule
    }

    /// Writers, each followed by readers that have not met it, as long as there are unused classes.
    fn after_writers(&self, evidence: &Evidence<'_>) -> Vec<Test> {
        let mut readers_of: BTreeMap<Test, BTreeSet<Test>> = BTreeMap::new();
        for ((_, writer), readers) in &self.open {
            if let Some(writer) = writer {
                readers_of.entry(*writer).or_default().extend(readers);
            }
        }
        let mut writers: Vec<(Test, BTreeSet<Test>)> = readers_of.into_iter().collect();
        writers.sort_by_key(|(writer, readers)| (std::cmp::Reverse(readers.len()), *writer));
        let mut state = State { evidence, last: HashMap::new() };
        let mut used: HashSet<&str> = HashSet::new();
        let mut met: HashSet<(Goal, Test)> = HashSet::new();
        let mut schedule: Vec<Test> = Vec::new();
        for (writer, readers) in &writers {
            if used.contains(evidence.class(*writer)) {
                continue;
            }
            let candidates: Vec<Test> = readers
                .iter()
                .copied()
                .filter(|&reader| !used.contains(evidence.class(reader)))
                .filter(|&reader| {
                    let is_wanted = |group: &usize| {
                        let goal = (*group, Some(*writer));
                        self.is_open(goal, reader) && !met.contains(&(goal, reader))
                    };
                    evidence.reads[reader].iter().any(is_wanted)
                })
                .collect();
            if candidates.is_empty() {
                continue;
            }
            let start = schedule.len();
            state.run(*writer);
            schedule.push(*writer);
            // The writer's own class comes first: it is the run in which the writer stands.
            let run: Vec<Test> = [*writer].into_iter().chain(candidates).collect();
            for reader in as_class_runs(evidence, &run).into_iter().skip(1) {
                let reached: Vec<Goal> = evidence.reads[reader]
                    .iter()
                    .map(|&group| (group, state.last_writer(group, reader)))
                    .filter(|&goal| goal.1.is_some() && self.is_open(goal, reader) && !met.contains(&(goal, reader)))
                    .collect();
                if reached.is_empty() || schedule.contains(&reader) {
                    continue;
                }
                met.extend(reached.into_iter().map(|goal| (goal, reader)));
                state.run(reader);
                schedule.push(reader);
            }
            used.extend(schedule[start..].iter().map(|&test| evidence.class(test)));
        }
        schedule
    }

    /// All that is still to be shown.
    fn left(&self) -> usize {
        self.open.values().map(BTreeSet::len).sum::<usize>() + self.not_alone.len() + self.pairs.len()
    }

    fn next(&mut self, evidence: &Evidence<'_>) -> Vec<Vec<Test>> {
        match self.round {
            Round::WholeOrders => {
                let order: Vec<Test> = (0..evidence.tests.len()).collect();
                // The original order of classes, with the tests of each backwards.
                let mut within = Vec::new();
                for chunk in as_class_runs(evidence, &order).chunk_by(|&a, &b| evidence.class(a) == evidence.class(b)) {
                    within.extend(chunk.iter().rev());
                }
                let orders = vec![reversed(evidence, &order), within];
                if self.rounds == Rounds::First {
                    self.round = Round::Over;
                    return orders;
                }
                self.round = Round::Alone;
                orders.iter().for_each(|order| self.cover(evidence, order));
                self.next(evidence)
            }
            Round::Alone => self.packed(evidence, Self::alone, Round::BeforeWriters),
            Round::BeforeWriters => self.packed(evidence, Self::before_writers, Round::AfterWriters),
            Round::AfterWriters => self.packed(evidence, Self::after_writers, Round::WithoutSource),
            Round::WithoutSource => {
                let count = self.without_source.len().min(AT_ONCE);
                if count == 0 {
                    self.round = Round::Pairs;
                }
                self.without_source.drain(..count).collect()
            }
            Round::Pairs => self.packed(evidence, Self::clean_pairs, Round::Over),
            Round::Over => Vec::new(),
        }
    }

    /// Up to so many schedules of one kind; when there are none, the next round begins.
    fn packed(
        &mut self,
        evidence: &Evidence<'_>,
        make: fn(&Self, &Evidence<'_>) -> Vec<Test>,
        following: Round,
    ) -> Vec<Vec<Test>> {
        let mut batch = Vec::new();
        while batch.len() < AT_ONCE {
            let schedule = make(self, evidence);
            if schedule.is_empty() {
                self.round = following;
                break;
            }
            let before = self.left();
            self.cover(evidence, &schedule);
            if self.left() == before {
                self.round = following;
                break;
            }
            batch.push(schedule);
        }
        batch
    }
}

/// The schedule, unless it shows too little of all that is left: then something else does what can be done.
fn worthwhile(shown: usize, left: usize, schedule: Vec<Test>) -> Vec<Test> {
    let is_worth_it = shown >= FEWEST_PACKED || left <= MOST_UNPACKED;
    if is_worth_it { schedule } else { Vec::new() }
}

impl Search for Guided {
    fn propose(&mut self, evidence: &Evidence<'_>) -> (Vec<Vec<Test>>, usize) {
        while self.round != Round::Over {
            let batch = self.next(evidence);
            if !batch.is_empty() {
                for schedule in &batch {
                    self.cover(evidence, schedule);
                }
                // Each schedule can show a reader one last writer of a slot.
                let most: usize = {
                    let mut writers: HashMap<(usize, Test), usize> = HashMap::new();
                    for ((group, _), readers) in &self.open {
                        for &reader in readers {
                            *writers.entry((*group, reader)).or_default() += 1;
                        }
                    }
                    writers.values().copied().max().unwrap_or(0)
                };
                let left = match self.rounds {
                    Rounds::First => batch.len(),
                    Rounds::Last { .. } => batch.len() + most + self.without_source.len(),
                };
                return (batch, left);
            }
        }
        (Vec::new(), 0)
    }
}

/// For tests with several sources: schedules in the original order that lack one of them. Sources that
/// have no reader in common are left out together.
fn without_source(evidence: &Evidence<'_>, targets: &BTreeSet<Test>, is_all: bool) -> Vec<Vec<Test>> {
    let mut readers_of: BTreeMap<Test, BTreeSet<Test>> = BTreeMap::new();
    for &reader in targets {
        let mut eager: Vec<Test> =
            evidence.sources[reader].iter().filter(|(_, is_eager)| **is_eager).map(|(source, _)| *source).collect();
        if !is_all {
            let writers = evidence.writers_where(reader, |group| evidence.is_own(group));
            eager.retain(|source| writers.contains(source));
        }
        if eager.len() > 1 {
            for source in eager {
                readers_of.entry(source).or_default().insert(reader);
            }
        }
    }
    let mut colours: Vec<(Vec<Test>, BTreeSet<Test>)> = Vec::new();
    for (source, readers) in readers_of {
        match colours.iter_mut().find(|(_, taken)| taken.is_disjoint(&readers)) {
            Some((sources, taken)) => {
                sources.push(source);
                taken.extend(readers);
            }
            None => colours.push((vec![source], readers)),
        }
    }
    colours
        .into_iter()
        .map(|(sources, readers)| {
            let mut needed: BTreeSet<Test> = readers.clone();
            for &reader in &readers {
                needed.extend(evidence.closure(reader));
            }
            let tests: Vec<Test> = needed.into_iter().filter(|test| !sources.contains(test)).collect();
            as_class_runs(evidence, &tests)
        })
        .collect()
}
