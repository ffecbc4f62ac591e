//! Progress of watched runs and of refinements: one live line on a terminal, a plain line now and then elsewhere.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use untether_engine::{Output, Phase, Progress, RefineEvent, RunEvent, WatchEvent};
use untether_model::Finding;
use untether_report::{count, finding_sentence};

const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// The live line, where there is a terminal and somebody wants it.
fn live_line(is_quiet: bool) -> Option<ProgressBar> {
    (!is_quiet && std::io::stderr().is_terminal()).then(|| {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    })
}

/// Where progress goes.
pub(crate) struct Display {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    started: Instant,
    last_plain: Instant,
    last_finished: usize,
}

impl Display {
    pub(crate) fn new(is_quiet: bool) -> Self {
        Display {
            bar: live_line(is_quiet),
            is_quiet,
            started: Instant::now(),
            last_plain: Instant::now(),
            last_finished: 0,
        }
    }

    /// Whether the command's output must pass through us, so that the live line stays below it.
    pub(crate) fn captures_output(&self) -> bool {
        self.bar.is_some()
    }

    pub(crate) fn handle(&mut self, event: WatchEvent<'_>) {
        match event {
            WatchEvent::Output(output) => match &self.bar {
                Some(bar) => bar.suspend(|| write(output)),
                None => write(output),
            },
            WatchEvent::Progress(progress) => self.show(progress),
            WatchEvent::Ended => self.finish(),
        }
    }

    fn show(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.set_message(text(progress));
        } else if !self.is_quiet
            && self.last_plain.elapsed() >= PLAIN_INTERVAL
            && progress.finished > self.last_finished
        {
            self.last_plain = Instant::now();
            self.last_finished = progress.finished;
            eprintln!("untether: {} s, {}", self.started.elapsed().as_secs(), text(progress));
        }
    }

    /// Whatever is printed after it stands where the live line was.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Progress of an isolated run.
pub(crate) struct RunDisplay {
    display: Display,
    progress: Progress,
    classes: usize,
    ended: usize,
    is_checking: bool,
    /// Whether the standard output is for a document: what the command prints goes to the other stream.
    is_document: bool,
}

impl RunDisplay {
    pub(crate) fn new(is_quiet: bool, is_document: bool) -> Self {
        RunDisplay {
            display: Display::new(is_quiet),
            progress: Progress::default(),
            classes: 0,
            ended: 0,
            is_checking: false,
            is_document,
        }
    }

    pub(crate) fn captures_output(&self) -> bool {
        self.is_document || self.display.captures_output()
    }

    pub(crate) fn handle(&mut self, event: RunEvent<'_>) {
        match event {
            // The live line is still needed where a check follows.
            RunEvent::Watch(WatchEvent::Ended) => {}
            RunEvent::Watch(WatchEvent::Output(output)) if self.is_document => {
                let aside = |line: &Output| match line {
                    Output::Out(bytes) | Output::Error(bytes) => Output::Error(bytes.clone()),
                };
                let aside: Vec<Output> = output.iter().map(aside).collect();
                self.display.handle(WatchEvent::Output(&aside));
            }
            RunEvent::Watch(event) => self.display.handle(event),
            RunEvent::Classes { count } => self.classes = count,
            RunEvent::Checking { count } => {
                (self.classes, self.ended, self.is_checking) = (count, 0, true);
                self.progress = Progress::default();
                self.display.last_finished = 0;
            }
            RunEvent::Ended(class) => {
                self.ended += 1;
                self.progress.finished += class.tests.len();
                let failed = class.tests.iter().filter(|test| test.verdict.status.is_failure()).count();
                self.progress.failed += failed;
                let what = if self.is_checking { "in JVMs of their own: " } else { "" };
                self.progress.current = Some(format!("{what}{} of {} classes", self.ended, self.classes));
                self.display.show(&self.progress);
            }
        }
    }

    pub(crate) fn finish(&mut self) {
        self.display.finish();
    }
}

/// Progress of a refinement.
pub(crate) struct RefineDisplay {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    started: Instant,
    last_plain: Instant,
    executions: usize,
    schedules: usize,
    /// Tests that were found to depend on the order.
    found: BTreeSet<String>,
    phase: Phase,
    /// Seconds from one schedule of the search to the next, of late; and when the last one ended.
    pace: Option<f64>,
    last_ran: Instant,
    /// How many schedules there will be at least, as far as is known.
    goal: usize,
}

impl RefineDisplay {
    pub(crate) fn new(is_quiet: bool) -> Self {
        let now = Instant::now();
        RefineDisplay {
            bar: live_line(is_quiet),
            is_quiet,
            started: now,
            last_plain: now,
            executions: 0,
            schedules: 0,
            found: BTreeSet::new(),
            phase: Phase::Reference,
            pace: None,
            last_ran: now,
            goal: 0,
        }
    }

    pub(crate) fn handle(&mut self, event: RefineEvent<'_>) {
        match event {
            RefineEvent::Phase(phase) => self.enter(phase),
            RefineEvent::Known { schedules } => self.schedules += schedules,
            RefineEvent::Ran { tests } => self.count(tests),
            RefineEvent::Found(finding) => self.announce(finding),
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        if let Phase::Searching { left } = phase {
            self.goal = self.schedules + left;
        }
        self.last_ran = Instant::now();
        self.show();
    }

    fn count(&mut self, tests: usize) {
        self.executions += tests;
        self.schedules += 1;
        if matches!(self.phase, Phase::Searching { .. }) {
            let seconds = self.last_ran.elapsed().as_secs_f64();
            self.pace = Some(self.pace.map_or(seconds, |pace| 0.8 * pace + 0.2 * seconds));
        }
        self.last_ran = Instant::now();
        self.show();
    }

    fn show(&mut self) {
        let phase = match self.phase {
            Phase::Reference => "running the original order".to_owned(),
            Phase::Searching { .. } => format!("trying other orders{}", self.estimate()),
            Phase::Pairs { left } => format!("trying pairs of tests, {left} to go"),
            Phase::Explaining { left } => format!("explaining what differs, {left} to go"),
            Phase::Causes { left } => format!("proving causes, {left} to go"),
        };
        let found = count(self.found.len(), "test depends on the order", "tests depend on the order");
        let text = format!("{phase}; {found} so far (test executions: {})", self.executions);
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if !self.is_quiet && self.last_plain.elapsed() >= PLAIN_INTERVAL {
            self.last_plain = Instant::now();
            eprintln!("untether: {} s, {text}", self.started.elapsed().as_secs());
        }
    }

    /// What is left of the search, at the pace of late.
    fn estimate(&self) -> String {
        let left = self.goal.saturating_sub(self.schedules);
        if left == 0 {
            return String::new();
        }
        let more = count(left, "more schedule", "more schedules");
        match self.pace {
            Some(pace) => format!(", at least {more}, about {}", duration(pace * left as f64)),
            None => format!(", at least {more}"),
        }
    }

    /// A test whose outcome depends on the order, as soon as that is proved.
    fn announce(&mut self, finding: &Finding) {
        self.found.insert(finding.test.clone());
        let text = format!("untether: found: {}", finding_sentence(finding));
        match &self.bar {
            Some(bar) => bar.println(text),
            None if !self.is_quiet => eprintln!("{text}"),
            None => {}
        }
        self.show();
    }

    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// A length of time as people say it.
fn duration(seconds: f64) -> String {
    if seconds < 90.0 { format!("{} s", seconds.ceil()) } else { format!("{} min", (seconds / 60.0).ceil()) }
}

fn text(progress: &Progress) -> String {
    let mut text = count(progress.finished, "test", "tests");
    if progress.failed > 0 {
        text.push_str(&format!(", {} failed", progress.failed));
    }
    if let Some(current) = &progress.current {
        text.push_str(&format!(", {current}"));
    }
    text
}

/// Passes the command's lines on, each to its own stream. A closed stream is not our problem.
fn write(output: &[Output]) {
    for line in output {
        let _ = match line {
            Output::Out(bytes) => std::io::stdout().write_all(bytes),
            Output::Error(bytes) => std::io::stderr().write_all(bytes),
        };
    }
    let _ = std::io::stdout().flush();
}
