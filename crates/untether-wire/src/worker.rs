//! What a worker tells while it runs tests, so that a JVM which dies leaves what it did.

use crate::codec::{codes, frames};

codes! {
    /// What became of a test.
    pub enum EndStatus {
        Passed = 0,
        Failed = 1,
        Aborted = 2,
        Skipped = 3,
        /// It was asked for and is not there.
        Missing = 4,
    }
}

frames! {
    /// One event of a worker. The id of a test is `pkg.Class#method`, with `[index]` where a method runs more than once; that of
    /// what happened outside of any test is its class.
    pub enum WorkerFrame with *b"UNTWORK\x01", tags in worker_tag {
        /// A class run begins, of so many lines of the plan.
        1 Worker ClassStarted { class: String, lines: u32 },
        2 Worker ClassEnded { class: String },
        3 Worker Started { id: String },
        4 Worker Ended { id: String, status: EndStatus, nanos: u64, message: String },
        /// A field that the tests since the last save have changed.
        5 Worker Field { name: String },
        /// All such fields have been told.
        6 Worker FieldsEnded {},
        /// The JVM cannot be put back to how it was, for this reason, and runs no more.
        7 Worker NotRestorable { reason: String },
        /// The plan is over; the JVM waits for another.
        8 Worker PlanEnded {},
        9 Worker Done {},
    }
}
