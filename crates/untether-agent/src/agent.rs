//! The agent's state: one per process, made in `Agent_OnLoad`, never dropped.

use std::sync::{Mutex, OnceLock, PoisonError};

use untether_wire::{AgentOptions, Secrets};

use crate::jvm::Jvmti;
use crate::numbering::Numbers;
use crate::shapes::Shapes;
use crate::stacks::Stacks;
use crate::trace::Trace;

pub(crate) struct Agent {
    pub(crate) jvmti: Jvmti,
    pub(crate) options: AgentOptions,
    pub(crate) secrets: Secrets,
    pub(crate) trace: Trace,
    pub(crate) numbers: Mutex<Numbers>,
    pub(crate) shapes: Shapes,
    pub(crate) stacks: Mutex<Stacks>,
    /// Zeroed memory that probes index directly.
    pub(crate) tables: usize,
    pub(crate) hash_shift: i32,
    /// Global reference to `UntetherBoundary`, kept as an address.
    pub(crate) boundary_class: OnceLock<usize>,
}

static AGENT: OnceLock<Agent> = OnceLock::new();

pub(crate) fn get() -> Option<&'static Agent> {
    AGENT.get()
}

pub(crate) fn install(agent: Agent) -> Option<&'static Agent> {
    AGENT.set(agent).ok()?;
    AGENT.get()
}

/// Locks, ignoring that an earlier holder panicked: the data are tables that stay usable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
