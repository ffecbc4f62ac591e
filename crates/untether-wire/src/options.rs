//! What the program tells the agent: a small text file of `key=value` lines.

use std::path::{Path, PathBuf};

use crate::frame::WireError;
use crate::rules::Rules;

/// The file in the trace directory that is locked as long as somebody waits for the JVM; empty unless they stopped waiting
/// in an orderly way.
pub const LIFELINE: &str = "lifeline";

/// Options of one watched run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentOptions {
    /// Where each JVM writes its trace file.
    pub trace_directory: PathBuf,
    /// Fields whose accesses are not recorded and that are not followed.
    pub ignore: Rules,
    /// Fields that are recorded, but what they refer to is not followed.
    pub opaque: Rules,
    /// Classes whose instances hold no state of a test.
    pub immutable: Rules,
    /// Names whose values are not written to the trace.
    pub secrets: Rules,
    /// Whether the last write of a slot is told, and not the first: slower.
    pub is_thorough: bool,
}

impl AgentOptions {
    const FIRST_LINE: &str = "untether agent options 2";

    pub fn to_text(&self) -> String {
        let mut text = format!("{}\ntrace_directory={}\n", Self::FIRST_LINE, self.trace_directory.display());
        for (key, rules) in [
            ("ignore", &self.ignore),
            ("opaque", &self.opaque),
            ("immutable", &self.immutable),
            ("secret", &self.secrets),
        ] {
            for pattern in rules.patterns() {
                text.push_str(&format!("{key}={pattern}\n"));
            }
        }
        if self.is_thorough {
            text.push_str("thorough=true\n");
        }
        text
    }

    pub fn parse(text: &str) -> Result<Self, WireError> {
        let mut lines = text.lines();
        if lines.next() != Some(Self::FIRST_LINE) {
            return Err(WireError::Options("the first line is not of this version".into()));
        }
        let mut trace_directory = None;
        let (mut ignore, mut opaque, mut immutable, mut secrets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut is_thorough = false;
        for line in lines.filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once('=').ok_or_else(|| WireError::Options(format!("no '=' in '{line}'")))?;
            match key {
                "trace_directory" => trace_directory = Some(PathBuf::from(value)),
                "ignore" => ignore.push(value.to_owned()),
                "opaque" => opaque.push(value.to_owned()),
                "immutable" => immutable.push(value.to_owned()),
                "secret" => secrets.push(value.to_owned()),
                "thorough" => is_thorough = value == "true",
                _ => return Err(WireError::Options(format!("unknown key '{key}'"))),
            }
        }
        Ok(AgentOptions {
            trace_directory: trace_directory.ok_or_else(|| WireError::Options("trace_directory is missing".into()))?,
            ignore: Rules::new(ignore),
            opaque: Rules::new(opaque),
            immutable: Rules::new(immutable),
            secrets: Rules::new(secrets),
            is_thorough,
        })
    }

    pub fn read(path: &Path) -> Result<Self, WireError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| WireError::Options(format!("{}: {error}", path.display())))?;
        Self::parse(&text)
    }
}
