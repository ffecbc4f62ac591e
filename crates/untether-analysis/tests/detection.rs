//! What detection makes of objects that lie below others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use untether_analysis::{dependencies, detect};
use untether_model::{Actor, ActorKind, DependencyKind, Event, HeapObject, Labels, Slot, Trace};

const ONE: u32 = 1;
const TWO: u32 = 2;
const THREE: u32 = 3;
/// `Registry.current`, and `Registry.current.name`.
const CURRENT: u32 = 1;
const NAME: u32 = 2;

fn trace(events: Vec<Event>) -> Trace {
    let actor =
        |kind, name: &str| Actor { kind, parent: 0, name: name.to_owned(), detail: String::new(), outcome: None };
    let test = |name| actor(ActorKind::Test, name);
    let root = HeapObject { class: "app.Registry".to_owned(), ..HeapObject::default() };
    let inner = HeapObject { writer: ONE, parent: 1, place: "current".to_owned(), ..HeapObject::default() };
    Trace {
        actors: vec![actor(ActorKind::Outside, ""), test("T#one"), test("T#two"), test("T#three")],
        objects: vec![HeapObject::default(), root, inner],
        slots: vec![
            Slot::default(),
            Slot { object: 1, place: "current".to_owned(), ..Slot::default() },
            Slot { object: 2, place: "name".to_owned(), ..Slot::default() },
        ],
        events,
        ..Trace::default()
    }
}

fn read(actor: u32, slot: u32, writer: u32) -> Event {
    Event::Read { actor, slot, writer, stack: 0, pending_stack: 0, is_empty: false }
}

fn write(actor: u32, slot: u32) -> Event {
    Event::Write { actor, slot, stack: 0, labels: Labels::default() }
}

/// Writer, reader and field of each dependency.
fn found(events: Vec<Event>, kind: DependencyKind) -> Vec<(String, String, String)> {
    let detection = detect(&trace(events));
    dependencies(&detection, &[kind], |_| true, |_| true)
        .into_iter()
        .map(|d| {
            let name = |unit| detection.unit(unit).name.clone();
            (name(d.from), name(d.to), detection.resource(d.resource).path.clone())
        })
        .collect()
}

fn between(from: &str, to: &str, field: &str) -> (String, String, String) {
    (from.to_owned(), to.to_owned(), field.to_owned())
}

#[test]
fn what_came_with_its_object_is_said_of_the_object_alone() {
    let events = vec![write(ONE, CURRENT), read(TWO, CURRENT, ONE), read(TWO, NAME, ONE)];
    assert_eq!(found(events, DependencyKind::Data), [between("T#one", "T#two", "Registry.current")]);
}

#[test]
fn what_was_changed_inside_is_said_of_the_field_inside() {
    let events = vec![write(ONE, CURRENT), write(TWO, NAME), read(THREE, CURRENT, ONE), read(THREE, NAME, TWO)];
    assert_eq!(
        found(events, DependencyKind::Data),
        [between("T#one", "T#three", "Registry.current"), between("T#two", "T#three", "Registry.current.name")]
    );
}

#[test]
fn a_read_that_is_implied_still_meets_those_that_write_there() {
    let events = vec![write(ONE, CURRENT), read(TWO, CURRENT, ONE), read(TWO, NAME, ONE), write(THREE, NAME)];
    assert_eq!(found(events.clone(), DependencyKind::Data), [between("T#one", "T#two", "Registry.current")]);
    assert_eq!(found(events.clone(), DependencyKind::Anti), [between("T#two", "T#three", "Registry.current.name")]);
    assert!(found(events, DependencyKind::Candidate).contains(&between("T#three", "T#two", "Registry.current.name")));
}

#[test]
fn a_field_that_the_trace_does_not_know_is_passed_over() {
    assert_eq!(found(vec![write(ONE, 77), read(TWO, 77, ONE)], DependencyKind::Data), []);
}
