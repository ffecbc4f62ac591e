//! Colours, for the few things that should be seen first. What is printed through `anstream` loses them where nobody could
//! see them: no terminal, `NO_COLOR`, `TERM=dumb`.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const ASIDE: Style = Style::new().dimmed();

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// What a block is about.
pub fn heading(text: impl Display) -> String {
    styled(HEADING, text)
}

pub fn good(text: impl Display) -> String {
    styled(GOOD, text)
}

/// Something to be aware of.
pub fn doubtful(text: impl Display) -> String {
    styled(DOUBTFUL, text)
}

pub fn bad(text: impl Display) -> String {
    styled(BAD, text)
}

/// Something that most readers pass over.
pub fn aside(text: impl Display) -> String {
    styled(ASIDE, text)
}
