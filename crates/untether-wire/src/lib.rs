//! What passes between the program and the JVMs that it starts: agent options, and the frames that watched JVMs and workers
//! write.
//!
//! Only bytes and plain values live here; what they mean is the model's business. The Java that writes frames is made from
//! the same definitions.

mod codec;
mod external;
pub mod facts;
mod frame;
mod java;
mod options;
mod question;
mod rules;
mod schema;
mod secrets;
mod worker;

pub use codec::{Body, Reader, Wire, WireError};
pub use external::{
    ACTOR_VARIABLE, Condition, Deed, EXTERNAL_EXTENSION, EXTERNAL_VARIABLE, ExternalFrame, KEPT_EXTENSION, Kept,
    KeptFrame, Thing, path_bytes, path_text,
};
pub use frame::{
    ActorKind, FIRST_CLASS, Frame, LaunchFrame, OutcomeStatus, StackFrame, VERSION, WithheldKind, with_properties,
};
pub use java::{ends_options, module_entries, takes_value};
pub use options::{
    AGENT_VARIABLE, AgentOptions, Isolation, LIFELINE, MAVEN_EXTENSION, OPTIONS_VARIABLE, PRELOAD_BEFORE_VARIABLE,
    Probes, QUESTIONS,
};
pub use question::Question;
pub use rules::{Rules, glob_matches};
pub use secrets::{Secrets, WITHHELD, normalised};
pub use worker::{EndStatus, WorkerFrame};

use crate::schema::Side;

/// The hash of a class's bytes as they are loaded or stand in a file, in two halves.
pub fn hash_of_bytes(bytes: &[u8]) -> (u64, u64) {
    let hash = xxhash_rust::xxh3::xxh3_128(bytes);
    ((hash >> 64) as u64, hash as u64)
}

/// The Java source that writes the frames of the agent's Java half, through a class `sink` with `begin`, `integer`, `string`
/// and `end`.
pub fn runtime_frames(package: &str, class: &str, sink: &str) -> String {
    let codes = [ActorKind::CODES, OutcomeStatus::CODES];
    schema::java((package, class, sink), None, Frame::SHAPES, Side::Runtime, &codes)
}

/// The same for the worker.
pub fn worker_frames(package: &str, class: &str, sink: &str) -> String {
    let codes = [EndStatus::CODES];
    schema::java((package, class, sink), Some(WorkerFrame::HEADER), WorkerFrame::SHAPES, Side::Worker, &codes)
}

/// The Java source of a class of constants: names as Rust writes them, and numbers.
pub fn java_constants(package: &str, class: &str, values: &[(String, u32)]) -> String {
    schema::java_constants(package, class, values)
}
