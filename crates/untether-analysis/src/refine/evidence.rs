//! What detection knows, by test method: who writes what whom reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use untether_model::{
    Access, AccessMode, Channel, Detection, Label, Unit, UnitKind, class_of, is_jdk, is_program_setting, is_within,
    method_of, outermost,
};

/// A test by its position in the original order.
pub(crate) type Test = usize;

/// Slots with the same writers and readers: what holds for one holds for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) writers: BTreeSet<Test>,
    pub(crate) readers: BTreeSet<Test>,
    /// Every writer found the slot empty and filled it: likely benign.
    pub(crate) is_lazy: bool,
    /// The writers' classes put it back where all of their tests run: less likely to be seen by others.
    pub(crate) is_class_local: bool,
    /// Into the detection's resources.
    resources: Vec<usize>,
}

/// The tests of one JVM in their original order, and what they may do to each other.
#[derive(Debug)]
pub struct Evidence<'d> {
    detection: &'d Detection,
    /// The accesses of each resource.
    accesses: Vec<Vec<usize>>,
    pub(crate) tests: Vec<String>,
    index: HashMap<String, Test>,
    pub(crate) groups: Vec<Group>,
    /// The groups that a test reads, and those that it writes.
    pub(crate) reads: Vec<Vec<usize>>,
    pub(crate) writes: Vec<Vec<usize>>,
    /// Data sources of each test in the original order; true where more than lazy state flowed.
    pub(crate) sources: Vec<BTreeMap<Test, bool>>,
}

/// How remote what a program itself sets may be.
pub(crate) const NEAR: usize = 1;

fn class_of_field(field: &str) -> &str {
    field.rsplit_once('.').map_or(field, |(class, _)| class)
}

/// How resources outside of the heap are named.
const OUTSIDE: [&str; 5] = ["file:", "dir:", "tcp:", "udp:", "unix:"];

impl<'d> Evidence<'d> {
    pub fn new(detection: &'d Detection) -> Self {
        let mut tests: Vec<String> = Vec::new();
        let mut index = HashMap::new();
        for unit in detection.units.iter().filter(|unit| unit.kind == UnitKind::Test && unit.name.contains('#')) {
            let method = method_of(&unit.name);
            if !index.contains_key(method) {
                index.insert(method.to_owned(), tests.len());
                tests.push(method.to_owned());
            }
        }
        let mut accesses = vec![Vec::new(); detection.resources.len()];
        for (number, access) in detection.accesses.iter().enumerate() {
            accesses[access.resource as usize].push(number);
        }
        let mut evidence = Evidence {
            detection,
            accesses,
            reads: vec![Vec::new(); tests.len()],
            writes: vec![Vec::new(); tests.len()],
            sources: vec![BTreeMap::new(); tests.len()],
            tests,
            index,
            groups: Vec::new(),
        };
        evidence.gather();
        evidence
    }

    pub fn tests(&self) -> &[String] {
        &self.tests
    }

    pub(crate) fn test(&self, name: &str) -> Option<Test> {
        self.index.get(name).copied()
    }

    /// The test that stands for a unit: fixtures run with any test of their class.
    fn test_of(&self, unit: &Unit) -> Option<Test> {
        match unit.kind {
            UnitKind::Test => self.test(method_of(&unit.name)),
            UnitKind::Class => self.tests.iter().position(|test| is_within(class_of(test), &unit.name)),
        }
    }

    /// The tests that cannot run without the unit.
    fn family_of(&self, unit: &Unit) -> Vec<Test> {
        match unit.kind {
            UnitKind::Test => self.test_of(unit).into_iter().collect(),
            UnitKind::Class => {
                (0..self.tests.len()).filter(|&test| is_within(class_of(&self.tests[test]), &unit.name)).collect()
            }
        }
    }

    fn gather(&mut self) {
        let of_unit: Vec<Option<Test>> = self.detection.units.iter().map(|unit| self.test_of(unit)).collect();
        // What class fixtures write is left behind by a run of any test of the class, unless that test undoes it.
        let family: Vec<Vec<Test>> = self.detection.units.iter().map(|unit| self.family_of(unit)).collect();
        #[derive(Default)]
        struct Use {
            writers: BTreeSet<Test>,
            readers: BTreeSet<Test>,
            eager: bool,
            lasting: bool,
        }
        let mut uses: BTreeMap<usize, Use> = BTreeMap::new();
        for access in &self.detection.accesses {
            let Some(test) = of_unit[access.unit as usize] else { continue };
            let used = uses.entry(access.resource as usize).or_default();
            let is_lazy = access.labels.contains(Label::Lazy);
            match access.mode {
                AccessMode::Write => {
                    used.writers.extend(&family[access.unit as usize]);
                    used.eager |= !is_lazy;
                    used.lasting |= !access.labels.contains(Label::ClassLocal);
                }
                AccessMode::Read => {
                    // What a class fixture has read can show in any test of its class. What it reads of libraries would be
                    // far too much.
                    let unit = access.unit as usize;
                    let field = &self.detection.resources[access.resource as usize].field;
                    let is_of_all =
                        self.detection.units[unit].kind == UnitKind::Class && self.remoteness(field) <= NEAR;
                    if is_of_all {
                        used.readers.extend(&family[unit]);
                    }
                    used.readers.insert(test);
                    if let Some(source) = access.source.and_then(|unit| of_unit[unit as usize]).filter(|&s| s != test) {
                        // A value that came with its object has no write of its own.
                        used.lasting |= used.writers.insert(source);
                        used.eager |= !is_lazy;
                        *self.sources[test].entry(source).or_default() |= !is_lazy;
                    }
                }
            }
        }
        /// Writers, readers, whether it is lazy, whether it stays within a class.
        type Key = (BTreeSet<Test>, BTreeSet<Test>, bool, bool);
        let mut groups: HashMap<Key, Vec<usize>> = HashMap::new();
        for (resource, used) in uses {
            if used.writers.is_empty() || used.readers.is_empty() {
                continue;
            }
            groups.entry((used.writers, used.readers, !used.eager, !used.lasting)).or_default().push(resource);
        }
        self.groups = groups
            .into_iter()
            .map(|((writers, readers, is_lazy, is_class_local), resources)| Group {
                writers,
                readers,
                is_lazy,
                is_class_local,
                resources,
            })
            .collect();
        self.groups.sort_by(|a, b| (a.is_lazy, &a.resources).cmp(&(b.is_lazy, &b.resources)));
        for (number, group) in self.groups.iter().enumerate() {
            for &reader in &group.readers {
                self.reads[reader].push(number);
            }
            for &writer in &group.writers {
                self.writes[writer].push(number);
            }
        }
    }

    /// How much of the state that either uses both use, in thousandths; tests of one class are twice as alike.
    pub(crate) fn likeness(&self, one: Test, other: Test) -> usize {
        let used = |test: Test| self.reads[test].iter().chain(&self.writes[test]).copied().collect::<BTreeSet<usize>>();
        let (first, second) = (used(one), used(other));
        let both = first.intersection(&second).count();
        let either = first.len() + second.len() - both;
        let same_class = if self.class(one) == self.class(other) { 2 } else { 1 };
        (same_class * both * 1000).checked_div(either).unwrap_or(0)
    }

    /// The tests that write something which `reader` reads.
    pub(crate) fn writers_of(&self, reader: Test) -> BTreeSet<Test> {
        self.writers_where(reader, |_| true)
    }

    /// Those that write it in such groups of slots.
    pub(crate) fn writers_where(&self, reader: Test, is_meant: impl Fn(&Group) -> bool) -> BTreeSet<Test> {
        let groups = self.reads[reader].iter().map(|&group| &self.groups[group]).filter(|group| is_meant(group));
        groups.flat_map(|group| group.writers.iter().copied()).filter(|&writer| writer != reader).collect()
    }

    /// Those that write something near: the project's own, or what it sets in the JDK.
    pub(crate) fn near_writers_of(&self, reader: Test) -> BTreeSet<Test> {
        self.writers_where(reader, |group| self.is_near(group))
    }

    fn is_near(&self, group: &Group) -> bool {
        group.resources.iter().any(|&resource| self.remoteness(&self.detection.resources[resource].field) <= NEAR)
    }

    /// Whether it is the project's own state.
    pub(crate) fn is_own(&self, group: &Group) -> bool {
        group.resources.iter().any(|&resource| self.remoteness(&self.detection.resources[resource].field) == 0)
    }

    /// The tests that write something which `reader` reads, by name.
    pub(crate) fn writers_named(&self, reader: &str) -> Vec<&str> {
        let Some(reader) = self.test(reader) else { return Vec::new() };
        self.writers_of(reader).into_iter().map(|writer| self.tests[writer].as_str()).collect()
    }

    /// The class in whose class runs the test takes part: classes that are nested run with the outer one.
    pub(crate) fn class(&self, test: Test) -> &str {
        outermost(class_of(&self.tests[test]))
    }

    /// Everything that `test` got from others in the original order, directly or through them.
    pub(crate) fn closure(&self, test: Test) -> BTreeSet<Test> {
        let mut found = BTreeSet::new();
        let mut pending = vec![test];
        while let Some(at) = pending.pop() {
            for &source in self.sources[at].keys() {
                if source != test && found.insert(source) {
                    pending.push(source);
                }
            }
        }
        found
    }

    /// How unlikely a field is the cause: the project's own come first, then what programs set in the JDK, then
    /// libraries, then the JDK's other state, which is mostly caches.
    pub(crate) fn remoteness(&self, field: &str) -> usize {
        match field {
            _ if OUTSIDE.iter().any(|kind| field.starts_with(kind)) => 0,
            _ if self.detection.is_own(class_of_field(field)) => 0,
            _ if is_program_setting(field) => 1,
            _ if !is_jdk(field) => 2,
            _ => 3,
        }
    }

    /// Tests that write a slot of the field.
    pub(crate) fn writers_of_field(&self, field: &str) -> BTreeSet<Test> {
        let has_field =
            |group: &&Group| group.resources.iter().any(|&resource| self.detection.resources[resource].field == field);
        self.groups.iter().filter(has_field).flat_map(|group| group.writers.iter().copied()).collect()
    }

    /// Pairs that meet in what is not put back between trials, so that only fresh JVMs show them: where a class initializer wrote
    /// elsewhere, or read, as it runs once in a JVM; and outside of the heap.
    pub(crate) fn fresh_pairs(&self, targets: &BTreeSet<Test>) -> BTreeSet<(Test, Test)> {
        let mut pairs = self.written_by_initializers(targets);
        pairs.extend(self.near_pairs(targets, |group, accesses| {
            let is_outside = |a: &&Access| self.detection.resource(a.resource).kind.is_outside_of_heap();
            if accesses.iter().any(is_outside) { group.readers.clone() } else { BTreeSet::new() }
        }));
        pairs.extend(self.near_pairs(targets, |group, accesses| {
            let units =
                accesses.iter().filter(|a| a.mode == AccessMode::Read && a.labels.contains(Label::Initialising));
            let readers = units.flat_map(|access| self.family_of(&self.detection.units[access.unit as usize]));
            readers.filter(|reader| group.readers.contains(reader)).collect()
        }));
        pairs
    }

    /// Pairs that meet in what a class initializer wrote elsewhere.
    pub(crate) fn written_by_initializers(&self, targets: &BTreeSet<Test>) -> BTreeSet<(Test, Test)> {
        self.near_pairs(targets, |group, accesses| {
            let is_meant = |a: &&Access| a.mode == AccessMode::Write && a.labels.contains(Label::Initializer);
            if accesses.iter().any(is_meant) { group.readers.clone() } else { BTreeSet::new() }
        })
    }

    /// Whether class initializers wrote into the project's own state elsewhere, or into what it sets in the JDK.
    pub(crate) fn has_initializer_effects(&self) -> bool {
        let is_meant = |access: &Access| access.mode == AccessMode::Write && access.labels.contains(Label::Initializer);
        let field = |access: &Access| self.detection.resource(access.resource).field.as_str();
        self.detection.accesses.iter().any(|access| is_meant(access) && self.remoteness(field(access)) <= NEAR)
    }

    /// Writers of groups, each with those of the readers that are chosen by the accesses to what is the project's own or what it
    /// sets in the JDK. What initializers leave in libraries, loggers mostly, would be too many.
    fn near_pairs(
        &self,
        targets: &BTreeSet<Test>,
        chosen: impl Fn(&Group, &[&Access]) -> BTreeSet<Test>,
    ) -> BTreeSet<(Test, Test)> {
        let mut pairs = BTreeSet::new();
        for group in &self.groups {
            let is_near = |&&resource: &&usize| self.remoteness(&self.detection.resources[resource].field) <= NEAR;
            let numbers = group.resources.iter().filter(is_near).flat_map(|&resource| &self.accesses[resource]);
            let accesses: Vec<&Access> = numbers.map(|&number| &self.detection.accesses[number]).collect();
            for reader in chosen(group, &accesses).intersection(targets) {
                pairs.extend(group.writers.iter().filter(|writer| *writer != reader).map(|&writer| (writer, *reader)));
            }
        }
        pairs
    }

    /// For each test that writes, the targets that read what it writes: first those that meet in the project's own state or in
    /// what it sets in the JDK, then other likely pairs, then those that meet in state which is filled lazily or put back.
    pub(crate) fn candidate_pairs(&self, targets: &BTreeSet<Test>) -> [Vec<(Test, Test)>; 3] {
        let count = self.tests.len();
        let mut seen = vec![false; count * count];
        let mut lists = [Vec::new(), Vec::new(), Vec::new()];
        let rank = |group: &Group| match group.is_lazy || group.is_class_local {
            false if self.is_near(group) => 0,
            false => 1,
            true => 2,
        };
        let ranks: Vec<usize> = self.groups.iter().map(rank).collect();
        for (number, list) in lists.iter_mut().enumerate() {
            for (group, _) in self.groups.iter().zip(&ranks).filter(|(_, rank)| **rank == number) {
                for &writer in &group.writers {
                    for &reader in group.readers.intersection(targets).filter(|&&reader| reader != writer) {
                        if !std::mem::replace(&mut seen[writer * count + reader], true) {
                            list.push((writer, reader));
                        }
                    }
                }
            }
            list.sort_unstable();
        }
        lists
    }

    /// Where the writers and the reader touch each other, by name.
    pub fn channels_named(&self, writers: &[String], reader: &str) -> Vec<Channel> {
        let writers: Vec<Test> = writers.iter().filter_map(|name| self.test(name)).collect();
        self.test(reader).map(|reader| self.channels(&writers, reader)).unwrap_or_default()
    }

    /// Where the two touch each other, likely causes first; with the stacks of the write and the read.
    pub(crate) fn channels(&self, writers: &[Test], reader: Test) -> Vec<Channel> {
        let units_of = |test: Test| {
            self.detection
                .units
                .iter()
                .enumerate()
                .filter(move |(_, unit)| match unit.kind {
                    UnitKind::Test => self.test_of(unit) == Some(test),
                    UnitKind::Class => is_within(class_of(&self.tests[test]), &unit.name),
                })
                .map(|(number, _)| number as u32)
                .collect::<BTreeSet<u32>>()
        };
        let reader_units = units_of(reader);
        let mut found: Vec<(usize, Channel)> = Vec::new();
        for &writer in writers {
            let writer_units = units_of(writer);
            for group in self.reads[reader].iter().map(|&group| &self.groups[group]) {
                if !group.writers.contains(&writer) {
                    continue;
                }
                for &resource in &group.resources {
                    let of_resource = || self.accesses[resource].iter().map(|&number| &self.detection.accesses[number]);
                    let read = of_resource()
                        .filter(|a| a.mode == AccessMode::Read && reader_units.contains(&a.unit))
                        .max_by_key(|a| a.source.is_some_and(|source| writer_units.contains(&source)));
                    let Some(read) = read else { continue };
                    let write = of_resource()
                        .find(|a| a.mode == AccessMode::Write && writer_units.contains(&a.unit))
                        .and_then(|a| a.stack)
                        .or_else(|| {
                            read.source_stack.filter(|_| read.source.is_some_and(|s| writer_units.contains(&s)))
                        });
                    let named = &self.detection.resources[resource];
                    let mut labels = read.labels;
                    if group.is_lazy {
                        labels.insert(Label::Lazy);
                    }
                    found.push((
                        group.writers.len(),
                        Channel {
                            kind: named.kind,
                            name: named.name.clone(),
                            field: named.field.clone(),
                            path: named.path.clone(),
                            root: named.root.clone(),
                            labels,
                            writer: self.tests[writer].clone(),
                            written_at: self.detection.own_line(self.detection.stack(write)).cloned(),
                            read_at: self.detection.own_line(self.detection.stack(read.stack)).cloned(),
                            write: self.detection.stack(write).to_vec(),
                            read: self.detection.stack(read.stack).to_vec(),
                        },
                    ));
                }
            }
        }
        // What every test writes, a counter say, is less likely to matter to one of them.
        found.sort_by(|a, b| {
            let key = |(writers, channel): &(usize, Channel)| {
                let is_lazy = channel.labels.contains(Label::Lazy);
                let remoteness = self.remoteness(&channel.field);
                (remoteness > 0, is_lazy, remoteness, *writers, channel.name.len())
            };
            key(a).cmp(&key(b)).then_with(|| (&a.1.name, &a.1.writer).cmp(&(&b.1.name, &b.1.writer)))
        });
        let mut found: Vec<Channel> = found.into_iter().map(|(_, channel)| channel).collect();
        found.dedup_by(|a, b| a.name == b.name && a.writer == b.writer);
        found
    }
}
