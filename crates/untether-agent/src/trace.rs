//! The file that receives this JVM's frames.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use untether_wire::{Frame, Wire as _};

use crate::agent::lock;

pub(crate) struct Trace {
    /// Its name in the trace directory.
    pub(crate) name: String,
    file: Mutex<File>,
    has_failed: AtomicBool,
}

impl Trace {
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        let nanos =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
        let name = format!("{}-{nanos}.trace", std::process::id());
        let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(directory.join(&name))?;
        file.write_all(&Frame::HEADER)?;
        Ok(Trace { name, file: Mutex::new(file), has_failed: AtomicBool::new(false) })
    }

    pub(crate) fn frame(&self, frame: &Frame) {
        self.bytes(&frame.encode());
    }

    /// Appends whole frames. After a failed write (a full disk, say) nothing more is written: the
    /// reader sees a trace without its end and says so.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        if self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        if lock(&self.file).write_all(bytes).is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn note(&self, kind: &str, text: &str) {
        self.frame(&Frame::Note { kind: kind.to_owned(), text: text.to_owned() });
    }
}
