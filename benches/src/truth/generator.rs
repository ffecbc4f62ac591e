//! Makes suites up: classes, tests and their order, and the cells of state that `couplings` plants into them. What
//! comes of that is not known here: couplings that nobody planned are welcome.

use super::couplings::{self, Plan};
use super::random::Random;

/// How many cells a suite has.
const CELLS: usize = 6;
/// Fewer tests could not play all parts.
pub(crate) const LEAST_TESTS: usize = 8;
/// Every so many suites have a mocking library in the way.
const MOCKING: u64 = 4;
const NAMES: [&str; 7] = ["Alpha", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot", "Golf"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framework {
    JUnit4,
    Jupiter,
}

/// How a class gets its mocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mocks {
    None,
    /// An extension or a rule.
    Extension,
    /// A runner of JUnit 4, which keeps to an order of its own.
    Runner,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) number: u64,
    pub(crate) framework: Framework,
    pub(crate) has_mocks: bool,
    pub(crate) cells: Vec<Cell>,
    /// In the original order, as are their tests.
    pub(crate) classes: Vec<TestClass>,
    /// What classes inherit that have a base.
    pub(crate) base: Fixtures,
    /// Tests that were meant to show something only when all of them run, in this order.
    pub(crate) planned: Vec<[Place; 3]>,
}

/// One piece of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) class: String,
    /// What was planned with it.
    pub(crate) kind: &'static str,
    pub(crate) source: String,
    pub(crate) causes: Vec<String>,
}

/// Statements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fixtures {
    pub(crate) before_class: Vec<String>,
    pub(crate) after_class: Vec<String>,
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestClass {
    pub(crate) name: String,
    pub(crate) has_base: bool,
    pub(crate) mocks: Mocks,
    pub(crate) initializer: Vec<String>,
    pub(crate) fixtures: Fixtures,
    pub(crate) tests: Vec<Test>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) body: Vec<String>,
}

/// A test by the numbers of its class and of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) class: usize,
    pub(crate) test: usize,
}

/// The suite of that number; the others need not be made for it. A smaller one than usual is quicker to judge.
pub(crate) fn suite(seed: u64, number: u64, size: Option<usize>) -> Suite {
    let mut random = Random::of(seed, number + 1);
    let cells = size.map_or(CELLS, |size| size / 3).min(CELLS);
    let plans: Vec<Plan> = couplings::plans(seed, number as usize * CELLS).take(cells).collect();
    let has_mocks = number % MOCKING == MOCKING - 1;
    // Both kinds of framework, with and without mocks.
    let is_jupiter = (number + number / MOCKING) % 2 == 1;
    let framework = if is_jupiter { Framework::Jupiter } else { Framework::JUnit4 };
    let has_many = plans.iter().any(|plan| matches!(plan, Plan::ManyWriters));
    let usual = if has_many { 15 } else { random.between(10, 14) };
    let size = size.unwrap_or(usual);
    let mut suite = Suite {
        number,
        framework,
        has_mocks,
        cells: Vec::new(),
        classes: classes(size, framework, has_mocks, &mut random),
        base: Fixtures { before: vec!["Noise.counter++;".to_owned()], ..Fixtures::default() },
        planned: Vec::new(),
    };
    for plan in plans {
        let class = format!("Cell{}", suite.cells.len() + 1);
        let cell = couplings::plant(plan, class, &mut suite, &mut random);
        suite.cells.push(cell);
    }
    suite
}

fn classes(size: usize, framework: Framework, has_mocks: bool, random: &mut Random) -> Vec<TestClass> {
    let mut classes = Vec::new();
    let mut left = size;
    for name in random.some(&NAMES, NAMES.len()) {
        if left == 0 {
            break;
        }
        // At least three classes, and none with a single test.
        let most = 5.min((size - 1) / 2).min(left);
        let count = if left <= 3 { left } else { random.between(2, most) };
        let count = if left - count == 1 { count - 1 } else { count };
        left -= count;
        let mocks = match framework {
            _ if !has_mocks || random.chance(25) => Mocks::None,
            Framework::JUnit4 if random.chance(50) => Mocks::Runner,
            _ => Mocks::Extension,
        };
        let mut names: Vec<String> = (1..=count).map(|number| format!("test{number}")).collect();
        if mocks != Mocks::Runner {
            random.shuffle(&mut names);
        }
        let mut body = |name: String| {
            let calls = mocks != Mocks::None && random.chance(60);
            let body = if calls { vec!["mock.run(); Mockito.verify(mock).run();".to_owned()] } else { Vec::new() };
            Test { name, body }
        };
        let tests = names.into_iter().map(&mut body).collect();
        let mut fixtures = Fixtures::default();
        fixtures.before.push("Noise.counter++;".to_owned());
        if random.chance(40) {
            fixtures.after.push("Noise.CALLS.merge(getClass().getSimpleName(), 1, Integer::sum);".to_owned());
        }
        let name = format!("{name}Test");
        classes.push(TestClass { name, has_base: false, mocks, initializer: Vec::new(), fixtures, tests });
    }
    if left > 0
        && let Some(last) = classes.last_mut()
    {
        let names = (1..=left).map(|number| Test { name: format!("test9{number}"), body: Vec::new() });
        last.tests.extend(names);
    }
    classes
}

impl Suite {
    pub(crate) fn id(&self, place: Place) -> String {
        let class = &self.classes[place.class];
        format!("truth.{}#{}", class.name, class.tests[place.test].name)
    }

    pub(crate) fn places(&self) -> Vec<Place> {
        let of = |class: usize| (0..self.classes[class].tests.len()).map(move |test| Place { class, test });
        (0..self.classes.len()).flat_map(of).collect()
    }

    /// All tests, in the original order.
    pub(crate) fn tests(&self) -> Vec<String> {
        self.places().into_iter().map(|place| self.id(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_suite_and_another_one_another() {
        for number in 0..20 {
            assert_eq!(suite(7, number, None), suite(7, number, None));
            assert_ne!(suite(7, number, None), suite(8, number, None));
            assert_ne!(suite(7, number, None), suite(7, number + 1, None));
        }
    }

    #[test]
    fn suites_have_ten_to_fifteen_tests_in_classes_of_two_to_five() {
        for number in 0..300 {
            let suite = suite(1, number, None);
            assert!((10..=15).contains(&suite.tests().len()), "{number}: {}", suite.tests().len());
            assert!(suite.classes.len() >= 3, "{number}");
            let sizes: Vec<usize> = suite.classes.iter().map(|class| class.tests.len()).collect();
            assert!(sizes.iter().all(|size| (2..=5).contains(size)), "{number}: {sizes:?}");
            let names: BTreeSet<String> = suite.tests().into_iter().collect();
            assert_eq!(names.len(), suite.tests().len());
        }
    }

    #[test]
    fn smaller_suites_can_be_had() {
        for number in 0..100 {
            let small = suite(1, number, Some(LEAST_TESTS));
            assert_eq!((small.tests().len(), small.cells.len()), (LEAST_TESTS, LEAST_TESTS / 3));
            assert!(small.classes.len() >= 3);
        }
    }

    #[test]
    fn every_kind_and_both_frameworks_with_and_without_mocks_take_part() {
        let suites: Vec<Suite> = (0..30).map(|number| suite(3, number, None)).collect();
        let kinds: BTreeSet<&str> = suites.iter().flat_map(|suite| suite.cells.iter().map(|cell| cell.kind)).collect();
        assert_eq!(kinds.len(), couplings::KINDS);
        for framework in [Framework::JUnit4, Framework::Jupiter] {
            for has_mocks in [false, true] {
                assert!(suites.iter().any(|suite| suite.framework == framework && suite.has_mocks == has_mocks));
            }
        }
    }

    #[test]
    fn no_template_is_left_unfilled() {
        let text = format!("{:?}", (0..30).map(|number| suite(5, number, None)).collect::<Vec<_>>());
        assert!(!text.contains("$C") && !text.contains("$k"));
    }
}
