//! One refinement: what analysis proposes is run, remembered, and put beside what was known before.

mod channels;
mod earlier;
mod event;
mod jvms;
mod memo;
mod one_jvm;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

pub use event::RefineEvent;
use untether_analysis::refine::{Stopped, Strategy};
use untether_model::{Finding, RefinementRecord};
use untether_report::{Run, finding_order};
use untether_runner::stop_signal;
use untether_store::{Store, StoredRun};

use crate::clock::now_ms;
use crate::detect::has_tests;
use crate::error::{EngineError, listen};
use crate::refine::earlier::Earlier;
use crate::refine::one_jvm::Session;
use crate::scratch::{Scratch, make_folder};

#[derive(Debug)]
pub struct RefineRequest<'r> {
    pub store: &'r Path,
    /// The folder whose configuration counts.
    pub project: &'r Path,
    pub strategy: Strategy,
    /// How often the original order is run.
    pub reference_runs: usize,
    /// Only these tests or classes, as a person calls them; all if there are none.
    pub tests: &'r [String],
    /// How many JVMs run at a time; else as many as there are processors.
    pub jobs: Option<usize>,
    pub budget: Option<Duration>,
    pub test_timeout: Duration,
    /// Whether nothing that is known counts.
    pub is_fresh: bool,
    /// Whether new findings stay new: they are checked for.
    pub rejects_new: bool,
}

/// What came of it; it was stored.
#[derive(Debug)]
pub struct Refined {
    pub record: RefinementRecord,
    /// The ids of findings that there were not before, and whether there was a before.
    pub new: BTreeSet<String>,
    pub has_baseline: bool,
    /// Findings that are no more.
    pub gone: Vec<Finding>,
    /// Schedules that had not to be run again.
    pub known: usize,
    /// The signal that cut it short, where one did.
    pub signal: Option<u8>,
}

pub fn refine(request: &RefineRequest<'_>, mut emit: impl FnMut(RefineEvent<'_>)) -> Result<Refined, EngineError> {
    let mut store = Store::open(request.store)?;
    listen()?;
    let run = store.latest_run()?;
    check_names(&run, request.tests)?;
    let scratch = Scratch::create(request.store)?;
    let started = Instant::now();
    let earlier = Earlier::new(&mut store, request)?;
    let mut session = Session {
        request,
        store: &mut store,
        previous: earlier.valid(),
        started,
        emit: &mut emit,
        record: RefinementRecord::begun(now_ms(), request.strategy.to_string()),
        known: 0,
    };
    let outcome = refine_all(&mut session, &run, &scratch.path)?;
    let (mut record, known) = (session.record, session.known);
    if !request.tests.is_empty() && record.fingerprints.is_empty() && outcome.is_ok() {
        return Err(EngineError::NotTests { tests: request.tests.to_vec() });
    }
    record.findings.sort_by(|a, b| finding_order(a).cmp(&finding_order(b)));
    record.seconds = started.elapsed().as_secs_f64();
    let new = earlier.new_beside(&record);
    if request.rejects_new {
        record.rejected = new.iter().cloned().collect();
    }
    store.add_refinement(&earlier.with(&record))?;
    outcome?;
    Ok(Refined {
        new,
        has_baseline: earlier.has_baseline(),
        gone: earlier.gone_since(&record),
        known,
        signal: stop_signal().filter(|_| !record.is_complete),
        record,
    })
}

/// One JVM's tests after the other's. The inner error is one after which what was found holds.
fn refine_all(
    session: &mut Session<'_, '_>,
    run: &StoredRun,
    folder: &Path,
) -> Result<Result<(), EngineError>, EngineError> {
    // Whether something could be run in any JVM; and why not.
    let (mut has_run, mut unrunnable) = (false, None);
    for (number, detection) in run.detections.iter().enumerate().filter(|(_, detection)| has_tests(detection)) {
        let folder = folder.join(format!("jvm-{number}"));
        make_folder(&folder)?;
        let stopped = session.refine_jvm(detection, &folder)?;
        has_run |= !matches!(stopped, Some(Stopped::NothingRan(_)));
        match stopped {
            None => {}
            Some(Stopped::OutOfTime) => session.record.is_complete = false,
            Some(Stopped::NothingRan(reason)) => unrunnable = Some(reason),
            Some(Stopped::Failed(message)) => {
                session.record.is_complete = false;
                return Ok(Err(EngineError::Stopped(message)));
            }
        }
    }
    match unrunnable.filter(|_| !has_run) {
        Some(reason) => Err(EngineError::NothingRan { reason }),
        None => Ok(Ok(())),
    }
}

/// An error that suggests the nearest names where no test has a given one.
fn check_names(run: &StoredRun, tests: &[String]) -> Result<(), EngineError> {
    if tests.is_empty() {
        return Ok(());
    }
    let run = Run::new(&run.detections, Path::new("."));
    for test in tests {
        run.find_all(test, None)?;
    }
    Ok(())
}
