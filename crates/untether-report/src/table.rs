//! `deps` as a table: one block for each field, since one field is one thing to mend.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Result, Write};

use untether_model::DependencyKind;

use crate::pairs::{Channel, Pair};
use crate::rank::{Standing, is_property};
use crate::run::{Party, Run};
use crate::stack::place;
use crate::text::{count, cut_in_the_middle};

#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// Whether the pairs are those between classes, not between tests.
    pub is_class_level: bool,
    /// Also pairs that meet only inside of libraries and the JDK.
    pub with_libraries: bool,
    /// Every block and every pair, however many.
    pub is_complete: bool,
}

/// Blocks, and lines of pairs in them, that fit on two screens.
const MOST_BLOCKS: usize = 12;
const LINES: usize = 36;
/// Characters of a path.
const WIDTH: usize = 100;

/// A field with the pairs that meet in it.
struct Block<'p> {
    kind: DependencyKind,
    /// Classes of equal names in two modules are two classes.
    module: usize,
    /// Whether another block has the field of another module.
    is_ambiguous: bool,
    field: &'p str,
    /// Each pair with its channels in the field, best first.
    pairs: Vec<(&'p Pair, Vec<&'p Channel>)>,
}

impl Block<'_> {
    fn best(&self) -> Option<&Channel> {
        self.pairs.iter().filter_map(|(_, channels)| channels.first()).copied().min_by_key(|channel| channel.rank)
    }

    fn writers(&self) -> BTreeSet<Party> {
        self.pairs.iter().map(|(pair, _)| pair.writer_and_reader().0).collect()
    }

    fn readers(&self) -> BTreeSet<Party> {
        self.pairs.iter().map(|(pair, _)| pair.writer_and_reader().1).collect()
    }
}

pub fn write_table(out: &mut dyn Write, run: &Run<'_>, pairs: &[Pair], options: TableOptions) -> Result<()> {
    if pairs.is_empty() {
        return writeln!(out, "no dependencies");
    }
    let blocks = blocks(run, pairs, options.with_libraries);
    if blocks.is_empty() {
        writeln!(out, "no dependencies through the project's own state")?;
    }
    let shown = if options.is_complete { blocks.len() } else { blocks.len().min(MOST_BLOCKS) };
    let lines = if options.is_complete { usize::MAX } else { (LINES / shown.max(1)).clamp(3, 20) };
    for (index, block) in blocks.iter().take(shown).enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_block(out, run, block, lines, options.is_class_level)?;
    }
    if blocks.len() > shown {
        let rest = &blocks[shown..];
        let likely = rest.iter().filter_map(Block::best).any(|channel| channel.rank.standing != Standing::OwnHinted);
        let hint = if likely || options.with_libraries { "" } else { ", all of them lazy or set by initializers" };
        writeln!(out)?;
        writeln!(out, "and {}{hint}; --all shows them", count(rest.len(), "more field", "more fields"))?;
    }
    if !options.with_libraries {
        write_libraries(out, run, pairs, !blocks.is_empty())?;
    }
    Ok(())
}

fn blocks<'p>(run: &'p Run<'_>, pairs: &'p [Pair], with_libraries: bool) -> Vec<Block<'p>> {
    let mut by_field: BTreeMap<(DependencyKind, usize, &str), Block<'p>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| with_libraries || pair.is_own()) {
        let mut of_pair: BTreeMap<&str, Vec<&Channel>> = BTreeMap::new();
        for channel in run.telling_channels(pair) {
            of_pair.entry(run.field(channel)).or_default().push(channel);
        }
        for (field, channels) in of_pair {
            let module = run.party(pair.to).module;
            let new = || Block { kind: pair.kind, module, is_ambiguous: false, field, pairs: Vec::new() };
            by_field.entry((pair.kind, module, field)).or_insert_with(new).pairs.push((pair, channels));
        }
    }
    let mut modules: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for &(_, module, field) in by_field.keys() {
        modules.entry(field).or_default().insert(module);
    }
    let mut blocks: Vec<Block<'p>> = by_field.into_values().collect();
    for block in &mut blocks {
        block.is_ambiguous = modules[block.field].len() > 1;
    }
    blocks.sort_by_cached_key(|block| {
        let rank = block.best().map(|channel| (channel.rank.standing, channel.rank.detours, channel.rank.is_qualified));
        (block.kind, rank, Reverse(block.readers().len()), block.field, block.module)
    });
    blocks
}

fn write_block(
    out: &mut dyn Write,
    run: &Run<'_>,
    block: &Block<'_>,
    lines: usize,
    is_class_level: bool,
) -> Result<()> {
    let (readers, writers) = (block.readers(), block.writers());
    let (has_many_readers, has_many_writers) = (readers.len() > 1, writers.len() > 1);
    let counted = |all: &BTreeSet<Party>| {
        if is_class_level { count(all.len(), "class", "classes") } else { parties(run, all) }
    };
    let (readers, writers) = (counted(&readers), counted(&writers));
    let verb =
        |is_plural: bool, plural: &'static str, singular: &'static str| if is_plural { plural } else { singular };
    let sentence = match block.kind {
        DependencyKind::Data => format!("{readers} read what {writers} wrote"),
        DependencyKind::Anti => format!("{writers} overwrote what {readers} had read"),
        DependencyKind::Candidate => format!(
            "{readers} {} what {writers} {}, in whatever order (candidates)",
            verb(has_many_readers, "read", "reads"),
            verb(has_many_writers, "change", "changes")
        ),
    };
    let module = if block.is_ambiguous { format!(" in {}", run.modules[block.module]) } else { String::new() };
    writeln!(out, "{}{module}: {sentence}", block.field)?;
    if let Some(best) = block.best() {
        write_best(out, run, block, best)?;
    }
    let by_writer = by_source(block);
    for (from, of_source) in by_writer.iter().take(lines) {
        let more = match of_source.len() - 1 {
            0 => String::new(),
            more => format!(" (and {})", count(more, "other", "others")),
        };
        writeln!(out, "  {} -> {}{more}", run.label(*from), run.label(of_source[0].to))?;
    }
    if by_writer.len() > lines {
        let left: usize = by_writer[lines..].iter().map(|(_, pairs)| pairs.len()).sum();
        writeln!(out, "  and {}; --all or --test TEST shows them", count(left, "more pair", "more pairs"))?;
    }
    Ok(())
}

/// Where it happens, how it is reached and what else is known of it, where that says more than the field's name.
fn write_best(out: &mut dyn Write, run: &Run<'_>, block: &Block<'_>, best: &Channel) -> Result<()> {
    let resource = run.resource(best);
    let names: BTreeSet<&str> = block
        .pairs
        .iter()
        .flat_map(|(_, channels)| channels)
        .map(|channel| run.resource(channel).name.as_str())
        .collect();
    let is_said = |name: &str| block.field == name || block.field.ends_with(&format!(".{name}"));
    let elements: Vec<&str> = names.into_iter().filter(|name| !is_said(name)).collect();
    if !elements.is_empty() {
        const MOST: usize = 3;
        let shown: Vec<String> = elements.iter().take(MOST).map(|name| cut_in_the_middle(name, WIDTH)).collect();
        let more = match elements.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        writeln!(out, "  through {}{more}", shown.join(", "))?;
    }
    let is_static = resource.root == resource.field;
    if !is_static && !is_property(resource) {
        writeln!(out, "  reached as {}", cut_in_the_middle(&resource.path, WIDTH))?;
    }
    let detection = run.detection(best);
    let written = place(detection, run.write_lines(best)).map(|place| format!("written at {place}"));
    let read = place(detection, run.read_lines(best)).map(|place| format!("read at {place}"));
    let places = written.into_iter().chain(read).collect::<Vec<_>>().join(", ");
    let words: Vec<String> =
        Some(places).filter(|places| !places.is_empty()).into_iter().chain(label_words(best)).collect();
    if !words.is_empty() {
        writeln!(out, "  {}", words.join(" "))?;
    }
    Ok(())
}

/// `(lazy)`, and other labels, as `docs/json.md` explains them.
pub(crate) fn label_words(channel: &Channel) -> impl Iterator<Item = String> {
    channel.labels.iter().filter_map(|label| Some(format!("({})", serde_json::to_value(label).ok()?.as_str()?)))
}

/// The pairs of a block by where they come from: those with most first, and of those the most
/// telling pair.
fn by_source<'p>(block: &Block<'p>) -> Vec<(Party, Vec<&'p Pair>)> {
    let mut by_source: BTreeMap<Party, Vec<&Pair>> = BTreeMap::new();
    let mut pairs: Vec<(&Pair, _)> =
        block.pairs.iter().map(|(pair, channels)| (*pair, channels.first().map(|channel| channel.rank))).collect();
    pairs.sort_by_key(|(pair, rank)| (*rank, pair.to));
    for (pair, _) in pairs {
        by_source.entry(pair.from).or_default().push(pair);
    }
    let mut by_source: Vec<(Party, Vec<&Pair>)> = by_source.into_iter().collect();
    by_source.sort_by_key(|(from, pairs)| (Reverse(pairs.len()), *from));
    by_source
}

/// `2 tests and 1 class fixture`.
pub(crate) fn parties(run: &Run<'_>, parties: &BTreeSet<Party>) -> String {
    let tests = parties.iter().filter(|&&party| run.party(party).test.is_some()).count();
    let fixtures = count(parties.len() - tests, "class fixture", "class fixtures");
    match (tests, parties.len() - tests) {
        (tests, 0) => count(tests, "test", "tests"),
        (0, _) => fixtures,
        (tests, _) => format!("{} and {fixtures}", count(tests, "test", "tests")),
    }
}

fn write_libraries(out: &mut dyn Write, run: &Run<'_>, pairs: &[Pair], comes_last: bool) -> Result<()> {
    let foreign: Vec<&Pair> = pairs.iter().filter(|pair| !pair.is_own()).collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let fields: BTreeSet<&str> =
        foreign.iter().flat_map(|pair| &pair.channels).map(|channel| run.field(channel)).collect();
    let (one, many) =
        if comes_last { ("more dependency", "more dependencies") } else { ("dependency", "dependencies") };
    if comes_last {
        writeln!(out)?;
    }
    writeln!(
        out,
        "{} only inside of libraries and the JDK, through {}; --libraries shows them",
        count(foreign.len(), one, many),
        count(fields.len(), "field", "fields")
    )
}
