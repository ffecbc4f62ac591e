//! The nouns of untether, without I/O: what a watched JVM did ([`Trace`]) and what follows from it
//! ([`Detection`]).

mod content;
mod detection;
mod external;
mod isolation;
mod launch;
mod names;
mod record;
mod refinement;
mod selection;
mod settings;
mod trace;
mod verdict;

pub use content::{ContentHash, ContentHasher};
pub use detection::{
    Access, AccessMode, Dependency, DependencyKind, Detection, Label, Labels, Note, Refusal, Resource, ResourceKind,
    Unit, UnitKind,
};
pub use external::{Condition, Deed, External, ExternalEvent, Thing, Unobserved};
pub use isolation::{ClassOutcome, IsolatedRun, IsolationCheck, IsolationDifference, TestOutcome};
pub use launch::{Launch, Withheld, WithheldKind};
pub use names::{class_of, is_jdk, is_within, method_of, outermost, simple_name};
pub use record::RefinementRecord;
pub use refinement::{
    Cause, Certainty, Channel, Contrast, Cost, Coverage, Finding, Observation, PutBack, Replay, Role, Schedule, Share,
    Trial, Tried, Verdict, World,
};
pub use selection::{
    ClassDependency, ClassFacts, ClassState, CodeCache, KnownFile, KnownJar, Reason, ReasonKind, RecordStatus,
    Selected, Selection, Skipped, Stamp, TestClass, UseRecord,
};
pub use settings::{ENVIRONMENT, PROPERTIES, is_program_setting};
pub use trace::{
    Actor, ActorKind, Event, HeapObject, Index, LoadedClass, Method, NotRestored, Outcome, OutcomeStatus, Slot,
    StackLine, Trace, Uses, class_run_of,
};
pub use verdict::Status;
