//! Runs what refinement proposes in worker JVMs, and remembers in the store what came of it: a refinement that was stopped
//! asks for the same and finds it there.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{SystemTime, UNIX_EPOCH};

use untether_analysis::refine::{Fingerprinted, Oracle, Phase, Stopped};
use untether_model::{
    ContentHash, ContentHasher, Cost, Finding, Observation, PutBack, Schedule, Status, Trial, Tried, World, class_of,
};
use untether_runner::{Execution, Executor};
use untether_store::Store;

use crate::progress::RefineDisplay;

pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

pub(crate) fn key(feed: impl FnOnce(&mut ContentHasher)) -> ContentHash {
    let mut hasher = ContentHasher::default();
    feed(&mut hasher);
    hasher.finish()
}

fn feed_trial(hasher: &mut ContentHasher, trial: &Trial) {
    let (kind, fields): (u64, &[String]) = match &trial.put_back {
        PutBack::Nothing => (0, &[]),
        PutBack::Only(fields) => (1, fields),
        PutBack::AllBut(fields) => (2, fields),
        PutBack::Ask => (3, &[]),
    };
    hasher.texts(&trial.prelude);
    hasher.texts(&trial.before);
    hasher.number(kind);
    hasher.texts(fields);
    hasher.text(&trial.last);
    hasher.number(u64::from(trial.world == World::Cold));
}

/// Executions of trials after which no more pairs are tried by one refinement that has no budget; the next goes on.
const MOST_TRIED: usize = 200_000;

/// Runs schedules in worker JVMs and remembers what they came to.
pub(crate) struct Jvms<'j> {
    pub(crate) executor: Executor,
    pub(crate) store: &'j mut Store,
    pub(crate) jobs: usize,
    pub(crate) launch_key: ContentHash,
    pub(crate) fingerprinted: &'j Fingerprinted<'j, 'j>,
    /// How often each schedule has been asked for in this refinement.
    pub(crate) occurrences: HashMap<String, usize>,
    /// Why JVMs of this suite cannot be put back.
    pub(crate) obstacle: Option<String>,
    /// Executions of trials, and whether the user set a limit to them.
    pub(crate) tried: usize,
    pub(crate) has_budget: bool,
    pub(crate) cost: Cost,
    /// Why tests could not be run as asked, and which.
    pub(crate) unrunnable: BTreeMap<String, BTreeSet<String>>,
    pub(crate) display: &'j mut RefineDisplay,
}

impl Jvms<'_> {
    /// Trials that have the same tests first, with everything that decides what they come to.
    fn trial_key(&self, group: &[Trial]) -> String {
        let tests = group
            .iter()
            .flat_map(|trial| trial.prelude.iter().chain(&trial.before).chain(std::iter::once(&trial.last)));
        let classes: BTreeMap<&str, &str> =
            tests.map(|test| (class_of(test), self.fingerprinted.of_class(test))).collect();
        let key = key(|hasher| {
            hasher.hash(self.launch_key);
            hasher.number(group.len() as u64);
            group.iter().for_each(|trial| feed_trial(hasher, trial));
            for (class, fingerprint) in classes {
                hasher.texts([class, fingerprint]);
            }
        });
        format!("trials-{key}")
    }

    /// The schedule with everything that decides what it comes to.
    fn key(&self, schedule: &Schedule) -> String {
        let classes: BTreeMap<&str, &str> =
            schedule.tests.iter().map(|test| (class_of(test), self.fingerprinted.of_class(test))).collect();
        let key = key(|hasher| {
            hasher.hash(self.launch_key);
            hasher.texts(&schedule.tests);
            for (class, fingerprint) in classes {
                hasher.texts([class, fingerprint]);
            }
        });
        key.to_string()
    }
}

impl Oracle for Jvms<'_> {
    fn run(&mut self, schedules: &[Schedule]) -> Result<Vec<Observation>, Stopped> {
        let failed = |message: String| Stopped::Failed(message);
        let mut found: Vec<Option<Observation>> = vec![None; schedules.len()];
        let mut keys = Vec::with_capacity(schedules.len());
        for (number, schedule) in schedules.iter().enumerate() {
            let key = self.key(schedule);
            let occurrence = self.occurrences.entry(key.clone()).or_default();
            *occurrence += 1;
            found[number] = self.store.observation(&key, *occurrence).map_err(|e| failed(e.to_string()))?;
            keys.push((key, *occurrence));
        }
        self.display.knew(found.iter().flatten().count());
        let todo: Vec<usize> = (0..schedules.len()).filter(|&number| found[number].is_none()).collect();
        let list: Vec<&Schedule> = todo.iter().map(|&number| &schedules[number]).collect();
        let mut unstored = None;
        let ended = self.executor.execute_all(&list, self.jobs, |at, observation| {
            let number = todo[at];
            let (key, occurrence) = &keys[number];
            let stored = self.store.add_observation(key, *occurrence, &observation, now_ms());
            unstored = unstored.take().or(stored.err());
            self.display.ran(schedules[number].tests.len());
            self.cost.executions += schedules[number].tests.len();
            self.cost.jvm_starts += observation.jvms;
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
                    for (test, verdict) in schedule.tests.iter().zip(&observation.verdicts) {
                        if verdict.status == Status::Missing && !verdict.message.is_empty() {
                            self.unrunnable.entry(verdict.message.clone()).or_default().insert(test.clone());
                        }
                    }
                }
                Ok(all)
            }
        }
    }

    fn try_all(&mut self, trials: &[Trial]) -> Result<Vec<Option<Tried>>, Stopped> {
        let failed = |message: String| Stopped::Failed(message);
        let mut found: Vec<Option<Tried>> = vec![None; trials.len()];
        // Those with the same tests first are remembered together: there may be tens of thousands.
        let groups: Vec<&[Trial]> = trials.chunk_by(|a, b| a.before == b.before).collect();
        let mut todo: Vec<(String, std::ops::Range<usize>)> = Vec::new();
        let mut start = 0;
        for group in groups {
            let range = start..start + group.len();
            start = range.end;
            let key = self.trial_key(group);
            match self.store.trials(&key).map_err(|e| failed(e.to_string()))? {
                Some(known) if known.len() == group.len() => {
                    known.into_iter().zip(range).for_each(|(tried, number)| found[number] = tried);
                }
                _ => todo.push((key, range)),
            }
        }
        let list: Vec<Trial> = todo.iter().flat_map(|(_, range)| trials[range.clone()].iter().cloned()).collect();
        if list.is_empty() {
            return Ok(found);
        }
        let tried = match self.executor.try_all(&list, self.jobs) {
            Ok(Execution::Ended(tried)) => tried,
            Ok(Execution::OutOfTime) => return Err(Stopped::OutOfTime),
            Err(error) => return Err(failed(error.to_string())),
        };
        self.display.ran(tried.executions);
        self.tried += tried.executions;
        self.cost.executions += tried.executions;
        self.cost.jvm_starts += tried.jvms;
        if let Some(obstacle) = tried.obstacle {
            self.obstacle.get_or_insert(obstacle);
        }
        let mut results = tried.results.into_iter();
        let mut rows: Vec<(String, Vec<Option<Tried>>)> = Vec::new();
        for (key, range) in todo {
            let group: Vec<Option<Tried>> = results.by_ref().take(range.len()).collect();
            group.iter().zip(range).for_each(|(tried, number)| found[number] = tried.clone());
            if group.iter().all(Option::is_some) {
                rows.push((key, group));
            }
        }
        self.store.add_trials(&rows, now_ms()).map_err(|e| failed(e.to_string()))?;
        Ok(found)
    }

    fn has_room(&self) -> bool {
        self.has_budget || self.tried < MOST_TRIED
    }

    fn jvms_spent(&self) -> usize {
        if self.has_budget { 0 } else { self.cost.jvm_starts }
    }

    fn warm_up(&mut self, tests: Vec<String>) {
        self.executor.warm_up_with(tests);
    }

    fn progress(&mut self, phase: Phase) {
        self.display.phase(phase);
    }

    fn found(&mut self, finding: &Finding) {
        self.display.found(finding);
    }
}
