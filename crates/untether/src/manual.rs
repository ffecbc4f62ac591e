//! `untether manual`: the help of all commands as manual pages.

use std::path::Path;

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::error::Error;

pub(crate) fn write(folder: &Path) -> Result<u8, Error> {
    let failed = |error: std::io::Error| Error::Failed(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Arguments::command(), folder).map_err(failed)?;
    Ok(0)
}
