//! From dependencies that might matter to those that do.
//!
//! Nothing here starts a JVM: a [`Strategy`] proposes schedules as data, an [`Oracle`] runs them, and what
//! comes back is judged here. A test that comes to something else than in the original order is a suspect;
//! [`diagnose`] finds out why and proves it.

mod ddmin;
mod diagnose;
mod evidence;
mod guided;
mod incremental;
mod strategy;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use evidence::Evidence;
pub use incremental::{Fingerprinted, differing};
pub use strategy::Strategy;
use untether_model::{Finding, Observation, Schedule, Status, Verdict};

use crate::refine::evidence::Test;

/// Runs schedules, each in a fresh JVM.
pub trait Oracle {
    /// One observation per schedule, in order. A schedule may be asked for several times: each is run.
    fn run(&mut self, schedules: &[Schedule]) -> Result<Vec<Observation>, Stopped>;

    /// What is being done, for people who wait.
    fn progress(&mut self, phase: Phase);
}

/// Why an oracle runs no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// The time that the user gave is over. What was found until then holds.
    OutOfTime,
    /// Not one of the tests could be run, for this reason.
    NothingRan(String),
    Failed(String),
}

/// Where a refinement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Reference,
    /// About how many schedules are still to come.
    Searching {
        left: usize,
    },
    /// Suspects still to be explained.
    Explaining {
        left: usize,
    },
}

/// What came of a refinement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refinement {
    pub findings: Vec<Finding>,
    /// Tests whose outcome varies without any change of order.
    pub nondeterministic: Vec<String>,
    /// Tests that came to something else in some order, which could not be reproduced.
    pub unconfirmed: Vec<String>,
    /// What each test came to in the original order.
    pub reference: Vec<(String, Status)>,
    /// Why it ended early, if it did.
    pub stopped: Option<Stopped>,
}

/// Schedules of one batch in which a suspect is looked at.
const MOST_WAYS: usize = 3;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub strategy: Strategy,
    /// How often the original order is run.
    pub reference_runs: usize,
    /// Only these tests are looked at as readers; all if absent.
    pub targets: Option<BTreeSet<String>>,
}

/// A test that came to something else, after these others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suspect {
    pub(crate) test: Test,
    pub(crate) before: Vec<Test>,
}

/// Looks for tests whose outcome depends on the order.
pub fn refine(evidence: &Evidence<'_>, request: &Request, oracle: &mut dyn Oracle) -> Refinement {
    let mut session = Session::new(evidence, request, oracle);
    let stopped = session.run().err();
    // What turned out to vary by itself while something else about it was proved is not called order-dependent.
    let is_stable = |name: &str| evidence.test(name).is_none_or(|test| !session.unstable.contains(&test));
    session.findings.retain(|finding| is_stable(&finding.test));
    Refinement {
        findings: session.findings,
        nondeterministic: session.unstable.iter().map(|&test| evidence.tests[test].clone()).collect(),
        unconfirmed: session.unconfirmed.iter().map(|&test| evidence.tests[test].clone()).collect(),
        reference: evidence.tests.iter().cloned().zip(session.reference).collect(),
        stopped,
    }
}

pub(crate) struct Session<'s, 'd> {
    pub(crate) evidence: &'s Evidence<'d>,
    request: &'s Request,
    oracle: &'s mut dyn Oracle,
    pub(crate) reference: Vec<Status>,
    pub(crate) unstable: BTreeSet<Test>,
    pub(crate) unconfirmed: BTreeSet<Test>,
    pub(crate) findings: Vec<Finding>,
    /// What suspects came to by themselves.
    pub(crate) alone: HashMap<Test, Verdict>,
    /// Observations made ahead of their use, so that JVMs can run side by side.
    ahead: HashMap<Vec<Test>, Vec<Vec<Verdict>>>,
}

impl<'s, 'd> Session<'s, 'd> {
    fn new(evidence: &'s Evidence<'d>, request: &'s Request, oracle: &'s mut dyn Oracle) -> Self {
        Session {
            evidence,
            request,
            oracle,
            reference: Vec::new(),
            unstable: BTreeSet::new(),
            unconfirmed: BTreeSet::new(),
            findings: Vec::new(),
            alone: HashMap::new(),
            ahead: HashMap::new(),
        }
    }

    fn run(&mut self) -> Result<(), Stopped> {
        self.oracle.progress(Phase::Reference);
        self.find_reference()?;
        let mut strategy = self.request.strategy.start(self.evidence, &self.targets());
        // Suspects are explained round by round: what is known then need not be searched for again.
        loop {
            let (mut proposed, left) = strategy.propose(self.evidence);
            if proposed.is_empty() {
                return Ok(());
            }
            self.oracle.progress(Phase::Searching { left });
            // A test that ends its JVM, or does not end, in any order would spoil each schedule.
            for schedule in &mut proposed {
                schedule.retain(|&test| !matches!(self.reference[test], Status::Died | Status::TimedOut));
            }
            proposed.retain(|schedule| !schedule.is_empty());
            let observations = self.observe(&proposed)?;
            let mut suspects: BTreeMap<Test, BTreeSet<(usize, Vec<Test>)>> = BTreeMap::new();
            for (schedule, verdicts) in proposed.iter().zip(&observations) {
                for (position, &test) in schedule.iter().enumerate() {
                    if self.is_suspicious(test, &verdicts[position]) {
                        let before = schedule[..position].to_vec();
                        suspects.entry(test).or_default().insert((position, before));
                    }
                }
            }
            // The shortest ways to each suspect; what the first explains of the others is not looked at again.
            let suspects: Vec<Suspect> = suspects
                .into_iter()
                .flat_map(|(test, ways)| {
                    ways.into_iter().take(MOST_WAYS).map(move |(_, before)| Suspect { test, before })
                })
                .collect();
            self.explain(suspects)?;
        }
    }

    fn targets(&self) -> BTreeSet<Test> {
        let is_target = |test: &Test| {
            !self.unstable.contains(test)
                && self.request.targets.as_ref().is_none_or(|targets| targets.contains(&self.evidence.tests[*test]))
        };
        (0..self.evidence.tests.len()).filter(is_target).collect()
    }

    fn find_reference(&mut self) -> Result<(), Stopped> {
        let order: Vec<Test> = (0..self.evidence.tests.len()).collect();
        // One after the other: two whole suites at once may get into each other's way.
        let mut observations = Vec::new();
        for _ in 0..self.request.reference_runs.max(1) {
            observations.extend(self.observe(std::slice::from_ref(&order))?);
        }
        self.reference = observations[0].iter().map(|verdict| verdict.status).collect();
        if !self.reference.is_empty() && self.reference.iter().all(|&status| status == Status::Missing) {
            let reason = observations[0].iter().map(|v| v.message.as_str()).find(|m| !m.is_empty()).unwrap_or_default();
            return Err(Stopped::NothingRan(reason.to_owned()));
        }
        for observation in &observations {
            for (test, verdict) in observation.iter().enumerate() {
                if verdict.status != self.reference[test] {
                    self.unstable.insert(test);
                }
            }
        }
        Ok(())
    }

    /// Whether the outcome is another than in the original order, of a test of which that means something.
    pub(crate) fn is_violated(&self, test: Test, status: Status) -> bool {
        status != self.reference[test] && status != Status::Missing && self.reference[test] != Status::Missing
    }

    fn is_suspicious(&self, test: Test, verdict: &Verdict) -> bool {
        self.is_violated(test, verdict.status)
            && !self.unstable.contains(&test)
            && !self.unconfirmed.contains(&test)
            && self.request.targets.as_ref().is_none_or(|targets| targets.contains(&self.evidence.tests[test]))
    }

    /// Runs the schedules; the verdicts of their tests.
    pub(crate) fn observe(&mut self, schedules: &[Vec<Test>]) -> Result<Vec<Vec<Verdict>>, Stopped> {
        let mut found: Vec<Option<Vec<Verdict>>> =
            schedules.iter().map(|schedule| self.ahead.get_mut(schedule).and_then(Vec::pop)).collect();
        let missing: Vec<Vec<Test>> =
            schedules.iter().zip(&found).filter(|(_, known)| known.is_none()).map(|(s, _)| s.clone()).collect();
        let mut fresh = self.ask(&missing)?.into_iter();
        for slot in found.iter_mut().filter(|slot| slot.is_none()) {
            *slot = fresh.next();
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Runs schedules that will be asked for one by one.
    pub(crate) fn observe_ahead(&mut self, schedules: Vec<Vec<Test>>) -> Result<(), Stopped> {
        let observations = self.ask(&schedules)?;
        for (schedule, verdicts) in schedules.into_iter().zip(observations) {
            self.ahead.entry(schedule).or_default().push(verdicts);
        }
        Ok(())
    }

    /// What the last test of a schedule that was run ahead came to.
    pub(crate) fn ahead_of(&self, schedule: &[Test]) -> Option<&Verdict> {
        self.ahead.get(schedule)?.last()?.last()
    }

    fn ask(&mut self, schedules: &[Vec<Test>]) -> Result<Vec<Vec<Verdict>>, Stopped> {
        if schedules.is_empty() {
            return Ok(Vec::new());
        }
        let named: Vec<Schedule> = schedules
            .iter()
            .map(|tests| Schedule::new(tests.iter().map(|&test| self.evidence.tests[test].clone()).collect()))
            .collect();
        let observations = self.oracle.run(&named)?;
        Ok(observations.into_iter().map(|observation| observation.verdicts).collect())
    }

    /// What the last test of each schedule came to.
    pub(crate) fn last_verdicts(&mut self, schedules: &[Vec<Test>]) -> Result<Vec<Verdict>, Stopped> {
        let observations = self.observe(schedules)?;
        observations
            .into_iter()
            .map(|mut verdicts| verdicts.pop().ok_or_else(|| Stopped::Failed("an empty schedule was run".to_owned())))
            .collect()
    }

    pub(crate) fn explaining(&mut self, left: usize) {
        self.oracle.progress(Phase::Explaining { left });
    }
}
