//! Where the output goes.

use std::io::{BufWriter, ErrorKind, Result as IoResult, Write, stdout};

use crate::error::Error;

/// Gives the standard output to whoever writes a report. A reader that has seen enough, such as `head`, is no reason to
/// complain.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> IoResult<()>) -> Result<(), Error> {
    to(stdout().lock(), write)
}

/// The same for what has colours, where somebody can see them.
pub(crate) fn to_stdout_in_colour(write: impl FnOnce(&mut dyn Write) -> IoResult<()>) -> Result<(), Error> {
    to(anstream::stdout().lock(), write)
}

/// For what is said beside the report.
pub(crate) fn to_stderr(write: impl FnOnce(&mut dyn Write) -> IoResult<()>) -> Result<(), Error> {
    to(anstream::stderr().lock(), write)
}

fn to(out: impl Write, write: impl FnOnce(&mut dyn Write) -> IoResult<()>) -> Result<(), Error> {
    let mut out = BufWriter::new(out);
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::Failed(format!("cannot write the output: {error}")))
        }
        _ => Ok(()),
    }
}
