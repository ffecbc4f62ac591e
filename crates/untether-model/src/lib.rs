//! The nouns of untether, without I/O: what a watched JVM did ([`Trace`]) and what follows from it
//! ([`Detection`]).

mod content;
mod detection;
mod isolation;
mod launch;
mod names;
mod record;
mod refinement;
mod trace;
mod verdict;

pub use content::{ContentHash, ContentHasher};
pub use detection::{
    Access, AccessMode, Dependency, DependencyKind, Detection, Label, Labels, Note, Refusal, Resource, ResourceKind,
    Unit, UnitKind,
};
pub use isolation::{ClassOutcome, IsolatedRun, IsolationCheck, IsolationDifference, TestOutcome};
pub use launch::{Launch, Withheld, WithheldKind};
pub use names::{class_of, is_jdk, is_within, method_of, outermost, simple_name};
pub use record::RefinementRecord;
pub use refinement::{
    Cause, Certainty, Channel, Contrast, Cost, Coverage, Finding, Observation, PutBack, Replay, Role, Schedule, Share,
    Trial, Tried, Verdict, World,
};
pub use trace::{
    Actor, ActorKind, Event, HeapObject, Index, Method, NotRestored, Outcome, OutcomeStatus, Slot, StackLine, Trace,
};
pub use verdict::Status;
