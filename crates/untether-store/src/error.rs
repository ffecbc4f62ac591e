//! What can go wrong with the store.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no store in {directory}: run 'untether detect' first, or name another folder with --store")]
    Missing { directory: PathBuf },
    #[error("the store in {directory} holds no finished run: run 'untether detect' first")]
    Empty { directory: PathBuf },
    #[error("cannot create {path}: {source}")]
    CannotCreate { path: PathBuf, source: io::Error },
    #[error(
        "the store {path} was written by a newer untether (version {found}, this one knows {known}): update untether, or name another folder with --store"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("the store {path} was written by an older untether and can only be read once it may be written to")]
    Older { path: PathBuf },
    #[error("the store {path} cannot be used: {source}; {}", advice(source))]
    Database { path: PathBuf, source: rusqlite::Error },
    #[error("the store {path} holds a value that cannot be read: {message}; delete its folder, and it is made anew")]
    Corrupt { path: PathBuf, message: String },
}

fn advice(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "make room on its disk, or name another folder with --store",
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "it cannot be written to: name another folder with --store"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another untether is using it: try again",
        _ => "if it is damaged, delete its folder: the next detect makes it anew",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_reason_to_delete_the_store() {
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
        let source = rusqlite::Error::SqliteFailure(full, None);
        let error = StoreError::Database { path: PathBuf::from("store.sqlite"), source };
        assert!(error.to_string().contains("make room"), "{error}");
        assert!(!error.to_string().contains("delete"), "{error}");
    }
}
