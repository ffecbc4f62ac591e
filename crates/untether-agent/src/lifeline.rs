//! Ends this process when whoever waits for it is gone, be it killed: see `lifeline.rs` of the runner.

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr;

use untether_wire::LIFELINE;

/// Starts a native thread, which Java does not see, that waits for the lock on the file in this folder.
pub(crate) fn hang_on(directory: &Path) {
    let Ok(file) = File::open(directory.join(LIFELINE)) else { return };
    // Without the thread the process may outlive its starter; that is no reason to keep it from working.
    let _ = std::thread::Builder::new().name("untether".to_owned()).stack_size(128 << 10).spawn(move || {
        leave_signals_to_others();
        while let Err(error) = file.lock_shared() {
            if error.kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
        if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            // SAFETY: sends a signal to this process.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
    });
}

/// Signals of the process are for threads that the JVM knows.
pub(crate) fn leave_signals_to_others() {
    // SAFETY: the set is initialised by `sigfillset`; only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, ptr::null_mut());
    }
}
