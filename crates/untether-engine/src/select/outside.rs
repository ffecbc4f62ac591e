//! What test classes read outside of their code, from what a JVM and its children told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use untether_model::{ClassState, Condition, Deed, ExternalEvent, Launch, Thing, Trace};
use untether_project::{Code, listed, listed_without_classes, version_of};

/// Stands for what nobody can know any more: it is like nothing that is found later.
const CHANGED_MEANWHILE: &str = "changed by somebody while the tests ran";

/// So many digits in a row are a number that was drawn.
const DRAWN_DIGITS: usize = 6;

/// Of one test class, or of what happened outside of all.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) states: BTreeSet<ClassState>,
    /// Test classes whose files it read.
    pub(crate) writers: BTreeSet<String>,
    /// Why it is not known what it read.
    pub(crate) unclear: Option<String>,
}

/// A change of a path while tests ran.
struct Change<'t> {
    at: usize,
    by: Option<&'t str>,
    before: Condition,
    /// Whether nothing is left of what was there.
    is_whole: bool,
}

/// Reads by test class; those of nobody in particular are under no name.
pub(crate) struct Reads<'t> {
    changes: HashMap<&'t str, Vec<Change<'t>>>,
    /// By folder: entries that were not there before, and those of the changed ones that were.
    made: HashMap<&'t str, BTreeSet<&'t str>>,
    there: HashMap<&'t str, BTreeSet<&'t str>>,
    /// How each path was found first, and when.
    seen: HashMap<&'t str, (usize, Condition)>,
    temporary: Vec<PathBuf>,
    pub(crate) by_class: BTreeMap<Option<String>, Read>,
}

/// What was done to a path by a test class, and when.
#[derive(Clone, Copy)]
struct Sight<'t> {
    at: usize,
    class: Option<&'t str>,
    deed: Deed,
    name: &'t str,
    found: Condition,
}

impl<'t> Reads<'t> {
    /// `class_of` tells the test class that an actor acts for.
    pub(crate) fn of(trace: &'t Trace, code: &mut Code<'_>, class_of: impl Fn(u32) -> Option<&'t str>) -> Self {
        let mut reads = Reads {
            changes: HashMap::new(),
            made: HashMap::new(),
            there: HashMap::new(),
            seen: HashMap::new(),
            temporary: temporary_folders(&trace.launch),
            by_class: BTreeMap::new(),
        };
        for (at, event) in trace.external.events.iter().enumerate() {
            let ExternalEvent::Done { actor, deed, name, before, is_whole, .. } = event else { continue };
            if deed.is_change() {
                reads.note_change(name, Change { at, by: class_of(*actor), before: *before, is_whole: *is_whole });
            } else {
                reads.seen.entry(name).or_insert((at, *before));
            }
        }
        for (at, event) in trace.external.events.iter().enumerate() {
            if let ExternalEvent::Done { actor, deed, name, before, .. } = event
                && matches!(deed, Deed::Looked | Deed::Asked | Deed::Read | Deed::Listed)
            {
                // The JVM looks at a native library and then has the system load it.
                let is_loaded = matches!(deed, Deed::Looked | Deed::Asked)
                    && before.thing == Thing::File
                    && is_native_library(name);
                let deed = if is_loaded { Deed::Read } else { *deed };
                reads.add(code, Sight { at, class: class_of(*actor), deed, name, found: *before });
            }
        }
        for actor in &trace.external.starters {
            // A program gets all variables, and nobody sees which ones it looks at.
            let all = code.state("env:*", false);
            reads.by_class.entry(class_of(*actor).map(str::to_owned)).or_default().states.insert(all);
        }
        let reason = (!trace.external.is_whole && !trace.external.events.is_empty())
            .then(|| "what tests did with files is not known in full".to_owned());
        let unobserved = trace.external.unobserved.iter();
        for (class, reason) in unobserved
            .map(|it| (class_of(it.actor), format!("what '{}' reads is not seen: {}", it.command, it.reason)))
            .chain(reason.map(|reason| (None, reason)))
        {
            reads.by_class.entry(class.map(str::to_owned)).or_default().unclear.get_or_insert(reason);
        }
        reads
    }

    fn note_change(&mut self, name: &'t str, change: Change<'t>) {
        let known = self.changes.entry(name).or_default();
        if known.is_empty()
            && let Some((folder, entry)) = name.rsplit_once('/')
        {
            let sets = if change.before.thing == Thing::Absent { &mut self.made } else { &mut self.there };
            sets.entry(folder).or_default().insert(entry);
        }
        known.push(change);
    }

    fn add(&mut self, code: &mut Code<'_>, sight: Sight<'t>) {
        let class = sight.class.map(str::to_owned);
        let (states, writers) = match self.made_before(sight) {
            Some((made, writers)) => (self.absent(code, made).into_iter().collect(), writers),
            None if sight.deed == Deed::Listed => {
                (vec![self.entries(code, sight.name, sight.found, sight.class.is_none())], Vec::new())
            }
            None => self.content(code, sight),
        };
        let read = self.by_class.entry(class).or_default();
        read.states.extend(states);
        read.writers.extend(writers);
    }

    /// The outermost of the folders that hold it, or the listed folder itself, that was made earlier by tests: what is there
    /// is not the world's then. And whose it is.
    fn made_before(&self, sight: Sight<'t>) -> Option<(&'t str, Vec<String>)> {
        let is_made = |path: &&str| {
            let first = self.changes.get(path).and_then(|changes| changes.first());
            first.is_some_and(|change| change.before.thing == Thing::Absent && change.at < sight.at)
        };
        let itself = (sight.deed == Deed::Listed).then_some(sight.name);
        let folders = sight.name.match_indices('/').map(|(end, _)| &sight.name[..end]);
        let made = folders.chain(itself).find(is_made)?;
        let writers = [made, sight.name].into_iter().flat_map(|path| self.writers(path, sight)).collect();
        Some((made, writers))
    }

    /// The other test classes that changed the path earlier.
    fn writers(&self, path: &str, sight: Sight<'t>) -> Vec<String> {
        let changes = self.changes.get(path).into_iter().flatten().take_while(|change| change.at < sight.at);
        changes.filter_map(|change| change.by).filter(|by| Some(*by) != sight.class).map(str::to_owned).collect()
    }

    /// That it is not there; a name that was drawn is another one each time.
    fn absent(&self, code: &Code<'_>, name: &str) -> Option<ClassState> {
        let is_drawn = self.temporary.iter().any(|folder| {
            Path::new(name)
                .strip_prefix(folder)
                .is_ok_and(|rest| rest.components().any(|part| is_drawn(&part.as_os_str().to_string_lossy())))
        });
        let name = format!("look:{}", code.outside.portable(name));
        (!is_drawn).then_some(ClassState { name, found: None, is_exact: false })
    }

    /// Of a file, or of what was looked at, and the test classes that it has from.
    fn content(&self, code: &mut Code<'_>, sight: Sight<'t>) -> (Vec<ClassState>, Vec<String>) {
        let changes = self.changes.get(sight.name).map_or(&[][..], Vec::as_slice);
        let Some(first) = changes.first() else { return (vec![unchanged(code, sight)], Vec::new()) };
        let earlier: Vec<&Change<'_>> = changes.iter().take_while(|change| change.at < sight.at).collect();
        let is_worlds = if earlier.is_empty() {
            true
        } else {
            // What was only opened for writing, or added to, shows what was there before.
            sight.deed == Deed::Read && !earlier.iter().any(|change| change.is_whole)
        };
        let state = match first.before {
            _ if !is_worlds => None,
            Condition { thing: Thing::File, content } => Some(file(code, sight.name, content)),
            Condition { thing: Thing::Absent, .. } => self.absent(code, sight.name),
            _ if earlier.is_empty() => Some(unchanged(code, sight)),
            _ => None,
        };
        (state.into_iter().collect(), self.writers(sight.name, sight))
    }

    /// What is in a folder, as it was before the tests. Who is outside of all of them only looks for test classes there.
    fn entries(&self, code: &Code<'_>, name: &str, seen: Condition, is_of_nobody: bool) -> ClassState {
        let none = BTreeSet::new();
        let (made, there) = (self.made.get(name).unwrap_or(&none), self.there.get(name).unwrap_or(&none));
        let kind = if is_of_nobody { "names" } else { "dir" };
        let state = format!("{kind}:{}", code.outside.portable(name));
        // Whoever changes entries changes the time.
        let is_tests = !made.is_empty() || !there.is_empty();
        let path = code.outside.path(name);
        if !is_tests && seen.content != 0 && version_of(&path).map(|now| now >> 64) != Some(seen.content >> 64) {
            return changed_meanwhile(state);
        }
        let there: Vec<String> = there.iter().map(|entry| (*entry).to_owned()).collect();
        let is_new = |entry: &str| made.contains(entry);
        let found =
            if is_of_nobody { listed_without_classes(&path, is_new, &there) } else { listed(&path, is_new, &there) };
        ClassState { name: state, found, is_exact: false }
    }

    /// What a class initializer read, by its mark: a file counts as it was before the tests.
    pub(crate) fn marked(&self, code: &mut Code<'_>, mark: &str) -> Option<ClassState> {
        let Some((kind @ ("file" | "dir"), path)) = mark.split_once(':') else {
            // Properties and variables.
            return Some(code.state(mark, false));
        };
        let seen = self.seen.get(path).copied();
        match self.changes.get(path).and_then(|changes| changes.first()).map(|change| (change.at, change.before)) {
            Some((_, Condition { thing: Thing::File, content })) if kind == "file" => Some(file(code, path, content)),
            // Made while tests ran, before it was read or after that.
            Some((at, Condition { thing: Thing::Absent, .. })) => {
                seen.filter(|(seen, _)| *seen < at).and_then(|_| self.absent(code, path))
            }
            _ => match (kind, seen) {
                (_, Some((_, Condition { thing: Thing::Absent, .. }))) => self.absent(code, path),
                ("dir", Some((_, found))) => Some(self.entries(code, path, found, false)),
                ("file", Some((_, found))) => Some(read(code, path, found)),
                _ => Some(code.state(&format!("{kind}:{}", code.outside.portable(path)), false)),
            },
        }
    }
}

fn file(code: &Code<'_>, name: &str, content: u128) -> ClassState {
    let name = format!("file:{}", code.outside.portable(name));
    ClassState { name, found: Some((String::new(), content)), is_exact: false }
}

fn changed_meanwhile(name: String) -> ClassState {
    ClassState { name, found: Some((CHANGED_MEANWHILE.to_owned(), 0)), is_exact: false }
}

/// The state of what no test changed, as it was found.
fn unchanged(code: &mut Code<'_>, sight: Sight<'_>) -> ClassState {
    if sight.deed == Deed::Read {
        return read(code, sight.name, sight.found);
    }
    let name = format!("look:{}", code.outside.portable(sight.name));
    let now = code.state(&name, false);
    let is_link = code.outside.path(sight.name).is_symlink();
    let found = match sight.found.thing {
        Thing::Absent => None,
        Thing::Directory => Some(("dir".to_owned(), 0)),
        Thing::File if !is_link => {
            let mode = now.found.map(|(mode, _)| mode).filter(|mode| mode != "dir").unwrap_or_default();
            Some((mode, sight.found.content & u128::from(u64::MAX)))
        }
        _ => now.found,
    };
    ClassState { name, found, is_exact: false }
}

/// What a file holds, if it is still the one that was read.
fn read(code: &mut Code<'_>, name: &str, seen: Condition) -> ClassState {
    let is_same = seen.content == 0 || version_of(&code.outside.path(name)) == Some(seen.content);
    let name = format!("file:{}", code.outside.portable(name));
    if is_same || seen.thing != Thing::File { code.state(&name, false) } else { changed_meanwhile(name) }
}

/// Where temporary files are made: by Java, and by other programs.
fn temporary_folders(launch: &Launch) -> Vec<PathBuf> {
    let of_java =
        launch.properties.iter().filter(|(name, _)| name == "java.io.tmpdir").map(|(_, folder)| folder.as_str());
    let all = of_java.chain(["/tmp", "/var/tmp"]).map(PathBuf::from);
    all.map(|folder| folder.canonicalize().unwrap_or(folder)).collect()
}

fn is_native_library(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.ends_with(".so") || file.contains(".so.")
}

/// Whether a name has a part that is unique: a long number, or what `mktemp` makes.
fn is_drawn(name: &str) -> bool {
    name.starts_with("tmp.") || name.split(|letter: char| !letter.is_ascii_digit()).any(|run| run.len() >= DRAWN_DIGITS)
}
