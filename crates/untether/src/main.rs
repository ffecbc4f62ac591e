//! The command line of untether: arguments become a request, a call and an exit code.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the command line is the crate that prints")]

mod arguments;
mod deps;
mod detect;
mod doctor;
mod error;
mod manual;
mod output;
mod place;
mod progress;
mod refine;
mod replay;
mod run;
mod select;
mod store;
mod why;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use untether_report::style;

use crate::arguments::{Arguments, Command};

/// A reader that has seen enough, such as `head`, is no reason to complain.
fn end_quietly_when_output_is_closed() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_closed = panic
            .payload()
            .downcast_ref::<String>()
            .is_some_and(|text| text.starts_with("failed printing to") && text.contains("Broken pipe"));
        if is_closed {
            std::process::exit(0);
        }
        usual(panic);
    }));
}

fn main() -> ExitCode {
    end_quietly_when_output_is_closed();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| arguments::explain(error));
    let given = arguments.store.as_deref();
    let store = match &arguments.command {
        Command::Detect(_) => place::for_writing(given),
        Command::Run(request) if !request.build.is_empty() => place::for_writing(given),
        _ => place::for_reading(given),
    };
    let result = match &arguments.command {
        Command::Detect(request) => detect::run(&store, request),
        Command::Deps(request) => deps::run(&store, request),
        Command::Refine(request) => refine::run(&store, request),
        Command::Replay(request) => replay::run(&store, request),
        Command::Run(request) if request.isolate.is_some() => run::run(&store, request),
        Command::Run(request) => select::run(&store, request),
        Command::Select(request) => select::select(&store, request),
        Command::Explain(request) => select::explain(&store, request),
        Command::Why(request) => why::run(&store, request),
        Command::Store(request) => store::run(&store, request),
        Command::Doctor(request) => doctor::run(&store, request),
        Command::Config => {
            print!("{}", untether_project::DEFAULTS);
            Ok(0)
        }
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Arguments::command(), "untether", &mut std::io::stdout());
            Ok(0)
        }
        Command::Manual { folder } => manual::write(folder),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            anstream::eprintln!("untether: {} {error}", style::bad("error:"));
            ExitCode::from(error.exit_code())
        }
    }
}
