//! What test classes used of a project's code, and which of them a change can affect.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// By which a file that is unchanged is known again without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub size: u64,
    /// In nanoseconds since 1970.
    pub modified: i64,
    pub inode: u64,
}

impl Stamp {
    /// Clocks of file systems tick this seldom; some know whole seconds only.
    const TICK: i64 = 20_000_000;
    const COARSE_TICK: i64 = 2_000_000_000;

    /// Whether a file that had this stamp at that time cannot have changed since without getting another.
    pub fn is_settled(&self, noted: i64) -> bool {
        let tick = if self.modified % 1_000_000_000 == 0 { Self::COARSE_TICK } else { Self::TICK };
        self.modified.saturating_add(tick) < noted
    }
}

/// What counts of a class file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassFacts {
    /// The checksum of all that is no debug information.
    pub content: u128,
    /// The hash of its bytes.
    pub exact: u128,
    /// Supertypes and annotations, as in `Class.getName`.
    pub related: Vec<String>,
}

/// A class file as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    pub stamp: Stamp,
    pub noted: i64,
    pub facts: ClassFacts,
}

/// A jar as it was when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownJar {
    pub stamp: Stamp,
    pub noted: i64,
    /// Hashes of the names of its class files, sorted.
    pub names: Vec<u64>,
    /// The hash of the whole jar where it holds a test framework, of which everything counts.
    pub framework: Option<u128>,
    pub is_multi_release: bool,
    /// By entry; those that were asked for.
    pub classes: HashMap<String, ClassFacts>,
}

/// What was found out about files, so that it need not be again. By path.
#[derive(Debug, Clone, Default)]
pub struct CodeCache {
    pub files: HashMap<String, KnownFile>,
    pub jars: HashMap<String, KnownJar>,
    /// What was added since the cache was read.
    pub changed_files: Vec<String>,
    pub changed_jars: Vec<String>,
}

/// A class as a test class found it: in which folder (of a jar it does not matter which), with which checksum; without both
/// where it was looked for and not there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassState {
    pub name: String,
    pub found: Option<(String, u128)>,
    /// Whether the checksum is that of all bytes, as lines of stack traces matter.
    pub is_exact: bool,
}

/// How a test class ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordStatus {
    Passed,
    Failed,
    /// It passed, but it is not known what it used.
    Unclear,
}

/// One run of a test class, and what it used.
#[derive(Debug, Clone, PartialEq)]
pub struct UseRecord {
    /// The folder of the module, from that of the project.
    pub module: String,
    pub class: String,
    /// Of the JVM, its options and settings, and the test framework.
    pub environment: String,
    pub status: RecordStatus,
    /// Why it is not known what it used.
    pub reason: String,
    pub states: Vec<ClassState>,
    pub seconds: f64,
    pub noted_ms: i64,
}

/// A test class of the project, as the last JVM knew it that was asked to run it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TestClass {
    pub module: String,
    pub class: String,
}

/// A test class reads values of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassDependency {
    pub module: String,
    pub writer: String,
    pub reader: String,
    /// The reader would make them itself where it does not find them.
    pub is_lazy: bool,
}

/// Why a test class is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonKind {
    /// Nothing is known of it.
    New,
    /// It failed when it last ran like this.
    Failed,
    /// It was started and did not end.
    Unfinished,
    /// The JVM, its options or settings, or the test framework are others.
    Environment,
    /// A class that it uses is another, or gone, or there now.
    Class,
    /// A file that it reads has another content, or is gone, or there now.
    File,
    /// A folder that it lists has other entries.
    Directory,
    /// A system property that it asks for has another value.
    Property,
    /// So has a variable of the environment.
    Variable,
    /// It is not known what it uses.
    NotUnderstood,
    /// Another that is selected needs it before itself.
    Needed,
    /// All are to be run.
    Asked,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub kind: ReasonKind,
    /// What changed, or what is to be known.
    pub name: String,
    pub before: String,
    pub after: String,
}

impl Reason {
    pub fn new(kind: ReasonKind, name: impl Into<String>) -> Self {
        Reason { kind, name: name.into(), before: String::new(), after: String::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Selected {
    pub module: String,
    pub test: String,
    pub reasons: Vec<Reason>,
    /// When it last ran, where that is known.
    pub last_run_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Skipped {
    pub module: String,
    pub test: String,
    /// How long it took when it last ran.
    pub seconds: f64,
    pub last_run_ms: i64,
}

/// What to run and what not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Selection {
    pub selected: Vec<Selected>,
    pub skipped: Vec<Skipped>,
}
