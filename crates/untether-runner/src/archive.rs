//! An archive of the libraries' classes, parsed and verified once, with which JVMs of ours start in half of the time.
//!
//! HotSpot maps such an archive where the class path begins with the jars that it was made from. Build tools put folders
//! first, so jars are moved before them, where nobody can tell. Whatever is in the way, JVMs start without it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use untether_project::jars_first;

/// Options with which JVMs share no classes, or share them in their own way.
const IN_THE_WAY: &[&str] = &[
    "-Xshare:",
    "-XX:Shared",
    "-XX:Archive",
    "-XX:+AutoCreateSharedArchive",
    "-XX:AOT",
    "-Xbootclasspath",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--patch-module",
    "--limit-modules",
];

/// The archive for the JVMs of one class path.
#[derive(Debug)]
pub(crate) struct Archive {
    /// Jars first.
    class_path: Vec<String>,
    /// How many of them are jars.
    jars: usize,
    folder: PathBuf,
    /// Whether a JVM was asked which classes it loads.
    is_listed: AtomicBool,
    file: OnceLock<Option<PathBuf>>,
}

impl Archive {
    /// None where JVMs with these options and this class path would not use one.
    pub(crate) fn new(options: &[String], class_path: &[String], folder: &Path) -> Option<Self> {
        // Beginning with `-Xshare:auto`, which is the default.
        let is_in_the_way = |option: &String| {
            option != "-Xshare:auto" && IN_THE_WAY.iter().any(|prefix| option == prefix || option.starts_with(prefix))
        };
        if options.iter().any(is_in_the_way) {
            return None;
        }
        let (class_path, jars) = jars_first(class_path)?;
        let (is_listed, file) = (AtomicBool::new(false), OnceLock::new());
        Some(Archive { class_path, jars, folder: folder.to_path_buf(), is_listed, file })
    }

    pub(crate) fn class_path(&self) -> &[String] {
        &self.class_path
    }

    /// What a JVM is to be told: to use the archive, where there is one; the first of all, to list the classes for it.
    pub(crate) fn option(&self) -> Option<String> {
        match self.file.get() {
            Some(file) => file.as_ref().map(|file| format!("-XX:SharedArchiveFile={}", file.display())),
            None if !self.is_listed.swap(true, Ordering::Relaxed) => {
                Some(format!("-XX:DumpLoadedClassList={}", self.list().display()))
            }
            None => None,
        }
    }

    /// Makes the archive, once, of the classes that the first JVM loaded; `boot` goes on the boot class path.
    pub(crate) fn make(&self, java: &Path, boot: &Path) {
        self.file.get_or_init(|| {
            let (list, file) = (self.list(), self.folder.join("classes.jsa"));
            if !list.exists() {
                return None;
            }
            let mut command = Command::new(java);
            command
                .arg("-Xshare:dump")
                .arg(format!("-XX:SharedClassListFile={}", list.display()))
                .arg(format!("-XX:SharedArchiveFile={}", file.display()))
                .arg(format!("-Xbootclasspath/a:{}", boot.display()))
                .args(["-cp", &self.class_path[..self.jars].join(":")])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let is_made = command.status().is_ok_and(|status| status.success()) && file.exists();
            is_made.then_some(file)
        });
    }

    fn list(&self) -> PathBuf {
        self.folder.join("classes.list")
    }
}
