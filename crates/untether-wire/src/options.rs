//! What the program tells the agent: a small text file of `key=value` lines.

use std::path::{Path, PathBuf};

use crate::codec::WireError;
use crate::rules::Rules;

/// The file in the trace directory that is locked as long as somebody waits for the JVM; empty unless they stopped waiting
/// in an orderly way.
pub const LIFELINE: &str = "lifeline";

/// Variables of the environment by which the preloaded library knows: the library itself, the options file, and what
/// `LD_PRELOAD` was before, if anything.
pub const AGENT_VARIABLE: &str = "UNTETHER_AGENT";
pub const OPTIONS_VARIABLE: &str = "UNTETHER_OPTIONS";
pub const PRELOAD_BEFORE_VARIABLE: &str = "UNTETHER_PRELOAD_BEFORE";

/// Which accesses of the heap a run wants to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probes {
    /// Reads and writes.
    All,
    /// Enough to put back what was changed.
    Writes,
}

impl Probes {
    const NAMES: [(Probes, &str); 2] = [(Probes::All, "all"), (Probes::Writes, "writes")];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(probes, _)| *probes == self).map_or("all", |(_, name)| name)
    }

    fn parse(text: &str) -> Result<Self, WireError> {
        let found = Self::NAMES.iter().find(|(_, name)| *name == text).map(|(probes, _)| *probes);
        found.ok_or_else(|| WireError::Options(format!("unknown probes '{text}'")))
    }
}

/// Options of one watched run.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub probes: Probes,
    /// Whether the last write of a slot is told, and not the first: slower.
    pub is_thorough: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        AgentOptions {
            trace_directory: PathBuf::new(),
            ignore: Rules::default(),
            opaque: Rules::default(),
            immutable: Rules::default(),
            secrets: Rules::default(),
            probes: Probes::All,
            is_thorough: false,
        }
    }
}

impl AgentOptions {
    const FIRST_LINE: &str = "untether agent options 3";

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
        text.push_str(&format!("probes={}\n", self.probes.name()));
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
        let mut probes = Probes::All;
        for line in lines.filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once('=').ok_or_else(|| WireError::Options(format!("no '=' in '{line}'")))?;
            match key {
                "trace_directory" => trace_directory = Some(PathBuf::from(value)),
                "ignore" => ignore.push(value.to_owned()),
                "opaque" => opaque.push(value.to_owned()),
                "immutable" => immutable.push(value.to_owned()),
                "secret" => secrets.push(value.to_owned()),
                "probes" => probes = Probes::parse(value)?,
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
            probes,
            is_thorough,
        })
    }

    pub fn read(path: &Path) -> Result<Self, WireError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| WireError::Options(format!("{}: {error}", path.display())))?;
        Self::parse(&text)
    }
}
