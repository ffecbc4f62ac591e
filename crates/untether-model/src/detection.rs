//! What follows from a trace: who depends on whom, through what.

use serde::{Deserialize, Serialize};

use crate::launch::Launch;
use untether_frameworks::is_test_framework;

use crate::names::{class_of, is_jdk};
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

/// What tests meet in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceKind {
    /// A field, or an element of an array.
    #[default]
    Heap,
    /// A system property.
    Property,
    /// An environment variable.
    Environment,
    File,
    Directory,
    /// A port or a socket.
    Endpoint,
}

impl ResourceKind {
    /// Whether it is none of the JVM's memory, which can be put back.
    pub fn is_outside_of_heap(self) -> bool {
        matches!(self, ResourceKind::File | ResourceKind::Directory | ResourceKind::Endpoint)
    }
}

/// What tests meet in, as a person calls it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resource {
    pub kind: ResourceKind,
    /// Its own class and field, with the element of a collection: `Registry.MAP["key"]`, `Cart.count`, `property:my.mode`.
    pub name: String,
    /// The field with its full name: `com.example.Registry.MAP`.
    pub field: String,
    /// How it is reached from the static root, with simple class names: `Registry.MAP.table[3]`.
    pub path: String,
    /// The root with its full name: `com.example.Registry.MAP`.
    pub root: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessMode {
    Read,
    Write,
}

/// A hint about an access that helps to judge a dependency. New ones go to the end: stores hold their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// The writer found the slot empty and filled it: likely benign.
    Lazy,
    /// A static initializer carried the value over.
    Initializer,
    /// The writer's class puts the old value back when it ends.
    ClassLocal,
    /// The writer left what another test had left there as well: it depends on the order who is the writer.
    Repeated,
    /// The reader found a place on the way to it empty, and would have gone on otherwise.
    BelowEmpty,
    /// The reader read it while a class was initialised: of all tests that use the class, only the first in a JVM does.
    Initialising,
}

/// A set of labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "Vec<Label>", from = "Vec<Label>")]
pub struct Labels(u8);

impl Labels {
    const ALL: [Label; 6] =
        [Label::Lazy, Label::Initializer, Label::ClassLocal, Label::Repeated, Label::BelowEmpty, Label::Initialising];

    /// The set as bits, for storing.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The set with these bits; those that mean nothing are dropped.
    pub fn from_bits(bits: u8) -> Self {
        Self::ALL.into_iter().filter(|&label| bits & bit(label) != 0).collect()
    }

    pub fn contains(self, label: Label) -> bool {
        self.0 & bit(label) != 0
    }

    pub fn insert(&mut self, label: Label) {
        self.0 |= bit(label);
    }

    pub fn iter(self) -> impl Iterator<Item = Label> {
        Self::ALL.into_iter().filter(move |&label| self.contains(label))
    }
}

fn bit(label: Label) -> u8 {
    1 << label as u8
}

impl FromIterator<Label> for Labels {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        let mut set = Labels::default();
        for label in labels {
            set.insert(label);
        }
        set
    }
}

impl From<Vec<Label>> for Labels {
    fn from(labels: Vec<Label>) -> Self {
        labels.into_iter().collect()
    }
}

impl From<Labels> for Vec<Label> {
    fn from(labels: Labels) -> Self {
        labels.iter().collect()
    }
}

/// One unit's use of one resource. Positions order all accesses of a detection. There may be tens of millions, so the
/// numbers are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Into [`Detection::resources`].
    pub resource: u32,
    /// Into [`Detection::units`].
    pub unit: u32,
    pub position: u32,
    pub mode: AccessMode,
    pub labels: Labels,
    /// For reads: whose value it was, if another unit's.
    pub source: Option<u32>,
    /// Into [`Detection::stacks`].
    pub stack: Option<u32>,
    /// For reads with a source: the stack of the write that was read.
    pub source_stack: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    Data,
    Anti,
    Candidate,
}

/// `to` depends on `from` (data), must come before it (anti, with `from` the reader), or might (candidate).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dependency {
    pub kind: DependencyKind,
    pub from: u32,
    pub to: u32,
    pub resource: u32,
    pub labels: Labels,
    pub write_stack: Option<u32>,
    pub read_stack: Option<u32>,
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

/// Everything known of one JVM's part of a run. Units, resources and stacks go by their places in it.
#[derive(Debug, Clone, Default)]
pub struct Detection {
    pub launch: Launch,
    pub units: Vec<Unit>,
    pub resources: Vec<Resource>,
    pub accesses: Vec<Access>,
    pub stacks: Vec<Vec<StackLine>>,
    pub notes: Vec<Note>,
    pub refusals: Vec<Refusal>,
    /// Those of the classes that resources and stacks name which are the project's own, in order.
    pub own_classes: Vec<String>,
    pub is_complete: bool,
}

impl Detection {
    pub fn unit(&self, number: u32) -> &Unit {
        &self.units[number as usize]
    }

    /// Whether the class is the project's own; where none is known to be, all that are not the JDK's count.
    pub fn is_own(&self, class: &str) -> bool {
        if self.own_classes.is_empty() {
            return !is_jdk(class);
        }
        self.own_classes.binary_search_by(|own| own.as_str().cmp(class)).is_ok()
    }

    /// The innermost line of the project's own code.
    pub fn own_line<'s>(&self, stack: &'s [StackLine]) -> Option<&'s StackLine> {
        stack.iter().find(|line| self.is_own(&line.class) && !is_test_framework(line.class.as_bytes()))
    }

    pub fn resource(&self, number: u32) -> &Resource {
        &self.resources[number as usize]
    }

    /// The lines of a stack; none where none was kept.
    pub fn stack(&self, number: Option<u32>) -> &[StackLine] {
        number.and_then(|number| self.stacks.get(number as usize)).map_or(&[], Vec::as_slice)
    }
}
