//! What one watched JVM did, in the order in which it did it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::detection::{Labels, Note, Refusal};
use crate::external::External;
use crate::launch::Launch;
use crate::names::{class_of, outermost};

/// Indices into the vectors of a [`Trace`]; 0 is 'nobody' or 'none', so the vectors start with a blank.
pub type Index = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// Not a test's doing: the time before the first class, and between classes.
    Outside,
    /// A class's fixtures.
    Class,
    Test,
    /// A static initializer, on behalf of whoever first needed the class.
    Initializer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeStatus {
    Passed,
    Failed,
    Aborted,
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub status: OutcomeStatus,
    pub nanos: u64,
    pub message: String,
    pub trace: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub kind: ActorKind,
    /// The enclosing class run, or the actor that triggered an initializer.
    pub parent: Index,
    pub name: String,
    pub detail: String,
    pub outcome: Option<Outcome>,
}

/// A shared object, as far as its path is needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeapObject {
    /// Who made it reachable, and with which store.
    pub writer: Index,
    pub stack: Index,
    /// The class of a root; of other objects, for information.
    pub class: String,
    pub parent: Index,
    pub place: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slot {
    pub object: Index,
    pub place: String,
    /// The nearest field on the way to the slot that is none of the JDK's objects: `com.example.Cart.items`.
    pub field: String,
    /// The element of a collection to which it belongs: `["USD"]`, `[2]`; empty where there is none.
    pub element: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The actor's first read of the slot in a segment; `writer`'s value stood there. `pending_stack` is
    /// that of the write, where the writer is still at it and its `Write` comes later. `is_empty`: null, zero or
    /// false stood there.
    Read { actor: Index, slot: Index, writer: Index, stack: Index, pending_stack: Index, is_empty: bool },
    /// The actor left another value than it found, or (`labels` say so) what another had left there as well.
    Write { actor: Index, slot: Index, stack: Index, labels: Labels },
    /// The class run that ended left the slot as it found it, with `writer`'s value.
    Restored { slot: Index, writer: Index },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Method {
    pub class: String,
    pub name: String,
    pub file: String,
}

/// One line of a stack, innermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackLine {
    pub class: String,
    pub method: String,
    pub file: String,
    pub line: u32,
}

impl std::fmt::Display for StackLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.method.is_empty() {
            // Another program.
            return write!(f, "{}", self.class);
        }
        write!(f, "{}.{}", self.class, self.method)?;
        match (self.file.as_str(), self.line) {
            ("", _) => write!(f, "(Unknown Source)"),
            (file, 0) => write!(f, "({file})"),
            (file, line) => write!(f, "({file}:{line})"),
        }
    }
}

/// A class after which the JVM was not as before it, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRestored {
    pub class: String,
    pub reason: String,
}

/// Which classes were used, where a run was watched for that. Classes are numbered; 0 is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// By number, as in `Class.getName`.
    pub classes: Vec<String>,
    pub loaded: Vec<LoadedClass>,
    pub by_actor: BTreeMap<Index, BTreeSet<Index>>,
    /// Looked at by reflection, while no test class was running.
    pub looked_at: BTreeSet<Index>,
    /// What the initializer of a class used.
    pub by_initializer: BTreeMap<Index, BTreeSet<Index>>,
    /// The names of classes that an actor looked for and that are not there.
    pub absent: BTreeMap<Index, BTreeSet<String>>,
    /// Actors that looked at lines of stack traces.
    pub lines_seen: BTreeSet<Index>,
    /// The same of the initializers of classes.
    pub absent_by_initializer: BTreeMap<Index, BTreeSet<String>>,
    pub lines_seen_by_initializer: BTreeSet<Index>,
}

/// The bytes that a class was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedClass {
    pub class: Index,
    pub hash: u128,
    pub supertypes: Vec<String>,
}

/// The record of one JVM.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    pub launch: Launch,
    pub actors: Vec<Actor>,
    pub objects: Vec<HeapObject>,
    pub slots: Vec<Slot>,
    pub events: Vec<Event>,
    pub methods: Vec<Method>,
    /// Method index and line, innermost first.
    pub stacks: Vec<Vec<(Index, u32)>>,
    pub notes: Vec<Note>,
    pub refusals: Vec<Refusal>,
    /// Where tests were isolated: classes whose changes were not all put back, and why.
    pub not_restored: Vec<NotRestored>,
    pub uses: Uses,
    pub external: External,
    /// Whether the JVM ended in an orderly way.
    pub is_complete: bool,
}

impl Trace {
    /// The lines of a numbered stack.
    pub fn stack(&self, stack: Index) -> Vec<StackLine> {
        let Some(frames) = self.stacks.get(stack as usize) else { return Vec::new() };
        frames
            .iter()
            .filter_map(|&(method, line)| {
                let method = self.methods.get(method as usize)?;
                Some(StackLine {
                    class: method.class.clone(),
                    method: method.name.clone(),
                    file: method.file.clone(),
                    line,
                })
            })
            .collect()
    }

    pub fn tests(&self) -> impl Iterator<Item = &Actor> {
        self.actors.iter().filter(|actor| actor.kind == ActorKind::Test)
    }
}

/// The class whose run the test, or class, is part of: another class may make it.
pub fn class_run_of<'t>(trace: &'t Trace, actor: &'t Actor) -> &'t str {
    let mut at = actor;
    let mut class = outermost(class_of(&actor.name));
    while at.kind != ActorKind::Outside {
        if at.kind == ActorKind::Class {
            class = &at.name;
        }
        let Some(parent) = trace.actors.get(at.parent as usize) else { break };
        at = parent;
    }
    class
}
