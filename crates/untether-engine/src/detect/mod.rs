//! One watched run: start, gather, analyse, store.

mod unseen;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

pub use unseen::Unseen;
use untether_model::{Detection, UnitKind};
use untether_project::{Config, find_test_classes, read_order};
use untether_runner::{
    Launcher, WatchEvent, WatchRequest, Watched, Watching, WorkerRequest, find_java, watch, worker_command,
};
use untether_store::{NewRun, Store};
use untether_wire::Secrets;

use crate::clock::now_ms;
use crate::error::{EngineError, listen};
use crate::own::detection_of;
use crate::scratch::Scratch;
use crate::select::between::{class_dependencies, watched_classes};
use crate::select::folder_of;

#[derive(Debug)]
pub struct DetectRequest<'r> {
    pub store: &'r Path,
    /// The folder whose configuration counts.
    pub project: &'r Path,
    pub tests: Tests,
    /// What is kept as the command of this run.
    pub command: Vec<String>,
    pub timeout: Option<Duration>,
    /// Whether files, sockets and child processes are watched, unless the configuration forbids it.
    pub is_external_watched: bool,
    /// Whether the command's output comes back as events, or goes straight to our own streams.
    pub captures_output: bool,
}

/// What runs the tests.
#[derive(Debug)]
pub enum Tests {
    /// The command of a build tool: a program and its arguments.
    BuildTool(Vec<String>),
    /// A JVM of ours.
    ClassPath(ClassPathTests),
}

/// Tests that are run without a build tool.
#[derive(Debug)]
pub struct ClassPathTests {
    pub class_path: String,
    /// A file that names them; else they are found by their names.
    pub order: Option<PathBuf>,
    pub scan: Vec<PathBuf>,
    pub include: Vec<String>,
    pub exclude: Vec<String>,
    pub java: Option<PathBuf>,
    pub jvm_arguments: Vec<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Detected {
    pub ending: Ending,
    /// One for each JVM that ran tests; they were stored. Where there is none, why.
    pub seen: Result<Vec<Detection>, Unseen>,
}

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exited(ExitStatus),
    /// It was killed.
    OutOfTime,
    /// The user sent us this signal, and it was killed.
    Interrupted(u8),
}

impl Ending {
    pub(crate) fn of(watched: &Watched) -> Self {
        match (watched.has_timed_out, watched.signal) {
            (true, _) => Ending::OutOfTime,
            (false, Some(signal)) => Ending::Interrupted(signal),
            (false, None) => Ending::Exited(watched.status),
        }
    }
}

pub fn detect(request: &DetectRequest<'_>, emit: impl FnMut(WatchEvent<'_>)) -> Result<Detected, EngineError> {
    let mut config = Config::load(request.project)?;
    config.watches_external &= request.is_external_watched;
    listen()?;
    let mut store = Store::open_or_create(request.store)?;
    let scratch = Scratch::create(request.store)?;
    let launcher = launcher(&request.tests, &scratch.path)?;
    let command = Secrets::new(&config.secrets).arguments(request.command.clone(), |_, _| {});
    let started_ms = now_ms();
    let watch_request = WatchRequest {
        launcher,
        config: &config,
        directory: &scratch.path,
        timeout: request.timeout,
        captures_output: request.captures_output,
        watching: Watching::Plainly,
    };
    let watched = watch(watch_request, emit)?;
    let (ending, status, jvms) = (Ending::of(&watched), watched.status, watched.traces.len());
    // One by one: a trace may be large.
    let detections: Vec<Detection> = watched
        .traces
        .into_iter()
        .filter(|trace| trace.tests().next().is_some() || !trace.notes.is_empty())
        .map(|trace| detection_of(&trace))
        .collect();
    if !detections.iter().any(has_tests) {
        return Ok(Detected { ending, seen: Err(Unseen::new(&request.tests, &detections, jvms, status)) });
    }
    let run = NewRun { started_ms, command: &command, exit_code: status.code(), detections: &detections };
    store.add_run(&run)?;
    let folder = folder_of(request.store);
    let between = detections.iter().filter(|detection| has_tests(detection));
    let found =
        |detection| class_dependencies(detection, &folder).into_iter().chain(watched_classes(detection, &folder));
    let between: BTreeSet<_> = between.flat_map(found).collect();
    store.note_class_dependencies(&between)?;
    Ok(Detected { ending, seen: Ok(detections) })
}

/// Whether tests ran in the JVM.
pub(crate) fn has_tests(detection: &Detection) -> bool {
    detection.units.iter().any(|unit| unit.kind == UnitKind::Test)
}

fn launcher(tests: &Tests, directory: &Path) -> Result<Launcher, EngineError> {
    let tests = match tests {
        Tests::BuildTool(words) => {
            let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
            let mut command = Command::new(program);
            command.args(arguments);
            return Ok(Launcher::BuildTool(command));
        }
        Tests::ClassPath(tests) => tests,
    };
    let plan = match &tests.order {
        Some(file) => read_order(file)?,
        None => find_test_classes(&tests.class_path, &tests.scan, &tests.include, &tests.exclude)?,
    };
    let worker = WorkerRequest {
        java: find_java(tests.java.as_deref())?,
        class_path: tests.class_path.clone(),
        jvm_arguments: tests.jvm_arguments.clone(),
        plan,
        directory: directory.to_path_buf(),
    };
    Ok(Launcher::Jvm(worker_command(&worker)?))
}
