//! The ways to run the tests of a revision: all of them, and what each tool chooses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;

use crate::failure::Failure;
use crate::process::{End, Usage, measure};
use crate::revisions::reports::{self, Told};
use crate::revisions::repository::WorkCopy;

/// What is none of the tests. All variants go without it; a project that has not heard of a property ignores it.
const SWITCHED_OFF: &[&str] = &[
    "-Drat.skip",
    "-Dcheckstyle.skip",
    "-Denforcer.skip",
    "-Djacoco.skip",
    "-Danimal.sniffer.skip",
    "-Dspotbugs.skip",
    "-Dpmd.skip",
    "-Dcpd.skip",
    "-Djapicmp.skip",
    "-Drevapi.skip",
    "-Dcyclonedx.skip",
    "-Dmaven.javadoc.skip",
];

const STARTS: &str = "edu.illinois:starts-maven-plugin:1.4:starts";
const EKSTAZI: &str = "org.ekstazi:ekstazi-maven-plugin:5.3.0:ekstazi";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// All tests
    #[value(skip)]
    All,
    #[value(skip)]
    Untether,
    Starts,
    Ekstazi,
}

impl Variant {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Variant::All => "all",
            Variant::Untether => "untether",
            Variant::Starts => "STARTS",
            Variant::Ekstazi => "Ekstazi",
        }
    }

    fn goal(self) -> &'static str {
        match self {
            Variant::All | Variant::Untether => "test",
            Variant::Starts => STARTS,
            Variant::Ekstazi => EKSTAZI,
        }
    }
}

/// What all builds have in common.
#[derive(Debug)]
pub(crate) struct Build {
    pub(crate) untether: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) surefire: Option<String>,
    pub(crate) limit: Duration,
    /// For what builds print: a file each.
    pub(crate) outputs: PathBuf,
}

/// How a build of one variant went.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    pub(crate) variant: Variant,
    pub(crate) usage: Usage,
    pub(crate) told: Told,
    /// Why it is not the tests that it failed for.
    pub(crate) broken: Option<String>,
}

impl Build {
    /// Builds what is checked out.
    pub(crate) fn run(&self, variant: Variant, copy: &WorkCopy, revision: &str) -> Result<Built, Failure> {
        reports::clear(&copy.folder)?;
        let output = self.outputs.join(format!("{revision}-{}", variant.name()));
        let mut command = self.command(variant, &copy.folder, true);
        let (end, usage) = measure(&mut command, &output, self.limit)?;
        let told = reports::read(&copy.folder)?;
        let is_right = end == End::Exit(0) || (end == End::Exit(1) && !told.failed.is_empty());
        let broken = (!is_right).then(|| format!("{}: {}", end_text(end), error_in(&output)));
        Ok(Built { variant, usage, told, broken })
    }

    /// Builds without measuring, so that Maven has what it needs offline. Whether that goes well shows later.
    pub(crate) fn warm_up(&self, variant: Variant, copy: &WorkCopy) -> Result<(), Failure> {
        // What untether needs is what the tests need.
        let variant = if variant == Variant::Untether { Variant::All } else { variant };
        let output = self.outputs.join(format!("warm-up-{}", variant.name()));
        measure(&mut self.command(variant, &copy.folder, false), &output, self.limit).map(drop)
    }

    fn command(&self, variant: Variant, folder: &Path, is_offline: bool) -> Command {
        let mut command = if variant == Variant::Untether {
            let mut command = Command::new(&self.untether);
            command.args(["run", "--verbose", "--", "mvn"]);
            command
        } else {
            Command::new("mvn")
        };
        command.current_dir(folder).args(["-B", "-fae"]).args(is_offline.then_some("-o")).args(SWITCHED_OFF);
        if let Some(version) = &self.surefire {
            // What parents of projects call it.
            command.args(["surefire.version", "commons.surefire.version"].map(|name| format!("-D{name}={version}")));
        }
        command.args(&self.arguments).arg(variant.goal());
        if matches!(variant, Variant::Starts | Variant::Ekstazi) {
            // They add themselves to Maven's own JVM.
            let known = std::env::var("MAVEN_OPTS").unwrap_or_default();
            command.env("MAVEN_OPTS", format!("{known} -Djdk.attach.allowAttachSelf=true").trim_start());
        }
        command
    }
}

fn end_text(end: End) -> String {
    match end {
        End::Exit(status) => format!("exit code {status}"),
        End::Signal(signal) => format!("ended by signal {signal}"),
        End::Timeout => "took too long".to_owned(),
    }
}

/// The first error that Maven tells.
fn error_in(output: &Path) -> String {
    let text = fs::read_to_string(output).unwrap_or_default();
    let errors = text.lines().filter_map(|line| line.strip_prefix("[ERROR] "));
    let first = errors.map(str::trim).find(|line| !line.is_empty() && !line.starts_with("COMPILATION"));
    first.or_else(|| text.lines().last()).unwrap_or("no output").chars().take(300).collect()
}

/// The version of Surefire that a build used.
pub(crate) fn surefire_in(output: &Path) -> Option<String> {
    let text = fs::read_to_string(output).ok()?;
    let goal = ["surefire-plugin:", "surefire:"].iter().find_map(|name| text.split_once(name))?.1;
    goal.split_once(":test").map(|(version, _)| version.to_owned())
}
