//! `untether select`, `untether explain` and `untether run`: only the test classes that a change can affect.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use untether_engine::{
    Ending, SelectEvent, SelectRequest, SelectiveRunRequest, SelectivelyRan, run_selectively, select as select_tests,
};
use untether_model::{Selected, Status, TestOutcome, simple_name};
use untether_report::{
    count, selection_sentence, style, write_contradictions, write_selected, write_selection, write_selection_json,
    write_skipped,
};

use crate::arguments::{ExplainArguments, Format, Granularity, RunArguments, SelectArguments};
use crate::detect::exit_code;
use crate::error::Error;
use crate::output::{to_stderr, to_stdout, to_stdout_in_colour};
use crate::place;
use crate::progress::Display;

fn request<'r>(store: &'r Path, folder: &'r Path, by_test: bool) -> SelectRequest<'r> {
    SelectRequest { store, project: place::project_of(store), folder, by_test }
}

pub(crate) fn select(store: &Path, arguments: &SelectArguments) -> Result<u8, Error> {
    let by_test = arguments.granularity == Granularity::Test;
    let selection = select_tests(&request(store, &place::folder_of(store), by_test))?;
    if arguments.format == Format::Json {
        to_stdout(|out| write_selection_json(out, &selection, None))?;
        return Ok(0);
    }
    to_stdout_in_colour(|out| write_selection(out, &selection))?;
    eprintln!("untether: {}", selection_sentence(&selection, None));
    Ok(0)
}

pub(crate) fn explain(store: &Path, arguments: &ExplainArguments) -> Result<u8, Error> {
    let selection = select_tests(&request(store, &place::folder_of(store), false))?;
    let wanted = arguments.test.split('#').next().unwrap_or_default();
    let is_meant = |module: &str, test: &str| {
        test == wanted || simple_name(test) == wanted || format!("{module}:{test}") == wanted
    };
    let mut found = 0;
    for selected in selection.selected.iter().filter(|it| is_meant(&it.module, &it.test)) {
        found += 1;
        to_stdout_in_colour(|out| write_selected(out, selected, &selected.last_run_ms.map(ago).unwrap_or_default()))?;
    }
    for skipped in selection.skipped.iter().filter(|it| is_meant(&it.module, &it.test)) {
        found += 1;
        to_stdout_in_colour(|out| write_skipped(out, skipped, &ago(skipped.last_run_ms)))?;
    }
    if found == 0 {
        return Err(Error::Usage(format!(
            "no test class '{wanted}' is known; 'untether select --format json' lists all that are"
        )));
    }
    Ok(0)
}

/// How long ago that was, as people say it.
fn ago(then_ms: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    let seconds = (now - then_ms).max(0) / 1000;
    let (number, unit) = match seconds {
        0..60 => return "less than a minute ago".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86400 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    format!("{} ago", count(number as usize, unit, &format!("{unit}s")))
}

pub(crate) fn run(store: &Path, arguments: &RunArguments) -> Result<u8, Error> {
    let is_built = !arguments.build.is_empty();
    let is_json = arguments.format == Format::Json;
    let mut display = Display::new(arguments.quiet || is_json);
    let request = SelectiveRunRequest {
        store,
        project: if is_built { Path::new(".") } else { place::project_of(store) },
        folder: &place::folder_of(store),
        build: is_built.then_some(arguments.build.as_slice()),
        by_test: arguments.granularity == Granularity::Test,
        runs_all: arguments.all,
        collects: !arguments.no_collect,
        audits: arguments.audit,
        is_external_watched: !arguments.no_external,
        captures_output: display.captures_output() || is_json,
    };
    let ran = run_selectively(&request, &mut |event| match event {
        // What a build tool prints is none of the document.
        SelectEvent::Watch(event) if is_built && !is_json => display.handle(event),
        SelectEvent::Watch(_) => {}
        SelectEvent::NoStore(error) => {
            anstream::eprintln!("untether: {} all tests are run: {error}", style::doubtful("note:"));
        }
        SelectEvent::Auditing { count: classes } => {
            if !arguments.quiet {
                eprintln!(
                    "untether: running {} to see that",
                    count(classes, "test class that was left out", "test classes that were left out")
                );
            }
        }
    });
    display.finish();
    let ran = ran?;
    let contradictions: Option<Vec<&TestOutcome>> = ran.audit.as_ref().map(|classes| {
        let tests = classes.iter().flat_map(|class| &class.tests);
        tests.filter(|test| test.verdict.status.is_failure()).collect()
    });
    show(&ran, contradictions.as_deref(), arguments)?;
    end(&ran, contradictions.is_some_and(|all| !all.is_empty()))
}

fn show(ran: &SelectivelyRan, contradictions: Option<&[&TestOutcome]>, arguments: &RunArguments) -> Result<(), Error> {
    for warning in &ran.warnings {
        anstream::eprintln!("untether: {} {warning}", style::doubtful("warning:"));
    }
    if arguments.format == Format::Json {
        return to_stdout(|out| write_selection_json(out, &ran.selection, contradictions));
    }
    if arguments.verbose {
        to_stderr(|out| write_selection(out, &ran.selection))?;
    }
    if arguments.build.is_empty() {
        let failed = ran.outcomes.iter().flat_map(|class| &class.tests).filter(|test| test.verdict.status.is_failure());
        to_stdout_in_colour(|out| {
            for test in failed {
                let message = test.verdict.message.lines().next().unwrap_or_default();
                writeln!(out, "{} {}  {message}", style::bad("failed:"), test.id)?;
            }
            Ok(())
        })?;
    }
    if let Some(contradictions) = contradictions {
        to_stdout_in_colour(|out| write_contradictions(out, contradictions))?;
    }
    if arguments.quiet {
        return Ok(());
    }
    if ran.selection.selected.is_empty() && ran.selection.skipped.is_empty() {
        // A build that failed before any test has said why itself.
        let has_failed = matches!(ran.ending, Some(Ending::Exited(status)) if !status.success());
        if arguments.build.is_empty() || ran.signal.is_some() || has_failed {
            return Ok(());
        }
        anstream::eprintln!(
            "untether: {} no test JVM asked which tests to run, so that all of them ran. 'untether doctor' says what is \
             supported",
            style::doubtful("note:")
        );
        return Ok(());
    }
    let is_whole = |selected: &Selected| !selected.test.contains('#');
    let is_apart = ran.selection.skipped.iter().any(|skipped| skipped.test.contains('#'));
    if arguments.granularity == Granularity::Test
        && !arguments.all
        && !is_apart
        && ran.selection.selected.iter().any(is_whole)
    {
        anstream::eprintln!(
            "untether: {} no test was left out by itself: that takes tests of JUnit Jupiter in classes that 'untether \
             detect' has watched as they are, and that have passed with --granularity test since",
            style::doubtful("note:")
        );
    }
    let tests: Vec<&TestOutcome> = ran.outcomes.iter().flat_map(|class| &class.tests).collect();
    let failed = tests.iter().filter(|test| test.verdict.status == Status::Failed).count();
    let mut sentence = selection_sentence(&ran.selection, Some(ran.seconds));
    if failed > 0 {
        sentence.push_str(&format!("; {} of {} failed", failed, count(tests.len(), "test", "tests")));
    }
    if let Some(contradictions) = contradictions {
        sentence.push_str(&match contradictions.len() {
            0 => "; all that was left out passes".to_owned(),
            wrong => format!("; {} that was left out", count(wrong, "test fails", "tests fail")),
        });
    }
    eprintln!("untether: {sentence}");
    if ran.lacks_detection {
        eprintln!(
            "untether: what tests leave for each other is not known yet: 'untether detect -- COMMAND' finds out, so that a \
             test is also run when the test changes that it has values from"
        );
    }
    Ok(())
}

fn end(ran: &SelectivelyRan, is_contradicted: bool) -> Result<u8, Error> {
    let interrupted = |signal| Error::Interrupted { signal, message: "interrupted: the tests were ended".to_owned() };
    if let Some(signal) = ran.signal {
        return Err(interrupted(signal));
    }
    let has_failed = ran.outcomes.iter().flat_map(|class| &class.tests).any(|test| test.verdict.status.is_failure());
    match ran.ending {
        Some(Ending::Exited(status)) if !status.success() => Ok(exit_code(status)),
        Some(Ending::Interrupted(signal)) => Err(interrupted(signal)),
        Some(Ending::OutOfTime) => Err(Error::Failed("the tests did not end in time and were killed".to_owned())),
        Some(Ending::Exited(_)) => Ok(u8::from(is_contradicted)),
        None => Ok(u8::from(has_failed || is_contradicted)),
    }
}
