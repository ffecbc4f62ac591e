//! What can go wrong around JVMs.

use std::io;
use std::path::PathBuf;

use untether_wire::WireError;

#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error("cannot start '{program}': {source}; is it installed and on the PATH?")]
    CannotStart { program: String, source: io::Error },
    #[error(
        "no JDK found: '{java}' cannot be started ({source}); install a JDK of 17 or newer, set JAVA_HOME or use --java"
    )]
    NoJava { java: PathBuf, source: io::Error },
    #[error("the agent {path}, which UNTETHER_AGENT_LIBRARY names, is missing; build it or unset the variable")]
    NoAgent { path: PathBuf },
    #[error(
        "the agent library cannot be unpacked ({reasons}); set XDG_CACHE_HOME to a folder of yours that can be written to"
    )]
    CannotUnpack { reasons: String },
    #[error("cannot write {path}: {source}")]
    CannotWrite { path: PathBuf, source: io::Error },
    #[error("cannot read the trace {path}: {source}")]
    CannotRead { path: PathBuf, source: io::Error },
    #[error("a worker JVM left {path} in a state that makes no sense: {source}; is the disk full?")]
    BadResults { path: PathBuf, source: WireError },
    #[error("{path} was used by the last 'untether detect' and is gone; run it again")]
    Gone { path: PathBuf },
    #[error("the last 'untether detect' did not record the class path of its JVM; run it again")]
    NoClassPath,
    #[error(
        "a worker JVM could not run any test ({ending}): {message}; it is started like the one that 'untether detect' \
         watched, so run that again if the project has changed"
    )]
    WorkerFailed { ending: String, message: String },
    #[error(
        "the watched JVM took options from {file}, which could not be read when it started; run 'untether detect' again"
    )]
    ArgumentFile { file: String },
}
