//! Files that say which tests run, in which order.

use std::io;
use std::path::{Path, PathBuf};

use untether_model::class_of;

#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error("cannot read the order file {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the order file {path} has the line '{line}', which is neither pkg.Class nor pkg.Class#method")]
    BadLine { path: PathBuf, line: String },
    #[error("the order file {path} names no test")]
    Empty { path: PathBuf },
}

/// Test classes or tests, one per line; empty lines and those that start with `//` do not count.
pub fn read_order(path: &Path) -> Result<Vec<String>, OrderError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| OrderError::Unreadable { path: path.to_path_buf(), source })?;
    let lines: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(str::to_owned)
        .collect();
    if let Some(bad) = lines.iter().find(|line| class_of(line).contains(char::is_whitespace) || line.ends_with('#')) {
        return Err(OrderError::BadLine { path: path.to_path_buf(), line: bad.clone() });
    }
    if lines.is_empty() {
        return Err(OrderError::Empty { path: path.to_path_buf() });
    }
    Ok(lines)
}
