//! Follows the trace files of a run while they grow and builds a [`Trace`] from each.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use untether_model::{
    Actor, ActorKind, Event, HeapObject, Label, Launch, Method, Note, Outcome, OutcomeStatus, Refusal, Slot, Trace,
};
use untether_wire::{self as wire, Frame, FrameReader};

use crate::error::RunnerError;

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub jvms: usize,
    pub finished: usize,
    pub failed: usize,
    pub current: Option<String>,
}

/// The traces of a run so far.
#[derive(Default)]
pub struct Gathered {
    files: BTreeMap<PathBuf, Source>,
    progress: Progress,
}

struct Source {
    file: File,
    reader: FrameReader,
    trace: Trace,
    is_broken: bool,
}

impl Gathered {
    /// Reads what has been added since the last call.
    pub fn poll(&mut self, directory: &Path) -> Result<&Progress, RunnerError> {
        let unreadable = |path: &Path, source| RunnerError::CannotRead { path: path.to_path_buf(), source };
        for entry in fs::read_dir(directory).map_err(|e| unreadable(directory, e))? {
            let path = entry.map_err(|e| unreadable(directory, e))?.path();
            if path.extension().is_some_and(|e| e == "trace") && !self.files.contains_key(&path) {
                let file = File::open(&path).map_err(|e| unreadable(&path, e))?;
                self.files.insert(path, Source::new(file));
                self.progress.jvms += 1;
            }
        }
        for (path, source) in &mut self.files {
            source.read(&mut self.progress).map_err(|e| unreadable(path, e))?;
        }
        Ok(&self.progress)
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The traces of JVMs that ran tests, in the order in which the JVMs started.
    pub fn into_traces(self) -> Vec<Trace> {
        let mut files: Vec<_> = self.files.into_iter().collect();
        // Names are PID-NANOS: the start time orders.
        files.sort_by_key(|(path, _)| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            stem.split('-').nth(1).and_then(|nanos| nanos.parse::<u128>().ok())
        });
        files.into_iter().map(|(_, source)| source.finish()).collect()
    }
}

impl Source {
    fn new(file: File) -> Self {
        // Number 0 means 'nobody' or 'none' everywhere.
        let nobody =
            Actor { kind: ActorKind::Outside, parent: 0, name: String::new(), detail: String::new(), outcome: None };
        let trace = Trace {
            actors: vec![nobody],
            objects: vec![HeapObject::default()],
            slots: vec![Slot::default()],
            methods: vec![Method::default()],
            stacks: vec![Vec::new()],
            ..Trace::default()
        };
        Source { file, reader: FrameReader::new(), trace, is_broken: false }
    }

    fn read(&mut self, progress: &mut Progress) -> std::io::Result<()> {
        let mut chunk = vec![0; 1 << 20];
        loop {
            let count = self.file.read(&mut chunk)?;
            if count == 0 || self.is_broken {
                return Ok(());
            }
            self.reader.feed(&chunk[..count]);
            loop {
                match self.reader.next_frame() {
                    Ok(Some(frame)) => self.add(frame, progress),
                    Ok(None) => break,
                    Err(error) => {
                        self.is_broken = true;
                        self.note("trace", &error.to_string());
                        break;
                    }
                }
            }
        }
    }

    fn note(&mut self, kind: &str, text: &str) {
        self.trace.notes.push(Note { kind: kind.to_owned(), text: text.to_owned() });
    }

    fn add(&mut self, frame: Frame, progress: &mut Progress) {
        match frame {
            Frame::Actor { kind, parent, name, detail, .. } => {
                let kind = match kind {
                    wire::ActorKind::Class => ActorKind::Class,
                    wire::ActorKind::Test => ActorKind::Test,
                    wire::ActorKind::Initializer => ActorKind::Initializer,
                    wire::ActorKind::Outside => ActorKind::Outside,
                };
                self.trace.actors.push(Actor { kind, parent, name, detail, outcome: None });
            }
            Frame::Object { writer, stack, class, parent, place, .. } => {
                self.trace.objects.push(HeapObject { writer, stack, class, parent, place });
            }
            Frame::Slot { object, place, field, .. } => {
                self.trace.slots.push(Slot { object, place, field, element: String::new() });
            }
            Frame::Element { slot, text } => {
                if let Some(slot) = self.trace.slots.get_mut(slot as usize) {
                    slot.element = text;
                }
            }
            Frame::Read { actor, slot, writer, stack, pending_stack, is_empty } => {
                self.trace.events.push(Event::Read { actor, slot, writer, stack, pending_stack, is_empty });
            }
            Frame::Write { actor, slot, stack, is_lazy, is_unchanged, is_by_initializer } => {
                let labels =
                    [(is_lazy, Label::Lazy), (is_unchanged, Label::Repeated), (is_by_initializer, Label::Initializer)];
                let labels = labels.into_iter().filter(|(is_set, _)| *is_set).map(|(_, label)| label).collect();
                self.trace.events.push(Event::Write { actor, slot, stack, labels });
            }
            Frame::Restored { slot, writer } => self.trace.events.push(Event::Restored { slot, writer }),
            Frame::Outcome { actor, status, nanos, message, trace } => {
                self.outcome(actor, status, nanos, message, trace, progress);
            }
            Frame::Note { kind, text } => self.note(&kind, &text),
            Frame::Started { actor, .. } => {
                progress.current = self.trace.actors.get(actor as usize).map(|actor| actor.name.clone());
            }
            Frame::Launch(launch) => self.trace.launch = model_launch(launch),
            Frame::Property { name, value } => self.trace.launch.properties.push((name, value)),
            Frame::Selector { test, unique_id } => {
                // Each invocation says it.
                if self.trace.launch.selectors.last().is_none_or(|(last, _)| *last != test) {
                    self.trace.launch.selectors.push((test, unique_id));
                }
            }
            Frame::Method { class, name, file, .. } => self.trace.methods.push(Method { class, name, file }),
            Frame::Stack { frames, .. } => {
                self.trace.stacks.push(frames.iter().map(|frame| (frame.method, frame.line)).collect());
            }
            Frame::Refusal { class, method, reason } => {
                self.trace.refusals.push(Refusal { class, method, reason });
            }
            Frame::End => self.trace.is_complete = true,
        }
    }

    fn outcome(
        &mut self,
        actor: u32,
        status: wire::OutcomeStatus,
        nanos: u64,
        message: String,
        trace: String,
        progress: &mut Progress,
    ) {
        let status = match status {
            wire::OutcomeStatus::Passed => OutcomeStatus::Passed,
            wire::OutcomeStatus::Failed => OutcomeStatus::Failed,
            wire::OutcomeStatus::Aborted => OutcomeStatus::Aborted,
            wire::OutcomeStatus::Skipped => OutcomeStatus::Skipped,
        };
        progress.failed += usize::from(status == OutcomeStatus::Failed);
        let Some(actor) = self.trace.actors.get_mut(actor as usize) else { return };
        progress.finished += usize::from(actor.kind == ActorKind::Test);
        actor.outcome = Some(Outcome { status, nanos, message, trace });
    }

    fn finish(mut self) -> Trace {
        if self.reader.unread() > 0 && !self.is_broken {
            self.note("trace", "the trace ends in the middle of a record");
        }
        self.trace
    }
}

fn model_launch(launch: wire::LaunchFrame) -> Launch {
    Launch {
        pid: launch.pid,
        java: launch.java,
        arguments: launch.arguments,
        directory: launch.directory,
        environment: launch.environment,
        java_version: launch.java_version,
        class_path: launch.class_path,
        properties: Vec::new(),
        selectors: Vec::new(),
    }
}
