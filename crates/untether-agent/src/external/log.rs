//! A file to which a watched JVM and all its children append. Each frame is one write to a file that is only appended to,
//! so nothing is locked, nothing is kept in memory, and a process that is killed has told what it did.

use std::ffi::{CString, c_int};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use untether_wire::Wire;

/// A number that nobody reaches by chance, so that a program which closes all it knows does not meet it.
const FIRST_DESCRIPTOR: c_int = 1000;

#[derive(Debug)]
pub(super) struct Log {
    path: CString,
    /// Only a JVM holds it: other programs may close what they did not open, and get the number for a file of their own.
    held: Option<c_int>,
    has_failed: AtomicBool,
}

impl Log {
    /// A new file for frames of that kind, held open.
    pub(super) fn create<F: Wire>(path: &Path) -> Option<Self> {
        let log = Log { path: CString::new(path.as_os_str().as_bytes()).ok()?, held: None, has_failed: false.into() };
        let opened = log.open(libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
        // SAFETY: a descriptor of ours; the second call closes the first number.
        let held = unsafe { libc::fcntl(opened, libc::F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR) };
        let log = match held {
            -1 => Log { held: Some(opened), ..log },
            held => {
                close(opened);
                Log { held: Some(held), ..log }
            }
        };
        log.bytes(&F::HEADER);
        Some(log)
    }

    /// One that somebody else has made.
    pub(super) fn append(path: CString) -> Self {
        Log { path, held: None, has_failed: false.into() }
    }

    pub(super) fn path(&self) -> &CString {
        &self.path
    }

    fn open(&self, mode: c_int) -> Option<c_int> {
        const OWNER_ONLY: c_int = 0o600;
        let flags = mode | libc::O_APPEND | libc::O_CLOEXEC;
        // SAFETY: a NUL-terminated path. The system is called directly, as the C library's function is ours.
        let opened =
            unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, self.path.as_ptr(), flags, OWNER_ONLY) } as c_int;
        (opened >= 0).then_some(opened)
    }

    pub(super) fn frame(&self, frame: &impl Wire) {
        self.bytes(&frame.encode());
    }

    /// After a failed write nothing more is written: whoever reads the file sees that it is broken off.
    fn bytes(&self, bytes: &[u8]) {
        if self.has_failed.load(Ordering::Relaxed) {
            return;
        }
        let written = match self.held {
            Some(held) => write(held, bytes),
            None => match self.open(libc::O_WRONLY) {
                Some(opened) => {
                    let written = write(opened, bytes);
                    close(opened);
                    written
                }
                None => false,
            },
        };
        if !written {
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// How much all have written.
    pub(super) fn length(&self) -> u64 {
        // SAFETY: a descriptor of ours; nothing is written, so where it stands does not matter.
        let end = self.held.map_or(-1, |held| unsafe { libc::lseek(held, 0, libc::SEEK_END) });
        end.max(0) as u64
    }

    /// What all have written from there on.
    pub(super) fn since(&self, offset: u64) -> Vec<u8> {
        let Some(held) = self.held else { return Vec::new() };
        let mut bytes = Vec::new();
        let mut chunk = [0u8; 16 << 10];
        loop {
            let at = offset + bytes.len() as u64;
            // SAFETY: the buffer has room for what is asked for.
            let count = unsafe { libc::pread(held, chunk.as_mut_ptr().cast(), chunk.len(), at as i64) };
            if count <= 0 {
                return bytes;
            }
            bytes.extend_from_slice(&chunk[..count as usize]);
        }
    }
}

fn write(descriptor: c_int, bytes: &[u8]) -> bool {
    // SAFETY: the buffer is that long.
    let written = unsafe { libc::syscall(libc::SYS_write, descriptor, bytes.as_ptr(), bytes.len()) };
    written == bytes.len() as i64
}

fn close(descriptor: c_int) {
    // SAFETY: a descriptor that was opened here and is not used again.
    unsafe { libc::syscall(libc::SYS_close, descriptor) };
}
