//! What was found last.

use std::path::Path;

use untether_model::RefinementRecord;
use untether_store::Store;

use crate::error::EngineError;

/// The last refinement of a store; an error where there is none.
pub fn latest_refinement(store: &Path) -> Result<RefinementRecord, EngineError> {
    let refinements = Store::open_to_read(store)?.refinements()?;
    refinements.into_iter().next().ok_or(EngineError::NoRefinement)
}
