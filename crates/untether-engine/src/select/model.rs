//! Decisions in a model: a project is a handful of values, a test class reads some of them, which ones depending on what it
//! finds, and comes to what they say. A million times, whoever is left out comes to what it would come to if it were run.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use untether_model::{CodeCache, Launch, ReasonKind, RecordStatus, Selection};
use untether_project::{Code, Outside};
use untether_store::{ModuleRecords, Settings, StoredRecord};

use crate::select::decide::Decider;
use crate::select::environment::Environment;

const VALUES: usize = 6;
const CLASSES: usize = 5;

/// SplitMix64: small, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

type World = [usize; VALUES];

/// Reads a value and goes on as it says, or ends.
enum Program {
    Ends { passes: bool },
    Reads { value: usize, then: Vec<Program> },
}

impl Program {
    fn new(depth: usize, chance: &mut Chance) -> Self {
        if depth == 0 || chance.below(4) == 0 {
            return Program::Ends { passes: chance.below(4) > 0 };
        }
        Program::Reads { value: chance.below(VALUES), then: (0..3).map(|_| Program::new(depth - 1, chance)).collect() }
    }

    /// What it read on its way, and whether it passes.
    fn run(&self, world: &World) -> (BTreeSet<usize>, bool) {
        let (mut at, mut read) = (self, BTreeSet::new());
        loop {
            match at {
                Program::Ends { passes } => return (read, *passes),
                Program::Reads { value, then } => {
                    read.insert(*value);
                    at = &then[world[*value]];
                }
            }
        }
    }
}

/// The values as system properties; a missing one is a value as well.
fn launch(world: &World) -> Launch {
    let given = world.iter().enumerate().filter(|(_, value)| **value > 0);
    let properties = given.map(|(number, value)| (format!("v{number}"), value.to_string())).collect();
    Launch { properties, java_version: "17".to_owned(), ..Launch::default() }
}

fn class(number: usize) -> String {
    format!("C{number}Test")
}

struct Model {
    programs: Vec<Program>,
    records: ModuleRecords,
    /// Numbers of states by what they are.
    numbers: BTreeMap<(usize, usize), u32>,
    needs: BTreeMap<String, BTreeSet<String>>,
    cache: RefCell<CodeCache>,
}

impl Model {
    fn code(&self, world: &World) -> Code<'_> {
        let mut code = Code::new(&[], Path::new("/none"), 17, &self.cache);
        code.outside = Outside::new(&launch(world), Path::new("/none"), |_| false);
        code
    }

    fn decide(&self, world: &World, classes: &[String]) -> Selection {
        let mut code = self.code(world);
        let environment = Environment { hash: "same".to_owned(), settings: Settings::new() };
        let settings = |_: &str| -> Option<Settings> { None };
        let mut decider = Decider {
            module: "",
            records: &self.records,
            environment: &environment,
            code: &mut code,
            settings: &settings,
            needs: &self.needs,
            watched: &BTreeMap::new(),
            by_test: false,
            left_out: BTreeMap::new(),
            used: Vec::new(),
        };
        decider.decide(classes)
    }

    /// Keeps what the class read, unless it was ended before that.
    fn record(&mut self, number: usize, world: &World, is_ended: bool) {
        if is_ended {
            self.records.unfinished.insert(class(number));
            return;
        }
        let (read, passes) = self.programs[number].run(world);
        let states = read.into_iter().map(|value| self.state(value, world)).collect();
        let (at, is_clear) = (self.records.records.len() as i64, number + 1 < CLASSES);
        let status = match (passes, is_clear) {
            (false, _) => RecordStatus::Failed,
            // The last class is never understood.
            (true, false) => RecordStatus::Unclear,
            (true, true) => RecordStatus::Passed,
        };
        self.records.unfinished.remove(&class(number));
        let record = StoredRecord {
            number: at,
            class: class(number),
            environment: "same".to_owned(),
            status,
            reason: String::new(),
            states,
            seconds: 0.0,
            noted_ms: at,
            used_ms: 0,
        };
        self.records.records.insert(0, record);
    }

    fn state(&mut self, value: usize, world: &World) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry((value, world[value])).or_insert(next);
        if number == next {
            let state = self.code(world).state(&format!("property:v{value}"), false);
            self.records.states.insert(number, state);
        }
        number
    }
}

/// Whom the class needs before itself, directly or not.
fn needed_by(needs: &BTreeMap<String, BTreeSet<String>>, class: &str) -> BTreeSet<String> {
    let (mut found, mut pending) = (BTreeSet::new(), vec![class.to_owned()]);
    while let Some(at) = pending.pop() {
        for other in needs.get(&at).into_iter().flatten() {
            if found.insert(other.clone()) {
                pending.push(other.clone());
            }
        }
    }
    found
}

#[test]
fn whoever_is_left_out_would_come_to_what_it_came_to() {
    const DECISIONS: usize = 1_000_000;
    const STEPS: usize = 40;
    let mut chance = Chance(20_261_119);
    let (mut decided, mut left_out, mut changed) = (0, 0, 0);
    while decided < DECISIONS {
        let programs = (0..CLASSES).map(|_| Program::new(3, &mut chance)).collect();
        let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for _ in 0..chance.below(3) {
            let (one, other) = (chance.below(CLASSES), chance.below(CLASSES));
            needs.entry(class(one)).or_default().insert(class(other));
        }
        let (records, numbers, cache) = (ModuleRecords::default(), BTreeMap::new(), RefCell::default());
        let mut model = Model { programs, records, numbers, needs, cache };
        let mut world: World = [0; VALUES];
        // What each class came to when it last passed, by what it had read.
        let mut passed: Vec<Vec<BTreeMap<usize, usize>>> = vec![Vec::new(); CLASSES];
        for _ in 0..STEPS {
            if chance.below(3) > 0 {
                world[chance.below(VALUES)] = chance.below(3);
                changed += 1;
            }
            let classes: Vec<String> = (0..CLASSES).map(class).collect();
            let selection = model.decide(&world, &classes);
            decided += CLASSES;
            let selected: BTreeMap<&str, &[_]> =
                selection.selected.iter().map(|it| (it.test.as_str(), it.reasons.as_slice())).collect();
            left_out += selection.skipped.len();
            assert_eq!(selected.len() + selection.skipped.len(), CLASSES);
            for (number, passed) in passed.iter().enumerate() {
                let name = class(number);
                let (read, passes) = model.programs[number].run(&world);
                let found: BTreeMap<usize, usize> = read.into_iter().map(|value| (value, world[value])).collect();
                let is_known = passed.contains(&found) && !model.records.unfinished.contains(&name);
                match selected.get(name.as_str()) {
                    None => {
                        assert!(passes, "{name} is left out and fails: {world:?}");
                        assert!(is_known, "{name} is left out and has not passed like that: {world:?}");
                    }
                    // Nothing is run in vain: only who is needed by another one, or was not understood.
                    Some(reasons) if is_known => {
                        let is_needed = reasons.iter().any(|reason| reason.kind == ReasonKind::Needed);
                        assert!(is_needed || number + 1 == CLASSES, "{name} is run in vain: {reasons:?} {world:?}");
                    }
                    Some(_) => {
                        for other in needed_by(&model.needs, &name) {
                            assert!(selected.contains_key(other.as_str()), "{name} runs without {other}");
                        }
                    }
                }
            }
            let ran: Vec<usize> =
                (0..CLASSES).filter(|&number| selected.contains_key(class(number).as_str())).collect();
            for number in ran {
                let is_ended = chance.below(10) == 0;
                model.record(number, &world, is_ended);
                let (read, passes) = model.programs[number].run(&world);
                if !is_ended && passes && number + 1 < CLASSES {
                    passed[number].push(read.into_iter().map(|value| (value, world[value])).collect());
                }
            }
        }
    }
    assert!(left_out > DECISIONS / 4 && changed > 0, "{left_out} of {decided} were left out");
}
