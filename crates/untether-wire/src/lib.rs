//! What passes between the program and the JVMs that it watches: agent options and event frames.
//!
//! Only bytes and plain values live here; what they mean is the model's business. The Java side of the
//! frames is `UntetherTrace.java`.

mod frame;
mod java;
mod options;
mod rules;
mod secrets;

pub use frame::{
    ActorKind, Frame, FrameReader, FrameWriter, HEADER, LaunchFrame, OutcomeStatus, StackFrame, VERSION, WireError,
    WithheldKind, with_properties,
};
pub use java::{ends_options, module_entries, takes_value};
pub use options::{AgentOptions, LIFELINE, Probes};
pub use rules::{Rules, glob_matches};
pub use secrets::{Secrets, WITHHELD, normalised};
