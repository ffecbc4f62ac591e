//! From accesses to dependencies.

use std::collections::HashMap;

use untether_model::{Access, AccessMode, Dependency, DependencyKind, Detection, Label, UnitKind, outermost};

/// All dependencies of the given kinds, ordered by kind, then by the units.
pub fn dependencies(detection: &Detection, kinds: &[DependencyKind]) -> Vec<Dependency> {
    let mut by_resource: HashMap<usize, Vec<&Access>> = HashMap::new();
    for access in &detection.accesses {
        by_resource.entry(access.resource).or_default().push(access);
    }
    let mut found = Vec::new();
    for accesses in by_resource.values_mut() {
        accesses.sort_by_key(|access| access.position);
        if kinds.contains(&DependencyKind::Data) {
            found.extend(data(accesses));
        }
        if kinds.contains(&DependencyKind::Anti) {
            found.extend(anti(detection, accesses));
        }
        if kinds.contains(&DependencyKind::Candidate) {
            found.extend(candidates(detection, accesses));
        }
    }
    found.sort_by_key(|d| (d.kind, d.to, d.from, d.resource));
    found.dedup_by_key(|d| (d.kind, d.to, d.from, d.resource));
    found
}

fn data<'a>(accesses: &'a [&Access]) -> impl Iterator<Item = Dependency> + use<'a> {
    accesses.iter().filter_map(|read| {
        Some(Dependency {
            kind: DependencyKind::Data,
            from: read.source?,
            to: read.unit,
            resource: read.resource,
            write_stack: read.source_stack,
            read_stack: read.stack,
            labels: read.labels.clone(),
        })
    })
}

/// Each read with the next unit that overwrites what was read.
fn anti(detection: &Detection, accesses: &[&Access]) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut next_write: Option<&Access> = None;
    for access in accesses.iter().rev() {
        match access.mode {
            AccessMode::Write => next_write = Some(access),
            AccessMode::Read => {
                if let Some(write) = next_write.filter(|write| !are_family(detection, write.unit, access.unit)) {
                    found.push(between(DependencyKind::Anti, access.unit, write.unit, write, access));
                }
            }
        }
    }
    found
}

/// Each unit that leaves a change with each that reads before it writes, whatever ran first.
fn candidates(detection: &Detection, accesses: &[&Access]) -> Vec<Dependency> {
    let mut found = Vec::new();
    for write in accesses.iter().filter(|access| access.mode == AccessMode::Write) {
        let is_class_local = write.labels.contains(&Label::ClassLocal);
        for read in accesses.iter().filter(|access| access.mode == AccessMode::Read) {
            let is_reachable = !is_class_local
                || outermost(detection.units[write.unit].class()) == outermost(detection.units[read.unit].class());
            if is_reachable && !are_family(detection, write.unit, read.unit) {
                found.push(between(DependencyKind::Candidate, write.unit, read.unit, write, read));
            }
        }
    }
    found
}

fn between(kind: DependencyKind, from: usize, to: usize, write: &Access, read: &Access) -> Dependency {
    Dependency {
        kind,
        from,
        to,
        resource: write.resource,
        write_stack: write.stack,
        read_stack: read.stack,
        labels: write.labels.clone(),
    }
}

/// The same unit, or a class's fixtures and one of its tests.
fn are_family(detection: &Detection, one: usize, other: usize) -> bool {
    let (a, b) = (&detection.units[one], &detection.units[other]);
    one == other
        || a.name == b.name
        || (a.kind != b.kind && {
            let class = if a.kind == UnitKind::Class { &a.name } else { &b.name };
            let test = if a.kind == UnitKind::Class { b.class() } else { a.class() };
            test == class || test.strip_prefix(class.as_str()).is_some_and(|rest| rest.starts_with('$'))
        })
}
