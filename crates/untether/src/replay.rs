//! `untether replay`: the proof of a finding, run again.

use std::path::Path;

use serde::Serialize;
use untether_model::{Finding, Schedule, Status};
use untether_project::Config;
use untether_runner::{Execution, Executor, Limits, WorkerContext, stop_signal};
use untether_store::Store;

use crate::arguments::{Format, ReplayArguments};
use crate::error::Error;
use crate::findings;
use crate::place;
use crate::scratch::Scratch;
use crate::view::JSON_VERSION;

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    finding: &'d Finding,
    is_reproduced: bool,
    runs: Vec<RunView>,
}

#[derive(Serialize)]
struct RunView {
    tests: Vec<TestView>,
}

#[derive(Serialize)]
struct TestView {
    id: String,
    outcome: Status,
    message: String,
}

pub(crate) fn run(store_path: &Path, request: &ReplayArguments) -> Result<u8, Error> {
    let store = Store::open_to_read(store_path)?;
    let refinements = store.refinements()?;
    let Some(latest) = refinements.first() else {
        return Err(Error::Usage("there is no refinement yet; run 'untether refine' first".to_owned()));
    };
    let matching: Vec<&Finding> = latest.findings.iter().filter(|f| f.id.starts_with(&request.id)).collect();
    let [finding] = matching.as_slice() else {
        let known: Vec<&str> = latest.findings.iter().map(|finding| finding.id.as_str()).collect();
        return Err(Error::Usage(match (matching.len(), known.is_empty()) {
            (0, true) => "the last refinement found nothing that could be replayed".to_owned(),
            (0, false) => format!("no finding has the id '{}'; there are {}", request.id, known.join(", ")),
            _ => format!("several findings have an id that starts with '{}'; give all of it", request.id),
        }));
    };
    let launch = latest
        .launch_of(finding)
        .ok_or_else(|| Error::Failed("the finding's JVM was not recorded; run 'untether refine --fresh'".to_owned()))?;
    Error::listen()?;
    let scratch = Scratch::create(store_path)?;
    let context = WorkerContext::new(launch, &scratch.path)?;
    let limits = Limits { per_test: request.test_timeout, deadline: None };
    let mut executor = Executor::new(context, Config::load(place::project_of(store_path))?, &scratch.path, limits);
    executor.start_without(&launch.left_files)?;
    let mut runs = Vec::new();
    for tests in [&finding.counter_schedule, &finding.schedule] {
        let Execution::Ended(observation) = executor.execute(&Schedule::new(tests.clone()))? else {
            let message = "the replay was interrupted".to_owned();
            return Err(match stop_signal() {
                Some(signal) => Error::Interrupted { signal, message },
                None => Error::Failed("the replay ran out of time".to_owned()),
            });
        };
        let tests = tests
            .iter()
            .zip(observation.verdicts)
            .map(|(id, verdict)| TestView { id: id.clone(), outcome: verdict.status, message: verdict.message })
            .collect();
        runs.push(RunView { tests });
    }
    let last = |run: &RunView| run.tests.last().map(|test| test.outcome);
    let is_reproduced =
        last(&runs[0]) == Some(finding.outcome.counter) && last(&runs[1]) == Some(finding.outcome.violated);
    if request.format == Format::Json {
        let document = Document { version: JSON_VERSION, finding, is_reproduced, runs };
        println!("{}", serde_json::to_string_pretty(&document).map_err(|e| Error::Failed(e.to_string()))?);
    } else {
        print(finding, &runs, is_reproduced);
    }
    Ok(u8::from(!is_reproduced))
}

fn print(finding: &Finding, runs: &[RunView], is_reproduced: bool) {
    println!("{}", findings::sentence(finding));
    let expected = [
        format!("In this order it {}:", finding.outcome.counter),
        format!("And in this one it {}:", finding.outcome.violated),
    ];
    for (title, run) in expected.iter().zip(runs) {
        println!();
        println!("{title}");
        for test in &run.tests {
            println!("  {:9} {}", test.outcome, test.id);
            if test.outcome != Status::Passed && !test.message.is_empty() {
                println!("            {}", findings::first_line(&test.message));
            }
        }
    }
    if let Some(channel) = finding.resources.first() {
        println!();
        println!("They meet in {}", channel.name);
        for (title, line) in [("written at", &channel.written_at), ("read at", &channel.read_at)] {
            if let Some(line) = line {
                println!("  {title} {line}");
            }
        }
    }
    println!();
    println!("Fix: {}", findings::fix(finding));
    if !is_reproduced {
        println!();
        println!("The outcomes are not those that the refinement saw: the code has changed, or the test varies.");
    }
}
