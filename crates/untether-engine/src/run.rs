//! One run in which classes or tests are isolated from each other: inside of a build tool, or in worker JVMs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use untether_analysis::dependencies;
use untether_model::{
    ActorKind, ClassOutcome, DependencyKind, IsolatedRun, IsolationCheck, IsolationDifference, Launch, NotRestored,
    OutcomeStatus, Schedule, Status, TestOutcome, Trace, Unit, UnitKind, Verdict, class_run_of, method_of, outermost,
};
use untether_project::Config;
use untether_runner::{
    Execution, Executor, Launcher, Limits, WatchEvent, WatchRequest, Watching, WholeClass, WorkerContext, World,
    stop_signal, watch,
};
use untether_store::Store;
pub use untether_wire::Isolation;

use crate::detect::{Ending, has_tests};
use crate::error::{EngineError, listen};
use crate::own::detection_of;
use crate::scratch::{Scratch, make_folder};

#[derive(Debug)]
pub struct RunRequest<'r> {
    pub store: &'r Path,
    /// The folder whose configuration counts.
    pub project: &'r Path,
    /// The command of a build tool; none to run the tests of the last detection in JVMs like those that it saw.
    pub build: Option<&'r [String]>,
    pub isolation: Isolation,
    /// The folder whose files are put back as well, besides that for temporary files.
    pub kept_folder: Option<&'r Path>,
    /// Whether each class is also run in a fresh JVM, to compare.
    pub is_checked: bool,
    pub jobs: usize,
    pub test_timeout: Duration,
    /// Whether the command's output comes back as events, or goes straight to our own streams.
    pub captures_output: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Ran {
    pub run: IsolatedRun,
    /// How the build tool ended, where there was one.
    pub ending: Option<Ending>,
    /// The signal by which the user stopped it.
    pub signal: Option<u8>,
}

/// What happens meanwhile.
#[derive(Debug, Clone, Copy)]
pub enum RunEvent<'e> {
    /// Of a build tool.
    Watch(WatchEvent<'e>),
    /// There are so many classes to run.
    Classes { count: usize },
    /// One of them has ended.
    Ended(&'e ClassOutcome),
    /// They are run once more, each in a fresh JVM.
    Checking { count: usize },
}

/// The tests of one JVM, or of those that replaced it.
struct Group {
    launch: Launch,
    classes: Vec<WholeClass>,
    outcomes: Vec<ClassOutcome>,
}

pub fn run(request: &RunRequest<'_>, emit: &mut dyn FnMut(RunEvent<'_>)) -> Result<Ran, EngineError> {
    let mut config = Config::load(request.project)?;
    config.kept_folders.extend(request.kept_folder.map(Path::to_path_buf));
    listen()?;
    let started = Instant::now();
    let scratch = Scratch::create(request.store)?;
    let (mut ran, groups) = match request.build {
        Some(command) => run_in_build(request, &config, command, &scratch.path, emit)?,
        None => run_in_workers(request, &config, &scratch.path, emit)?,
    };
    ran.run.seconds = started.elapsed().as_secs_f64();
    if request.is_checked && stop_signal().is_none() {
        let checking = Checking { request, config: &config, folder: &scratch.path };
        ran.run.check = checking.check(&groups, emit)?;
    }
    ran.signal = stop_signal();
    Ok(ran)
}

// ---- inside of a build tool

fn run_in_build(
    request: &RunRequest<'_>,
    config: &Config,
    words: &[String],
    folder: &Path,
    emit: &mut dyn FnMut(RunEvent<'_>),
) -> Result<(Ran, Vec<Group>), EngineError> {
    let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let mut command = Command::new(program);
    command.args(arguments);
    let watched = watch(
        WatchRequest {
            launcher: Launcher::BuildTool(command),
            config,
            directory: folder,
            timeout: None,
            captures_output: request.captures_output,
            watching: Watching::ToIsolate(request.isolation),
        },
        |event| emit(RunEvent::Watch(event)),
    )?;
    let ending = Ending::of(&watched);
    let mut run = IsolatedRun::default();
    let mut groups = Vec::new();
    for trace in &watched.traces {
        let outcomes = outcomes_of(trace, run.jvms);
        // Of a class whose fixtures fail, no test is seen.
        if outcomes.is_empty() {
            continue;
        }
        run.jvms += 1;
        run.not_restored.extend(trace.not_restored.iter().cloned());
        run.classes.extend(outcomes.iter().cloned());
        let tests = outcomes.iter().flat_map(|class| class.tests.iter().map(|test| (class.class.as_str(), &test.id)));
        let classes = whole_classes(tests, &trace.launch);
        groups.push(Group { launch: trace.launch.clone(), classes, outcomes });
    }
    Ok((Ran { run, ending: Some(ending), signal: None }, groups))
}

/// What the tests of a watched JVM came to, by class.
pub(crate) fn outcomes_of(trace: &Trace, jvm: usize) -> Vec<ClassOutcome> {
    let mut classes: Vec<ClassOutcome> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for actor in &trace.actors {
        let is_test = actor.kind == ActorKind::Test;
        let Some(outcome) = actor.outcome.as_ref().filter(|_| is_test || actor.kind == ActorKind::Class) else {
            continue;
        };
        let class = class_run_of(trace, actor).to_owned();
        let place = *places.entry(class.clone()).or_insert_with(|| {
            classes.push(ClassOutcome { class, jvm, tests: Vec::new(), left_behind: None });
            classes.len() - 1
        });
        let status = match outcome.status {
            OutcomeStatus::Passed => Status::Passed,
            OutcomeStatus::Failed => Status::Failed,
            OutcomeStatus::Aborted => Status::Aborted,
            OutcomeStatus::Skipped => Status::Skipped,
        };
        let verdict = Verdict { status, nanos: outcome.nanos, message: outcome.message.clone() };
        classes[place].tests.push(TestOutcome { id: actor.name.clone(), verdict });
    }
    for NotRestored { class, reason } in &trace.not_restored {
        if let Some(&place) = places.get(class) {
            classes[place].left_behind = Some(reason.clone());
        }
    }
    classes
}

// ---- in worker JVMs

fn run_in_workers(
    request: &RunRequest<'_>,
    config: &Config,
    folder: &Path,
    emit: &mut dyn FnMut(RunEvent<'_>),
) -> Result<(Ran, Vec<Group>), EngineError> {
    let detections = Store::open_to_read(request.store)?.latest_run()?.detections;
    let mut groups: Vec<Group> = Vec::new();
    for detection in detections.into_iter().filter(has_tests) {
        // A class whose fixtures failed has no tests that ran, and may have some when it is isolated.
        let is_run = |unit: &&Unit| unit.kind == UnitKind::Test || unit.outcome.is_some();
        let tests = detection.units.iter().filter(is_run);
        let tests = tests.map(|unit| (outermost(unit.class()), &unit.name));
        let classes = whole_classes(tests, &detection.launch);
        groups.push(Group { launch: detection.launch, classes, outcomes: Vec::new() });
    }
    emit(RunEvent::Classes { count: groups.iter().map(|group| group.classes.len()).sum() });
    let mut run = IsolatedRun { has_replaced: true, ..IsolatedRun::default() };
    for (number, group) in groups.iter_mut().enumerate() {
        let executor = executor(request, config, &group.launch, &folder.join(format!("group-{number}")))?;
        let ended = executor.run_classes(&group.classes, World::PutBack(request.isolation), request.jobs, |class| {
            emit(RunEvent::Ended(class));
        })?;
        let Execution::Ended(mut isolated) = ended else { break };
        isolated.classes.iter_mut().for_each(|class| class.jvm += run.jvms);
        run.jvms += isolated.jvms;
        let reason =
            |class: &ClassOutcome| Some(NotRestored { class: class.class.clone(), reason: class.left_behind.clone()? });
        run.not_restored.extend(isolated.classes.iter().filter_map(reason));
        run.classes.extend(isolated.classes.iter().cloned());
        group.outcomes = isolated.classes;
    }
    if run.classes.is_empty() && stop_signal().is_none() {
        return Err(EngineError::NothingRan { reason: "no class was found again".to_owned() });
    }
    Ok((Ran { run, ending: None, signal: None }, groups))
}

fn executor(
    request: &RunRequest<'_>,
    config: &Config,
    launch: &Launch,
    folder: &Path,
) -> Result<Executor, EngineError> {
    make_folder(folder)?;
    let context = WorkerContext::new(launch, folder)?.for_whole_suites();
    let limits = Limits { per_test: request.test_timeout, deadline: None };
    let mut executor = Executor::new(context, config.clone(), folder, limits);
    executor.start_without(&launch.left_files)?;
    Ok(executor)
}

/// The classes of tests, in their order. Tests that an engine knows by ids only stand in the plan themselves.
fn whole_classes<'t>(tests: impl Iterator<Item = (&'t str, &'t String)>, launch: &Launch) -> Vec<WholeClass> {
    let selected: BTreeSet<&str> = launch.selectors.iter().map(|(test, _)| test.as_str()).collect();
    let mut classes: Vec<WholeClass> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (name, test) in tests {
        let place = *places.entry(name.to_owned()).or_insert_with(|| {
            classes.push(WholeClass::new(name));
            classes.len() - 1
        });
        let method = method_of(test);
        if selected.contains(method) {
            let lines = &mut classes[place].lines;
            lines.retain(|line| line != name && line != method);
            lines.push(method.to_owned());
        }
    }
    classes
}

// ---- compared with a JVM for each class

struct Checking<'c> {
    request: &'c RunRequest<'c>,
    config: &'c Config,
    folder: &'c Path,
}

impl Checking<'_> {
    /// None where it was stopped.
    fn check(
        &self,
        groups: &[Group],
        emit: &mut dyn FnMut(RunEvent<'_>),
    ) -> Result<Option<IsolationCheck>, EngineError> {
        let started = Instant::now();
        emit(RunEvent::Checking { count: groups.iter().map(|group| group.classes.len()).sum() });
        let mut check = IsolationCheck::default();
        for (number, group) in groups.iter().enumerate() {
            let folder = self.folder.join(format!("check-{number}"));
            let executor = executor(self.request, self.config, &group.launch, &folder)?;
            let world = if self.request.kept_folder.is_some() { World::FreshWithFiles } else { World::Fresh };
            let fresh = |classes: &[WholeClass], each: &mut dyn FnMut(&ClassOutcome)| {
                executor.run_classes(classes, world, self.request.jobs, each)
            };
            let Execution::Ended(alone) = fresh(&group.classes, &mut |class| emit(RunEvent::Ended(class)))? else {
                return Ok(None);
            };
            check.jvms += alone.jvms;
            let mut differences = Vec::new();
            for class in &alone.classes {
                let isolated = group.outcomes.iter().find(|other| other.class == class.class);
                if class.tests.iter().all(|test| test.verdict.status == Status::Missing) {
                    // It cannot be run by itself: another class makes its tests.
                    continue;
                }
                check.compared += class.tests.len();
                let found = differing(isolated, class);
                if !found.is_empty() {
                    differences.push((class.class.clone(), found));
                }
            }
            let is_suspect = |class: &&WholeClass| differences.iter().any(|(name, _)| *name == class.name);
            let suspects: Vec<WholeClass> = group.classes.iter().filter(is_suspect).cloned().collect();
            if !suspects.is_empty() {
                let Execution::Ended(again) = fresh(&suspects, &mut |_| {})? else { return Ok(None) };
                check.jvms += again.jvms;
                for (class, found) in &mut differences {
                    mark_varying(found, again.classes.iter().find(|it| it.class == *class));
                    if !found.iter().all(|it| it.varies) && stop_signal().is_none() {
                        let left = self.left_behind(group, class, &folder)?;
                        found.iter_mut().for_each(|it| it.left_behind.clone_from(&left));
                    }
                }
            }
            check.differences.extend(differences.into_iter().flat_map(|(_, found)| found));
        }
        check.seconds = started.elapsed().as_secs_f64();
        Ok(Some(check))
    }

    /// Runs what came before the class in its JVM once more, and looks at what the class reads of it.
    fn left_behind(&self, group: &Group, class: &str, folder: &Path) -> Result<Vec<String>, EngineError> {
        let Some(jvm) = group.outcomes.iter().find(|it| it.class == class).map(|it| it.jvm) else {
            return Ok(Vec::new());
        };
        let before = group.outcomes.iter().take_while(|it| it.class != class).filter(|it| it.jvm == jvm);
        let names: BTreeSet<&str> = before.map(|it| it.class.as_str()).chain([class]).collect();
        let is_meant = |it: &&WholeClass| names.contains(it.name.as_str());
        let tests: Vec<String> = group.classes.iter().filter(is_meant).flat_map(|it| it.lines.clone()).collect();
        let traces = folder.join(format!("left-{class}"));
        make_folder(&traces)?;
        let context = WorkerContext::new(&group.launch, &traces)?;
        let watched = watch(
            WatchRequest {
                launcher: Launcher::Jvm(context.watchable(&Schedule::new(tests), &traces)?),
                config: self.config,
                directory: &traces,
                timeout: None,
                captures_output: true,
                watching: Watching::ToCheckIsolation(self.request.isolation),
            },
            |_| {},
        )?;
        let in_class = |unit: &Unit| outermost(unit.class()) == outermost(class);
        let mut left: BTreeSet<String> = BTreeSet::new();
        for detection in watched.traces.iter().map(detection_of) {
            for found in dependencies(&detection, &[DependencyKind::Data], |unit| !in_class(unit), in_class) {
                if in_class(detection.unit(found.to)) {
                    left.insert(detection.resource(found.resource).name.clone());
                }
            }
        }
        Ok(left.into_iter().collect())
    }
}

/// The worst of a test's invocations counts: their names may hold what differs from run to run.
fn by_method(class: &ClassOutcome) -> BTreeMap<&str, &Verdict> {
    let mut found: BTreeMap<&str, &Verdict> = BTreeMap::new();
    for test in &class.tests {
        let verdict = found.entry(method_of(&test.id)).or_insert(&test.verdict);
        if test.verdict.status > verdict.status {
            *verdict = &test.verdict;
        }
    }
    found
}

fn differing(isolated: Option<&ClassOutcome>, alone: &ClassOutcome) -> Vec<IsolationDifference> {
    let isolated = isolated.map(by_method).unwrap_or_default();
    let alone = by_method(alone);
    let tests: BTreeSet<&str> = isolated.keys().chain(alone.keys()).copied().collect();
    tests
        .into_iter()
        .filter(|test| isolated.get(test).map(|it| it.status) != alone.get(test).map(|it| it.status))
        .map(|test| IsolationDifference {
            test: test.to_owned(),
            isolated: isolated.get(test).map(|&it| it.clone()),
            alone: alone.get(test).map(|&it| it.clone()),
            varies: false,
            left_behind: Vec::new(),
        })
        .collect()
}

/// What differs between two fresh JVMs as well says nothing about isolation.
fn mark_varying(differences: &mut [IsolationDifference], again: Option<&ClassOutcome>) {
    let again = again.map(by_method).unwrap_or_default();
    for difference in differences {
        let status = again.get(difference.test.as_str()).map(|it| it.status);
        difference.varies = status != difference.alone.as_ref().map(|it| it.status);
    }
}

#[cfg(test)]
mod tests {
    use untether_model::class_of;

    use super::*;

    fn class(tests: &[(&str, Status)]) -> ClassOutcome {
        let verdict = |status| Verdict { status, nanos: 0, message: String::new() };
        let tests = tests.iter().map(|&(id, status)| TestOutcome { id: id.to_owned(), verdict: verdict(status) });
        ClassOutcome { class: "A".to_owned(), jvm: 0, tests: tests.collect(), left_behind: None }
    }

    #[test]
    fn the_worst_invocation_of_a_test_is_compared() {
        let isolated = class(&[("A#m[1]", Status::Passed), ("A#m[2]", Status::Failed), ("A#n", Status::Passed)]);
        let alone = class(&[("A#m[1]", Status::Failed), ("A#m[2]", Status::Passed), ("A#n", Status::Failed)]);
        let found = differing(Some(&isolated), &alone);
        assert_eq!(found.iter().map(|it| it.test.as_str()).collect::<Vec<_>>(), ["A#n"]);
    }

    #[test]
    fn a_test_that_only_ran_once_differs() {
        let found = differing(Some(&class(&[])), &class(&[("A#m", Status::Passed)]));
        assert_eq!((found.len(), found[0].isolated.is_none(), found[0].varies), (1, true, false));
        let mut again = found;
        mark_varying(&mut again, Some(&class(&[("A#m", Status::Failed)])));
        assert!(again[0].varies);
    }

    #[test]
    fn tests_with_ids_stand_in_the_plan_themselves() {
        let launch = Launch { selectors: vec![("f#one".into(), "[engine:x]/[f:one]".into())], ..Launch::default() };
        let tests = ["A#m", "f#one[1]", "f#one[2]", "A$B#n"].map(str::to_owned);
        let classes = whole_classes(tests.iter().map(|test| (outermost(class_of(test)), test)), &launch);
        assert_eq!(classes.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["A", "f"]);
        assert_eq!((&classes[0].lines, &classes[1].lines), (&vec!["A".to_owned()], &vec!["f#one".to_owned()]));
    }
}
