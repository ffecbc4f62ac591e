//! Makes suites up: cells of state, and who pollutes, cleans, restores and reads them, at random. What comes of that
//! is not known here: couplings that nobody planned are welcome.

use super::cells::{COMMON, LAST, RECIPES, Recipe, TWO_STEPS};
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

/// What is planned with a cell.
#[derive(Debug, Clone, Copy)]
enum Plan {
    Plain(Recipe),
    ClassFixture,
    AfterClass,
    Inherited,
    TestInitializer,
    SameValue,
    ManyWriters,
    ClassLocal,
    OrderedPair,
    Restored,
}

const WAYS: [Plan; 9] = [
    Plan::ClassFixture,
    Plan::AfterClass,
    Plan::Inherited,
    Plan::TestInitializer,
    Plan::SameValue,
    Plan::ManyWriters,
    Plan::ClassLocal,
    Plan::OrderedPair,
    Plan::Restored,
];

impl Plan {
    fn kind(self) -> &'static str {
        match self {
            Plan::Plain(recipe) => recipe.name,
            Plan::ClassFixture => "class-fixture",
            Plan::AfterClass => "after-class",
            Plan::Inherited => "inherited-fixture",
            Plan::TestInitializer => "test-initializer",
            Plan::SameValue => "same-value",
            Plan::ManyWriters => "many-writers",
            Plan::ClassLocal => "class-local",
            Plan::OrderedPair => "ordered-pair",
            Plan::Restored => "restored",
        }
    }
}

/// The suite of that number; the others need not be made for it. A smaller one than usual is quicker to judge.
pub(crate) fn suite(seed: u64, number: u64, size: Option<usize>) -> Suite {
    let mut random = Random::of(seed, number + 1);
    let mut plans = plans(seed, number);
    plans.truncate(size.map_or(CELLS, |size| size / 2).min(CELLS));
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
        let recipe = match plan {
            Plan::Plain(recipe) => recipe,
            Plan::ManyWriters => LAST,
            Plan::OrderedPair => TWO_STEPS,
            _ => random.pick(&COMMON),
        };
        let class = format!("Cell{}", suite.cells.len() + 1);
        let mut writer = Writer { suite: &mut suite, random: &mut random, recipe, class };
        writer.plan(plan);
        let cell = Cell {
            kind: plan.kind(),
            source: writer.java(recipe.source),
            causes: recipe.causes.iter().map(|cause| writer.java(cause)).collect(),
            class: writer.class,
        };
        suite.cells.push(cell);
    }
    suite
}

/// All kinds by turns, in an order that the seed decides.
fn plans(seed: u64, number: u64) -> Vec<Plan> {
    let mut deck: Vec<Plan> = RECIPES.into_iter().map(Plan::Plain).chain(WAYS).collect();
    Random::new(seed).shuffle(&mut deck);
    let first = number as usize * CELLS;
    (first..first + CELLS).map(|at| deck[at % deck.len()]).collect()
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

/// Puts what concerns one cell into the tests.
struct Writer<'w> {
    suite: &'w mut Suite,
    random: &'w mut Random,
    recipe: Recipe,
    class: String,
}

impl Writer<'_> {
    fn java(&self, template: &str) -> String {
        template.replace("$C", &self.class).replace("$k", &self.class.to_lowercase())
    }

    fn one_of(&mut self, templates: &[&str]) -> String {
        let template = self.random.pick(templates);
        self.java(template)
    }

    fn pollution(&mut self) -> String {
        self.one_of(self.recipe.pollute)
    }

    fn cleaning(&mut self) -> String {
        self.one_of(self.recipe.clean)
    }

    fn add(&mut self, place: Place, statement: String) {
        self.suite.classes[place.class].tests[place.test].body.push(statement);
    }

    /// Mostly, a test looks before it changes something.
    fn expect(&mut self, place: Place, is_polluted: bool) {
        let condition = if is_polluted { self.recipe.is_polluted } else { self.recipe.is_clean };
        let check = format!("Check.that(\"{}\", {});", self.class, self.java(condition));
        let body = &mut self.suite.classes[place.class].tests[place.test].body;
        let at = if self.random.chance(85) { 0 } else { body.len() };
        body.insert(at, check);
    }

    /// The tests of the other classes in random order. Readers are taken from the front, where those are, mostly, that
    /// expect nothing yet: what fails first hides the rest.
    fn outside(&mut self, classes: &[usize]) -> Vec<Place> {
        let mut places = self.suite.places();
        places.retain(|place| !classes.contains(&place.class));
        self.random.shuffle(&mut places);
        if self.random.chance(75) {
            let expects = |place: &Place| {
                let body = &self.suite.classes[place.class].tests[place.test].body;
                body.iter().any(|statement| statement.starts_with("Check."))
            };
            places.sort_by_key(expects);
        }
        places
    }

    fn two_classes(&mut self) -> (usize, usize) {
        let classes: Vec<usize> = (0..self.suite.classes.len()).collect();
        let two = self.random.some(&classes, 2);
        (two[0], two[1])
    }

    fn read_by(&mut self, places: &[Place], least: usize, most: usize, polluted: usize) {
        let count = self.random.between(least, most);
        for &place in places.iter().take(count) {
            let is_polluted = self.random.chance(polluted);
            self.expect(place, is_polluted);
        }
    }

    fn clean_by(&mut self, places: &[Place], most: usize) {
        let count = self.random.between(0, most);
        for &place in places.iter().rev().take(count) {
            let cleaning = self.cleaning();
            self.add(place, cleaning);
        }
    }

    fn plan(&mut self, plan: Plan) {
        match plan {
            Plan::Plain(_) => self.plain(),
            Plan::ClassFixture => self.class_fixture(),
            Plan::AfterClass => self.after_class(),
            Plan::Inherited => self.inherited(),
            Plan::TestInitializer => self.test_initializer(),
            Plan::SameValue => self.same_value(),
            Plan::ManyWriters => self.many_writers(),
            Plan::ClassLocal => self.class_local(),
            Plan::OrderedPair => self.ordered_pair(),
            Plan::Restored => self.restored(),
        }
        let touching = self.random.between(0, 2);
        let places = self.outside(&[]);
        for &place in places.iter().take(touching) {
            let touch = self.one_of(self.recipe.touch);
            self.add(place, touch);
        }
    }

    fn plain(&mut self) {
        let places = self.outside(&[]);
        let (readers, others) = places.split_at(3);
        self.read_by(readers, 1, 3, 40);
        let polluters = self.random.between(1, 3);
        for &place in &others[..polluters] {
            let pollution = self.pollution();
            if self.random.chance(15) {
                self.suite.classes[place.class].fixtures.before_class.push(pollution);
            } else {
                self.add(place, pollution);
            }
        }
        self.clean_by(&others[polluters..], 2);
        if self.random.chance(40) {
            let restoring = self.java(self.recipe.restore);
            self.add(others[polluters], restoring);
        }
    }

    /// Set up by a class for its own tests, and put back or not.
    fn class_fixture(&mut self) {
        let (class, other) = self.two_classes();
        let pollution = self.pollution();
        self.suite.classes[class].fixtures.before_class.push(pollution);
        let is_put_back = self.random.chance(35);
        if is_put_back {
            let cleaning = self.cleaning();
            self.suite.classes[class].fixtures.after_class.push(cleaning);
        }
        if self.random.chance(40) {
            let cleaning = self.cleaning();
            self.suite.classes[other].fixtures.before_class.push(cleaning);
        }
        let test = self.random.below(self.suite.classes[class].tests.len());
        self.expect(Place { class, test }, true);
        let outside = self.outside(&[class]);
        // What is put back, nobody outside can expect.
        self.read_by(&outside, 1, 3, if is_put_back { 0 } else { 25 });
        self.clean_by(&outside, 1);
    }

    fn after_class(&mut self) {
        let (class, other) = self.two_classes();
        let pollution = self.pollution();
        self.suite.classes[class].fixtures.after_class.push(pollution);
        if self.random.chance(40) {
            let cleaning = self.cleaning();
            self.suite.classes[other].fixtures.after_class.push(cleaning);
        }
        let outside = self.outside(&[class]);
        self.read_by(&outside, 1, 3, 30);
        self.clean_by(&outside, 1);
    }

    fn inherited(&mut self) {
        let (one, two) = self.two_classes();
        for class in [one, two] {
            self.suite.classes[class].has_base = true;
        }
        let is_polluting = self.random.chance(70);
        let statement = if is_polluting { self.pollution() } else { self.cleaning() };
        let base = &mut self.suite.base;
        if self.random.chance(60) {
            base.before_class.push(statement)
        } else {
            base.before.push(statement)
        }
        let outside = self.outside(&[one, two]);
        self.read_by(&outside, 1, 3, 40);
        if is_polluting {
            self.clean_by(&outside, 1);
        } else if let Some(&place) = outside.last() {
            let pollution = self.pollution();
            self.add(place, pollution);
        }
    }

    fn test_initializer(&mut self) {
        let (class, other) = self.two_classes();
        let polluting = if self.random.chance(30) { vec![class, other] } else { vec![class] };
        for &class in &polluting {
            let pollution = self.pollution();
            self.suite.classes[class].initializer.push(pollution);
        }
        let outside = self.outside(&polluting);
        self.read_by(&outside, 1, 3, 40);
        self.clean_by(&outside, 1);
    }

    /// Two classes leave the same, each of them without looking at what is there.
    fn same_value(&mut self) {
        let (one, two) = self.two_classes();
        let pollution = self.pollution();
        for class in [one, two] {
            let statement = self.java(self.recipe.clean[0]) + " " + &pollution;
            if self.random.chance(70) {
                self.suite.classes[class].fixtures.before_class.push(statement);
            } else {
                let test = self.random.below(self.suite.classes[class].tests.len());
                self.add(Place { class, test }, statement);
            }
        }
        let outside = self.outside(&[one, two]);
        self.read_by(&outside, 1, 3, 25);
        if let Some(&place) = outside.last() {
            let cleaning = self.cleaning();
            self.add(place, cleaning);
        }
    }

    /// One bad writer among many.
    fn many_writers(&mut self) {
        let places = self.outside(&[]);
        self.read_by(&places, 2, 2, 0);
        let pollution = self.pollution();
        self.add(places[2], pollution);
        for &place in &places[3..] {
            let cleaning = self.cleaning();
            self.add(place, cleaning);
        }
    }

    /// What one test leaves, the next of its class removes.
    fn class_local(&mut self) {
        let (class, _) = self.two_classes();
        let test = self.random.below(self.suite.classes[class].tests.len() - 1);
        let (pollution, cleaning) = (self.pollution(), self.cleaning());
        self.add(Place { class, test }, pollution);
        self.add(Place { class, test: test + 1 }, cleaning);
        let outside = self.outside(&[class]);
        self.read_by(&outside, 2, 4, 0);
    }

    fn ordered_pair(&mut self) {
        let places = self.outside(&[]);
        for (step, &place) in self.recipe.pollute.iter().zip(&places) {
            let step = self.java(step);
            self.add(place, step);
        }
        self.expect(places[2], false);
        self.suite.planned.push([places[0], places[1], places[2]]);
        self.clean_by(&places[3..], 1);
    }

    /// Harmless: everybody puts back what was there.
    fn restored(&mut self) {
        let places = self.outside(&[]);
        let (readers, others) = places.split_at(3);
        self.read_by(readers, 1, 3, 0);
        let count = self.random.between(1, 3);
        for &place in others.iter().take(count) {
            let restoring = self.java(self.recipe.restore);
            self.add(place, restoring);
        }
        let class = readers[0].class;
        let fixed = (0..self.suite.classes.len()).find(|other| *other != class).unwrap_or(class);
        let (pollution, cleaning) = (self.java(self.recipe.pollute[0]), self.java(self.recipe.clean[0]));
        self.suite.classes[fixed].fixtures.before.push(pollution);
        self.suite.classes[fixed].fixtures.after.push(cleaning);
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
            assert_eq!((small.tests().len(), small.cells.len()), (LEAST_TESTS, LEAST_TESTS / 2));
            assert!(small.classes.len() >= 3);
        }
    }

    #[test]
    fn every_kind_and_both_frameworks_with_and_without_mocks_take_part() {
        let suites: Vec<Suite> = (0..30).map(|number| suite(3, number, None)).collect();
        let kinds: BTreeSet<&str> = suites.iter().flat_map(|suite| suite.cells.iter().map(|cell| cell.kind)).collect();
        assert_eq!(kinds.len(), RECIPES.len() + WAYS.len());
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
