//! What a watched JVM and its children do outside of the heap: files, folders, sockets, other programs.
//!
//! Being preloaded, this library stands before the C library's functions of the same names. Each passes its call on as it is
//! and tells what was done, once for each stretch of one test. What the JVM does for itself, and what this library does, is
//! told by the place that the call comes from, and left out.

mod calls;
mod children;
mod descriptors;
mod images;
mod keep;
mod log;
mod paths;
mod recorder;
mod sockets;

pub(crate) use children::{begin_child, is_child};
pub(crate) use recorder::{acts, begin, begin_marking, finish, new_stretch, put_back_files, save_files};
