//! The tests of one JVM: which are looked at, what came of them, and what is noted of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Instant;

use untether_analysis::refine::{self, Evidence, Fingerprinted, Refinement, Request, Stopped, differing};
use untether_model::{Detection, RefinementRecord, Status, method_of};
use untether_project::{Config, Fingerprints};
use untether_report::is_named;
use untether_runner::{Executor, Limits, WorkerContext};
use untether_store::Store;

use crate::error::EngineError;
use crate::refine::RefineRequest;
use crate::refine::channels::Rerun;
use crate::refine::earlier::keep;
use crate::refine::event::Emit;
use crate::refine::jvms::{Jvms, Spent};
use crate::refine::memo::{Memo, jvm_key};

/// A refinement that is under way.
pub(super) struct Session<'s, 'e> {
    pub(super) request: &'s RefineRequest<'s>,
    pub(super) store: &'s mut Store,
    /// What need not be looked at again.
    pub(super) previous: Option<&'s RefinementRecord>,
    pub(super) started: Instant,
    pub(super) emit: &'s mut Emit<'e>,
    pub(super) record: RefinementRecord,
    /// Schedules that had not to be run again.
    pub(super) known: usize,
}

impl Session<'_, '_> {
    /// Why it ended early, if it did.
    pub(super) fn refine_jvm(&mut self, detection: &Detection, folder: &Path) -> Result<Option<Stopped>, EngineError> {
        let launch = &detection.launch;
        let context = WorkerContext::new(launch, folder)?;
        let fingerprints = Fingerprints::read(&context.code());
        let evidence = Evidence::new(detection);
        let jvm = jvm_key(launch, &context);
        let fingerprinted = Fingerprinted::new(&evidence, |class| format!("{jvm}{}", fingerprints.of(class)));
        let targets = self.begin(detection, &evidence, &fingerprinted);
        if targets.as_ref().is_some_and(BTreeSet::is_empty) {
            return Ok(None);
        }
        let request = self.request;
        let deadline = request.budget.map(|budget| self.started + budget);
        let limits = Limits { per_test: request.test_timeout, deadline };
        let config = Config::load(request.project)?;
        let mut executor = Executor::new(context, config.clone(), folder, limits);
        executor.start_without(&launch.left_files)?;
        let memo = Memo::new(launch, request.test_timeout, &fingerprinted);
        let jobs = request.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(2, usize::from));
        let mut jvms = Jvms::new(executor, self.store, memo, jobs, request.budget.is_some(), self.emit);
        let asked = Request {
            strategy: request.strategy.clone(),
            reference_runs: request.reference_runs,
            targets,
            scope: launch.directory.clone(),
        };
        let mut refinement = refine::refine(&evidence, &asked, &mut jvms);
        self.record.is_complete &= refinement.coverage.candidates.is_all();
        let spent = jvms.into_spent();
        self.note_spent(spent);
        Rerun { launch, config: &config, folder, limits }.name_causes(&mut refinement.findings);
        Ok(self.note(detection, refinement, asked.targets.as_ref()))
    }

    /// The tests to look at, all if absent; what is known of the others is taken over.
    fn begin(
        &mut self,
        detection: &Detection,
        evidence: &Evidence<'_>,
        fingerprinted: &Fingerprinted<'_, '_>,
    ) -> Option<BTreeSet<String>> {
        let asked = self.asked(evidence.tests());
        for test in evidence.tests() {
            if asked.as_ref().is_none_or(|asked| asked.contains(test)) {
                self.record.fingerprints.insert(test.clone(), fingerprinted.of_test(test));
            }
        }
        if asked.is_some() {
            return asked;
        }
        let previous = self.previous?;
        let outdated = fingerprinted.outdated(&previous.fingerprints, &previous.findings)?;
        keep(&mut self.record, previous, detection, evidence.tests(), &outdated);
        Some(outdated)
    }

    /// The tests that the user asked for, if any. Invocations of a method run together.
    fn asked(&self, tests: &[String]) -> Option<BTreeSet<String>> {
        let given = self.request.tests;
        let is_asked = |test: &&String| given.iter().any(|given| is_named(test, method_of(given)));
        (!given.is_empty()).then(|| tests.iter().filter(is_asked).cloned().collect())
    }

    fn note_spent(&mut self, mut spent: Spent) {
        let record = &mut self.record;
        record.cost.executions += spent.cost.executions;
        record.cost.jvm_starts += spent.cost.jvm_starts;
        record.unrunnable.append(&mut spent.unrunnable);
        record.obstacle = record.obstacle.take().or(spent.obstacle);
        self.known += spent.known;
    }

    /// What is known of tests other than the targets was taken over.
    fn note(
        &mut self,
        detection: &Detection,
        refinement: Refinement,
        targets: Option<&BTreeSet<String>>,
    ) -> Option<Stopped> {
        let record = &mut self.record;
        record.coverage.candidates.add(refinement.coverage.candidates);
        record.coverage.pairs.add(refinement.coverage.pairs);
        record.coverage.class_pairs.add(refinement.coverage.class_pairs);
        for finding in refinement.findings {
            record.add_finding(finding, &detection.launch);
        }
        let differing = differing(detection, &refinement.reference);
        let is_target = |test: &String| targets.is_none_or(|targets| targets.contains(test));
        // Of tests that vary, one run says nothing.
        let varies = |test: &String| refinement.nondeterministic.contains(test) || refinement.timed_out.contains(test);
        let judged = refinement.reference.iter().filter(|(test, _)| is_target(test) && !varies(test));
        for (test, status) in judged {
            if differing.contains(test) {
                record.differing.push(test.clone());
            } else if *status == Status::Failed {
                record.failing.push(test.clone());
            }
        }
        record.nondeterministic.extend(refinement.nondeterministic);
        record.unconfirmed.extend(refinement.unconfirmed);
        record.timed_out.extend(refinement.timed_out);
        refinement.stopped
    }
}
