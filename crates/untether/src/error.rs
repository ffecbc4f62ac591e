//! Errors as the user sees them, and their exit codes.

use untether_project::{ClassPathError, ConfigError};
use untether_report::NameError;
use untether_runner::RunnerError;
use untether_store::StoreError;

/// The user asked for something that cannot be done.
const USAGE: u8 = 2;
/// A signal ended the command; shells add its number to this.
const SIGNALLED: u8 = 128;
/// Something around us failed.
const INTERNAL: u8 = 3;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    ClassPath(#[from] ClassPathError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Runner(#[from] RunnerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Failed(String),
    /// The user sent us a signal; this says what was kept.
    #[error("{message}")]
    Interrupted { signal: u8, message: String },
}

impl Error {
    /// From here on, signals stop what is under way instead of ending us.
    pub(crate) fn listen() -> Result<(), Error> {
        untether_runner::listen_for_signals().map_err(|error| Error::Failed(format!("cannot handle signals: {error}")))
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Config(_) | Error::ClassPath(_) | Error::Name(_) | Error::Usage(_) => USAGE,
            Error::Store(
                StoreError::Missing { .. }
                | StoreError::Empty { .. }
                | StoreError::Newer { .. }
                | StoreError::Older { .. },
            ) => USAGE,
            Error::Runner(RunnerError::CannotStart { .. } | RunnerError::NoJava { .. }) => USAGE,
            Error::Runner(_) | Error::Store(_) | Error::Failed(_) => INTERNAL,
            Error::Interrupted { signal, .. } => SIGNALLED.saturating_add(*signal),
        }
    }
}
