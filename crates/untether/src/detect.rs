//! `untether detect`: run the tests once, watched.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use untether_engine::{ClassPathTests, DetectRequest, Ending, Tests, Unseen, detect};
use untether_model::Detection;
use untether_report::{Run, Summary, style, write_notes};

use crate::arguments::DetectArguments;
use crate::error::Error;
use crate::output::to_stderr;
use crate::place;
use crate::progress::Display;

pub(crate) fn run(store: &Path, arguments: &DetectArguments) -> Result<u8, Error> {
    let (tests, command) = tests(arguments)?;
    let mut display = Display::new(arguments.quiet);
    let request = DetectRequest {
        store,
        project: Path::new("."),
        tests,
        command,
        timeout: arguments.timeout,
        is_external_watched: !arguments.no_external,
        captures_output: display.captures_output(),
    };
    let detected = detect(&request, |event| display.handle(event));
    display.finish();
    let detected = detected?;
    match (detected.seen, detected.ending) {
        (Ok(detections), ending) => {
            if !arguments.quiet {
                sum_up(store, &detections)?;
            }
            end(ending, arguments.timeout)
        }
        (Err(_), Ending::OutOfTime) => Err(Error::Failed(format!(
            "no test was seen within {} s and the command was killed. Nothing was stored",
            seconds(arguments.timeout)
        ))),
        (Err(_), Ending::Interrupted(signal)) => {
            let message = "interrupted before a test was seen. Nothing was stored".to_owned();
            Err(Error::Interrupted { signal, message })
        }
        (Err(unseen), Ending::Exited(status)) => explain(unseen, status),
    }
}

fn tests(arguments: &DetectArguments) -> Result<(Tests, Vec<String>), Error> {
    if let Some(class_path) = &arguments.classpath {
        let tests = ClassPathTests {
            class_path: class_path.clone(),
            order: arguments.order.clone(),
            scan: arguments.scan.clone(),
            include: arguments.include.clone(),
            exclude: arguments.exclude.clone(),
            java: arguments.java.clone(),
            jvm_arguments: arguments.jvm_arg.clone(),
        };
        return Ok((Tests::ClassPath(tests), std::env::args().collect()));
    }
    if arguments.build.is_empty() {
        return Err(Error::Usage(
            "nothing to run: give the command that runs the tests after '--', as in 'untether detect -- mvn test', or \
             --classpath to run them without a build tool"
                .to_owned(),
        ));
    }
    Ok((Tests::BuildTool(arguments.build.clone()), arguments.build.clone()))
}

fn seconds(timeout: Option<Duration>) -> u64 {
    timeout.unwrap_or_default().as_secs()
}

fn end(ending: Ending, timeout: Option<Duration>) -> Result<u8, Error> {
    match ending {
        Ending::Exited(status) => Ok(exit_code(status)),
        Ending::OutOfTime => Err(Error::Failed(format!(
            "the tests did not end within {} s and were killed; what they did until then was stored",
            seconds(timeout)
        ))),
        Ending::Interrupted(signal) => {
            let message = "interrupted: the tests were ended; what they did until then was stored".to_owned();
            Err(Error::Interrupted { signal, message })
        }
    }
}

const TESTNG: &str = "these are tests of TestNG, whose own runner untether neither watches nor refines; it watches JUnit 3 \
                      and 4 and every engine of the JUnit Platform, with org.junit.support:testng-engine also TestNG's tests";

/// Why there is nothing to store. A build that failed before its tests has said so itself; one that had none to run has done
/// what it was asked to.
fn explain(unseen: Unseen, status: ExitStatus) -> Result<u8, Error> {
    let why = match (unseen, status.code()) {
        (Unseen::Unsupported(reason), _) => {
            let message = format!("the tests ran, but this JVM cannot be watched: {reason}. Nothing was stored");
            return Err(Error::Failed(message));
        }
        (Unseen::Mistake(mistake), _) => {
            return Err(Error::Failed(format!("a mistake of untether's own kept it from seeing tests: {mistake}")));
        }
        (Unseen::TestNg, _) => return Err(Error::Usage(format!("{TESTNG}. Nothing was stored"))),
        (Unseen::NotOnClassPath, code) => {
            return Err(Error::Failed(format!(
                "no test was seen, and the JVM {}: are the test classes and their JUnit on the class path? JUnit 5 also \
                 needs junit-platform-launcher and an engine. Nothing was stored",
                code.map_or("was killed".to_owned(), |code| format!("ended with exit code {code}"))
            )));
        }
        (Unseen::NotInJvms, _) => {
            return Err(Error::Usage(
                "JVMs were started, but no JUnit 3, 4 or 5 test ran in them. Nothing was stored".to_owned(),
            ));
        }
        (Unseen::Skipped, _) => "no test was run, as the command asks".to_owned(),
        (Unseen::Nowhere, Some(0)) => {
            "no test was seen. There are none, or they ran where they cannot be seen: inside \
                                       Maven's own JVM (forkCount=0) or in a daemon that was running already"
                .to_owned()
        }
        (Unseen::Nowhere, Some(code)) => format!(
            "the command ended with exit code {code} and no test was seen; its own output says why (but tests inside \
             Maven's own JVM, with forkCount=0, are never seen)"
        ),
        (Unseen::Nowhere, None) => "the command was killed and no test was seen".to_owned(),
    };
    anstream::eprintln!("untether: {} {why}. Nothing was stored", style::doubtful("note:"));
    Ok(exit_code(status))
}

fn sum_up(store: &Path, detections: &[Detection]) -> Result<(), Error> {
    let run = Run::new(detections, &place::folder_of(store));
    let summary = Summary::new(&run);
    to_stderr(|out| {
        writeln!(out)?;
        summary.write(out, "untether: ")?;
        if summary.own_pairs + summary.library_pairs > 0 {
            let libraries = if summary.own_pairs == 0 { " --libraries" } else { "" };
            writeln!(
                out,
                "untether: next: 'untether deps{libraries}' lists them, 'untether why WRITER READER' explains one, \
                 'untether refine' finds those that change an outcome"
            )?;
        }
        write_notes(out, detections, "untether: ")
    })
}

/// The command's own exit code, or 3 where a signal ended it.
pub(crate) fn exit_code(status: ExitStatus) -> u8 {
    status.code().map_or(3, |code| u8::try_from(code).unwrap_or(3))
}
