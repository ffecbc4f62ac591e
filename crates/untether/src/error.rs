//! Errors as the user sees them, and their exit codes.

use untether_project::{ClassPathError, ConfigError};
use untether_report::NameError;
use untether_runner::RunnerError;
use untether_store::StoreError;

/// The user asked for something that cannot be done.
const USAGE: u8 = 2;
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
}

impl Error {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Config(_) | Error::ClassPath(_) | Error::Name(_) | Error::Usage(_) => USAGE,
            Error::Store(StoreError::Missing { .. } | StoreError::Empty { .. } | StoreError::Newer { .. }) => USAGE,
            Error::Runner(RunnerError::CannotStart { .. } | RunnerError::NoJava { .. }) => USAGE,
            Error::Runner(_) | Error::Store(_) | Error::Failed(_) => INTERNAL,
        }
    }
}
