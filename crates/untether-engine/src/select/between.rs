//! What tests leave for each other, as detections and refinements have found it: whose values each test class has, and whom it
//! needs before itself.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use untether_analysis::dependencies;
use untether_model::{
    ClassDependency, DependencyKind, Detection, Label, RefinementRecord, Role, UnitKind, class_of, method_of, outermost,
};
use untether_project::Code;
use untether_store::Store;

use crate::select::environment::release;
use crate::select::{class_path, module_of, shape};

/// The dependencies between the test classes of a module, and between tests of one class.
#[derive(Debug, Clone, Default)]
pub(super) struct Between {
    /// The test classes that a detection watched, with what they were then.
    pub(super) watched: BTreeMap<String, String>,
    /// Of whom each reads values.
    pub(super) inherits: BTreeMap<String, BTreeSet<String>>,
    /// Whom each needs before itself.
    pub(super) needs: BTreeMap<String, BTreeSet<String>>,
}

impl Between {
    /// Where a refinement has shown what tests need, that counts, and not what they read.
    fn refine(&mut self, refinement: &RefinementRecord) {
        let class = |test: &str| outermost(class_of(test)).to_owned();
        // Of those that it could not judge it says nothing.
        let unjudged: BTreeSet<&String> = [
            &refinement.nondeterministic,
            &refinement.unconfirmed,
            &refinement.timed_out,
            &refinement.differing,
            &refinement.failing,
        ]
        .into_iter()
        .flatten()
        .chain(refinement.unrunnable.values().flatten())
        .collect();
        let unjudged_classes: BTreeSet<String> = unjudged.iter().map(|test| class(test)).collect();
        let tests = refinement.fingerprints.keys().filter(|test| !unjudged.contains(test));
        let classes: BTreeSet<String> = tests.clone().map(|test| class(test)).collect();
        let methods: BTreeSet<&str> = tests.map(|test| method_of(test)).collect();
        self.needs.retain(|name, _| match name.contains('#') {
            true => !methods.contains(name.as_str()),
            false => !classes.contains(name) || unjudged_classes.contains(name),
        });
        for finding in refinement.findings.iter().filter(|finding| finding.role == Role::Brittle) {
            let test = &finding.test;
            for setter in &finding.setters {
                let (one, other) = match class(setter) == class(test) {
                    true => (method_of(test).to_owned(), method_of(setter).to_owned()),
                    false => (class(test), class(setter)),
                };
                self.needs.entry(one).or_default().insert(other);
            }
        }
    }
}

/// The last refinement, if it looked at all that there is, and nothing was detected since.
fn last_complete(store: &Store) -> Option<RefinementRecord> {
    let detected_ms = store.last_run_started_ms().ok()??;
    let last = store.refinements().ok()?.into_iter().next();
    last.filter(|refinement| refinement.is_complete && refinement.started_ms >= detected_ms)
}

/// By module, as far as a store knows.
pub(super) fn of(store: &Store) -> BTreeMap<String, Between> {
    let mut by_module: BTreeMap<String, Between> = BTreeMap::new();
    for ClassDependency { module, writer, reader, is_lazy } in store.class_dependencies().unwrap_or_default() {
        let between = by_module.entry(module).or_default();
        if let Some(shape) = reader.strip_prefix(WATCHED) {
            between.watched.insert(writer, shape.to_owned());
            continue;
        }
        if !is_lazy {
            between.needs.entry(reader.clone()).or_default().insert(writer.clone());
        }
        between.inherits.entry(reader).or_default().insert(writer);
    }
    by_module.values_mut().for_each(|between| close(&mut between.inherits));
    if let Some(refinement) = last_complete(store) {
        by_module.values_mut().for_each(|between| between.refine(&refinement));
    }
    by_module
}

/// Which test classes of the module read values of which others, and which tests of one class those of which.
pub(crate) fn class_dependencies(detection: &Detection, folder: &Path) -> BTreeSet<ClassDependency> {
    let class = |unit: u32| outermost(detection.unit(unit).class()).to_owned();
    let module = module_of(&detection.launch, folder);
    // Within a class, between its tests.
    let test = |unit: u32| method_of(&detection.unit(unit).name).to_owned();
    dependencies(detection, &[DependencyKind::Data], |_| true, |_| true)
        .iter()
        .map(|it| match (class(it.from), class(it.to)) {
            (writer, reader) if writer == reader => (test(it.from), test(it.to), it.labels.contains(Label::Lazy)),
            (writer, reader) => (writer, reader, it.labels.contains(Label::Lazy)),
        })
        .filter(|(writer, reader, _)| writer != reader)
        .map(|(writer, reader, is_lazy)| ClassDependency { module: module.clone(), writer, reader, is_lazy })
        .collect()
}

/// In place of a reader: what the class was when a detection watched its tests.
const WATCHED: &str = "=";

/// The test classes that were watched, each with what it was then.
pub(crate) fn watched_classes(detection: &Detection, folder: &Path) -> BTreeSet<ClassDependency> {
    let module = module_of(&detection.launch, folder);
    let cache = RefCell::default();
    let path = class_path(&detection.launch);
    let mut code = Code::new(&path, folder, release(&detection.launch), &cache);
    let tests = detection.units.iter().filter(|unit| unit.kind == UnitKind::Test);
    let classes: BTreeSet<&str> = tests.map(|unit| outermost(unit.class())).collect();
    let watched = |class: &str| ClassDependency {
        module: module.clone(),
        writer: class.to_owned(),
        reader: format!("{WATCHED}{}", shape(&mut code, class)),
        is_lazy: true,
    };
    classes.into_iter().map(watched).collect()
}

/// With all that can be reached.
fn close(edges: &mut BTreeMap<String, BTreeSet<String>>) {
    let direct = edges.clone();
    for (from, reached) in edges.iter_mut() {
        let mut pending: Vec<String> = reached.iter().cloned().collect();
        while let Some(at) = pending.pop() {
            for next in direct.get(&at).into_iter().flatten() {
                if next != from && reached.insert(next.clone()) {
                    pending.push(next.clone());
                }
            }
        }
    }
}
