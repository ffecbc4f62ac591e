//! Follows the trace files of a run while they grow and builds a [`Trace`] from each.
//!
//! Records stand under their numbers, whatever was lost between them: a JVM without memory may fail to write one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use untether_model::{
    Actor, ActorKind, Event, HeapObject, Label, Launch, LoadedClass, Method, NotRestored, Note, Outcome, OutcomeStatus,
    Refusal, Slot, Trace, Uses, Withheld, WithheldKind,
};
use untether_project::Config;
use untether_wire::{self as wire, Frame, Reader};

use crate::error::RunnerError;
use crate::external;
use crate::left::{made_between, made_by_tests};

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
    is_removed: bool,
}

struct Source {
    file: File,
    reader: Reader<Frame>,
    trace: Trace,
    /// Places that were kept free for records that had not come yet.
    gaps: BTreeMap<&'static str, usize>,
    is_broken: bool,
}

/// What is said of traces whose folder was removed while JVMs wrote to it.
const REMOVED: &str =
    "the folder that test JVMs write to was removed meanwhile: what they did then is not known in full";

/// Larger gaps are no loss of records but nonsense.
const MOST_LOST: usize = 1 << 20;

/// Puts a record under its number; what is missing before it is blank. Nothing is done where the number makes no sense.
fn place<T: Clone>(records: &mut Vec<T>, number: u32, blank: &T, record: T, missing: &mut usize) {
    let number = number as usize;
    if let Some(known) = records.get_mut(number) {
        *known = record;
        *missing = missing.saturating_sub(1);
    } else if number - records.len() < MOST_LOST {
        *missing += number - records.len();
        records.resize(number, blank.clone());
        records.push(record);
    }
}

fn nobody() -> Actor {
    Actor { kind: ActorKind::Outside, parent: 0, name: String::new(), detail: String::new(), outcome: None }
}

impl Gathered {
    /// Reads what has been added since the last call. A folder that somebody removes costs no test: the JVMs go on writing to
    /// the files that are open here.
    pub fn poll(&mut self, directory: &Path) -> Result<&Progress, RunnerError> {
        let unreadable = |path: &Path, source| RunnerError::CannotRead { path: path.to_path_buf(), source };
        match self.add_files(directory) {
            Err((_, error)) if error.kind() == ErrorKind::NotFound => self.is_removed = true,
            result => result.map_err(|(path, error)| unreadable(&path, error))?,
        }
        for (path, source) in &mut self.files {
            source.read(&mut self.progress).map_err(|e| unreadable(path, e))?;
        }
        Ok(&self.progress)
    }

    fn add_files(&mut self, directory: &Path) -> Result<(), (PathBuf, std::io::Error)> {
        for entry in fs::read_dir(directory).map_err(|error| (directory.to_path_buf(), error))? {
            let path = entry.map_err(|error| (directory.to_path_buf(), error))?.path();
            if path.extension().is_some_and(|e| e == "trace") && !self.files.contains_key(&path) {
                let file = File::open(&path).map_err(|error| (path.clone(), error))?;
                self.files.insert(path, Source::new(file));
                self.progress.jvms += 1;
            }
        }
        Ok(())
    }

    /// How the JVM was started that writes the trace of that name, as far as it has told.
    pub(crate) fn launch(&self, trace: &str) -> Option<&Launch> {
        let is_meant = |(path, _): &(&PathBuf, &Source)| path.file_name().is_some_and(|name| name == trace);
        self.files.iter().find(is_meant).map(|(_, source)| &source.trace.launch)
    }

    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The traces of JVMs that ran tests, in the order in which the JVMs started.
    pub fn into_traces(self, config: &Config) -> Vec<Trace> {
        let mut files: Vec<_> = self.files.into_iter().collect();
        // Names are PID-NANOS: the start time orders.
        files.sort_by_key(|(path, _)| {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            stem.split('-').nth(1).and_then(|nanos| nanos.parse::<u128>().ok())
        });
        let finished = |(path, source): (PathBuf, Source)| {
            let mut trace = source.with_left_files().finish();
            if self.is_removed {
                trace.notes.push(Note { kind: "limit".to_owned(), text: REMOVED.to_owned() });
            }
            external::read(&path, config, &mut trace);
            let mut left = made_by_tests(&trace);
            left.extend(std::mem::take(&mut trace.launch.left_files));
            trace.launch.left_files = left.into_iter().collect();
            trace
        };
        files.into_iter().map(finished).collect()
    }
}

impl Source {
    /// The trace lasts as long as its JVM.
    fn with_left_files(mut self) -> Self {
        let times = self.file.metadata().and_then(|data| Ok((data.created()?, data.modified()?)));
        let has_tests = self.trace.tests().next().is_some();
        if let (Ok((from, until)), true) = (times, has_tests) {
            self.trace.launch.left_files = made_between(&self.trace.launch, from, until);
        }
        self
    }

    fn new(file: File) -> Self {
        // Number 0 means 'nobody' or 'none' everywhere.
        let trace = Trace {
            actors: vec![nobody()],
            objects: vec![HeapObject::default()],
            slots: vec![Slot::default()],
            methods: vec![Method::default()],
            stacks: vec![Vec::new()],
            uses: Uses { classes: vec![String::new(); wire::FIRST_CLASS as usize], ..Uses::default() },
            ..Trace::default()
        };
        Source { file, reader: Reader::new(), trace, gaps: BTreeMap::new(), is_broken: false }
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
            Frame::Actor { number, kind, parent, name, detail } => {
                let kind = match kind {
                    wire::ActorKind::Class => ActorKind::Class,
                    wire::ActorKind::Test => ActorKind::Test,
                    wire::ActorKind::Initializer => ActorKind::Initializer,
                    wire::ActorKind::Outside => ActorKind::Outside,
                };
                let actor = Actor { kind, parent, name, detail, outcome: None };
                place(&mut self.trace.actors, number, &nobody(), actor, self.gaps.entry("test").or_default());
            }
            Frame::Object { number, writer, stack, class, parent, place: at } => {
                let object = HeapObject { writer, stack, class, parent, place: at };
                let missing = self.gaps.entry("object").or_default();
                place(&mut self.trace.objects, number, &HeapObject::default(), object, missing);
            }
            Frame::Slot { number, object, place: at, field } => {
                let slot = Slot { object, place: at, field, element: String::new() };
                place(&mut self.trace.slots, number, &Slot::default(), slot, self.gaps.entry("slot").or_default());
            }
            Frame::Element { slot, text } => {
                // A slot that never arrived stays blank.
                let known = self.trace.slots.get_mut(slot as usize).filter(|slot| **slot != Slot::default());
                if let Some(slot) = known {
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
            Frame::Launch { launch } => self.trace.launch = model_launch(launch),
            Frame::Property { name, value } => self.trace.launch.properties.push((name, value)),
            Frame::Selector { test, unique_id } => {
                // Each invocation says it.
                if self.trace.launch.selectors.last().is_none_or(|(last, _)| *last != test) {
                    self.trace.launch.selectors.push((test, unique_id));
                }
            }
            Frame::Withheld { kind, name } => self.withheld(kind, name),
            Frame::Method { number, class, name, file } => {
                let method = Method { class, name, file };
                let missing = self.gaps.entry("method").or_default();
                place(&mut self.trace.methods, number, &Method::default(), method, missing);
            }
            Frame::Stack { number, frames } => {
                let stack = frames.iter().map(|frame| (frame.method, frame.line)).collect();
                place(&mut self.trace.stacks, number, &Vec::new(), stack, self.gaps.entry("stack").or_default());
            }
            Frame::Refusal { class, method, reason } => {
                self.trace.refusals.push(Refusal { class, method, reason });
            }
            Frame::NotRestored { class, reason } => self.trace.not_restored.push(NotRestored { class, reason }),
            Frame::Uses { actor, first, mask } => add_masked(&mut self.trace.uses.by_actor, actor, first, mask),
            Frame::InitializerUses { class, first, mask } => {
                add_masked(&mut self.trace.uses.by_initializer, class, first, mask);
            }
            Frame::LookedAt { first, mask } => self.trace.uses.looked_at.extend(masked(first, mask)),
            Frame::Absent { actor, initializer: 0, name } => {
                self.trace.uses.absent.entry(actor).or_default().insert(name);
            }
            Frame::Absent { initializer, name, .. } => {
                self.trace.uses.absent_by_initializer.entry(initializer).or_default().insert(name);
            }
            Frame::LinesSeen { actor, initializer: 0 } => {
                self.trace.uses.lines_seen.insert(actor);
            }
            Frame::LinesSeen { initializer, .. } => {
                self.trace.uses.lines_seen_by_initializer.insert(initializer);
            }
            Frame::ClassName { number, name } => {
                let missing = self.gaps.entry("class").or_default();
                place(&mut self.trace.uses.classes, number, &String::new(), name, missing);
            }
            Frame::ClassLoaded { number, high, low, supertypes } => {
                let hash = u128::from(high) << 64 | u128::from(low);
                self.trace.uses.loaded.push(LoadedClass { class: number, hash, supertypes });
            }
            Frame::End {} => self.trace.is_complete = true,
        }
    }

    /// A property may have been withheld as an argument already.
    fn withheld(&mut self, kind: wire::WithheldKind, name: String) {
        let kind = match kind {
            wire::WithheldKind::Environment => WithheldKind::Environment,
            wire::WithheldKind::Property => WithheldKind::Property,
            wire::WithheldKind::Argument => WithheldKind::Argument,
        };
        let withheld = Withheld { kind, name };
        if !self.trace.launch.withheld.contains(&withheld) {
            self.trace.launch.withheld.push(withheld);
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
        self.drop_dangling();
        let gaps = std::mem::take(&mut self.gaps);
        for (what, count) in gaps.into_iter().filter(|(_, count)| *count > 0) {
            let text = format!("{count} {what} record(s) never arrived: what they say of the run is missing");
            self.note("trace", &text);
        }
        self.trace
    }

    /// Leaves out events of slots that are not known: the record of the last slot may be the one that was lost.
    fn drop_dangling(&mut self) {
        let slots = &self.trace.slots;
        let mut beyond = BTreeSet::new();
        self.trace.events.retain(|event| {
            let (Event::Read { slot, .. } | Event::Write { slot, .. } | Event::Restored { slot, .. }) = event;
            match slots.get(*slot as usize) {
                Some(known) => *known != Slot::default(),
                None => {
                    beyond.insert(*slot);
                    false
                }
            }
        });
        *self.gaps.entry("slot").or_default() += beyond.len();
    }
}

/// The numbers from `first` on whose bits are set.
fn masked(first: u32, mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| first.saturating_add(bit))
}

fn add_masked(sets: &mut BTreeMap<u32, BTreeSet<u32>>, of: u32, first: u32, mask: u64) {
    sets.entry(of).or_default().extend(masked(first, mask));
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
        withheld: Vec::new(),
        selectors: Vec::new(),
        filters: Vec::new(),
        left_files: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use untether_wire::Wire as _;

    use super::*;

    fn gathered(name: &str, frames: &[Frame]) -> Trace {
        let folder = std::env::temp_dir().join(format!("untether-gather-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let bytes = frames.iter().fold(Frame::HEADER.to_vec(), |bytes, frame| [bytes, frame.encode()].concat());
        fs::write(folder.join("1-1.trace"), bytes).unwrap();
        let mut gathered = Gathered::default();
        gathered.poll(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        gathered.into_traces(&Config::default()).remove(0)
    }

    fn slot(number: u32) -> Frame {
        Frame::Slot { number, object: number, place: format!("field{number}"), field: String::new() }
    }

    fn write(slot: u32) -> Frame {
        Frame::Write { actor: 1, slot, stack: 0, is_lazy: false, is_unchanged: false, is_by_initializer: false }
    }

    #[test]
    fn what_comes_after_a_lost_record_keeps_its_number() {
        let trace = gathered("lost", &[slot(1), slot(3), slot(4), write(3), write(9), Frame::End {}]);
        let places: Vec<&str> = trace.slots.iter().map(|slot| slot.place.as_str()).collect();
        assert_eq!(places, ["", "field1", "", "field3", "field4"]);
        assert_eq!(trace.events, [Event::Write { actor: 1, slot: 3, stack: 0, labels: Default::default() }]);
        assert_eq!(trace.notes.len(), 1);
        assert!(trace.notes[0].text.contains("2 slot record(s)"), "{:?}", trace.notes);
    }

    #[test]
    fn records_that_come_late_are_not_missing() {
        let trace = gathered("late", &[slot(2), slot(1), write(2), Frame::End {}]);
        assert_eq!((trace.slots.len(), trace.notes.len()), (3, 0));
        assert_eq!(trace.slots[1].place, "field1");
    }

    #[test]
    fn a_number_that_makes_no_sense_takes_no_memory() {
        let trace = gathered("nonsense", &[slot(u32::MAX), write(u32::MAX), Frame::End {}]);
        assert_eq!(trace.slots.len(), 1);
        assert!(trace.events.is_empty() && !trace.notes.is_empty());
    }
}
