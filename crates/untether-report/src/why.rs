//! `why`: through what one test depends on another, the most telling resource with both stacks.

use std::collections::HashSet;
use std::io::{Result, Write};

use untether_model::{DependencyKind, class_of};

use crate::naming::Meant;
use crate::pairs::{Channel, Pair, Query};
use crate::run::Run;
use crate::stack::{place, write_stack};
use crate::table::label_words;
use crate::text::{count, cut_in_the_middle};

#[derive(Debug, Clone, Copy)]
pub struct WhyOptions {
    /// Everything with its stacks, and those whole.
    pub is_complete: bool,
}

/// Resources and pairs that get a line of their own.
const MOST: usize = 15;
const WIDTH: usize = 100;

const KINDS: [DependencyKind; 3] = [DependencyKind::Data, DependencyKind::Anti, DependencyKind::Candidate];

/// In what the second read something of the first, or would have.
pub fn pairs_between(run: &Run<'_>, writer: &Meant<'_>, reader: &Meant<'_>) -> Vec<Pair> {
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

/// That there is nothing between the two, and where there is something.
pub fn write_nothing_between(out: &mut dyn Write, run: &Run<'_>, writer: &Meant<'_>, reader: &Meant<'_>) -> Result<()> {
    writeln!(out, "{} left nothing behind that {} read", writer.label, reader.label)?;
    if let Some((other_writer, other_reader)) = others(run, writer, reader) {
        writeln!(out, "but see: untether why '{other_writer}' '{other_reader}'")?;
    }
    Ok(())
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
        found.is_ok_and(|(writer, reader)| !pairs_between(run, &writer, &reader).is_empty())
    })
}

/// The pairs between two tests or classes: the first in full, others in a line each.
pub fn write_why(out: &mut dyn Write, run: &Run<'_>, pairs: &[Pair], options: WhyOptions) -> Result<()> {
    let mut sorted: Vec<&Pair> = pairs.iter().collect();
    sorted.sort_by_key(|pair| (pair.kind, pair.channels.first().map(|channel| channel.rank), pair.to, pair.from));
    let in_full = if options.is_complete { sorted.len() } else { 1 };
    for (index, pair) in sorted.iter().take(in_full).enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_pair(out, run, pair, options)?;
    }
    if sorted.len() > in_full {
        writeln!(out)?;
        for pair in sorted[in_full..].iter().take(MOST) {
            let through = pair.channels.first().map(|channel| cut_in_the_middle(&run.resource(channel).name, WIDTH));
            writeln!(out, "also {}: {}", sentence(run, pair), through.unwrap_or_default())?;
        }
        let left = (sorted.len() - in_full).saturating_sub(MOST);
        let left = if left > 0 { format!("and {}; ", count(left, "more pair", "more pairs")) } else { String::new() };
        writeln!(out, "({left}--all shows everything in full)")?;
    }
    Ok(())
}

fn sentence(run: &Run<'_>, pair: &Pair) -> String {
    let (from, to) = (run.label(pair.from), run.label(pair.to));
    match pair.kind {
        DependencyKind::Data => format!("{to} read what {from} wrote"),
        DependencyKind::Anti => format!("{to} overwrote what {from} had read"),
        DependencyKind::Candidate => format!("{to} would read what {from} writes, if it ran after it"),
    }
}

fn write_pair(out: &mut dyn Write, run: &Run<'_>, pair: &Pair, options: WhyOptions) -> Result<()> {
    writeln!(out, "{}", sentence(run, pair))?;
    if options.is_complete {
        return pair.channels.iter().try_for_each(|channel| write_in_full(out, run, channel, false));
    }
    let telling: Vec<&Channel> = run.telling_channels(pair).collect();
    let Some((best, others)) = telling.split_first() else { return Ok(()) };
    write_in_full(out, run, best, true)?;
    let libraries = pair.channels.len() - telling.len();
    if others.is_empty() && libraries == 0 {
        return Ok(());
    }
    writeln!(out)?;
    for channel in others.iter().take(MOST) {
        writeln!(out, "  also {}", in_a_line(run, channel))?;
    }
    let left = others.len().saturating_sub(MOST);
    if left > 0 {
        writeln!(out, "  and {left} more; --all shows them")?;
    }
    if libraries > 0 {
        let resources = count(libraries, "resource", "resources");
        writeln!(out, "  and {resources} inside of libraries and the JDK; --all shows them")?;
    }
    Ok(())
}

fn write_in_full(out: &mut dyn Write, run: &Run<'_>, channel: &Channel, is_folded: bool) -> Result<()> {
    let resource = run.resource(channel);
    writeln!(out)?;
    let words: Vec<String> = std::iter::once(resource.name.clone()).chain(label_words(channel)).collect();
    writeln!(out, "  {}", words.join(" "))?;
    if resource.path != resource.name {
        let path = if is_folded { cut_in_the_middle(&resource.path, WIDTH) } else { resource.path.clone() };
        writeln!(out, "  (reached as {path})")?;
    }
    let detection = run.detection(channel);
    write_stack(out, "written at", detection, run.write_lines(channel), is_folded)?;
    write_stack(out, "read at", detection, run.read_lines(channel), is_folded)
}

fn in_a_line(run: &Run<'_>, channel: &Channel) -> String {
    let detection = run.detection(channel);
    let written = place(detection, run.write_lines(channel)).map(|place| format!("written at {place}"));
    let read = place(detection, run.read_lines(channel)).map(|place| format!("read at {place}"));
    let name = cut_in_the_middle(&run.resource(channel).name, WIDTH);
    let places = std::iter::once(name).chain(written).chain(read).collect::<Vec<_>>().join(", ");
    std::iter::once(places).chain(label_words(channel)).collect::<Vec<_>>().join(" ")
}
