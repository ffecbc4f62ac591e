//! Runs a command with the agent in its test JVMs.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use untether_kept::{Since, put_back_in_their_place};
use untether_model::{Launch, Trace};
use untether_project::Config;
use untether_wire::{AgentOptions, Isolation, Probes};

use crate::agent::agent_library;
use crate::command::JvmCommand;
use crate::command::{PRELOAD, preload};
use crate::error::RunnerError;
use crate::gather::{Gathered, Progress};
use crate::lifeline::Lifeline;
use crate::questions::Questions;
use crate::stop::stop_signal;
use crate::worker::write_extension;

const POLL: Duration = Duration::from_millis(100);

/// Who starts the JVMs.
#[derive(Debug)]
pub enum Launcher {
    /// A build tool: the agent goes into the JVMs that it forks.
    BuildTool(Command),
    /// A JVM of ours.
    Jvm(JvmCommand),
}

#[derive(Debug)]
pub struct WatchRequest<'r> {
    pub launcher: Launcher,
    pub config: &'r Config,
    /// An empty folder for this run's files.
    pub directory: &'r Path,
    /// After this long the command and all that it started are ended; what was seen is kept.
    pub timeout: Option<Duration>,
    /// Whether the command's output comes back as events, or goes straight to our own streams.
    pub captures_output: bool,
    pub watching: Watching,
}

/// What a JVM is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watching {
    /// To see what tests leave for others.
    Plainly,
    /// To see the last write of each slot instead of the first, which costs more.
    Thoroughly,
    /// To put back what tests changed.
    ToPutBack,
    /// To put it back after each class or test, without being asked to.
    ToIsolate(Isolation),
    /// The same, and to see what was left behind.
    ToCheckIsolation(Isolation),
    /// To see which classes each test class uses.
    ToSelect,
    /// To see which classes each test uses.
    ToSelectTests,
}

impl Watching {
    fn probes(self) -> Probes {
        match self {
            Watching::Plainly | Watching::Thoroughly | Watching::ToCheckIsolation(_) => Probes::All,
            Watching::ToPutBack | Watching::ToIsolate(_) => Probes::ToPutBack,
            Watching::ToSelect | Watching::ToSelectTests => Probes::Uses,
        }
    }

    fn isolation(self) -> Isolation {
        match self {
            Watching::ToIsolate(isolation) | Watching::ToCheckIsolation(isolation) => isolation,
            _ => Isolation::None,
        }
    }

    /// Whether what happens outside of the heap is wanted.
    fn tells_external(self) -> bool {
        matches!(self, Watching::Plainly | Watching::Thoroughly | Watching::ToSelect | Watching::ToSelectTests)
    }

    /// Whether what no report needs may have to fit what is put back beside it.
    fn puts_back(self) -> bool {
        !self.tells_external()
    }
}

/// A line that the command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Out(Vec<u8>),
    Error(Vec<u8>),
}

/// What happens while a command runs.
#[derive(Debug, Clone, Copy)]
pub enum WatchEvent<'e> {
    /// What the command printed, where it is captured.
    Output(&'e [Output]),
    /// How far it is; several times a second.
    Progress(&'e Progress),
    /// It runs no more.
    Ended,
}

/// What came of it.
#[derive(Debug)]
pub struct Watched {
    pub status: ExitStatus,
    pub has_timed_out: bool,
    /// The signal that ended it, where the user sent one to us.
    pub signal: Option<u8>,
    pub traces: Vec<Trace>,
}

/// Says which test classes a JVM, which was started so, may leave out.
pub type Answer<'a> = &'a mut dyn FnMut(&Launch, &[String]) -> Vec<String>;

/// Runs the command to its end.
pub fn watch(request: WatchRequest<'_>, emit: impl FnMut(WatchEvent<'_>)) -> Result<Watched, RunnerError> {
    watch_and_answer(request, None, emit)
}

/// Runs the command to its end, and answers its JVMs when they ask which tests to run.
pub fn watch_and_answer(
    request: WatchRequest<'_>,
    mut answer: Option<Answer<'_>>,
    mut emit: impl FnMut(WatchEvent<'_>),
) -> Result<Watched, RunnerError> {
    let agent = agent_library()?;
    let options_path = write_options(request.config, request.directory, request.watching)?;
    let cannot_write = |source| RunnerError::CannotWrite { path: request.directory.to_path_buf(), source };
    let questions = answer.as_ref().map(|_| Questions::listen(request.directory)).transpose().map_err(cannot_write)?;
    let lifeline = Lifeline::hold(request.directory).map_err(cannot_write)?;
    let mut command = match request.launcher {
        Launcher::BuildTool(mut command) => {
            if request.watching.isolation() != Isolation::None {
                write_extension(request.directory).map_err(cannot_write)?;
            }
            preload(&mut command, std::env::var_os(PRELOAD).unwrap_or_default(), &agent, &options_path);
            command
        }
        Launcher::Jvm(command) => command.with_agent(Some((&agent, &options_path))),
    };
    if request.captures_output {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|source| RunnerError::CannotStart { program: program.clone(), source })?;
    let output = forward_output(&mut child);
    let mut gathered = Gathered::default();
    let deadline = request.timeout.map(|timeout| Instant::now() + timeout);
    let mut has_timed_out = false;
    let mut is_ended = false;
    let status = loop {
        let ended = child.try_wait().map_err(|source| RunnerError::CannotStart { program: program.clone(), source })?;
        let lines: Vec<Output> = match ended {
            // The command is gone: what it wrote is in the pipes, unless a child of its own holds them.
            Some(_) => drain(&output),
            None => output.try_iter().collect(),
        };
        gathered.poll(request.directory)?;
        if !lines.is_empty() {
            emit(WatchEvent::Output(&lines));
        }
        emit(WatchEvent::Progress(gathered.progress()));
        if let Some(status) = ended {
            break status;
        }
        has_timed_out |= !is_ended && deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if !is_ended && (has_timed_out || stop_signal().is_some()) {
            is_ended = true;
            end_tree(child.id());
        }
        match (&questions, &mut answer) {
            (Some(questions), Some(answer)) => {
                for asked in questions.wait(POLL) {
                    // What a JVM tells before it asks is in its trace.
                    gathered.poll(request.directory)?;
                    asked.reply(|question| match gathered.launch(&question.trace) {
                        Some(launch) => answer(launch, &question.classes),
                        None => Vec::new(),
                    });
                }
            }
            _ => thread::sleep(POLL),
        }
    };
    gathered.poll(request.directory)?;
    emit(WatchEvent::Progress(gathered.progress()));
    emit(WatchEvent::Ended);
    // What JVMs that were ended in the middle of a class have not put back themselves.
    let _ = put_back_in_their_place(request.directory, Since::JustNow);
    let signal = stop_signal().filter(|_| !has_timed_out);
    if !has_timed_out && signal.is_none() {
        lifeline.release().map_err(cannot_write)?;
    }
    Ok(Watched { status, has_timed_out, signal, traces: gathered.into_traces(request.config) })
}

/// Kills a process that we started and everything below it, leaves first.
pub(crate) fn end_tree(process: u32) {
    // Each thread has the children that it started, and a build tool's main thread starts none.
    for task in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().filter_map(|number| number.parse().ok()).for_each(end_tree);
    }
    // It may be gone already.
    let _ = Command::new("kill").arg("-KILL").arg(process.to_string()).stderr(Stdio::null()).status();
}

fn drain(output: &Receiver<Output>) -> Vec<Output> {
    let mut lines = Vec::new();
    while let Ok(line) = output.recv_timeout(POLL) {
        lines.push(line);
    }
    lines
}

pub(crate) fn write_options(config: &Config, directory: &Path, watching: Watching) -> Result<PathBuf, RunnerError> {
    let ignore = if watching.puts_back() { &config.ignore_in_undo } else { &config.ignore };
    let kept_folders = if watching.puts_back() { config.kept_folders.clone() } else { Vec::new() };
    let options = AgentOptions {
        trace_directory: directory.to_path_buf(),
        ignore: ignore.clone(),
        opaque: config.opaque.clone(),
        immutable: config.immutable.clone(),
        registries: config.registries.clone(),
        lookups: config.lookups.clone(),
        secrets: config.secrets.clone(),
        probes: watching.probes(),
        isolation: watching.isolation(),
        is_thorough: watching == Watching::Thoroughly,
        external: config.watches_external && watching.tells_external() || !kept_folders.is_empty(),
        kept_folders,
        by_test: watching == Watching::ToSelectTests,
    };
    let path = directory.join("agent-options");
    std::fs::write(&path, options.to_text())
        .map_err(|source| RunnerError::CannotWrite { path: path.clone(), source })?;
    Ok(path)
}

/// Lines of both streams as they come; an empty channel where the streams are inherited.
fn forward_output(child: &mut Child) -> Receiver<Output> {
    let (sender, receiver) = channel();
    if let Some(stream) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || forward(stream, &sender, Output::Out));
    }
    if let Some(stream) = child.stderr.take() {
        thread::spawn(move || forward(stream, &sender, Output::Error));
    }
    receiver
}

fn forward(stream: impl Read, sender: &Sender<Output>, wrap: fn(Vec<u8>) -> Output) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {
                if sender.send(wrap(line.clone())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
