//! What a watched JVM and its children do outside of the heap. All of them append to one file beside the JVM's trace, so that
//! what happened first stands first.

use crate::codec::{codes, frames, record};

/// The variables by which the child of a watched JVM knows where to tell what it does, and on whose behalf.
pub const EXTERNAL_VARIABLE: &str = "UNTETHER_EXTERNAL";
pub const ACTOR_VARIABLE: &str = "UNTETHER_ACTOR";

/// How the file's name ends that stands beside `NAME.trace`.
pub const EXTERNAL_EXTENSION: &str = "external";

codes! {
    /// What was done to what the frame names.
    pub enum Deed {
        /// Somebody asked whether it is there, and what it is like.
        Looked = 0,
        /// A file was opened for reading.
        Read = 1,
        /// A folder's entries were listed.
        Listed = 2,
        /// A file that was there was opened for writing.
        Wrote = 3,
        /// It was not there before.
        Created = 4,
        Removed = 5,
        /// Its mode or its times were set.
        Changed = 6,
        /// A socket was bound to the address.
        Bound = 7,
        /// Something was sent to the address, or a connection made.
        Reached = 8,
        /// Somebody asked whether it is there, and nothing else.
        Asked = 9,
    }
}

codes! {
    /// What stands at a path.
    pub enum Thing {
        Unknown = 0,
        Absent = 1,
        File = 2,
        Directory = 3,
        /// A device, a pipe, a socket.
        Other = 4,
    }
}

record! {
    /// What stands at a path. Of a file that is changed, and of what came of it, the hash of its content; of one that is read, the
    /// time of its last change (nanoseconds) and its length. Else zeros.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Condition {
        pub thing: Thing,
        pub high: u64,
        pub low: u64,
    }
}

frames! {
    /// One event outside of the heap. Paths are absolute and without links; bytes that are no UTF-8 stand as `\xNN`.
    pub enum ExternalFrame with *b"UNTEXTR\x01", tags in external_tag {
        1 Agent Done {
            process: u32,
            /// As in the trace.
            actor: u32,
            deed: Deed,
            name: String,
            /// How it was found.
            before: Condition,
            /// Nothing is left of what was in the file; the address was given by the system.
            is_whole: bool,
            /// The file has several names: which file it is. Zeros where it has one.
            device: u64,
            inode: u64,
            /// Of the trace, where Java did it.
            stack: u32,
        },
        /// How what the actor changed is when it stops acting.
        2 Agent After { actor: u32, name: String, after: Condition },
        /// A program was started on behalf of the actor.
        3 Agent Child { process: u32, actor: u32, command: String },
        /// What such a program does is not seen, for this reason.
        4 Agent Unobserved { actor: u32, command: String, reason: String },
        /// The trace's actor changes.
        5 Agent Acts { actor: u32 },
    }
}

/// How the folder's name ends that stands beside `NAME.trace`, with what files held before they were changed.
pub const KEPT_EXTENSION: &str = "kept";

codes! {
    /// What stood at a path before it was changed.
    pub enum Kept {
        Nothing = 0,
        /// A file, of which there is a copy.
        File = 1,
        Directory = 2,
        /// A link, with what it says.
        Link = 3,
        /// It cannot be put back, for a reason.
        Unknown = 4,
    }
}

frames! {
    /// What is to be put back. The JVM and its children append to one file, so that what was first changed stands first.
    pub enum KeptFrame with *b"UNTKEPT\x01", tags in kept_tag {
        1 Agent Before {
            name: String,
            kept: Kept,
            /// The name of the copy, what the link says, or the reason.
            content: String,
            mode: u32,
            seconds: u64,
            nanos: u32,
            /// Which file it is: whoever stands there later may be another one that has a name elsewhere.
            inode: u64,
        },
        /// All that stands before it has been put back.
        2 Agent PutBack {},
        /// What is changed from here on is to be put back.
        3 Agent Saved {},
    }
}

/// A path as frames have it: `\xNN` for a byte that is no UTF-8, and a backslash twice.
pub fn path_text(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains('\\')
    {
        return text.to_owned();
    }
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// The bytes of a path that stands in a frame.
pub fn path_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.split_first().filter(|_| byte == b'\\');
        match escaped {
            Some((b'\\', after)) => {
                bytes.push(b'\\');
                rest = after;
            }
            Some((b'x', after)) if after.len() >= 2 => {
                let digits = std::str::from_utf8(&after[..2]).unwrap_or_default();
                bytes.push(u8::from_str_radix(digits, 16).unwrap_or(b'?'));
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}
