//! What schedules come to in fresh, plain JVMs, and by that, what is true of a suite.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use untether_model::{Launch, Schedule, Status, class_of};
use untether_project::Config;
use untether_runner::{Execution, Executor, Limits, WorkerContext};

use super::facts::{Facts, Outcome};
use super::generator::Suite;
use super::libraries::Libraries;
use super::random::Random;
use crate::failure::Failure;

const PER_TEST: Duration = Duration::from_secs(60);

/// Short-lived JVMs in a fixed place of the world.
pub(crate) const JVM_ARGUMENTS: [&str; 6] = [
    "-Xshare:auto",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Duser.timezone=UTC",
];

/// Says what the last test of a schedule comes to.
pub(crate) trait World {
    fn last(&mut self, schedule: &[String]) -> Result<Outcome, Failure>;
}

/// Runs what it is asked for, each schedule once.
#[derive(Debug)]
pub(crate) struct Oracle {
    executor: Executor,
    jobs: usize,
    known: HashMap<Vec<String>, Vec<Outcome>>,
    pub(crate) jvms: usize,
}

impl Oracle {
    /// For a suite that was compiled in the folder.
    pub(crate) fn new(java: &Path, libraries: &Libraries, folder: &Path, jobs: usize) -> Result<Self, Failure> {
        let scratch: PathBuf = folder.join("oracle");
        std::fs::create_dir_all(&scratch).map_err(Failure::io("create", &scratch))?;
        let classes = folder.join("classes").display().to_string();
        let launch = Launch {
            java: java.display().to_string(),
            arguments: libraries.jvm_arguments(),
            directory: folder.display().to_string(),
            environment: std::env::vars().filter(|(name, _)| !name.starts_with("JAVA_TOOL")).collect(),
            class_path: libraries.archived_class_path.split(':').map(str::to_owned).chain([classes]).collect(),
            ..Launch::default()
        };
        let context =
            WorkerContext::new(&launch, libraries.folder()).map_err(|error| Failure::new(error.to_string()))?;
        let executor =
            Executor::new(context, Config::default(), &scratch, Limits { per_test: PER_TEST, deadline: None });
        Ok(Oracle { executor, jobs, known: HashMap::new(), jvms: 0 })
    }

    /// Those that are not known yet.
    fn run_all(&mut self, schedules: Vec<Vec<String>>) -> Result<(), Failure> {
        let mut asked = HashSet::new();
        let new = |tests: &Vec<String>| !self.known.contains_key(tests) && asked.insert(tests.clone());
        let schedules: Vec<Schedule> = schedules.into_iter().filter(new).map(Schedule::new).collect();
        let list: Vec<&Schedule> = schedules.iter().collect();
        let (known, jvms) = (&mut self.known, &mut self.jvms);
        let ended = self.executor.execute_all(&list, self.jobs, |number, observation| {
            *jvms += observation.jvms;
            let outcomes = observation.verdicts.into_iter().map(Outcome::from).collect();
            known.insert(schedules[number].tests.clone(), outcomes);
            true
        });
        match ended {
            Ok(Execution::Ended(())) => Ok(()),
            Ok(Execution::OutOfTime) => Err(Failure::new("the time was over")),
            Err(error) => Err(Failure::new(error.to_string())),
        }
    }

    fn outcomes(&mut self, schedule: &[String]) -> Result<Vec<Outcome>, Failure> {
        self.run_all(vec![schedule.to_vec()])?;
        self.known.get(schedule).cloned().ok_or_else(|| Failure::new("a schedule was not run"))
    }

    /// The original order twice, every test alone, every ordered pair, the planned triples and some others.
    pub(crate) fn facts(&mut self, suite: &Suite, triples: usize, random: &mut Random) -> Result<Facts, Failure> {
        let tests = suite.tests();
        let first = self.outcomes(&tests)?;
        self.known.remove(&tests);
        let second = self.outcomes(&tests)?;
        let mut facts = Facts::new(&tests, &first, &second);
        let alone: Vec<Vec<String>> = tests.iter().map(|test| vec![test.clone()]).collect();
        let pairs: Vec<Vec<String>> = tests
            .iter()
            .flat_map(|one| tests.iter().filter(move |two| *two != one).map(|two| vec![one.clone(), two.clone()]))
            .collect();
        let planned = suite.planned.iter().map(|places| places.map(|place| suite.id(place)).to_vec());
        let sampled: Vec<Vec<String>> = (0..triples).map(|_| random.some(&refs(&tests), 3)).map(owned).collect();
        let triples = planned.chain(sampled).filter(|schedule| is_runnable(schedule));
        let schedules: Vec<Vec<String>> = alone.into_iter().chain(pairs).chain(triples).collect();
        self.run_all(schedules.clone())?;
        for schedule in schedules {
            let outcome = self.last(&schedule)?;
            facts.add(schedule, outcome);
        }
        Ok(facts)
    }
}

impl World for Oracle {
    fn last(&mut self, schedule: &[String]) -> Result<Outcome, Failure> {
        let outcomes = self.outcomes(schedule)?;
        Ok(outcomes.last().cloned().unwrap_or(Outcome { status: Status::Missing, message: String::new() }))
    }
}

fn refs(tests: &[String]) -> Vec<&String> {
    tests.iter().collect()
}

fn owned(tests: Vec<&String>) -> Vec<String> {
    tests.into_iter().cloned().collect()
}

/// Whether no class is run twice: that would run its fixtures twice, which no build tool does.
pub(crate) fn is_runnable(schedule: &[String]) -> bool {
    let mut runs: Vec<&str> = schedule.iter().map(|test| class_of(test)).collect();
    runs.dedup();
    runs.iter().collect::<HashSet<_>>().len() == runs.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_run_once() {
        let schedule = |tests: &[&str]| tests.iter().map(|&test| test.to_owned()).collect::<Vec<String>>();
        assert!(is_runnable(&schedule(&["A#a", "A#b", "B#a"])));
        assert!(!is_runnable(&schedule(&["A#a", "B#a", "A#b"])));
        assert!(is_runnable(&schedule(&["A#a"])));
    }
}
