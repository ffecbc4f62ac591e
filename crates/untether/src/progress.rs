//! Progress of a watched run: one live line on a terminal, a plain line now and then elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use untether_runner::{Output, Progress};

const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

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
        let bar = (!is_quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Display { bar, is_quiet, started: Instant::now(), last_plain: Instant::now(), last_finished: 0 }
    }

    /// Whether the command's output must pass through us, so that the live line stays below it.
    pub(crate) fn captures_output(&self) -> bool {
        self.bar.is_some()
    }

    pub(crate) fn update(&mut self, progress: &Progress, output: &[Output]) {
        if let Some(bar) = &self.bar {
            if !output.is_empty() {
                bar.suspend(|| write(output));
            }
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

    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn text(progress: &Progress) -> String {
    let mut text = format!("{} tests", progress.finished);
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
