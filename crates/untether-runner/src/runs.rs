//! What a worker's events say about the tests of its plan: class runs, verdicts, and what became of tests that never
//! started.

use untether_model::{Status, Verdict, class_of, is_within};
use untether_wire::WorkerFrame;

use crate::results::status_of;
use crate::schedule::Part;

/// A test, or a class outside of its tests, that has ended.
struct TestEnd {
    id: String,
    verdict: Verdict,
}

/// The class runs of a plan and what is known of their tests.
pub(crate) struct Runs<'t> {
    tests: &'t [String],
    verdicts: Vec<Option<Verdict>>,
    /// The tests of the class run that is under way.
    run: std::ops::Range<usize>,
    open: Option<String>,
    /// What happened to its classes as a whole.
    class_failures: Vec<TestEnd>,
    /// The last test of the run that was started for the first time, and whether an earlier one came after it.
    last_started: Option<usize>,
    is_out_of_order: bool,
    /// Whether the JVM waits for another plan.
    is_plan_over: bool,
    fields: Vec<Vec<String>>,
    told: Vec<String>,
    obstacle: Option<String>,
}

impl<'t> Runs<'t> {
    pub(crate) fn new(tests: &'t [String]) -> Self {
        let mut runs = Runs {
            tests,
            verdicts: vec![None; tests.len()],
            run: 0..0,
            open: None,
            class_failures: Vec::new(),
            last_started: None,
            is_out_of_order: false,
            is_plan_over: false,
            fields: Vec::new(),
            told: Vec::new(),
            obstacle: None,
        };
        runs.next_run();
        runs
    }

    fn next_run(&mut self) {
        let start = self.run.end;
        let class = self.tests.get(start).map(|test| class_of(test));
        let length = self.tests[start..].iter().take_while(|test| Some(class_of(test)) == class).count();
        self.run = start..start + length;
        self.class_failures.clear();
        self.open = None;
        self.last_started = None;
        self.is_out_of_order = false;
    }

    pub(crate) fn add(&mut self, frame: WorkerFrame) {
        match frame {
            WorkerFrame::ClassStarted { lines, .. } => {
                let start = self.run.start;
                self.run = start..(start + lines as usize).min(self.tests.len());
            }
            WorkerFrame::Started { id } => {
                if let Some(position) = self.position(&id).filter(|&position| self.verdicts[position].is_none()) {
                    self.is_out_of_order |= self.last_started.is_some_and(|last| position < last);
                    self.last_started = Some(position);
                }
                self.open = Some(id);
            }
            WorkerFrame::Ended { id, status, nanos, message } => {
                self.open = None;
                self.end(TestEnd { id, verdict: Verdict { status: status_of(status), nanos, message } });
            }
            WorkerFrame::ClassEnded { .. } => {
                self.settle_run();
                self.next_run();
            }
            WorkerFrame::Field { name } => self.told.push(name),
            WorkerFrame::FieldsEnded {} => self.fields.push(std::mem::take(&mut self.told)),
            WorkerFrame::NotRestorable { reason } => self.obstacle = Some(reason),
            WorkerFrame::PlanEnded {} => self.is_plan_over = true,
            WorkerFrame::Done {} => {}
        }
    }

    fn position(&self, id: &str) -> Option<usize> {
        let is_meant =
            |test: &String| id.strip_prefix(test.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('['));
        self.run.clone().find(|&position| is_meant(&self.tests[position]))
    }

    fn end(&mut self, end: TestEnd) {
        let Some(position) = self.position(&end.id) else {
            if end.verdict.status != Status::Passed {
                self.class_failures.push(end);
            }
            return;
        };
        let verdict = end.verdict;
        match &mut self.verdicts[position] {
            Some(known) => {
                known.nanos += verdict.nanos;
                if verdict.status > known.status {
                    known.status = verdict.status;
                    known.message = verdict.message;
                }
            }
            empty => *empty = Some(verdict),
        }
    }

    /// Tests of the run that never started share what happened to their class, or to one around it; what happened
    /// after all of its tests counts for the last.
    fn settle_run(&mut self) {
        for TestEnd { id, verdict: Verdict { status, message, .. } } in std::mem::take(&mut self.class_failures) {
            let is_meant = |position: &usize| is_within(class_of(&self.tests[*position]), class_of(&id));
            let mut positions: Vec<usize> = self.run.clone().filter(is_meant).collect();
            if positions.is_empty() {
                // Runners have names of their own for parts of a class.
                positions = self.run.clone().collect();
            }
            let mut has_open = false;
            for &position in &positions {
                if self.verdicts[position].is_none() {
                    has_open = true;
                    self.verdicts[position] = Some(Verdict { status, nanos: 0, message: message.clone() });
                }
            }
            if !has_open
                && status == Status::Failed
                && let Some(&last) = positions.last()
                && let Some(verdict) = self.verdicts[last].as_mut().filter(|verdict| verdict.status < status)
            {
                *verdict = Verdict { status, nanos: verdict.nanos, message: format!("after the class: {message}") };
            }
        }
        for position in self.run.clone() {
            self.verdicts[position].get_or_insert(Verdict {
                status: Status::Missing,
                nanos: 0,
                message: String::new(),
            });
        }
        if self.is_out_of_order {
            // What its runner made of the schedule proves nothing about the schedule.
            let message = "the class's runner did not keep to the order".to_owned();
            for position in self.run.clone() {
                self.verdicts[position] = Some(Verdict { status: Status::Missing, nanos: 0, message: message.clone() });
            }
        }
    }

    pub(crate) fn into_part(mut self, cause: Option<(Status, String)>) -> Part {
        let (fields, obstacle, is_waiting) =
            (std::mem::take(&mut self.fields), self.obstacle.take(), self.is_plan_over);
        // What comes after an obstacle was not run.
        let reached = self.run.start;
        let mut verdicts = self.finish(cause);
        if obstacle.is_some() {
            verdicts.truncate(reached);
        }
        Part { verdicts, is_out_of_time: false, fields, obstacle, is_waiting }
    }

    /// The verdicts of all tests up to the end of the class run that was under way when the JVM ended.
    fn finish(mut self, cause: Option<(Status, String)>) -> Vec<Verdict> {
        if let Some((status, message)) = cause {
            let culprit = self
                .open
                .as_deref()
                .and_then(|id| self.position(id))
                .or_else(|| self.run.clone().find(|&position| self.verdicts[position].is_none()));
            if let Some(position) = culprit {
                self.verdicts[position] = Some(Verdict { status, nanos: 0, message });
            }
            self.settle_run();
            self.verdicts.truncate(self.run.end.max(1));
        } else {
            while !self.run.is_empty() {
                self.settle_run();
                self.next_run();
            }
        }
        let missing = || Verdict { status: Status::Missing, nanos: 0, message: String::new() };
        self.verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(missing)).collect()
    }
}

#[cfg(test)]
mod tests {
    use untether_wire::EndStatus;

    use super::*;

    /// A line says a frame: `C class lines`, `S id`, `T id status message`, `E class`, `D`.
    fn frame(line: &str) -> WorkerFrame {
        let fields: Vec<&str> = line.split('\t').collect();
        let own = |at: usize| fields.get(at).map_or(String::new(), |&field| field.to_owned());
        match fields[0] {
            "C" => WorkerFrame::ClassStarted { class: own(1), lines: fields[2].parse().unwrap() },
            "S" => WorkerFrame::Started { id: own(1) },
            "T" => {
                let status = match fields[2] {
                    "passed" => EndStatus::Passed,
                    "failed" => EndStatus::Failed,
                    "skipped" => EndStatus::Skipped,
                    "missing" => EndStatus::Missing,
                    other => panic!("{other}"),
                };
                WorkerFrame::Ended { id: own(1), status, nanos: 1, message: own(3) }
            }
            "E" => WorkerFrame::ClassEnded { class: own(1) },
            "D" => WorkerFrame::Done {},
            other => panic!("{other}"),
        }
    }

    fn verdicts(tests: &[&str], lines: &str, cause: Option<Status>) -> Vec<Status> {
        let tests: Vec<String> = tests.iter().map(|&test| test.to_owned()).collect();
        let mut runs = Runs::new(&tests);
        lines.lines().for_each(|line| runs.add(frame(line)));
        runs.finish(cause.map(|status| (status, String::new()))).iter().map(|verdict| verdict.status).collect()
    }

    #[test]
    fn invocations_count_together_and_the_worst_decides() {
        let lines = "C\tA\t2\nS\tA#m[1]\nT\tA#m[1]\tfailed\tx\nS\tA#m[2]\nT\tA#m[2]\tpassed\nE\tA\nD\n";
        assert_eq!(verdicts(&["A#m", "A#n"], lines, None), [Status::Failed, Status::Missing]);
    }

    #[test]
    fn a_class_that_fails_fails_its_tests() {
        let lines = "C\tA\t2\nT\tA\tfailed\tbeforeAll\nE\tA\nC\tB\t1\nS\tB#m\nT\tB#m\tpassed\nE\tB\nD\n";
        assert_eq!(verdicts(&["A#m", "A#n", "B#m"], lines, None), [Status::Failed, Status::Failed, Status::Passed]);
    }

    #[test]
    fn a_jvm_that_dies_costs_its_class_run() {
        let lines = "C\tA\t3\nS\tA#m\nT\tA#m\tpassed\nS\tA#n\n";
        let found = verdicts(&["A#m", "A#n", "A#o", "B#m"], lines, Some(Status::Died));
        assert_eq!(found, [Status::Passed, Status::Died, Status::Missing]);
    }

    #[test]
    fn what_happens_after_a_class_counts_for_its_last_test() {
        let lines = "C\tA\t2\nS\tA#m\nT\tA#m\tpassed\nS\tA#n\nT\tA#n\tpassed\nT\tA\tfailed\tafterAll\nE\tA\nC\tB\t1\nS\tB#m\nT\tB#m\tpassed\nE\tB\nD\n";
        assert_eq!(verdicts(&["A#m", "A#n", "B#m"], lines, None), [Status::Passed, Status::Failed, Status::Passed]);
    }

    #[test]
    fn a_class_that_does_not_keep_to_the_order_says_nothing() {
        let lines =
            "C\tA\t2\nS\tA#n\nT\tA#n\tpassed\nS\tA#m\nT\tA#m\tfailed\nE\tA\nC\tB\t1\nS\tB#m\nT\tB#m\tpassed\nE\tB\nD\n";
        assert_eq!(verdicts(&["A#m", "A#n", "B#m"], lines, None), [Status::Missing, Status::Missing, Status::Passed]);
        let rounds = "C\tA\t2\nS\tA#m[0]\nT\tA#m[0]\tpassed\nS\tA#n[0]\nT\tA#n[0]\tpassed\nS\tA#m[1]\nT\tA#m[1]\tpassed\nE\tA\nD\n";
        assert_eq!(verdicts(&["A#m", "A#n"], rounds, None), [Status::Passed, Status::Passed]);
    }

    #[test]
    fn classes_that_junit_nests_are_one_run() {
        let lines = "C\tA\t2\nT\tA\tfailed\tbeforeAll\nE\tA\nC\tA$C\t1\nS\tA$C#n\nT\tA$C#n\tpassed\nE\tA$C\nD\n";
        let found = verdicts(&["A#m", "A$B#n", "A$C#n"], lines, None);
        assert_eq!(found, [Status::Failed, Status::Failed, Status::Passed]);
    }

    #[test]
    fn what_happens_to_a_nested_class_is_not_its_neighbours_affair() {
        let after =
            "C\tA$B\t2\nS\tA$B#x\nT\tA$B#x\tpassed\nT\tA$B\tfailed\tafterAll\nS\tA#m\nT\tA#m\tpassed\nE\tA$B\nD\n";
        assert_eq!(verdicts(&["A$B#x", "A#m"], after, None), [Status::Failed, Status::Passed]);
        let before = "C\tA$B\t2\nT\tA$B\tfailed\tbeforeAll\nT\tA$C\tskipped\nE\tA$B\nD\n";
        assert_eq!(verdicts(&["A$B#x", "A$C#y"], before, None), [Status::Failed, Status::Skipped]);
    }

    #[test]
    fn a_class_that_cannot_be_loaded_costs_itself_only() {
        let lines = "C\tA\t1\nT\tA\tmissing\tx\nE\tA\nC\tB\t1\nS\tB#m\nT\tB#m\tpassed\nE\tB\nD\n";
        assert_eq!(verdicts(&["A#m", "B#m"], lines, None), [Status::Missing, Status::Passed]);
    }

    #[test]
    fn the_same_class_may_run_twice() {
        let lines = "C\tA\t1\nS\tA#m\nT\tA#m\tpassed\nE\tA\nC\tB\t1\nS\tB#m\nT\tB#m\tpassed\nE\tB\nC\tA\t1\nS\tA#m\nT\tA#m\tfailed\nE\tA\nD\n";
        assert_eq!(verdicts(&["A#m", "B#m", "A#m"], lines, None), [Status::Passed, Status::Passed, Status::Failed]);
    }
}
