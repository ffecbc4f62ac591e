//! What the program tells the agent arrives as it was meant.

use std::path::PathBuf;

use proptest::prelude::*;
use untether_wire::{AgentOptions, Isolation, Probes, Rules, WireError};

/// Any text that fits on one line, `=` and `!` included.
const LINE: &str = r"[^\r\n]{0,20}";

fn rules() -> impl Strategy<Value = Rules> {
    prop::collection::vec(LINE, 0..6).prop_map(Rules::new)
}

fn options() -> impl Strategy<Value = AgentOptions> {
    let parts = (LINE, rules(), rules(), rules(), rules(), rules(), any::<bool>());
    parts.prop_map(|(directory, ignore, opaque, immutable, registries, secrets, is_thorough)| AgentOptions {
        probes: if is_thorough { Probes::All } else { Probes::ToPutBack },
        isolation: if is_thorough { Isolation::Test } else { Isolation::Class },
        trace_directory: PathBuf::from(directory),
        ignore,
        opaque,
        immutable,
        lookups: registries.clone(),
        registries,
        secrets,
        is_thorough,
        external: !is_thorough,
        by_test: is_thorough,
        kept_folders: if is_thorough { vec![PathBuf::from("/some/project"), PathBuf::from("=")] } else { Vec::new() },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn options_are_parsed_as_they_were_written(options in options()) {
        prop_assert_eq!(AgentOptions::parse(&options.to_text()), Ok(options));
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = AgentOptions::parse(&text);
        let _ = AgentOptions::parse(&format!("untether agent options 5\n{text}"));
    }
}

/// The text of options with `line` in place of the line that starts with `prefix`.
fn with_line(prefix: &str, line: &str) -> String {
    let options = AgentOptions { trace_directory: "traces".into(), ..AgentOptions::default() };
    let text = options.to_text();
    text.lines().map(|old| if old.starts_with(prefix) { line } else { old }).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_cannot_be_understood_is_named() {
    let cases = [
        (with_line("untether agent options", "untether agent options 1"), "the first line is not of this version"),
        (with_line("trace_directory", ""), "trace_directory is missing"),
        (with_line("trace_directory", "traces"), "no '=' in 'traces'"),
        (with_line("trace_directory", "colour=blue"), "unknown key 'colour'"),
    ];
    for (text, complaint) in cases {
        assert_eq!(AgentOptions::parse(&text), Err(WireError::Options(complaint.into())), "{text}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-such-options");
    let complaint = AgentOptions::read(&path).unwrap_err().to_string();
    assert!(complaint.contains(&path.display().to_string()), "{complaint}");
}
