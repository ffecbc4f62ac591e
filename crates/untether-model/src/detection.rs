//! What follows from a trace: who depends on whom, through what.

use serde::{Deserialize, Serialize};

use crate::launch::Launch;
use crate::refinement::class_of;
use crate::trace::{Outcome, StackLine};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitKind {
    Test,
    /// The fixtures of a class, named by the class alone.
    Class,
}

/// Something that can depend and be depended on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub kind: UnitKind,
    /// `pkg.Class#method`, with `[index]` where a method runs more than once, or `pkg.Class`.
    pub name: String,
    pub display_name: String,
    pub outcome: Option<Outcome>,
}

impl Unit {
    /// The class that the unit belongs to.
    pub fn class(&self) -> &str {
        class_of(&self.name)
    }
}

/// A slot as a person calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The path from the static root, with simple class names: `Registry.MAP.table[3]`.
    pub name: String,
    /// The root with its full name: `com.example.Registry.MAP`.
    pub root: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessMode {
    Read,
    Write,
}

/// A hint about an access that helps to judge a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// The writer found the slot empty and filled it: likely benign.
    Lazy,
    /// A static initializer carried the value over.
    Initializer,
    /// The writer's class puts the old value back when it ends.
    ClassLocal,
}

/// One unit's use of one resource. Positions order all accesses of a detection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub resource: usize,
    pub unit: usize,
    pub position: usize,
    pub mode: AccessMode,
    /// For reads: whose value it was, if another unit's.
    pub source: Option<usize>,
    /// Into [`Detection::stacks`].
    pub stack: Option<usize>,
    /// For reads with a source: the stack of the write that was read.
    pub source_stack: Option<usize>,
    pub labels: Vec<Label>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    Data,
    Anti,
    Candidate,
}

/// `to` depends on `from` (data), must come before it (anti, with `from` the reader), or might (candidate).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub kind: DependencyKind,
    pub from: usize,
    pub to: usize,
    pub resource: usize,
    pub write_stack: Option<usize>,
    pub read_stack: Option<usize>,
    pub labels: Vec<Label>,
}

/// Something that was noticed and that the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: String,
    pub text: String,
}

/// A class, or one method of it, that was left unwoven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub class: String,
    pub method: String,
    pub reason: String,
}

/// Everything known of one JVM's part of a run.
#[derive(Debug, Clone, Default)]
pub struct Detection {
    pub launch: Launch,
    pub units: Vec<Unit>,
    pub resources: Vec<Resource>,
    pub accesses: Vec<Access>,
    pub stacks: Vec<Vec<StackLine>>,
    pub notes: Vec<Note>,
    pub refusals: Vec<Refusal>,
    pub is_complete: bool,
}
