//! Stacks as a person reads them: without the framework below the test, and with libraries folded.

use std::io::{Result, Write};

use untether_frameworks::is_harness;
use untether_model::{Detection, StackLine, simple_name};

use crate::rank::is_own_line;

/// Lines of libraries in a row that are not worth folding.
const SHORT: usize = 4;
/// Lines that a folded stack has at most.
const MOST: usize = 30;

pub(crate) fn write_stack(
    out: &mut dyn Write,
    title: &str,
    detection: &Detection,
    stack: &[StackLine],
    is_folded: bool,
) -> Result<()> {
    writeln!(out, "    {title}")?;
    if stack.is_empty() {
        return writeln!(out, "      (no stack was kept, as nobody else had written it by then)");
    }
    let is_own = |line: &StackLine| is_own_line(detection, line);
    let below_own = stack.iter().rposition(is_own).map_or(0, |last| last + 1);
    let stack =
        &stack[..stack.iter().position(|line| is_harness(line.class.as_bytes())).unwrap_or(stack.len()).max(below_own)];
    let is_kept = |at: usize| at < 2 || is_own(&stack[at]) || stack.get(at + 1).is_some_and(is_own);
    let (mut at, mut written) = (0, 0);
    while at < stack.len() {
        let foldable = (at..stack.len()).take_while(|&at| is_folded && !is_kept(at)).count();
        if foldable > SHORT {
            writeln!(out, "      ... {foldable} lines of libraries")?;
            at += foldable;
            continue;
        }
        if is_folded && written == MOST {
            return writeln!(out, "      ... {} more lines", stack.len() - at);
        }
        writeln!(out, "      {}", stack[at])?;
        (at, written) = (at + 1, written + 1);
    }
    Ok(())
}

/// The line of the project's own code at which it happens, shortly; nothing where there is none.
pub(crate) fn place(detection: &Detection, stack: &[StackLine]) -> Option<String> {
    let line = detection.own_line(stack)?;
    let at = match (line.file.as_str(), line.line) {
        ("", _) => String::new(),
        (file, 0) => format!(" ({file})"),
        (file, line) => format!(" ({file}:{line})"),
    };
    Some(format!("{}.{}{at}", simple_name(&line.class), line.method))
}
