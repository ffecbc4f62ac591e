//! What is kept of a refinement, and what of it a later one replaces.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::launch::Launch;
use crate::refinement::{Cost, Coverage, Finding};

/// What a refinement came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RefinementRecord {
    pub started_ms: i64,
    pub strategy: String,
    /// Whether it was not cut short.
    pub is_complete: bool,
    pub findings: Vec<Finding>,
    /// How the JVMs of findings were started, to replay them.
    launches: Vec<Launch>,
    /// Into `launches`, by finding's id.
    launch_of: BTreeMap<String, usize>,
    pub nondeterministic: Vec<String>,
    pub unconfirmed: Vec<String>,
    /// Tests that ended in one run of an order and not in another.
    #[serde(default)]
    pub timed_out: Vec<String>,
    /// Tests that passed when they were watched, but not in a worker.
    #[serde(default)]
    pub differing: Vec<String>,
    /// The other tests that failed in the original order.
    #[serde(default)]
    pub failing: Vec<String>,
    /// Why tests could not be run as a schedule asked, and which.
    #[serde(default)]
    pub unrunnable: BTreeMap<String, BTreeSet<String>>,
    /// Findings that a check for new ones did not let pass.
    #[serde(default)]
    pub rejected: Vec<String>,
    pub cost: Cost,
    pub coverage: Coverage,
    /// Why JVMs could not be put back between trials, where that was so.
    pub obstacle: Option<String>,
    pub seconds: f64,
    /// What each test's classes looked like.
    pub fingerprints: BTreeMap<String, String>,
}

impl RefinementRecord {
    /// One that has found nothing yet.
    pub fn begun(started_ms: i64, strategy: String) -> Self {
        RefinementRecord { started_ms, strategy, is_complete: true, ..Self::default() }
    }

    /// Whether it found whatever that strategy would have.
    pub fn covers(&self, strategy: &str) -> bool {
        self.strategy == "guided" || self.strategy == strategy
    }

    /// This one, with what a later one found about some tests, those that it has fingerprints of. One that is weaker or
    /// was cut short takes nothing back.
    pub fn updated_by(&self, later: &RefinementRecord) -> Self {
        let takes_back = later.is_complete && later.covers(&self.strategy);
        let is_kept = |test: &String| !later.fingerprints.contains_key(test);
        let mut merged = RefinementRecord {
            started_ms: later.started_ms,
            findings: Vec::new(),
            launches: Vec::new(),
            launch_of: BTreeMap::new(),
            ..self.clone()
        };
        merged.take_over(later, |_| true);
        merged.take_over(self, |finding| !takes_back || is_kept(&finding.test));
        if takes_back {
            merged.fingerprints.extend(later.fingerprints.clone());
        }
        for (names, new) in [
            (&mut merged.nondeterministic, &later.nondeterministic),
            (&mut merged.unconfirmed, &later.unconfirmed),
            (&mut merged.timed_out, &later.timed_out),
            (&mut merged.differing, &later.differing),
            (&mut merged.failing, &later.failing),
        ] {
            names.retain(|test| !new.contains(test) && (!takes_back || is_kept(test)));
            names.extend(new.iter().cloned());
        }
        for (reason, tests) in &later.unrunnable {
            merged.unrunnable.entry(reason.clone()).or_default().extend(tests.iter().cloned());
        }
        // What was looked at without a check is accepted.
        let is_looked_at = |id: &String| later.findings.iter().any(|finding| &finding.id == id);
        merged.rejected.retain(|id| !is_looked_at(id));
        merged.rejected.extend(later.rejected.iter().cloned());
        merged
    }

    /// Adds a finding with the launch of its JVMs.
    pub fn add_finding(&mut self, finding: Finding, launch: &Launch) {
        let known = self.launches.iter().position(|other| other == launch);
        let number = known.unwrap_or_else(|| {
            self.launches.push(launch.clone());
            self.launches.len() - 1
        });
        self.launch_of.insert(finding.id.clone(), number);
        self.findings.push(finding);
    }

    /// How the JVMs of a finding were started.
    pub fn launch_of(&self, finding: &Finding) -> Option<&Launch> {
        self.launches.get(*self.launch_of.get(&finding.id)?)
    }

    /// Takes over the findings of another refinement that are wanted and not there.
    pub fn take_over(&mut self, other: &RefinementRecord, is_wanted: impl Fn(&Finding) -> bool) {
        for finding in other.findings.iter().filter(|finding| is_wanted(finding)) {
            if let Some(launch) = other.launch_of(finding)
                && !self.findings.iter().any(|known| known.id == finding.id)
            {
                self.add_finding(finding.clone(), launch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refinement::{Cause, Contrast, Role};
    use crate::verdict::Status;

    fn finding(id: &str, test: &str) -> Finding {
        Finding {
            id: id.to_owned(),
            test: test.to_owned(),
            role: Role::Brittle,
            setters: vec!["s".to_owned()],
            polluters: Vec::new(),
            alternatives: Vec::new(),
            cleaners: Vec::new(),
            cause: Cause::default(),
            resources: Vec::new(),
            outcome: Contrast {
                reference: Status::Passed,
                violated: Status::Failed,
                counter: Status::Passed,
                message: String::new(),
            },
            schedule: vec![test.to_owned()],
            counter_schedule: vec!["s".to_owned(), test.to_owned()],
        }
    }

    fn refinement(strategy: &str, findings: &[(&str, &str)], tests: &[&str]) -> RefinementRecord {
        let mut refinement = RefinementRecord::begun(1, strategy.to_owned());
        for (id, test) in findings {
            refinement.add_finding(finding(id, test), &Launch::default());
        }
        refinement.fingerprints = tests.iter().map(|test| ((*test).to_owned(), "new".to_owned())).collect();
        refinement
    }

    fn ids(refinement: &RefinementRecord) -> Vec<&str> {
        let mut ids: Vec<&str> = refinement.findings.iter().map(|finding| finding.id.as_str()).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn what_is_looked_at_again_replaces_what_was_known_of_it() {
        let mut all = refinement("guided", &[("x1", "x"), ("y1", "y")], &["x", "y"]);
        all.nondeterministic = vec!["x".to_owned(), "z".to_owned()];
        let mut later = refinement("guided", &[("x2", "x")], &["x"]);
        later.unconfirmed = vec!["x".to_owned()];
        let merged = all.updated_by(&later);
        assert_eq!(ids(&merged), ["x2", "y1"]);
        assert_eq!((merged.nondeterministic, merged.unconfirmed), (vec!["z".to_owned()], vec!["x".to_owned()]));
    }

    #[test]
    fn a_weaker_search_or_one_that_was_cut_short_takes_nothing_back() {
        let mut all = refinement("guided", &[("x1", "x"), ("y1", "y")], &["x", "y"]);
        all.fingerprints.insert("x".to_owned(), "old".to_owned());
        let weaker = refinement("isolate", &[("x2", "x")], &["x"]);
        let mut cut = refinement("guided", &[("x2", "x")], &["x"]);
        cut.is_complete = false;
        for later in [weaker, cut] {
            let merged = all.updated_by(&later);
            assert_eq!(ids(&merged), ["x1", "x2", "y1"]);
            assert_eq!(merged.fingerprints["x"], "old");
        }
    }

    #[test]
    fn what_a_check_rejected_stays_rejected_until_it_is_looked_at_without_one() {
        let all = refinement("guided", &[("y1", "y")], &["x", "y"]);
        let mut checked = refinement("guided", &[("x1", "x")], &["x"]);
        checked.rejected = vec!["x1".to_owned()];
        let merged = all.updated_by(&checked);
        assert_eq!(merged.rejected, ["x1"]);
        let again = merged.updated_by(&refinement("guided", &[("y1", "y")], &["y"]));
        assert_eq!(again.rejected, ["x1"]);
        let accepted = again.updated_by(&refinement("guided", &[("x1", "x")], &["x"]));
        assert!(accepted.rejected.is_empty());
    }
}
