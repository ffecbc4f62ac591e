//! `untether-bench detect`: plain and watched runs by turns, for each suite and JDK.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use untether_runner::find_java;

use crate::failure::Failure;
use crate::outcomes::differences;
use crate::report::{Measurement, Report, Style};
use crate::statistics::median;
use crate::subject::{self, Subject};
use crate::suite::{Run, Suite};

pub(crate) const EXIT_CODES: &str =
    "Exit code: 0 if every suite ran and every limit holds, 1 if not, 2 if nothing could be measured at all.";

#[derive(Args)]
pub(crate) struct DetectArguments {
    /// Only this suite of benches/subjects.toml; may be repeated
    #[arg(long, value_name = "NAME")]
    subject: Vec<String>,

    /// How often each suite runs without and with untether, by turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Also run each suite watched with --no-external, to see what watching files, sockets and processes adds
    #[arg(long)]
    external: bool,

    /// The home of a JDK; may be repeated [default: that of JAVA_HOME, or else of the PATH]
    #[arg(long, value_name = "HOME")]
    java: Vec<PathBuf>,

    /// Print tables in Markdown
    #[arg(long)]
    markdown: bool,

    /// Give up on a suite if one run takes longer than this
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,
}

/// A JDK to measure on.
pub(crate) struct Jdk {
    pub(crate) java: PathBuf,
    pub(crate) version: String,
}

/// What all measurements share.
struct Bench<'a> {
    arguments: &'a DetectArguments,
    untether: PathBuf,
    directory: PathBuf,
}

/// Whether every suite ran and every limit holds.
pub(crate) fn run(arguments: &DetectArguments) -> Result<bool, Failure> {
    let subjects = subject::select(&arguments.subject)?;
    let jdks = jdks(&arguments.java)?;
    let bench = Bench::new(arguments)?;
    let style = if arguments.markdown { Style::Markdown } else { Style::Text };
    let mut is_good = true;
    for jdk in &jdks {
        let mut report = Report::new(&jdk.version, arguments.runs);
        for subject in &subjects {
            match bench.measure(subject, jdk) {
                Ok(measurement) => report.add(measurement),
                Err(failure) => {
                    eprintln!("{}, JDK {}: error: {failure}", subject.name, jdk.version);
                    report.add_error(&subject.name, failure);
                }
            }
        }
        println!("{}", report.render(style));
        is_good &= report.is_good();
    }
    Ok(is_good)
}

pub(crate) fn jdks(homes: &[PathBuf]) -> Result<Vec<Jdk>, Failure> {
    if homes.is_empty() {
        return Ok(vec![jdk(None)?]);
    }
    homes.iter().map(|home| jdk(Some(&home.canonicalize().map_err(Failure::io("find the JDK", home))?))).collect()
}

fn jdk(home: Option<&Path>) -> Result<Jdk, Failure> {
    let java = find_java(home).map_err(|error| Failure::new(error.to_string()))?;
    let output = Command::new(&java).arg("-version").output().map_err(Failure::io("start", &java))?;
    let text = String::from_utf8_lossy(&output.stderr);
    // The first line is like: openjdk version "17.0.15" 2025-04-15
    let version = text.lines().find(|line| line.contains(" version ")).and_then(|line| line.split('"').nth(1));
    let version = version.ok_or_else(|| Failure::new(format!("{} does not say its version", java.display())))?;
    Ok(Jdk { version: version.to_owned(), java })
}

impl<'a> Bench<'a> {
    /// Finds the product beside this program; files go to `bench` in Cargo's target folder.
    fn new(arguments: &'a DetectArguments) -> Result<Self, Failure> {
        let here = std::env::current_exe().map_err(Failure::io("find", Path::new("this program")))?;
        let untether = here.with_file_name("untether");
        if !untether.exists() {
            let message = format!("{} is missing: build the whole workspace with the same profile", untether.display());
            return Err(Failure::new(message));
        }
        let target = here.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
        Ok(Bench { arguments, untether, directory: target.join("bench") })
    }

    fn measure(&self, subject: &Subject, jdk: &Jdk) -> Result<Measurement, Failure> {
        eprintln!("{}, JDK {}: resolving the class path", subject.name, jdk.version);
        let directory = self.directory.join(&subject.name);
        let suite = Suite::prepare(subject, directory, Duration::from_secs(self.arguments.timeout))?;
        let (mut plain, mut watched, mut heap_only) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 1..=self.arguments.runs {
            let say = |kind: &str, run: &Run| {
                let usage = run.usage;
                eprintln!(
                    "{}, JDK {}: {kind} run {turn} of {}: {:.1} s CPU, {:.1} s wall, {:.0} MB, {} tests, {} failed",
                    subject.name,
                    jdk.version,
                    self.arguments.runs,
                    usage.cpu_seconds,
                    usage.wall_seconds,
                    usage.peak_megabytes,
                    run.outcomes.ran(),
                    run.outcomes.failed(),
                );
            };
            let run = suite.run_plain(&jdk.java)?;
            say("plain", &run);
            plain.push(run);
            let run = suite.run_watched(&jdk.java, &self.untether, &[])?;
            say("watched", &run);
            watched.push(run);
            if self.arguments.external {
                let run = suite.run_watched(&jdk.java, &self.untether, &["--no-external"])?;
                say("heap-only", &run);
                heap_only.push(run.usage.cpu_seconds);
            }
        }
        let heap_cpu = (!heap_only.is_empty()).then(|| median(heap_only));
        Ok(sum_up(subject, plain, watched, heap_cpu))
    }
}

fn sum_up(subject: &Subject, plain: Vec<Run>, watched: Vec<Run>, heap_cpu: Option<f64>) -> Measurement {
    let cpu = |runs: &[Run]| median(runs.iter().map(|run| run.usage.cpu_seconds));
    let wall = |runs: &[Run]| median(runs.iter().map(|run| run.usage.wall_seconds));
    let peak = |runs: &[Run]| median(runs.iter().map(|run| run.usage.peak_megabytes));
    let dependencies = median(watched.iter().map(|run| run.dependencies as f64));
    let (plain_cpu, watched_cpu) = (cpu(&plain), cpu(&watched));
    let wall_ratio = wall(&watched) / wall(&plain);
    let (plain_peak, watched_peak) = (peak(&plain), peak(&watched));
    let tests = plain.first().map_or(0, |run| run.outcomes.ran());
    let outcomes = |runs: Vec<Run>| runs.into_iter().map(|run| run.outcomes).collect::<Vec<_>>();
    Measurement {
        name: subject.name.clone(),
        framework: subject.framework,
        tests,
        plain_cpu,
        watched_cpu,
        heap_cpu,
        wall_ratio,
        plain_peak,
        watched_peak,
        dependencies: dependencies as usize,
        differences: differences(&outcomes(plain), &outcomes(watched)),
    }
}
