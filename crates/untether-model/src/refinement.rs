//! What refinement works with and what it finds.

use serde::{Deserialize, Serialize};

use crate::detection::Labels;
use crate::trace::StackLine;
use crate::verdict::Status;

/// Tests (`pkg.Class#method`) in the order in which one JVM runs them. Neighbours of one class form one
/// class run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Schedule {
    pub tests: Vec<String>,
}

impl Schedule {
    pub fn new(tests: Vec<String>) -> Self {
        Schedule { tests }
    }
}

/// What became of one test of a schedule: the worst of its invocations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub status: Status,
    pub nanos: u64,
    pub message: String,
}

/// What became of a schedule, test by test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub verdicts: Vec<Verdict>,
    /// How many JVMs it took: more than one where a test ended its JVM.
    pub jvms: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Alone it fails; after its setters it comes to what it came to in the original order.
    Brittle,
    /// It passes alone and comes to something else after its polluters, be it in the original order.
    Victim,
}

/// A place through which a finding comes about, with the code that writes and the code that reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    pub name: String,
    pub root: String,
    pub labels: Labels,
    pub writer: String,
    pub write: Vec<StackLine>,
    pub read: Vec<StackLine>,
}

/// What the test came to in the original order, and in the schedule that proves the finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    pub reference: Status,
    pub violated: Status,
    pub message: String,
}

/// A manifest dependency: its violation was seen to change a test's outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Names the finding from one refinement to the next.
    pub id: String,
    pub test: String,
    pub role: Role,
    /// For brittle tests: what must run before, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setters: Vec<String>,
    /// For victims: what must not run before, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polluters: Vec<String>,
    /// Other lists that do the same, of those that were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Vec<String>>,
    /// Tests that undo the polluters' doing when they run between them and the victim.
    pub cleaners: Vec<String>,
    pub resources: Vec<Channel>,
    /// Whether the tests were watched in the order of the finding and no field was seen between them.
    #[serde(default)]
    pub is_outside_heap: bool,
    pub outcome: Contrast,
    /// Run in a fresh JVM, this shows the violated outcome.
    pub schedule: Vec<String>,
    /// And this the one of the original order.
    pub counter_schedule: Vec<String>,
}

impl Finding {
    /// The tests that the finding is about besides the one that differs: setters or polluters, in their order.
    pub fn others(&self) -> &[String] {
        match self.role {
            Role::Brittle => &self.setters,
            Role::Victim => &self.polluters,
        }
    }
}

/// What a refinement cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub executions: usize,
    pub jvm_starts: usize,
}
