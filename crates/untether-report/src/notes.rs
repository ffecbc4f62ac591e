//! What was noticed while tests were watched and everybody should know, right after the run; `doctor` has the rest.

use std::collections::HashSet;
use std::io::{Result, Write};

use untether_model::{Detection, Note};

use crate::style;

/// `prefix` starts every line.
pub fn write_notes(out: &mut dyn Write, detections: &[Detection], prefix: &str) -> Result<()> {
    let (note, warning) = (style::doubtful("note:"), style::doubtful("warning:"));
    let mut said = HashSet::new();
    for text in detections.iter().flat_map(|detection| &detection.notes).map(sentence) {
        if said.insert(text.clone()) {
            writeln!(out, "{prefix}{note} {text}")?;
        }
    }
    let cut_off = detections.iter().filter(|detection| !detection.is_complete).count();
    if cut_off > 0 {
        writeln!(out, "{prefix}{warning} {cut_off} JVM(s) ended abruptly; what they did until then was kept")?;
    }
    let refused: usize = detections.iter().map(|detection| detection.refusals.len()).sum();
    if refused > 0 {
        writeln!(out, "{prefix}{note} {refused} methods could not be watched; 'untether doctor' names them")?;
    }
    Ok(())
}

fn sentence(note: &Note) -> String {
    match note.kind.as_str() {
        "sequential" => format!("the suite asks for parallel execution ({}); it was run sequentially", note.text),
        "cut-off" => format!("the JVM ended during {}", note.text),
        "unsupported" => format!("a JVM could not be watched: {}", note.text),
        "order" => format!(
            "{}: it is another in each kind of JVM, so it may not be that of a run without untether; what was watched \
             counts as the original order",
            note.text
        ),
        "testng" => note.text.clone(),
        _ => format!("{}: {}", note.kind, note.text),
    }
}
