//! The JVMTI agent: weaves classes as they load, binds the Java runtime's natives, writes the trace.
//!
//! Almost all unsafe code of the project is here. Nothing may unwind into the JVM: every function that
//! it calls goes through [`guard::guarded`]. Nothing is ever printed: problems become frames.

mod agent;
mod arguments;
mod callbacks;
mod class_path;
mod guard;
mod image;
mod jvm;
mod launch;
mod natives;
mod numbering;
mod preload;
mod shapes;
mod stacks;
mod trace;

use std::ffi::{CStr, c_char, c_void};

use jvmti_bindings::sys::jni::{JavaVM, jint};

const JNI_OK: jint = 0;
const JNI_ERR: jint = -1;

/// The entry point that the JVM calls for `-agentpath`.
///
/// # Safety
/// Called by the JVM with a valid VM pointer and a NUL-terminated (or null) options string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(vm: *mut JavaVM, options: *const c_char, _reserved: *mut c_void) -> jint {
    guard::guarded(JNI_ERR, || {
        let options = if options.is_null() {
            return JNI_ERR;
        } else {
            // SAFETY: not null, and the JVM promises a NUL-terminated string.
            unsafe { CStr::from_ptr(options) }
        };
        match callbacks::load(vm, &options.to_string_lossy()) {
            Ok(()) => JNI_OK,
            Err(_) => JNI_ERR,
        }
    })
}
