//! Refinement against a model of test suites that can be searched exhaustively.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use untether_analysis::refine::{Evidence, Oracle, Phase, Request, Stopped, Strategy as Search, refine};
use untether_model::{
    Access, AccessMode, Detection, Observation, Resource, Role, Schedule, Status, Unit, UnitKind, Verdict,
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

fn name(number: usize) -> String {
    format!("suite.C{number}Test#test")
}

/// What detection would say of the original order.
fn watched(programs: &[Program]) -> Detection {
    let mut detection = Detection { is_complete: true, ..Detection::default() };
    for variable in 0..VARIABLES {
        detection.resources.push(Resource { name: format!("V.v{variable}"), root: format!("suite.V.v{variable}") });
    }
    let mut state = State::default();
    let mut last: [Option<usize>; VARIABLES] = [None; VARIABLES];
    let mut add = |resource, unit, mode, source| {
        let position = detection.accesses.len();
        detection.accesses.push(Access {
            resource,
            unit,
            position,
            mode,
            source,
            stack: None,
            source_stack: None,
            labels: Vec::new(),
        });
    };
    for (number, program) in programs.iter().enumerate() {
        detection.units.push(Unit {
            kind: UnitKind::Test,
            name: name(number),
            display_name: String::new(),
            outcome: None,
        });
        for &(variable, _) in &program.wants {
            add(variable, number, AccessMode::Read, last[variable]);
        }
        let before = state;
        program.run(&mut state);
        for variable in 0..VARIABLES {
            if state[variable] != before[variable] {
                add(variable, number, AccessMode::Write, None);
                last[variable] = Some(number);
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn findings_are_true_and_minimal_and_none_is_missed(programs in prop::collection::vec(program(), 1..9)) {
        let detection = watched(&programs);
        let evidence = Evidence::new(&detection);
        let number = (0..programs.len()).map(|number| (name(number), number)).collect();
        let mut model = Model { programs: &programs, number };
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
            let alone = model.statuses(&[test])[0];
            match finding.role {
                Role::Brittle => {
                    prop_assert_eq!(alone, Status::Failed);
                    prop_assert!(!finding.setters.is_empty());
                }
                Role::Victim if alone == Status::Passed => {
                    // No part of the polluters is enough.
                    for left_out in 0..finding.polluters.len() {
                        let mut fewer = finding.polluters.clone();
                        fewer.remove(left_out);
                        fewer.push(finding.test.clone());
                        prop_assert_eq!(outcome(&model, &fewer), Status::Passed, "{:?}", finding);
                    }
                }
                // A brittle test whose setters are undone.
                Role::Victim => prop_assert!(finding.polluters.len() > 1, "{:?}", finding),
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
                other != test && detection.accesses.iter().any(|a| a.unit == other && a.mode == AccessMode::Write)
            };
            let differs = model.statuses(&[test])[0] != expected
                || (0..programs.len())
                    .filter(is_writer)
                    .any(|other| model.statuses(&[other, test])[1] != expected);
            let is_found = refinement.findings.iter().any(|finding| finding.test == name(test));
            prop_assert!(is_found || !differs, "test {} of {:?}: {:?}", test, programs, refinement);
        }
    }
}
