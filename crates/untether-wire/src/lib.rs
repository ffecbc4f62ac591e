//! What passes between the program and the JVMs that it starts: agent options, and the frames that watched JVMs and workers
//! write.
//!
//! Only bytes and plain values live here; what they mean is the model's business. The Java that writes frames is made from
//! the same definitions.

mod codec;
pub mod facts;
mod frame;
mod java;
mod options;
mod rules;
mod schema;
mod secrets;
mod worker;

pub use codec::{Body, Reader, Wire, WireError};
pub use frame::{ActorKind, Frame, LaunchFrame, OutcomeStatus, StackFrame, VERSION, WithheldKind, with_properties};
pub use java::{ends_options, module_entries, takes_value};
pub use options::{
    AGENT_VARIABLE, AgentOptions, Isolation, LIFELINE, MAVEN_EXTENSION, OPTIONS_VARIABLE, PRELOAD_BEFORE_VARIABLE,
    Probes,
};
pub use rules::{Rules, glob_matches};
pub use secrets::{Secrets, WITHHELD, normalised};
pub use worker::{EndStatus, WorkerFrame};

use crate::schema::Side;

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
