//! From what a JVM tells of used classes to what is kept of each test class.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use untether_model::{
    Actor, ActorKind, ClassState, LoadedClass, OutcomeStatus, RecordStatus, Trace, UseRecord, class_of, class_run_of,
    method_of, outermost,
};
use untether_project::{Code, is_outside_name};

use crate::select::outside::{Read, Reads};
use crate::select::shape;

/// Parts of the names of classes that are made while tests run, by code that is itself used, from what it is given.
const GENERATED: &[&str] = &[
    "$$",
    "$Proxy",
    "MockitoMock",
    "ByteBuddy",
    "net.bytebuddy.mirror.",
    "net.bytebuddy.utility.Invoker$Dispatcher",
    "HibernateProxy",
    "HibernateInstantiator",
    "HibernateAccessOptimizer",
    "$auxiliary$",
    "Lambda",
    "GeneratedMethodAccessor",
    "GeneratedConstructorAccessor",
    "GeneratedSerializationConstructorAccessor",
    "ConstructorAccess",
    "_$$_",
    "_javassist",
];

/// Beginnings of the names of classes that the JDK itself gives to the application's class loader: its compiler, and what
/// mocking libraries use to attach an agent. Libraries have other classes below `com.sun.tools`.
const OF_THE_JDK: &[&str] = &[
    "com.sun.jarsigner.",
    "com.sun.jdi.",
    "com.sun.source.",
    "com.sun.tools.attach.",
    "com.sun.tools.classfile.",
    "com.sun.tools.doclint.",
    "com.sun.tools.javac.",
    "com.sun.tools.javap.",
    "com.sun.tools.jconsole.",
    "com.sun.tools.jdeprscan.",
    "com.sun.tools.jdeps.",
    "com.sun.tools.jdi.",
    "jdk.",
    "sun.",
];

/// The JDK counts as a whole, in the environment.
fn is_of_the_jdk(name: &str) -> bool {
    OF_THE_JDK.iter().any(|start| name.starts_with(start))
}

fn is_generated(name: &str) -> bool {
    GENERATED.iter().any(|part| name.contains(part))
}

/// What a test class did in one JVM.
#[derive(Debug, Default)]
struct Unit {
    used: BTreeSet<u32>,
    absent: BTreeSet<String>,
    sees_lines: bool,
    has_failed: bool,
    is_unfinished: bool,
    has_run: bool,
    nanos: u64,
}

/// A class of the trace, and what belongs to it.
#[derive(Debug, Default)]
struct Node {
    name: String,
    is_on_class_path: bool,
    /// Supertypes, annotations, and what its initializer used.
    belongs: Vec<usize>,
    /// Why it is not known what it is.
    unclear: Option<String>,
    /// What its initializer looked for in vain.
    absent: BTreeSet<String>,
    /// Whether its initializer looked at lines.
    sees_lines: bool,
}

/// Tests of a class that were left out while others of it ran.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftOut {
    /// What they had used when they last ran, all of which is as it was.
    pub(crate) states: Vec<ClassState>,
    pub(crate) seconds: f64,
    /// Whether none of the class's tests was selected.
    pub(crate) is_all: bool,
}

/// What is to be kept of one JVM.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) records: Vec<UseRecord>,
    /// Test classes that ran without their tests being told apart: what was known of those says nothing any more.
    pub(crate) without_tests: Vec<String>,
}

/// Turns the trace of one JVM into records.
pub(crate) struct Recorder<'r, 'c> {
    pub(crate) trace: &'r Trace,
    pub(crate) code: &'r mut Code<'c>,
    pub(crate) module: &'r str,
    pub(crate) environment: &'r str,
    /// The test classes that the JVM asked about: whoever looks for tests looks at all of them.
    pub(crate) asked: &'r BTreeSet<String>,
    /// Of which other test classes (or tests of the same class) each read values, as far as a detection knows.
    pub(crate) inherits: &'r BTreeMap<String, BTreeSet<String>>,
    /// Whether the JVM told what each test used, and not only each test class.
    pub(crate) by_test: bool,
    /// The test classes of which a detection knows what their tests leave for each other, with what they were then.
    pub(crate) watched: &'r BTreeMap<String, String>,
    /// By test class.
    pub(crate) left_out: &'r BTreeMap<String, LeftOut>,
    pub(crate) now_ms: i64,
}

/// What ran in a JVM: test classes, and tests where those are told apart.
#[derive(Debug, Default)]
struct Units {
    by_name: BTreeMap<String, Unit>,
    /// The names of a test class's units, its own among them.
    by_class: BTreeMap<String, BTreeSet<String>>,
}

impl Units {
    fn of<'u>(&'u self, names: &'u BTreeSet<String>) -> impl Iterator<Item = &'u Unit> + Clone {
        names.iter().filter_map(|name| self.by_name.get(name))
    }

    /// The units that a name stands for: those of a test class, or a test.
    fn expand(&self, name: &str) -> BTreeSet<String> {
        self.by_class.get(name).cloned().unwrap_or_else(|| BTreeSet::from([name.to_owned()]))
    }
}

impl<'r> Recorder<'r, '_> {
    /// One record for each test class that ran to its end, and one for each of its tests where those are told apart.
    pub(crate) fn records(&mut self) -> Recorded {
        let apart = self.told_apart();
        let (units, outside) = self.units(&apart);
        let mut graph = Graph::new(self.trace);
        let tests: BTreeSet<&str> =
            self.asked.iter().map(String::as_str).chain(units.by_class.keys().map(String::as_str)).collect();
        let common = self.common(&mut graph, &outside, &tests);
        let trace = self.trace;
        let unit_of = |actor: u32| trace.actors.get(actor as usize).and_then(|it| unit_of(trace, (actor, it), &apart));
        let reads = Reads::of(trace, self.code, unit_of);
        let shared = Shared { units: &units, outside: &outside, common: &common, reads: &reads };
        let mut recorded = Recorded::default();
        let records = &mut recorded.records;
        for (class, members) in &units.by_class {
            let has_ended = units.of(members).any(|unit| unit.has_run) && !units.of(members).any(|it| it.is_unfinished);
            if !has_ended {
                continue;
            }
            for test in members.iter().filter(|name| name.contains('#') && units.by_name[*name].has_run) {
                let own = BTreeSet::from([test.clone(), class.clone()]);
                records.push(self.record(&shared, &mut graph, (test, class), own, None));
            }
            if !apart.contains(class.as_str()) {
                recorded.without_tests.push(class.clone());
            }
            records.push(self.record(&shared, &mut graph, (class, class), members.clone(), self.left_out.get(class)));
        }
        // Of these nothing was left to run; a JVM that was ended may not have come to the others.
        let is_empty = |class: &&String, left: &LeftOut| left.is_all && !units.by_class.contains_key(*class);
        let left_out = self.left_out.iter().filter(|(class, left)| trace.is_complete && is_empty(class, left));
        for (class, left) in left_out {
            records.push(UseRecord {
                states: left.states.clone(),
                seconds: left.seconds,
                ..self.blank(class, RecordStatus::Passed)
            });
        }
        recorded
    }

    /// The test classes whose tests are told apart: the JVM told what each of them used, and it is known what they leave for
    /// each other.
    fn told_apart(&mut self) -> BTreeSet<&'r str> {
        let trace = self.trace;
        let mut apart: BTreeMap<&str, bool> = BTreeMap::new();
        for (number, actor) in
            trace.actors.iter().enumerate().filter(|(_, it)| self.by_test && it.kind == ActorKind::Test)
        {
            let class = class_run_of(trace, actor);
            let is_skipped = actor.outcome.as_ref().is_some_and(|outcome| outcome.status == OutcomeStatus::Skipped);
            let is_own = outermost(class_of(&actor.name)) == outermost(class) && actor.name.contains('#');
            // One that is not told apart acts for its class.
            let is_told = trace.uses.by_actor.get(&(number as u32)).is_some_and(|used| !used.is_empty());
            *apart.entry(class).or_insert(true) &= is_own && (is_told || is_skipped);
        }
        let watched = self.watched;
        let mut is_known =
            |class: &str| watched.get(outermost(class)).is_some_and(|then| *then == shape(self.code, outermost(class)));
        apart.into_iter().filter(|(class, is_apart)| *is_apart && is_known(class)).map(|(class, _)| class).collect()
    }

    fn blank(&self, name: &str, status: RecordStatus) -> UseRecord {
        UseRecord {
            module: self.module.to_owned(),
            class: name.to_owned(),
            environment: self.environment.to_owned(),
            status,
            reason: String::new(),
            states: Vec::new(),
            seconds: 0.0,
            noted_ms: self.now_ms,
        }
    }

    /// What the units used, which are those of a test class or one test and the fixtures of its class.
    fn record(
        &mut self,
        shared: &Shared<'_, '_>,
        graph: &mut Graph<'_>,
        (name, class): (&str, &str),
        own: BTreeSet<String>,
        left_out: Option<&LeftOut>,
    ) -> UseRecord {
        let Shared { units, outside, common, reads } = shared;
        let nothing = Read::default();
        let of_all = reads.by_class.get(&None).unwrap_or(&nothing);
        let mut unclear = self.trace.notes.iter().find(|note| note.kind == "limit").map(|note| note.text.clone());
        let read_by = |names: &BTreeSet<String>| -> Vec<&Read> {
            names.iter().filter_map(|name| reads.by_class.get(&Some(name.clone()))).collect()
        };
        let left = read_by(&own).into_iter().chain([of_all]).flat_map(|read| &read.writers);
        let inherited = [name, class].into_iter().filter_map(|name| self.inherits.get(name)).flatten();
        let others: BTreeSet<String> = left.chain(inherited).flat_map(|other| units.expand(other)).collect();
        let names: BTreeSet<String> = own.iter().cloned().chain(others).collect();
        let mut roots: Vec<usize> = common.to_vec();
        let mut absent: BTreeSet<&String> = outside.absent.iter().collect();
        let mut sees_lines = outside.sees_lines;
        for part in units.of(&names) {
            roots.extend(part.used.iter().map(|&number| graph.numbered(number)));
            absent.extend(&part.absent);
            sees_lines |= part.sees_lines;
        }
        let classes = names.iter().map(|name| name.split('#').next().unwrap_or(name));
        roots.extend(classes.chain([class]).map(|name| graph.named(name)).collect::<Vec<_>>());
        let reached = graph.reached(roots, self.code);
        sees_lines |= reached.iter().any(|&node| graph.nodes[node].sees_lines);
        absent.extend(reached.iter().flat_map(|&node| &graph.nodes[node].absent));
        let mut states: Vec<ClassState> = left_out.map(|left| left.states.clone()).unwrap_or_default();
        states.reserve(reached.len());
        for read in read_by(&names).into_iter().chain([of_all]) {
            states.extend(read.states.iter().cloned());
            if unclear.is_none() {
                unclear.clone_from(&read.unclear);
            }
        }
        for &node in &reached {
            let node = &graph.nodes[node];
            if is_outside_name(&node.name) {
                states.extend(reads.marked(self.code, &node.name));
                continue;
            }
            if unclear.is_none() {
                unclear.clone_from(&node.unclear);
            }
            if node.is_on_class_path {
                states.push(self.code.state(&node.name, sees_lines));
            }
        }
        // What is there by now was made meanwhile.
        states.extend(absent.iter().map(|name| self.code.state(name, false)).filter(|state| state.found.is_none()));
        let status = match (&unclear, units.of(&own).any(|unit| unit.has_failed)) {
            (_, true) => RecordStatus::Failed,
            (Some(_), _) => RecordStatus::Unclear,
            (None, _) => RecordStatus::Passed,
        };
        // The fixtures take time of their own, which is the class's.
        let nanos: u64 = match name == class {
            true => units.of(&own).map(|unit| unit.nanos).sum(),
            false => units.by_name.get(name).map_or(0, |unit| unit.nanos),
        };
        UseRecord {
            reason: unclear.unwrap_or_default(),
            states,
            seconds: nanos as f64 / 1e9 + left_out.map_or(0.0, |left| left.seconds),
            ..self.blank(name, status)
        }
    }

    /// What ran, and what happened outside of all tests.
    fn units(&self, apart: &BTreeSet<&str>) -> (Units, Unit) {
        let uses = &self.trace.uses;
        let (mut units, mut outside): (Units, Unit) = Default::default();
        let mut last = None;
        for (number, actor) in self.trace.actors.iter().enumerate() {
            let number = number as u32;
            let unit = match unit_of(self.trace, (number, actor), apart) {
                None => &mut outside,
                Some(name) => {
                    let class = class_run_of(self.trace, actor);
                    let members = units.by_class.entry(class.to_owned()).or_default();
                    members.extend([name.to_owned(), class.to_owned()]);
                    last = Some(name.to_owned());
                    units.by_name.entry(name.to_owned()).or_default()
                }
            };
            // Of files it is known in which order they were read and written; marks are for class initializers.
            let is_file = |used: &&u32| {
                let name = uses.classes.get(**used as usize).map_or("", String::as_str);
                name.starts_with("file:") || name.starts_with("dir:")
            };
            unit.used.extend(uses.by_actor.get(&number).into_iter().flatten().filter(|used| !is_file(used)));
            unit.absent.extend(uses.absent.get(&number).into_iter().flatten().cloned());
            unit.sees_lines |= uses.lines_seen.contains(&number);
            if actor.kind == ActorKind::Test {
                unit.has_run = true;
                unit.is_unfinished |= actor.outcome.is_none();
            }
            if let Some(outcome) = &actor.outcome {
                unit.has_run = true;
                unit.has_failed |= outcome.status == OutcomeStatus::Failed;
                unit.nanos += outcome.nanos;
            }
        }
        // A JVM that was ended was at the last of them.
        if let Some(unit) = last.filter(|_| !self.trace.is_complete).and_then(|name| units.by_name.get_mut(&name)) {
            unit.is_unfinished = true;
        }
        (units, outside)
    }

    /// What counts for every test class: whatever ran outside of all of them. That somebody looked at the test classes
    /// themselves, at what they extend and at what they name, in annotations say, tells nothing about the others.
    fn common(&mut self, graph: &mut Graph<'_>, outside: &Unit, tests: &BTreeSet<&str>) -> Vec<usize> {
        let used: Vec<usize> = outside.used.iter().map(|&number| graph.numbered(number)).collect();
        let looked_at: Vec<usize> = self.trace.uses.looked_at.iter().map(|&number| graph.numbered(number)).collect();
        let is_of_test = |name: &str| tests.contains(outermost(name)) || tests.contains(name);
        let both = used.iter().chain(&looked_at).copied();
        let of_tests: Vec<usize> = both.filter(|&node| is_of_test(&graph.nodes[node].name)).collect();
        let of_tests: BTreeSet<usize> = graph.types_of(of_tests, self.code);
        let others: Vec<usize> = looked_at.into_iter().filter(|node| !of_tests.contains(node)).collect();
        let named: BTreeSet<String> = if others.is_empty() {
            BTreeSet::new()
        } else {
            of_tests.iter().flat_map(|&node| self.code.named_by(&graph.nodes[node].name).to_vec()).collect()
        };
        let others = others.into_iter().filter(|&node| !named.contains(&graph.nodes[node].name));
        let others: Vec<usize> = others.collect();
        let refused: Vec<usize> = self.trace.refusals.iter().map(|refusal| graph.named(&refusal.class)).collect();
        used.into_iter().filter(|node| !of_tests.contains(node)).chain(others).chain(refused).collect()
    }
}

/// The unit that an actor acts for: its test class, or the test where those are told apart.
fn unit_of<'t>(trace: &'t Trace, (number, actor): (u32, &'t Actor), apart: &BTreeSet<&str>) -> Option<&'t str> {
    match actor.kind {
        ActorKind::Outside | ActorKind::Initializer => None,
        ActorKind::Class => Some(class_run_of(trace, actor)),
        ActorKind::Test => {
            let class = class_run_of(trace, actor);
            // What was skipped used nothing.
            let has_run = trace.uses.by_actor.contains_key(&number);
            Some(if has_run && apart.contains(class) { method_of(&actor.name) } else { class })
        }
    }
}

/// What all records of a JVM have in common.
struct Shared<'s, 't> {
    units: &'s Units,
    outside: &'s Unit,
    common: &'s [usize],
    reads: &'s Reads<'t>,
}

/// Classes and what belongs to them, as far as it was asked for.
struct Graph<'t> {
    trace: &'t Trace,
    nodes: Vec<Node>,
    is_expanded: Vec<bool>,
    /// How many of what belongs to a node are types, which come first.
    types: Vec<usize>,
    by_name: HashMap<String, usize>,
    numbers: HashMap<&'t str, u32>,
    loaded: HashMap<u32, Vec<&'t LoadedClass>>,
    /// All that was looked for in vain.
    absent: HashSet<&'t str>,
}

impl<'t> Graph<'t> {
    fn new(trace: &'t Trace) -> Self {
        let names = trace.uses.classes.iter().enumerate();
        let mut loaded: HashMap<u32, Vec<&LoadedClass>> = HashMap::new();
        for class in &trace.uses.loaded {
            loaded.entry(class.class).or_default().push(class);
        }
        Graph {
            trace,
            nodes: Vec::new(),
            is_expanded: Vec::new(),
            types: Vec::new(),
            by_name: HashMap::new(),
            numbers: names.map(|(number, name)| (name.as_str(), number as u32)).collect(),
            loaded,
            absent: {
                let of_actors = trace.uses.absent.values().flatten();
                of_actors.chain(trace.uses.absent_by_initializer.values().flatten()).map(String::as_str).collect()
            },
        }
    }

    fn named(&mut self, name: &str) -> usize {
        if let Some(&node) = self.by_name.get(name) {
            return node;
        }
        self.nodes.push(Node { name: name.to_owned(), ..Node::default() });
        self.is_expanded.push(false);
        self.types.push(0);
        self.by_name.insert(name.to_owned(), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn numbered(&mut self, number: u32) -> usize {
        let trace = self.trace;
        self.named(trace.uses.classes.get(number as usize).map_or("", String::as_str))
    }

    /// These and all that belongs to them.
    fn reached(&mut self, roots: Vec<usize>, code: &mut Code<'_>) -> Vec<usize> {
        self.walk(roots, code, false)
    }

    /// These and all that they extend, implement or are annotated with.
    fn types_of(&mut self, roots: Vec<usize>, code: &mut Code<'_>) -> BTreeSet<usize> {
        self.walk(roots, code, true).into_iter().collect()
    }

    fn walk(&mut self, roots: Vec<usize>, code: &mut Code<'_>, only_types: bool) -> Vec<usize> {
        let mut pending = roots;
        let mut is_seen: Vec<bool> = Vec::new();
        let mut seen = Vec::new();
        while let Some(node) = pending.pop() {
            if is_seen.len() < self.nodes.len() {
                is_seen.resize(self.nodes.len(), false);
            }
            if std::mem::replace(&mut is_seen[node], true) {
                continue;
            }
            self.expand(node, code);
            seen.push(node);
            let count = if only_types { self.types[node] } else { self.nodes[node].belongs.len() };
            pending.extend(&self.nodes[node].belongs[..count]);
        }
        seen
    }

    fn expand(&mut self, node: usize, code: &mut Code<'_>) {
        if std::mem::replace(&mut self.is_expanded[node], true) {
            return;
        }
        let name = self.nodes[node].name.clone();
        if is_outside_name(&name) {
            return;
        }
        let number = self.numbers.get(name.as_str()).copied();
        let loaded = number.and_then(|number| self.loaded.get(&number)).cloned().unwrap_or_default();
        let mut types: Vec<String> = Vec::new();
        match code.find(&name) {
            Some(facts) => {
                types.clone_from(&facts.related);
                let is_other = loaded.iter().any(|class| class.hash != facts.exact);
                self.nodes[node].is_on_class_path = true;
                self.nodes[node].unclear =
                    is_other.then(|| format!("{name} was loaded in another form than that on the class path"));
            }
            // What nobody loaded is the JDK's.
            None if loaded.is_empty() => {}
            None => {
                types.extend(loaded.iter().flat_map(|class| class.supertypes.iter().cloned()));
                let is_known = is_generated(&name) || is_of_the_jdk(&name);
                self.nodes[node].unclear =
                    (!is_known).then(|| format!("{name} was loaded, but is not on the class path"));
            }
        }
        let mut belongs: Vec<usize> = types.iter().map(|name| self.named(name)).collect();
        self.types[node] = belongs.len();
        let trace = self.trace;
        let by_initializer = number.and_then(|number| trace.uses.by_initializer.get(&number));
        belongs.extend(by_initializer.into_iter().flatten().map(|&number| self.numbered(number)));
        self.nodes[node].belongs = belongs;
        if let Some(number) = number {
            self.nodes[node].sees_lines = trace.uses.lines_seen_by_initializer.contains(&number);
            self.nodes[node].absent = trace.uses.absent_by_initializer.get(&number).cloned().unwrap_or_default();
        }
        // The JVM looks only once for what a class names, whoever runs it afterwards.
        if !self.absent.is_empty() && self.nodes[node].is_on_class_path {
            let named = code.named_by(&name);
            let absent = named.iter().filter(|named| self.absent.contains(named.as_str()));
            self.nodes[node].absent.extend(absent.cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_byte_buddy_makes_for_itself_is_generated_and_its_own_classes_are_not() {
        // Mockito's first mock in a JVM loads them, so that its test class would run each time.
        assert!(is_generated("net.bytebuddy.utility.Invoker$Dispatcher"));
        assert!(is_generated("net.bytebuddy.mirror.AccessibleObject"));
        assert!(!is_generated("net.bytebuddy.utility.Invoker"));
        assert!(!is_generated("net.bytebuddy.agent.Installer"));
    }

    #[test]
    fn what_the_jdk_gives_to_the_application_is_known_and_what_libraries_name_alike_is_not() {
        assert!(is_of_the_jdk("com.sun.tools.attach.VirtualMachine"));
        assert!(is_of_the_jdk("com.sun.tools.javac.api.JavacTool"));
        assert!(!is_of_the_jdk("com.sun.tools.xjc.Driver"));
        assert!(!is_of_the_jdk("com.sun.jna.Native"));
        assert!(!is_of_the_jdk("sundial.Clock"));
    }
}
