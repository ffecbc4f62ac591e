//! `untether why WRITER READER`: each resource between two tests, with both stacks.

use std::path::Path;

use serde::Serialize;
use untether_model::{DependencyKind, StackLine, class_of};
use untether_store::Store;

use crate::arguments::{Format, WhyArguments};
use crate::deps::check_name;
use crate::error::Error;
use crate::view::{self, DependencyView, JSON_VERSION};

const KINDS: [DependencyKind; 3] = [DependencyKind::Data, DependencyKind::Anti, DependencyKind::Candidate];

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    dependencies: &'d [DependencyView<'d>],
}

pub(crate) fn run(store: &Path, request: &WhyArguments) -> Result<u8, Error> {
    let run = Store::open_to_read(store)?.latest_run()?;
    check_name(&run, &request.writer)?;
    check_name(&run, &request.reader)?;
    let between = |given_writer: &str, given_reader: &str| {
        let mut pairs = view::pairs(&run, &KINDS, false, (Some(given_writer), Some(given_reader)));
        pairs.retain(|pair| {
            let (writer, reader) =
                if pair.kind == DependencyKind::Anti { (pair.to, pair.from) } else { (pair.from, pair.to) };
            view::is_named(writer, given_writer) && view::is_named(reader, given_reader)
        });
        pairs
    };
    let mut pairs = between(&request.writer, &request.reader);
    // A candidate that was really observed is shown once.
    let observed: Vec<(&str, &str)> =
        pairs.iter().filter(|pair| pair.kind == DependencyKind::Data).map(|pair| (pair.from, pair.to)).collect();
    pairs.retain(|pair| pair.kind != DependencyKind::Candidate || !observed.contains(&(pair.from, pair.to)));
    if request.format == Format::Json {
        let document = Document { version: JSON_VERSION, dependencies: &pairs };
        println!("{}", serde_json::to_string_pretty(&document).map_err(|e| Error::Failed(e.to_string()))?);
        return Ok(0);
    }
    if pairs.is_empty() {
        println!("{} left nothing behind that {} read", request.writer, request.reader);
        let (writer, reader) = (request.writer.as_str(), request.reader.as_str());
        // Fixtures are named by their class.
        for (other_writer, other_reader) in [
            (class_of(writer), reader),
            (writer, class_of(reader)),
            (class_of(writer), class_of(reader)),
            (reader, writer),
        ] {
            let is_new = (other_writer, other_reader) != (writer, reader);
            if is_new && !between(other_writer, other_reader).is_empty() {
                println!("but see: untether why '{other_writer}' '{other_reader}'");
                break;
            }
        }
        return Ok(0);
    }
    for pair in &pairs {
        print_pair(pair);
    }
    Ok(0)
}

fn print_pair(pair: &DependencyView<'_>) {
    match pair.kind {
        DependencyKind::Data => println!("{} read what {} wrote", pair.to, pair.from),
        DependencyKind::Anti => println!("{} overwrote what {} had read", pair.to, pair.from),
        DependencyKind::Candidate => {
            println!("{} would read what {} writes, if it ran after it", pair.to, pair.from);
        }
    }
    for resource in &pair.resources {
        println!();
        println!("  {}", resource.name);
        if resource.root != resource.name {
            println!("  (below {})", resource.root);
        }
        print_stack("written at", resource.write.stack);
        print_stack("read at", resource.read.stack);
    }
    println!();
}

fn print_stack(title: &str, stack: &[StackLine]) {
    println!("    {title}");
    if stack.is_empty() {
        println!("      (no stack was kept, as nobody else had written it by then)");
    }
    const MOST: usize = 30;
    let end = stack.iter().position(is_harness).unwrap_or(stack.len());
    for line in &stack[..end.min(MOST)] {
        println!("      {line}");
    }
    if end > MOST {
        println!("      ... {} more", end - MOST);
    }
}

/// Frames below the test itself: reflection and the framework.
fn is_harness(line: &StackLine) -> bool {
    let class = line.class.as_str();
    // Hidden classes of method handles are named by their address.
    [
        "0x",
        "java.lang.invoke.",
        "jdk.internal.reflect.",
        "java.lang.reflect.Method",
        "org.junit.platform.",
        "org.junit.runner",
        "junit.framework.",
    ]
    .iter()
    .any(|prefix| class.starts_with(prefix))
}
