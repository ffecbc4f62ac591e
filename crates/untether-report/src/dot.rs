//! Dependencies as a graph for Graphviz.

use std::io::{Result, Write};

use untether_model::{Finding, Role};

use crate::pairs::Pair;
use crate::run::Run;
use crate::text::cut_in_the_middle;

/// Pairs, and findings as edges of another kind.
pub fn write_graph(
    out: &mut dyn Write,
    run: &Run<'_>,
    pairs: &[Pair],
    with_libraries: bool,
    findings: &[Finding],
) -> Result<()> {
    writeln!(out, "digraph dependencies {{")?;
    writeln!(out, "  rankdir=LR; node [shape=box];")?;
    for pair in pairs.iter().filter(|pair| with_libraries || pair.is_own()) {
        let mut channels = run.telling_channels(pair);
        let through = channels.next().map(|channel| cut_in_the_middle(&run.resource(channel).name, 60));
        let others = match channels.count() {
            0 => String::new(),
            others => format!(" +{others}"),
        };
        let label = format!("{}{others}", through.unwrap_or_default());
        write_edge(out, &run.full_label(pair.from), &run.full_label(pair.to), &label, "")?;
    }
    for finding in findings {
        let relation = match finding.role {
            Role::Brittle => "setter",
            Role::Victim => "polluter",
        };
        for other in finding.others() {
            write_edge(out, other, &finding.test, relation, "style=bold")?;
        }
    }
    writeln!(out, "}}")
}

/// `attributes` are those beside the label.
fn write_edge(out: &mut dyn Write, from: &str, to: &str, label: &str, attributes: &str) -> Result<()> {
    let separator = if attributes.is_empty() { "" } else { ", " };
    writeln!(out, "  {} -> {} [label={}{separator}{attributes}];", quoted(from), quoted(to), quoted(label))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
