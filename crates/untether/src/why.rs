//! `untether why WRITER READER`: through what one test depends on another.

use std::collections::HashSet;
use std::path::Path;

use untether_model::{DependencyKind, class_of};
use untether_report::{Meant, Pair, Query, Run, WhyOptions, write_json, write_why};
use untether_store::Store;

use crate::arguments::{Format, WhyArguments};
use crate::error::Error;
use crate::view::{project_folder, to_stdout};

const KINDS: [DependencyKind; 3] = [DependencyKind::Data, DependencyKind::Anti, DependencyKind::Candidate];

pub(crate) fn run(store: &Path, request: &WhyArguments) -> Result<u8, Error> {
    let stored = Store::open_to_read(store)?.latest_run()?;
    let run = Run::new(&stored.detections, &project_folder(store));
    let module = request.module.as_deref();
    let (writer, reader) = (run.find(&request.writer, module)?, run.find(&request.reader, module)?);
    let pairs = between(&run, &writer, &reader);
    if request.format == Format::Json {
        to_stdout(|out| write_json(out, &run, &pairs, None::<()>))?;
        return Ok(0);
    }
    if pairs.is_empty() {
        println!("{} left nothing behind that {} read", writer.label, reader.label);
        if let Some((other_writer, other_reader)) = others(&run, &writer, &reader) {
            println!("but see: untether why '{other_writer}' '{other_reader}'");
        }
        return Ok(0);
    }
    to_stdout(|out| write_why(out, &run, &pairs, WhyOptions { is_complete: request.all }))?;
    Ok(0)
}

fn between(run: &Run<'_>, writer: &Meant<'_>, reader: &Meant<'_>) -> Vec<Pair> {
    let mut pairs = run.pairs(&Query { kinds: &KINDS, is_class_level: false, one: Some(writer), other: Some(reader) });
    pairs.retain(|pair| {
        let (of_writer, of_reader) = pair.writer_and_reader();
        run.is_meant(of_writer, writer) && run.is_meant(of_reader, reader)
    });
    // A candidate that was really observed is shown once.
    let is_observed = |pair: &&Pair| pair.kind == DependencyKind::Data;
    let observed: HashSet<(u32, u32)> = pairs.iter().filter(is_observed).map(|pair| (pair.from, pair.to)).collect();
    pairs.retain(|pair| pair.kind != DependencyKind::Candidate || !observed.contains(&(pair.from, pair.to)));
    pairs
}

/// Two names that are near and have something between them: fixtures are named by their class, or it is the other way round.
fn others<'m>(run: &Run<'_>, writer: &'m Meant<'_>, reader: &'m Meant<'_>) -> Option<(&'m str, &'m str)> {
    let (writer, reader) = (writer.label.as_str(), reader.label.as_str());
    let near = [
        (class_of(writer), reader),
        (writer, class_of(reader)),
        (class_of(writer), class_of(reader)),
        (reader, writer),
    ];
    near.into_iter().filter(|names| *names != (writer, reader)).find(|(other_writer, other_reader)| {
        let found = run.find(other_writer, None).and_then(|writer| Ok((writer, run.find(other_reader, None)?)));
        found.is_ok_and(|(writer, reader)| !between(run, &writer, &reader).is_empty())
    })
}
