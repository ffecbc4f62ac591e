//! From a trace to accesses of resources by tests and class fixtures.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use untether_frameworks::is_runner;
use untether_model::{
    Access, AccessMode, ActorKind, Detection, Event, Label, Labels, Resource, StackLine, Trace, Unit, is_jdk,
};

use crate::actors::Actors;
use crate::{external, names};

/// What one JVM's trace says about its tests.
pub fn detect(trace: &Trace) -> Detection {
    let mut analysis = Analysis::new(trace);
    for (position, event) in (0..).zip(&trace.events) {
        analysis.event(position, *event);
    }
    analysis.finish()
}

/// The last value that somebody left in a slot.
#[derive(Debug, Clone, Copy)]
struct LastWrite {
    actor: u32,
    stack: u32,
    labels: Labels,
}

/// A write that may still turn out to be put back by its class: the access, and the outermost class run.
#[derive(Debug, Clone, Copy)]
struct OpenWrite {
    access: usize,
    class_run: u32,
}

struct Analysis<'t> {
    trace: &'t Trace,
    actors: Actors<'t>,
    units: Vec<Unit>,
    /// Units whose state each initializer took over, with the stack of their write.
    taints: HashMap<u32, BTreeMap<u32, u32>>,
    last_writes: HashMap<u32, LastWrite>,
    /// The same for parts of arrays, of which one slot holds the values of several writers.
    part_writes: HashMap<(u32, u32), LastWrite>,
    /// Their resources are slots of the trace, until the end.
    accesses: Vec<Access>,
    /// Writes since a slot was last put back, by slot: indices into `accesses`.
    open_writes: HashMap<u32, Vec<OpenWrite>>,
    /// Units that found a slot empty.
    found_empty: HashMap<u32, Vec<u32>>,
    /// Writes outside their own class that initializers made: the class, and the access.
    initializers: Vec<(String, usize)>,
    /// By object: whether it belongs to the table of the JDK's loggers.
    is_of_loggers: Vec<bool>,
    stacks: StackTable,
    framework_stacks: HashMap<u32, bool>,
}

const LOGGING_PREFIXES: [&str; 5] =
    ["java.util.logging.", "sun.util.logging.", "jdk.internal.logger.", "sun.logging.", "java.lang.System$Logger"];
/// What these keep for each thread is plumbing: caches of providers, guards against being entered twice.
const PLUMBING_PREFIXES: [&str; 6] =
    ["java.security.", "java.nio.", "java.net.URL", "jdk.internal.", "sun.", "com.sun."];

/// What the JDK keeps for each thread to pass paths to the system.
const NATIVE_BUFFERS: &str = "sun.nio.fs.NativeBuffers";

/// Stacks that are really used, renumbered.
#[derive(Default)]
pub(crate) struct StackTable {
    numbers: HashMap<u32, u32>,
    lines: Vec<Vec<StackLine>>,
}

impl StackTable {
    /// The number of a stack that stands in no trace.
    pub(crate) fn add(&mut self, lines: Vec<StackLine>) -> u32 {
        self.lines.push(lines);
        self.lines.len() as u32 - 1
    }

    pub(crate) fn number(&mut self, trace: &Trace, stack: u32) -> Option<u32> {
        if stack == 0 {
            return None;
        }
        Some(*self.numbers.entry(stack).or_insert_with(|| {
            self.lines.push(trace.stack(stack));
            self.lines.len() as u32 - 1
        }))
    }
}

impl<'t> Analysis<'t> {
    fn new(trace: &'t Trace) -> Self {
        let (actors, units) = Actors::of(trace);
        Analysis {
            trace,
            actors,
            units,
            taints: HashMap::new(),
            last_writes: HashMap::new(),
            part_writes: HashMap::new(),
            accesses: Vec::new(),
            open_writes: HashMap::new(),
            found_empty: HashMap::new(),
            initializers: Vec::new(),
            is_of_loggers: of_loggers(trace),
            stacks: StackTable::default(),
            framework_stacks: HashMap::new(),
        }
    }

    fn event(&mut self, position: u32, event: Event) {
        let (Event::Read { slot, .. } | Event::Write { slot, .. } | Event::Restored { slot, .. }) = event;
        if slot as usize >= self.trace.slots.len() {
            // A damaged trace.
            return;
        }
        if self.is_of_loggers.get(self.trace.slots[slot as usize].object as usize) == Some(&true) {
            return;
        }
        match event {
            Event::Read { actor, slot, writer, stack, pending_stack, is_empty } => {
                self.read(position, actor, slot, (writer, pending_stack), stack);
                if let Some(reader) = self.actors.beneficiary(actor).filter(|_| is_empty) {
                    let reader = self.unit_of(reader);
                    self.found_empty.entry(slot).or_default().push(reader);
                }
            }
            Event::Write { actor, slot, stack, labels } => self.write(position, actor, slot, stack, labels),
            Event::Restored { slot, writer } => self.restored(slot, writer),
        }
    }

    fn unit_of(&self, actor: u32) -> u32 {
        self.actors.unit(actor).unwrap_or_default()
    }

    /// The tests and fixtures whose doing a value of `actor` is, with the stacks of their writes;
    /// `stack` is that of the actor's own write.
    fn sources(&self, actor: u32, stack: u32) -> BTreeMap<u32, u32> {
        match self.actors.kind(actor) {
            ActorKind::Test | ActorKind::Class => BTreeMap::from([(actor, stack)]),
            ActorKind::Initializer => self.taints.get(&actor).cloned().unwrap_or_default(),
            ActorKind::Outside => BTreeMap::new(),
        }
    }

    fn read(&mut self, position: u32, actor: u32, slot: u32, (writer, pending_stack): (u32, u32), stack: u32) {
        if self.is_framework(stack) {
            return;
        }
        let last = self.last_writes.get(&slot).copied().filter(|last| last.actor == writer);
        let last = last.or_else(|| self.part_writes.get(&(slot, writer)).copied());
        let write_stack = match last {
            _ if pending_stack != 0 => pending_stack,
            Some(last) => last.stack,
            // Nobody stored into this slot since its object was published: that store stands for it.
            None => self.object_of(slot).map_or(0, |object| object.stack),
        };
        let sources = self.sources(writer, write_stack);
        if self.actors.kind(actor) == ActorKind::Initializer {
            self.taints.entry(actor).or_default().extend(&sources);
        }
        let Some(reader) = self.actors.beneficiary(actor) else { return };
        let mut labels = last.map(|last| last.labels).unwrap_or_default();
        if self.actors.kind(writer) == ActorKind::Initializer {
            labels.insert(Label::Initializer);
        }
        if self.actors.kind(actor) == ActorKind::Initializer {
            labels.insert(Label::Initialising);
        }
        let read = Access {
            resource: slot,
            unit: self.unit_of(reader),
            position,
            mode: AccessMode::Read,
            source: None,
            stack: self.stacks.number(self.trace, stack),
            source_stack: None,
            labels,
        };
        let foreign: Vec<(u32, u32)> =
            sources.into_iter().filter(|&(source, _)| !self.actors.are_family(source, reader)).collect();
        for &(source, write_stack) in &foreign {
            let access = Access {
                source: Some(self.unit_of(source)),
                source_stack: self.stacks.number(self.trace, write_stack),
                ..read
            };
            self.accesses.push(access);
        }
        if foreign.is_empty() {
            self.accesses.push(read);
        }
    }

    /// Whether a test framework did it, by way of the JDK, for itself, or the JDK logged or kept something per thread for
    /// itself.
    fn is_framework(&mut self, stack: u32) -> bool {
        let trace = self.trace;
        *self.framework_stacks.entry(stack).or_insert_with(|| {
            let frames = trace.stacks.get(stack as usize).map_or(&[][..], Vec::as_slice);
            let classes: Vec<&str> = frames
                .iter()
                .filter_map(|(method, _)| Some(trace.methods.get(*method as usize)?.class.as_str()))
                .collect();
            let starts = |class: &str, prefixes: &[&str]| prefixes.iter().any(|prefix| class.starts_with(prefix));
            let innermost = classes.iter().position(|class| !is_jdk(class));
            let is_for_framework = innermost.is_some_and(|at| is_runner(classes[at].as_bytes()));
            let of_jdk = &classes[..innermost.unwrap_or(classes.len())];
            let last_logging = of_jdk.iter().rposition(|class| starts(class, &LOGGING_PREFIXES));
            let user = classes.iter().position(|class| !class.starts_with("java.lang.ThreadLocal"));
            let is_plumbing = classes.first() == Some(&NATIVE_BUFFERS)
                || user.is_some_and(|at| at > 0 && starts(classes[at], &PLUMBING_PREFIXES));
            is_for_framework || is_plumbing || last_logging.is_some_and(|at| at + 1 < of_jdk.len())
        })
    }

    fn object_of(&self, slot: u32) -> Option<&untether_model::HeapObject> {
        let slot = self.trace.slots.get(slot as usize)?;
        self.trace.objects.get(slot.object as usize)
    }

    fn write(&mut self, position: u32, actor: u32, slot: u32, stack: u32, labels: Labels) {
        if !labels.contains(Label::Repeated) {
            self.last_writes.insert(slot, LastWrite { actor, stack, labels });
            if self.trace.slots[slot as usize].place.contains("..") {
                self.part_writes.insert((slot, actor), LastWrite { actor, stack, labels });
            }
        }
        if self.is_framework(stack) {
            return;
        }
        let Some(unit) = self.actors.unit(actor) else { return };
        if labels.contains(Label::Initializer)
            && let Some(class) = self.initializer_in(stack)
        {
            self.initializers.push((class, self.accesses.len()));
        }
        let stack = self.stacks.number(self.trace, stack);
        let access = Access {
            resource: slot,
            unit,
            position,
            mode: AccessMode::Write,
            source: None,
            stack,
            source_stack: None,
            labels,
        };
        if !labels.contains(Label::Repeated) {
            let open = OpenWrite { access: self.accesses.len(), class_run: self.actors.class_run(actor) };
            self.open_writes.entry(slot).or_default().push(open);
        }
        self.accesses.push(access);
    }

    /// The class whose initializer made the access, by its stack.
    fn initializer_in(&self, stack: u32) -> Option<String> {
        let frames = self.trace.stacks.get(stack as usize)?;
        let methods = frames.iter().filter_map(|(method, _)| self.trace.methods.get(*method as usize));
        methods.filter(|method| method.name == "<clinit>").map(|method| method.class.clone()).next()
    }

    /// The class run that just ended put the slot back: what its own tests wrote there stays within it.
    fn restored(&mut self, slot: u32, writer: u32) {
        self.last_writes.insert(slot, LastWrite { actor: writer, stack: 0, labels: Labels::default() });
        let open = self.open_writes.remove(&slot).unwrap_or_default();
        let Some(ended) = open.last().map(|last| last.class_run) else { return };
        for write in open.iter().filter(|write| write.class_run == ended) {
            self.accesses[write.access].labels.insert(Label::ClassLocal);
        }
    }

    /// Whoever uses a class first runs its initializer: in another order its effects are another's doing.
    fn add_other_triggers(&mut self) {
        if self.initializers.is_empty() {
            return;
        }
        let classes: HashSet<&str> = self.initializers.iter().map(|(class, _)| class.as_str()).collect();
        let mut users: HashMap<&str, BTreeSet<u32>> = HashMap::new();
        for (access, slot) in self.accesses.iter().map(|access| (access, &self.trace.slots[access.resource as usize])) {
            let owner = self.trace.objects.get(slot.object as usize).filter(|object| object.parent == 0);
            if let Some(&class) = owner.and_then(|object| classes.get(object.class.as_str())) {
                users.entry(class).or_default().insert(access.unit);
            }
            for line in access.stack.iter().flat_map(|&stack| &self.stacks.lines[stack as usize]) {
                if let Some(&class) = classes.get(line.class.as_str()) {
                    users.entry(class).or_default().insert(access.unit);
                }
            }
        }
        let mut added = Vec::new();
        for (class, write) in &self.initializers {
            let write = self.accesses[*write];
            for &unit in users.get(class.as_str()).into_iter().flatten().filter(|&&unit| unit != write.unit) {
                let mut other = Access { unit, ..write };
                other.labels.insert(Label::Repeated);
                added.push(other);
            }
        }
        self.accesses.append(&mut added);
    }

    /// Who found a slot empty would have gone on below it: whoever writes there might have been met.
    fn add_writes_below_empty(&mut self, holders: &[u32]) {
        let mut known: HashSet<(u32, u32)> =
            self.accesses.iter().filter(|a| a.mode == AccessMode::Write).map(|a| (a.resource, a.unit)).collect();
        let mut added = Vec::new();
        for write in self.accesses.iter().filter(|access| access.mode == AccessMode::Write) {
            let mut at = self.trace.slots[write.resource as usize].object;
            while let Some(object) = self.trace.objects.get(at as usize).filter(|object| object.parent != 0) {
                let holder = holders[at as usize];
                let is_met = self.found_empty.get(&holder).is_some_and(|units| units.iter().any(|&u| u != write.unit));
                if is_met && known.insert((holder, write.unit)) {
                    let mut above = Access { resource: holder, ..*write };
                    above.labels.insert(Label::BelowEmpty);
                    added.push(above);
                }
                at = object.parent;
            }
        }
        self.accesses.append(&mut added);
    }

    /// Keeps what matters: resources that some unit wrote. Of the reads of one writer's state only those nearest
    /// to the root name it as their source.
    fn finish(mut self) -> Detection {
        let trace = self.trace;
        let holders = holders(trace);
        self.add_other_triggers();
        self.add_writes_below_empty(&holders);
        let mut is_holder = vec![false; trace.slots.len()];
        for &slot in holders.iter().filter(|&&slot| slot != 0) {
            is_holder[slot as usize] = true;
        }
        let mut is_written = vec![false; trace.slots.len()];
        let mut is_stored_into = is_written.clone();
        let mut flows: HashSet<(u32, u32, u32)> = HashSet::new();
        for access in &self.accesses {
            let slot = access.resource as usize;
            is_stored_into[slot] |= access.mode == AccessMode::Write;
            is_written[slot] |= access.mode == AccessMode::Write || access.source.is_some();
            if let Some(source) = access.source.filter(|_| is_holder[slot]) {
                flows.insert((access.resource, source, access.unit));
            }
        }
        // Whether the reader already depends on the source through a slot on the way to this one.
        let is_implied = |slot: u32, source: u32, reader: u32| {
            let mut at = trace.slots[slot as usize].object;
            while let Some(object) = trace.objects.get(at as usize).filter(|object| object.parent != 0) {
                if flows.contains(&(holders[at as usize], source, reader)) {
                    return true;
                }
                at = object.parent;
            }
            false
        };
        let mut resources: Vec<Resource> = Vec::new();
        let mut resource_of: HashMap<u32, u32> = HashMap::new();
        let mut accesses = self.accesses;
        accesses.retain_mut(|access| {
            let slot = access.resource;
            if !is_written[slot as usize] {
                return false;
            }
            if access.source.is_some_and(|source| is_implied(slot, source, access.unit)) {
                // It adds nothing to what the reader got from this writer, but others write here as well.
                if !is_stored_into[slot as usize] {
                    return false;
                }
                access.source = None;
                access.source_stack = None;
            }
            access.resource = *resource_of.entry(slot).or_insert_with(|| {
                resources.push(names::resource(trace, slot));
                resources.len() as u32 - 1
            });
            true
        });
        external::add(trace, &self.actors, &mut self.stacks, (&mut resources, &mut accesses));
        accesses.shrink_to_fit();
        Detection {
            launch: trace.launch.clone(),
            units: self.units,
            resources,
            accesses,
            stacks: self.stacks.lines,
            notes: trace.notes.clone(),
            refusals: trace.refusals.clone(),
            own_classes: Vec::new(),
            is_complete: trace.is_complete,
        }
    }
}

/// The slot in which each object was found; 0 where that is none of the trace's.
fn holders(trace: &Trace) -> Vec<u32> {
    let slots: HashMap<(u32, &str), u32> =
        (0..).zip(&trace.slots).map(|(number, slot)| ((slot.object, slot.place.as_str()), number)).collect();
    trace.objects.iter().map(|object| slots.get(&(object.parent, &object.place)).copied().unwrap_or(0)).collect()
}

/// Objects of the table in which the JDK keeps loggers by their names. Whoever asks for a logger finds it or makes it, so the
/// table is nobody's; what a test does to a logger is its own.
fn of_loggers(trace: &Trace) -> Vec<bool> {
    const OWNER: &str = "java.util.logging.LogManager$";
    let mut found: Vec<bool> = Vec::with_capacity(trace.objects.len());
    for object in &trace.objects {
        let is_logging = object.class.starts_with("java.util.logging.");
        let is_container = !is_logging && (object.class.starts_with("java.util.") || object.class.starts_with('['));
        // Who leads to an object has a smaller number.
        let is_below = || found.get(object.parent as usize) == Some(&true);
        found.push(object.class.starts_with(OWNER) || is_container && is_below());
    }
    found
}
