//! `untether-bench truth`: does the product find everything that there is? Suites are made up, brute force in fresh
//! JVMs says what is true of them, and what `untether refine` finds is compared with it.

mod cells;
mod couplings;
mod facts;
mod generator;
mod java;
mod judge;
mod libraries;
mod oracle;
mod product;
mod random;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Args;
use untether_runner::find_java;

use self::generator::LEAST_TESTS;
use self::libraries::Libraries;
use self::oracle::Oracle;
use self::random::Random;
use self::report::{Report, SuiteResult};
use crate::failure::Failure;
use crate::report::Style;

pub(crate) const HELP: &str = "Suites have 10 to 15 tests. Each takes about 200 JVMs of brute force besides what the \
product needs. A seed and a number name a suite for ever, as long as the generator is not changed.

Exit code: 0 if every test that depends on the order by itself or through one other test is found, nothing false is \
said and 95% of the causes are right, 1 if not, 2 if nothing could be measured at all.";

/// More would disturb each other.
const SUITES_AT_ONCE: u64 = 2;

#[derive(Args)]
pub(crate) struct TruthArguments {
    /// How many suites
    #[arg(long, value_name = "N", default_value_t = 10)]
    suites: u64,

    /// What decides everything that is random
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,

    /// Only the suite of this number; may be repeated
    #[arg(long, value_name = "NUMBER")]
    only: Vec<u64>,

    /// How many tests each has [default: 10 to 15, as it comes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(LEAST_TESTS as i64..=30))]
    tests: Option<u16>,

    /// How many schedules of three tests are tried, besides those that were planned
    #[arg(long, value_name = "N", default_value_t = 30)]
    triples: usize,

    /// How long one refinement may take
    #[arg(long, value_name = "TIME", default_value = "30m")]
    budget: String,

    /// Keep sources, class files and stores in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// The JDK or java executable
    #[arg(long, value_name = "PATH")]
    java: Option<PathBuf>,

    /// Print tables in Markdown
    #[arg(long)]
    markdown: bool,
}

impl TruthArguments {
    fn tests(&self) -> Option<usize> {
        self.tests.map(usize::from)
    }
}

/// What all suites share.
struct Bench<'b> {
    arguments: &'b TruthArguments,
    untether: PathBuf,
    java: PathBuf,
    /// By the name of what suites need.
    libraries: BTreeMap<&'static str, Libraries>,
    suites: PathBuf,
    jobs: usize,
}

/// Whether the limits hold.
pub(crate) fn run(arguments: &TruthArguments) -> Result<bool, Failure> {
    let here = std::env::current_exe().map_err(Failure::io("find", Path::new("this program")))?;
    let target = here.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    let numbers: Vec<u64> =
        if arguments.only.is_empty() { (0..arguments.suites).collect() } else { arguments.only.clone() };
    let own = target.join("bench/truth");
    let mut bench = Bench {
        arguments,
        untether: here.with_file_name("untether"),
        java: on_path(find_java(arguments.java.as_deref()).map_err(|error| Failure::new(error.to_string()))?),
        libraries: BTreeMap::new(),
        suites: arguments.keep.clone().unwrap_or_else(|| own.join(format!("suites-{}", std::process::id()))),
        jobs: if numbers.len() == 1 { 2 } else { 1 },
    };
    let started = Instant::now();
    let results = Mutex::new(Report::new(arguments.seed));
    let next = AtomicU64::new(0);
    for &number in &numbers {
        let suite = generator::suite(arguments.seed, number, arguments.tests());
        let name = libraries::name_of(&suite);
        if !bench.libraries.contains_key(name) {
            let scratch = bench.suites.join("libraries");
            let libraries = Libraries::of(&suite, &bench.java, &own.join("libraries"), &scratch)?;
            bench.libraries.insert(name, libraries);
        }
    }
    thread::scope(|scope| {
        for _ in 0..SUITES_AT_ONCE.min(numbers.len() as u64) {
            scope.spawn(|| {
                while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let result = bench.suite(number);
                    let mut report = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    eprintln!("{}", report.add(number, result));
                    // Beside the suite, for who does not want to wait for the others.
                    let file = bench.suites.join(format!("suite-{number}/complaints.txt"));
                    let _ = fs::write(file, report.complaints(number).join("\n") + "\n");
                }
            });
        }
    });
    let mut report = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    report.finish(started.elapsed());
    if arguments.keep.is_none() {
        // The next run begins with an empty folder anyway.
        let _ = fs::remove_dir_all(&bench.suites);
    }
    print!("{}", report.render(if arguments.markdown { Style::Markdown } else { Style::Text }));
    Ok(report.is_good())
}

/// Workers want a path, not a name.
fn on_path(java: PathBuf) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_name = java.components().count() == 1;
    let found = std::env::split_paths(&folders).map(|folder| folder.join(&java)).find(|path| is_name && path.is_file());
    found.unwrap_or(java)
}

impl Bench<'_> {
    fn suite(&self, number: u64) -> Result<SuiteResult, Failure> {
        let suite = generator::suite(self.arguments.seed, number, self.arguments.tests());
        let folder = self.suites.join(format!("suite-{number}"));
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Failure::io("remove", &folder))?;
        }
        let Some(libraries) = self.libraries.get(libraries::name_of(&suite)) else {
            return Err(Failure::new("its libraries are not known"));
        };
        let classes = folder.join("classes");
        let sources = folder.join("src/truth");
        libraries::compile(java::sources(&suite), &sources, &classes, &libraries.class_path)?;
        let started = Instant::now();
        let mut oracle = Oracle::new(&self.java, libraries, &folder, self.jobs)?;
        let mut random = Random::of(self.arguments.seed, number + 1);
        let facts = oracle.facts(&suite, self.arguments.triples, &mut random)?;
        let oracle_seconds = started.elapsed().as_secs_f64();
        let run = product::Run {
            untether: &self.untether,
            java: &self.java,
            class_path: &format!("{}:{}", classes.display(), libraries.class_path),
            folder: &folder,
            budget: &self.arguments.budget,
            jobs: self.jobs,
        };
        let document = run.refine(&suite.tests())?;
        let judged: Result<Vec<_>, Failure> =
            document.findings.iter().map(|finding| judge::judge(finding, &suite.cells, &mut oracle)).collect();
        Ok(SuiteResult::new(suite, &facts, judged?, &document, (oracle_seconds, oracle.jvms)))
    }
}
