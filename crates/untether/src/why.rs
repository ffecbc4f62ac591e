//! `untether why WRITER READER`: through what one test depends on another.

use std::path::Path;

use untether_report::{Run, WhyOptions, pairs_between, write_json, write_nothing_between, write_why};
use untether_store::Store;

use crate::arguments::{Format, WhyArguments};
use crate::error::Error;
use crate::output::to_stdout;
use crate::place;

pub(crate) fn run(store: &Path, request: &WhyArguments) -> Result<u8, Error> {
    let stored = Store::open_to_read(store)?.latest_run()?;
    let run = Run::new(&stored.detections, &place::folder_of(store));
    let module = request.module.as_deref();
    let (writer, reader) = (run.find(&request.writer, module)?, run.find(&request.reader, module)?);
    let pairs = pairs_between(&run, &writer, &reader);
    to_stdout(|out| match request.format {
        Format::Json => write_json(out, &run, &pairs, None::<()>),
        Format::Table if pairs.is_empty() => write_nothing_between(out, &run, &writer, &reader),
        Format::Table => write_why(out, &run, &pairs, WhyOptions { is_complete: request.all }),
    })?;
    Ok(0)
}
