//! The proof of a finding, run again.

use std::path::Path;
use std::time::Duration;

use untether_model::{Finding, Observation, RefinementRecord, Replay, Schedule};
use untether_project::Config;
use untether_runner::{Execution, Executor, Limits, WorkerContext, stop_signal};

use crate::error::{EngineError, listen};
use crate::latest::latest_refinement;
use crate::scratch::Scratch;

#[derive(Debug)]
pub struct ReplayRequest<'r> {
    pub store: &'r Path,
    /// The folder whose configuration counts.
    pub project: &'r Path,
    /// The start of the finding's id.
    pub id: &'r str,
    pub test_timeout: Duration,
}

pub fn replay(request: &ReplayRequest<'_>) -> Result<Replay, EngineError> {
    let latest = latest_refinement(request.store)?;
    let finding = find(&latest, request.id)?;
    let launch = latest.launch_of(finding).ok_or(EngineError::NoLaunch)?;
    listen()?;
    let scratch = Scratch::create(request.store)?;
    let context = WorkerContext::new(launch, &scratch.path)?;
    let limits = Limits { per_test: request.test_timeout, deadline: None };
    let mut executor = Executor::new(context, Config::load(request.project)?, &scratch.path, limits);
    executor.start_without(&launch.left_files)?;
    Ok(Replay {
        counter: execute(&executor, &finding.counter_schedule)?,
        violated: execute(&executor, &finding.schedule)?,
        finding: finding.clone(),
    })
}

fn find<'r>(latest: &'r RefinementRecord, given: &str) -> Result<&'r Finding, EngineError> {
    let matching: Vec<&Finding> = latest.findings.iter().filter(|finding| finding.id.starts_with(given)).collect();
    match matching.as_slice() {
        [finding] => Ok(finding),
        [] if latest.findings.is_empty() => Err(EngineError::NoFindings),
        [] => {
            let known = latest.findings.iter().map(|finding| finding.id.clone()).collect();
            Err(EngineError::UnknownFinding { given: given.to_owned(), known })
        }
        _ => Err(EngineError::AmbiguousFinding { given: given.to_owned() }),
    }
}

fn execute(executor: &Executor, tests: &[String]) -> Result<Observation, EngineError> {
    match executor.execute(&Schedule::new(tests.to_vec()))? {
        Execution::Ended(observation) => Ok(observation),
        Execution::OutOfTime => Err(match stop_signal() {
            Some(signal) => EngineError::ReplayInterrupted { signal },
            None => EngineError::ReplayOutOfTime,
        }),
    }
}
