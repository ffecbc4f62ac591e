//! The command line of a JVM, as a value: what is in its environment is known.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use untether_wire::{AGENT_VARIABLE, OPTIONS_VARIABLE, PRELOAD_BEFORE_VARIABLE};

/// The list of libraries that programs load first.
pub(crate) const PRELOAD: &str = "LD_PRELOAD";

/// Gives the agent to the JVM that the command starts, or to those that its children start: one way in for all. `before` is
/// what is preloaded without us.
pub(crate) fn preload(command: &mut Command, before: OsString, agent: &Path, options: &Path) {
    let mut value = OsString::from(agent);
    if !before.is_empty() {
        value.push(":");
        value.push(&before);
    }
    command
        .env(PRELOAD, value)
        .env(PRELOAD_BEFORE_VARIABLE, before)
        .env(AGENT_VARIABLE, agent)
        .env(OPTIONS_VARIABLE, options);
}

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
    /// With the agent, unless there is none.
    pub(crate) fn with_agent(self, agent: Option<(&Path, &Path)>) -> Command {
        let own = |environment: &Vec<(String, String)>| {
            environment.iter().find(|(name, _)| name == PRELOAD).map_or(OsString::new(), |(_, value)| value.into())
        };
        let before = self.environment.as_ref().map_or_else(|| std::env::var_os(PRELOAD).unwrap_or_default(), own);
        let mut command = self.into_command();
        if let Some((agent, options)) = agent {
            preload(&mut command, before, agent, options);
        }
        command
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
