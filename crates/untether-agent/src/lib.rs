//! The JVMTI agent: weaves classes as they load, binds the Java runtime's natives, writes the trace.
//!
//! Almost all unsafe code of the project is here. Nothing may unwind into the JVM: every function that
//! it calls goes through [`guard::guarded`]. Nothing is ever printed: problems become frames.

mod agent;
mod arguments;
mod callbacks;
mod class_path;
mod external;
mod guard;
mod image;
mod jvm;
mod launch;
mod lifeline;
mod loaders;
mod natives;
mod numbering;
mod preload;
mod question;
mod shapes;
mod stacks;
mod trace;

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jvmti_bindings::sys::jni::{JavaVM, jint};

const JNI_OK: jint = 0;

/// The entry point that the JVM calls for `-agentpath`. Where the agent cannot work, it says so in the run's folder and
/// the JVM runs on without being watched: a test run is worth more than knowing about it.
///
/// # Safety
/// Called by the JVM with a valid VM pointer and a NUL-terminated (or null) options string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *const c_char, _reserved: *mut c_void) -> jint {
    guard::guarded((), || {
        if !options.is_null() {
            // SAFETY: not null, and the JVM promises a NUL-terminated string.
            let options = unsafe { CStr::from_ptr(options) };
            callbacks::load(vm, Path::new(OsStr::from_bytes(options.to_bytes())));
        }
    });
    JNI_OK
}
