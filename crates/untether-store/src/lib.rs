//! What untether remembers of a project, in `.untether/store.sqlite`.
//!
//! A run is written in one transaction when it has ended, so that a killed process loses at most its
//! own run. Readers and writers of several processes wait for each other.

mod error;
mod packed;
mod read;
mod refinement;
mod schema;
mod write;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub use error::StoreError;
pub use read::{RunSummary, StoredRun};
pub use refinement::StoredRefinement;
use rusqlite::{Connection, ErrorCode};
pub use write::NewRun;

/// How long other processes are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Turns on the write-ahead log. While another process does the same to a new store, SQLite says that it is busy without
/// waiting.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    pub const FILE_NAME: &str = "store.sqlite";

    /// Opens the store in `directory`, making both where missing.
    pub fn open_or_create(directory: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(directory)
            .map_err(|source| StoreError::CannotCreate { path: directory.to_path_buf(), source })?;
        let ignore = directory.join(".gitignore");
        if !ignore.exists() {
            // Nobody wants it under version control; that this cannot be said does no harm.
            let _ = std::fs::write(ignore, "*\n");
        }
        Self::open_file(&directory.join(Self::FILE_NAME))
    }

    /// Opens an existing store.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(Self::FILE_NAME);
        if !path.exists() {
            return Err(StoreError::Missing { directory: directory.to_path_buf() });
        }
        Self::open_file(&path)
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Database { path: path.to_path_buf(), source };
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        write_ahead(&connection).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        schema::migrate(&mut connection, path)?;
        Ok(Store { connection, path: path.to_path_buf() })
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }
}
