//! The last run as the commands present it: names instead of numbers. The JSON forms are a contract;
//! `docs/json.md` describes them.

use std::collections::BTreeMap;

use serde::Serialize;
use untether_analysis::dependencies;
use untether_model::{DependencyKind, Label, OutcomeStatus, StackLine, UnitKind, class_of, method_of};
use untether_store::StoredRun;

/// The version of the JSON documents.
pub(crate) const JSON_VERSION: u32 = 1;

#[derive(Debug, Clone, Serialize)]
pub(crate) struct TestView {
    pub(crate) id: String,
    pub(crate) outcome: OutcomeStatus,
    pub(crate) duration_ms: f64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct AccessView {
    pub(crate) stack: Vec<StackLine>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ResourceView {
    pub(crate) name: String,
    pub(crate) root: String,
    pub(crate) labels: Vec<Label>,
    pub(crate) write: AccessView,
    pub(crate) read: AccessView,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct DependencyView {
    pub(crate) kind: DependencyKind,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) resources: Vec<ResourceView>,
}

/// Every test of the run, in the order in which they ran.
pub(crate) fn tests(run: &StoredRun) -> Vec<TestView> {
    run.detections
        .iter()
        .flat_map(|detection| &detection.units)
        .filter(|unit| unit.kind == UnitKind::Test)
        .map(|unit| TestView {
            id: unit.name.clone(),
            // A test that started and never ended was cut off with its JVM.
            outcome: unit.outcome.as_ref().map_or(OutcomeStatus::Aborted, |outcome| outcome.status),
            duration_ms: unit.outcome.as_ref().map_or(0.0, |outcome| outcome.nanos as f64 / 1e6),
            message: unit.outcome.as_ref().map(|outcome| outcome.message.clone()).unwrap_or_default(),
        })
        .collect()
}

/// Dependencies with their resources, grouped by pair.
pub(crate) fn pairs(run: &StoredRun, kinds: &[DependencyKind], is_class_level: bool) -> Vec<DependencyView> {
    let mut grouped: BTreeMap<(DependencyKind, usize, usize, usize), DependencyView> = BTreeMap::new();
    let mut class_numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (jvm, detection) in run.detections.iter().enumerate() {
        for dependency in dependencies(detection, kinds) {
            let name = |unit: usize| {
                let unit = &detection.units[unit];
                if is_class_level { unit.class().to_owned() } else { unit.name.clone() }
            };
            let (from, to) = (name(dependency.from), name(dependency.to));
            if from == to {
                continue;
            }
            let mut number = |name: &str, unit: usize| {
                if !is_class_level {
                    return unit;
                }
                let next = class_numbers.len();
                *class_numbers.entry(name.to_owned()).or_insert(next)
            };
            let key = (dependency.kind, jvm, number(&to, dependency.to), number(&from, dependency.from));
            let resource = &detection.resources[dependency.resource];
            let stack = |number: Option<usize>| AccessView {
                stack: number.and_then(|n| detection.stacks.get(n)).cloned().unwrap_or_default(),
            };
            let view = ResourceView {
                name: resource.name.clone(),
                root: resource.root.clone(),
                labels: dependency.labels.clone(),
                write: stack(dependency.write_stack),
                read: stack(dependency.read_stack),
            };
            let pair = grouped.entry(key).or_insert_with(|| DependencyView {
                kind: dependency.kind,
                from,
                to,
                resources: Vec::new(),
            });
            if !pair.resources.iter().any(|known| known.name == view.name) {
                pair.resources.push(view);
            }
        }
    }
    grouped.into_values().collect()
}

/// Whether `given` names the test: its id, its method (for all of its invocations) or its class, in full or without the
/// package.
pub(crate) fn is_named(id: &str, given: &str) -> bool {
    [id, method_of(id), class_of(id)]
        .iter()
        .any(|name| *name == given || name.strip_suffix(given).is_some_and(|rest| rest.ends_with('.')))
}

pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_in_full_or_in_part() {
        let id = "a.b.CTest#m[2]";
        for given in ["a.b.CTest#m[2]", "CTest#m[2]", "b.CTest#m", "a.b.CTest", "CTest"] {
            assert!(is_named(id, given), "{given}");
        }
        for given in ["Test", "CTest#", "CTest#m[1]", "a.b", "m", "a.b.CTest#m2"] {
            assert!(!is_named(id, given), "{given}");
        }
    }
}
