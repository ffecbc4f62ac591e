//! `untether run`: the tests, isolated from each other.

use std::path::Path;
use std::thread;

use untether_engine::{Ending, Isolation, Ran, RunRequest, run as run_tests};
use untether_model::IsolatedRun;
use untether_report::{style, write_isolation, write_isolation_json, write_isolation_summary};

use crate::arguments::{Format, Isolate, RunArguments};
use crate::detect::exit_code;
use crate::error::Error;
use crate::output::{to_stderr, to_stdout, to_stdout_in_colour};
use crate::place;
use crate::progress::RunDisplay;

pub(crate) fn run(store: &Path, arguments: &RunArguments) -> Result<u8, Error> {
    let isolation = match arguments.isolate {
        Some(Isolate::Class) => Isolation::Class,
        Some(Isolate::Test) => Isolation::Test,
        None => Isolation::None,
    };
    let is_built = !arguments.build.is_empty();
    let jobs = match arguments.jobs.map(usize::from) {
        Some(jobs) if jobs > 1 && arguments.isolate_files => {
            return Err(Error::Usage(
                "files are put back for one class at a time: leave out -j, or --isolate-files".to_owned(),
            ));
        }
        Some(jobs) => jobs,
        None if arguments.isolate_files => 1,
        None => thread::available_parallelism().map_or(2, usize::from),
    };
    let folder = place::folder_of(store);
    let mut display = RunDisplay::new(arguments.quiet, arguments.format == Format::Json);
    let request = RunRequest {
        store,
        project: if is_built { Path::new(".") } else { place::project_of(store) },
        build: is_built.then_some(arguments.build.as_slice()),
        isolation,
        kept_folder: arguments.isolate_files.then_some(folder.as_path()),
        is_checked: arguments.check,
        jobs,
        test_timeout: arguments.test_timeout,
        captures_output: display.captures_output(),
    };
    let ran = run_tests(&request, &mut |event| display.handle(event));
    display.finish();
    let ran = ran?;
    if ran.run.classes.is_empty() && is_built && ran.signal.is_none() {
        anstream::eprintln!(
            "untether: {} no test was seen, so nothing was isolated. There are none, or they ran where they cannot be seen: \
             inside Maven's own JVM (forkCount=0) or in a daemon that was running already",
            style::doubtful("note:")
        );
        return end(&ran);
    }
    show(&ran.run, is_built, arguments)?;
    end(&ran)
}

fn show(run: &IsolatedRun, is_built: bool, arguments: &RunArguments) -> Result<(), Error> {
    if arguments.format == Format::Json {
        return to_stdout(|out| write_isolation_json(out, run));
    }
    to_stdout_in_colour(|out| write_isolation(out, run, !is_built))?;
    if arguments.quiet {
        return Ok(());
    }
    to_stderr(|out| write_isolation_summary(out, run, "untether: "))
}

fn end(ran: &Ran) -> Result<u8, Error> {
    if let Some(signal) = ran.signal {
        return Err(Error::Interrupted { signal, message: "interrupted: the tests were ended".to_owned() });
    }
    let is_different = ran.run.check.as_ref().is_some_and(|check| check.differences.iter().any(|it| !it.varies));
    match ran.ending {
        Some(Ending::Exited(status)) if !status.success() => Ok(exit_code(status)),
        Some(Ending::OutOfTime) => Err(Error::Failed("the tests did not end in time and were killed".to_owned())),
        Some(Ending::Interrupted(signal)) => {
            Err(Error::Interrupted { signal, message: "interrupted: the tests were ended".to_owned() })
        }
        Some(Ending::Exited(_)) => Ok(u8::from(is_different)),
        None => {
            let has_failed = ran.run.tests().any(|test| test.verdict.status.is_failure());
            Ok(u8::from(has_failed || is_different))
        }
    }
}
