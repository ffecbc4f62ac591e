//! The last run as the commands present it: names instead of numbers. The JSON forms are a contract;
//! `docs/json.md` describes them.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use untether_analysis::dependencies;
use untether_model::{DependencyKind, Labels, OutcomeStatus, StackLine, Unit, UnitKind, class_of, method_of};
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
pub(crate) struct AccessView<'r> {
    pub(crate) stack: &'r [StackLine],
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ResourceView<'r> {
    pub(crate) name: &'r str,
    pub(crate) field: &'r str,
    pub(crate) path: &'r str,
    pub(crate) root: &'r str,
    pub(crate) labels: Labels,
    pub(crate) write: AccessView<'r>,
    pub(crate) read: AccessView<'r>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct DependencyView<'r> {
    pub(crate) kind: DependencyKind,
    pub(crate) from: &'r str,
    pub(crate) to: &'r str,
    pub(crate) resources: Vec<ResourceView<'r>>,
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

/// Dependencies with their resources, grouped by pair: those between any two tests, or of one that is named, or between two
/// that are.
pub(crate) fn pairs<'r>(
    run: &'r StoredRun,
    kinds: &[DependencyKind],
    is_class_level: bool,
    (one, other): (Option<&str>, Option<&str>),
) -> Vec<DependencyView<'r>> {
    let is_meant = |unit: &Unit, given: Option<&str>| given.is_none_or(|given| is_named(&unit.name, given));
    let mut grouped: BTreeMap<(DependencyKind, usize, u32, u32), DependencyView<'r>> = BTreeMap::new();
    let mut seen: HashSet<(DependencyKind, usize, u32, u32, &str)> = HashSet::new();
    let mut class_numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for (jvm, detection) in run.detections.iter().enumerate() {
        for dependency in dependencies(detection, kinds, |unit| is_meant(unit, one), |unit| is_meant(unit, other)) {
            let name = |unit: u32| {
                let unit = detection.unit(unit);
                if is_class_level { unit.class() } else { &unit.name }
            };
            let (from, to) = (name(dependency.from), name(dependency.to));
            if from == to {
                continue;
            }
            let mut number = |name: &'r str, unit: u32| {
                if !is_class_level {
                    return unit;
                }
                let next = class_numbers.len() as u32;
                *class_numbers.entry(name).or_insert(next)
            };
            let (kind, reader, writer) = (dependency.kind, number(to, dependency.to), number(from, dependency.from));
            let resource = detection.resource(dependency.resource);
            let pair = grouped.entry((kind, jvm, reader, writer)).or_insert_with(|| DependencyView {
                kind,
                from,
                to,
                resources: Vec::new(),
            });
            if seen.insert((kind, jvm, reader, writer, &resource.path)) {
                pair.resources.push(ResourceView {
                    name: &resource.name,
                    field: &resource.field,
                    path: &resource.path,
                    root: &resource.root,
                    labels: dependency.labels,
                    write: AccessView { stack: detection.stack(dependency.write_stack) },
                    read: AccessView { stack: detection.stack(dependency.read_stack) },
                });
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
