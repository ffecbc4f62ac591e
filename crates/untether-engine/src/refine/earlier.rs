//! What earlier refinements say: which of it still holds, what is new beside it, and what is kept of it.

use std::collections::BTreeSet;

use untether_model::{Detection, Finding, RefinementRecord};
use untether_store::{Store, StoreError};

use crate::refine::RefineRequest;

pub(super) struct Earlier {
    /// Newest first.
    all: Vec<RefinementRecord>,
    strategy: String,
    is_fresh: bool,
    /// Whether only some tests are asked for.
    is_partial: bool,
}

impl Earlier {
    /// Takes notice of what there is; with `is_fresh`, it is for comparison only from then on.
    pub(super) fn new(store: &mut Store, request: &RefineRequest<'_>) -> Result<Self, StoreError> {
        let all = store.refinements()?;
        let is_partial = !request.tests.is_empty();
        if request.is_fresh {
            store.forget_observations()?;
            if !is_partial {
                store.outdate_refinements()?;
            }
        }
        Ok(Earlier { all, strategy: request.strategy.to_string(), is_fresh: request.is_fresh, is_partial })
    }

    /// What to compare with: what a weaker search did not find may be there all the same.
    fn baseline(&self) -> Option<&RefinementRecord> {
        self.all.iter().find(|known| known.covers(&self.strategy))
    }

    pub(super) fn has_baseline(&self) -> bool {
        self.baseline().is_some()
    }

    /// What need not be looked at again. One that was cut short is gone on with: the same tests are looked at, and what
    /// they came to is remembered.
    pub(super) fn valid(&self) -> Option<&RefinementRecord> {
        let known = self.all.iter().find(|known| known.is_complete && known.covers(&self.strategy));
        known.filter(|_| !self.is_fresh)
    }

    /// Findings that were not there. What failed as new stays new until a refinement without that check accepts it.
    pub(super) fn new_beside(&self, record: &RefinementRecord) -> BTreeSet<String> {
        let is_known = |id: &String| {
            self.baseline().is_some_and(|last| {
                !last.rejected.contains(id) && last.findings.iter().any(|finding| &finding.id == id)
            })
        };
        record.findings.iter().map(|finding| &finding.id).filter(|id| !is_known(id)).cloned().collect()
    }

    /// Findings that are no more, where everything was looked at.
    pub(super) fn gone_since(&self, record: &RefinementRecord) -> Vec<Finding> {
        let is_gone = |finding: &&Finding| !record.findings.iter().any(|found| found.id == finding.id);
        let last = self.baseline().filter(|_| record.is_complete && !self.is_partial);
        last.map(|last| last.findings.iter().filter(is_gone).cloned().collect()).unwrap_or_default()
    }

    /// What is stored: what was asked for some tests only, or was cut short, says nothing about the others.
    pub(super) fn with(&self, record: &RefinementRecord) -> RefinementRecord {
        let is_cut_short = !record.is_complete && !self.is_partial;
        let Some(last) = self.all.first().filter(|_| self.is_partial || is_cut_short) else {
            let mut stored = record.clone();
            stored.is_complete &= !self.is_partial;
            return stored;
        };
        let mut stored = last.updated_by(record);
        if is_cut_short {
            stored.is_complete = false;
            stored.strategy.clone_from(&record.strategy);
        }
        stored
    }
}

/// Findings about tests of a JVM that are not looked at again hold on.
pub(super) fn keep(
    record: &mut RefinementRecord,
    previous: &RefinementRecord,
    detection: &Detection,
    tests: &[String],
    targets: &BTreeSet<String>,
) {
    let names: BTreeSet<&String> = tests.iter().collect();
    let is_kept = |test: &String| names.contains(test) && !targets.contains(test);
    for finding in previous.findings.iter().filter(|finding| is_kept(&finding.test)) {
        record.add_finding(finding.clone(), &detection.launch);
    }
    for (known, kept) in [
        (&previous.nondeterministic, &mut record.nondeterministic),
        (&previous.unconfirmed, &mut record.unconfirmed),
        (&previous.timed_out, &mut record.timed_out),
        (&previous.failing, &mut record.failing),
        (&previous.differing, &mut record.differing),
    ] {
        kept.extend(known.iter().filter(|test| is_kept(test)).cloned());
    }
    record.unrunnable.clone_from(&previous.unrunnable);
}
