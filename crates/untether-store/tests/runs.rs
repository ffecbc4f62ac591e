//! A run comes back from the store as it went in.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Barrier;

use untether_model::{
    Access, AccessMode, Detection, Label, Outcome, OutcomeStatus, Resource, ResourceKind, StackLine, Unit, UnitKind,
};
use untether_store::{NewRun, Store};

#[test]
fn a_run_with_more_accesses_than_a_row_holds_comes_back() {
    let line = |line| StackLine { class: "a.B".into(), method: "m".into(), file: "B.java".into(), line };
    let outcome = Outcome { status: OutcomeStatus::Failed, nanos: 7, message: "no".into(), trace: "at".into() };
    let detection = Detection {
        units: vec![
            Unit { kind: UnitKind::Class, name: "a.BTest".into(), display_name: String::new(), outcome: None },
            Unit {
                kind: UnitKind::Test,
                name: "a.BTest#m[1]".into(),
                display_name: "one".into(),
                outcome: Some(outcome),
            },
        ],
        resources: vec![
            Resource {
                kind: ResourceKind::Heap,
                name: "B.x".into(),
                field: "a.B.x".into(),
                path: "B.x".into(),
                root: "a.B.x".into(),
            },
            Resource {
                kind: ResourceKind::Property,
                name: "B.y[0]".into(),
                field: "a.B.y".into(),
                path: "B.y[0]".into(),
                root: "a.B.y".into(),
            },
        ],
        accesses: (0..150_000)
            .map(|number| Access {
                resource: number % 2,
                unit: number / 7 % 2,
                position: number / 3,
                mode: if number % 5 == 0 { AccessMode::Write } else { AccessMode::Read },
                labels: (number % 11 == 0).then_some(Label::ClassLocal).into_iter().collect(),
                source: (number % 3 == 0).then_some(number % 2),
                stack: (number % 4 == 0).then_some(1),
                source_stack: None,
            })
            .collect(),
        stacks: vec![vec![line(1)], vec![line(2), line(1)]],
        is_complete: true,
        ..Detection::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(folder.path()).unwrap();
    let command = ["mvn".to_owned(), "test".to_owned()];
    let run =
        NewRun { started_ms: 5, command: &command, exit_code: Some(1), detections: std::slice::from_ref(&detection) };
    store.add_run(&run).unwrap();

    let found = Store::open(folder.path()).unwrap().latest_run().unwrap();
    assert_eq!(found.summary.command, command);
    assert_eq!(found.summary.exit_code, Some(1));
    let [back] = &found.detections[..] else { panic!("{} detections", found.detections.len()) };
    assert!(back.accesses == detection.accesses, "accesses differ");
    assert_eq!(back.units, detection.units);
    assert_eq!(back.resources, detection.resources);
    assert_eq!(back.stacks, detection.stacks);
    assert!(back.is_complete);
}

#[test]
fn several_can_make_and_use_a_store_at_once() {
    const AT_ONCE: usize = 4;
    for _ in 0..25 {
        let folder = tempfile::tempdir().unwrap();
        let ready = Barrier::new(AT_ONCE);
        std::thread::scope(|scope| {
            for number in 0..AT_ONCE {
                let (ready, folder) = (&ready, folder.path());
                scope.spawn(move || {
                    ready.wait();
                    let mut store = Store::open_or_create(folder).unwrap();
                    let detections = [Detection::default()];
                    let command = [number.to_string()];
                    let run = NewRun { started_ms: 0, command: &command, exit_code: None, detections: &detections };
                    store.add_run(&run).unwrap();
                });
            }
        });
        assert_eq!(Store::open(folder.path()).unwrap().latest_run().unwrap().summary.number, AT_ONCE as i64);
    }
}
