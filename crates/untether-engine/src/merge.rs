//! What other stores know of what test classes used, added to one: those of the shards of a CI build, mostly.

use std::path::Path;

use untether_store::{Merged, Store, StoreError};

use crate::error::EngineError;

/// Adds what is in the other store. One that is the same is an error, as nothing could come of it.
pub fn merge(store: &Path, other: &Path) -> Result<Merged, EngineError> {
    let real = |folder: &Path| folder.canonicalize().ok();
    if real(other).is_some() && real(other) == real(store) {
        return Err(EngineError::SameStore { path: other.to_path_buf() });
    }
    let theirs = match Store::open_to_read(other) {
        Err(StoreError::Missing { directory }) => return Err(EngineError::NothingToMerge { path: directory }),
        opened => opened?,
    };
    Ok(Store::open_or_create(store)?.merge(&theirs)?)
}
