//! From what happened outside of the heap to accesses of files, folders and addresses.
//!
//! A file is one slot: whether it is there, and what is in it. A folder is two: whether it is there, and what entries it has.
//! As in the heap, what counts is what a test leaves changed when it ends, and what it reads before it writes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use untether_model::{
    Access, AccessMode, Condition, Deed, ExternalEvent, Label, Labels, Resource, ResourceKind, StackLine, Thing, Trace,
};

use crate::actors::Actors;
use crate::detect::StackTable;

/// Adds what tests did to files, folders and addresses.
pub(crate) fn add(
    trace: &Trace,
    actors: &Actors<'_>,
    stacks: &mut StackTable,
    (resources, accesses): (&mut Vec<Resource>, &mut Vec<Access>),
) {
    let mut analysis = Analysis::new(trace, actors, stacks);
    for event in &trace.external.events {
        analysis.event(event);
        analysis.position += 1;
    }
    analysis.end();
    let Analysis { slots, accesses: mut found, .. } = analysis;
    let is_written: HashSet<u32> =
        found.iter().filter(|access| access.mode == AccessMode::Write).map(|access| access.resource).collect();
    found.retain(|access| is_written.contains(&access.resource));
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    for mut access in found {
        access.resource = *numbers.entry(access.resource).or_insert_with(|| {
            resources.push(slots[access.resource as usize].resource(&trace.launch.directory));
            resources.len() as u32 - 1
        });
        accesses.push(access);
    }
}

/// Which part of what a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Aspect {
    Itself,
    Entries,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    actor: u32,
    stack: Option<u32>,
    labels: Labels,
    /// Only its mode or times were set: who reads what it holds reads nothing of that.
    is_outward: bool,
    /// Only its times were, of which nothing is left when somebody else sets them.
    only_times: bool,
}

/// A change whose end is not known yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    actor: u32,
    before: Condition,
    /// Nothing is left of what was there.
    is_whole: bool,
    /// Only its mode or times were set.
    is_outward: bool,
    /// They were set as well.
    has_outward: bool,
    sets_times: bool,
    only_times: bool,
    stack: Option<u32>,
    labels: Labels,
}

/// What was done in one class run.
#[derive(Debug, Default)]
struct Run {
    class_run: u32,
    before: Option<Condition>,
    /// Whether its mode or its times were set, of which it is not known that they are what they were.
    has_outward: bool,
    last_before: Vec<Last>,
    accesses: Vec<usize>,
}

struct Slot<'t> {
    name: &'t str,
    aspect: Aspect,
    is_folder: bool,
    /// How it was when somebody last stopped acting.
    now: Option<Condition>,
    /// Who left what stands there: whoever last made it anew, and all who added to it since.
    last: Vec<Last>,
    /// Of a folder: who last made or removed each entry.
    entries: HashMap<&'t str, Last>,
    pending: Option<Pending>,
    run: Run,
    /// Who found nothing there.
    found_empty: Option<u32>,
}

impl Slot<'_> {
    fn resource(&self, directory: &str) -> Resource {
        let (kind, name) = match self.name.starts_with('/') {
            false => {
                let name = match self.name.strip_prefix("unix:") {
                    Some(path) => format!("unix:{}", relative(path, directory)),
                    None => self.name.to_owned(),
                };
                (ResourceKind::Endpoint, name)
            }
            true if self.is_folder || self.aspect == Aspect::Entries => {
                (ResourceKind::Directory, format!("dir:{}", relative(self.name, directory)))
            }
            true => (ResourceKind::File, format!("file:{}", relative(self.name, directory))),
        };
        Resource { kind, field: name.clone(), path: name.clone(), root: name.clone(), name }
    }
}

/// The path as seen from the folder, where it lies below it.
fn relative<'p>(path: &'p str, folder: &str) -> &'p str {
    match Path::new(path).strip_prefix(folder).ok().and_then(Path::to_str) {
        Some("") => ".",
        Some(rest) => rest,
        None => path,
    }
}

struct Analysis<'t, 'a> {
    trace: &'t Trace,
    actors: &'a Actors<'t>,
    stacks: &'a mut StackTable,
    child_stacks: HashMap<usize, u32>,
    slots: Vec<Slot<'t>>,
    numbers: HashMap<(&'t str, Aspect), u32>,
    /// The first name of a file that has several.
    names: HashMap<(u64, u64), &'t str>,
    /// Addresses that tests wait at.
    bound: HashSet<&'t str>,
    folders: HashSet<&'t str>,
    accesses: Vec<Access>,
    told: HashSet<(u32, u32, Option<u32>)>,
    position: u32,
    class_run: u32,
    /// Slots that were changed in the class run.
    changed: BTreeSet<u32>,
}

impl<'t, 'a> Analysis<'t, 'a> {
    fn new(trace: &'t Trace, actors: &'a Actors<'t>, stacks: &'a mut StackTable) -> Self {
        let mut bound = HashSet::new();
        let mut folders: HashSet<&str> = HashSet::new();
        for event in &trace.external.events {
            match event {
                ExternalEvent::Done { actor, deed: Deed::Bound, name, .. } if actors.unit(*actor).is_some() => {
                    bound.insert(name.as_str());
                }
                ExternalEvent::Done { name, before: Condition { thing: Thing::Directory, .. }, .. }
                | ExternalEvent::After { name, after: Condition { thing: Thing::Directory, .. }, .. } => {
                    folders.insert(name.as_str());
                }
                _ => {}
            }
        }
        Analysis {
            trace,
            actors,
            stacks,
            child_stacks: HashMap::new(),
            slots: Vec::new(),
            numbers: HashMap::new(),
            names: HashMap::new(),
            bound,
            folders,
            accesses: Vec::new(),
            told: HashSet::new(),
            // After all of the heap.
            position: trace.events.len() as u32,
            class_run: 0,
            changed: BTreeSet::new(),
        }
    }

    fn slot(&mut self, name: &'t str, aspect: Aspect) -> u32 {
        if let Some(&number) = self.numbers.get(&(name, aspect)) {
            return number;
        }
        self.slots.push(Slot {
            name,
            aspect,
            is_folder: self.folders.contains(name),
            now: None,
            last: Vec::new(),
            entries: HashMap::new(),
            pending: None,
            run: Run::default(),
            found_empty: None,
        });
        let number = self.slots.len() as u32 - 1;
        self.numbers.insert((name, aspect), number);
        number
    }

    fn event(&mut self, event: &'t ExternalEvent) {
        match event {
            ExternalEvent::Acts { actor } => self.acts(*actor),
            ExternalEvent::After { actor, name, after } => self.settle(*actor, name, *after),
            ExternalEvent::Done { actor, deed, name, before, is_whole, file, stack, child } => {
                let by = self.actors.beneficiary(*actor);
                let (stack, labels) = self.stack(*stack, *child);
                // Which of its names a file is removed by matters; what is in it is the same by all.
                let first = file.filter(|_| *deed != Deed::Removed).map(|file| *self.names.entry(file).or_insert(name));
                let name = first.unwrap_or(name);
                let done = Done { by, name, before: *before, is_whole: *is_whole, stack, labels };
                match deed {
                    Deed::Looked => self.look(&done, true),
                    Deed::Asked => self.look(&done, false),
                    Deed::Read => self.look(&done, false),
                    Deed::Listed => self.list(&done),
                    Deed::Bound => self.bind(&done),
                    Deed::Reached => self.reach(&done),
                    Deed::Wrote | Deed::Created | Deed::Removed | Deed::Changed => self.change(*deed, &done),
                }
            }
        }
    }

    /// The stack of a deed, and what it says of it.
    fn stack(&mut self, stack: u32, child: Option<usize>) -> (Option<u32>, Labels) {
        if let Some(child) = child {
            let stacks = &mut *self.stacks;
            let command = self.trace.external.children.get(child).map_or("", String::as_str);
            let number = *self.child_stacks.entry(child).or_insert_with(|| {
                let line = StackLine { class: format!("child process: {command}"), ..StackLine::default() };
                stacks.add(vec![line])
            });
            return (Some(number), Labels::default());
        }
        let mut labels = Labels::default();
        let methods = self.trace.stacks.get(stack as usize).into_iter().flatten();
        let mut methods = methods.filter_map(|(method, _)| self.trace.methods.get(*method as usize));
        if methods.any(|method| method.name == "<clinit>") {
            labels.insert(Label::Initialising);
        }
        (self.stacks.number(self.trace, stack), labels)
    }

    /// Whoever acts next, what came before is over.
    fn acts(&mut self, actor: u32) {
        let class_run = self.actors.class_run(actor);
        if class_run == self.class_run {
            return;
        }
        self.class_run = class_run;
        for number in std::mem::take(&mut self.changed) {
            let slot = &mut self.slots[number as usize];
            let run = std::mem::take(&mut slot.run);
            if run.before.is_some() && run.before == slot.now && !run.has_outward {
                // The class has put it back: what its tests wrote there stays within it.
                slot.last = run.last_before;
                let name = slot.name;
                for access in run.accesses {
                    self.accesses[access].labels.insert(Label::ClassLocal);
                }
                if let Some(&entries) = parent(name).and_then(|folder| self.numbers.get(&(folder, Aspect::Entries))) {
                    self.slots[entries as usize].entries.remove(name);
                }
            }
        }
    }

    // ---- reading

    /// Looks at what is there, from outside or only at what it holds.
    fn look(&mut self, done: &Done<'t>, is_outward: bool) {
        let slot = self.slot(done.name, Aspect::Itself);
        if done.before.thing == Thing::Absent {
            self.slots[slot as usize].found_empty = done.by;
        }
        self.read_all(slot, done, is_outward);
    }

    fn list(&mut self, done: &Done<'t>) {
        let slot = self.slot(done.name, Aspect::Entries);
        self.read(slot, done);
    }

    fn read(&mut self, slot: u32, done: &Done<'t>) {
        self.read_all(slot, done, true);
    }

    fn read_all(&mut self, slot: u32, done: &Done<'t>, is_outward: bool) {
        let Some(reader) = done.by else { return };
        let known = &self.slots[slot as usize];
        let mut sources: Vec<Last> = known.last.iter().chain(known.entries.values()).copied().collect();
        match &known.pending {
            Some(pending) if pending.actor == reader && pending.is_whole => return,
            Some(pending) if pending.actor != reader => {
                let Pending { actor, stack, labels, is_outward, only_times, .. } = *pending;
                sources.push(Last { actor, stack, labels, is_outward, only_times });
            }
            _ => {}
        }
        sources.retain(|last| is_outward || !last.is_outward);
        // What this test left itself, in another stretch, is its own.
        if !sources.is_empty() && sources.iter().all(|last| last.actor == reader) {
            return;
        }
        sources.retain(|last| !self.actors.are_family(last.actor, reader));
        if sources.is_empty() {
            self.tell_read(slot, reader, done, None);
        }
        sources.sort_by_key(|last| last.actor);
        for source in sources {
            self.tell_read(slot, reader, done, Some(source));
        }
    }

    fn tell_read(&mut self, slot: u32, reader: u32, done: &Done<'t>, source: Option<Last>) {
        let Some(unit) = self.actors.unit(reader) else { return };
        let from = source.and_then(|last| self.actors.unit(last.actor));
        if !self.told.insert((slot, unit, from)) {
            return;
        }
        let mut labels = source.map(|last| last.labels).unwrap_or_default();
        done.labels.iter().for_each(|label| labels.insert(label));
        self.accesses.push(Access {
            resource: slot,
            unit,
            position: self.position,
            mode: AccessMode::Read,
            labels,
            source: from,
            stack: done.stack,
            source_stack: source.filter(|_| from.is_some()).and_then(|last| last.stack),
        });
    }

    // ---- writing

    fn change(&mut self, deed: Deed, done: &Done<'t>) {
        let slot = self.slot(done.name, Aspect::Itself);
        if deed == Deed::Created
            && let Some(folder) = parent(done.name)
        {
            // Without its folder it could not have been made.
            let folder = self.slot(folder, Aspect::Itself);
            if !self.slots[folder as usize].last.is_empty() {
                self.read(folder, done);
            }
        }
        let known = &mut self.slots[slot as usize];
        known.is_folder |= done.before.thing == Thing::Directory;
        let Some(writer) = done.by else {
            known.last.clear();
            (known.pending, known.now) = (None, None);
            return;
        };
        let is_lazy = deed == Deed::Created && known.found_empty == Some(writer);
        let mut labels = Labels::default();
        if is_lazy {
            labels.insert(Label::Lazy);
        }
        if done.labels.contains(Label::Initialising) {
            labels.insert(Label::Initializer);
        }
        let is_outward = deed == Deed::Changed;
        let (is_whole, sets_times) = (done.is_whole && !is_outward, done.is_whole && is_outward);
        match &mut known.pending {
            Some(pending) if pending.actor == writer => {
                pending.is_whole |= is_whole;
                pending.is_outward &= is_outward;
                pending.has_outward |= is_outward;
                pending.sets_times |= sets_times;
                pending.only_times &= sets_times || !is_outward;
                // The last one is what is left.
                pending.stack = done.stack.or(pending.stack);
            }
            other => {
                let before = other.take();
                let pending = Pending {
                    actor: writer,
                    before: done.before,
                    is_whole,
                    is_outward,
                    has_outward: is_outward,
                    sets_times,
                    only_times: sets_times || !is_outward,
                    stack: done.stack,
                    labels,
                };
                known.pending = Some(pending);
                if let Some(before) = before {
                    self.write(slot, &before);
                }
            }
        }
    }

    /// Somebody stops acting, and this is how what it changed is now.
    fn settle(&mut self, actor: u32, name: &'t str, after: Condition) {
        let slot = self.slot(name, Aspect::Itself);
        let known = &mut self.slots[slot as usize];
        known.now = Some(after);
        known.is_folder |= after.thing == Thing::Directory;
        let Some(pending) = known.pending.filter(|pending| Some(pending.actor) == self.actors.beneficiary(actor))
        else {
            return;
        };
        known.pending = None;
        let before = pending.before;
        if before != after || before.thing == Thing::Unknown {
            self.write(slot, &pending);
        } else if pending.has_outward {
            // It was opened for writing, maybe, but holds what it held.
            self.write(slot, &Pending { is_outward: true, is_whole: false, ..pending });
        } else if self.slots[slot as usize].last.iter().any(|last| last.actor != pending.actor) {
            // It left what somebody else had left there as well, and would leave it in another order too.
            let mut labels = pending.labels;
            labels.insert(Label::Repeated);
            self.tell_write(slot, pending.actor, pending.stack, labels);
        }
        let is_there = |condition: Condition| condition.thing != Thing::Absent;
        if is_there(before) != is_there(after) || before.thing == Thing::Unknown {
            if let Some(folder) = parent(name) {
                self.write_entry(folder, name, &pending);
            }
            if self.slots[slot as usize].is_folder {
                self.write_entry(name, "", &pending);
            }
        }
    }

    /// A folder gained or lost an entry, or is itself another.
    fn write_entry(&mut self, folder: &'t str, entry: &'t str, pending: &Pending) {
        let labels = if entry.is_empty() { pending.labels } else { Labels::default() };
        let slot = self.slot(folder, Aspect::Entries);
        if self.tell_write(slot, pending.actor, pending.stack, labels).is_some() {
            let last =
                Last { actor: pending.actor, stack: pending.stack, labels, is_outward: false, only_times: false };
            self.slots[slot as usize].entries.insert(entry, last);
        }
    }

    fn write(&mut self, slot: u32, pending: &Pending) {
        let Pending { actor, before, stack, labels, mut is_outward, sets_times, only_times, .. } = *pending;
        let class_run = self.actors.class_run(actor);
        let Some(access) = self.tell_write(slot, actor, stack, labels) else { return };
        let known = &mut self.slots[slot as usize];
        if known.run.class_run != class_run {
            known.run = Run {
                class_run,
                before: Some(before),
                has_outward: false,
                last_before: known.last.clone(),
                accesses: Vec::new(),
            };
            self.changed.insert(slot);
        }
        known.run.accesses.push(access);
        known.run.has_outward |= pending.has_outward;
        if pending.is_whole {
            known.last.clear();
        }
        if sets_times || !is_outward {
            known.last.retain(|last| !last.is_outward || !last.only_times);
        }
        // Who only sets its times now may have written it before.
        is_outward &= !known.last.iter().any(|last| last.actor == actor && !last.is_outward);
        known.last.retain(|last| last.actor != actor);
        known.last.push(Last { actor, stack, labels, is_outward, only_times });
    }

    fn tell_write(&mut self, slot: u32, actor: u32, stack: Option<u32>, labels: Labels) -> Option<usize> {
        let unit = self.actors.unit(actor)?;
        self.accesses.push(Access {
            resource: slot,
            unit,
            position: self.position,
            mode: AccessMode::Write,
            labels,
            source: None,
            stack,
            source_stack: None,
        });
        Some(self.accesses.len() - 1)
    }

    /// What was never said to be over counts as it stands.
    fn end(&mut self) {
        for number in 0..self.slots.len() as u32 {
            if let Some(pending) = self.slots[number as usize].pending.take() {
                self.write(number, &pending);
            }
        }
    }

    // ---- addresses

    fn bind(&mut self, done: &Done<'t>) {
        let slot = self.slot(done.name, Aspect::Itself);
        // One that the system chose is free.
        if !done.is_whole {
            self.read(slot, done);
        }
        self.take(slot, done);
    }

    fn reach(&mut self, done: &Done<'t>) {
        let slot = self.slot(done.name, Aspect::Itself);
        self.read(slot, done);
        // What is behind an address at which no test waits may keep anything.
        if !self.bound.contains(done.name) {
            self.take(slot, done);
        }
    }

    fn take(&mut self, slot: u32, done: &Done<'t>) {
        if let Some(actor) = done.by {
            self.tell_write(slot, actor, done.stack, done.labels);
            let last = Last { actor, stack: done.stack, labels: done.labels, is_outward: false, only_times: false };
            self.slots[slot as usize].last = vec![last];
        }
    }
}

/// One deed.
struct Done<'t> {
    /// The test or fixture whose doing it is.
    by: Option<u32>,
    name: &'t str,
    before: Condition,
    is_whole: bool,
    stack: Option<u32>,
    labels: Labels,
}

fn parent(path: &str) -> Option<&str> {
    let (folder, _) = path.rsplit_once('/')?;
    Some(if folder.is_empty() { "/" } else { folder })
}
