//! `untether doctor`: what could not be watched, and whether this machine has what is needed.

use std::path::Path;

use untether_engine::examine;
use untether_report::{write_health, write_health_json};

use crate::arguments::{DoctorArguments, Format};
use crate::error::Error;
use crate::output::to_stdout_in_colour;

pub(crate) fn run(store: &Path, arguments: &DoctorArguments) -> Result<u8, Error> {
    let health = examine(store)?;
    to_stdout_in_colour(|out| match arguments.format {
        Format::Json => write_health_json(out, &health),
        Format::Table => write_health(out, &health),
    })?;
    Ok(if health.is_ready() { 0 } else { 3 })
}
