//! What can be said of the machine, of the last run and of the last refinement.

use std::path::Path;

use untether_report::{Health, JvmHealth, Remembered};
use untether_runner::{agent_library, find_java};
use untether_store::{Store, StoreError};

use crate::error::EngineError;

pub fn examine(store: &Path) -> Result<Health, EngineError> {
    let jvms = match Store::open_to_read(store).and_then(|store| store.latest_run()) {
        Ok(run) => run.detections.into_iter().map(JvmHealth::from).collect(),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let size = Store::open_to_read(store).and_then(|store| store.size()).unwrap_or_default();
    let refinements = Store::open_to_read(store).and_then(|store| store.refinements()).unwrap_or_default();
    let agent = agent_library();
    Ok(Health {
        java: find_java(None).ok().map(|path| path.display().to_string()),
        no_agent: agent.as_ref().err().map(ToString::to_string).unwrap_or_default(),
        agent: agent.ok().map(|path| path.display().to_string()),
        store: Remembered { bytes: size.bytes, classes: size.classes, records: size.records },
        jvms,
        unrunnable: refinements.into_iter().next().map(|last| last.unrunnable).unwrap_or_default(),
    })
}
