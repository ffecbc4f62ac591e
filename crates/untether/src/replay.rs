//! `untether replay`: the proof of a finding, run again.

use std::path::Path;

use untether_engine::{ReplayRequest, replay};
use untether_report::{write_replay, write_replay_json};

use crate::arguments::{Format, ReplayArguments};
use crate::error::Error;
use crate::output::to_stdout;
use crate::place;

pub(crate) fn run(store: &Path, arguments: &ReplayArguments) -> Result<u8, Error> {
    let replayed = replay(&ReplayRequest {
        store,
        project: place::project_of(store),
        id: &arguments.id,
        test_timeout: arguments.test_timeout,
    })?;
    to_stdout(|out| match arguments.format {
        Format::Json => write_replay_json(out, &replayed),
        Format::Table => write_replay(out, &replayed),
    })?;
    Ok(u8::from(!replayed.is_reproduced()))
}
