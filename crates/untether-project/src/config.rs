//! `untether.toml`: the built-in defaults, and what a project adds to them.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use untether_wire::Rules;

/// The commented default rules.
pub const DEFAULTS: &str = include_str!("defaults.toml");

/// The name of the file that a project may have.
const FILE_NAME: &str = "untether.toml";

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path} is not valid: {message}")]
    Invalid { path: PathBuf, message: String },
}

/// What the user can set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub ignore: Rules,
    pub opaque: Rules,
    pub immutable: Rules,
    /// What `ignore` becomes where changes are put back.
    pub ignore_in_undo: Rules,
    /// Fields whose collections are not put back where class initializers and tests both add to them.
    pub registries: Rules,
    /// Fields whose collections are only searched for what the searcher has itself put there.
    pub lookups: Rules,
    /// Names of environment variables, properties and options whose values are not kept.
    pub secrets: Rules,
    /// Paths and addresses that are left out.
    pub ignored_external: Rules,
    /// Those of them that the project has added.
    pub own_ignored_external: Vec<String>,
    /// Whether what happens outside of the heap is watched.
    pub watches_external: bool,
    /// Folders whose files are put back where changes in memory are.
    pub kept_folders: Vec<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    detect: Detect,
    external: External,
    undo: Undo,
    store: Store,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct External {
    ignore: Vec<String>,
    watch: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Detect {
    ignore: Vec<String>,
    opaque: Vec<String>,
    immutable: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Undo {
    ignore: Vec<String>,
    registries: Vec<String>,
    lookups: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Store {
    secrets: Vec<String>,
}

impl Config {
    /// The defaults with the additions of `directory/untether.toml`, if there is one.
    pub fn load(directory: &Path) -> Result<Self, ConfigError> {
        let defaults = parse(DEFAULTS, Path::new("the built-in defaults"))?;
        let path = directory.join(FILE_NAME);
        let own = match std::fs::read_to_string(&path) {
            Ok(text) => parse(&text, &path)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => File::default(),
            Err(source) => return Err(ConfigError::Unreadable { path, source }),
        };
        let join = |a: Vec<String>, b: Vec<String>| Rules::new(a.into_iter().chain(b));
        let in_detection = [&defaults.detect.ignore, &own.detect.ignore];
        let in_undo = in_detection.into_iter().chain([&defaults.undo.ignore, &own.undo.ignore]);
        Ok(Config {
            ignore_in_undo: Rules::new(in_undo.flatten().cloned()),
            ignore: join(defaults.detect.ignore, own.detect.ignore),
            opaque: join(defaults.detect.opaque, own.detect.opaque),
            immutable: join(defaults.detect.immutable, own.detect.immutable),
            registries: join(defaults.undo.registries, own.undo.registries),
            lookups: join(defaults.undo.lookups, own.undo.lookups),
            secrets: join(defaults.store.secrets, own.store.secrets),
            own_ignored_external: own.external.ignore.clone(),
            ignored_external: join(defaults.external.ignore, own.external.ignore),
            watches_external: own.external.watch.unwrap_or(true),
            kept_folders: Vec::new(),
        })
    }
}

fn parse(text: &str, path: &Path) -> Result<File, ConfigError> {
    let invalid = |message: String| ConfigError::Invalid { path: path.to_path_buf(), message };
    let file: File = toml::from_str(text).map_err(|error| invalid(error.to_string()))?;
    let File { detect, external, undo, store } = &file;
    let lists = [&detect.ignore, &detect.opaque, &detect.immutable, &external.ignore];
    let lists = lists.into_iter().chain([&undo.ignore, &undo.registries, &undo.lookups, &store.secrets]);
    let bad = lists
        .flatten()
        .find(|pattern| pattern.contains(['\n', '\r']))
        .map(|pattern| pattern.escape_debug().to_string());
    match bad {
        Some(pattern) => Err(invalid(format!("the pattern '{pattern}' has a line break in it"))),
        None => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_with_a_line_break_is_refused() {
        let error = parse("[detect]\nignore = [\"a\\nimmutable=**\"]", Path::new("untether.toml")).unwrap_err();
        assert!(error.to_string().contains("a\\nimmutable=**"), "{error}");
    }

    #[test]
    fn the_defaults_are_valid_and_keep_what_tests_can_change() {
        let config = Config::load(Path::new("/nonexistent")).unwrap();
        assert!(config.ignore.matches("java.util.HashMap.modCount"));
        assert!(config.ignore.matches("java.lang.System.initialErrStream"));
        assert!(!config.ignore.matches("java.lang.System.props"));
        assert!(!config.ignore.matches("java.util.Locale.defaultLocale"));
        assert!(!config.ignore.matches("java.util.TimeZone.defaultTimeZone"));
        assert!(!config.immutable.matches("sun.util.calendar.ZoneInfo"));
        let fill = "java.lang.ThreadLocal$ThreadLocalMap.size";
        assert!(config.ignore.matches(fill) && !config.ignore_in_undo.matches(fill));
        assert!(config.ignore_in_undo.matches("java.util.HashMap.modCount"));
    }
}
