//! Who pollutes, cleans, restores and reads a cell of state: one way for each kind of coupling that is known, with
//! tests and fixtures chosen at random.

use super::cells::{COMMON, LAST, RECIPES, Recipe, TWO_STEPS};
use super::generator::{Cell, Place, Suite};
use super::random::Random;

/// What is planned with a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plan {
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

/// How many kinds there are.
#[cfg(test)]
pub(crate) const KINDS: usize = RECIPES.len() + WAYS.len();

/// All kinds by turns, without end, in an order that the seed decides.
pub(crate) fn plans(seed: u64, first: usize) -> impl Iterator<Item = Plan> {
    let mut deck: Vec<Plan> = RECIPES.into_iter().map(Plan::Plain).chain(WAYS).collect();
    Random::new(seed).shuffle(&mut deck);
    (first..).map(move |at| deck[at % deck.len()])
}

/// Puts what was planned into the suite.
pub(crate) fn plant(plan: Plan, class: String, suite: &mut Suite, random: &mut Random) -> Cell {
    let recipe = match plan {
        Plan::Plain(recipe) => recipe,
        Plan::ManyWriters => LAST,
        Plan::OrderedPair => TWO_STEPS,
        _ => random.pick(&COMMON),
    };
    let mut writer = Writer { suite, random, recipe, class };
    writer.plan(plan);
    Cell {
        kind: plan.kind(),
        source: writer.java(recipe.source),
        causes: recipe.causes.iter().map(|cause| writer.java(cause)).collect(),
        class: writer.class,
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
