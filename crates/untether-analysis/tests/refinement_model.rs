//! Refinement against a model of test suites that can be searched exhaustively.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use untether_analysis::refine::{Evidence, Oracle, Phase, Request, Stopped, Strategy as Search, refine};
use untether_model::{
    Access, AccessMode, Detection, Labels, Observation, Resource, Role, Schedule, Status, Unit, UnitKind, Verdict,
    class_of,
};

const VARIABLES: usize = 4;

/// Reads some variables, writes some, and passes if those that it read were as it wants.
#[derive(Debug, Clone)]
struct Program {
    wants: Vec<(usize, u8)>,
    writes: Vec<(usize, u8)>,
}

type State = [u8; VARIABLES];

impl Program {
    fn run(&self, state: &mut State) -> Status {
        let is_content = self.wants.iter().all(|&(variable, value)| state[variable] == value);
        for &(variable, value) in &self.writes {
            state[variable] = value;
        }
        if is_content { Status::Passed } else { Status::Failed }
    }
}

fn program() -> impl Strategy<Value = Program> {
    let assignment = || (0..VARIABLES, 0..3u8);
    (prop::collection::vec(assignment(), 0..3), prop::collection::vec(assignment(), 0..3))
        .prop_map(|(wants, writes)| Program { wants, writes })
}

/// Tests stand side by side in their classes.
fn name(number: usize, per_class: usize) -> String {
    format!("suite.C{}Test#t{number}", number / per_class)
}

/// What detection would say of the original order.
fn watched(programs: &[Program], per_class: usize) -> Detection {
    let mut detection = Detection { is_complete: true, ..Detection::default() };
    for variable in 0..VARIABLES {
        detection.resources.push(Resource { name: format!("V.v{variable}"), root: format!("suite.V.v{variable}") });
    }
    let mut state = State::default();
    let mut last: [Option<u32>; VARIABLES] = [None; VARIABLES];
    let mut add = |resource: usize, unit, mode, source| {
        let position = detection.accesses.len() as u32;
        detection.accesses.push(Access {
            resource: resource as u32,
            unit,
            position,
            mode,
            source,
            stack: None,
            source_stack: None,
            labels: Labels::default(),
        });
    };
    for (number, program) in programs.iter().enumerate() {
        let unit = number as u32;
        detection.units.push(Unit {
            kind: UnitKind::Test,
            name: name(number, per_class),
            display_name: String::new(),
            outcome: None,
        });
        for &(variable, _) in &program.wants {
            add(variable, unit, AccessMode::Read, last[variable]);
        }
        let before = state;
        program.run(&mut state);
        for variable in 0..VARIABLES {
            if state[variable] != before[variable] {
                add(variable, unit, AccessMode::Write, None);
                last[variable] = Some(unit);
            }
        }
    }
    detection
}

struct Model<'m> {
    programs: &'m [Program],
    number: HashMap<String, usize>,
}

impl Model<'_> {
    fn statuses(&self, tests: &[usize]) -> Vec<Status> {
        let mut state = State::default();
        tests.iter().map(|&test| self.programs[test].run(&mut state)).collect()
    }
}

impl Oracle for Model<'_> {
    fn run(&mut self, schedules: &[Schedule]) -> Result<Vec<Observation>, Stopped> {
        Ok(schedules
            .iter()
            .map(|schedule| {
                let tests: Vec<usize> = schedule.tests.iter().map(|test| self.number[test]).collect();
                let verdicts = self
                    .statuses(&tests)
                    .into_iter()
                    .map(|status| Verdict { status, nanos: 1, message: String::new() })
                    .collect();
                Observation { verdicts, jvms: 1 }
            })
            .collect())
    }

    fn progress(&mut self, _phase: Phase) {}
}

/// Refines the suite and compares what is found with what a search through the model says.
fn check(programs: &[Program], per_class: usize) -> Result<(), TestCaseError> {
    let detection = watched(programs, per_class);
    let evidence = Evidence::new(&detection);
    let number = (0..programs.len()).map(|number| (name(number, per_class), number)).collect();
    let mut model = Model { programs, number };
    let reference = model.statuses(&(0..programs.len()).collect::<Vec<_>>());
    let request = Request { strategy: Search::Guided, reference_runs: 2, targets: None };
    let refinement = refine(&evidence, &request, &mut model);
    prop_assert_eq!(&refinement.stopped, &None);
    prop_assert!(refinement.nondeterministic.is_empty());

    let outcome = |model: &Model<'_>, names: &[String]| {
        let tests: Vec<usize> = names.iter().map(|name| model.number[name]).collect();
        *model.statuses(&tests).last().unwrap()
    };
    for finding in &refinement.findings {
        let test = model.number[&finding.test];
        prop_assert_eq!(finding.outcome.reference, reference[test]);
        prop_assert_ne!(finding.outcome.violated, reference[test]);
        prop_assert_eq!(outcome(&model, &finding.schedule), finding.outcome.violated);
        prop_assert_eq!(outcome(&model, &finding.counter_schedule), finding.outcome.reference);
        prop_assert_eq!(finding.schedule.last(), Some(&finding.test));
        for proof in [&finding.schedule, &finding.counter_schedule] {
            let runs: Vec<&str> =
                proof.chunk_by(|a, b| class_of(a) == class_of(b)).map(|run| class_of(&run[0])).collect();
            prop_assert_eq!(
                runs.iter().collect::<BTreeSet<_>>().len(),
                runs.len(),
                "a class runs twice: {:?}",
                finding
            );
        }
        let alone = model.statuses(&[test])[0];
        prop_assert!(finding.role == Role::Victim || alone == Status::Failed, "{:?}", finding);
        // Whoever is left out of a minimal set is missed. A brittle test whose setters are undone needs these anyway.
        let others = finding.others();
        let after = |others: &[String]| outcome(&model, &[others, std::slice::from_ref(&finding.test)].concat());
        let complete = after(others);
        prop_assert!(!others.is_empty());
        // Setters that are undone: at least one of them, and who undoes it.
        let is_disturbed = finding.role == Role::Victim && alone == Status::Failed;
        prop_assert!(!is_disturbed || others.len() > 1, "{:?}", finding);
        for (position, other) in others.iter().enumerate() {
            if !is_disturbed || !finding.counter_schedule.contains(other) {
                let fewer = [&others[..position], &others[position + 1..]].concat();
                prop_assert_ne!(after(&fewer), complete, "{:?}", finding);
            }
        }
        for alternative in &finding.alternatives {
            prop_assert_eq!(after(alternative), complete, "{:?}", finding);
        }
        for cleaner in &finding.cleaners {
            let mut cleaned = finding.polluters.clone();
            cleaned.extend([cleaner.clone(), finding.test.clone()]);
            prop_assert_eq!(outcome(&model, &cleaned), alone, "{:?}", finding);
        }
    }

    // Whatever shows alone or after one test that is known to write, has been found; provided that detection saw
    // all writes, which it does not where a test writes what is there already.
    let seen = detection.accesses.iter().filter(|access| access.mode == AccessMode::Write).count();
    let variables = |program: &Program| program.writes.iter().map(|write| write.0).collect::<BTreeSet<_>>().len();
    if seen != programs.iter().map(variables).sum::<usize>() {
        return Ok(());
    }
    for (test, &expected) in reference.iter().enumerate() {
        let is_writer = |&other: &usize| {
            other != test && detection.accesses.iter().any(|a| a.unit as usize == other && a.mode == AccessMode::Write)
        };
        let differs = model.statuses(&[test])[0] != expected
            || (0..programs.len()).filter(is_writer).any(|other| model.statuses(&[other, test])[1] != expected);
        let is_found = refinement.findings.iter().any(|finding| finding.test == name(test, per_class));
        prop_assert!(is_found || !differs, "test {} of {:?}: {:?}", test, programs, refinement);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(20_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn findings_are_true_and_minimal_and_none_is_missed(
        programs in prop::collection::vec(program(), 1..9),
        per_class in 1..4usize,
    ) {
        check(&programs, per_class)?;
    }
}

/// The second test alone harms the first, which detection cannot know as it wrote what was there already. It is one of
/// the two that harm the last.
#[test]
fn what_harms_another_test_may_be_more_than_is_needed() {
    let programs = [
        Program { wants: vec![(2, 0)], writes: vec![(2, 1)] },
        Program { wants: vec![], writes: vec![(3, 2), (2, 1)] },
        Program { wants: vec![], writes: vec![(3, 1)] },
        Program { wants: vec![(3, 1)], writes: vec![] },
    ];
    check(&programs, 1).unwrap();
}
