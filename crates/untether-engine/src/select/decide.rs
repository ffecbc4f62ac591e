//! Which test classes need not run: those of which a run is known that found every class as it is now, and passed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use untether_model::{ClassState, Reason, ReasonKind, RecordStatus, Selected, Selection, Skipped, class_of, outermost};
use untether_project::Code;
use untether_store::{ModuleRecords, Settings, StoredRecord};

use crate::select::environment::Environment;
use crate::select::record::LeftOut;
use crate::select::shape;

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
    /// The test classes of which a detection knows what their tests leave for each other, with what they were then.
    pub(crate) watched: &'d BTreeMap<String, String>,
    /// Whether tests are left out one by one.
    pub(crate) by_test: bool,
    /// Of classes that are selected: the tests that are left out.
    pub(crate) left_out: BTreeMap<String, LeftOut>,
    /// The numbers of the records for which test classes were left out, and when that was so before.
    pub(crate) used: Vec<(i64, i64)>,
}

#[derive(Clone)]
enum Decision {
    Select { reasons: Vec<Reason>, last_run_ms: Option<i64> },
    Skip { seconds: f64, last_run_ms: i64, states: Vec<u32> },
}

impl Decision {
    fn is_skip(&self) -> bool {
        matches!(self, Decision::Skip { .. })
    }

    fn is_for(&self, kind: ReasonKind) -> bool {
        matches!(self, Decision::Select { reasons, .. } if reasons.iter().any(|reason| reason.kind == kind))
    }
}

/// By test class, and by test of those of which only some tests are run.
#[derive(Default)]
struct Decisions<'d> {
    of_classes: BTreeMap<&'d str, Decision>,
    of_tests: BTreeMap<&'d str, BTreeMap<&'d str, Decision>>,
}

impl Decisions<'_> {
    fn of_test(&mut self, test: &str) -> Option<&mut Decision> {
        self.of_tests.values_mut().find_map(|tests| tests.get_mut(test))
    }

    /// Selects what another one needs; tells what was not selected before.
    fn select_needed(&mut self, needed: &str, by: &str) -> Vec<String> {
        let mut chosen = Vec::new();
        let mut select = |name: &str, decision: &mut Decision| {
            if let Decision::Skip { last_run_ms, .. } = *decision {
                let reasons = vec![Reason::new(ReasonKind::Needed, by.to_owned())];
                *decision = Decision::Select { reasons, last_run_ms: Some(last_run_ms) };
                chosen.push(name.to_owned());
            }
        };
        if needed.contains('#') {
            if let Some(decision) = self.of_test(needed) {
                select(needed, decision);
            }
            return chosen;
        }
        for (test, decision) in self.of_tests.get_mut(needed).into_iter().flatten() {
            select(test, decision);
        }
        if let Some(decision) = self.of_classes.get_mut(needed) {
            select(needed, decision);
        }
        chosen
    }
}

impl<'d> Decider<'d, '_> {
    pub(crate) fn decide(&mut self, classes: &'d [String]) -> Selection {
        let mut by_name: BTreeMap<&'d str, Vec<&'d StoredRecord>> = BTreeMap::new();
        for record in &self.records.records {
            by_name.entry(&record.class).or_default().push(record);
        }
        let mut holds: HashMap<u32, bool> = HashMap::new();
        let mut decisions = Decisions::default();
        for class in classes {
            let known = by_name.get(class.as_str()).map_or(&[][..], Vec::as_slice);
            let decision = self.decide_one(class, known, &mut holds);
            decisions.of_classes.insert(class, decision);
        }
        if self.by_test {
            self.take_apart(&by_name, &mut holds, &mut decisions);
        }
        self.add_needed(&mut decisions);
        self.selection(classes, decisions)
    }

    /// Looks at each test of the classes that are selected.
    fn take_apart(
        &mut self,
        by_name: &BTreeMap<&'d str, Vec<&'d StoredRecord>>,
        holds: &mut HashMap<u32, bool>,
        decisions: &mut Decisions<'d>,
    ) {
        let asked: BTreeSet<&str> = decisions.of_classes.keys().copied().collect();
        let mut is_watched: HashMap<&str, bool> = HashMap::new();
        for (test, known) in by_name.iter().filter(|(name, _)| name.contains('#')) {
            // The class itself, or the one that it is nested in.
            let own = class_of(test);
            let ends = own.match_indices('$').map(|(end, _)| &own[..end]).chain([own]);
            let Some(class) = ends.filter_map(|name| asked.get(name)).next_back() else { continue };
            let is_open = decisions.of_classes.get(class).is_some_and(|it| !it.is_skip())
                && !self.records.unfinished.contains(*class);
            let outer = outermost(class);
            if is_open
                && *is_watched
                    .entry(outer)
                    .or_insert_with(|| self.watched.get(outer).is_some_and(|then| *then == shape(self.code, outer)))
            {
                let decision = self.decide_one(class, known, holds);
                decisions.of_tests.entry(class).or_default().insert(test, decision);
            }
        }
        // What failed outside of its tests is run again as a whole.
        let of_classes = &decisions.of_classes;
        decisions.of_tests.retain(|class, tests| {
            let is_failed = of_classes[class].is_for(ReasonKind::Failed);
            tests.values().any(Decision::is_skip)
                && (!is_failed || tests.values().any(|test| test.is_for(ReasonKind::Failed)))
        });
    }

    fn selection(&mut self, classes: &'d [String], mut decisions: Decisions<'d>) -> Selection {
        let mut selection = Selection::default();
        for class in classes {
            // None where it is named twice.
            let Some(of_class) = decisions.of_classes.remove(class.as_str()) else { continue };
            match decisions.of_tests.remove(class.as_str()) {
                Some(tests) if !of_class.is_skip() && tests.values().any(Decision::is_skip) => {
                    let is_all = tests.values().all(Decision::is_skip);
                    self.left_out.entry(class.clone()).or_default().is_all = is_all;
                    for (test, decision) in tests {
                        self.note_left_out(class, &decision);
                        self.add(&mut selection, test, decision);
                    }
                }
                _ => self.add(&mut selection, class, of_class),
            }
        }
        selection
    }

    fn add(&self, selection: &mut Selection, test: &str, decision: Decision) {
        let (module, test) = (self.module.to_owned(), test.to_owned());
        match decision {
            Decision::Select { reasons, last_run_ms } => {
                selection.selected.push(Selected { module, test, reasons, last_run_ms });
            }
            Decision::Skip { seconds, last_run_ms, .. } => {
                selection.skipped.push(Skipped { module, test, seconds, last_run_ms });
            }
        }
    }

    fn note_left_out(&mut self, class: &str, decision: &Decision) {
        let Decision::Skip { seconds, states, .. } = decision else { return };
        let known = &self.records.states;
        let left = self.left_out.entry(class.to_owned()).or_default();
        left.seconds += seconds;
        left.states.extend(states.iter().filter_map(|number| known.get(number)).cloned());
    }

    /// Who is selected pulls in those without which it does not pass.
    fn add_needed(&self, decisions: &mut Decisions<'_>) {
        let is_selected = |(name, decision): (&&str, &Decision)| (!decision.is_skip()).then(|| (*name).to_owned());
        let classes = decisions.of_classes.iter().filter_map(is_selected);
        let tests = decisions.of_tests.values().flatten().filter_map(is_selected);
        let mut pending: Vec<String> = classes.chain(tests).collect();
        while let Some(name) = pending.pop() {
            for needed in self.needs.get(&name).into_iter().flatten() {
                pending.extend(decisions.select_needed(needed, &name));
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
                    RecordStatus::Passed => Decision::Skip {
                        seconds: record.seconds,
                        last_run_ms: record.noted_ms,
                        states: if self.by_test { record.states.clone() } else { Vec::new() },
                    },
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
