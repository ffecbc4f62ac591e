//! `untether-bench select --repository`: what `untether run` and others choose of the tests of a project while its
//! revisions go by, and what all tests say to that.

mod reports;
mod repository;
mod show;
mod variant;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::report::Style;
use crate::revisions::repository::{WorkCopy, revisions};
use crate::revisions::show::{Replay, Row};
use crate::revisions::variant::{Build, Built, Variant, surefire_in};

#[derive(Args)]
pub(crate) struct RevisionsArguments {
    /// Replay revisions of the Maven project in this git repository instead, which stays as it is
    #[arg(long, value_name = "DIR", conflicts_with_all = ["subject", "java", "runs"])]
    repository: Option<PathBuf>,

    /// How many revisions that change a file below src, or a pom
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    revisions: u32,

    /// The last of them
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    until: String,

    /// Let this tool choose tests, too; may be repeated
    #[arg(long, value_name = "TOOL")]
    with: Vec<Variant>,

    /// A version of Surefire for all variants: STARTS needs 3.2.5 or older, Ekstazi 3.0.0-M7 or older
    #[arg(long, value_name = "VERSION")]
    surefire: Option<String>,

    /// A further argument of Maven, for all variants; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    maven_argument: Vec<String>,
}

impl RevisionsArguments {
    pub(crate) fn repository(&self) -> Option<&Path> {
        self.repository.as_deref()
    }
}

/// Whether `untether` missed no failure and all limits hold.
pub(crate) fn run(
    arguments: &RevisionsArguments,
    repository: &Path,
    directory: &Path,
    untether: PathBuf,
    timeout: u64,
    style: Style,
) -> Result<bool, Failure> {
    let repository = repository.canonicalize().map_err(Failure::io("find", repository))?;
    let name = repository.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let directory = directory.join("revisions").join(&name);
    let revisions = revisions(&repository, &arguments.until, arguments.revisions as usize)?;
    let outputs = directory.join("outputs");
    if outputs.exists() {
        fs::remove_dir_all(&outputs).map_err(Failure::io("remove", &outputs))?;
    }
    fs::create_dir_all(&outputs).map_err(Failure::io("create", &outputs))?;
    let build = Build {
        untether,
        arguments: arguments.maven_argument.clone(),
        surefire: arguments.surefire.clone(),
        limit: Duration::from_secs(timeout),
        outputs,
    };
    let mut variants = vec![Variant::All, Variant::Untether];
    variants.extend([Variant::Starts, Variant::Ekstazi].into_iter().filter(|variant| arguments.with.contains(variant)));
    let rows = replay(&build, &repository, &directory, &variants, &revisions)?;
    let surefire =
        revisions.first().and_then(|first| surefire_in(&build.outputs.join(format!("{}-all", short(first)))));
    let replay = Replay { name, variants, surefire, rows };
    replay.show(style);
    Ok(replay.is_good())
}

fn short(revision: &str) -> &str {
    &revision[..revision.len().min(9)]
}

fn replay(
    build: &Build,
    repository: &Path,
    directory: &Path,
    variants: &[Variant],
    revisions: &[String],
) -> Result<Vec<Row>, Failure> {
    let copy = |name: &str| WorkCopy::create(repository, directory.join(name));
    // Each has a folder of its own, and so its own memory of what it has built and seen.
    let mut copies = variants.iter().map(|variant| copy(variant.name())).collect::<Result<Vec<_>, _>>()?;
    let mut apart = copy("warm-up")?;
    let mut rows = Vec::new();
    for (number, revision) in revisions.iter().enumerate() {
        let surefire = build.surefire.as_deref();
        if apart.check_out(revision, surefire)? {
            for variant in variants.iter().filter(|variant| number == 0 || **variant == Variant::All) {
                build.warm_up(*variant, &apart)?;
            }
        }
        let mut built: Vec<Option<Built>> = vec![None; variants.len()];
        for turn in 0..variants.len() {
            // Whoever comes first warms the caches of the system for the others.
            let index = (turn + number) % variants.len();
            copies[index].check_out(revision, surefire)?;
            built[index] = Some(build.run(variants[index], &copies[index], short(revision))?);
        }
        let built = built.into_iter().flatten().collect();
        let mut row = Row { revision: short(revision).to_owned(), built, varying: BTreeSet::new() };
        if variants.iter().any(|variant| !row.missed(*variant).is_empty()) {
            // Nobody can be asked to foresee a failure that comes and goes.
            let again = build.run(Variant::All, &copies[0], &format!("{}-again", row.revision))?;
            row.note_second(&again);
        }
        eprintln!("{}", row.progress());
        rows.push(row);
    }
    Ok(rows)
}
