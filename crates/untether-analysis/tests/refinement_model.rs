//! Refinement against a model of test suites that can be searched exhaustively.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use untether_analysis::refine::{Evidence, Oracle, Phase, Request, Stopped, Strategy as Search, refine};
use untether_model::{
    Access, AccessMode, Certainty, Detection, Finding, Label, Labels, Observation, PutBack, Resource, Role, Schedule,
    Share, Status, Trial, Tried, Unit, UnitKind, Verdict, World, class_of,
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
        let field = format!("suite.V.v{variable}");
        detection.resources.push(Resource {
            name: format!("V.v{variable}"),
            root: field.clone(),
            field,
            ..Resource::default()
        });
    }
    let mut state = State::default();
    let mut last: [Option<u32>; VARIABLES] = [None; VARIABLES];
    let mut add = |resource: usize, unit, mode, source, labels: Labels| {
        let position = detection.accesses.len() as u32;
        detection.accesses.push(Access {
            resource: resource as u32,
            unit,
            position,
            mode,
            source,
            stack: None,
            source_stack: None,
            labels,
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
            add(variable, unit, AccessMode::Read, last[variable], Labels::default());
        }
        let before = state;
        program.run(&mut state);
        for variable in 0..VARIABLES {
            let is_written = program.writes.iter().any(|write| write.0 == variable);
            if state[variable] != before[variable] {
                add(variable, unit, AccessMode::Write, None, Labels::default());
                last[variable] = Some(unit);
            } else if is_written && last[variable].is_some() {
                add(variable, unit, AccessMode::Write, None, [Label::Repeated].into_iter().collect());
            }
        }
    }
    detection
}

struct Model<'m> {
    programs: &'m [Program],
    /// Whether JVMs of the suite can be put back.
    is_quick: bool,
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

    fn try_all(&mut self, trials: &[Trial]) -> Result<Vec<Option<Tried>>, Stopped> {
        Ok(trials
            .iter()
            .map(|trial| {
                let mut state = State::default();
                for test in &trial.prelude {
                    self.programs[self.number[test]].run(&mut state);
                }
                let saved = state;
                for test in &trial.before {
                    self.programs[self.number[test]].run(&mut state);
                }
                let field = |variable: usize| format!("suite.V.v{variable}");
                if trial.put_back == PutBack::Ask {
                    let changed =
                        (0..VARIABLES).filter(|&variable| state[variable] != saved[variable]).map(field).collect();
                    return Some(Tried::Changed(changed));
                }
                for (variable, value) in state.iter_mut().enumerate() {
                    let is_put_back = match &trial.put_back {
                        PutBack::Nothing | PutBack::Ask => false,
                        PutBack::Only(fields) => fields.contains(&field(variable)),
                        PutBack::AllBut(fields) => !fields.contains(&field(variable)),
                    };
                    if is_put_back {
                        *value = saved[variable];
                    }
                }
                let status = self.programs[self.number[&trial.last]].run(&mut state);
                Some(Tried::Ended(Verdict { status, nanos: 1, message: String::new() }))
            })
            .zip(trials)
            .map(|(tried, trial)| tried.filter(|_| self.is_quick || trial.world == World::Cold))
            .collect())
    }

    fn trials_at_once(&self) -> usize {
        // Few, so that searches are made of several parts.
        7
    }

    fn jvms_spent(&self) -> usize {
        0
    }

    fn has_room(&self) -> bool {
        true
    }

    fn has_room_for_orders(&mut self) -> bool {
        true
    }

    fn warm_up(&mut self, _tests: Vec<String>) {}

    fn progress(&mut self, _phase: Phase) {}

    fn found(&mut self, _finding: &Finding) {}
}

/// Refines the suite and compares what is found with what a search through the model says.
fn check(programs: &[Program], per_class: usize, is_quick: bool) -> Result<(), TestCaseError> {
    let detection = watched(programs, per_class);
    let evidence = Evidence::new(&detection);
    let number = (0..programs.len()).map(|number| (name(number, per_class), number)).collect();
    let mut model = Model { programs, is_quick, number };
    let reference = model.statuses(&(0..programs.len()).collect::<Vec<_>>());
    let request = Request { strategy: Search::Guided, reference_runs: 2, targets: None, scope: String::new() };
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
        prop_assert_eq!(finding.outcome.violated, Status::Failed);
        prop_assert_eq!(finding.outcome.counter, Status::Passed);
        prop_assert_eq!(outcome(&model, &finding.schedule), finding.outcome.violated);
        prop_assert_eq!(outcome(&model, &finding.counter_schedule), finding.outcome.counter);
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
        // With all other variables put back, or only these, the cause alone decides.
        if finding.cause.certainty == Certainty::Proven {
            // What a disturber did goes back to what the setters left.
            let setters = if is_disturbed { finding.counter_schedule.len() - 1 } else { 0 };
            let mut state = State::default();
            let mut saved = state;
            for (position, other) in others.iter().enumerate() {
                programs[model.number[other]].run(&mut state);
                saved = if position < setters { state } else { saved };
            }
            for (variable, value) in state.iter_mut().enumerate() {
                let is_cause = finding.cause.fields.contains(&format!("suite.V.v{variable}"));
                if is_cause == (finding.role == Role::Victim) {
                    *value = saved[variable];
                }
            }
            prop_assert_eq!(programs[test].run(&mut state), Status::Passed, "{:?}", finding);
        }
        prop_assert!(is_disturbed || finding.cause.certainty == Certainty::Proven, "{:?}", finding);
        for cleaner in &finding.cleaners {
            let mut cleaned = finding.polluters.clone();
            cleaned.extend([cleaner.clone(), finding.test.clone()]);
            prop_assert_eq!(outcome(&model, &cleaned), alone, "{:?}", finding);
        }
    }

    // Whatever shows in the original order, or after one other test, has been found.
    for (test, &expected) in reference.iter().enumerate() {
        let alone = model.statuses(&[test])[0];
        // Where JVMs cannot be put back, only candidates are tried.
        let is_candidate = |other: usize| {
            let mut writes =
                detection.accesses.iter().filter(|a| a.unit as usize == other && a.mode == AccessMode::Write);
            writes.any(|write| programs[test].wants.iter().any(|want| want.0 as u32 == write.resource))
        };
        let mut others = (0..programs.len()).filter(|&other| other != test && (is_quick || is_candidate(other)));
        let differs = alone != expected || others.any(|other| model.statuses(&[other, test])[1] != alone);
        let is_found = refinement.findings.iter().any(|finding| finding.test == name(test, per_class));
        prop_assert!(is_found || !differs, "test {} of {:?}: {:?}", test, programs, refinement);
    }
    let pairs = programs.len() * (programs.len() - 1);
    let all = Share { tried: pairs, all: pairs };
    prop_assert!(!is_quick || refinement.coverage.pairs == all);
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
        is_quick in any::<bool>(),
    ) {
        check(&programs, per_class, is_quick)?;
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
    for is_quick in [true, false] {
        check(&programs, 1, is_quick).unwrap();
    }
}

/// A suite that is too large for all pairs of its tests: what detection could not know, and what
/// classes in between undo in all orders that are tried anyway.
#[test]
fn in_a_large_suite_each_class_runs_directly_behind_each_other_one() {
    const CLASSES: usize = 21;
    const PER_CLASS: usize = 11;
    let mut programs = vec![Program { wants: vec![], writes: vec![] }; CLASSES * PER_CLASS];
    let test = |class: usize, number: usize| class * PER_CLASS + number;
    // One class does it, in the middle of its tests; all others undo it.
    for class in (0..CLASSES).filter(|&class| class != 4 && class != 9) {
        programs[test(class, 0)].writes = vec![(0, 0), (1, 0)];
    }
    programs[test(4, 3)].writes = vec![(0, 1)];
    programs[test(4, 7)].writes = vec![(1, 1)];
    let mut detection = watched(&programs, PER_CLASS);
    // Nothing of it was seen.
    detection.accesses.clear();
    programs[test(9, 6)].wants = vec![(0, 0), (1, 0)];
    let evidence = Evidence::new(&detection);
    let number = (0..programs.len()).map(|number| (name(number, PER_CLASS), number)).collect();
    let mut model = Model { programs: &programs, is_quick: true, number };
    let request = Request { strategy: Search::Guided, reference_runs: 2, targets: None, scope: String::new() };
    let refinement = refine(&evidence, &request, &mut model);
    let class_pairs = CLASSES * (CLASSES - 1);
    assert_eq!(refinement.coverage.class_pairs, Share { tried: class_pairs, all: class_pairs });
    let found: Vec<(&str, &[String])> =
        refinement.findings.iter().map(|finding| (finding.test.as_str(), finding.others())).collect();
    // Each of the two harms it by itself, through a variable of its own.
    let victim = name(test(9, 6), PER_CLASS);
    let polluters: BTreeSet<&[String]> = found.iter().map(|(_, others)| *others).collect();
    let expected = [[name(test(4, 3), PER_CLASS)], [name(test(4, 7), PER_CLASS)]];
    assert_eq!(polluters, expected.iter().map(|list| list.as_slice()).collect(), "{found:?}");
    assert!(found.iter().all(|(test, _)| *test == victim), "{found:?}");
}
