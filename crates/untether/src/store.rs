//! `untether store`: looking after what is remembered.

use std::path::Path;

use untether_engine::merge;
use untether_report::count;

use crate::arguments::{StoreArguments, StoreCommand};
use crate::error::Error;
use crate::place;

pub(crate) fn run(store: &Path, arguments: &StoreArguments) -> Result<u8, Error> {
    let StoreCommand::Merge { others } = &arguments.command;
    for other in others {
        add(store, other)?;
    }
    Ok(0)
}

fn add(store: &Path, other: &Path) -> Result<(), Error> {
    let merged = merge(store, &place::other(other))?;
    eprintln!(
        "untether: {} about {} from {}",
        count(merged.records, "new record", "new records"),
        count(merged.classes, "test class", "test classes"),
        other.display()
    );
    Ok(())
}
