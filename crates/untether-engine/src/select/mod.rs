//! Running only what a change can affect: which test classes are left out is decided when a test JVM asks, as only then the
//! code is compiled; what the others used is kept when they have passed.

pub(crate) mod between;
mod decide;
mod environment;
#[cfg(test)]
mod model;
mod order;
mod outside;
mod record;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use untether_model::{
    ClassOutcome, CodeCache, ContentHasher, Detection, Launch, Reason, ReasonKind, Schedule, Selected, Selection,
    Skipped, TestClass, Trace, UseRecord, class_of, is_within, outermost,
};
use untether_project::{Code, Config, Outside, is_test_name};
use untether_runner::{
    Launcher, WatchEvent, WatchRequest, Watched, Watching, WorkerContext, filters_of, is_jvm_property, stop_signal,
    watch, watch_and_answer,
};
use untether_store::{DAY_MS, LastLaunch, Settings, Store, StoreError};
use untether_wire::module_entries;

use crate::clock::now_ms;
use crate::detect::{Ending, has_tests};
use crate::error::{EngineError, listen};
use crate::run::outcomes_of;
use crate::scratch::{Scratch, make_folder};
use crate::select::between::Between;
use crate::select::decide::Decider;
use crate::select::environment::{Environment, release};
use crate::select::record::{LeftOut, Recorded, Recorder};

#[derive(Debug)]
pub struct SelectRequest<'r> {
    pub store: &'r Path,
    /// The folder whose configuration counts.
    pub project: &'r Path,
    /// The folder of the whole project, from which modules are named.
    pub folder: &'r Path,
    /// Whether tests are left out one by one, and not only whole test classes.
    pub by_test: bool,
}

#[derive(Debug)]
pub struct SelectiveRunRequest<'r> {
    pub store: &'r Path,
    /// The folder whose configuration counts.
    pub project: &'r Path,
    /// The folder of the whole project, from which modules are named.
    pub folder: &'r Path,
    /// The command of a build tool; none to run in JVMs like those that were last seen.
    pub build: Option<&'r [String]>,
    /// Whether tests are left out one by one, and not only whole test classes.
    pub by_test: bool,
    /// Whether nothing is left out.
    pub runs_all: bool,
    /// Whether it is kept what test classes use.
    pub collects: bool,
    /// Whether those that were left out are run afterwards, to see whether that was right.
    pub audits: bool,
    /// Whether files, sockets and child processes are watched, unless the configuration forbids it.
    pub is_external_watched: bool,
    /// Whether the command's output comes back as events, or goes straight to our own streams.
    pub captures_output: bool,
}

/// What happens meanwhile.
#[derive(Debug, Clone, Copy)]
pub enum SelectEvent<'e> {
    Watch(WatchEvent<'e>),
    /// The store cannot be used: everything is run, and nothing is kept.
    NoStore(&'e StoreError),
    /// Those that were left out are run now.
    Auditing {
        count: usize,
    },
}

/// What came of it.
#[derive(Debug, Default)]
pub struct SelectivelyRan {
    pub selection: Selection,
    /// Of the test classes that ran.
    pub outcomes: Vec<ClassOutcome>,
    /// Of those that were left out and then run all the same.
    pub audit: Option<Vec<ClassOutcome>>,
    /// What was not right, and is not to be hidden.
    pub warnings: Vec<String>,
    /// Whether this was the first time, and no detection knows what tests leave for each other.
    pub lacks_detection: bool,
    pub seconds: f64,
    pub ending: Option<Ending>,
    pub signal: Option<u8>,
}

/// Settings that say what is watched differently from what is by default: records of the one say nothing of the other.
fn unusual(config: &Config) -> Settings {
    let mut settings = Settings::new();
    if !config.watches_external {
        settings.push(("files and sockets".to_owned(), "not watched".to_owned()));
    }
    if !config.own_ignored_external.is_empty() {
        settings.push(("ignored files and sockets".to_owned(), config.own_ignored_external.join(" ")));
    }
    settings
}

/// What a test class is, with all that is nested in it, that it extends and that it is annotated with: tests of one that is
/// another now may leave something else for each other.
fn shape(code: &mut Code<'_>, class: &str) -> String {
    let mut pending: Vec<String> = code.in_folders().filter(|name| is_within(name, class)).collect();
    let mut seen: BTreeMap<String, u128> = BTreeMap::new();
    while let Some(name) = pending.pop() {
        if !seen.contains_key(&name)
            && let Some(facts) = code.find(&name)
        {
            seen.insert(name, facts.exact);
            pending.extend(facts.related.iter().cloned());
        }
    }
    let mut hasher = ContentHasher::default();
    for (name, exact) in &seen {
        hasher.text(name);
        hasher.bytes(&exact.to_le_bytes());
    }
    hasher.finish().to_string()
}

/// What is known, and what is found out while tests run.
struct Selecting<'s> {
    folder: PathBuf,
    store: Option<Store>,
    cache: &'s RefCell<CodeCache>,
    runs_all: bool,
    collects: bool,
    by_test: bool,
    /// What of the world outside of the heap is watched, where that is not what it is by default.
    watching: Settings,
    /// By class path.
    code: HashMap<Vec<String>, Code<'s>>,
    between: BTreeMap<String, Between>,
    /// By module: its test classes in the order in which they last ran.
    orders: BTreeMap<String, Vec<String>>,
    /// By process: whom it asked about.
    asked: HashMap<u32, BTreeSet<String>>,
    /// By module, process and test class: tests that were left out while the class was not.
    left_out: HashMap<(String, u32), BTreeMap<String, LeftOut>>,
    /// By process: how its build tool chooses among tests.
    filters: HashMap<u32, Settings>,
    selection: Selection,
    /// The numbers of the records for which test classes were left out, and when that was so before.
    used: Vec<(i64, i64)>,
    warnings: Vec<String>,
}

impl<'s> Selecting<'s> {
    fn new(folder: &Path, store: Option<Store>, cache: &'s RefCell<CodeCache>, config: &Config) -> Self {
        let between = store.as_ref().map(between::of).unwrap_or_default();
        let known = store.as_ref().and_then(|store| store.last_launches().ok()).unwrap_or_default();
        Selecting {
            folder: folder.to_path_buf(),
            store,
            cache,
            runs_all: false,
            collects: true,
            by_test: false,
            watching: unusual(config),
            code: HashMap::new(),
            between,
            orders: known.into_iter().map(|last| (last.module, last.classes)).collect(),
            asked: HashMap::new(),
            left_out: HashMap::new(),
            filters: HashMap::new(),
            selection: Selection::default(),
            used: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn module_of(&self, launch: &Launch) -> String {
        module_of(launch, &self.folder)
    }

    /// The code that the JVM runs, and what else decides what its tests come to.
    fn code_of(&mut self, launch: &Launch) -> (&mut Code<'s>, Environment) {
        let path = class_path(launch);
        let (folder, cache) = (&self.folder, self.cache);
        let code = self.code.entry(path.clone()).or_insert_with(|| Code::new(&path, folder, release(launch), cache));
        let environment = Environment::of(launch, code, folder, &self.watching);
        code.outside = Outside::new(launch, folder, is_jvm_property);
        (code, environment)
    }

    /// Which of these are to be run, in a JVM that was started so.
    fn decide(&mut self, launch: &Launch, classes: &[String]) -> Result<Selection, StoreError> {
        let module = self.module_of(launch);
        let Some(store) = self.store.take() else { return Ok(all(&module, classes)) };
        let decided = self.decide_with(&store, &module, launch, classes);
        self.store = Some(store);
        decided
    }

    fn decide_with(
        &mut self,
        store: &Store,
        module: &str,
        launch: &Launch,
        classes: &[String],
    ) -> Result<Selection, StoreError> {
        let records = store.module_records(module)?;
        let between = self.between.get(module).cloned().unwrap_or_default();
        let by_test = self.by_test;
        let (code, environment) = self.code_of(launch);
        let settings = |hash: &str| -> Option<Settings> { store.settings(hash).ok().flatten() };
        let mut decider = Decider {
            module,
            records: &records,
            environment: &environment,
            code,
            settings: &settings,
            needs: &between.needs,
            watched: &between.watched,
            by_test,
            used: Vec::new(),
            left_out: BTreeMap::new(),
        };
        let selection = decider.decide(classes);
        let (used, left_out) = (decider.used, decider.left_out);
        self.used.extend(used);
        self.left_out.entry((module.to_owned(), launch.pid)).or_default().extend(left_out);
        Ok(selection)
    }

    /// Answers a JVM: the classes that it leaves out.
    fn answer(&mut self, launch: &Launch, classes: &[String]) -> Vec<String> {
        let launch = &Launch { filters: filters_of(launch), ..launch.clone() };
        self.filters.insert(launch.pid, launch.filters.clone());
        if !self.asked.contains_key(&launch.pid) {
            // What was found when another JVM asked may have been compiled again since.
            self.code.clear();
        }
        self.asked.entry(launch.pid).or_default().extend(classes.iter().cloned());
        let module = self.module_of(launch);
        let selection = if self.runs_all {
            all(&module, classes)
        } else {
            self.decide(launch, classes).unwrap_or_else(|error| {
                self.warnings.push(format!("everything is run: {error}"));
                all(&module, classes)
            })
        };
        self.note_started(&selection);
        let left_out: Vec<String> = selection.skipped.iter().map(|skipped| skipped.test.clone()).collect();
        self.add(selection);
        left_out
    }

    /// JVMs may ask about a test class more than once.
    fn add(&mut self, selection: Selection) {
        let known = &mut self.selection;
        for selected in selection.selected {
            if !known.selected.iter().any(|it| it.module == selected.module && it.test == selected.test) {
                known.selected.push(selected);
            }
        }
        for skipped in selection.skipped {
            if !known.skipped.iter().any(|it| it.module == skipped.module && it.test == skipped.test) {
                known.skipped.push(skipped);
            }
        }
    }

    fn note_started(&mut self, selection: &Selection) {
        let class = |test: &str| outermost(class_of(test)).to_owned();
        let started: BTreeSet<TestClass> = selection
            .selected
            .iter()
            .map(|selected| match selected.test.contains('#') {
                true => TestClass { module: selected.module.clone(), class: class(&selected.test) },
                false => TestClass { module: selected.module.clone(), class: selected.test.clone() },
            })
            .collect();
        let classes: Vec<TestClass> = started.into_iter().collect();
        if let Some(store) = self.store.as_mut().filter(|_| self.collects)
            && let Err(error) = store.note_started(&classes, now_ms())
        {
            self.warnings.push(format!("what runs now is not remembered: {error}"));
            self.store = None;
        }
    }

    /// Keeps what the test classes of the JVMs used. `like` is the launch that they stand for, if they do.
    fn record(&mut self, traces: &[Trace], like: Option<&LastLaunch>) -> Result<(), StoreError> {
        if !self.collects || self.store.is_none() {
            return Ok(());
        }
        let now = now_ms();
        let mut records: Vec<UseRecord> = Vec::new();
        let mut without_tests: Vec<TestClass> = Vec::new();
        let mut settings: Vec<(String, Settings)> = Vec::new();
        let mut launches: BTreeMap<String, LastLaunch> = BTreeMap::new();
        for trace in traces {
            if trace.tests().next().is_none() && !self.asked.contains_key(&trace.launch.pid) {
                continue;
            }
            let launch = &match like {
                Some(like) => like.launch.clone(),
                None => {
                    let filters = self.filters.get(&trace.launch.pid).cloned().unwrap_or_default();
                    Launch { filters, ..trace.launch.clone() }
                }
            };
            let module = self.module_of(launch);
            let between = self.between.get(&module).cloned().unwrap_or_default();
            let asked = self.asked.get(&trace.launch.pid).cloned().unwrap_or_default();
            let asking = (module.clone(), like.map_or(trace.launch.pid, |like| like.launch.pid));
            let left_out = self.left_out.get(&asking).cloned().unwrap_or_default();
            let by_test = self.by_test;
            let (code, environment) = self.code_of(launch);
            let hash = environment.hash.clone();
            let test_names: Vec<String> = code.in_folders().filter(|name| is_test_name(name)).collect();
            let Recorded { records: found, without_tests: whole } = Recorder {
                trace,
                code,
                module: &module,
                environment: &hash,
                asked: &asked,
                inherits: &between.inherits,
                watched: &between.watched,
                by_test,
                left_out: &left_out,
                now_ms: now,
            }
            .records();
            without_tests.extend(whole.into_iter().map(|class| TestClass { module: module.clone(), class }));
            let last = launches.entry(module.clone()).or_insert_with(|| LastLaunch {
                module,
                launch: launch.clone(),
                classes: like.map(|like| like.classes.clone()).unwrap_or_default(),
                ignored: like.map(|like| like.ignored.clone()).unwrap_or_default(),
            });
            let has_ended = |class: &String| found.iter().any(|record| record.class == *class);
            let ended = found.iter().map(|record| &record.class).filter(|name| !name.contains('#'));
            let all: BTreeSet<String> = last.classes.iter().chain(&asked).chain(ended).cloned().collect();
            let known = self.orders.entry(last.module.clone()).or_default();
            *known = order::ordered(known, &order::ran(trace), all);
            last.classes.clone_from(known);
            if like.is_some() && trace.is_complete {
                // What has no tests when it is run is none.
                let of_module = self.selection.selected.iter().filter(|selected| selected.module == last.module);
                let started: BTreeSet<&String> =
                    of_module.map(|selected| &selected.test).filter(|name| !name.contains('#')).collect();
                let is_none = |class: &String| started.contains(class) && !has_ended(class);
                last.ignored.extend(started.iter().filter(|class| is_none(class)).map(|class| (*class).clone()));
                last.classes.retain(|class| !is_none(class));
            } else if like.is_none() {
                last.ignored = test_names.into_iter().filter(|name| !last.classes.contains(name)).collect();
            }
            settings.push((hash, environment.settings));
            records.extend(found);
        }
        let Some(store) = &mut self.store else { return Ok(()) };
        store.forget_tests(&without_tests)?;
        store.add_uses(&records, &settings)?;
        for last in launches.values() {
            store.note_launch(last, now)?;
        }
        Ok(())
    }

    /// What saves time and room, and is no reason to complain where it cannot be done.
    fn look_after_store(&mut self) {
        let now = now_ms();
        let is_old = |used: &&(i64, i64)| now - used.1 >= DAY_MS;
        let used: Vec<i64> = self.used.iter().filter(is_old).map(|(number, _)| *number).collect();
        if let Some(store) = &mut self.store {
            if self.collects {
                let _ = store.note_used(&used, now);
                let _ = store.tidy(now);
            }
            let _ = store.save_code_cache(&mut self.cache.borrow_mut());
        }
    }
}

/// The folder that holds the store: modules are named from there.
pub fn folder_of(store: &Path) -> PathBuf {
    let folder = store.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

pub(crate) fn module_of(launch: &Launch, folder: &Path) -> String {
    Path::new(&launch.directory)
        .strip_prefix(folder)
        .map_or(&*launch.directory, |path| path.to_str().unwrap_or(""))
        .to_owned()
}

fn class_path(launch: &Launch) -> Vec<String> {
    let directory = Path::new(&launch.directory);
    let modules = module_entries(&launch.arguments);
    // Agents of Java's are found where classes are, behind all others.
    let agents = launch.arguments.iter().filter_map(|argument| argument.strip_prefix("-javaagent:"));
    let agents = agents.map(|agent| agent.split('=').next().unwrap_or(agent));
    let entries = launch.class_path.iter().chain(&modules).map(String::as_str).chain(agents);
    entries.map(|entry| directory.join(entry).to_string_lossy().into_owned()).collect()
}

fn all(module: &str, classes: &[String]) -> Selection {
    let select = |class: &String| Selected {
        module: module.to_owned(),
        test: class.clone(),
        reasons: vec![Reason::new(ReasonKind::Asked, "")],
        last_run_ms: None,
    };
    Selection { selected: classes.iter().map(select).collect(), skipped: Vec::new() }
}

/// What would be run now, from what is compiled. Nothing is written.
pub fn select(request: &SelectRequest<'_>) -> Result<Selection, EngineError> {
    let store = Store::open_to_read(request.store)?;
    let launches = known_launches(&store, request.folder)?;
    if launches.is_empty() {
        return Err(EngineError::NothingRecorded);
    }
    let cache = RefCell::new(store.code_cache());
    let config = Config::load(request.project)?;
    let mut selecting = Selecting::new(request.folder, Some(store), &cache, &config);
    selecting.by_test = request.by_test;
    let mut selection = Selection::default();
    for last in &launches {
        let classes = test_classes(last, &mut selecting);
        let found = selecting.decide(&last.launch, &classes)?;
        selection.selected.extend(found.selected);
        selection.skipped.extend(found.skipped);
    }
    Ok(selection)
}

/// How the tests of each module were last run: selectively, or else watched to detect what depends on what.
fn known_launches(store: &Store, folder: &Path) -> Result<Vec<LastLaunch>, EngineError> {
    let launches = store.last_launches()?;
    if !launches.is_empty() {
        return Ok(launches);
    }
    let detections = match store.latest_run() {
        Ok(run) => run.detections,
        Err(StoreError::Empty { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let of_detection = |detection: Detection| {
        let classes: BTreeSet<String> = detection.units.iter().map(|unit| outermost(unit.class()).to_owned()).collect();
        let module = module_of(&detection.launch, folder);
        LastLaunch { module, launch: detection.launch, classes: classes.into_iter().collect(), ignored: Vec::new() }
    };
    Ok(detections.into_iter().filter(has_tests).map(of_detection).collect())
}

/// The test classes that were last to run and are there still, and those that are new.
fn test_classes(last: &LastLaunch, selecting: &mut Selecting<'_>) -> Vec<String> {
    let (code, _) = selecting.code_of(&last.launch);
    let is_new = |name: &String| is_test_name(name) && !last.classes.contains(name) && !last.ignored.contains(name);
    let mut new: Vec<String> = code.in_folders().filter(is_new).collect();
    new.sort();
    last.classes.iter().filter(|class| code.find(class).is_some()).cloned().chain(new).collect()
}

pub fn run_selectively(
    request: &SelectiveRunRequest<'_>,
    emit: &mut dyn FnMut(SelectEvent<'_>),
) -> Result<SelectivelyRan, EngineError> {
    let mut config = Config::load(request.project)?;
    config.watches_external &= request.is_external_watched;
    listen()?;
    let started = Instant::now();
    if request.build.is_none() && !request.store.exists() {
        return Err(EngineError::NothingRecorded);
    }
    let store = match Store::open_or_create(request.store) {
        Ok(store) => Some(store),
        Err(error) if request.build.is_some() => {
            emit(SelectEvent::NoStore(&error));
            None
        }
        Err(error) => return Err(error.into()),
    };
    let scratch = Scratch::create(request.store)?;
    let cache = RefCell::new(store.as_ref().map(Store::code_cache).unwrap_or_default());
    let is_first = store.as_ref().is_some_and(|store| store.last_launches().is_ok_and(|known| known.is_empty()));
    let mut selecting = Selecting::new(request.folder, store, &cache, &config);
    (selecting.runs_all, selecting.collects, selecting.by_test) = (request.runs_all, request.collects, request.by_test);
    let lacks_detection = is_first && selecting.between.is_empty() && request.collects;
    let mut ran = SelectivelyRan { lacks_detection, ..SelectivelyRan::default() };
    match request.build {
        Some(words) => {
            let watched = run_in_build(request, &config, words, &scratch.path, &mut selecting, emit)?;
            ran.ending = Some(Ending::of(&watched));
            keep(&mut ran, &mut selecting, &watched.traces, None);
        }
        None => run_in_workers(request, &config, &scratch.path, &mut selecting, &mut ran, emit)?,
    }
    ran.seconds = started.elapsed().as_secs_f64();
    if request.audits && stop_signal().is_none() {
        ran.audit = Some(audit(&config, &scratch.path, &mut selecting, emit)?);
    }
    selecting.look_after_store();
    ran.selection = selecting.selection;
    ran.warnings.extend(selecting.warnings);
    ran.signal = stop_signal();
    Ok(ran)
}

fn keep(ran: &mut SelectivelyRan, selecting: &mut Selecting<'_>, traces: &[Trace], like: Option<&LastLaunch>) {
    for (jvm, trace) in traces.iter().filter(|trace| trace.tests().next().is_some()).enumerate() {
        ran.outcomes.extend(outcomes_of(trace, jvm));
    }
    let notes = traces.iter().flat_map(|trace| &trace.notes);
    let limits: BTreeSet<&str> = notes.filter(|note| note.kind == "limit").map(|note| note.text.as_str()).collect();
    ran.warnings.extend(limits.into_iter().map(|limit| format!("what ran now is run again next time: {limit}")));
    if let Err(error) = selecting.record(traces, like) {
        ran.warnings.push(format!("what the tests used was not kept, so that they are run again: {error}"));
    }
}

fn run_in_build(
    request: &SelectiveRunRequest<'_>,
    config: &Config,
    words: &[String],
    folder: &Path,
    selecting: &mut Selecting<'_>,
    emit: &mut dyn FnMut(SelectEvent<'_>),
) -> Result<Watched, EngineError> {
    let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let mut command = Command::new(program);
    command.args(arguments);
    let watching = WatchRequest {
        launcher: Launcher::BuildTool(command),
        config,
        directory: folder,
        timeout: None,
        captures_output: request.captures_output,
        watching: watching(request.by_test),
    };
    let mut answer = |launch: &Launch, classes: &[String]| selecting.answer(launch, classes);
    Ok(watch_and_answer(watching, Some(&mut answer), |event| emit(SelectEvent::Watch(event)))?)
}

fn run_in_workers(
    request: &SelectiveRunRequest<'_>,
    config: &Config,
    folder: &Path,
    selecting: &mut Selecting<'_>,
    ran: &mut SelectivelyRan,
    emit: &mut dyn FnMut(SelectEvent<'_>),
) -> Result<(), EngineError> {
    let launches = selecting.store.as_ref().map(|store| known_launches(store, request.folder)).transpose()?;
    let launches = launches.filter(|launches| !launches.is_empty()).ok_or(EngineError::NothingRecorded)?;
    for (number, last) in launches.iter().enumerate() {
        let classes = test_classes(last, selecting);
        let selection =
            if request.runs_all { all(&last.module, &classes) } else { selecting.decide(&last.launch, &classes)? };
        selecting.note_started(&selection);
        let tests: Vec<String> = selection.selected.iter().map(|selected| selected.test.clone()).collect();
        selecting.add(selection);
        if tests.is_empty() {
            continue;
        }
        let place = folder.join(format!("module-{number}"));
        let watched = run_classes(config, &place, last, tests, request.by_test, emit)?;
        if !watched.traces.iter().any(|trace| trace.tests().next().is_some()) && watched.signal.is_none() {
            let notes = watched.traces.iter().flat_map(|trace| &trace.notes).map(|note| note.text.as_str());
            let reason = notes.chain(["the JVM ended without having run any"]).next().unwrap_or_default().to_owned();
            return Err(EngineError::NothingRan { reason });
        }
        keep(ran, selecting, &watched.traces, Some(last));
        if watched.signal.is_some() {
            break;
        }
    }
    Ok(())
}

fn watching(by_test: bool) -> Watching {
    if by_test { Watching::ToSelectTests } else { Watching::ToSelect }
}

/// Runs classes, or tests of them, in a JVM like the one that was last seen.
fn run_classes(
    config: &Config,
    folder: &Path,
    last: &LastLaunch,
    classes: Vec<String>,
    by_test: bool,
    emit: &mut dyn FnMut(SelectEvent<'_>),
) -> Result<Watched, EngineError> {
    make_folder(folder)?;
    let context = WorkerContext::new(&last.launch, folder)?.for_whole_suites();
    let watching = WatchRequest {
        launcher: Launcher::Jvm(context.watchable(&Schedule::new(classes), folder)?),
        config,
        directory: folder,
        timeout: None,
        captures_output: true,
        watching: watching(by_test),
    };
    Ok(watch(watching, |event| emit(SelectEvent::Watch(event)))?)
}

/// Runs what was left out.
fn audit(
    config: &Config,
    folder: &Path,
    selecting: &mut Selecting<'_>,
    emit: &mut dyn FnMut(SelectEvent<'_>),
) -> Result<Vec<ClassOutcome>, EngineError> {
    emit(SelectEvent::Auditing { count: selecting.selection.skipped.len() });
    let launches = selecting.store.as_ref().map(Store::last_launches).transpose()?.unwrap_or_default();
    let mut outcomes = Vec::new();
    for (number, last) in launches.iter().enumerate() {
        let of_module = |skipped: &&Skipped| skipped.module == last.module;
        let mut tests: Vec<String> =
            selecting.selection.skipped.iter().filter(of_module).map(|skipped| skipped.test.clone()).collect();
        // Build tools ask about them in another order than that in which they run.
        tests.sort_by_key(|test| last.classes.iter().position(|class| class == outermost(class_of(test))));
        if tests.is_empty() || stop_signal().is_some() {
            continue;
        }
        let watched = run_classes(config, &folder.join(format!("audit-{number}")), last, tests, false, emit)?;
        for trace in &watched.traces {
            outcomes.extend(outcomes_of(trace, number));
        }
    }
    Ok(outcomes)
}
