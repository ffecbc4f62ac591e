//! What test classes came to when each was run as if it were the first in its JVM.

use serde::{Deserialize, Serialize};

use crate::refinement::Verdict;
use crate::trace::NotRestored;

/// A test, or a class outside of its tests, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestOutcome {
    pub id: String,
    pub verdict: Verdict,
}

/// One class run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassOutcome {
    pub class: String,
    /// Which of the JVMs ran it.
    pub jvm: usize,
    pub tests: Vec<TestOutcome>,
    /// Why the JVM could not be put back afterwards.
    pub left_behind: Option<String>,
}

/// A test that came to something else isolated than in a JVM of its class's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IsolationDifference {
    pub test: String,
    /// None where it did not run.
    pub isolated: Option<Verdict>,
    pub alone: Option<Verdict>,
    /// It also differs from one fresh JVM to the next.
    pub varies: bool,
    /// What earlier classes left there that its class read, as far as it is watched.
    pub left_behind: Vec<String>,
}

/// What a run in which classes or tests were isolated came to.
#[derive(Debug, Clone, Default)]
pub struct IsolatedRun {
    pub classes: Vec<ClassOutcome>,
    pub jvms: usize,
    pub seconds: f64,
    /// Classes after which a JVM was not as before them, and why: the next class had another JVM, or not.
    pub not_restored: Vec<NotRestored>,
    pub has_replaced: bool,
    /// Where it was compared with a JVM for each class.
    pub check: Option<IsolationCheck>,
}

#[derive(Debug, Clone, Default)]
pub struct IsolationCheck {
    pub jvms: usize,
    pub seconds: f64,
    pub compared: usize,
    pub differences: Vec<IsolationDifference>,
}

impl IsolatedRun {
    pub fn tests(&self) -> impl Iterator<Item = &TestOutcome> {
        self.classes.iter().flat_map(|class| &class.tests)
    }
}
