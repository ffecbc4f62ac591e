//! What a watched JVM tells.

use crate::codec::{Body, Wire, codes, frames, record};

/// The version of the frames, written after the magic at the start of each trace.
pub const VERSION: u32 = 6;

/// The lowest number of a class: lower ones may not be told from each other.
pub const FIRST_CLASS: u32 = 8;

codes! {
    /// Who acts between two boundaries.
    pub enum ActorKind {
        Class = 1,
        Test = 2,
        Initializer = 3,
        Outside = 4,
    }
}

codes! {
    pub enum OutcomeStatus {
        Passed = 0,
        Failed = 1,
        Aborted = 2,
        Skipped = 3,
    }
}

codes! {
    /// What a value was withheld of.
    pub enum WithheldKind {
        Environment = 0,
        Property = 1,
        Argument = 2,
    }
}

record! {
    /// A position in a numbered method; the line is 0 where unknown.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct StackFrame {
        pub method: u32,
        pub line: u32,
    }
}

record! {
    /// How a JVM was started.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct LaunchFrame {
        pub pid: u32,
        pub java: String,
        pub arguments: Vec<String>,
        pub directory: String,
        pub environment: Vec<(String, String)>,
        pub java_version: String,
        /// What the class path amounts to, with the entries that a jar of only a manifest names.
        pub class_path: Vec<String>,
    }
}

frames! {
    /// One event of a watched JVM. Numbers name actors, objects, slots and stacks of the same trace.
    pub enum Frame with *b"UNTETHR\x06", tags in tag {
        1 Runtime Actor { number: u32, kind: ActorKind, parent: u32, name: String, detail: String },
        /// `parent` is 0 for class mirrors and other roots; `place` is where in the parent it was found.
        2 Runtime Object { number: u32, writer: u32, stack: u32, class: String, parent: u32, place: String },
        /// `field` is the nearest field on the way to the slot that is none of the JDK's objects, with its class.
        3 Runtime Slot { number: u32, object: u32, place: String, field: String },
        /// `pending_stack` is the write's, where the writer's segment has not ended yet.
        4 Runtime Read {
            actor: u32,
            slot: u32,
            writer: u32,
            stack: u32,
            pending_stack: u32,
            /// Null, zero or false stood there.
            is_empty: bool,
        },
        5 Runtime Write {
            actor: u32,
            slot: u32,
            stack: u32,
            /// The slot was found empty and filled.
            is_lazy: bool,
            /// The slot was left as another test had left it.
            is_unchanged: bool,
            /// A class initializer did it, on the actor's behalf.
            is_by_initializer: bool,
        },
        6 Runtime Restored { slot: u32, writer: u32 },
        7 Runtime Outcome { actor: u32, status: OutcomeStatus, nanos: u64, message: String, trace: String },
        8 Runtime Note { kind: String, text: String },
        9 Runtime Started { actor: u32, nanos: u64 },
        /// A system property as it was when the first test class started.
        10 Runtime Property { name: String, value: String },
        /// Which element of a collection a slot belongs to, as a person would write it.
        11 Runtime Element { slot: u32, text: String },
        /// The JUnit Platform's unique id of a test that has no class and method.
        12 Runtime Selector { test: String, unique_id: String },
        /// Not all that the class, which has ended, or its tests changed could be put back, for this reason.
        13 Runtime NotRestored { class: String, reason: String },
        /// The actor used the numbered classes from `first` on that the bits of the mask stand for.
        14 Runtime Uses { actor: u32, first: u32, mask: u64 },
        /// The initializer of the class used them.
        15 Runtime InitializerUses { class: u32, first: u32, mask: u64 },
        /// The actor, or else the initializer of the class, looked for a class that is not there.
        16 Runtime Absent { actor: u32, initializer: u32, name: String },
        /// The actor, or else the initializer of the class, looked at lines of a stack trace.
        17 Runtime LinesSeen { actor: u32, initializer: u32 },
        /// Somebody looked at these classes, by reflection, while no test class was running.
        18 Runtime LookedAt { first: u32, mask: u64 },
        20 Agent Launch { launch: LaunchFrame },
        /// Innermost frame first.
        21 Agent Stack { number: u32, frames: Vec<StackFrame> },
        /// A class, or a method of it, that could not be woven.
        22 Agent Refusal { class: String, method: String, reason: String },
        /// The JVM ended in an orderly way.
        23 Agent End {},
        24 Agent Method { number: u32, class: String, name: String, file: String },
        /// A value that was there and is not told.
        25 Agent Withheld { kind: WithheldKind, name: String },
        26 Agent ClassName { number: u32, name: String },
        /// A class of that number was loaded: the hash of its bytes, and what it extends and implements.
        27 Agent ClassLoaded { number: u32, high: u64, low: u64, supertypes: Vec<String> },
    }
}

/// The frames with each property as `judge` leaves it; nothing where that changes none.
pub fn with_properties(frames: &[u8], judge: impl Fn(Frame) -> Frame) -> Option<Vec<u8>> {
    let mut changed: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some((length, rest)) = frames[at..].split_first_chunk::<4>() {
        let Some(body) = rest.get(..u32::from_le_bytes(*length) as usize) else { break };
        let end = at + 4 + body.len();
        let property = if body.first() == Some(&tag::Property) { Frame::take(Body::new(body)).ok() } else { None };
        let judged = property.and_then(|property| Some(judge(property.clone())).filter(|judged| *judged != property));
        match (judged, &mut changed) {
            (Some(judged), _) => {
                changed.get_or_insert_with(|| frames[..at].to_vec()).extend(judged.encode());
            }
            (None, Some(changed)) => changed.extend_from_slice(&frames[at..end]),
            (None, None) => {}
        }
        at = end;
    }
    if let Some(changed) = &mut changed {
        changed.extend_from_slice(&frames[at..]);
    }
    changed
}
