//! How a JVM was started, so that it can be started again without the build tool.

use serde::{Deserialize, Serialize};

/// The launch context of one test JVM.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Launch {
    pub pid: u32,
    /// The `java` executable.
    pub java: String,
    /// Everything after `java`, as its starter gave it.
    pub arguments: Vec<String>,
    pub directory: String,
    pub environment: Vec<(String, String)>,
    pub java_version: String,
    /// What the class path amounts to, whatever the form in which it was passed.
    #[serde(default)]
    pub class_path: Vec<String>,
    /// The system properties when the first test class started: build tools set some inside the JVM.
    #[serde(default)]
    pub properties: Vec<(String, String)>,
    /// What was there, but is not kept.
    #[serde(default)]
    pub withheld: Vec<Withheld>,
    /// The JUnit Platform's unique ids of tests that have no class and method.
    #[serde(default)]
    pub selectors: Vec<(String, String)>,
    /// How the build tool was told to choose among the tests of a class, as far as that is known.
    #[serde(default)]
    pub filters: Vec<(String, String)>,
    /// Files that were made in the build's output folder while it ran.
    #[serde(default)]
    pub left_files: Vec<String>,
}

/// A value that is a secret: only its name is known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Withheld {
    pub kind: WithheldKind,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WithheldKind {
    Environment,
    Property,
    /// An option of the program; workers have no use for it.
    Argument,
}
