//! What decides, besides classes, what a test class comes to: the JVM, its options and settings, the test framework.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use untether_model::{ContentHash, ContentHasher, Launch, Reason, ReasonKind};
use untether_project::Code;
use untether_runner::launch_settings;
use untether_store::Settings;

/// Settings and their hash.
pub(crate) struct Environment {
    pub(crate) hash: String,
    pub(crate) settings: Settings,
}

impl Environment {
    /// Folders are named so that a checkout can be moved, and shared between users. `watching` says what of the world outside
    /// of the heap is watched, where that is not what it is by default.
    pub(crate) fn of(launch: &Launch, code: &Code<'_>, project: &Path, watching: &Settings) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.components().count() > 1);
        let relative = |text: String| {
            let text = text.replace(&*project.to_string_lossy(), ".");
            match &home {
                Some(home) => text.replace(&*home.to_string_lossy(), "~"),
                None => text,
            }
        };
        let mut settings: Settings =
            launch_settings(launch).into_iter().map(|(name, value)| (name, relative(value))).collect();
        let folder = Path::new(&launch.directory);
        let named: BTreeSet<String> =
            launch_settings(launch).iter().flat_map(|(_, value)| named_files(value)).collect();
        for name in named {
            let hash = content_of(&folder.join(&name)).map_or("absent".to_owned(), |hash| hash.to_string());
            settings.push((format!("content of {}", relative(name)), hash));
        }
        settings.extend(watching.iter().cloned());
        for (jar, hash) in code.frameworks() {
            settings.push((format!("framework {jar}"), format!("{hash:032x}")));
        }
        let mut hasher = ContentHasher::default();
        for (name, value) in &settings {
            hasher.text(name);
            hasher.text(value);
        }
        Environment { hash: hasher.finish().to_string(), settings }
    }

    /// What is different from how it was.
    pub(crate) fn differences(&self, before: &Settings) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let text = |setting: Option<&(String, String)>| setting.map_or(String::new(), |(_, value)| value.clone());
        for (name, value) in before.iter().filter(|setting| !self.settings.contains(setting)) {
            let now = self.settings.iter().find(|(other, _)| other == name && other != "option");
            let reason = Reason::new(ReasonKind::Environment, name.clone());
            reasons.push(Reason { before: value.clone(), after: text(now), ..reason });
        }
        for (name, value) in self.settings.iter().filter(|setting| !before.contains(setting)) {
            if !reasons.iter().any(|known| known.name == *name && known.after == *value) {
                let reason = Reason::new(ReasonKind::Environment, name.clone());
                reasons.push(Reason { after: value.clone(), ..reason });
            }
        }
        reasons
    }
}

/// Files and folders named by options, or by a variable with options, that count as the options do: agents, more options, and
/// classes in front of the JDK's, of which it is not known who uses them.
fn named_files(options: &str) -> Vec<String> {
    const ONE: &[&str] = &["-javaagent:", "-agentpath:", "-XX:VMOptionsFile=", "-XX:Flags="];
    const SEVERAL: &[&str] = &["-Xbootclasspath/a:"];
    let mut found = Vec::new();
    for option in options.split_whitespace().chain([options]) {
        let after =
            |prefixes: &[&str]| prefixes.iter().find_map(|prefix| option.strip_prefix(prefix)).map(str::to_owned);
        found.extend(after(ONE).map(|file| file.split('=').next().unwrap_or_default().to_owned()));
        found.extend(after(SEVERAL).iter().flat_map(|files| files.split(':')).map(str::to_owned));
    }
    found
}

/// Of a file, or of all below a folder.
fn content_of(path: &Path) -> Option<ContentHash> {
    if !path.is_dir() {
        return std::fs::read(path).ok().map(|bytes| ContentHash::of(&bytes));
    }
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    let mut hasher = ContentHasher::default();
    for entry in &entries {
        hasher.text(&entry.file_name().unwrap_or_default().to_string_lossy());
        hasher.hash(content_of(entry)?);
    }
    Some(hasher.finish())
}

/// The version of Java, as far as a number tells it.
pub(crate) fn release(launch: &Launch) -> u32 {
    launch.java_version.split(|letter: char| !letter.is_ascii_digit()).find_map(|part| part.parse().ok()).unwrap_or(17)
}
