//! The agent's state: one per process, made in `Agent_OnLoad`, never dropped.

use std::sync::{Mutex, OnceLock, PoisonError};

use untether_wire::{AgentOptions, Probes, Secrets};

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
    /// Folders and jars that classes come from.
    pub(crate) class_path: Vec<String>,
    /// Global reference to `UntetherBoundary`, kept as an address.
    pub(crate) boundary_class: OnceLock<usize>,
    /// Global reference to the platform's class loader, kept as an address.
    pub(crate) platform_loader: OnceLock<usize>,
}

impl Agent {
    /// How a note is called that something outside of the heap is not known: where it decides what is run, it is a limit.
    pub(crate) fn kind_of_gap(&self) -> &'static str {
        if self.watches_uses() { "limit" } else { "external" }
    }

    /// Whether this run is to tell which classes are used, and nothing else.
    pub(crate) fn watches_uses(&self) -> bool {
        self.options.probes == Probes::Uses
    }
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
