//! `untether refine`: run what analysis proposes, remember it, and sum up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use untether_analysis::refine::{self, Evidence, Fingerprinted, Request, Stopped, arrange};
use untether_model::{
    Certainty, Channel, Cost, Coverage, Detection, Finding, Launch, Schedule, Share, Status, UnitKind, method_of,
};
use untether_project::{Config, Fingerprints};
use untether_runner::{Executor, Launcher, Limits, WatchRequest, Watching, WorkerContext, stop_signal, watch};
use untether_store::{Store, StoredRefinement};

use crate::arguments::{FailOn, Format, RefineArguments};
use crate::deps::check_name;
use crate::detect::with_own_classes;
use crate::error::Error;
use crate::jvms::{Jvms, key, now_ms};
use crate::progress::RefineDisplay;
use crate::scratch::Scratch;
use crate::{findings, place, view};

pub(crate) fn run(store_path: &Path, request: &RefineArguments) -> Result<u8, Error> {
    let mut store = Store::open(store_path)?;
    Error::listen()?;
    let run = store.latest_run()?;
    for test in &request.test {
        check_name(&run, test)?;
    }
    let scratch = Scratch::create(store_path)?;
    let project = place::project_of(store_path);
    let started = Instant::now();
    let earlier = store.refinements()?;
    if request.fresh {
        store.forget_observations()?;
        if request.test.is_empty() {
            store.outdate_refinements()?;
        }
    }
    // What a weaker search did not find may be there all the same.
    let strategy = request.strategy.to_string();
    let baseline = earlier.iter().find(|known| known.covers(&strategy));
    // One that was cut short is gone on with: the same tests are looked at, and what they came to is remembered.
    let previous = earlier.iter().find(|known| known.is_complete && known.covers(&strategy)).filter(|_| !request.fresh);
    let mut result = StoredRefinement::begun(now_ms(), strategy.clone());
    let mut display = RefineDisplay::new(request.quiet);
    let mut outcome = Ok(());
    // JVMs in which something, and JVMs in which nothing could be run; and why.
    let (mut runnable, mut unrunnable) = (0, None);
    for (number, detection) in run.detections.iter().enumerate() {
        if !detection.units.iter().any(|unit| unit.kind == UnitKind::Test) {
            continue;
        }
        let folder = scratch.path.join(format!("jvm-{number}"));
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::Failed(format!("cannot create {}: {error}", folder.display())))?;
        let stopped =
            refine_jvm(&mut store, request, detection, &folder, project, previous, started, &mut result, &mut display)?;
        runnable += usize::from(!matches!(stopped, Some(Stopped::NothingRan(_))));
        match stopped {
            None => {}
            Some(Stopped::OutOfTime) => result.is_complete = false,
            Some(Stopped::NothingRan(reason)) => unrunnable = Some(reason),
            Some(Stopped::Failed(message)) => {
                result.is_complete = false;
                outcome = Err(Error::Failed(message));
                break;
            }
        }
    }
    display.finish();
    if let (0, Some(reason)) = (runnable, unrunnable) {
        return Err(Error::Failed(format!(
            "none of the tests could be run ({reason}); if the project was cleaned or has changed, build it and run \
             'untether detect' again"
        )));
    }
    if !request.test.is_empty() && result.fingerprints.is_empty() && outcome.is_ok() {
        return Err(Error::Usage(format!("{} is not a test that can be run by itself", request.test.join(", "))));
    }
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
    let mut stored = result.clone();
    match earlier.first() {
        Some(last) if !request.test.is_empty() => stored = last.updated_by(&result),
        Some(last) if !result.is_complete => {
            stored = last.updated_by(&result);
            stored.is_complete = false;
            stored.strategy.clone_from(&result.strategy);
        }
        _ => stored.is_complete &= request.test.is_empty(),
    }
    store.add_refinement(&stored)?;
    outcome?;
    match request.format {
        Format::Json => findings::print_json(&result)?,
        Format::Table => {
            if result.findings.is_empty() && !result.is_complete {
                println!("nothing was found before the time was over");
            } else {
                findings::print_table(&result, baseline.map(|_| &new));
            }
            if !request.quiet {
                let is_gone = |finding: &&Finding| !result.findings.iter().any(|found| found.id == finding.id);
                let gone = baseline.filter(|_| result.is_complete && request.test.is_empty());
                let gone = gone.map(|last| last.findings.iter().filter(is_gone).collect()).unwrap_or_default();
                sum_up(&result, gone, display.known(), request.budget);
            }
        }
    }
    if let Some(signal) = stop_signal().filter(|_| !result.is_complete) {
        let message =
            "interrupted; what was found until then was stored, and 'untether refine' goes on from here".to_owned();
        return Err(Error::Interrupted { signal, message });
    }
    Ok(match request.fail_on {
        Some(FailOn::Any) if !result.findings.is_empty() => 1,
        Some(FailOn::New) if !new.is_empty() => 1,
        _ => 0,
    })
}

#[expect(clippy::too_many_arguments, reason = "one JVM's share of the command, called at one place")]
fn refine_jvm(
    store: &mut Store,
    request: &RefineArguments,
    detection: &Detection,
    folder: &Path,
    project: &Path,
    previous: Option<&StoredRefinement>,
    started: Instant,
    result: &mut StoredRefinement,
    display: &mut RefineDisplay,
) -> Result<Option<Stopped>, Error> {
    let context = WorkerContext::new(&detection.launch, folder)?;
    let fingerprints = Fingerprints::read(&context.code());
    let evidence = Evidence::new(detection);
    // What a test comes to also depends on the JVM.
    let jvm = key(|hasher| {
        hasher.text(&detection.launch.java_version);
        hasher.texts(context.settings());
    });
    let fingerprinted = Fingerprinted::new(&evidence, |class| format!("{jvm}{}", fingerprints.of(class)));
    let asked: Option<BTreeSet<String>> = (!request.test.is_empty()).then(|| {
        // Invocations of a method run together.
        let is_asked = |test: &&String| request.test.iter().any(|given| view::is_named(test, method_of(given)));
        evidence.tests().iter().filter(is_asked).cloned().collect()
    });
    let targets = match (&asked, previous) {
        (Some(asked), _) => Some(asked.clone()),
        (None, Some(previous)) => fingerprinted.outdated(&previous.fingerprints, &previous.findings),
        (None, None) => None,
    };
    for test in evidence.tests() {
        if asked.as_ref().is_none_or(|asked| asked.contains(test)) {
            result.fingerprints.insert(test.clone(), fingerprinted.of_test(test));
        }
    }
    // Findings about tests that are not looked at again hold on.
    if let (Some(targets), Some(previous), None) = (&targets, previous, &asked) {
        let names: BTreeSet<&String> = evidence.tests().iter().collect();
        let is_kept = |finding: &&Finding| names.contains(&finding.test) && !targets.contains(&finding.test);
        for finding in previous.findings.iter().filter(is_kept) {
            result.add_finding(finding.clone(), &detection.launch);
        }
        for (known, kept) in [
            (&previous.nondeterministic, &mut result.nondeterministic),
            (&previous.unconfirmed, &mut result.unconfirmed),
            (&previous.timed_out, &mut result.timed_out),
            (&previous.failing, &mut result.failing),
            (&previous.differing, &mut result.differing),
        ] {
            kept.extend(known.iter().filter(|test| names.contains(test) && !targets.contains(*test)).cloned());
        }
        result.unrunnable.clone_from(&previous.unrunnable);
    }
    if targets.as_ref().is_some_and(BTreeSet::is_empty) {
        return Ok(None);
    }
    let limits = Limits { per_test: request.test_timeout, deadline: request.budget.map(|budget| started + budget) };
    let config = Config::load(project)?;
    let jobs = request.jobs.map_or_else(|| thread::available_parallelism().map_or(2, usize::from), usize::from);
    let mut executor = Executor::new(context, config.clone(), folder, limits);
    executor.start_without(&detection.launch.left_files)?;
    let mut oracle = Jvms {
        executor,
        store,
        jobs,
        launch_key: key(|hasher| {
            hasher.text(&detection.launch.directory);
            hasher.texts(&detection.launch.class_path);
            hasher.texts(&detection.launch.left_files);
            hasher.number(request.test_timeout.as_secs());
        }),
        fingerprinted: &fingerprinted,
        occurrences: HashMap::new(),
        obstacle: None,
        tried: 0,
        has_budget: request.budget.is_some(),
        cost: Cost::default(),
        unrunnable: BTreeMap::new(),
        display,
    };
    let scope = detection.launch.directory.clone();
    let asked_for =
        Request { strategy: request.strategy.clone(), reference_runs: request.reference_runs.into(), targets, scope };
    let refinement = refine::refine(&evidence, &asked_for, &mut oracle);
    let cost = oracle.cost;
    result.coverage.candidates.add(refinement.coverage.candidates);
    result.coverage.pairs.add(refinement.coverage.pairs);
    result.coverage.class_pairs.add(refinement.coverage.class_pairs);
    result.is_complete &= refinement.coverage.candidates.is_all();
    result.unrunnable.append(&mut oracle.unrunnable);
    result.cost.executions += cost.executions;
    result.cost.jvm_starts += cost.jvm_starts;
    result.obstacle = result.obstacle.take().or(oracle.obstacle);
    let mut findings = refinement.findings;
    let has_time = || !limits.are_over();
    name_causes(&mut findings, &detection.launch, &config, folder, request.test_timeout, has_time);
    for finding in findings {
        result.add_finding(finding, &detection.launch);
    }
    // What is known of the other tests was taken over.
    let is_target = |test: &String| asked_for.targets.as_ref().is_none_or(|targets| targets.contains(test));
    let differing = refine::differing(detection, &refinement.reference);
    // And of tests that vary, one run says nothing.
    let varies = |test: &String| refinement.nondeterministic.contains(test) || refinement.timed_out.contains(test);
    let is_judged = |test: &String| is_target(test) && !varies(test);
    for (test, status) in refinement.reference.iter().filter(|(test, _)| is_judged(test)) {
        if differing.contains(test) {
            result.differing.push(test.clone());
        } else if *status == Status::Failed {
            result.failing.push(test.clone());
        }
    }
    result.nondeterministic.extend(refinement.nondeterministic);
    result.unconfirmed.extend(refinement.unconfirmed);
    result.timed_out.extend(refinement.timed_out);
    Ok(refinement.stopped)
}

/// The tests of findings are watched in the order of the finding, to see where they meet and which line it is that
/// pollutes: once per cause, and where a test is not known to read it. A finding holds, whether that can be named or not.
fn name_causes(
    findings: &mut [Finding],
    launch: &Launch,
    config: &Config,
    folder: &Path,
    per_test: Duration,
    has_time: impl Fn() -> bool,
) {
    let mut writes: HashMap<(Vec<String>, Vec<String>), Vec<Channel>> = HashMap::new();
    for finding in findings.iter_mut().filter(|finding| finding.cause.certainty != Certainty::Outside) {
        let is_read = finding.resources.first().is_some_and(|channel| !channel.read.is_empty());
        let key = (finding.others().to_vec(), finding.cause.fields.clone());
        if let Some(known) = writes.get(&key).filter(|_| is_read) {
            for channel in &mut finding.resources {
                let is_same = |other: &&Channel| other.field == channel.field && other.writer == channel.writer;
                if let Some(seen) = known.iter().find(is_same) {
                    channel.written_at.clone_from(&seen.written_at);
                    channel.write.clone_from(&seen.write);
                }
            }
        } else if has_time() && name_channels(finding, launch, config, folder, per_test).is_ok() {
            writes.insert(key, finding.resources.clone());
        }
    }
}

fn name_channels(
    finding: &mut Finding,
    launch: &Launch,
    config: &Config,
    folder: &Path,
    per_test: Duration,
) -> Result<(), Error> {
    let folder = folder.join(&finding.id);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::Failed(format!("cannot create {}: {error}", folder.display())))?;
    let mut tests = finding.others().to_vec();
    tests.push(finding.test.clone());
    let timeout = per_test * tests.len() as u32;
    let command = WorkerContext::new(launch, &folder)?.watchable(&Schedule::new(tests), &folder)?;
    let watched = watch(
        WatchRequest {
            launcher: Launcher::Jvm(command),
            config,
            directory: &folder,
            timeout: Some(timeout),
            captures_output: true,
            watching: Watching::Thoroughly,
        },
        |_, _| {},
    )?;
    for trace in &watched.traces {
        let detection = with_own_classes(untether_analysis::detect(trace));
        for seen in Evidence::new(&detection).channels_named(finding.others(), &finding.test) {
            let is_same = |known: &&mut Channel| known.name == seen.name && known.writer == seen.writer;
            match finding.resources.iter_mut().find(is_same) {
                Some(known) => *known = seen,
                None => finding.resources.push(seen),
            }
        }
    }
    let is_whole = !watched.has_timed_out && watched.signal.is_none();
    if finding.resources.is_empty() && finding.cause.certainty == Certainty::Likely && is_whole {
        finding.cause.certainty = Certainty::Outside;
    }
    arrange(finding);
    Ok(())
}

/// How far the search came, in words.
fn reach(coverage: &Coverage, executions: usize, is_complete: bool) -> String {
    if executions == 0 {
        return "no test had to be run".to_owned();
    }
    let part = |share: Share, what: &str| match (share.all, share.is_all()) {
        (0, _) => None,
        (all, true) => Some(format!("every {what} ({all})")),
        (all, false) => Some(format!("{} of {all} {what}s", share.tried)),
    };
    let parts: Vec<String> = [
        part(coverage.candidates, "candidate pair"),
        part(coverage.pairs, "pair"),
        part(coverage.class_pairs, "pair of classes"),
    ]
    .into_iter()
    .flatten()
    .map(|part| part.replace("pair of classess", "pairs of classes"))
    .collect();
    match (parts.is_empty(), is_complete) {
        (true, true) => "no test writes what another reads".to_owned(),
        (true, false) => "pairs of tests were not tried yet".to_owned(),
        (false, _) => format!("tried {}", parts.join(", ")),
    }
}

/// What it came to; `gone` are the findings that there were before, `known` how many schedules had not to be run.
fn sum_up(result: &StoredRefinement, gone: Vec<&Finding>, known: usize, budget: Option<Duration>) {
    let tests: BTreeSet<&String> = result.findings.iter().map(|finding: &Finding| &finding.test).collect();
    eprintln!();
    eprintln!(
        "untether: {} in {}; {} test executions in {} JVMs, {:.1} s ({})",
        view::count(result.findings.len(), "manifest dependency", "manifest dependencies"),
        view::count(tests.len(), "test", "tests"),
        result.cost.executions,
        result.cost.jvm_starts,
        result.seconds,
        result.strategy,
    );
    eprintln!("untether: {}", reach(&result.coverage, result.cost.executions, result.is_complete));
    if let Some(obstacle) = &result.obstacle {
        eprintln!(
            "untether: note: JVMs of this suite cannot be put back between tests ({obstacle}), so pairs cost a JVM each and \
             only candidates were tried"
        );
    }
    if known > 0 {
        eprintln!("untether: went on with a refinement that had been stopped: {known} schedules had been run");
    } else if result.cost.executions == 0 {
        eprintln!("untether: nothing has changed since the last refinement; --fresh looks at all tests again");
    }
    if !gone.is_empty() {
        let ids: Vec<&str> = gone.iter().map(|finding| finding.id.as_str()).collect();
        eprintln!("untether: gone since the last refinement: {}", ids.join(", "));
    }
    for (names, text) in [
        (&result.failing, "failed in the original order already"),
        (&result.differing, "passed when watched, but not in a JVM started alike"),
        (&result.nondeterministic, "came to different outcomes in the same order and cannot be judged"),
        (&result.timed_out, "ended in one run of an order and not in another; --test-timeout gives them more time"),
        (&result.unconfirmed, "came to something else in another order, but not when that was tried again"),
    ] {
        if !names.is_empty() {
            let shown: Vec<&str> = names.iter().take(5).map(String::as_str).collect();
            let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
            let count = view::count(names.len(), "test", "tests");
            eprintln!("untether: note: {count} {text}: {}{more}", shown.join(", "));
        }
    }
    for (reason, tests) in &result.unrunnable {
        let names: Vec<&str> = tests.iter().map(String::as_str).collect();
        let count = view::count(names.len(), "test", "tests");
        let all = if names.len() > 5 { "; 'untether doctor' names all" } else { "" };
        let shown = names[..names.len().min(5)].join(", ");
        eprintln!("untether: note: {count} could not be run in every order ({reason}): {shown}{all}");
    }
    if !result.is_complete
        && let Some(budget) = budget
    {
        eprintln!("untether: stopped after {} s as asked; 'untether refine' goes on from here", budget.as_secs());
    } else if !result.is_complete {
        eprintln!(
            "untether: not all candidate pairs were tried; 'untether refine' goes on from here, --budget sets a limit"
        );
    }
    if let Some(finding) = result.findings.first() {
        eprintln!(
            "untether: next: 'untether replay {}' shows a proof, 'untether deps --kind manifest' lists all",
            findings::short_id(&result.findings, finding)
        );
    }
}
