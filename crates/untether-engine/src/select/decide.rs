//! Which test classes need not run: those of which a run is known that found every class as it is now, and passed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use untether_model::{ClassState, Reason, ReasonKind, RecordStatus, Selected, Selection, Skipped};
use untether_project::Code;
use untether_store::{ModuleRecords, Settings, StoredRecord};

use crate::select::environment::Environment;

/// Reasons that are told of one test class.
const MOST_REASONS: usize = 100;

/// Decides about the test classes of one JVM.
pub(crate) struct Decider<'d, 'c> {
    pub(crate) module: &'d str,
    pub(crate) records: &'d ModuleRecords,
    pub(crate) environment: &'d Environment,
    pub(crate) code: &'d mut Code<'c>,
    /// What settings were, by their hash.
    pub(crate) settings: &'d dyn Fn(&str) -> Option<Settings>,
    /// The test classes that each needs before itself.
    pub(crate) needs: &'d BTreeMap<String, BTreeSet<String>>,
    /// The numbers of the records for which test classes were left out, and when that was so before.
    pub(crate) used: Vec<(i64, i64)>,
}

enum Decision {
    Select { reasons: Vec<Reason>, last_run_ms: Option<i64> },
    Skip { seconds: f64, last_run_ms: i64 },
}

impl Decider<'_, '_> {
    pub(crate) fn decide(&mut self, classes: &[String]) -> Selection {
        let mut by_class: HashMap<&str, Vec<&StoredRecord>> = HashMap::new();
        for record in &self.records.records {
            by_class.entry(&record.class).or_default().push(record);
        }
        let mut holds: HashMap<u32, bool> = HashMap::new();
        let mut decisions: BTreeMap<&str, Decision> = BTreeMap::new();
        for class in classes {
            let known = by_class.get(class.as_str()).map_or(&[][..], Vec::as_slice);
            decisions.insert(class, self.decide_one(class, known, &mut holds));
        }
        self.add_needed(&mut decisions);
        let mut selection = Selection::default();
        for class in classes {
            let (module, test) = (self.module.to_owned(), class.clone());
            match decisions.remove(class.as_str()) {
                Some(Decision::Select { reasons, last_run_ms }) => {
                    selection.selected.push(Selected { module, test, reasons, last_run_ms });
                }
                Some(Decision::Skip { seconds, last_run_ms }) => {
                    selection.skipped.push(Skipped { module, test, seconds, last_run_ms });
                }
                // Named twice.
                None => {}
            }
        }
        selection
    }

    /// Who is selected pulls in those without which it does not pass.
    fn add_needed(&self, decisions: &mut BTreeMap<&str, Decision>) {
        let is_selected = |decision: &Decision| matches!(decision, Decision::Select { .. });
        let mut pending: Vec<String> = decisions
            .iter()
            .filter(|(_, decision)| is_selected(decision))
            .map(|(class, _)| (*class).to_owned())
            .collect();
        while let Some(class) = pending.pop() {
            for needed in self.needs.get(&class).into_iter().flatten() {
                if let Some(decision) = decisions.get_mut(needed.as_str())
                    && let Decision::Skip { last_run_ms, .. } = *decision
                {
                    let reasons = vec![Reason::new(ReasonKind::Needed, class.clone())];
                    *decision = Decision::Select { reasons, last_run_ms: Some(last_run_ms) };
                    pending.push(needed.clone());
                }
            }
        }
    }

    fn decide_one(&mut self, class: &str, known: &[&StoredRecord], holds: &mut HashMap<u32, bool>) -> Decision {
        let last_run_ms = known.first().map(|record| record.noted_ms);
        let select = |reasons| Decision::Select { reasons, last_run_ms };
        if self.records.unfinished.contains(class) {
            return select(vec![Reason::new(ReasonKind::Unfinished, "")]);
        }
        let alike: Vec<&&StoredRecord> =
            known.iter().filter(|record| record.environment == self.environment.hash).collect();
        for record in &alike {
            if record.states.iter().all(|state| *holds.entry(*state).or_insert_with(|| self.holds(*state))) {
                if record.status == RecordStatus::Passed {
                    self.used.push((record.number, record.used_ms));
                }
                return match record.status {
                    RecordStatus::Passed => Decision::Skip { seconds: record.seconds, last_run_ms: record.noted_ms },
                    RecordStatus::Failed => select(vec![Reason::new(ReasonKind::Failed, "")]),
                    RecordStatus::Unclear => {
                        select(vec![Reason::new(ReasonKind::NotUnderstood, record.reason.clone())])
                    }
                };
            }
        }
        select(match (alike.first(), known.first()) {
            (Some(record), _) => self.differences(record, holds),
            (None, Some(record)) => self.other_settings(record),
            (None, None) => vec![Reason::new(ReasonKind::New, "")],
        })
    }

    fn holds(&mut self, number: u32) -> bool {
        let Some(state) = self.records.states.get(&number) else { return false };
        self.code.state(&state.name, state.is_exact) == *state
    }

    fn differences(&mut self, record: &StoredRecord, holds: &mut HashMap<u32, bool>) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for number in &record.states {
            if *holds.entry(*number).or_insert_with(|| self.holds(*number)) {
                continue;
            }
            let Some(before) = self.records.states.get(number) else { continue };
            let after = self.code.state(&before.name, before.is_exact);
            let (kind, name) = kind_of(&before.name);
            // Who looks at a file and then reads it has two states of it.
            if reasons.iter().any(|known: &Reason| known.kind == kind && known.name == name) {
                continue;
            }
            let reason = Reason::new(kind, name);
            reasons.push(Reason { before: text(before, &after), after: text(&after, before), ..reason });
            if reasons.len() == MOST_REASONS {
                break;
            }
        }
        reasons
    }

    fn other_settings(&self, record: &StoredRecord) -> Vec<Reason> {
        let before = (self.settings)(&record.environment).unwrap_or_default();
        let reasons = self.environment.differences(&before);
        if reasons.is_empty() { vec![Reason::new(ReasonKind::Environment, "")] } else { reasons }
    }
}

/// What a state is of.
fn kind_of(name: &str) -> (ReasonKind, &str) {
    let rest = |kind: &str| name.strip_prefix(kind).map(|path| path.strip_prefix("./").unwrap_or(path));
    if let Some(path) = rest("file:").or_else(|| rest("look:")) {
        (ReasonKind::File, path)
    } else if let Some(path) = rest("dir:").or_else(|| rest("names:")) {
        (ReasonKind::Directory, path)
    } else if let Some(name) = rest("property:") {
        (ReasonKind::Property, name)
    } else if let Some(name) = rest("env:") {
        (ReasonKind::Variable, name)
    } else {
        (ReasonKind::Class, name)
    }
}

/// How a class was found: its place where the other one is at another, else its checksum.
fn text(state: &ClassState, other: &ClassState) -> String {
    match (&state.found, &other.found) {
        (Some((place, _)), Some((other, _))) if place != other && !place.is_empty() => place.clone(),
        (Some((_, checksum)), _) => format!("{checksum:032x}"),
        (None, _) => "absent".to_owned(),
    }
}
