//! Stores of several runs that become one, and what of a store goes with time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tempfile::TempDir;
use untether_model::{ClassState, RecordStatus, TestClass, UseRecord};
use untether_store::{DAY_MS, Store};

const CLASSES: [&str; 3] = ["a.ATest", "a.BTest", "b.CTest"];
const MODULES: [&str; 2] = ["", "core"];

/// Something that happens to a test class in one of the stores.
#[derive(Debug, Clone)]
enum Event {
    Started { store: usize, module: usize, class: usize },
    Ended { store: usize, module: usize, class: usize, environment: u8, states: BTreeSet<u8>, has_passed: bool },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let place = || (0..2usize, 0..MODULES.len(), 0..CLASSES.len());
    let started = place().prop_map(|(store, module, class)| Event::Started { store, module, class });
    let states = prop::collection::btree_set(0..4u8, 0..3);
    let ended = (place(), 0..2u8, states, any::<bool>()).prop_map(|(place, environment, states, has_passed)| {
        let (store, module, class) = place;
        Event::Ended { store, module, class, environment, states, has_passed }
    });
    prop::collection::vec(prop_oneof![1 => started, 3 => ended], 0..40)
}

fn state(number: u8) -> ClassState {
    // The last was looked for in vain.
    let found = (number < 3).then(|| (format!("place {}", number % 2), u128::from(number) << 100));
    ClassState { name: format!("lib.C{}", number / 2), found, is_exact: number == 1 }
}

fn settings(environment: u8) -> (String, Vec<(String, String)>) {
    (format!("environment {environment}"), vec![("Java".to_owned(), format!("{environment}"))])
}

/// What tells records apart, and what they say.
type Content = (String, String, String, BTreeSet<ClassState>);
type Says = (bool, i64);

fn content_of(store: &Store) -> (BTreeMap<Content, Says>, BTreeSet<(String, String)>) {
    let (mut records, mut unfinished) = (BTreeMap::new(), BTreeSet::new());
    for module in MODULES {
        let known = store.module_records(module).unwrap();
        for record in &known.records {
            let states = record.states.iter().map(|number| known.states[number].clone()).collect();
            assert!(store.settings(&record.environment).unwrap().is_some());
            let key = (module.to_owned(), record.class.clone(), record.environment.clone(), states);
            let says = (record.status == RecordStatus::Passed, record.noted_ms);
            assert!(records.insert(key, says).is_none(), "twice: {record:?}");
        }
        unfinished.extend(known.unfinished.into_iter().map(|class| (module.to_owned(), class)));
    }
    (records, unfinished)
}

#[derive(Default)]
struct Model {
    records: BTreeMap<Content, Says>,
    unfinished: BTreeMap<(String, String), i64>,
}

impl Model {
    fn merged(&self, other: &Self) -> (BTreeMap<Content, Says>, BTreeSet<(String, String)>) {
        let mut records = self.records.clone();
        for (content, says) in &other.records {
            let known = records.entry(content.clone()).or_insert(*says);
            if says.1 > known.1 {
                *known = *says;
            }
        }
        let ended_later = |(module, class): &(String, String), since: i64| {
            records.iter().any(|((m, c, ..), (_, noted))| m == module && c == class && *noted >= since)
        };
        let both = self.unfinished.iter().chain(&other.unfinished);
        let unfinished = both.filter(|(key, since)| !ended_later(key, **since)).map(|(key, _)| key.clone()).collect();
        (records, unfinished)
    }
}

fn record(module: &str, class: &str, environment: u8, states: &BTreeSet<u8>, has_passed: bool, now: i64) -> UseRecord {
    UseRecord {
        module: module.to_owned(),
        class: class.to_owned(),
        environment: settings(environment).0,
        status: if has_passed { RecordStatus::Passed } else { RecordStatus::Failed },
        reason: String::new(),
        states: states.iter().map(|number| state(*number)).collect(),
        seconds: 0.5,
        noted_ms: now,
    }
}

fn happens(event: &Event, now: i64, stores: &mut [Store; 2], models: &mut [Model; 2]) {
    match event {
        Event::Started { store, module, class } => {
            let (module, class) = (MODULES[*module].to_owned(), CLASSES[*class].to_owned());
            models[*store].unfinished.insert((module.clone(), class.clone()), now);
            stores[*store].note_started(&[TestClass { module, class }], now).unwrap();
        }
        Event::Ended { store, module, class, environment, states, has_passed } => {
            let (module, class) = (MODULES[*module], CLASSES[*class]);
            let record = record(module, class, *environment, states, *has_passed, now);
            stores[*store].add_uses(std::slice::from_ref(&record), &[settings(*environment)]).unwrap();
            let model = &mut models[*store];
            model.unfinished.remove(&(module.to_owned(), class.to_owned()));
            let key = (record.module, record.class, record.environment, record.states.into_iter().collect());
            model.records.insert(key, (*has_passed, now));
        }
    }
}

fn two_stores() -> ([TempDir; 2], [Store; 2]) {
    let folders = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let stores = [0, 1].map(|number: usize| Store::open_or_create(folders[number].path()).unwrap());
    (folders, stores)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_merged_store_knows_the_newest_of_both_and_the_other_is_as_it_was(events in events()) {
        let (_folders, mut stores) = two_stores();
        let mut models = [Model::default(), Model::default()];
        for (now, event) in events.iter().enumerate() {
            happens(event, now as i64, &mut stores, &mut models);
        }
        let expected = models[0].merged(&models[1]);
        let before = content_of(&stores[1]);
        let [first, second] = &mut stores;
        first.merge(second).unwrap();
        prop_assert_eq!(content_of(first), expected.clone());
        prop_assert_eq!(content_of(second), before);
        // Nothing is left to be told.
        let again = first.merge(second).unwrap();
        prop_assert_eq!(again.records, 0);
        prop_assert_eq!(content_of(first), expected);
    }

    #[test]
    fn what_was_used_within_the_last_months_stays(ages in prop::collection::vec((0..200i64, 0..200i64), 1..12)) {
        let (_folders, [mut store, _]) = two_stores();
        let now = 1_000 * DAY_MS;
        for (number, (noted, _)) in ages.iter().enumerate() {
            let class = format!("a.T{number}Test");
            let record = record("", &class, 0, &BTreeSet::from([number as u8 % 4]), true, now - noted * DAY_MS);
            store.add_uses(&[record], &[settings(0)]).unwrap();
        }
        for stored in store.module_records("").unwrap().records {
            let number: usize = stored.class.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
            store.note_used(&[stored.number], now - ages[number].1 * DAY_MS).unwrap();
        }
        store.tidy(now).unwrap();
        let stays = |(noted, used): &(i64, i64)| *noted.min(used) <= 90;
        let expected: BTreeSet<String> =
            ages.iter().enumerate().filter(|(_, age)| stays(age)).map(|(number, _)| format!("a.T{number}Test")).collect();
        let known = store.module_records("").unwrap();
        let kept: BTreeSet<String> = known.records.iter().map(|record| record.class.clone()).collect();
        prop_assert_eq!(kept, expected);
        // Their states are whole, and no other is left.
        let used: BTreeSet<u32> = known.records.iter().flat_map(|record| record.states.clone()).collect();
        prop_assert!(used.iter().all(|number| known.states.contains_key(number)));
        prop_assert_eq!(store.size().unwrap().states, used.len() as u64);
    }
}

#[test]
fn the_launch_of_a_merged_module_has_the_test_classes_of_both() {
    use untether_model::Launch;
    use untether_store::LastLaunch;
    let (_folders, [mut first, mut second]) = two_stores();
    let launch = |pid| Launch { pid, ..Launch::default() };
    let last = |pid, classes: &[&str], ignored: &[&str]| LastLaunch {
        module: "core".to_owned(),
        launch: launch(pid),
        classes: classes.iter().map(ToString::to_string).collect(),
        ignored: ignored.iter().map(ToString::to_string).collect(),
    };
    first.note_launch(&last(1, &["ATest"], &["BTest", "HelperTest"]), 10).unwrap();
    second.note_launch(&last(2, &["BTest"], &["ATest", "HelperTest"]), 20).unwrap();
    first.merge(&second).unwrap();
    let merged = first.last_launches().unwrap().remove(0);
    assert_eq!(
        (merged.launch.pid, merged.classes, merged.ignored),
        // That of the other may be of another machine.
        (1, vec!["ATest".into(), "BTest".into()], vec!["HelperTest".to_owned()])
    );
}

#[test]
fn test_classes_are_counted_and_not_their_tests() {
    let (_folders, [mut first, mut second]) = two_stores();
    for name in ["a.ATest", "a.ATest#one", "a.ATest$Inner#two", "a.BTest"] {
        second.add_uses(&[record("", name, 0, &BTreeSet::from([1]), true, 1)], &[settings(0)]).unwrap();
    }
    let merged = first.merge(&second).unwrap();
    assert_eq!((merged.classes, merged.records), (2, 4));
}
