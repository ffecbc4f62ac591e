//! What can go wrong with the store.

use std::io;
use std::path::PathBuf;

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
    #[error(
        "the store {path} cannot be used: {source}; if it is damaged, delete its folder: the next detect makes it anew"
    )]
    Database { path: PathBuf, source: rusqlite::Error },
    #[error("the store {path} holds a value that cannot be read: {message}")]
    Corrupt { path: PathBuf, message: String },
}
