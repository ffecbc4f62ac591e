//! `untether-bench select`: what it costs to see which classes tests use, by turns with plain runs, and how long it takes to
//! find out that nothing has changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use crate::detect::{Jdk, jdks};
use crate::failure::Failure;
use crate::outcomes::differences;
use crate::report::{Limit, Style, limit_rows, table};
use crate::revisions::{self, RevisionsArguments};
use crate::statistics::{geometric_mean, median};
use crate::subject::{self, Subject};
use crate::suite::Suite;

pub(crate) const HELP: &str =
    "A suite runs in one plain JVM, and in one that is watched by 'untether run --all', from the start \
of untether to its end.

With --repository, revisions are replayed from old to new, each variant in a copy of its own: all tests with 'mvn test', \
'untether run -- mvn test' with the store that it has kept from the revisions before, and other tools with --with (the \
goals edu.illinois:starts-maven-plugin:1.4:starts and org.ekstazi:ekstazi-maven-plugin:5.3.0:ekstazi). Only what changes \
when a revision is checked out is compiled again. What ran and what failed is read from Surefire's reports. What fails in \
one of two full runs only is missed by nobody. Where a pom has changed, dependencies are fetched beforehand; measured \
builds are offline. What each build printed stays in target/bench/revisions.

Exit code: 0 if every suite ran and every limit holds, 1 if not, 2 if nothing could be measured at all.";

const MOST_MEAN_CPU_RATIO: f64 = 1.08;
const MOST_CPU_RATIO: f64 = 1.20;
const MOST_SELECT_SECONDS: f64 = 0.15;

/// How often `untether select` is timed.
const SELECTIONS: usize = 5;

#[derive(Args)]
pub(crate) struct SelectArguments {
    /// Only this suite of benches/subjects.toml; may be repeated
    #[arg(long, value_name = "NAME")]
    subject: Vec<String>,

    /// How often each suite runs plainly and watched, by turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// The home of a JDK; may be repeated [default: that of JAVA_HOME, or else of the PATH]
    #[arg(long, value_name = "HOME")]
    java: Vec<PathBuf>,

    /// Print tables in Markdown
    #[arg(long)]
    markdown: bool,

    /// Give up on a suite if one run takes longer than this
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,

    #[command(flatten)]
    revisions: RevisionsArguments,
}

/// One suite: medians of its runs, in seconds.
struct Measurement {
    name: String,
    tests: u64,
    plain_cpu: f64,
    collecting_cpu: f64,
    wall_ratio: f64,
    select_seconds: f64,
    /// Test classes that are selected though nothing has changed.
    selected: usize,
    classes: usize,
    differences: usize,
}

impl Measurement {
    fn cpu_ratio(&self) -> f64 {
        self.collecting_cpu / self.plain_cpu
    }
}

/// Whether every suite ran and every limit holds.
pub(crate) fn run(arguments: &SelectArguments) -> Result<bool, Failure> {
    let here = std::env::current_exe().map_err(Failure::io("find", Path::new("this program")))?;
    let untether = here.with_file_name("untether");
    let directory = here.parent().and_then(Path::parent).unwrap_or(Path::new("target")).join("bench");
    let style = if arguments.markdown { Style::Markdown } else { Style::Text };
    if let Some(repository) = arguments.revisions.repository() {
        return revisions::run(&arguments.revisions, repository, &directory, untether, arguments.timeout, style);
    }
    let subjects = subject::select(&arguments.subject)?;
    let mut is_good = true;
    for jdk in &jdks(&arguments.java)? {
        let mut measured = Vec::new();
        for subject in &subjects {
            match measure(arguments, subject, jdk, &untether, &directory) {
                Ok(measurement) => measured.push(measurement),
                Err(failure) => {
                    is_good = false;
                    eprintln!("{}, JDK {}: error: {failure}", subject.name, jdk.version);
                }
            }
        }
        println!("JDK {}, medians of {} runs each way\n", jdk.version, arguments.runs);
        println!("{}", table(&rows(&measured), style));
        let limits = limits(&measured);
        println!("{}", table(&limit_rows(&limits), style));
        is_good &= !measured.is_empty() && limits.iter().all(|limit| limit.holds);
    }
    Ok(is_good)
}

fn measure(
    arguments: &SelectArguments,
    subject: &Subject,
    jdk: &Jdk,
    untether: &Path,
    directory: &Path,
) -> Result<Measurement, Failure> {
    let suite = Suite::prepare(subject, directory.join(&subject.name), Duration::from_secs(arguments.timeout))?;
    let (mut plain, mut collecting) = (Vec::new(), Vec::new());
    let mut store = PathBuf::new();
    for turn in 1..=arguments.runs {
        plain.push(suite.run_plain(&jdk.java)?);
        let (run, made) = suite.run_collecting(&jdk.java, untether)?;
        collecting.push(run);
        store = made;
        let (one, other) = (plain[plain.len() - 1].usage, collecting[collecting.len() - 1].usage);
        eprintln!(
            "{}, JDK {}: run {turn}: CPU {:.1} and {:.1} s, wall {:.1} and {:.1} s",
            subject.name, jdk.version, one.cpu_seconds, other.cpu_seconds, one.wall_seconds, other.wall_seconds
        );
    }
    let mut times = Vec::new();
    let mut selection = (0, 0);
    for _ in 0..SELECTIONS {
        let started = Instant::now();
        selection = select(untether, &store)?;
        times.push(started.elapsed().as_secs_f64());
    }
    let wall = |runs: &[crate::suite::Run]| median(runs.iter().map(|run| run.usage.wall_seconds));
    let cpu = |runs: &[crate::suite::Run]| median(runs.iter().map(|run| run.usage.cpu_seconds));
    let (plain_cpu, collecting_cpu) = (cpu(&plain), cpu(&collecting));
    let wall_ratio = wall(&collecting) / wall(&plain);
    let tests = plain.first().map_or(0, |run| run.outcomes.ran());
    let outcomes = |runs: Vec<crate::suite::Run>| runs.into_iter().map(|run| run.outcomes).collect::<Vec<_>>();
    Ok(Measurement {
        name: subject.name.clone(),
        tests,
        plain_cpu,
        collecting_cpu,
        wall_ratio,
        select_seconds: median(times),
        selected: selection.0,
        classes: selection.0 + selection.1,
        differences: differences(&outcomes(plain), &outcomes(collecting)).len(),
    })
}

/// How many test classes are selected, and how many are not.
fn select(untether: &Path, store: &Path) -> Result<(usize, usize), Failure> {
    let output = Command::new(untether)
        .arg("--store")
        .arg(store)
        .args(["select", "--format", "json"])
        .stdin(Stdio::null())
        .output()
        .map_err(Failure::io("start", untether))?;
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        Failure::new(format!("cannot read the JSON of untether select: {error}; it said: {}", said.trim()))
    })?;
    let count = |key: &str| document[key].as_array().map_or(0, Vec::len);
    Ok((count("selected"), count("skipped")))
}

fn rows(measured: &[Measurement]) -> Vec<Vec<String>> {
    let heading = [
        "suite",
        "tests",
        "plain CPU s",
        "collecting CPU s",
        "CPU ratio",
        "wall ratio",
        "select s",
        "selected of classes",
        "differences",
    ];
    let row = |one: &Measurement| {
        vec![
            one.name.clone(),
            one.tests.to_string(),
            format!("{:.1}", one.plain_cpu),
            format!("{:.1}", one.collecting_cpu),
            format!("{:.2}", one.cpu_ratio()),
            format!("{:.2}", one.wall_ratio),
            format!("{:.3}", one.select_seconds),
            format!("{} of {}", one.selected, one.classes),
            one.differences.to_string(),
        ]
    };
    std::iter::once(heading.map(str::to_owned).to_vec()).chain(measured.iter().map(row)).collect()
}

fn limits(measured: &[Measurement]) -> Vec<Limit> {
    let Some(worst) = measured.iter().max_by(|a, b| a.cpu_ratio().total_cmp(&b.cpu_ratio())) else {
        return Vec::new();
    };
    let mean = geometric_mean(measured.iter().map(Measurement::cpu_ratio));
    let slowest = measured.iter().map(|one| one.select_seconds).fold(0.0, f64::max);
    let differences: usize = measured.iter().map(|one| one.differences).sum();
    let limit = |what: String, found: String, limit: String, holds: bool| Limit { what, found, limit, holds };
    vec![
        limit(
            "geometric mean of CPU ratios".to_owned(),
            format!("{mean:.2}"),
            format!("at most {MOST_MEAN_CPU_RATIO}"),
            mean <= MOST_MEAN_CPU_RATIO,
        ),
        limit(
            format!("worst CPU ratio ({})", worst.name),
            format!("{:.2}", worst.cpu_ratio()),
            format!("at most {MOST_CPU_RATIO}"),
            worst.cpu_ratio() <= MOST_CPU_RATIO,
        ),
        limit(
            "untether select, nothing changed".to_owned(),
            format!("{slowest:.3} s"),
            format!("at most {MOST_SELECT_SECONDS} s"),
            slowest <= MOST_SELECT_SECONDS,
        ),
        limit("outcome differences".to_owned(), differences.to_string(), "none".to_owned(), differences == 0),
    ]
}
