//! The command line of a JVM, as a value: an agent can still be put in front of it, and its environment is known.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// How a JVM of ours is to be started.
#[derive(Debug, Clone)]
pub struct JvmCommand {
    pub(crate) java: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The current folder where there is none.
    pub(crate) directory: Option<PathBuf>,
    /// All that the JVM finds in its environment; our own where there is none.
    pub(crate) environment: Option<Vec<(String, String)>>,
}

impl JvmCommand {
    /// The same with an option before all others.
    pub(crate) fn with_option(mut self, option: OsString) -> Self {
        self.arguments.insert(0, option);
        self
    }

    pub fn into_command(self) -> Command {
        let mut command = Command::new(self.java);
        command.args(self.arguments);
        if let Some(directory) = self.directory {
            command.current_dir(directory);
        }
        if let Some(environment) = self.environment {
            command.env_clear().envs(environment);
        }
        command
    }
}
