//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Frees the tests of a Java suite from each other.
///
/// Exit codes: 0 all is well, 1 tests failed (the exit code of a build tool is passed on as it is), 2 wrong usage
/// or input, 3 an internal problem.
#[derive(Debug, Parser)]
#[command(name = "untether", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Where results are kept
    #[arg(long, global = true, value_name = "DIR", default_value = ".untether")]
    pub(crate) store: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tests once and find out which depend on which
    Detect(DetectArguments),
    /// Show the dependencies of the last run
    Deps(DepsArguments),
    /// Show through what one test depends on another, with the stacks of the write and the read
    Why(WhyArguments),
    /// Show what could not be watched in the last run, and check this machine
    Doctor(DoctorArguments),
    /// Print the default rules, to copy from into untether.toml
    Config,
    /// Print a completion script for a shell
    Completions { shell: Shell },
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  untether detect -- mvn test
  untether detect -- mvn verify -pl core
  untether detect --classpath target/test-classes:target/classes:lib/junit.jar")]
pub(crate) struct DetectArguments {
    /// Run without a build tool: the class path, with JUnit and the test classes
    #[arg(long, value_name = "CP", required_unless_present = "build", conflicts_with = "build")]
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
    /// End the run after this many seconds and keep what was seen until then
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Dot,
}

#[derive(Debug, Args)]
pub(crate) struct DepsArguments {
    /// Only dependencies from or to this test or class
    #[arg(long, value_name = "TEST")]
    pub(crate) test: Option<String>,
    /// Between classes instead of between tests
    #[arg(long)]
    pub(crate) class_level: bool,
    /// Which dependencies; may be repeated
    #[arg(long, value_enum)]
    pub(crate) kind: Vec<Kind>,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    /// The test (or class) that wrote
    pub(crate) writer: String,
    /// The test (or class) that read
    pub(crate) reader: String,
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// The form of the output
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}
