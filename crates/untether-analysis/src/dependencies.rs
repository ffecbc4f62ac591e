//! From accesses to dependencies.

use std::collections::HashMap;

use untether_model::{Access, AccessMode, Dependency, DependencyKind, Detection, Label, Unit, UnitKind};

/// Which units the dependencies wanted are between; both sides may be the same.
struct Between {
    one: Vec<bool>,
    other: Vec<bool>,
}

impl Between {
    /// Whether the resources are touched by units of both sides; others can be left out.
    fn shared(&self, detection: &Detection) -> Vec<bool> {
        let mut sides = vec![(false, false); detection.resources.len()];
        for access in &detection.accesses {
            let (one, other) = &mut sides[access.resource as usize];
            for unit in [Some(access.unit), access.source].into_iter().flatten() {
                *one |= self.one[unit as usize];
                *other |= self.other[unit as usize];
            }
        }
        sides.into_iter().map(|(one, other)| one && other).collect()
    }

    fn allows(&self, from: u32, to: u32) -> bool {
        let (from, to) = (from as usize, to as usize);
        (self.one[from] && self.other[to]) || (self.other[from] && self.one[to])
    }
}

/// All dependencies of the given kinds, in either direction, between units that the first and units that the second
/// predicate holds for; ordered by kind, then by the units.
pub fn dependencies(
    detection: &Detection,
    kinds: &[DependencyKind],
    is_one: impl Fn(&Unit) -> bool,
    is_other: impl Fn(&Unit) -> bool,
) -> Vec<Dependency> {
    let between = Between {
        one: detection.units.iter().map(is_one).collect(),
        other: detection.units.iter().map(is_other).collect(),
    };
    let is_shared = between.shared(detection);
    let mut by_resource: HashMap<u32, Vec<&Access>> = HashMap::new();
    for access in detection.accesses.iter().filter(|access| is_shared[access.resource as usize]) {
        by_resource.entry(access.resource).or_default().push(access);
    }
    let mut found: Vec<Dependency> = Vec::new();
    let mut add = |dependency: Dependency| {
        if between.allows(dependency.from, dependency.to) {
            found.push(dependency);
        }
    };
    for accesses in by_resource.values_mut() {
        accesses.sort_by_key(|access| access.position);
        if kinds.contains(&DependencyKind::Data) {
            data(accesses, &mut add);
        }
        if kinds.contains(&DependencyKind::Anti) {
            anti(detection, accesses, &mut add);
        }
        if kinds.contains(&DependencyKind::Candidate) {
            candidates(detection, accesses, &between, &mut add);
        }
    }
    found.sort_by_key(|d| (d.kind, d.to, d.from, d.resource));
    found.dedup_by_key(|d| (d.kind, d.to, d.from, d.resource));
    found
}

fn data(accesses: &[&Access], add: &mut impl FnMut(Dependency)) {
    for read in accesses {
        if let Some(source) = read.source {
            add(Dependency {
                kind: DependencyKind::Data,
                from: source,
                to: read.unit,
                resource: read.resource,
                labels: read.labels,
                write_stack: read.source_stack,
                read_stack: read.stack,
            });
        }
    }
}

/// Each read with the next unit that overwrites what was read.
fn anti(detection: &Detection, accesses: &[&Access], add: &mut impl FnMut(Dependency)) {
    let mut next_write: Option<&Access> = None;
    for access in accesses.iter().rev() {
        match access.mode {
            AccessMode::Write if is_only_possible(access) => {}
            AccessMode::Write => next_write = Some(access),
            AccessMode::Read => {
                if let Some(write) = next_write.filter(|write| !are_family(detection, write.unit, access.unit)) {
                    add(through(DependencyKind::Anti, access.unit, write.unit, write, access));
                }
            }
        }
    }
}

/// Whether the write was none in this order: what stood there was the same, or only something below was written.
fn is_only_possible(write: &Access) -> bool {
    write.labels.contains(Label::Repeated) || write.labels.contains(Label::BelowEmpty)
}

/// Each unit that leaves a change with each that reads before it writes, whatever ran first. One field may have tens of
/// thousands of both, so only those are paired that are wanted.
fn candidates(detection: &Detection, accesses: &[&Access], between: &Between, add: &mut impl FnMut(Dependency)) {
    let reads: Vec<&Access> = accesses.iter().copied().filter(|access| access.mode == AccessMode::Read).collect();
    let reads_of =
        |side: &[bool]| -> Vec<&Access> { reads.iter().copied().filter(|read| side[read.unit as usize]).collect() };
    let (of_one, of_other) = (reads_of(&between.one), reads_of(&between.other));
    let of_either: Vec<&Access> =
        reads.iter().copied().filter(|r| between.one[r.unit as usize] || between.other[r.unit as usize]).collect();
    for write in accesses.iter().filter(|access| access.mode == AccessMode::Write) {
        let partners = match (between.one[write.unit as usize], between.other[write.unit as usize]) {
            (true, true) => &of_either,
            (true, false) => &of_other,
            (false, true) => &of_one,
            (false, false) => continue,
        };
        for read in partners {
            if !are_family(detection, write.unit, read.unit) {
                add(through(DependencyKind::Candidate, write.unit, read.unit, write, read));
            }
        }
    }
}

fn through(kind: DependencyKind, from: u32, to: u32, write: &Access, read: &Access) -> Dependency {
    Dependency {
        kind,
        from,
        to,
        resource: write.resource,
        labels: write.labels,
        write_stack: write.stack,
        read_stack: read.stack,
    }
}

/// The same unit, or a class's fixtures and one of its tests.
fn are_family(detection: &Detection, one: u32, other: u32) -> bool {
    let (a, b) = (detection.unit(one), detection.unit(other));
    one == other
        || a.name == b.name
        || (a.kind != b.kind && {
            let class = if a.kind == UnitKind::Class { &a.name } else { &b.name };
            let test = if a.kind == UnitKind::Class { b.class() } else { a.class() };
            test == class || test.strip_prefix(class.as_str()).is_some_and(|rest| rest.starts_with('$'))
        })
}
