//! Runs schedules in worker JVMs.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use untether_kept::{Since, put_back_in_their_place};
use untether_model::{Observation, Schedule, Status, Verdict};
use untether_project::Config;
use untether_wire::WorkerFrame;

use crate::agent::agent_library;
use crate::context::WorkerContext;
use crate::error::RunnerError;
use crate::left::SetAside;
use crate::results::ResultReader;
use crate::runs::Runs;
use crate::stop::stop_signal;
use crate::watch::{Watching, end_tree, write_options};

const POLL: Duration = Duration::from_millis(4);

/// How long a JVM whose tests are done may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// How much longer than the longest of all tests one may take that is only tried, and the least that it may.
const PATIENCE: u32 = 10;
const LEAST_PATIENCE: Duration = Duration::from_secs(5);

/// So many JVMs are to be started before it pays to make that faster.
const FEWEST_TO_PREPARE: usize = 24;

/// How long schedules may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For one test, or a class's fixtures.
    pub per_test: Duration,
    /// When everything must be over.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// Whether nothing more is to be run: time is up, or the user has asked us to stop.
    pub fn are_over(&self) -> bool {
        stop_signal().is_some() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Runs schedules.
#[derive(Debug)]
pub struct Executor {
    pub(crate) context: WorkerContext,
    /// For JVMs that are watched.
    config: Config,
    scratch: PathBuf,
    pub(crate) limits: Limits,
    next_file: AtomicUsize,
    /// Schedules that were to be run in fresh JVMs so far.
    asked: AtomicUsize,
    /// Watched JVMs that wait for their next plan.
    pub(crate) idle: Mutex<Vec<LiveJvm>>,
    /// What would be there already otherwise.
    aside: Option<SetAside>,
    /// Tests that a watched JVM runs first, so that classes are initialised before anything is tried.
    pub(crate) warm_up: Vec<String>,
    /// The longest that a JVM said nothing and then went on, in milliseconds: a test, mostly.
    longest: AtomicU64,
}

/// What came of it, unless time ran out.
#[derive(Debug)]
pub enum Execution<T = Observation> {
    Ended(T),
    OutOfTime,
}

/// One JVM's part of a schedule.
#[derive(Default)]
pub(crate) struct Part {
    /// The verdicts of as many tests as this JVM got through.
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) is_out_of_time: bool,
    /// The answers to questions for changed fields.
    pub(crate) fields: Vec<Vec<String>>,
    /// Why the JVM could not be put back to how it was.
    pub(crate) obstacle: Option<String>,
    /// Whether it waits for another plan.
    pub(crate) is_waiting: bool,
}

impl Executor {
    pub fn new(context: WorkerContext, config: Config, scratch: &Path, limits: Limits) -> Self {
        let (scratch, next_file) = (scratch.to_path_buf(), AtomicUsize::new(0));
        Executor {
            context,
            config,
            scratch,
            limits,
            next_file,
            asked: AtomicUsize::new(0),
            idle: Mutex::default(),
            aside: None,
            warm_up: Vec::new(),
            longest: AtomicU64::new(0),
        }
    }

    /// Each schedule starts without these files, one at a time, as all run in one folder. They come back at the end.
    pub fn start_without(&mut self, files: &[String]) -> Result<(), RunnerError> {
        let unmovable = |source| RunnerError::CannotWrite { path: self.scratch.clone(), source };
        self.aside = Some(SetAside::new(files, &self.scratch).map_err(unmovable)?).filter(|aside| !aside.is_empty());
        Ok(())
    }

    /// These tests are run first in each watched JVM.
    pub fn warm_up_with(&mut self, tests: Vec<String>) {
        self.warm_up = tests;
    }

    /// Runs the schedule in a fresh JVM. A test that ends its JVM or does not end costs its class run; another
    /// JVM goes on with the next.
    pub fn execute(&self, schedule: &Schedule) -> Result<Execution, RunnerError> {
        if let Some(aside) = &self.aside {
            aside.clear();
        }
        let mut verdicts: Vec<Verdict> = Vec::with_capacity(schedule.tests.len());
        let mut jvms = 0;
        while verdicts.len() < schedule.tests.len() {
            let part = self.run_part(&schedule.tests[verdicts.len()..])?;
            if part.is_out_of_time {
                return Ok(Execution::OutOfTime);
            }
            jvms += 1;
            verdicts.extend(part.verdicts);
        }
        Ok(Execution::Ended(Observation { verdicts, jvms }))
    }

    /// Runs the schedules, so many at a time, and hands each over as it ends, with its number. Starts no more once
    /// `each` says so or one could not be run to its end.
    pub fn execute_all(
        &self,
        schedules: &[&Schedule],
        jobs: usize,
        mut each: impl FnMut(usize, Observation) -> bool,
    ) -> Result<Execution<()>, RunnerError> {
        if self.asked.fetch_add(schedules.len(), Ordering::Relaxed) + schedules.len() > FEWEST_TO_PREPARE {
            self.context.prepare_for_many();
        }
        let next = AtomicUsize::new(0);
        let (sender, receiver) = channel();
        let mut result = Ok(Execution::Ended(()));
        thread::scope(|scope| {
            let jobs = if self.aside.is_some() { 1 } else { jobs };
            for _ in 0..jobs.min(schedules.len()) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(schedule) = schedules.get(number) else { return };
                        if sender.send((number, self.execute(schedule))).is_err() {
                            return;
                        }
                    }
                });
            }
            // Receiving ends when the last thread has.
            drop(sender);
            while let Ok((number, execution)) = receiver.recv() {
                let goes_on = match execution {
                    Ok(Execution::Ended(observation)) => each(number, observation),
                    Ok(Execution::OutOfTime) => {
                        if result.is_ok() {
                            result = Ok(Execution::OutOfTime);
                        }
                        false
                    }
                    Err(error) => {
                        result = Err(error);
                        false
                    }
                };
                if !goes_on {
                    next.store(schedules.len(), Ordering::Relaxed);
                }
            }
        });
        result
    }

    fn run_part(&self, tests: &[String]) -> Result<Part, RunnerError> {
        let files = self.files()?;
        let cannot_write = |path: &Path, source| RunnerError::CannotWrite { path: path.to_path_buf(), source };
        fs::write(&files.plan, self.context.plan(tests)).map_err(|e| cannot_write(&files.plan, e))?;
        let mut command = self.context.command(&files.plan, &files.results, &files.temporary, None)?;
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|source| RunnerError::CannotStart { program: program.clone(), source })?;
        let mut jvm = LiveJvm::new(child, files)?;
        match self.follow(tests, &mut jvm, self.limits.per_test) {
            // It ran nothing: once more, to hear why.
            Err(failed @ RunnerError::WorkerFailed { .. }) => {
                let mut child = command
                    .stderr(Stdio::piped())
                    .spawn()
                    .map_err(|source| RunnerError::CannotStart { program, source })?;
                let said = child
                    .stderr
                    .take()
                    .map(|stream| thread::spawn(move || std::io::read_to_string(stream).unwrap_or_default()));
                let status = self.ended(&mut child);
                let said = said.and_then(|said| said.join().ok()).unwrap_or_default();
                let message = said.lines().take(5).collect::<Vec<_>>().join("; ");
                match status {
                    Some(status) => Err(RunnerError::WorkerFailed { ending: ending(status), message }),
                    None => Err(failed),
                }
            }
            part => part,
        }
    }

    /// How the process ended by itself, within the time that a test has; else it is ended.
    fn ended(&self, child: &mut Child) -> Option<ExitStatus> {
        let deadline = Instant::now() + self.limits.per_test;
        while Instant::now() < deadline && !self.limits.are_over() {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            thread::sleep(POLL);
        }
        let _ = child.kill();
        let _ = child.wait();
        None
    }

    fn files(&self) -> Result<Files, RunnerError> {
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        let of = |kind: &str| self.scratch.join(format!("{kind}-{number}"));
        let files =
            Files { plan: of("plan"), results: of("results"), temporary: of("temporary"), traces: of("traces") };
        File::create(&files.results)
            .map_err(|source| RunnerError::CannotWrite { path: files.results.clone(), source })?;
        Ok(files)
    }

    /// A JVM without the agent that takes one plan after the other.
    pub(crate) fn start_plain(&self) -> Result<LiveJvm, RunnerError> {
        let files = self.files()?;
        let mut command = self.context.command("-", &files.results, &files.temporary, None)?;
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.stdin(Stdio::piped()).spawn().map_err(|source| RunnerError::CannotStart { program, source })?;
        LiveJvm::new(child, files)
    }

    /// A JVM with the agent that takes one plan after the other.
    pub(crate) fn start_unused(&self, watching: Watching) -> Result<LiveJvm, RunnerError> {
        let files = self.files()?;
        fs::create_dir_all(&files.traces)
            .map_err(|source| RunnerError::CannotWrite { path: files.traces.clone(), source })?;
        let options = write_options(&self.config, &files.traces, watching)?;
        let agent = agent_library()?;
        let mut command = self.context.command("-", &files.results, &files.temporary, Some((&agent, &options)))?;
        let program = command.get_program().to_string_lossy().into_owned();
        let child =
            command.stdin(Stdio::piped()).spawn().map_err(|source| RunnerError::CannotStart { program, source })?;
        LiveJvm::new(child, files)
    }

    /// The same, after the tests that warm it up, or what was in the way.
    pub(crate) fn start_watched(&self) -> Result<Result<LiveJvm, String>, RunnerError> {
        let mut jvm = self.start_unused(Watching::ToPutBack)?;
        let mut lines = vec!["!again 1".to_owned()];
        lines.extend(self.warm_up.iter().cloned());
        lines.push("!warm".to_owned());
        jvm.give(&self.context.plan(&lines));
        let part = self.follow(&self.warm_up, &mut jvm, self.limits.per_test)?;
        let obstacle = || part.obstacle.unwrap_or_else(|| "the JVM did not survive the suite".to_owned());
        Ok(if part.is_waiting { Ok(jvm) } else { Err(obstacle()) })
    }

    /// How long a test may take in a JVM that was put back: what hangs there may only hang because of that.
    pub(crate) fn patience(&self) -> Duration {
        match self.longest.load(Ordering::Relaxed) {
            0 => self.limits.per_test,
            longest => (Duration::from_millis(longest) * PATIENCE).max(LEAST_PATIENCE).min(self.limits.per_test),
        }
    }

    /// Follows what a JVM tells until its plan is over, it ends, or a test takes longer than it may.
    pub(crate) fn follow(&self, tests: &[String], jvm: &mut LiveJvm, per_test: Duration) -> Result<Part, RunnerError> {
        let mut runs = Runs::new(tests);
        let followed = self.follow_frames(jvm, per_test, |frame| runs.add(frame))?;
        Ok(match followed {
            Followed::PlanOver | Followed::Done | Followed::NotRestorable(_) => runs.into_part(None),
            Followed::OutOfTime => Part { is_out_of_time: true, ..Part::default() },
            Followed::Died(ending) => runs.into_part(Some((Status::Died, ending))),
            Followed::Hung(message) => runs.into_part(Some((Status::TimedOut, message))),
        })
    }

    /// The same; hands each frame over.
    pub(crate) fn follow_frames(
        &self,
        jvm: &mut LiveJvm,
        per_test: Duration,
        mut add: impl FnMut(WorkerFrame),
    ) -> Result<Followed, RunnerError> {
        let results = jvm.files.results.clone();
        let unreadable = |source| RunnerError::CannotRead { path: results.clone(), source };
        let mut last_event = Instant::now();
        let mut ended = None;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let status = jvm.child.0.try_wait().map_err(unreadable)?;
            loop {
                let count = jvm.file.read(&mut buffer).map_err(unreadable)?;
                if count == 0 {
                    break;
                }
                let told = jvm.reader.feed(&buffer[..count]);
                for frame in told.map_err(|source| RunnerError::BadResults { path: results.clone(), source })? {
                    let millis = last_event.elapsed().as_millis().max(1);
                    self.longest.fetch_max(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
                    last_event = Instant::now();
                    jvm.has_run = true;
                    match &frame {
                        WorkerFrame::PlanEnded {} => ended = Some(Followed::PlanOver),
                        // A JVM that cannot be put back says that it is done as well.
                        WorkerFrame::Done {} => ended = ended.take().or(Some(Followed::Done)),
                        WorkerFrame::NotRestorable { reason } => ended = Some(Followed::NotRestorable(reason.clone())),
                        _ => {}
                    }
                    add(frame);
                }
            }
            match ended.take() {
                Some(Followed::Done) => {
                    jvm.child.wait_for_hooks();
                    return Ok(Followed::Done);
                }
                Some(over @ Followed::PlanOver) => return Ok(over),
                // It says that it is done before it ends.
                Some(obstacle) if status.is_some() => return Ok(obstacle),
                undecided => ended = undecided,
            }
            // Asked before how it ended: what ends us may have ended the JVM as well, and says nothing about a test.
            if self.limits.are_over() {
                end_tree(jvm.child.0.id());
                return Ok(Followed::OutOfTime);
            }
            match status {
                Some(status) if !jvm.has_run => {
                    return Err(RunnerError::WorkerFailed { ending: ending(status), message: String::new() });
                }
                Some(status) => return Ok(Followed::Died(ending(status))),
                None if last_event.elapsed() > per_test => {
                    end_tree(jvm.child.0.id());
                    return Ok(Followed::Hung(format!("did not end within {} s", per_test.as_secs())));
                }
                None => thread::sleep(POLL),
            }
        }
    }
}

/// Why a JVM is followed no longer.
#[derive(Debug)]
pub(crate) enum Followed {
    /// It waits for another plan.
    PlanOver,
    /// It ended, with all that it was asked for.
    Done,
    /// It ended, as it cannot be put back to how it was.
    NotRestorable(String),
    /// No time is left for anything.
    OutOfTime,
    /// It ended before its time.
    Died(String),
    /// A test took too long, and the JVM was ended.
    Hung(String),
}

/// What one JVM reads and writes. Nobody needs it when the JVM is gone.
#[derive(Debug)]
struct Files {
    plan: PathBuf,
    results: PathBuf,
    temporary: PathBuf,
    traces: PathBuf,
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.plan);
        let _ = fs::remove_file(&self.results);
        let _ = fs::remove_dir_all(&self.temporary);
        // A JVM that was ended in the middle of a class has not done so itself.
        let _ = put_back_in_their_place(&self.traces, Since::JustNow);
        let _ = fs::remove_dir_all(&self.traces);
    }
}

/// A JVM that runs, and as much of what it tells as was read.
#[derive(Debug)]
pub(crate) struct LiveJvm {
    child: Ended,
    file: File,
    reader: ResultReader,
    has_run: bool,
    files: Files,
}

impl LiveJvm {
    fn new(child: Child, files: Files) -> Result<Self, RunnerError> {
        let child = Ended(child);
        let file = File::open(&files.results)
            .map_err(|source| RunnerError::CannotRead { path: files.results.clone(), source })?;
        Ok(LiveJvm { child, file, reader: ResultReader::default(), has_run: false, files })
    }

    /// Hands it a plan. A JVM that is gone shows when it is followed.
    pub(crate) fn give(&mut self, plan: &str) {
        if let Some(input) = &mut self.child.0.stdin {
            let _ = input.write_all(format!("{plan}.\n").as_bytes());
            let _ = input.flush();
        }
    }
}

/// A process that does not outlive its use.
#[derive(Debug)]
struct Ended(Child);

impl Ended {
    /// What the tests want done at the end, such as removing files, belongs to the run.
    fn wait_for_hooks(&mut self) {
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && matches!(self.0.try_wait(), Ok(None)) {
            thread::sleep(POLL);
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the JVM ended with exit code {code}"),
        (None, Some(signal)) => format!("the JVM was ended by signal {signal}"),
        _ => "the JVM ended".to_owned(),
    }
}
