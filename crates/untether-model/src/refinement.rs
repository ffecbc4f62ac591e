//! What refinement works with and what it finds.

use serde::{Deserialize, Serialize};

use crate::detection::{Labels, ResourceKind};
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

/// What is put back between the tests that come first and the last one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum PutBack {
    #[default]
    Nothing,
    /// These fields, to what they were before the first test after the prelude.
    Only(Vec<String>),
    /// All other fields.
    AllBut(Vec<String>),
    /// Nothing; the question is which fields differ there from what they were before that.
    Ask,
}

/// In which JVM something is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum World {
    /// One that is put back after each trial, in which what happens only once has happened.
    #[default]
    Warm,
    /// One of its own.
    Cold,
}

/// Some tests, what is put back after them, and one more test.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Trial {
    /// Tests that run before the others: what they leave is not put back.
    pub prelude: Vec<String>,
    pub before: Vec<String>,
    pub put_back: PutBack,
    pub last: String,
    pub world: World,
}

/// What came of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tried {
    Ended(Verdict),
    Changed(Vec<String>),
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
    #[serde(default)]
    pub kind: ResourceKind,
    pub name: String,
    /// The field with its class: what findings are grouped by.
    pub field: String,
    /// How it is reached from the static root.
    #[serde(default)]
    pub path: String,
    pub root: String,
    pub labels: Labels,
    pub writer: String,
    /// The innermost lines of the project's own code.
    #[serde(default)]
    pub written_at: Option<StackLine>,
    #[serde(default)]
    pub read_at: Option<StackLine>,
    pub write: Vec<StackLine>,
    pub read: Vec<StackLine>,
}

/// What the test came to in the original order, and in the two schedules that prove the finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    pub reference: Status,
    /// In the schedule that proves it: the worse of the two.
    pub violated: Status,
    /// In the schedule to compare it with.
    pub counter: Status,
    pub message: String,
}

/// How sure the cause of a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Putting these fields back changed the outcome, and putting back fewer did not.
    Proven,
    /// The tests meet there; nothing was put back.
    #[default]
    Likely,
    /// All that is watched was put back and the outcome did not change: it is a file, a port, native state.
    Outside,
}

/// The fields through which a finding comes about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cause {
    pub certainty: Certainty,
    /// With their classes; none where they are not known, or outside of what is watched.
    pub fields: Vec<String>,
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
    pub cause: Cause,
    /// Where the tests meet; those of the cause first.
    pub resources: Vec<Channel>,
    pub outcome: Contrast,
    /// Run in a fresh JVM, this shows the violated outcome.
    pub schedule: Vec<String>,
    /// And this the other.
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

/// A finding whose proof was run again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    pub finding: Finding,
    /// What came of the schedule to compare with, and of the one that proves it.
    pub counter: Observation,
    pub violated: Observation,
}

impl Replay {
    /// Whether the outcomes are those that the refinement saw.
    pub fn is_reproduced(&self) -> bool {
        let last = |observation: &Observation| observation.verdicts.last().map(|verdict| verdict.status);
        last(&self.counter) == Some(self.finding.outcome.counter)
            && last(&self.violated) == Some(self.finding.outcome.violated)
    }
}

/// What a refinement cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub executions: usize,
    pub jvm_starts: usize,
}

/// How many of some pairs of tests were tried, in that order and as if nobody else were there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub tried: usize,
    pub all: usize,
}

impl Share {
    pub fn is_all(self) -> bool {
        self.tried >= self.all
    }

    pub fn add(&mut self, other: Share) {
        self.tried += other.tried;
        self.all += other.all;
    }
}

/// How far a search came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Pairs of which the first writes what the second reads.
    pub candidates: Share,
    /// All pairs of tests.
    pub pairs: Share,
    /// All pairs of classes.
    pub class_pairs: Share,
}
