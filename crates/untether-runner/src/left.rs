//! Files that the tests of the watched run left behind in the build's output folder. They would be there when a test runs
//! that needs another one to make them, so they are set aside while schedules run.
//!
//! Only what was made while the JVM ran counts, below a folder of the usual names for output that also holds classes: what
//! lies elsewhere may be anything, and is not touched.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use untether_frameworks::REPORT_FOLDERS;
use untether_kept::{Since, put_back_in_their_place};
use untether_model::{Deed, ExternalEvent, Launch, Thing, Trace};

/// More than these are not looked at, and not set aside.
const MOST_ENTRIES: usize = 50_000;
const MOST_FILES: usize = 2_000;

/// Where the files are meanwhile, and which they are, below the folder of a run or of one of its JVMs.
const FOLDER: &str = "left";
const LIST: &str = "list.json";

/// What build tools call the folder in which nothing but their output lies.
const OUTPUT: [&str; 4] = ["target", "build", "out", "bin"];

/// What coverage tools write there meanwhile.
const COVERAGE: &str = "exec";

/// Files that were made between two points in time, in the output folders of the build.
pub(crate) fn made_between(launch: &Launch, from: SystemTime, until: SystemTime) -> Vec<String> {
    let class_path: BTreeSet<&Path> = launch.class_path.iter().map(Path::new).collect();
    let mut search = Search { class_path: &class_path, from, until, entries: 0, found: Vec::new() };
    for folder in output_folders(Path::new(&launch.directory), &class_path) {
        if search.visit(&folder).is_err() {
            return Vec::new();
        }
    }
    search.found.sort();
    search.found
}

/// Files and folders that tests made, wherever below the JVM's folder, be they gone by now: in another order they would stay.
/// Of those in the folder for temporary files, which mostly have names of their own, the ones that are there still.
pub(crate) fn made_by_tests(trace: &Trace) -> BTreeSet<String> {
    let directory = Path::new(&trace.launch.directory);
    let temporary = std::env::temp_dir();
    let is_ours = |path: &Path| path != directory && (path.starts_with(directory) || path.starts_with(&temporary));
    let is_code = |path: &Path| trace.launch.class_path.iter().any(|entry| path.starts_with(entry));
    let mut found = BTreeSet::new();
    for event in &trace.external.events {
        if let ExternalEvent::Done { deed: Deed::Created, name, before, .. } = event
            && before.thing == Thing::Absent
            && found.len() < MOST_FILES
        {
            let path = Path::new(name);
            let is_wanted = path.starts_with(directory) || path.symlink_metadata().is_ok();
            if is_ours(path) && !is_code(path) && is_wanted {
                found.insert(name.clone());
            }
        }
    }
    found
}

/// The folders of output below that of the JVM which hold folders of classes.
fn output_folders(directory: &Path, class_path: &BTreeSet<&Path>) -> BTreeSet<PathBuf> {
    let is_output = |folder: &&Path| {
        let is_named = folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| OUTPUT.contains(&name));
        is_named && folder.starts_with(directory) && *folder != directory && !folder.join("src").exists()
    };
    let around = |folder: &&Path| folder.ancestors().skip(1).find(is_output).map(Path::to_path_buf);
    class_path.iter().filter(|path| path.is_dir()).filter_map(around).collect()
}

struct Search<'s> {
    class_path: &'s BTreeSet<&'s Path>,
    from: SystemTime,
    until: SystemTime,
    entries: usize,
    found: Vec<String>,
}

impl Search<'_> {
    fn visit(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES || self.found.len() >= MOST_FILES {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
            let (path, kind) = (entry.path(), entry.file_type()?);
            if self.class_path.contains(path.as_path()) {
                continue;
            }
            if kind.is_dir() {
                let is_report = entry.file_name().to_str().is_some_and(|name| REPORT_FOLDERS.contains(&name));
                if !is_report {
                    self.visit(&path)?;
                }
            } else if kind.is_file() && path.extension().is_none_or(|extension| extension != COVERAGE) {
                let made = entry.metadata()?.created();
                if made.is_ok_and(|made| made >= self.from && made <= self.until) {
                    self.found.extend(path.to_str().map(str::to_owned));
                }
            }
        }
        Ok(())
    }
}

/// Files that are out of the way until this is dropped.
#[derive(Debug)]
pub(crate) struct SetAside {
    /// Where each belongs, and where it is.
    files: Vec<(PathBuf, PathBuf)>,
}

impl SetAside {
    pub(crate) fn new(files: &[String], scratch: &Path) -> io::Result<Self> {
        let folder = scratch.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let list = fs::File::create(folder.join(LIST))?;
        serde_json::to_writer(list, files)?;
        let mut aside = SetAside { files: Vec::new() };
        for (number, file) in files.iter().enumerate() {
            let (home, here) = (PathBuf::from(file), folder.join(number.to_string()));
            if home.is_dir() {
                fs::create_dir_all(&here)?;
            } else if home.is_file() {
                fs::copy(&home, &here)?;
            }
            aside.files.push((home, here));
        }
        Ok(aside)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Removes what a schedule has made again.
    pub(crate) fn clear(&self) {
        // What is in a folder comes after it.
        for (home, _) in self.files.iter().rev() {
            // It may not be there. A folder with something else in it stays.
            let is_folder = home.symlink_metadata().is_ok_and(|data| data.is_dir());
            let _ = if is_folder { fs::remove_dir(home) } else { fs::remove_file(home) };
        }
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        self.clear();
        for (home, here) in &self.files {
            put_back(home, here);
        }
    }
}

fn put_back(home: &Path, here: &Path) {
    if here.is_dir() {
        let _ = fs::create_dir_all(home);
    } else if here.exists() {
        // Nobody is left to tell of a failure; it was output of a build.
        let _ = home.parent().map(fs::create_dir_all);
        let _ = fs::copy(here, home);
    }
}

/// Puts back what a run that was killed had set aside, where it is not there again, and what its tests had changed where that
/// was to be put back; `run` is the folder of its files.
pub fn put_back_set_aside(run: &Path) {
    put_back_changed(run, DEEPEST);
    let inner = fs::read_dir(run).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in std::iter::once(run.to_path_buf()).chain(inner).map(|folder| folder.join(FOLDER)) {
        let Ok(list) = fs::read(folder.join(LIST)) else { continue };
        let files: Vec<PathBuf> = serde_json::from_slice(&list).unwrap_or_default();
        for (number, home) in files.iter().enumerate().filter(|(_, home)| !home.exists()) {
            put_back(home, &folder.join(number.to_string()));
        }
    }
}

/// Traces lie in folders of their JVM, group and run.
const DEEPEST: u32 = 4;

fn put_back_changed(folder: &Path, deepest: u32) {
    let _ = put_back_in_their_place(folder, Since::Earlier);
    let inner = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in inner.filter(|entry| deepest > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        put_back_changed(&entry.path(), deepest - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_what_was_made_meanwhile_in_the_output_folder_counts() {
        let directory = std::env::temp_dir().join(format!("untether-left-{}", std::process::id()));
        for folder in ["src", "target/classes", "target/surefire-reports", "target/deep/er"] {
            fs::create_dir_all(directory.join(folder)).unwrap();
        }
        let write = |name: &str| fs::write(directory.join(name), "").unwrap();
        write("target/old.txt");
        let from = fs::metadata(directory.join("target/old.txt")).unwrap().created().unwrap() + Duration::from_nanos(1);
        // Times of files have the grain of the kernel's clock.
        while fs::metadata(directory.join("target/old.txt")).unwrap().created().unwrap() >= from
            || !is_later(&directory, from)
        {}
        for name in ["src/New.java", "target/classes/a.txt", "target/surefire-reports/a.xml", "target/jacoco.exec"] {
            write(name);
        }
        write("target/deep/er/x.db");
        let class_path = vec![directory.join("target/classes").display().to_string()];
        let launch = Launch { directory: directory.display().to_string(), class_path, ..Launch::default() };
        let until = SystemTime::now() + Duration::from_secs(60);
        let found = made_between(&launch, from, until);
        let wanted = directory.join("target/deep/er/x.db").display().to_string();
        let scratch = directory.join("scratch");
        let aside = SetAside::new(&found, &scratch).unwrap();
        aside.clear();
        let is_gone = !Path::new(&wanted).exists();
        drop(aside);
        let is_back = Path::new(&wanted).exists();
        let killed = SetAside::new(&found, &scratch.join("jvm-0")).unwrap();
        killed.clear();
        std::mem::forget(killed);
        put_back_set_aside(&scratch);
        let is_rescued = Path::new(&wanted).exists();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(found, [wanted]);
        assert!(is_gone && is_back && is_rescued);
    }

    fn is_later(directory: &Path, than: SystemTime) -> bool {
        let probe = directory.join("probe");
        let _ = fs::remove_file(&probe);
        fs::write(&probe, "").unwrap();
        fs::metadata(&probe).unwrap().created().unwrap() >= than
    }
}
