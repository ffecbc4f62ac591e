//! `untether detect`: run, gather, analyse, store, sum up.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{SystemTime, UNIX_EPOCH};

use anstream::{eprint, eprintln};
use untether_model::{Detection, UnitKind, class_of};
use untether_project::{Config, find_test_classes};
use untether_report::{Run, Summary};
use untether_runner::{Launcher, WatchRequest, Watching, WorkerRequest, find_java, watch, worker_command};
use untether_store::{NewRun, Store};
use untether_wire::Secrets;

use crate::arguments::DetectArguments;
use crate::error::Error;
use crate::progress::Display;
use crate::scratch::Scratch;
use crate::style;
use crate::view::project_folder;

pub(crate) fn run(store_path: &Path, request: &DetectArguments) -> Result<u8, Error> {
    let config = Config::load(Path::new("."))?;
    Error::listen()?;
    let mut store = Store::open_or_create(store_path)?;
    let scratch = Scratch::create(store_path)?;
    let (launcher, command) = launcher(request, &scratch.path)?;
    let command = Secrets::new(&config.secrets).arguments(command, |_, _| {});
    let started_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
    let mut display = Display::new(request.quiet);
    let watch_request = WatchRequest {
        launcher,
        config: &config,
        directory: &scratch.path,
        timeout: request.timeout,
        captures_output: display.captures_output(),
        watching: Watching::Plainly,
    };
    let watched = watch(watch_request, |progress, output| display.update(progress, output));
    display.finish();
    let watched = watched?;
    let jvms = watched.traces.len();
    // One by one: a trace may be large.
    let detections: Vec<Detection> = watched
        .traces
        .into_iter()
        .filter(|trace| trace.tests().next().is_some() || !trace.notes.is_empty())
        .map(|trace| with_own_classes(untether_analysis::detect(&trace)))
        .collect();
    if !detections.iter().any(|d| d.units.iter().any(|unit| unit.kind == UnitKind::Test)) {
        if let (true, Some(timeout)) = (watched.has_timed_out, request.timeout) {
            return Err(Error::Failed(format!(
                "no test was seen within {} s and the command was killed. Nothing was stored",
                timeout.as_secs()
            )));
        }
        if let Some(signal) = watched.signal {
            let message = "interrupted before a test was seen. Nothing was stored".to_owned();
            return Err(Error::Interrupted { signal, message });
        }
        return no_tests(jvms, watched.status, request, &detections);
    }
    store.add_run(&NewRun {
        started_ms,
        command: &command,
        exit_code: watched.status.code(),
        detections: &detections,
    })?;
    if !request.quiet {
        sum_up(store_path, &detections)?;
    }
    if let (true, Some(timeout)) = (watched.has_timed_out, request.timeout) {
        return Err(Error::Failed(format!(
            "the tests did not end within {} s and were killed; what they did until then was stored",
            timeout.as_secs()
        )));
    }
    if let Some(signal) = watched.signal {
        let message = "interrupted: the tests were ended; what they did until then was stored".to_owned();
        return Err(Error::Interrupted { signal, message });
    }
    Ok(exit_code(watched.status))
}

/// Notes which of the classes that are named are the project's own: those in folders of the class path.
pub(crate) fn with_own_classes(mut detection: Detection) -> Detection {
    let own = untether_project::classes_in_folders(&detection.launch.class_path);
    let of_field = |field: &str| field.rsplit_once('.').map(|(class, _)| class.to_owned());
    let named = detection.stacks.iter().flatten().map(|line| line.class.clone());
    let of_fields = detection.resources.iter().filter_map(|resource| of_field(&resource.field));
    let named: BTreeSet<String> = named.chain(of_fields).filter(|class| own.contains(class)).collect();
    detection.own_classes = named.into_iter().collect();
    detection
}

fn launcher(request: &DetectArguments, directory: &Path) -> Result<(Launcher, Vec<String>), Error> {
    let Some(class_path) = &request.classpath else {
        if request.build.is_empty() {
            return Err(Error::Usage(
                "nothing to run: give the command that runs the tests after '--', as in 'untether detect -- mvn test', or \
                 --classpath to run them without a build tool"
                    .to_owned(),
            ));
        }
        let mut command = Command::new(&request.build[0]);
        command.args(&request.build[1..]);
        return Ok((Launcher::BuildTool(command), request.build.clone()));
    };
    let plan = match &request.order {
        Some(file) => read_order(file)?,
        None => find_test_classes(class_path, &request.scan, &request.include, &request.exclude)?,
    };
    let worker = WorkerRequest {
        java: find_java(request.java.as_deref())?,
        class_path: class_path.clone(),
        jvm_arguments: request.jvm_arg.clone(),
        plan,
        directory: directory.to_path_buf(),
    };
    let command = worker_command(&worker)?;
    let words = std::env::args().collect();
    Ok((Launcher::Jvm(command), words))
}

fn read_order(file: &Path) -> Result<Vec<String>, Error> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::Usage(format!("cannot read the order file {}: {error}", file.display())))?;
    let lines: Vec<String> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(str::to_owned)
        .collect();
    if let Some(bad) = lines.iter().find(|line| class_of(line).contains(char::is_whitespace) || line.ends_with('#')) {
        return Err(Error::Usage(format!(
            "the order file {} has the line '{bad}', which is neither pkg.Class nor pkg.Class#method",
            file.display()
        )));
    }
    if lines.is_empty() {
        return Err(Error::Usage(format!("the order file {} names no test", file.display())));
    }
    Ok(lines)
}

const TESTNG: &str = "these are tests of TestNG, whose own runner untether neither watches nor refines; it watches JUnit 3 \
                      and 4 and every engine of the JUnit Platform, with org.junit.support:testng-engine also TestNG's tests";

/// Whether TestNG's jar is on the class path.
fn has_testng(class_path: &str) -> bool {
    let is_testng = |entry: &str| {
        let version = entry.rsplit('/').next().and_then(|name| name.strip_prefix("testng"));
        let is_version =
            |rest: &str| rest.strip_prefix('-').is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()));
        version.is_some_and(|rest| rest == ".jar" || is_version(rest))
    };
    class_path.split(':').any(is_testng)
}

/// Why there is nothing to store. A build that failed before its tests has said so itself; one that had none to run has done
/// what it was asked to.
fn no_tests(jvms: usize, status: ExitStatus, request: &DetectArguments, detections: &[Detection]) -> Result<u8, Error> {
    let notes = || detections.iter().flat_map(|d| &d.notes);
    if let Some(note) = notes().find(|note| note.kind == "unsupported") {
        return Err(Error::Failed(format!(
            "the tests ran, but this JVM cannot be watched: {}. Nothing was stored",
            note.text
        )));
    }
    if let Some(note) = notes().find(|note| note.kind == "boundary") {
        return Err(Error::Failed(format!("a mistake of untether's own kept it from seeing tests: {}", note.text)));
    }
    let is_testng = request.classpath.as_deref().is_some_and(has_testng) || notes().any(|note| note.kind == "testng");
    if is_testng {
        return Err(Error::Usage(format!("{TESTNG}. Nothing was stored")));
    }
    if request.classpath.is_some() {
        return Err(Error::Failed(format!(
            "no test was seen, and the JVM {}: are the test classes and their JUnit on the class path? JUnit 5 also needs \
             junit-platform-launcher and an engine. Nothing was stored",
            status.code().map_or("was killed".to_owned(), |code| format!("ended with exit code {code}"))
        )));
    }
    if jvms > 0 && status.success() {
        return Err(Error::Usage(
            "JVMs were started, but no JUnit 3, 4 or 5 test ran in them. Nothing was stored".to_owned(),
        ));
    }
    let why = match status.code() {
        Some(0) if is_skipping(&request.build) => "no test was run, as the command asks".to_owned(),
        Some(0) => "no test was seen. There are none, or they ran where they cannot be seen: inside Maven's own JVM \
                    (forkCount=0) or in a daemon that was running already"
            .to_owned(),
        Some(code) => format!(
            "the command ended with exit code {code} and no test was seen; its own output says why (but tests inside \
             Maven's own JVM, with forkCount=0, are never seen)"
        ),
        None => "the command was killed and no test was seen".to_owned(),
    };
    eprintln!("untether: {} {why}. Nothing was stored", style::doubtful("note:"));
    Ok(exit_code(status))
}

/// Whether Maven was told not to run tests.
fn is_skipping(command: &[String]) -> bool {
    ["-DskipTests", "-Dmaven.test.skip"].iter().any(|option| {
        command.iter().any(|word| word.strip_prefix(option).is_some_and(|value| matches!(value, "" | "=true")))
    })
}

fn sum_up(store: &Path, detections: &[Detection]) -> Result<(), Error> {
    let run = Run::new(detections, &project_folder(store));
    let summary = Summary::new(&run);
    let mut text = Vec::new();
    summary.write(&mut text, "untether: ").map_err(|error| Error::Failed(error.to_string()))?;
    eprintln!();
    let failed = format!("{} failed", summary.failed);
    eprint!("{}", String::from_utf8_lossy(&text).replacen(&failed, &style::bad(&failed), 1));
    if summary.own_pairs + summary.library_pairs > 0 {
        let libraries = if summary.own_pairs == 0 { " --libraries" } else { "" };
        eprintln!(
            "untether: next: 'untether deps{libraries}' lists them, 'untether why WRITER READER' explains one, 'untether \
             refine' finds those that change an outcome"
        );
    }
    warn(detections);
    Ok(())
}

fn warn(detections: &[Detection]) {
    let mut said = HashSet::new();
    for note in detections.iter().flat_map(|d| &d.notes) {
        let text = match note.kind.as_str() {
            "sequential" => format!("the suite asks for parallel execution ({}); it was run sequentially", note.text),
            "cut-off" => format!("the JVM ended during {}", note.text),
            "unsupported" => format!("a JVM could not be watched: {}", note.text),
            "order" => format!(
                "{}: it is another in each kind of JVM, so it may not be that of a run without untether; what was watched \
                 counts as the original order",
                note.text
            ),
            "testng" => note.text.clone(),
            _ => format!("{}: {}", note.kind, note.text),
        };
        if said.insert(text.clone()) {
            eprintln!("untether: {} {text}", style::doubtful("note:"));
        }
    }
    let cut_off = detections.iter().filter(|d| !d.is_complete).count();
    if cut_off > 0 {
        let warning = style::doubtful("warning:");
        eprintln!("untether: {warning} {cut_off} JVM(s) ended abruptly; what they did until then was kept");
    }
    let refused: usize = detections.iter().map(|d| d.refusals.len()).sum();
    if refused > 0 {
        let note = style::doubtful("note:");
        eprintln!("untether: {note} {refused} methods could not be watched; 'untether doctor' names them");
    }
}

/// The command's own exit code, or 3 where a signal ended it.
fn exit_code(status: ExitStatus) -> u8 {
    status.code().map_or(3, |code| u8::try_from(code).unwrap_or(3))
}
