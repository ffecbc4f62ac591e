//! Orders of whole classes in which each class stands directly behind each other one once: what shows only when all tests of a
//! class ran directly before all of another, in suites that are too large to be tried pair by pair.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use untether_model::Status;

use crate::refine::evidence::Test;
use crate::refine::strategy::Once;
use crate::refine::{Session, Stopped};

/// Orders that are run at a time.
const AT_ONCE: usize = 4;

impl Session<'_, '_> {
    /// Where all pairs of tests are too many. What stood side by side is counted.
    pub(crate) fn search_class_orders(&mut self, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        if self.coverage.class_pairs.all == 0 {
            return Ok(());
        }
        let classes = self.classes();
        let is_target: Vec<bool> =
            classes.iter().map(|tests| tests.iter().any(|test| targets.contains(test))).collect();
        let mut met: HashSet<(usize, usize)> = HashSet::new();
        let mut rest = orders(&is_target);
        loop {
            let some: Vec<Vec<usize>> = rest.by_ref().take(AT_ONCE).collect();
            if some.is_empty() || !self.oracle.has_room_for_orders() {
                break;
            }
            let schedules: Vec<Vec<Test>> =
                some.iter().map(|order| order.iter().flat_map(|&class| &classes[class]).copied().collect()).collect();
            self.search_by(&mut Once(schedules))?;
            let neighbours = some.iter().flat_map(|order| order.windows(2));
            met.extend(neighbours.filter(|two| is_target[two[1]]).map(|two| (two[0], two[1])));
            self.coverage.class_pairs.tried = met.len().min(self.coverage.class_pairs.all);
        }
        Ok(())
    }

    /// The tests of each class that can be run, in the original order.
    fn classes(&self) -> Vec<Vec<Test>> {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let mut classes: Vec<Vec<Test>> = Vec::new();
        let can_run = |&test: &Test| self.can_run(test) && self.reference[test] != Status::Missing;
        for test in (0..self.evidence.tests.len()).filter(can_run) {
            let class = *first.entry(self.evidence.class(test)).or_insert_with(|| {
                classes.push(Vec::new());
                classes.len() - 1
            });
            classes[class].push(test);
        }
        classes
    }
}

/// Orders in which each wanted class stands directly behind each other one: of all where many are wanted, else of two.
fn orders(is_wanted: &[bool]) -> Box<dyn Iterator<Item = Vec<usize>>> {
    let count = is_wanted.len();
    let wanted: Vec<usize> = (0..count).filter(|&class| is_wanted[class]).collect();
    if 2 * wanted.len() >= count {
        return Box::new(square(count));
    }
    let others = move |class: usize| (0..count).filter(move |&other| other != class);
    Box::new(wanted.into_iter().flat_map(move |class| others(class).map(move |other| vec![other, class])))
}

/// Rows in which each ordered pair of different numbers stands side by side at least once (Williams): for an even count, the
/// sums of the first row, 0, n-1, 1, n-2 and so on, with each number. For an odd one, those of one more, which is left out.
fn square(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let even = count + count % 2;
    let first = move |place: usize| if place.is_multiple_of(2) { place / 2 } else { even - 1 - place / 2 };
    let row = move |shift: usize| {
        (0..even).map(move |place| (first(place) + shift) % even).filter(move |&number| number < count)
    };
    (0..even).map(move |shift| row(shift).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(rows: &[Vec<usize>]) -> HashSet<(usize, usize)> {
        rows.iter().flat_map(|row| row.windows(2)).map(|two| (two[0], two[1])).collect()
    }

    #[test]
    fn in_the_rows_of_a_square_each_stands_behind_each_other_one() {
        for count in 1..40 {
            let rows: Vec<Vec<usize>> = square(count).collect();
            for row in &rows {
                let all: BTreeSet<usize> = row.iter().copied().collect();
                assert_eq!((row.len(), all.len()), (count, count), "{row:?}");
            }
            assert_eq!(neighbours(&rows).len(), count * (count - 1), "{count}");
            assert_eq!(rows.len(), count + count % 2);
        }
    }

    #[test]
    fn few_wanted_classes_stand_behind_each_other_one_in_orders_of_two() {
        let mut is_wanted = [false; 9];
        is_wanted[2] = true;
        is_wanted[7] = true;
        let rows: Vec<Vec<usize>> = orders(&is_wanted).collect();
        assert!(rows.iter().all(|row| row.len() == 2));
        let expected: HashSet<(usize, usize)> =
            [2, 7].into_iter().flat_map(|class| (0..9).filter(move |&o| o != class).map(move |o| (o, class))).collect();
        assert_eq!(neighbours(&rows), expected);
    }
}
