//! What untether remembers of a project, in `.untether/store.sqlite`.
//!
//! A run is written in one transaction when it has ended, so that a killed process loses at most its
//! own run. Readers and writers of several processes wait for each other. What is made here is for its owner only: it
//! tells how JVMs were started.

mod error;
mod merge;
mod packed;
mod read;
mod refinement;
mod schema;
mod selection;
mod tidy;
mod write;

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub use error::StoreError;
pub use merge::Merged;
pub use read::{RunSummary, StoredRun};
use rusqlite::{Connection, ErrorCode, OpenFlags};
pub use selection::{LastLaunch, ModuleRecords, Settings, StoredRecord};
pub use tidy::{DAY_MS, StoreSize};
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

fn existing(directory: &Path) -> Result<PathBuf, StoreError> {
    let path = directory.join(Store::FILE_NAME);
    if path.exists() { Ok(path) } else { Err(StoreError::Missing { directory: directory.to_path_buf() }) }
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied))
}

/// Makes folder and file for their owner's eyes. A folder that is there is left as it is, as others may use it too; SQLite
/// gives its other files the permissions of this one.
fn make_private(directory: &Path, path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Made by an earlier version, or copied. Whoever may write but does not own it need not change it.
            let _ = std::fs::set_permissions(path, Permissions::from_mode(0o600));
            Ok(())
        }
        Err(error) => Err(error),
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
        let path = directory.join(Self::FILE_NAME);
        make_private(directory, &path)
            .map_err(|source| StoreError::CannotCreate { path: directory.to_path_buf(), source })?;
        let ignore = directory.join(".gitignore");
        if !ignore.exists() {
            // Nobody wants it under version control; that this cannot be said does no harm.
            let _ = std::fs::write(ignore, "*\n");
        }
        Self::open_file(&path)
    }

    /// Opens an existing store to add to it.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        Self::open_file(&existing(directory)?)
    }

    /// Opens an existing store to read from it, which may not be writable.
    pub fn open_to_read(directory: &Path) -> Result<Self, StoreError> {
        let path = existing(directory)?;
        match Self::open_file(&path) {
            Err(StoreError::Database { source, .. }) if is_read_only(&source) => Self::open_frozen(&path),
            opened => opened,
        }
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Database { path: path.to_path_buf(), source };
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        write_ahead(&connection).map_err(failed)?;
        connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
        // What is deleted is gone: it may have been a secret.
        connection.pragma_update(None, "secure_delete", true).map_err(failed)?;
        schema::migrate(&mut connection, path)?;
        Ok(Store { connection, path: path.to_path_buf() })
    }

    /// Where nothing can be written, nobody else writes either: neither locks nor a log are needed.
    fn open_frozen(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Database { path: path.to_path_buf(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let absolute = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let location: String = absolute
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .map(|&byte| match byte {
                b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
                byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            })
            .collect();
        let connection = Connection::open_with_flags(format!("file:{location}?immutable=1"), flags).map_err(failed)?;
        schema::check(&connection, path)?;
        Ok(Store { connection, path: path.to_path_buf() })
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }
}
