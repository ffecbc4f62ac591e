//! What the commands share of how a run is shown: names, and where the output goes.

use std::io::{BufWriter, ErrorKind, Result as IoResult, Write, stdout};
use std::path::{Path, PathBuf};

pub(crate) use untether_report::{JSON_VERSION, count, is_named};

use crate::error::Error;

/// The folder that holds the store: modules are named from there.
pub(crate) fn project_folder(store: &Path) -> PathBuf {
    let folder = store.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// Gives the standard output to whoever writes a report. A reader that has seen enough, such as `head`, is no reason to
/// complain.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> IoResult<()>) -> Result<(), Error> {
    let mut out = BufWriter::new(stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::Failed(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}
