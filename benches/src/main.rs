//! `untether-bench`: what watching costs, measured on test suites of public libraries, and how strategies of
//! refinement compare.
//!
//! Uses the product as its users do, through the command line; only the worker of the plain runs is taken from
//! the runner crate, so that both kinds of run start the same tests in the same way.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark is there to print what it measured")]

mod class_path;
mod detect;
mod failure;
mod isolate;
mod outcomes;
mod process;
mod refine;
mod report;
mod revisions;
mod select;
mod statistics;
mod subject;
mod suite;
mod truth;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "untether-bench", about = "Benchmarks of untether on test suites of public libraries")]
struct Arguments {
    #[command(subcommand)]
    command: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// What `untether detect` costs: alternating runs of each suite without and with it
    #[command(after_help = detect::EXIT_CODES)]
    Detect(detect::DetectArguments),
    /// What `untether run --isolate` costs, and what a JVM for each class costs instead
    #[command(after_help = isolate::HELP)]
    Isolate(isolate::IsolateArguments),
    /// What the strategies of `untether refine` find, and at what cost
    #[command(after_help = refine::HELP)]
    Refine(refine::RefineArguments),
    /// What it costs `untether run` to see which classes tests use, or what it leaves out while revisions go by
    #[command(after_help = select::HELP)]
    Select(select::SelectArguments),
    /// Whether `untether refine` finds everything that brute force finds in made-up suites, and names its cause
    #[command(after_help = truth::HELP)]
    Truth(truth::TruthArguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Benchmark::Detect(arguments) => detect::run(&arguments),
        Benchmark::Isolate(arguments) => isolate::run(&arguments),
        Benchmark::Refine(arguments) => refine::run(&arguments),
        Benchmark::Select(arguments) => select::run(&arguments),
        Benchmark::Truth(arguments) => truth::run(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("untether-bench: {failure}");
            ExitCode::from(2)
        }
    }
}
