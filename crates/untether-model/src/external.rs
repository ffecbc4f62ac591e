//! What a watched JVM and its children did outside of the heap.

use crate::trace::Index;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Deed {
    /// Somebody asked whether it is there, and what it is like.
    Looked,
    /// Somebody asked whether it is there, and nothing else.
    Asked,
    /// A file was opened for reading.
    Read,
    /// A folder's entries were listed.
    Listed,
    /// A file that was there was opened for writing.
    Wrote,
    /// It was not there before.
    Created,
    Removed,
    /// Its mode or its times were set.
    Changed,
    /// A socket was bound to the address.
    Bound,
    /// Something was sent to the address, or a connection made.
    Reached,
}

impl Deed {
    pub fn is_change(self) -> bool {
        matches!(self, Deed::Wrote | Deed::Created | Deed::Removed | Deed::Changed)
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Thing {
    Unknown,
    Absent,
    File,
    Directory,
    /// A device, a pipe, a socket.
    Other,
}

/// What stands at a path. The number is, of a file that is changed and of what came of it, the hash of its content; of one that
/// is read, what changes when the file does; else zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Condition {
    pub thing: Thing,
    pub content: u128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalEvent {
    Done {
        actor: Index,
        deed: Deed,
        /// An absolute path, or an address such as `tcp:127.0.0.1:8080`.
        name: String,
        /// How it was found.
        before: Condition,
        /// Nothing is left of what was in the file; the address was given by the system.
        is_whole: bool,
        /// Which file it is, where that has several names.
        file: Option<(u64, u64)>,
        stack: Index,
        /// The child that did it, into [`External::children`].
        child: Option<usize>,
    },
    /// How what the actor changed is when it stops acting.
    After { actor: Index, name: String, after: Condition },
    /// Somebody else acts from now on.
    Acts { actor: Index },
}

/// A program whose doing is not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unobserved {
    pub actor: Index,
    pub command: String,
    pub reason: String,
}

/// All of it, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct External {
    pub events: Vec<ExternalEvent>,
    /// The command lines of programs that tests started.
    pub children: Vec<String>,
    /// Who started each of them.
    pub starters: Vec<Index>,
    pub unobserved: Vec<Unobserved>,
    /// Whether all of it was understood.
    pub is_whole: bool,
}
