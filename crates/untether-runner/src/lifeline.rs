//! What test JVMs hang on: a file that is locked as long as somebody waits for them.
//!
//! The agent in each JVM, and in the build tool's own, waits for the lock. It gets it when we are gone, however that came
//! about, and ends its JVM, unless the file says that the run ended well: then daemons of a build tool may stay.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use untether_wire::LIFELINE;

#[derive(Debug)]
pub(crate) struct Lifeline {
    file: File,
}

impl Lifeline {
    pub(crate) fn hold(directory: &Path) -> io::Result<Self> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(directory.join(LIFELINE))?;
        file.lock()?;
        Ok(Lifeline { file })
    }

    /// What still runs is not ours to end.
    pub(crate) fn release(mut self) -> io::Result<()> {
        self.file.write_all(b"released\n")
    }
}
