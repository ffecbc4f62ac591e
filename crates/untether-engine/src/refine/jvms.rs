//! Runs what refinement proposes in worker JVMs, and remembers in the store what came of it: a refinement that was stopped
//! asks for the same and finds it there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use untether_analysis::refine::{Oracle, Phase, Stopped};
use untether_model::{Cost, Finding, Observation, Schedule, Status, Trial, Tried};
use untether_runner::{Execution, Executor};
use untether_store::Store;

use crate::clock::now_ms;
use crate::refine::event::{Emit, RefineEvent};
use crate::refine::memo::Memo;

/// Executions of trials after which no more pairs are tried by one refinement that has no budget; the next goes on.
const MOST_TRIED: usize = 200_000;

/// The same for the time that they took.
const LONGEST_TRIED: Duration = Duration::from_secs(20 * 60);

/// The longest that orders of the whole suite are run for, of suites that are too large for all pairs.
const LONGEST_ORDERED: Duration = Duration::from_secs(2 * 60);

/// How long the trials that are asked for at once should take, the fewest of them for each JVM, and the most in all.
const AT_ONCE: Duration = Duration::from_secs(30);
const FEWEST_AT_ONCE: usize = 60;
const MOST_AT_ONCE: usize = 4000;

/// Runs schedules in worker JVMs and remembers what they came to.
pub(super) struct Jvms<'j> {
    executor: Executor,
    store: &'j mut Store,
    memo: Memo<'j>,
    jobs: usize,
    /// Whether the user set a limit to all of it.
    has_budget: bool,
    emit: &'j mut Emit<'j>,
    /// Executions of trials, and how long they took.
    tried: usize,
    tried_for: Duration,
    /// When the first order of the whole suite was asked for.
    ordering_since: Option<Instant>,
    spent: Spent,
}

/// What it took, and what was in the way.
#[derive(Debug, Default)]
pub(super) struct Spent {
    pub(super) cost: Cost,
    /// Schedules that an earlier refinement had run.
    pub(super) known: usize,
    /// Why JVMs of this suite cannot be put back.
    pub(super) obstacle: Option<String>,
    /// Why tests could not be run as asked, and which.
    pub(super) unrunnable: BTreeMap<String, BTreeSet<String>>,
}

impl<'j> Jvms<'j> {
    pub(super) fn new(
        executor: Executor,
        store: &'j mut Store,
        memo: Memo<'j>,
        jobs: usize,
        has_budget: bool,
        emit: &'j mut Emit<'j>,
    ) -> Self {
        Jvms {
            executor,
            store,
            memo,
            jobs,
            has_budget,
            emit,
            tried: 0,
            tried_for: Duration::ZERO,
            ordering_since: None,
            spent: Spent::default(),
        }
    }

    pub(super) fn into_spent(self) -> Spent {
        self.spent
    }

    /// Tests that could not be run say why.
    fn note_unrunnable(&mut self, schedule: &Schedule, observation: &Observation) {
        for (test, verdict) in schedule.tests.iter().zip(&observation.verdicts) {
            if verdict.status == Status::Missing && !verdict.message.is_empty() {
                self.spent.unrunnable.entry(verdict.message.clone()).or_default().insert(test.clone());
            }
        }
    }
}

impl Oracle for Jvms<'_> {
    fn run(&mut self, schedules: &[Schedule]) -> Result<Vec<Observation>, Stopped> {
        let failed = |message: String| Stopped::Failed(message);
        let mut found: Vec<Option<Observation>> = vec![None; schedules.len()];
        let mut keys = Vec::with_capacity(schedules.len());
        for (number, schedule) in schedules.iter().enumerate() {
            let (key, occurrence) = self.memo.schedule(schedule);
            found[number] = self.store.observation(&key, occurrence).map_err(|e| failed(e.to_string()))?;
            keys.push((key, occurrence));
        }
        let known = found.iter().flatten().count();
        self.spent.known += known;
        (self.emit)(RefineEvent::Known { schedules: known });
        let todo: Vec<usize> = (0..schedules.len()).filter(|&number| found[number].is_none()).collect();
        let list: Vec<&Schedule> = todo.iter().map(|&number| &schedules[number]).collect();
        let mut unstored = None;
        let ended = self.executor.execute_all(&list, self.jobs, |at, observation| {
            let number = todo[at];
            let (key, occurrence) = &keys[number];
            let stored = self.store.add_observation(key, *occurrence, &observation, now_ms());
            unstored = unstored.take().or(stored.err());
            (self.emit)(RefineEvent::Ran { tests: schedules[number].tests.len() });
            self.spent.cost.executions += schedules[number].tests.len();
            self.spent.cost.jvm_starts += observation.jvms;
            found[number] = Some(observation);
            unstored.is_none()
        });
        match (ended, unstored) {
            (_, Some(error)) => Err(failed(error.to_string())),
            (Err(error), None) => Err(failed(error.to_string())),
            (Ok(Execution::OutOfTime), None) => Err(Stopped::OutOfTime),
            (Ok(Execution::Ended(())), None) => {
                let all: Option<Vec<Observation>> = found.into_iter().collect();
                let all = all.ok_or_else(|| failed("a schedule was not run".to_owned()))?;
                for (schedule, observation) in schedules.iter().zip(&all) {
                    self.note_unrunnable(schedule, observation);
                }
                Ok(all)
            }
        }
    }

    fn try_all(&mut self, trials: &[Trial]) -> Result<Vec<Option<Tried>>, Stopped> {
        let failed = |message: String| Stopped::Failed(message);
        let mut found: Vec<Option<Tried>> = vec![None; trials.len()];
        // Each is remembered by itself: which are asked for together depends on how long they take.
        let mut todo: Vec<(String, usize)> = Vec::new();
        for (number, trial) in trials.iter().enumerate() {
            let key = self.memo.trial(trial);
            found[number] = self.store.trial(&key).map_err(|e| failed(e.to_string()))?;
            if found[number].is_none() {
                todo.push((key, number));
            }
        }
        let list: Vec<Trial> = todo.iter().map(|(_, number)| trials[*number].clone()).collect();
        if list.is_empty() {
            return Ok(found);
        }
        let started = Instant::now();
        let tried = match self.executor.try_all(&list, self.jobs) {
            Ok(Execution::Ended(tried)) => tried,
            Ok(Execution::OutOfTime) => return Err(Stopped::OutOfTime),
            Err(error) => return Err(failed(error.to_string())),
        };
        (self.emit)(RefineEvent::Ran { tests: tried.executions });
        self.tried += tried.executions;
        self.tried_for += started.elapsed();
        self.spent.cost.executions += tried.executions;
        self.spent.cost.jvm_starts += tried.jvms;
        if let Some(obstacle) = tried.obstacle {
            self.spent.obstacle.get_or_insert(obstacle);
        }
        let mut rows: Vec<(String, Tried)> = Vec::new();
        for ((key, number), tried) in todo.into_iter().zip(tried.results) {
            found[number].clone_from(&tried);
            // How long a test may take there is no part of the key.
            let is_lasting =
                |tried: &Tried| !matches!(tried, Tried::Ended(verdict) if verdict.status == Status::TimedOut);
            rows.extend(tried.filter(is_lasting).map(|tried| (key, tried)));
        }
        self.store.add_trials(&rows, now_ms()).map_err(|e| failed(e.to_string()))?;
        Ok(found)
    }

    fn has_room(&self) -> bool {
        self.has_budget || self.tried < MOST_TRIED && self.tried_for < LONGEST_TRIED
    }

    fn has_room_for_orders(&mut self) -> bool {
        let started = *self.ordering_since.get_or_insert_with(Instant::now);
        self.has_budget || started.elapsed() < LONGEST_ORDERED
    }

    fn trials_at_once(&self) -> usize {
        let fewest = FEWEST_AT_ONCE * self.jobs;
        if self.tried == 0 {
            return fewest;
        }
        let in_time = self.tried as f64 * AT_ONCE.as_secs_f64() / self.tried_for.as_secs_f64().max(0.001);
        (in_time as usize).clamp(fewest, MOST_AT_ONCE.max(fewest))
    }

    fn jvms_spent(&self) -> usize {
        if self.has_budget { 0 } else { self.spent.cost.jvm_starts }
    }

    fn warm_up(&mut self, tests: Vec<String>) {
        self.executor.warm_up_with(tests);
    }

    fn progress(&mut self, phase: Phase) {
        (self.emit)(RefineEvent::Phase(phase));
    }

    fn found(&mut self, finding: &Finding) {
        (self.emit)(RefineEvent::Found(finding));
    }
}
