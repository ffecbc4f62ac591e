//! What can be typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use untether_engine::Strategy;

/// Frees the tests of a Java suite from each other.
///
/// Exit codes: 0 all is well, 1 tests failed (the exit code of a build tool is passed on as it is), 2 wrong usage
/// or input, 3 an internal problem, 130 or 143 interrupted (what was seen is kept).
#[derive(Debug, Parser)]
#[command(
    name = "untether",
    version,
    arg_required_else_help = true,
    after_help = "Examples:
  untether detect -- mvn test
  untether deps
  untether why WriterTest#fills ReaderTest#reads
  untether refine
  untether run -- mvn test"
)]
pub(crate) struct Arguments {
    /// Where results are kept [default: .untether, of this folder or the nearest one above that has it]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tests once and find out which depend on which
    Detect(DetectArguments),
    /// Show the dependencies of the last run
    Deps(DepsArguments),
    /// Find out which dependencies change an outcome, each with a schedule that proves it
    Refine(RefineArguments),
    /// Run the proof of a finding again and show both outcomes
    Replay(ReplayArguments),
    /// Run only the test classes that a change can affect; or all, isolated from each other
    Run(RunArguments),
    /// Show which test classes 'untether run' would run now, and why
    Select(SelectArguments),
    /// Show why a test class would be run, or not
    Explain(ExplainArguments),
    /// Show through what one test depends on another, with the stacks of the write and the read
    Why(WhyArguments),
    /// Look after what is remembered: add what another store knows
    Store(StoreArguments),
    /// Show what could not be watched in the last run, and check this machine
    Doctor(DoctorArguments),
    /// Print the default rules, to copy from into untether.toml
    #[command(after_help = "Examples:
  untether config
  untether config | grep -n Locale")]
    Config,
    /// Print a completion script for a shell
    #[command(after_help = "Examples:
  untether completions bash > ~/.local/share/bash-completion/completions/untether
  untether completions zsh > \"${fpath[1]}/_untether\"
  untether completions fish > ~/.config/fish/completions/untether.fish")]
    Completions { shell: Shell },
    /// Write a manual page for each command into a folder
    #[command(after_help = "Examples:
  untether manual ~/.local/share/man/man1")]
    Manual { folder: PathBuf },
}

/// Ends with clap's message, and with a hint where a build tool's command was given like arguments of our own.
pub(crate) fn explain(error: clap::Error) -> ! {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let takes_command = |word: &&String| word.as_str() == "detect" || word.as_str() == "run";
    let command = words.iter().find(takes_command).filter(|_| !words.iter().any(|word| word == "--"));
    if let (ErrorKind::UnknownArgument, Some(name)) = (error.kind(), command) {
        let rest: Vec<&str> = words.iter().skip_while(|word| *word != name).skip(1).map(String::as_str).collect();
        // Ours come first; the command starts with the first word that is no option.
        let start = rest.iter().position(|word| !word.starts_with('-')).unwrap_or(0);
        let (ours, command) = rest.split_at(start);
        let ours: String = ours.iter().map(|option| format!("{option} ")).collect();
        anstream::eprintln!(
            "untether: {} the command that runs the tests comes after '--': untether {name} {ours}-- {}",
            untether_report::style::bad("error:"),
            command.join(" ")
        );
        std::process::exit(2);
    }
    error.exit()
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  untether detect -- mvn test
  untether detect -- mvn verify -pl core
  untether detect --classpath target/test-classes:target/classes:lib/junit.jar")]
pub(crate) struct DetectArguments {
    /// Run without a build tool: the class path, with JUnit and the test classes
    #[arg(long, value_name = "CP", conflicts_with = "build")]
    pub(crate) classpath: Option<String>,
    /// A file with test classes or tests (pkg.Class#method), one per line, to run in that order
    #[arg(long, value_name = "FILE", requires = "classpath")]
    pub(crate) order: Option<PathBuf>,
    /// Only classes whose name matches, such as '*Test' or 'com.example.**'; may be repeated
    #[arg(long, value_name = "GLOB", requires = "classpath")]
    pub(crate) include: Vec<String>,
    /// Not the classes whose name matches; may be repeated
    #[arg(long, value_name = "GLOB", requires = "classpath")]
    pub(crate) exclude: Vec<String>,
    /// Look for test classes in this folder or jar of the class path; may be repeated
    #[arg(long, value_name = "PATH", requires = "classpath")]
    pub(crate) scan: Vec<PathBuf>,
    /// The JDK or java executable to use with --classpath
    #[arg(long, value_name = "PATH", requires = "classpath")]
    pub(crate) java: Option<PathBuf>,
    /// An option for the JVM; may be repeated
    #[arg(long, value_name = "OPTION", requires = "classpath", allow_hyphen_values = true)]
    pub(crate) jvm_arg: Vec<String>,
    /// End the run after this long (such as 90s, 10m or 2h) and keep what was seen until then
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Watch only the heap: no files, sockets and child processes
    #[arg(long)]
    pub(crate) no_external: bool,
    /// Do not show progress or the summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The command of the build tool, after '--'
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) build: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// The second test read what the first one wrote
    Data,
    /// The second test overwrote what the first one had read
    Anti,
    /// The second test reads what the first one changes, in whatever order they ran
    Candidate,
    /// Its violation was seen to change an outcome: what 'untether refine' found
    Manifest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Table,
    Json,
    /// For Graphviz
    Dot,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Shows what touches the project's own state: fields of its classes, and properties, locale, time zone \
and standard streams that its code sets. 'untether why WRITER READER' explains one pair.

Examples:
  untether deps
  untether deps --test OrderTest --kind data --kind anti
  untether deps --class-level --format dot | dot -Tsvg > tests.svg
  untether deps --kind manifest"
)]
pub(crate) struct DepsArguments {
    /// Only dependencies from or to this test or class, such as com.example.ATest#m, ATest#m, ATest or module:ATest
    #[arg(long, value_name = "TEST")]
    pub(crate) test: Option<String>,
    /// Only tests of this module, where the run had several
    #[arg(long, value_name = "MODULE")]
    pub(crate) module: Option<String>,
    /// Between classes instead of between tests
    #[arg(long)]
    pub(crate) class_level: bool,
    /// Which dependencies; may be repeated [default: data]
    #[arg(long, value_enum)]
    pub(crate) kind: Vec<Kind>,
    /// Also those only inside of libraries and the JDK, in tables and graphs; JSON always has them
    #[arg(long)]
    pub(crate) libraries: bool,
    /// Every field and every pair in the table, however many
    #[arg(long)]
    pub(crate) all: bool,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: GraphFormat,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Uses the JVMs that the last 'untether detect' captured; no build tool is needed. A refinement that \
is interrupted goes on where it was when it is started again.

Exit codes: 0 done, 1 what --fail-on names was found, 2 wrong usage or input, 3 an internal problem.

Examples:
  untether refine
  untether refine --budget 10m -j 4
  untether refine --fail-on new"
)]
pub(crate) struct RefineArguments {
    /// How many JVMs run at the same time [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// Stop after this long (such as 90s, 10m or 2h) and keep what was found until then
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,
    /// How to search: guided, pradet, reverse, isolate, pairs or random:N:SEED
    #[arg(long, value_name = "STRATEGY", default_value = "guided")]
    pub(crate) strategy: Strategy,
    /// End a test that runs longer than this
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(crate) test_timeout: Duration,
    /// How often the original order is run, to find tests that vary by themselves
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) reference_runs: u16,
    /// Only find out about this test or class; may be repeated
    #[arg(long, value_name = "TEST")]
    pub(crate) test: Vec<String>,
    /// Forget what earlier refinements found and look at every test again
    #[arg(long)]
    pub(crate) fresh: bool,
    /// End with exit code 1 if something was found: anything, or what the last refinement did not have
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Do not show progress or the summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A test class is left out if it passed before, and every class that it used is as it was then, with the same JVM, \
settings and test framework. What has changed is seen after the build tool has compiled. Everything that is not understood \
is run. Without a command, test classes are run in JVMs like those that were last seen.

With --isolate all test classes are run, and what each changes in memory is put back when it ends: static fields and all that \
they lead to, in the project, in libraries and in the JDK (properties, locale, time zone, loggers, streams). So the next class \
finds what it would find in a JVM of its own. What cannot be put back, such as threads that go on, costs a new JVM; inside of a \
build tool it is named instead. Projects that start a JVM for each class (reuseForks=false) run in one JVM per module.

Exit codes: those of the build tool, or 0 all passed, 1 tests failed or --check or --audit found something, 2 wrong usage or \
input, 3 an internal problem.

Examples:
  untether run -- mvn test
  untether run --granularity test -- mvn test
  untether run --all -- mvn test
  untether run --audit -- mvn test
  untether run --isolate -- mvn test
  untether run --isolate -j 2 --check"
)]
pub(crate) struct RunArguments {
    /// Put back what was changed after each class, or after each test
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "class"
    )]
    pub(crate) isolate: Option<Isolate>,
    /// Put files back as well: those of the project's folder and of the folder for temporary files
    #[arg(long, requires = "isolate")]
    pub(crate) isolate_files: bool,
    /// What is left out: whole test classes, or also single tests of JUnit Jupiter, once 'untether detect' has seen what the
    /// tests of a class leave for each other
    #[arg(long, value_enum, value_name = "WHAT", default_value = "class", conflicts_with = "isolate")]
    pub(crate) granularity: Granularity,
    /// Run everything, and remember what it uses
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) all: bool,
    /// Do not remember what the tests use
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) no_collect: bool,
    /// Afterwards run what was left out as well, and report every test of it that fails
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) audit: bool,
    /// Say of each selected test class why
    #[arg(long, short, conflicts_with = "isolate")]
    pub(crate) verbose: bool,
    /// Do not look at files, sockets and child processes: what tests read there selects nothing
    #[arg(long, conflicts_with = "isolate")]
    pub(crate) no_external: bool,
    /// Also run each class in a fresh JVM, and report every test that comes to something else
    #[arg(long, requires = "isolate")]
    pub(crate) check: bool,
    /// How many JVMs run at the same time, without a build tool [default: the number of processors]
    #[arg(short, long, value_name = "N", requires = "isolate", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
    /// End a test that runs longer than this, without a build tool
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    pub(crate) test_timeout: Duration,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Do not show progress or the summary
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The command that runs the tests
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) build: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Looks at the class files as they are, so compile first. Nothing is run and nothing is written.

Examples:
  untether select
  untether select --format json")]
pub(crate) struct SelectArguments {
    /// What is left out: whole test classes, or also single tests
    #[arg(long, value_enum, value_name = "WHAT", default_value = "class")]
    pub(crate) granularity: Granularity,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  untether explain com.example.CartTest
  untether explain CartTest")]
pub(crate) struct ExplainArguments {
    /// The test class, or a test of it
    pub(crate) test: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolate {
    Class,
    Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Granularity {
    Class,
    Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    New,
    Any,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 the outcomes were those of the finding, 1 they were not.

Examples:
  untether replay 7b79d2
  untether replay 7b --format json")]
pub(crate) struct ReplayArguments {
    /// The id of a finding, as 'untether deps --kind manifest' shows it
    pub(crate) id: String,
    /// End a test that runs longer than this
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(crate) test_timeout: Duration,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

/// A number and its unit; seconds where there is none.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("not a time such as 90s, 10m or 2h".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "not a time such as 90s, 10m or 2h".to_owned())?;
    match number.checked_mul(seconds) {
        Some(0) | None => Err("must be at least one second, and not without end".to_owned()),
        Some(seconds) => Ok(Duration::from_secs(seconds)),
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Tests can be given as com.example.ATest#m, ATest#m or m, with module: in front where two modules have the \
same; a class stands for its tests and fixtures.

Examples:
  untether why com.example.WriterTest#fills com.example.ReaderTest#reads
  untether why WriterTest ReaderTest --format json"
)]
pub(crate) struct WhyArguments {
    /// The test (or class) that wrote
    pub(crate) writer: String,
    /// The test (or class) that read
    pub(crate) reader: String,
    /// The module of both tests, where the run had several
    #[arg(long, value_name = "MODULE")]
    pub(crate) module: Option<String>,
    /// Every resource with its whole stacks, not only the most telling one
    #[arg(long)]
    pub(crate) all: bool,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  untether store merge ../shard-1/.untether ../shard-2/.untether"
)]
pub(crate) struct StoreArguments {
    #[command(subcommand)]
    pub(crate) command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Add what other stores know of what test classes use, such as those of the shards of a CI build
    #[command(
        after_help = "What was known stays: of two records of the same content the newer one is kept. Dependencies between \
tests and findings are not added.

Examples:
  untether store merge ../shard-1/.untether ../shard-2/.untether
  untether store merge ../other-checkout"
    )]
    Merge {
        /// The folders of the other stores, or of their projects
        #[arg(required = true, value_name = "OTHER")]
        others: Vec<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  untether doctor
  untether doctor --format json")]
pub(crate) struct DoctorArguments {
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}
