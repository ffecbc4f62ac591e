//! Many small schedules in few JVMs: what tests change is put back in between, so that each schedule runs as if it
//! were the first. The agent does that (`UntetherUndo.java`); a JVM that cannot be put back is replaced.
//!
//! What comes of it is a hint, quickly had. Proof comes from [`Executor::execute`], in fresh JVMs.

use std::collections::HashSet;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use untether_model::{PutBack, Status, Trial, Tried, World, class_of, outermost};

use crate::error::RunnerError;
use crate::schedule::{Execution, Executor, LiveJvm, Part};
use crate::watch::Watching;

/// JVMs after which it shows whether they can be put back, and the fewest trials that each must then have run.
const JVMS_TO_JUDGE: usize = 6;
const FEWEST_PER_JVM: usize = 3;

/// What came of trials, in their order; none of those that could not be run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trials {
    pub results: Vec<Option<Tried>>,
    pub executions: usize,
    pub jvms: usize,
    /// Why JVMs of this suite cannot be put back, where that was so too often.
    pub obstacle: Option<String>,
}

/// A plan for one JVM and what its lines are for.
#[derive(Debug, Default)]
struct Plan {
    lines: Vec<String>,
    /// The tests among the lines.
    tests: Vec<String>,
    /// The trials whose last test a test of the plan is.
    trials: Vec<Option<usize>>,
    /// The trials that ask for fields, in the order of the answers.
    questions: Vec<usize>,
}

impl Plan {
    fn command(&mut self, text: &str) {
        self.lines.push(format!("!{text}"));
    }

    fn test(&mut self, name: &str, trial: Option<usize>) {
        self.lines.push(name.to_owned());
        self.tests.push(name.to_owned());
        self.trials.push(trial);
    }

    /// The plan for trials, each with its number.
    fn new(trials: &[(usize, &Trial)]) -> Self {
        let mut plan = Plan::default();
        let mut rest = trials;
        while let Some((_, first)) = rest.first() {
            let is_plain = |trial: &Trial| trial.put_back == PutBack::Nothing && trial.prelude.is_empty();
            let alike = rest.iter().take_while(|(_, trial)| is_plain(trial) && trial.before == first.before).count();
            let (group, after) = rest.split_at(alike.max(1));
            if alike == 0 {
                plan.add_special(group[0].0, group[0].1);
            } else {
                plan.add_group(&first.before, group);
            }
            rest = after;
        }
        plan
    }

    /// The same tests before each: they run once, and the last ones run one by one as if directly after them.
    fn add_group(&mut self, before: &[String], group: &[(usize, &Trial)]) {
        let class = |test: &str| outermost(class_of(test)).to_owned();
        let run = before.last().map(|test| class(test));
        let (within, others): (Vec<_>, Vec<_>) = group.iter().partition(|(_, trial)| Some(class(&trial.last)) == run);
        if !within.is_empty() {
            self.command("again 1");
            for (_, trial) in &within {
                self.command(&format!("at {}\tagain 2", trial.last));
            }
            before.iter().for_each(|test| self.test(test, None));
            within.iter().for_each(|(number, trial)| self.test(&trial.last, Some(*number)));
        }
        if others.is_empty() {
            return;
        }
        self.command("again 1");
        before.iter().for_each(|test| self.test(test, None));
        for chunk in others.chunk_by(|(_, a), (_, b)| class(&a.last) == class(&b.last)) {
            self.command("again 2");
            if chunk.len() > 1 {
                for (_, trial) in chunk {
                    self.command(&format!("at {}\tagain 3", trial.last));
                }
            }
            chunk.iter().for_each(|(number, trial)| self.test(&trial.last, Some(*number)));
        }
    }

    /// Something is put back, or asked for, between the tests.
    fn add_special(&mut self, number: usize, trial: &Trial) {
        let (action, is_question) = match &trial.put_back {
            PutBack::Only(fields) => (format!("revert {}", fields.join(FIELDS)), false),
            PutBack::AllBut(fields) => (format!("keep {}", fields.join(FIELDS)), false),
            PutBack::Nothing => (String::new(), false),
            PutBack::Ask => ("fields".to_owned(), true),
        };
        let class = |test: &str| outermost(class_of(test)).to_owned();
        let last_class = class(&trial.last);
        let is_within = trial.before.last().is_some_and(|test| class(test) == last_class);
        self.command("again 1");
        let first = trial.before.first().map_or("", String::as_str);
        let is_in_prelude = trial.prelude.last().is_some_and(|test| class(test) == class(first));
        let mut saves = 1;
        if !trial.prelude.is_empty() && !is_in_prelude {
            trial.prelude.iter().for_each(|test| self.test(test, None));
            saves += 1;
            self.command(&format!("again {saves}"));
        }
        // What the fixtures of a common class do is not put back: it belongs to the last test as well.
        let has_one_class = trial.before.iter().all(|test| class(test) == last_class);
        if is_in_prelude || is_within && has_one_class {
            saves += 1;
            self.command(&format!("at {first}\tagain {saves}"));
        }
        if is_within && !action.is_empty() {
            self.command(&format!("at {}\t{action}", trial.last));
        }
        if is_in_prelude {
            trial.prelude.iter().for_each(|test| self.test(test, None));
        }
        trial.before.iter().for_each(|test| self.test(test, None));
        if !is_within && !action.is_empty() {
            self.command(&action);
        }
        if !is_question || is_within {
            self.test(&trial.last, (!is_question).then_some(number));
        }
        if is_question {
            self.command("told");
            self.questions.push(number);
        }
    }
}

/// Stands between names of fields, which may have spaces in them.
const FIELDS: &str = ";";

/// Fewer trials than this are not worth another JVM.
const FEWEST_PER_SHARE: usize = 60;

/// What one JVM made of a plan.
struct Played {
    results: Vec<(usize, Tried)>,
    /// How many of the plan's trials are decided.
    decided: usize,
    executions: usize,
    obstacle: Option<String>,
}

fn nothing(reason: String) -> Execution<Played> {
    Execution::Ended(Played { results: Vec::new(), decided: 0, executions: 0, obstacle: Some(reason) })
}

impl Executor {
    /// Runs the trials, in so many JVMs at a time. Trials with the same tests first should be neighbours.
    pub fn try_all(&self, trials: &[Trial], jobs: usize) -> Result<Execution<Trials>, RunnerError> {
        let (warm, cold): (Vec<(usize, &Trial)>, Vec<_>) =
            trials.iter().enumerate().partition(|(_, trial)| trial.world == World::Warm);
        let shares = |list: &[(usize, &Trial)], fewest: usize| list.len().div_ceil(jobs.max(1)).max(fewest);
        let warm_shares = warm.chunks(shares(&warm, FEWEST_PER_SHARE));
        let shares: Vec<&[(usize, &Trial)]> = warm_shares.chain(cold.chunks(shares(&cold, 1))).collect();
        let jvms = AtomicUsize::new(0);
        let (sender, receiver) = channel();
        let mut ended = Trials { results: vec![None; trials.len()], ..Trials::default() };
        let mut result = Ok(());
        let mut is_out_of_time = false;
        thread::scope(|scope| {
            for share in shares {
                let (sender, jvms) = (sender.clone(), &jvms);
                scope.spawn(move || self.play_all(share, jvms, |played| sender.send(played).is_ok()));
            }
            drop(sender);
            while let Ok(played) = receiver.recv() {
                match played {
                    Ok(Execution::Ended(played)) => {
                        ended.executions += played.executions;
                        ended.obstacle = ended.obstacle.take().or(played.obstacle);
                        for (number, tried) in played.results {
                            ended.results[number] = Some(tried);
                        }
                    }
                    Ok(Execution::OutOfTime) => is_out_of_time = true,
                    Err(error) => result = Err(error),
                }
            }
        });
        result?;
        if is_out_of_time {
            return Ok(Execution::OutOfTime);
        }
        ended.jvms = jvms.load(Ordering::Relaxed);
        // An obstacle that only came up now and then cost a JVM, and nothing else.
        if ended.results.iter().all(Option::is_some) {
            ended.obstacle = None;
        }
        Ok(Execution::Ended(ended))
    }

    /// One share, in one JVM after the other as they wear out.
    fn play_all(
        &self,
        mut share: &[(usize, &Trial)],
        jvms: &AtomicUsize,
        each: impl Fn(Result<Execution<Played>, RunnerError>) -> bool,
    ) {
        let (mut own_jvms, mut done) = (0, 0);
        while let Some((_, first)) = share.first() {
            let is_cold = first.world == World::Cold;
            own_jvms += 1;
            let played = if is_cold { self.play_cold(&share[..1], jvms) } else { self.play(share, jvms) };
            let Ok(Execution::Ended(ended)) = &played else {
                each(played);
                return;
            };
            let decided = ended.decided.max(1).min(share.len());
            done += decided;
            share = &share[decided..];
            let gives_up = !is_cold && own_jvms >= JVMS_TO_JUDGE && done < own_jvms * FEWEST_PER_JVM;
            if !each(played) || gives_up {
                return;
            }
        }
    }

    /// In a JVM that waits for it, or in a new one.
    fn play(&self, trials: &[(usize, &Trial)], jvms: &AtomicUsize) -> Result<Execution<Played>, RunnerError> {
        let plan = Plan::new(trials);
        let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let started = match waiting {
            Some(jvm) => Ok(Ok(jvm)),
            None => {
                jvms.fetch_add(1, Ordering::Relaxed);
                self.start_watched()
            }
        };
        let jvm = match started {
            Ok(Ok(jvm)) => jvm,
            Ok(Err(_)) if self.limits.are_over() => return Ok(Execution::OutOfTime),
            Ok(Err(obstacle)) => return Ok(nothing(obstacle)),
            Err(RunnerError::WorkerFailed { ending, .. }) => return Ok(nothing(format!("it did not start: {ending}"))),
            Err(error) => return Err(error),
        };
        self.play_in(jvm, trials, &plan)
    }

    /// One trial in a JVM of its own.
    fn play_cold(&self, trial: &[(usize, &Trial)], jvms: &AtomicUsize) -> Result<Execution<Played>, RunnerError> {
        let mut plan = Plan::new(trial);
        plan.lines.insert(0, "!cold".to_owned());
        jvms.fetch_add(1, Ordering::Relaxed);
        match self.play_in(self.start_unused(Watching::ToPutBack)?, trial, &plan) {
            Err(RunnerError::WorkerFailed { ending, .. }) => Ok(nothing(format!("it did not start: {ending}"))),
            played => played,
        }
    }

    fn play_in(
        &self,
        mut jvm: LiveJvm,
        trials: &[(usize, &Trial)],
        plan: &Plan,
    ) -> Result<Execution<Played>, RunnerError> {
        let is_cold = trials.iter().any(|(_, trial)| trial.world == World::Cold);
        jvm.give(&self.context.plan(&plan.lines));
        let per_test = if is_cold { self.limits.per_test } else { self.patience() };
        let part = self.follow(&plan.tests, &mut jvm, per_test)?;
        let Part { mut verdicts, is_out_of_time, fields, obstacle, is_waiting } = part;
        if is_waiting && !is_cold {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(jvm);
        }
        if is_out_of_time {
            return Ok(Execution::OutOfTime);
        }
        let executions = verdicts.len();
        // What hangs after something was put back may do so for that reason: it was not tried.
        if let Some(at) = verdicts.iter().position(|verdict| verdict.status == Status::TimedOut).filter(|_| !is_cold) {
            verdicts.truncate(at);
        }
        let mut results: Vec<(usize, Tried)> = Vec::new();
        for (verdict, trial) in verdicts.into_iter().zip(&plan.trials) {
            if let Some(trial) = trial {
                results.push((*trial, Tried::Ended(verdict)));
            }
        }
        results.extend(plan.questions.iter().zip(fields).map(|(&trial, fields)| (trial, Tried::Changed(fields))));
        let known: HashSet<usize> = results.iter().map(|(trial, _)| *trial).collect();
        let decided = trials.iter().take_while(|(number, _)| known.contains(number)).count();
        // A later trial of a group that was cut short is run again with its group.
        let decided_ones: HashSet<usize> = trials[..decided].iter().map(|(number, _)| *number).collect();
        results.retain(|(trial, _)| decided_ones.contains(trial));
        Ok(Execution::Ended(Played { results, decided, executions, obstacle }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(before: &[&str], put_back: PutBack, last: &str) -> Trial {
        let before = before.iter().map(|&test| test.to_owned()).collect();
        Trial { prelude: Vec::new(), before, put_back, last: last.to_owned(), world: World::Warm }
    }

    fn lines(trials: &[Trial]) -> Vec<String> {
        Plan::new(&trials.iter().enumerate().collect::<Vec<_>>()).lines
    }

    #[test]
    fn what_comes_first_runs_once_for_all_that_follows_it() {
        let trials: Vec<Trial> = ["B#r", "B#s", "C#t"].map(|last| trial(&["A#w"], PutBack::Nothing, last)).into();
        assert_eq!(
            lines(&trials),
            ["!again 1", "A#w", "!again 2", "!at B#r\tagain 3", "!at B#s\tagain 3", "B#r", "B#s", "!again 2", "C#t"]
        );
    }

    #[test]
    fn tests_of_one_class_stay_in_one_run_of_it() {
        let trials: Vec<Trial> = ["A#r", "A#s"].map(|last| trial(&["A#w"], PutBack::Nothing, last)).into();
        assert_eq!(lines(&trials), ["!again 1", "!at A#r\tagain 2", "!at A#s\tagain 2", "A#w", "A#r", "A#s"]);
        let reverted = trial(&["A#w"], PutBack::Only(vec!["X.y".into()]), "A#r");
        assert_eq!(lines(&[reverted]), ["!again 1", "!at A#w\tagain 2", "!at A#r\trevert X.y", "A#w", "A#r"]);
    }

    #[test]
    fn fields_are_put_back_or_asked_for_between_class_runs() {
        let trials =
            [trial(&["A#w"], PutBack::AllBut(vec!["X.y".into()]), "B#r"), trial(&["A#w"], PutBack::Ask, "B#r")];
        assert_eq!(lines(&trials), ["!again 1", "A#w", "!keep X.y", "B#r", "!again 1", "A#w", "!fields", "!told"]);
        // Within a class, what its fixtures did is there when the first test starts.
        let within = trial(&["A#w"], PutBack::Ask, "A#r");
        assert_eq!(lines(&[within]), ["!again 1", "!at A#w\tagain 2", "!at A#r\tfields", "A#w", "A#r", "!told"]);
    }

    #[test]
    fn what_a_prelude_leaves_is_not_put_back() {
        let put_back = || PutBack::Only(vec!["X.y".into()]);
        let prelude = |test: &str| vec![test.to_owned()];
        let apart = Trial { prelude: prelude("B#r"), ..trial(&["A#w"], put_back(), "B#r") };
        assert_eq!(lines(&[apart]), ["!again 1", "B#r", "!again 2", "A#w", "!revert X.y", "B#r"]);
        let within = Trial { prelude: prelude("A#s"), ..trial(&["A#w"], put_back(), "A#r") };
        assert_eq!(lines(&[within]), ["!again 1", "!at A#w\tagain 2", "!at A#r\trevert X.y", "A#s", "A#w", "A#r"]);
        let before = Trial { prelude: prelude("B#s"), ..trial(&["A#w"], put_back(), "A#r") };
        assert_eq!(
            lines(&[before]),
            ["!again 1", "B#s", "!again 2", "!at A#w\tagain 3", "!at A#r\trevert X.y", "A#w", "A#r"]
        );
    }
}
