//! A finding's proof that was run again: both orders with what their tests came to.

use std::io::{Result, Write};

use serde::Serialize;
use untether_model::{Finding, Observation, Replay, Status};

use crate::findings::{finding_sentence, first_line};
use crate::fix::fix;
use crate::json::{JSON_VERSION, write_document};

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    finding: &'d Finding,
    is_reproduced: bool,
    runs: Vec<RunForm<'d>>,
}

#[derive(Serialize)]
struct RunForm<'d> {
    tests: Vec<TestForm<'d>>,
}

#[derive(Serialize)]
struct TestForm<'d> {
    id: &'d str,
    outcome: Status,
    message: &'d str,
}

fn run_form<'d>(tests: &'d [String], observation: &'d Observation) -> RunForm<'d> {
    let tests = tests
        .iter()
        .zip(&observation.verdicts)
        .map(|(id, verdict)| TestForm { id, outcome: verdict.status, message: &verdict.message })
        .collect();
    RunForm { tests }
}

/// The order to compare with, then the one that proves the finding.
fn run_forms(replay: &Replay) -> [RunForm<'_>; 2] {
    [run_form(&replay.finding.counter_schedule, &replay.counter), run_form(&replay.finding.schedule, &replay.violated)]
}

pub fn write_replay_json(out: &mut dyn Write, replay: &Replay) -> Result<()> {
    let document = Document {
        version: JSON_VERSION,
        finding: &replay.finding,
        is_reproduced: replay.is_reproduced(),
        runs: run_forms(replay).into(),
    };
    write_document(out, &document)
}

pub fn write_replay(out: &mut dyn Write, replay: &Replay) -> Result<()> {
    let finding = &replay.finding;
    writeln!(out, "{}", finding_sentence(finding))?;
    let titles = [
        format!("In this order it {}:", finding.outcome.counter),
        format!("And in this one it {}:", finding.outcome.violated),
    ];
    for (title, run) in titles.iter().zip(run_forms(replay)) {
        writeln!(out)?;
        writeln!(out, "{title}")?;
        for test in &run.tests {
            writeln!(out, "  {:9} {}", test.outcome, test.id)?;
            if test.outcome != Status::Passed && !test.message.is_empty() {
                writeln!(out, "            {}", first_line(test.message))?;
            }
        }
    }
    if let Some(channel) = finding.resources.first() {
        writeln!(out)?;
        writeln!(out, "They meet in {}", channel.name)?;
        for (title, line) in [("written at", &channel.written_at), ("read at", &channel.read_at)] {
            if let Some(line) = line {
                writeln!(out, "  {title} {line}")?;
            }
        }
    }
    writeln!(out)?;
    writeln!(out, "Fix: {}", fix(finding))?;
    if !replay.is_reproduced() {
        writeln!(out)?;
        writeln!(out, "The outcomes are not those that the refinement saw: the code has changed, or the test varies.")?;
    }
    Ok(())
}
