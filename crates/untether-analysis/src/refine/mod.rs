//! From dependencies that might matter to those that do.
//!
//! Nothing here starts a JVM: schedules and trials are proposed as data, an [`Oracle`] runs them, and what comes back
//! is judged here. What a test comes to alone, in a fresh JVM, is what everything else is compared with: who comes to
//! something worse after others is their victim, who comes to something better is brittle and they are its setters.
//!
//! Breadth first: all tests that differ somewhere, each with one list of tests that shows it ([`diagnose`]); then
//! other lists, causes and cleaners ([`extras`], [`causes`]).

mod causes;
mod ddmin;
mod diagnose;
mod evidence;
mod extras;
mod guided;
mod incremental;
mod known;
mod orders;
mod pairs;
mod strategy;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use causes::arrange;
pub use evidence::Evidence;
pub use incremental::{Fingerprinted, differing};
pub use strategy::Strategy;
use untether_model::{Coverage, Finding, Observation, Schedule, Status, Trial, Tried, Verdict, World};

use crate::refine::evidence::Test;

/// Runs schedules and trials.
pub trait Oracle {
    /// One observation per schedule, in order, each from a fresh JVM. A schedule may be asked for several times: each
    /// is run.
    fn run(&mut self, schedules: &[Schedule]) -> Result<Vec<Observation>, Stopped>;

    /// What comes of each trial, quickly had in JVMs that are put back in between: a hint, not a proof. None where
    /// it could not be tried.
    fn try_all(&mut self, trials: &[Trial]) -> Result<Vec<Option<Tried>>, Stopped>;

    /// Whether more pairs may be tried: a suite may have millions.
    fn has_room(&self) -> bool;

    /// Whether more orders of the whole suite may be run: asked before each few of them.
    fn has_room_for_orders(&mut self) -> bool;

    /// How many trials are to be asked for at once: after them, what they showed is explained.
    fn trials_at_once(&self) -> usize;

    /// JVMs that were started so far; those do not count that the user's own limit is for.
    fn jvms_spent(&self) -> usize;

    /// These tests can be run, in this order, before trials, so that what happens only once in a JVM has happened.
    fn warm_up(&mut self, tests: Vec<String>);

    /// What is being done, for people who wait.
    fn progress(&mut self, phase: Phase);

    /// Something was found and proved; what more is known of it comes at the end.
    fn found(&mut self, finding: &Finding);
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
    /// Pairs of tests still to be tried.
    Pairs {
        left: usize,
    },
    /// Suspects still to be explained.
    Explaining {
        left: usize,
    },
    /// Findings whose causes are still to be proven.
    Causes {
        left: usize,
    },
}

/// What came of a refinement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refinement {
    pub findings: Vec<Finding>,
    /// Tests whose outcome varies without any change of order.
    pub nondeterministic: Vec<String>,
    /// Tests that ended in one run of an order and not in another.
    pub timed_out: Vec<String>,
    /// Tests that came to something else in some order, which could not be reproduced.
    pub unconfirmed: Vec<String>,
    /// What each test came to in the original order.
    pub reference: Vec<(String, Status)>,
    pub coverage: Coverage,
    /// Why it ended early, if it did.
    pub stopped: Option<Stopped>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub strategy: Strategy,
    /// How often the original order is run.
    pub reference_runs: usize,
    /// Only these tests are looked at as readers; all if absent.
    pub targets: Option<BTreeSet<String>>,
    /// Tells the tests from those of equal names in other modules; part of what identifies a finding.
    pub scope: String,
}

/// A test that came to something, after these others, that it does not come to otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suspect {
    pub(crate) test: Test,
    pub(crate) before: Vec<Test>,
    pub(crate) status: Status,
}

/// Looks for tests whose outcome depends on the order.
pub fn refine(evidence: &Evidence<'_>, request: &Request, oracle: &mut dyn Oracle) -> Refinement {
    let mut session = Session::new(evidence, request, oracle);
    let stopped = session.run().err();
    // What turned out to vary by itself while something else about it was proved is not called order-dependent.
    let is_stable = |name: &str| evidence.test(name).is_none_or(|test| !session.unstable.contains(&test));
    session.findings.retain(|finding| is_stable(&finding.test));
    let is_explained = |test: &Test| session.findings.iter().any(|finding| finding.test == evidence.tests[*test]);
    let unconfirmed = session.unconfirmed.keys().filter(|test| !is_explained(test) && !session.unstable.contains(test));
    Refinement {
        nondeterministic: session
            .unstable
            .difference(&session.timed_out)
            .map(|&test| evidence.tests[test].clone())
            .collect(),
        timed_out: session.timed_out.iter().map(|&test| evidence.tests[test].clone()).collect(),
        unconfirmed: unconfirmed.map(|&test| evidence.tests[test].clone()).collect(),
        findings: session.findings,
        reference: evidence.tests.iter().cloned().zip(session.reference).collect(),
        coverage: session.coverage,
        stopped,
    }
}

/// After fewer trials, that they had no answer says nothing about the suite's JVMs.
const FEWEST_TO_JUDGE: usize = 8;

pub(crate) struct Session<'s, 'd> {
    pub(crate) evidence: &'s Evidence<'d>,
    request: &'s Request,
    oracle: &'s mut dyn Oracle,
    pub(crate) reference: Vec<Status>,
    pub(crate) unstable: BTreeSet<Test>,
    /// Those of the unstable ones that did not end in time once.
    timed_out: BTreeSet<Test>,
    /// How often what a test came to could not be reproduced.
    pub(crate) unconfirmed: BTreeMap<Test, usize>,
    pub(crate) findings: Vec<Finding>,
    /// Of so many of them the cause was looked for.
    pub(crate) proved: usize,
    /// So many of them are understood as well as they can be.
    pub(crate) completed: usize,
    pub(crate) coverage: Coverage,
    /// What suspects came to by themselves, in fresh JVMs.
    pub(crate) alone: HashMap<Test, Verdict>,
    /// The same, in JVMs that are put back.
    pub(crate) quick_alone: HashMap<Test, Verdict>,
    /// Tests that come to something else there than in fresh JVMs.
    pub(crate) unfaithful: BTreeSet<Test>,
    /// Tests of which it cannot be known whether they do.
    pub(crate) doubtful: BTreeSet<Test>,
    /// What the last tests of schedules came to in fresh JVMs.
    observed: HashMap<Vec<Test>, Verdict>,
    /// What pairs came to there, of those that were tried.
    pub(crate) pairs: HashMap<(Test, Test), Status>,
    /// Those of them that were tried in fresh JVMs.
    pub(crate) fresh_pairs: HashSet<(Test, Test)>,
    /// Pairs that cannot be tried at all: their runner does not keep to the order, say.
    pub(crate) untriable: HashSet<(Test, Test)>,
    /// Tests whose messages differ from run to run.
    pub(crate) vague: BTreeSet<Test>,
    /// Tests that were run before all others.
    pub(crate) leading: BTreeSet<Test>,
    /// Pairs that were tried in JVMs that are put back and did not come to an end there.
    pub(crate) unanswered: BTreeSet<(Test, Test)>,
    /// Whether JVMs of this suite can be put back, and how many of the trials that were asked for there were answered.
    pub(crate) is_quick: bool,
    asked: usize,
    answered: usize,
}

impl<'s, 'd> Session<'s, 'd> {
    fn new(evidence: &'s Evidence<'d>, request: &'s Request, oracle: &'s mut dyn Oracle) -> Self {
        Session {
            evidence,
            request,
            oracle,
            reference: Vec::new(),
            unstable: BTreeSet::new(),
            timed_out: BTreeSet::new(),
            unconfirmed: BTreeMap::new(),
            findings: Vec::new(),
            proved: 0,
            completed: 0,
            coverage: Coverage::default(),
            alone: HashMap::new(),
            quick_alone: HashMap::new(),
            unfaithful: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            observed: HashMap::new(),
            pairs: HashMap::new(),
            fresh_pairs: HashSet::new(),
            untriable: HashSet::new(),
            vague: BTreeSet::new(),
            leading: BTreeSet::new(),
            unanswered: BTreeSet::new(),
            is_quick: true,
            asked: 0,
            answered: 0,
        }
    }

    fn run(&mut self) -> Result<(), Stopped> {
        self.oracle.progress(Phase::Reference);
        self.find_reference()?;
        let runnable: Vec<Test> = (0..self.reference.len()).filter(|&test| self.can_run(test)).collect();
        self.oracle.warm_up(self.names(&runnable));
        let targets = self.targets();
        let searched = self.search(&targets);
        self.count_pairs(&targets);
        // What was found is made the most of even where the search was cut short, as far as there is time.
        let completed = match &searched {
            Err(Stopped::Failed(_) | Stopped::NothingRan(_)) => Ok(()),
            _ => self.complete(),
        };
        searched.and(completed)
    }

    fn search(&mut self, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        if self.request.strategy != Strategy::Guided {
            return self.search_listed(targets);
        }
        self.search_fresh(guided::Rounds::First, targets)?;
        self.search_after_known()?;
        self.prove_new_causes()?;
        self.search_pairs(targets)?;
        self.search_after_known()?;
        // What comes now costs JVMs, and finds little: before the time is over, what was found is understood.
        self.complete()?;
        self.search_fresh(guided::Rounds::Last { is_all: !self.is_quick }, targets)?;
        self.search_fresh_pairs(targets)?;
        self.search_class_orders(targets)?;
        self.search_after_known()
    }

    /// Suspects are explained round by round: what is known then need not be searched for again.
    fn search_fresh(&mut self, rounds: guided::Rounds, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        let mut search = guided::Guided::new(self.evidence, targets, rounds);
        self.search_by(&mut search)
    }

    fn search_listed(&mut self, targets: &BTreeSet<Test>) -> Result<(), Stopped> {
        let mut search = self.request.strategy.start(self.evidence, targets);
        self.search_by(search.as_mut())
    }

    pub(crate) fn search_by(&mut self, search: &mut dyn strategy::Search) -> Result<(), Stopped> {
        loop {
            let (mut proposed, left) = search.propose(self.evidence);
            if proposed.is_empty() {
                return Ok(());
            }
            self.oracle.progress(Phase::Searching { left });
            // A test that ends its JVM, or does not end, in any order would spoil each schedule.
            for schedule in &mut proposed {
                schedule.retain(|&test| self.can_run(test));
            }
            proposed.retain(|schedule| !schedule.is_empty());
            let observations = self.observe(&proposed)?;
            let mut suspects: BTreeMap<Test, BTreeSet<(usize, Vec<Test>, Status)>> = BTreeMap::new();
            for (schedule, verdicts) in proposed.iter().zip(&observations) {
                for (position, &test) in schedule.iter().enumerate() {
                    let status = verdicts[position].status;
                    if self.is_suspicious(test, status) {
                        let before = schedule[..position].to_vec();
                        suspects.entry(test).or_default().insert((position, before, status));
                    }
                }
            }
            // The shortest ways to each suspect; what the first explains of the others is not looked at again.
            const MOST_WAYS: usize = 3;
            let suspects: Vec<Suspect> = suspects
                .into_iter()
                .flat_map(|(test, ways)| {
                    let ways = ways.into_iter().take(MOST_WAYS);
                    ways.map(move |(_, before, status)| Suspect { test, before, status })
                })
                .collect();
            self.explain(suspects)?;
        }
    }

    /// Whether schedules can go on after the test.
    pub(crate) fn can_run(&self, test: Test) -> bool {
        !matches!(self.reference[test], Status::Died | Status::TimedOut)
    }

    fn targets(&self) -> BTreeSet<Test> {
        (0..self.evidence.tests.len()).filter(|&test| self.is_target(test)).collect()
    }

    pub(crate) fn is_target(&self, test: Test) -> bool {
        !self.unstable.contains(&test)
            && self.request.targets.as_ref().is_none_or(|targets| targets.contains(&self.evidence.tests[test]))
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
                    self.varies(test, [verdict.status, self.reference[test]]);
                }
            }
        }
        Ok(())
    }

    /// The test came to different outcomes in the same order: nothing that it comes to says anything.
    pub(crate) fn varies(&mut self, test: Test, statuses: [Status; 2]) {
        self.unstable.insert(test);
        if statuses.contains(&Status::TimedOut) {
            self.timed_out.insert(test);
        }
    }

    /// Whether the outcome is another than in the original order, of a test of which that means something.
    fn is_suspicious(&self, test: Test, status: Status) -> bool {
        status != self.reference[test]
            && status != Status::Missing
            && self.reference[test] != Status::Missing
            && !self.is_given_up(test)
            && self.is_target(test)
    }

    /// Runs the schedules in fresh JVMs; the verdicts of their tests.
    pub(crate) fn observe(&mut self, schedules: &[Vec<Test>]) -> Result<Vec<Vec<Verdict>>, Stopped> {
        if schedules.is_empty() {
            return Ok(Vec::new());
        }
        let named: Vec<Schedule> = schedules.iter().map(|tests| Schedule::new(self.names(tests))).collect();
        let observations = self.oracle.run(&named)?;
        Ok(observations.into_iter().map(|observation| observation.verdicts).collect())
    }

    /// What the last test of each schedule came to, in fresh JVMs.
    pub(crate) fn last_verdicts(&mut self, schedules: &[Vec<Test>]) -> Result<Vec<Verdict>, Stopped> {
        let observations = self.observe(schedules)?;
        let verdicts: Vec<Verdict> = observations
            .into_iter()
            .map(|mut verdicts| verdicts.pop().ok_or_else(|| Stopped::Failed("an empty schedule was run".to_owned())))
            .collect::<Result<_, _>>()?;
        for (schedule, verdict) in schedules.iter().zip(&verdicts) {
            self.observed.insert(schedule.clone(), verdict.clone());
        }
        Ok(verdicts)
    }

    /// The same, of schedules that were not run in a fresh JVM before: for what is still to be confirmed.
    pub(crate) fn known_verdicts(&mut self, schedules: &[Vec<Test>]) -> Result<Vec<Verdict>, Stopped> {
        let unknown: Vec<Vec<Test>> =
            schedules.iter().filter(|schedule| !self.observed.contains_key(*schedule)).cloned().collect();
        self.last_verdicts(&unknown)?;
        Ok(schedules.iter().filter_map(|schedule| self.observed.get(schedule)).cloned().collect())
    }

    /// What trials came to, quickly; none of those that could not be run.
    pub(crate) fn try_all(&mut self, trials: &[Trial]) -> Result<Vec<Option<Tried>>, Stopped> {
        if trials.is_empty() {
            return Ok(Vec::new());
        }
        let is_warm = trials.iter().all(|trial| trial.world == World::Warm);
        if is_warm && !self.is_quick {
            return Ok(vec![None; trials.len()]);
        }
        let tried = self.oracle.try_all(trials)?;
        if is_warm {
            // All that was asked until now counts: some tests may wear out a JVM each where the others do not.
            self.asked += tried.len();
            self.answered += tried.iter().filter(|tried| tried.is_some()).count();
            self.is_quick &= 2 * self.answered >= self.asked || self.asked < FEWEST_TO_JUDGE;
        }
        Ok(tried)
    }

    pub(crate) fn names(&self, tests: &[Test]) -> Vec<String> {
        tests.iter().map(|&test| self.evidence.tests[test].clone()).collect()
    }

    pub(crate) fn progress(&mut self, phase: Phase) {
        self.oracle.progress(phase);
    }
}
