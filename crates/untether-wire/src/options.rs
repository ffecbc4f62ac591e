//! What the program tells the agent: a small text file of `key=value` lines.

use std::path::{Path, PathBuf};

use crate::codec::WireError;
use crate::rules::Rules;

/// The file in the trace directory that is locked as long as somebody waits for the JVM; empty unless they stopped waiting
/// in an orderly way.
pub const LIFELINE: &str = "lifeline";

/// The socket in the same directory where a JVM asks which test classes to leave out, where somebody answers.
pub const QUESTIONS: &str = "questions";

/// The file in the same directory that Maven is to load as an extension, where there is one.
pub const MAVEN_EXTENSION: &str = "maven-extension.jar";

/// Variables of the environment by which the preloaded library knows: the library itself, the options file, and what
/// `LD_PRELOAD` was before, if anything.
pub const AGENT_VARIABLE: &str = "UNTETHER_AGENT";
pub const OPTIONS_VARIABLE: &str = "UNTETHER_OPTIONS";
pub const PRELOAD_BEFORE_VARIABLE: &str = "UNTETHER_PRELOAD_BEFORE";

/// A choice that has a name in the options file.
trait Named: Copy + PartialEq + Sized + 'static {
    const KEY: &'static str;
    const NAMES: &'static [(Self, &'static str)];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(value, _)| *value == self).map_or("", |(_, name)| name)
    }

    fn parse(text: &str) -> Result<Self, WireError> {
        let found = Self::NAMES.iter().find(|(_, name)| *name == text).map(|(value, _)| *value);
        found.ok_or_else(|| WireError::Options(format!("unknown value '{text}' of {}", Self::KEY)))
    }
}

/// What a run wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probes {
    /// Reads and writes.
    All,
    /// Enough to put back what was changed.
    ToPutBack,
    /// Which classes are used, and nothing of the heap.
    Uses,
}

impl Named for Probes {
    const KEY: &'static str = "probes";
    const NAMES: &'static [(Self, &'static str)] =
        &[(Probes::All, "all"), (Probes::ToPutBack, "to-put-back"), (Probes::Uses, "uses")];
}

/// After what the runtime puts everything back, without being asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    None,
    /// After each test class.
    Class,
    /// After each test, what it did; after each class, what its fixtures did.
    Test,
}

impl Named for Isolation {
    const KEY: &'static str = "isolate";
    const NAMES: &'static [(Self, &'static str)] =
        &[(Isolation::None, "none"), (Isolation::Class, "class"), (Isolation::Test, "test")];
}

impl Isolation {
    /// As `UntetherUndo.java` knows it.
    pub fn number(self) -> i32 {
        match self {
            Isolation::None => 0,
            Isolation::Class => 1,
            Isolation::Test => 2,
        }
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
    /// Fields whose collections are not put back where class initializers and tests both add to them.
    pub registries: Rules,
    /// Fields whose collections are only searched for what the searcher has itself put there.
    pub lookups: Rules,
    /// Names whose values are not written to the trace.
    pub secrets: Rules,
    pub probes: Probes,
    pub isolation: Isolation,
    /// Whether the last write of a slot is told, and not the first: slower.
    pub is_thorough: bool,
    /// Whether what happens outside of the heap is told.
    pub external: bool,
    /// Folders whose files are put back as well, besides that for temporary files; none where files stay as they are.
    pub kept_folders: Vec<PathBuf>,
    /// Whether uses of classes are those of tests, and not of whole test classes.
    pub by_test: bool,
}

impl Default for AgentOptions {
    fn default() -> Self {
        AgentOptions {
            trace_directory: PathBuf::new(),
            ignore: Rules::default(),
            opaque: Rules::default(),
            immutable: Rules::default(),
            registries: Rules::default(),
            lookups: Rules::default(),
            secrets: Rules::default(),
            probes: Probes::All,
            isolation: Isolation::None,
            is_thorough: false,
            external: false,
            kept_folders: Vec::new(),
            by_test: false,
        }
    }
}

impl AgentOptions {
    const FIRST_LINE: &str = "untether agent options 9";

    pub fn to_text(&self) -> String {
        let mut text = format!("{}\ntrace_directory={}\n", Self::FIRST_LINE, self.trace_directory.display());
        for (key, rules) in [
            ("ignore", &self.ignore),
            ("opaque", &self.opaque),
            ("immutable", &self.immutable),
            ("registry", &self.registries),
            ("lookup", &self.lookups),
            ("secret", &self.secrets),
        ] {
            for pattern in rules.patterns() {
                text.push_str(&format!("{key}={pattern}\n"));
            }
        }
        text.push_str(&format!("{}={}\n", Probes::KEY, self.probes.name()));
        text.push_str(&format!("{}={}\n", Isolation::KEY, self.isolation.name()));
        if self.is_thorough {
            text.push_str("thorough=true\n");
        }
        if self.external {
            text.push_str("external=true\n");
        }
        if self.by_test {
            text.push_str("by_test=true\n");
        }
        for folder in &self.kept_folders {
            text.push_str(&format!("keep={}\n", folder.display()));
        }
        text
    }

    pub fn parse(text: &str) -> Result<Self, WireError> {
        let mut lines = text.lines();
        if lines.next() != Some(Self::FIRST_LINE) {
            return Err(WireError::Options("the first line is not of this version".into()));
        }
        let mut trace_directory = None;
        let (mut ignore, mut opaque, mut immutable) = (Vec::new(), Vec::new(), Vec::new());
        let (mut registries, mut lookups) = (Vec::new(), Vec::new());
        let (mut secrets, mut kept_folders) = (Vec::new(), Vec::new());
        let (mut is_thorough, mut external, mut by_test) = (false, false, false);
        let (mut probes, mut isolation) = (Probes::All, Isolation::None);
        for line in lines.filter(|line| !line.is_empty()) {
            let (key, value) = line.split_once('=').ok_or_else(|| WireError::Options(format!("no '=' in '{line}'")))?;
            match key {
                "trace_directory" => trace_directory = Some(PathBuf::from(value)),
                "ignore" => ignore.push(value.to_owned()),
                "opaque" => opaque.push(value.to_owned()),
                "immutable" => immutable.push(value.to_owned()),
                "registry" => registries.push(value.to_owned()),
                "lookup" => lookups.push(value.to_owned()),
                "secret" => secrets.push(value.to_owned()),
                Probes::KEY => probes = Probes::parse(value)?,
                Isolation::KEY => isolation = Isolation::parse(value)?,
                "thorough" => is_thorough = value == "true",
                "external" => external = value == "true",
                "by_test" => by_test = value == "true",
                "keep" => kept_folders.push(PathBuf::from(value)),
                _ => return Err(WireError::Options(format!("unknown key '{key}'"))),
            }
        }
        Ok(AgentOptions {
            trace_directory: trace_directory.ok_or_else(|| WireError::Options("trace_directory is missing".into()))?,
            ignore: Rules::new(ignore),
            opaque: Rules::new(opaque),
            immutable: Rules::new(immutable),
            registries: Rules::new(registries),
            lookups: Rules::new(lookups),
            secrets: Rules::new(secrets),
            probes,
            isolation,
            is_thorough,
            external,
            kept_folders,
            by_test,
        })
    }

    pub fn read(path: &Path) -> Result<Self, WireError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| WireError::Options(format!("{}: {error}", path.display())))?;
        Self::parse(&text)
    }
}
