//! The dependencies that analysis finds, against a model that replays the accesses on plain values.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use untether_analysis::{dependencies, detect};
use untether_model::{Actor, ActorKind, DependencyKind, Event, HeapObject, Labels, Slot, Trace, Unit};

/// One access of a test: which slot, and the value written, if it is a write.
#[derive(Debug, Clone, Copy)]
struct Step {
    slot: usize,
    write: Option<u8>,
}

const SLOTS: usize = 4;

fn suites() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = (0..SLOTS, prop::option::of(0..3u8)).prop_map(|(slot, write)| Step { slot, write });
    prop::collection::vec(prop::collection::vec(step, 0..8), 1..8)
}

/// What the runtime would report of these tests: first reads of what others left, net writes.
fn trace(suite: &[Vec<Step>]) -> Trace {
    let actor = |kind, name: String, parent| Actor { kind, parent, name, detail: String::new(), outcome: None };
    let mut trace = Trace {
        actors: vec![actor(ActorKind::Outside, String::new(), 0)],
        objects: vec![HeapObject::default(), HeapObject { class: "app.State".into(), ..HeapObject::default() }],
        slots: vec![Slot::default()],
        ..Trace::default()
    };
    for slot in 0..SLOTS {
        trace.slots.push(Slot { object: 1, place: format!("field{slot}"), ..Slot::default() });
    }
    let mut values = [0u8; SLOTS];
    let mut writers = [0u32; SLOTS];
    for (number, steps) in suite.iter().enumerate() {
        let me = number as u32 + 1;
        trace.actors.push(actor(ActorKind::Test, format!("app.Suite#test{number}"), 0));
        let before = values;
        let mut touched = [false; SLOTS];
        for step in steps {
            match step.write {
                None if !touched[step.slot] => trace.events.push(Event::Read {
                    actor: me,
                    slot: step.slot as u32 + 1,
                    writer: writers[step.slot],
                    stack: 0,
                    pending_stack: 0,
                    is_empty: false,
                }),
                None => {}
                Some(value) => values[step.slot] = value,
            }
            touched[step.slot] = true;
        }
        for slot in 0..SLOTS {
            if values[slot] != before[slot] {
                writers[slot] = me;
                trace.events.push(Event::Write {
                    actor: me,
                    slot: slot as u32 + 1,
                    stack: 0,
                    labels: Labels::default(),
                });
            }
        }
    }
    trace
}

/// Reads before own writes, and net writes, of every test: (reads, writes) by slot.
fn summary(suite: &[Vec<Step>]) -> Vec<([bool; SLOTS], [bool; SLOTS])> {
    let mut values = [0u8; SLOTS];
    suite
        .iter()
        .map(|steps| {
            let before = values;
            let (mut reads, mut written) = ([false; SLOTS], [false; SLOTS]);
            for step in steps {
                match step.write {
                    Some(value) => {
                        values[step.slot] = value;
                        written[step.slot] = true;
                    }
                    None => reads[step.slot] |= !written[step.slot],
                }
            }
            (reads, std::array::from_fn(|slot| values[slot] != before[slot]))
        })
        .collect()
}

const KINDS: [DependencyKind; 3] = [DependencyKind::Data, DependencyKind::Anti, DependencyKind::Candidate];

type Found = BTreeSet<(DependencyKind, usize, usize, String)>;

fn expected(suite: &[Vec<Step>]) -> Found {
    let tests = summary(suite);
    let mut found = Found::new();
    for slot in 0..SLOTS {
        let name = format!("State.field{slot}");
        for (reader, (reads, _)) in tests.iter().enumerate().filter(|(_, (reads, _))| reads[slot]) {
            debug_assert!(reads[slot]);
            if let Some(writer) = (0..reader).rev().find(|&earlier| tests[earlier].1[slot]) {
                found.insert((DependencyKind::Data, writer, reader, name.clone()));
            }
            // A test that reads and then changes the slot is its own next writer.
            if let Some(writer) = (reader..tests.len()).find(|&later| tests[later].1[slot])
                && writer != reader
            {
                found.insert((DependencyKind::Anti, reader, writer, name.clone()));
            }
            for writer in (0..tests.len()).filter(|&any| any != reader && tests[any].1[slot]) {
                found.insert((DependencyKind::Candidate, writer, reader, name.clone()));
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dependencies_are_those_of_a_replay_on_plain_values(suite in suites()) {
        let detection = detect(&trace(&suite));
        let found: Found = dependencies(&detection, &KINDS, |_| true, |_| true)
            .into_iter()
            .map(|d| (d.kind, d.from as usize, d.to as usize, detection.resource(d.resource).name.clone()))
            .collect();
        prop_assert_eq!(found, expected(&suite));
    }

    #[test]
    fn asking_for_some_tests_gives_a_part_of_all(suite in suites(), one in any::<u8>(), other in any::<u8>()) {
        let detection = detect(&trace(&suite));
        // Each bit stands for a test.
        let is_in = |set: u8, unit: u32| set & (1u8.rotate_left(unit)) != 0;
        let number = |unit: &Unit| detection.units.iter().position(|known| known.name == unit.name).unwrap() as u32;
        let mut all = dependencies(&detection, &KINDS, |_| true, |_| true);
        all.retain(|d| (is_in(one, d.from) && is_in(other, d.to)) || (is_in(other, d.from) && is_in(one, d.to)));
        let some =
            dependencies(&detection, &KINDS, |unit| is_in(one, number(unit)), |unit| is_in(other, number(unit)));
        prop_assert_eq!(some, all);
    }
}
