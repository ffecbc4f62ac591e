//! Errors as the user sees them, and their exit codes.

use untether_engine::EngineError;
use untether_report::NameError;
use untether_runner::RunnerError;
use untether_store::StoreError;

/// The user asked for something that cannot be done.
const USAGE: u8 = 2;
/// Something around us failed.
const INTERNAL: u8 = 3;
/// A signal ended the command; shells add its number to this.
const SIGNALLED: u8 = 128;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Failed(String),
    /// The user sent us a signal; this says what was kept.
    #[error("{message}")]
    Interrupted { signal: u8, message: String },
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Error::Engine(error.into())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Error::Engine(error.into())
    }
}

impl Error {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Engine(error) => of_engine(error),
            Error::Usage(_) => USAGE,
            Error::Failed(_) => INTERNAL,
            Error::Interrupted { signal, .. } => SIGNALLED.saturating_add(*signal),
        }
    }
}

fn of_engine(error: &EngineError) -> u8 {
    use EngineError as E;
    match error {
        E::Config(_) | E::ClassPath(_) | E::Order(_) | E::Name(_) => USAGE,
        E::NotTests { .. } | E::NoRefinement | E::NothingRecorded => USAGE,
        E::SameStore { .. } | E::NothingToMerge { .. } => USAGE,
        E::NoFindings | E::UnknownFinding { .. } | E::AmbiguousFinding { .. } => USAGE,
        E::Store(
            StoreError::Missing { .. } | StoreError::Empty { .. } | StoreError::Newer { .. } | StoreError::Older { .. },
        ) => USAGE,
        E::Runner(RunnerError::CannotStart { .. } | RunnerError::NoJava { .. }) => USAGE,
        E::ReplayInterrupted { signal } => SIGNALLED.saturating_add(*signal),
        E::Runner(_) | E::Store(_) | E::CannotCreate { .. } | E::Signals(_) => INTERNAL,
        E::NothingRan { .. } | E::Stopped(_) | E::NoLaunch | E::ReplayOutOfTime => INTERNAL,
    }
}
