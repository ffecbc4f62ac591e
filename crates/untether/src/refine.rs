//! `untether refine`: which dependencies change an outcome.

use std::path::Path;

use untether_engine::{RefineRequest, Refined, refine};
use untether_report::{RefinementSummary, write_refinement, write_refinement_json};

use crate::arguments::{FailOn, Format, RefineArguments};
use crate::error::Error;
use crate::output::{to_stderr, to_stdout};
use crate::place;
use crate::progress::RefineDisplay;

pub(crate) fn run(store: &Path, arguments: &RefineArguments) -> Result<u8, Error> {
    let request = RefineRequest {
        store,
        project: place::project_of(store),
        strategy: arguments.strategy.clone(),
        reference_runs: arguments.reference_runs.into(),
        tests: &arguments.test,
        jobs: arguments.jobs.map(usize::from),
        budget: arguments.budget,
        test_timeout: arguments.test_timeout,
        is_fresh: arguments.fresh,
        rejects_new: arguments.fail_on == Some(FailOn::New),
    };
    let mut display = RefineDisplay::new(arguments.quiet);
    let refined = refine(&request, |event| display.handle(event));
    display.finish();
    let refined = refined?;
    show(&refined, arguments)?;
    if let Some(signal) = refined.signal {
        let message =
            "interrupted; what was found until then was stored, and 'untether refine' goes on from here".to_owned();
        return Err(Error::Interrupted { signal, message });
    }
    Ok(match arguments.fail_on {
        Some(FailOn::Any) if !refined.record.findings.is_empty() => 1,
        Some(FailOn::New) if !refined.new.is_empty() => 1,
        _ => 0,
    })
}

fn show(refined: &Refined, arguments: &RefineArguments) -> Result<(), Error> {
    let Refined { record, new, has_baseline, gone, known, .. } = refined;
    if arguments.format == Format::Json {
        return to_stdout(|out| write_refinement_json(out, record));
    }
    to_stdout(|out| write_refinement(out, record, has_baseline.then_some(new)))?;
    if arguments.quiet {
        return Ok(());
    }
    to_stderr(|out| {
        writeln!(out)?;
        let summary = RefinementSummary { refinement: record, gone, known: *known, budget: arguments.budget };
        summary.write(out, "untether: ")
    })
}
