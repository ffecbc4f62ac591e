//! Folders for the files of one run, inside the store's folder; for their owner only, as they hold what JVMs were given.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use untether_runner::put_back_set_aside;

use crate::error::EngineError;

/// A folder for one run's files, removed when the run is over.
pub(crate) struct Scratch {
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn create(store: &Path) -> Result<Self, EngineError> {
        remove_stale(store);
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        let name = format!("run-{}-{nanos}", std::process::id());
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        let mut path = store.join(&name);
        // A store that can only be read is no place for files.
        if make(&path).is_err() {
            path = std::env::temp_dir().join(format!("untether-{name}"));
            make(&path).map_err(|source| EngineError::CannotCreate { path: path.clone(), source })?;
        }
        // Test JVMs have working folders of their own.
        let path = path.canonicalize().map_err(|source| EngineError::CannotCreate { path, source })?;
        Ok(Scratch { path })
    }
}

/// Makes a folder, with those around it.
pub(crate) fn make_folder(path: &Path) -> Result<(), EngineError> {
    std::fs::create_dir_all(path).map_err(|source| EngineError::CannotCreate { path: path.to_path_buf(), source })
}

/// Removes the folders of runs whose process is gone: they were killed.
fn remove_stale(store: &Path) {
    let Ok(entries) = std::fs::read_dir(store) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("run-").and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            put_back_set_aside(&entry.path());
            // Whoever comes next may try again.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A left-over folder does no harm.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
