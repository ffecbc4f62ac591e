//! Ways to look for suspects. All propose schedules.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;

use untether_model::class_of;

use crate::refine::evidence::{Evidence, Test};
use crate::refine::guided::{Guided, Rounds};

/// How to search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// By what detection saw: orders that together show every reader every possible last writer.
    Guided,
    /// PRADET's: one data dependency after the other is inverted.
    Pradet,
    /// The original order backwards.
    Reverse,
    /// Each test alone.
    Isolate,
    /// Each ordered pair of tests.
    Pairs,
    /// Random orders.
    Random { orders: usize, seed: u64 },
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "guided" => Ok(Strategy::Guided),
            "pradet" => Ok(Strategy::Pradet),
            "reverse" => Ok(Strategy::Reverse),
            "isolate" => Ok(Strategy::Isolate),
            "pairs" => Ok(Strategy::Pairs),
            _ => {
                let numbers: Option<(usize, u64)> = text.strip_prefix("random:").and_then(|rest| {
                    let (orders, seed) = rest.split_once(':')?;
                    Some((orders.parse().ok()?, seed.parse().ok()?))
                });
                let (orders, seed) = numbers.ok_or_else(|| {
                    "not one of guided, pradet, reverse, isolate, pairs, random:N:SEED (such as random:20:1)".to_owned()
                })?;
                Ok(Strategy::Random { orders, seed })
            }
        }
    }
}

impl std::fmt::Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Strategy::Guided => f.write_str("guided"),
            Strategy::Pradet => f.write_str("pradet"),
            Strategy::Reverse => f.write_str("reverse"),
            Strategy::Isolate => f.write_str("isolate"),
            Strategy::Pairs => f.write_str("pairs"),
            Strategy::Random { orders, seed } => write!(f, "random:{orders}:{seed}"),
        }
    }
}

/// A search that is under way.
pub(crate) trait Search {
    /// The next schedules, to be run in any order, and how many are expected from them on. None: it is over.
    fn propose(&mut self, evidence: &Evidence<'_>) -> (Vec<Vec<Test>>, usize);
}

impl Strategy {
    pub(crate) fn start(&self, evidence: &Evidence<'_>, targets: &BTreeSet<Test>) -> Box<dyn Search> {
        let all: Vec<Test> = (0..evidence.tests.len()).collect();
        match self {
            Strategy::Guided => Box::new(Guided::new(evidence, targets, Rounds::First)),
            Strategy::Pradet => Box::new(Listed::new(inversions(evidence, targets).into_iter(), 1)),
            Strategy::Reverse => Box::new(Listed::new(std::iter::once(reversed(evidence, &all)), 1)),
            Strategy::Isolate => {
                let targets: Vec<Test> = targets.iter().copied().collect();
                Box::new(Listed::new(targets.into_iter().map(|test| vec![test]), 16))
            }
            Strategy::Pairs => {
                let seconds: Vec<Test> = targets.iter().copied().collect();
                let pairs = (0..all.len() * seconds.len())
                    .map(move |number| vec![all[number / seconds.len()], seconds[number % seconds.len()]])
                    .filter(|pair| pair[0] != pair[1]);
                Box::new(Listed::new(pairs, 64))
            }
            Strategy::Random { orders, seed } => {
                let mut random = Random(*seed);
                let orders: Vec<Vec<Test>> = (0..*orders).map(|_| random.order(evidence)).collect();
                Box::new(Listed::new(orders.into_iter(), 8))
            }
        }
    }
}

/// The last class first, and in each class the last test first.
pub(crate) fn reversed(evidence: &Evidence<'_>, tests: &[Test]) -> Vec<Test> {
    let mut backwards: Vec<Test> = tests.to_vec();
    backwards.reverse();
    as_class_runs(evidence, &backwards)
}

/// The same tests with each class in one piece, where its first test stands, and so with the classes nested in it: then
/// a worker enters none twice.
pub(crate) fn as_class_runs(evidence: &Evidence<'_>, tests: &[Test]) -> Vec<Test> {
    fn grouped<'e>(evidence: &'e Evidence<'_>, tests: &[Test], depth: usize) -> Vec<Test> {
        let mut groups: Vec<(Option<&'e str>, Vec<Test>)> = Vec::new();
        let mut position = HashMap::new();
        for &test in tests {
            let name = class_of(&evidence.tests[test]).split('$').nth(depth);
            let at = *position.entry(name).or_insert_with(|| {
                groups.push((name, Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(test);
        }
        groups
            .into_iter()
            .flat_map(|(name, tests)| if name.is_some() { grouped(evidence, &tests, depth + 1) } else { tests })
            .collect()
    }
    grouped(evidence, tests, 0)
}

/// Schedules that are there already.
pub(crate) struct Once(pub(crate) Vec<Vec<Test>>);

impl Search for Once {
    fn propose(&mut self, _evidence: &Evidence<'_>) -> (Vec<Vec<Test>>, usize) {
        let left = self.0.len();
        (std::mem::take(&mut self.0), left)
    }
}

/// Whether some class would be run twice: its fixtures, too, and what they do is not the tests' doing.
pub(crate) fn splits_class(evidence: &Evidence<'_>, schedule: &[Test]) -> bool {
    as_class_runs(evidence, schedule) != schedule
}

/// PRADET: for each data dependency, last source first, its target with all that it needs but the source.
fn inversions(evidence: &Evidence<'_>, targets: &BTreeSet<Test>) -> Vec<Vec<Test>> {
    let closures: Vec<BTreeSet<Test>> = (0..evidence.tests.len()).map(|test| evidence.closure(test)).collect();
    let mut schedules = Vec::new();
    for &target in targets {
        let closure = &closures[target];
        for &source in evidence.sources[target].keys() {
            // What itself needs the source comes after it, hence after the target.
            let mut schedule: Vec<Test> =
                closure.iter().copied().filter(|&test| test != source && !closures[test].contains(&source)).collect();
            schedule.push(target);
            schedules.push(schedule);
        }
    }
    schedules
}

/// A search that does not depend on what comes of it.
struct Listed<I> {
    left: I,
    at_once: usize,
}

impl<I> Listed<I> {
    fn new(schedules: I, at_once: usize) -> Self {
        Listed { left: schedules, at_once }
    }
}

impl<I: Iterator<Item = Vec<Test>>> Search for Listed<I> {
    fn propose(&mut self, _evidence: &Evidence<'_>) -> (Vec<Vec<Test>>, usize) {
        let batch: Vec<Vec<Test>> = self.left.by_ref().take(self.at_once).collect();
        let left = batch.len() + self.left.size_hint().0;
        (batch, left)
    }
}

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            let at = (self.next() % (end as u64 + 1)) as usize;
            list.swap(at, end);
        }
    }

    /// All tests, with classes in random order and the tests of each class in random order.
    fn order(&mut self, evidence: &Evidence<'_>) -> Vec<Test> {
        let mut tests: Vec<Test> = (0..evidence.tests.len()).collect();
        self.shuffle(&mut tests);
        as_class_runs(evidence, &tests)
    }
}
