//! What keeps a command from being done.

use std::io;
use std::path::PathBuf;

use untether_project::{ClassPathError, ConfigError, OrderError};
use untether_report::NameError;
use untether_runner::{RunnerError, listen_for_signals};
use untether_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    ClassPath(#[from] ClassPathError),
    #[error(transparent)]
    Order(#[from] OrderError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Runner(#[from] RunnerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot create {path}: {source}")]
    CannotCreate { path: PathBuf, source: io::Error },
    #[error("cannot handle signals: {0}")]
    Signals(io::Error),
    #[error(
        "none of the tests could be run ({reason}); if the project was cleaned or has changed, build it and run \
         'untether detect' again"
    )]
    NothingRan { reason: String },
    #[error("{} is not a test that can be run by itself", tests.join(", "))]
    NotTests { tests: Vec<String> },
    /// What was found until then was stored.
    #[error("{0}")]
    Stopped(String),
    #[error("it is not known how the tests are run here: run 'untether run -- mvn test' first (with your own command)")]
    NothingRecorded,
    #[error("{path} is the store that others are to be added to: name those of other runs")]
    SameStore { path: PathBuf },
    #[error("there is no store in {path}: name the folder of another store, mostly .untether, or that of its project")]
    NothingToMerge { path: PathBuf },
    #[error("there is no refinement yet; run 'untether refine' first")]
    NoRefinement,
    #[error("the last refinement found nothing that could be replayed")]
    NoFindings,
    #[error("no finding has the id '{given}'; there are {}", known.join(", "))]
    UnknownFinding { given: String, known: Vec<String> },
    #[error("several findings have an id that starts with '{given}'; give all of it")]
    AmbiguousFinding { given: String },
    #[error("the finding's JVM was not recorded; run 'untether refine --fresh'")]
    NoLaunch,
    #[error("the replay was interrupted")]
    ReplayInterrupted { signal: u8 },
    #[error("the replay ran out of time")]
    ReplayOutOfTime,
}

/// From here on, signals stop what is under way instead of ending us.
pub(crate) fn listen() -> Result<(), EngineError> {
    listen_for_signals().map_err(EngineError::Signals)
}
