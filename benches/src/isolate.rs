//! `untether-bench isolate`: what isolation costs, by turns with plain runs, and what a JVM for each class costs instead.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::detect::{Jdk, jdks};
use crate::failure::Failure;
use crate::report::{Limit, Style, limit_rows, table};
use crate::statistics::{geometric_mean, median};
use crate::subject::{self, Subject};
use crate::suite::{Isolated, Suite};

pub(crate) const HELP: &str = "A suite runs in one plain JVM, and in one whose classes are isolated; then once more \
isolated, compared with a JVM for each class, which is also the time to beat.

Exit code: 0 if every suite ran and every limit holds, 1 if not, 2 if nothing could be measured at all.";

const MOST_MEAN_CPU_RATIO: f64 = 1.3;
const MOST_CPU_RATIO: f64 = 1.8;
/// How much longer a JVM for each class takes, of suites with so many.
const LEAST_GAIN: f64 = 4.0;
const MANY_CLASSES: usize = 50;

#[derive(Args)]
pub(crate) struct IsolateArguments {
    /// Only this suite of benches/subjects.toml; may be repeated
    #[arg(long, value_name = "NAME")]
    subject: Vec<String>,

    /// How often each suite runs without and with isolation, by turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// The home of a JDK; may be repeated [default: that of JAVA_HOME, or else of the PATH]
    #[arg(long, value_name = "HOME")]
    java: Vec<PathBuf>,

    /// Print tables in Markdown
    #[arg(long)]
    markdown: bool,

    /// Do not compare with a JVM for each class
    #[arg(long)]
    no_check: bool,

    /// Give up on a suite if one run takes longer than this
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    timeout: u64,
}

/// One suite: medians of its runs, in seconds.
struct Measurement {
    name: String,
    tests: u64,
    plain_cpu: f64,
    isolated_cpu: f64,
    plain_wall: f64,
    isolated_wall: f64,
    checked: Option<Isolated>,
}

impl Measurement {
    fn cpu_ratio(&self) -> f64 {
        self.isolated_cpu / self.plain_cpu
    }

    /// Of suites of which it says something.
    fn gain(&self) -> Option<f64> {
        let checked = self.checked.as_ref().filter(|checked| checked.classes >= MANY_CLASSES)?;
        Some(checked.alone_seconds / self.isolated_wall)
    }
}

/// Whether every suite ran and every limit holds.
pub(crate) fn run(arguments: &IsolateArguments) -> Result<bool, Failure> {
    let subjects = subject::select(&arguments.subject)?;
    let here = std::env::current_exe().map_err(Failure::io("find", Path::new("this program")))?;
    let untether = here.with_file_name("untether");
    let directory = here.parent().and_then(Path::parent).unwrap_or(Path::new("target")).join("bench");
    let style = if arguments.markdown { Style::Markdown } else { Style::Text };
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
        println!("{}\n{}", table(&rows(&measured), style), reasons(&measured));
        let limits = limits(&measured);
        println!("{}", table(&limit_rows(&limits), style));
        is_good &= !measured.is_empty() && limits.iter().all(|limit| limit.holds);
    }
    Ok(is_good)
}

fn measure(
    arguments: &IsolateArguments,
    subject: &Subject,
    jdk: &Jdk,
    untether: &Path,
    directory: &Path,
) -> Result<Measurement, Failure> {
    let suite = Suite::prepare(subject, directory.join(&subject.name), Duration::from_secs(arguments.timeout))?;
    let (mut plain, mut isolated) = (Vec::new(), Vec::new());
    let mut tests = 0;
    for turn in 1..=arguments.runs {
        let run = suite.run_plain(&jdk.java)?;
        tests = run.outcomes.ran();
        plain.push(run.usage);
        isolated.push(suite.run_isolated(&jdk.java, untether, false)?.usage);
        let (one, other) = (plain[plain.len() - 1], isolated[isolated.len() - 1]);
        eprintln!(
            "{}, JDK {}: run {turn}: CPU {:.1} and {:.1} s, wall {:.1} and {:.1} s",
            subject.name, jdk.version, one.cpu_seconds, other.cpu_seconds, one.wall_seconds, other.wall_seconds
        );
    }
    let checked = if arguments.no_check { None } else { Some(suite.run_isolated(&jdk.java, untether, true)?) };
    if let Some(checked) = &checked {
        eprintln!(
            "{}, JDK {}: {} classes, {:.1} s in JVMs of their own, {} differences",
            subject.name,
            jdk.version,
            checked.classes,
            checked.alone_seconds,
            checked.differences.len()
        );
    }
    Ok(Measurement {
        name: subject.name.clone(),
        tests,
        plain_cpu: median(plain.iter().map(|usage| usage.cpu_seconds)),
        isolated_cpu: median(isolated.iter().map(|usage| usage.cpu_seconds)),
        plain_wall: median(plain.iter().map(|usage| usage.wall_seconds)),
        isolated_wall: median(isolated.iter().map(|usage| usage.wall_seconds)),
        checked,
    })
}

fn rows(measured: &[Measurement]) -> Vec<Vec<String>> {
    let heading = [
        "suite",
        "classes",
        "tests",
        "plain CPU s",
        "isolated CPU s",
        "CPU ratio",
        "wall ratio",
        "JVM per class s",
        "gain",
        "not put back",
        "differences",
    ];
    let row = |one: &Measurement| {
        let checked = |text: fn(&Isolated) -> String| one.checked.as_ref().map_or("-".to_owned(), text);
        vec![
            one.name.clone(),
            checked(|it| it.classes.to_string()),
            one.tests.to_string(),
            format!("{:.1}", one.plain_cpu),
            format!("{:.1}", one.isolated_cpu),
            format!("{:.2}", one.cpu_ratio()),
            format!("{:.2}", one.isolated_wall / one.plain_wall),
            checked(|it| format!("{:.1}", it.alone_seconds)),
            one.checked.as_ref().map_or("-".to_owned(), |it| format!("{:.1}", it.alone_seconds / one.isolated_wall)),
            checked(|it| it.not_restored.len().to_string()),
            checked(|it| it.differences.len().to_string()),
        ]
    };
    std::iter::once(heading.map(str::to_owned).to_vec()).chain(measured.iter().map(row)).collect()
}

/// Differences, and why JVMs would have had to be replaced.
fn reasons(measured: &[Measurement]) -> String {
    let mut text = String::new();
    for (name, checked) in measured.iter().filter_map(|one| Some((&one.name, one.checked.as_ref()?))) {
        let lines = checked.differences.iter().map(|it| format!("differs: {it}"));
        for line in lines.chain(checked.not_restored.iter().map(|it| format!("not put back: {it}"))) {
            text.push_str(&format!("- {name}: {line}\n"));
        }
    }
    text
}

fn limits(measured: &[Measurement]) -> Vec<Limit> {
    let Some(worst) = measured.iter().max_by(|a, b| a.cpu_ratio().total_cmp(&b.cpu_ratio())) else {
        return Vec::new();
    };
    let mean = geometric_mean(measured.iter().map(Measurement::cpu_ratio));
    let gain = measured.iter().filter_map(Measurement::gain).fold(f64::INFINITY, f64::min);
    let differences: usize = measured.iter().filter_map(|one| Some(one.checked.as_ref()?.differences.len())).sum();
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
            format!("least gain over a JVM for each of {MANY_CLASSES} classes or more"),
            format!("{gain:.1}"),
            format!("at least {LEAST_GAIN}"),
            gain >= LEAST_GAIN,
        ),
        limit("outcome differences".to_owned(), differences.to_string(), "none".to_owned(), differences == 0),
    ]
}
