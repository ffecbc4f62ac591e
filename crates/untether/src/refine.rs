//! `untether refine`: run what analysis proposes, remember it, and sum up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressStyle};
use untether_analysis::refine::{self, Evidence, Oracle, Phase, Request, Stopped};
use untether_model::{
    Cost, Detection, Finding, Launch, Observation, OutcomeStatus, Schedule, Status, UnitKind, class_of,
};
use untether_project::{Config, Fingerprints};
use untether_runner::{Execution, Executor, Launcher, Limits, RunnerError, WatchRequest, WorkerContext, watch};
use untether_store::{Store, StoredRefinement};

use crate::arguments::{FailOn, Format, RefineArguments};
use crate::deps::check_name;
use crate::error::Error;
use crate::scratch::Scratch;
use crate::{findings, view};

pub(crate) fn run(store_path: &Path, request: &RefineArguments) -> Result<u8, Error> {
    let mut store = Store::open(store_path)?;
    let run = store.latest_run()?;
    for test in &request.test {
        check_name(&run, test)?;
    }
    let scratch = Scratch::create(store_path)?;
    let started = Instant::now();
    let earlier = store.refinements()?;
    if request.fresh {
        store.forget_observations()?;
    }
    // What a weaker search did not find may be there all the same.
    let strategy = request.strategy.to_string();
    let is_as_good =
        |known: &&StoredRefinement| known.is_complete && (known.strategy == "guided" || known.strategy == strategy);
    let baseline = earlier.iter().find(is_as_good);
    // One that was cut short is gone on with: its observations are kept, but not what it had already done.
    let previous = earlier.first().filter(is_as_good).filter(|_| !request.fresh);
    let mut result = StoredRefinement {
        started_ms: now_ms(),
        strategy: strategy.clone(),
        is_complete: true,
        ..StoredRefinement::default()
    };
    let mut display = Display::new(request.quiet);
    let mut outcome = Ok(());
    for (number, detection) in run.detections.iter().enumerate() {
        if !detection.units.iter().any(|unit| unit.kind == UnitKind::Test) {
            continue;
        }
        let folder = scratch.path.join(format!("jvm-{number}"));
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::Failed(format!("cannot create {}: {error}", folder.display())))?;
        let stopped =
            refine_jvm(&mut store, request, detection, &folder, previous, started, &mut result, &mut display)?;
        match stopped {
            None => {}
            Some(Stopped::OutOfTime) => result.is_complete = false,
            Some(Stopped::Failed(message)) => {
                result.is_complete = false;
                outcome = Err(Error::Failed(message));
                break;
            }
        }
    }
    display.finish();
    result.findings.sort_by(|a, b| findings::order(a).cmp(&findings::order(b)));
    result.seconds = started.elapsed().as_secs_f64();
    // What failed as new stays new until a refinement without that check accepts it.
    let known: BTreeSet<&str> = baseline
        .map(|last| {
            let is_accepted = |finding: &&Finding| !last.rejected.contains(&finding.id);
            last.findings.iter().filter(is_accepted).map(|finding| finding.id.as_str()).collect()
        })
        .unwrap_or_default();
    let new: BTreeSet<String> =
        result.findings.iter().map(|finding| finding.id.clone()).filter(|id| !known.contains(id.as_str())).collect();
    if request.fail_on == Some(FailOn::New) {
        result.rejected = new.iter().cloned().collect();
    }
    // What was asked for some tests only says nothing about the others.
    if request.test.is_empty() {
        let mut stored = result.clone();
        if !result.is_complete
            && let Some(last) = earlier.first()
        {
            keep_what_was_not_reached(&mut stored, last);
        }
        store.add_refinement(&stored)?;
    } else if result.is_complete {
        merge_into_latest(&mut store, &earlier, &result)?;
    }
    outcome?;
    match request.format {
        Format::Json => findings::print_json(&result)?,
        Format::Table | Format::Dot => {
            findings::print_table(&result.findings, baseline.map(|_| &new));
            sum_up(&result, request.budget);
        }
    }
    Ok(match request.fail_on {
        Some(FailOn::Any) if !result.findings.is_empty() => 1,
        Some(FailOn::New) if !new.is_empty() => 1,
        _ => 0,
    })
}

/// A refinement that was cut short takes nothing back.
fn keep_what_was_not_reached(result: &mut StoredRefinement, last: &StoredRefinement) {
    let offset = result.launches.len();
    result.launches.extend(last.launches.iter().cloned());
    for finding in &last.findings {
        if !result.findings.iter().any(|known| known.id == finding.id) {
            if let Some(&launch) = last.launch_of.get(&finding.id) {
                result.launch_of.insert(finding.id.clone(), launch + offset);
            }
            result.findings.push(finding.clone());
        }
    }
    result.fingerprints.clone_from(&last.fingerprints);
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

/// Replaces the findings about the tests that were looked at.
fn merge_into_latest(store: &mut Store, earlier: &[StoredRefinement], result: &StoredRefinement) -> Result<(), Error> {
    let Some(last) = earlier.first() else {
        store.add_refinement(&StoredRefinement { is_complete: false, ..result.clone() })?;
        return Ok(());
    };
    let looked_at: BTreeSet<&String> = result.fingerprints.keys().collect();
    let mut merged = last.clone();
    merged.started_ms = result.started_ms;
    merged.findings.retain(|finding| !looked_at.contains(&finding.test));
    let offset = merged.launches.len();
    merged.launches.extend(result.launches.iter().cloned());
    for finding in &result.findings {
        merged.findings.push(finding.clone());
        if let Some(&launch) = result.launch_of.get(&finding.id) {
            merged.launch_of.insert(finding.id.clone(), launch + offset);
        }
    }
    merged.fingerprints.extend(result.fingerprints.clone());
    store.add_refinement(&merged)?;
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "one JVM's share of the command, called at one place")]
fn refine_jvm(
    store: &mut Store,
    request: &RefineArguments,
    detection: &Detection,
    folder: &Path,
    previous: Option<&StoredRefinement>,
    started: Instant,
    result: &mut StoredRefinement,
    display: &mut Display,
) -> Result<Option<Stopped>, Error> {
    let context = WorkerContext::new(&detection.launch, folder)?;
    let fingerprints = Fingerprints::read(context.class_path());
    let evidence = Evidence::new(detection);
    let of_class: HashMap<&str, String> = evidence
        .tests()
        .iter()
        .map(|test| class_of(test))
        .collect::<BTreeSet<&str>>()
        .into_iter()
        .map(|class| (class, fingerprints.of(class)))
        .collect();
    let asked: Option<BTreeSet<String>> = (!request.test.is_empty()).then(|| {
        let is_asked = |test: &&String| request.test.iter().any(|given| view::is_named(test, given));
        evidence.tests().iter().filter(is_asked).cloned().collect()
    });
    let targets = match (&asked, previous) {
        (Some(asked), _) => Some(asked.clone()),
        (None, Some(previous)) => changed(&evidence, &of_class, previous),
        (None, None) => None,
    };
    for test in evidence.tests() {
        if asked.as_ref().is_none_or(|asked| asked.contains(test)) {
            result.fingerprints.insert(test.clone(), fingerprint(&evidence, &of_class, test));
        }
    }
    let launch = result.launches.len();
    result.launches.push(detection.launch.clone());
    // Findings about tests that are not looked at again hold on.
    if let (Some(targets), Some(previous), None) = (&targets, previous, &asked) {
        let names: BTreeSet<&String> = evidence.tests().iter().collect();
        for finding in &previous.findings {
            if names.contains(&finding.test) && !targets.contains(&finding.test) {
                result.launch_of.insert(finding.id.clone(), launch);
                result.findings.push(finding.clone());
            }
        }
        for (known, kept) in [
            (&previous.nondeterministic, &mut result.nondeterministic),
            (&previous.unconfirmed, &mut result.unconfirmed),
        ] {
            kept.extend(known.iter().filter(|test| names.contains(test) && !targets.contains(*test)).cloned());
        }
        if targets.is_empty() {
            return Ok(None);
        }
    }
    let limits = Limits { per_test: request.test_timeout, deadline: request.budget.map(|budget| started + budget) };
    let jobs = request.jobs.map_or_else(|| thread::available_parallelism().map_or(2, usize::from), usize::from);
    let mut oracle = Jvms {
        executor: Executor::new(context, folder, limits),
        store,
        jobs,
        launch_key: key(&(
            &detection.launch.java,
            &detection.launch.directory,
            &detection.launch.class_path,
            &detection.launch.arguments,
            request.test_timeout,
        )),
        of_class,
        occurrences: HashMap::new(),
        cost: Cost::default(),
        display,
    };
    let asked_for =
        Request { strategy: request.strategy.clone(), reference_runs: request.reference_runs.into(), targets };
    let refinement = refine::refine(&evidence, &asked_for, &mut oracle);
    let cost = oracle.cost;
    result.cost.executions += cost.executions;
    result.cost.jvm_starts += cost.jvm_starts;
    result.cost.schedules += cost.schedules;
    for mut finding in refinement.findings {
        let has_time = limits.deadline.is_none_or(|deadline| Instant::now() < deadline);
        if finding.resources.is_empty() && has_time {
            // The finding holds, whether it can be named or not.
            let _ = name_channels(&mut finding, &detection.launch, folder, request.test_timeout);
        }
        result.launch_of.insert(finding.id.clone(), launch);
        result.findings.push(finding);
    }
    result.differing.extend(differing(detection, &refinement.reference));
    result.nondeterministic.extend(refinement.nondeterministic);
    result.unconfirmed.extend(refinement.unconfirmed);
    Ok(refinement.stopped)
}

/// Tests that passed when they were watched and do not in a worker: the worker lacks something.
fn differing(detection: &Detection, reference: &[(String, Status)]) -> Vec<String> {
    let mut is_passed: HashMap<&str, bool> = HashMap::new();
    for unit in detection.units.iter().filter(|unit| unit.kind == UnitKind::Test) {
        let passed = unit.outcome.as_ref().is_some_and(|outcome| outcome.status == OutcomeStatus::Passed);
        *is_passed.entry(refine::method_of(&unit.name)).or_insert(true) &= passed;
    }
    reference
        .iter()
        .filter(|(test, status)| *status != Status::Passed && is_passed.get(test.as_str()) == Some(&true))
        .map(|(test, _)| test.clone())
        .collect()
}

/// In the original order the tests did not touch each other: the proof itself is watched to see where they do.
fn name_channels(finding: &mut Finding, launch: &Launch, folder: &Path, per_test: Duration) -> Result<(), Error> {
    let folder = folder.join(&finding.id);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::Failed(format!("cannot create {}: {error}", folder.display())))?;
    let others = if finding.setters.is_empty() { &finding.polluters } else { &finding.setters };
    let mut tests = others.clone();
    tests.push(finding.test.clone());
    let timeout = per_test * tests.len() as u32;
    let command = WorkerContext::new(launch, &folder)?.watchable(&Schedule::new(tests), &folder)?;
    let config = Config::load(Path::new("."))?;
    let watched = watch(
        WatchRequest {
            launcher: Launcher::Jvm(command),
            config: &config,
            directory: &folder,
            timeout: Some(timeout),
            captures_output: true,
        },
        |_, _| {},
    )?;
    for trace in &watched.traces {
        let detection = untether_analysis::detect(trace);
        finding.resources = Evidence::new(&detection).channels_named(others, &finding.test);
        if !finding.resources.is_empty() {
            break;
        }
    }
    Ok(())
}

/// The tests whose classes, or whose writers' classes, have changed; all where most have.
fn changed(
    evidence: &Evidence<'_>,
    of_class: &HashMap<&str, String>,
    previous: &StoredRefinement,
) -> Option<BTreeSet<String>> {
    let names: BTreeSet<&str> = evidence.tests().iter().map(String::as_str).collect();
    let is_class_changed = |test: &str| {
        let before = previous.fingerprints.get(test).and_then(|fingerprint| fingerprint.split('-').next());
        before != of_class.get(class_of(test)).map(String::as_str)
    };
    let is_outdated = |test: &str| {
        let about = previous.findings.iter().filter(|finding| finding.test == test);
        about
            .flat_map(|f| f.setters.iter().chain(&f.polluters).chain(&f.cleaners))
            .any(|other| !names.contains(other.as_str()) || is_class_changed(other))
    };
    let found: BTreeSet<String> = evidence
        .tests()
        .iter()
        .filter(|test| {
            previous.fingerprints.get(*test) != Some(&fingerprint(evidence, of_class, test))
                || evidence.writers_named(test).iter().any(|writer| is_class_changed(writer))
                || is_outdated(test)
        })
        .cloned()
        .collect();
    (found.len() < evidence.tests().len()).then_some(found)
}

/// What a test's classes look like, and who writes what it reads.
fn fingerprint(evidence: &Evidence<'_>, of_class: &HashMap<&str, String>, test: &str) -> String {
    let class = of_class.get(class_of(test)).map_or("", String::as_str);
    format!("{class}-{:016x}", key(&evidence.writers_named(test)))
}

fn key(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Runs schedules in worker JVMs, several at a time, and remembers what they came to.
struct Jvms<'j> {
    executor: Executor,
    store: &'j mut Store,
    jobs: usize,
    launch_key: u64,
    of_class: HashMap<&'j str, String>,
    /// How often each schedule has been asked for in this refinement.
    occurrences: HashMap<String, usize>,
    cost: Cost,
    display: &'j mut Display,
}

impl Jvms<'_> {
    /// The schedule with everything that decides what it comes to.
    fn key(&self, schedule: &Schedule) -> String {
        let classes: BTreeMap<&str, &str> = schedule
            .tests
            .iter()
            .map(|test| class_of(test))
            .map(|class| (class, self.of_class.get(class).map_or("", String::as_str)))
            .collect();
        format!("{:016x}", key(&(self.launch_key, schedule, classes)))
    }
}

impl Oracle for Jvms<'_> {
    fn run(&mut self, schedules: &[Schedule]) -> Result<Vec<Observation>, Stopped> {
        let failed = |message: String| Stopped::Failed(message);
        let mut found: Vec<Option<Observation>> = vec![None; schedules.len()];
        let mut keys = Vec::with_capacity(schedules.len());
        for (number, schedule) in schedules.iter().enumerate() {
            let key = self.key(schedule);
            let occurrence = self.occurrences.entry(key.clone()).or_default();
            *occurrence += 1;
            found[number] = self.store.observation(&key, *occurrence).map_err(|e| failed(e.to_string()))?;
            keys.push((key, *occurrence));
        }
        let todo: Vec<usize> = (0..schedules.len()).filter(|&number| found[number].is_none()).collect();
        let next = AtomicUsize::new(0);
        let (sender, receiver) = std::sync::mpsc::channel::<(usize, Result<Execution, RunnerError>)>();
        let mut stopped = None;
        let (executor, todo_list, counter) = (&self.executor, &todo, &next);
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(todo.len()) {
                let sender = sender.clone();
                scope.spawn(move || {
                    while let Some(&number) = todo_list.get(counter.fetch_add(1, Ordering::Relaxed)) {
                        if sender.send((number, executor.execute(&schedules[number]))).is_err() {
                            return;
                        }
                    }
                });
            }
            // Ends when the last thread has.
            drop(sender);
            while let Ok((number, execution)) = receiver.recv() {
                match execution {
                    Ok(Execution::Ended(observation)) => {
                        let (key, occurrence) = &keys[number];
                        if let Err(error) = self.store.add_observation(key, *occurrence, &observation, now_ms()) {
                            stopped = Some(failed(error.to_string()));
                        }
                        self.display.ran(schedules[number].tests.len());
                        found[number] = Some(observation);
                    }
                    Ok(Execution::OutOfTime) => stopped = Some(Stopped::OutOfTime),
                    Err(error) => stopped = Some(failed(error.to_string())),
                }
                if stopped.is_some() {
                    next.store(todo.len(), Ordering::Relaxed);
                }
            }
        });
        for number in todo {
            if let Some(observation) = &found[number] {
                self.cost.executions += schedules[number].tests.len();
                self.cost.jvm_starts += observation.jvms;
                self.cost.schedules += 1;
            }
        }
        match stopped {
            Some(stopped) => Err(stopped),
            None => Ok(found.into_iter().flatten().collect()),
        }
    }

    fn progress(&mut self, phase: Phase) {
        self.display.phase(phase);
    }
}

/// Progress: one live line on a terminal, a plain line now and then elsewhere.
struct Display {
    bar: Option<ProgressBar>,
    is_quiet: bool,
    started: Instant,
    last_plain: Instant,
    executions: usize,
    schedules: usize,
    phase: Phase,
}

const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

impl Display {
    fn new(is_quiet: bool) -> Self {
        let bar = (!is_quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let now = Instant::now();
        Display { bar, is_quiet, started: now, last_plain: now, executions: 0, schedules: 0, phase: Phase::Reference }
    }

    fn phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.show();
    }

    fn ran(&mut self, tests: usize) {
        self.executions += tests;
        self.schedules += 1;
        self.show();
    }

    fn show(&mut self) {
        let phase = match self.phase {
            Phase::Reference => "running the original order".to_owned(),
            Phase::Searching { left: 0 } => "trying other orders".to_owned(),
            Phase::Searching { left } => format!("trying other orders, about {left} more"),
            Phase::Explaining { left } => format!("explaining what differs, {left} tests left"),
        };
        let text = format!("{phase} ({} schedules, {} test executions)", self.schedules, self.executions);
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if !self.is_quiet && self.last_plain.elapsed() >= PLAIN_INTERVAL {
            self.last_plain = Instant::now();
            eprintln!("untether: {} s, {text}", self.started.elapsed().as_secs());
        }
    }

    fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn sum_up(result: &StoredRefinement, budget: Option<Duration>) {
    let tests: BTreeSet<&String> = result.findings.iter().map(|finding: &Finding| &finding.test).collect();
    eprintln!();
    eprintln!(
        "untether: {} in {}; {} test executions in {} JVMs, {:.1} s ({})",
        findings::count(result.findings.len(), "manifest dependency", "manifest dependencies"),
        findings::count(tests.len(), "test", "tests"),
        result.cost.executions,
        result.cost.jvm_starts,
        result.seconds,
        result.strategy,
    );
    for (names, text) in [
        (&result.differing, "passed when watched, but not in a JVM started alike"),
        (&result.nondeterministic, "came to different outcomes in the same order and cannot be judged"),
        (&result.unconfirmed, "came to something else in another order, but not when that was tried again"),
    ] {
        if !names.is_empty() {
            let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
            let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
            let count = findings::count(names.len(), "test", "tests");
            eprintln!("untether: note: {count} {text}: {}{more}", shown.join(", "));
        }
    }
    if !result.is_complete
        && let Some(budget) = budget
    {
        eprintln!("untether: stopped after {} s as asked; 'untether refine' goes on from here", budget.as_secs());
    }
    if let Some(finding) = result.findings.first() {
        eprintln!(
            "untether: next: 'untether replay {}' shows a proof, 'untether deps --kind manifest' lists all",
            finding.id
        );
    }
}
