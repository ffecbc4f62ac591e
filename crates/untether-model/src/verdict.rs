//! What became of a test that a worker ran.

use serde::{Deserialize, Serialize};

/// How a test ended. Statuses order from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Passed,
    Skipped,
    Aborted,
    Failed,
    /// It ran longer than a test may; its JVM was ended.
    TimedOut,
    /// Its JVM ended: a crash, or a call of `System.exit`.
    Died,
    /// It was asked for and never started: its class could not be set up, or has no such method.
    Missing,
}

impl Status {
    /// Whether it ran and did not come to a good end.
    pub fn is_failure(self) -> bool {
        matches!(self, Status::Failed | Status::TimedOut | Status::Died)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Passed => "passed",
            Status::Skipped => "skipped",
            Status::Aborted => "aborted",
            Status::Failed => "failed",
            Status::TimedOut => "timed-out",
            Status::Died => "died",
            Status::Missing => "missing",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
