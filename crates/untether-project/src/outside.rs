//! What tests read besides classes, as it is now: files, folders, properties, variables of the environment.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use untether_model::{ClassState, CodeCache, Launch};
use untether_wire::path_bytes;
use xxhash_rust::xxh3::xxh3_128;

use crate::code::{facts_of, file_facts, stamp};

/// How the names of such states begin.
const KINDS: &[&str] = &["file:", "look:", "dir:", "names:", "property:", "env:"];

/// Stands for all properties, or all variables.
const ALL: &str = "*";

/// Variables that differ from shell to shell; who asks for all of them asks for the others.
const VOLATILE: &[&str] = &[
    "_",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "TERM",
    "DISPLAY",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "SSH_",
    "XDG_",
    "DBUS_",
    "TERM_",
    "TMUX",
    "LS_COLORS",
    "LESS",
    "MAVEN_",
    "GITHUB_",
    "CI_",
    "BUILD_",
    "RUNNER_",
    "JENKINS_",
];

pub fn is_outside_name(name: &str) -> bool {
    KINDS.iter().any(|kind| name.starts_with(kind))
}

/// What a JVM that was started so finds outside of its class path.
#[derive(Debug, Default)]
pub struct Outside {
    project: PathBuf,
    home: Option<PathBuf>,
    properties: HashMap<String, String>,
    environment: HashMap<String, String>,
    withheld: HashSet<String>,
}

impl Outside {
    /// `is_own` tells properties that every JVM sets by itself, or the build tool's launcher.
    pub fn new(launch: &Launch, project: &Path, is_own: impl Fn(&str) -> bool) -> Self {
        let properties = launch.properties.iter().filter(|(name, _)| !is_own(name));
        Outside {
            project: project.to_path_buf(),
            home: std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.components().count() > 1),
            properties: properties.cloned().collect(),
            environment: launch.environment.iter().cloned().collect(),
            withheld: launch.withheld.iter().map(|withheld| withheld.name.clone()).collect(),
        }
    }

    /// The path of a name, in a form that is the same where the project lies elsewhere.
    pub fn portable(&self, path: &str) -> String {
        let below = |folder: &Path| Path::new(path).strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned);
        match below(&self.project) {
            Some(rest) => format!("./{rest}"),
            None => match self.home.as_deref().and_then(below) {
                Some(rest) => format!("~/{rest}"),
                None => path.to_owned(),
            },
        }
    }

    pub fn path(&self, portable: &str) -> PathBuf {
        use std::os::unix::ffi::OsStringExt as _;

        let bytes = |text: &str| PathBuf::from(std::ffi::OsString::from_vec(path_bytes(text)));
        match (portable.strip_prefix("./"), portable.strip_prefix("~/"), &self.home) {
            (Some(rest), _, _) => self.project.join(bytes(rest)),
            (None, Some(rest), Some(home)) => home.join(bytes(rest)),
            _ => bytes(portable),
        }
    }

    /// What a test that asks for it now would find.
    pub fn state(&self, cache: &mut CodeCache, name: &str, now: i64) -> ClassState {
        let found = match name.split_once(':') {
            Some(("file", path)) => self.file(cache, &self.path(path), now),
            Some(("look", path)) => looked(&self.path(path)),
            Some(("dir", path)) => listed(&self.path(path), |_| false, &[]),
            Some(("names", path)) => listed_without_classes(&self.path(path), |_| false, &[]),
            Some(("property", ALL)) => {
                Some(self.all(self.properties.iter().filter(|(name, _)| !self.is_withheld(name))))
            }
            Some(("env", ALL)) => Some(self.all(self.environment.iter().filter(|(name, _)| !is_volatile(name)))),
            Some(("property", name)) => self.value(self.properties.get(name), name),
            Some(("env", name)) => self.value(self.environment.get(name), name),
            _ => None,
        };
        ClassState { name: name.to_owned(), found, is_exact: false }
    }

    /// Values that are kept nowhere are not compared.
    fn value(&self, value: Option<&String>, name: &str) -> Option<(String, u128)> {
        if self.is_withheld(name) {
            return Some((String::new(), 0));
        }
        Some((String::new(), xxh3_128(self.movable(value?).as_bytes())))
    }

    /// The same wherever the project lies.
    fn movable(&self, value: &str) -> String {
        value.replace(&*self.project.to_string_lossy(), ".")
    }

    fn all<'v>(&self, values: impl Iterator<Item = (&'v String, &'v String)>) -> (String, u128) {
        let mut lines: Vec<String> = values.map(|(name, value)| format!("{name}={}", self.movable(value))).collect();
        lines.sort();
        (String::new(), xxh3_128(lines.join("\n").as_bytes()))
    }

    fn is_withheld(&self, name: &str) -> bool {
        self.withheld.contains(name)
    }

    fn file(&self, cache: &mut CodeCache, path: &Path, now: i64) -> Option<(String, u128)> {
        let data = fs::metadata(path).ok()?;
        if data.is_dir() {
            return Some(("dir".to_owned(), 0));
        }
        if !data.is_file() {
            return Some(("other".to_owned(), 0));
        }
        Some((String::new(), file_facts(cache, path, stamp(&data), now).exact))
    }
}

/// Whether it is there, how long it is and whether its owner may run it: that is all that its time does not tell.
fn looked(path: &Path) -> Option<(String, u128)> {
    const MAY_RUN: u32 = 0o100;
    let data = fs::metadata(path).or_else(|_| fs::symlink_metadata(path)).ok()?;
    if data.is_dir() {
        return Some(("dir".to_owned(), 0));
    }
    let mode = if data.permissions().mode() & MAY_RUN == 0 { "" } else { "x" };
    Some((mode.to_owned(), u128::from(data.len())))
}

/// The names in a folder, without those that were made meanwhile, and with those that were removed.
pub fn listed(folder: &Path, is_new: impl Fn(&str) -> bool, gone: &[String]) -> Option<(String, u128)> {
    let mut names = names_in(folder, is_new, gone)?;
    // Whoever lists class files looks into them, and not by loading them.
    for name in names.iter_mut().filter(|name| name.ends_with(".class")) {
        if let Ok(bytes) = fs::read(folder.join(name.as_str())) {
            name.push_str(&format!(" {:032x}", facts_of(&bytes).content));
        }
    }
    Some(hash_of_names(&names))
}

/// The same for whoever only looks for test classes: without class files, as each test is decided about by itself, and classes
/// count for whoever loads them.
pub fn listed_without_classes(folder: &Path, is_new: impl Fn(&str) -> bool, gone: &[String]) -> Option<(String, u128)> {
    let mut names = names_in(folder, is_new, gone)?;
    names.retain(|name| !name.ends_with(".class"));
    Some(hash_of_names(&names))
}

fn names_in(folder: &Path, is_new: impl Fn(&str) -> bool, gone: &[String]) -> Option<Vec<String>> {
    let entries = fs::read_dir(folder).ok()?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !is_new(name)).chain(gone.iter().cloned()).collect();
    names.sort();
    names.dedup();
    Some(names)
}

fn hash_of_names(names: &[String]) -> (String, u128) {
    ("dir".to_owned(), xxh3_128(names.join("\n").as_bytes()))
}

/// What changes when a file does, without reading it: as the agent tells of files that are read.
pub fn version_of(path: &Path) -> Option<u128> {
    use std::os::unix::fs::MetadataExt as _;

    let data = fs::metadata(path).ok()?;
    let modified = data.mtime().wrapping_mul(1_000_000_000).wrapping_add(data.mtime_nsec());
    Some(u128::from(modified as u64) << 64 | u128::from(data.len()))
}

fn is_volatile(name: &str) -> bool {
    VOLATILE.iter().any(|volatile| {
        name == *volatile || volatile.ends_with('_') && volatile.len() > 1 && name.starts_with(volatile)
    })
}
