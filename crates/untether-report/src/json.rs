//! Dependencies as JSON: a contract that `docs/json.md` describes. Resources, stacks and methods are written once and
//! referred to by their places, and nothing is built up as text.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{Error, Result, Write};

use serde::Serialize;
use serde_json::ser::Formatter;
use untether_model::{DependencyKind, Labels, OutcomeStatus, ResourceKind, StackLine};

use crate::pairs::{Channel, Pair};
use crate::run::{Party, PartyEntry, Run};

/// The version of the JSON documents.
pub const JSON_VERSION: u32 = 2;

#[derive(Serialize)]
struct DocumentForm<'d, M> {
    version: u32,
    tests: Vec<TestForm<'d>>,
    classes: Vec<ClassForm<'d>>,
    methods: Vec<MethodForm<'d>>,
    /// Method and line number.
    lines: Vec<(usize, u32)>,
    /// Lines, innermost first.
    stacks: Vec<Vec<usize>>,
    fields: Vec<&'d str>,
    resources: Vec<ResourceForm<'d>>,
    dependencies: Vec<DependencyForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<M>,
}

#[derive(Serialize)]
struct TestForm<'d> {
    index: Party,
    id: &'d str,
    module: &'d str,
    outcome: OutcomeStatus,
    duration_ms: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'d str,
}

#[derive(Serialize)]
struct ClassForm<'d> {
    index: Party,
    id: &'d str,
    module: &'d str,
}

#[derive(Serialize, PartialEq, Eq, Hash, Clone, Copy)]
struct MethodForm<'d> {
    class: &'d str,
    method: &'d str,
    file: &'d str,
}

#[derive(Serialize, PartialEq, Eq, Hash, Clone, Copy)]
struct ResourceForm<'d> {
    kind: ResourceKind,
    name: &'d str,
    field: usize,
    path: &'d str,
    root: usize,
}

#[derive(Serialize)]
struct DependencyForm {
    kind: DependencyKind,
    from: Party,
    to: Party,
    is_own: bool,
    channels: Vec<ChannelForm>,
}

/// Resources that were written in one place and read in another.
#[derive(Serialize)]
struct ChannelForm {
    resources: Vec<usize>,
    is_own: bool,
    #[serde(skip_serializing_if = "is_empty")]
    labels: Labels,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<usize>,
}

fn is_empty(labels: &Labels) -> bool {
    labels.iter().next().is_none()
}

/// `manifest` are the findings of a refinement, where they are wanted.
pub fn write_json<M: Serialize>(out: &mut dyn Write, run: &Run<'_>, pairs: &[Pair], manifest: Option<M>) -> Result<()> {
    let mut tables = Tables::new(run);
    let dependencies: Vec<DependencyForm> = pairs.iter().map(|pair| tables.dependency(pair)).collect();
    let taking_part: BTreeSet<Party> = pairs.iter().flat_map(|pair| [pair.from, pair.to]).collect();
    let module = |party: &PartyEntry<'_>| run.modules[party.module].as_str();
    let mut tests = Vec::new();
    let mut classes = Vec::new();
    for (party, index) in run.parties.iter().zip(0..) {
        match party.test {
            Some(test) => {
                let outcome = test.outcome.as_ref();
                tests.push(TestForm {
                    index,
                    id: party.id,
                    module: module(party),
                    // A test that started and never ended was cut off with its JVM.
                    outcome: outcome.map_or(OutcomeStatus::Aborted, |outcome| outcome.status),
                    duration_ms: outcome.map_or(0.0, |outcome| outcome.nanos as f64 / 1e6),
                    message: outcome.map_or("", |outcome| &outcome.message),
                });
            }
            None if taking_part.contains(&index) => {
                classes.push(ClassForm { index, id: party.id, module: module(party) });
            }
            None => {}
        }
    }
    let document = DocumentForm {
        version: JSON_VERSION,
        tests,
        classes,
        methods: tables.methods.items,
        lines: tables.lines.items,
        stacks: tables.stacks,
        fields: tables.fields.items,
        resources: tables.resources.items,
        dependencies,
        manifest,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Rows::default());
    document.serialize(&mut serializer).map_err(Error::from)?;
    writeln!(out)
}

/// A document that is small enough to be read as it is: indented.
pub(crate) fn write_document(out: &mut dyn Write, document: &impl Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, document).map_err(Error::from)?;
    writeln!(out)
}

/// Things by the order in which they first came.
struct Numbered<T> {
    items: Vec<T>,
    numbers: HashMap<T, usize>,
}

impl<T: Copy + Eq + std::hash::Hash> Numbered<T> {
    fn new() -> Self {
        Numbered { items: Vec::new(), numbers: HashMap::new() }
    }

    fn number(&mut self, item: T) -> usize {
        *self.numbers.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() - 1
        })
    }
}

/// What is written once. Stacks and resources of a detection have numbers there already.
struct Tables<'r> {
    run: &'r Run<'r>,
    methods: Numbered<MethodForm<'r>>,
    lines: Numbered<(usize, u32)>,
    stacks: Vec<Vec<usize>>,
    fields: Numbered<&'r str>,
    /// Slots of which nobody could tell the difference are one.
    resources: Numbered<ResourceForm<'r>>,
    stack_numbers: HashMap<(usize, u32), usize>,
}

impl<'r> Tables<'r> {
    fn new(run: &'r Run<'r>) -> Self {
        Tables {
            run,
            methods: Numbered::new(),
            lines: Numbered::new(),
            stacks: Vec::new(),
            fields: Numbered::new(),
            resources: Numbered::new(),
            stack_numbers: HashMap::new(),
        }
    }

    fn dependency(&mut self, pair: &Pair) -> DependencyForm {
        let mut channels: Vec<ChannelForm> = Vec::new();
        let mut numbers = HashMap::new();
        for channel in &pair.channels {
            let form = ChannelForm {
                resources: vec![self.resource(channel)],
                is_own: channel.rank.standing.is_own(),
                labels: channel.labels,
                write: self.stack(channel.jvm, channel.write_stack),
                read: self.stack(channel.jvm, channel.read_stack),
            };
            let key = (form.is_own, form.labels, form.write, form.read);
            match numbers.get(&key) {
                Some(&at) => {
                    let known: &mut ChannelForm = &mut channels[at];
                    known.resources.extend(form.resources);
                }
                None => {
                    numbers.insert(key, channels.len());
                    channels.push(form);
                }
            }
        }
        for channel in &mut channels {
            let mut seen = HashSet::new();
            channel.resources.retain(|resource| seen.insert(*resource));
        }
        DependencyForm { kind: pair.kind, from: pair.from, to: pair.to, is_own: pair.is_own(), channels }
    }

    fn resource(&mut self, channel: &Channel) -> usize {
        let resource = self.run.resource(channel);
        let (field, root) = (self.fields.number(&resource.field), self.fields.number(&resource.root));
        self.resources.number(ResourceForm {
            kind: resource.kind,
            name: &resource.name,
            field,
            path: &resource.path,
            root,
        })
    }

    fn stack(&mut self, jvm: usize, stack: Option<u32>) -> Option<usize> {
        let lines = self.run.detections[jvm].stack(stack);
        if lines.is_empty() {
            return None;
        }
        let key = (jvm, stack?);
        if let Some(&number) = self.stack_numbers.get(&key) {
            return Some(number);
        }
        let numbers = lines.iter().map(|line| self.line(line)).collect();
        self.stacks.push(numbers);
        self.stack_numbers.insert(key, self.stacks.len() - 1);
        Some(self.stacks.len() - 1)
    }

    fn line(&mut self, line: &'r StackLine) -> usize {
        let StackLine { class, method, file, line } = line;
        let method = self.methods.number(MethodForm { class, method, file });
        self.lines.number((method, *line))
    }
}

/// One row of a table on each line: small, and still to be looked at with the tools for lines.
#[derive(Default)]
struct Rows {
    depth: usize,
    has_rows: bool,
}

impl Formatter for Rows {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        let separator: &[u8] = match (first, self.depth) {
            (true, 1) => b"\n",
            (true, _) => b"",
            (false, 1) => b",\n",
            (false, _) => b",",
        };
        writer.write_all(separator)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.depth -= 1;
        writer.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.depth += 1;
        self.has_rows &= self.depth != 2;
        writer.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.has_rows |= self.depth == 2;
        let separator: &[u8] = match (first, self.depth) {
            (true, 2) => b"\n",
            (true, _) => b"",
            (false, 2) => b",\n",
            (false, _) => b",",
        };
        writer.write_all(separator)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        let is_table_with_rows = self.depth == 2 && self.has_rows;
        self.depth -= 1;
        writer.write_all(if is_table_with_rows { b"\n]" } else { b"]" })
    }
}
