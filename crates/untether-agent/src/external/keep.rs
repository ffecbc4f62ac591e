//! What stands at paths before it is changed, so that it can be put back: copies of files, and notes of what was not there.
//!
//! The JVM and its children append to one journal, before they do what they do. What it says of a path first is what the path
//! becomes again, so that it does not matter that several note the same one.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use untether_frameworks::REPORT_FOLDERS;
use untether_kept::{Before, Changed, JOURNAL, put_back};
use untether_wire::{KEPT_EXTENSION, Kept, KeptFrame, path_text};

use crate::agent::lock;
use crate::external::log::Log;
use crate::external::paths;
use crate::external::recorder::prefix;

/// In the folder of the copies: the folders whose files are kept.
const ROOTS: &str = "roots";

/// How a line of the latter begins: what is left alone, and what is kept.
const SIGNS: [u8; 2] = *b"-+";

/// What stood at a path that is about to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// It can be put back.
    Kept,
    /// It cannot, or need not be.
    Unkept,
}

pub(super) struct Keeper {
    journal: Log,
    copies: PathBuf,
    /// Beginnings of paths, each with whether what is there is kept; the longest decides.
    roots: Vec<(Vec<u8>, bool)>,
    next: AtomicU32,
    process: u32,
    /// What this process has kept since the last point.
    known: Mutex<HashSet<PathBuf>>,
    /// How long the journal was at each point that can be gone back to; of the JVM only.
    points: Mutex<Vec<u64>>,
    is_wanted: AtomicBool,
}

impl Keeper {
    /// For the JVM that tells of files in `log`; none where that cannot be.
    pub(super) fn create(log: &Path, roots: impl Iterator<Item = PathBuf>) -> Option<Self> {
        let copies = log.with_extension(KEPT_EXTENSION);
        fs::create_dir(&copies).ok()?;
        fs::set_permissions(&copies, Permissions::from_mode(0o700)).ok()?;
        // Nobody's project is the whole machine.
        let roots = roots.filter_map(|root| root.canonicalize().ok()).filter(|root| root.parent().is_some());
        // Whoever waits for this JVM has files of his own, around the traces.
        let own = copies.ancestors().filter(|folder| is_of_run(folder)).map(|run| (prefix(run), false));
        let roots: Vec<(Vec<u8>, bool)> = roots.map(|root| (prefix(&root), true)).chain(own).collect();
        let lines: Vec<Vec<u8>> =
            roots.iter().map(|(root, is_kept)| [&[SIGNS[usize::from(*is_kept)]], root.as_slice()].concat()).collect();
        fs::write(copies.join(ROOTS), lines.join(&0)).ok()?;
        let journal = Log::create::<KeptFrame>(&copies.join(JOURNAL))?;
        Some(Keeper::new(journal, copies, roots, false))
    }

    /// For a program that such a JVM has started.
    pub(super) fn of_parent(log: &Path) -> Option<Self> {
        let copies = log.with_extension(KEPT_EXTENSION);
        let roots = fs::read(copies.join(ROOTS)).ok()?;
        let lines = roots.split(|&byte| byte == 0).filter_map(<[u8]>::split_first);
        let roots = lines.map(|(sign, root)| (root.to_vec(), *sign == SIGNS[1])).collect();
        let journal = Log::append(CString::new(copies.join(JOURNAL).into_os_string().as_bytes()).ok()?);
        Some(Keeper::new(journal, copies, roots, true))
    }

    fn new(journal: Log, copies: PathBuf, roots: Vec<(Vec<u8>, bool)>, is_wanted: bool) -> Self {
        Keeper {
            journal,
            copies,
            roots,
            next: AtomicU32::new(0),
            process: std::process::id(),
            known: Mutex::default(),
            points: Mutex::default(),
            is_wanted: is_wanted.into(),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// Makes sure that what stands at the path, which has no links, can be put back. Call before it is changed; where nothing
    /// stands there, call `note_made` when something does.
    pub(super) fn keep(&self, path: &Path) -> Found {
        if !self.is_within(path) {
            return Found::Unkept;
        }
        if paths::metadata(path, false).is_none() {
            return Found::Nothing;
        }
        // Held while the file is copied: who changes it next waits for that.
        let mut known = self.known();
        if known.as_ref().is_some_and(|known| known.contains(path)) {
            return Found::Kept;
        }
        let (copy, name) = self.new_copy();
        let before = before(path, &copy, name);
        self.journal.frame(&before.frame());
        if let Some(known) = &mut known {
            known.insert(path.to_path_buf());
        }
        if before.kept == Kept::Unknown { Found::Unkept } else { Found::Kept }
    }

    /// What is there now was not there before.
    pub(super) fn note_made(&self, path: &Path) {
        self.note(path, Kept::Nothing, "");
    }

    /// What is there now came from where it cannot be put back, and is not to be lost.
    pub(super) fn note_moved(&self, path: &Path) {
        self.note(path, Kept::Unknown, "it came from elsewhere");
    }

    fn note(&self, path: &Path, kept: Kept, content: &str) {
        if self.is_within(path) && self.known().is_none_or(|mut known| known.insert(path.to_path_buf())) {
            self.journal.frame(&Before::new(path, kept, content.to_owned(), None).frame());
        }
    }

    fn is_within(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_bytes();
        let above = self.roots.iter().filter(|(root, _)| bytes.starts_with(root));
        above
            .max_by_key(|(root, _)| root.len())
            .is_some_and(|(root, is_kept)| *is_kept && !is_report(&bytes[root.len()..]))
    }

    /// None in a copy of this process: another thread may have held it when that was made.
    fn known(&self) -> Option<MutexGuard<'_, HashSet<PathBuf>>> {
        (self.process == std::process::id()).then(|| lock(&self.known))
    }

    /// An empty file for a copy: another program with this process's number may have made some.
    fn new_copy(&self) -> (PathBuf, String) {
        loop {
            let name = format!("{}-{}", std::process::id(), self.next.fetch_add(1, Ordering::Relaxed));
            let path = self.copies.join(&name);
            match File::create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                // What cannot be made shows when it is copied.
                _ => return (path, name),
            }
        }
    }

    /// From here on, changes can be put back: this is the last of so many points.
    pub(super) fn save(&self, points: usize) {
        let mut known = lock(&self.points);
        known.truncate(points.saturating_sub(1));
        if known.is_empty() {
            self.journal.frame(&KeptFrame::Saved {});
        }
        known.push(self.journal.length());
        lock(&self.known).clear();
        self.is_wanted.store(true, Ordering::Release);
    }

    /// Puts back what was changed since the last of so many points, of which none is forgotten.
    pub(super) fn put_back(&self, points: usize) -> Option<String> {
        let mut known = lock(&self.points);
        known.truncate(points);
        let from = *known.last()?;
        let bytes = self.journal.since(from);
        let changed = Changed::read(&bytes);
        let is_whole = changed.is_whole && !self.journal.has_failed();
        let (copies, is_outermost) = (self.copies.clone(), known.len() == 1);
        let all: Vec<PathBuf> = changed.befores.iter().filter_map(|before| before.copy(&copies)).collect();
        let told = paths::aside(move || Some(put_back(&changed.befores, &copies)));
        if is_outermost && told == Some(None) {
            self.journal.frame(&KeptFrame::PutBack {});
            // Nobody needs them any more.
            all.iter().for_each(|copy| drop(fs::remove_file(copy)));
        }
        if is_outermost {
            // What is changed between classes is nobody's.
            self.is_wanted.store(false, Ordering::Release);
        }
        if let Some(last) = known.last_mut() {
            *last = self.journal.length();
        }
        lock(&self.known).clear();
        match told {
            Some(told) if is_whole => told,
            _ => Some("it is not known in full which files were changed: is the disk full?".to_owned()),
        }
    }
}

/// Whether the folder is that of a run of untether, as the engine names it.
fn is_of_run(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.starts_with("run-") || name.starts_with("untether-run-")
}

/// Whether it is what a build tool writes of tests, seen from the folder that is kept.
fn is_report(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|part| REPORT_FOLDERS.iter().any(|name| part == name.as_bytes()))
}

/// Looks at what stands there, and copies it where it is a file.
fn before(path: &Path, copy: &Path, name: String) -> Before {
    let Some(data) = paths::metadata(path, false) else {
        return Before::new(path, Kept::Nothing, String::new(), None);
    };
    let (kept, content) = if data.is_symlink() {
        match fs::read_link(path) {
            Ok(target) => (Kept::Link, path_text(target.as_os_str().as_bytes())),
            Err(error) => (Kept::Unknown, error.to_string()),
        }
    } else if data.is_dir() {
        (Kept::Directory, String::new())
    } else if data.is_file() {
        let (from, to) = (path.to_path_buf(), copy.to_path_buf());
        // Whoever closes a file loses the locks that its process has on it.
        match paths::aside(move || Some(fs::copy(from, to).map_err(|error| error.to_string()))) {
            Some(Ok(_)) => (Kept::File, name),
            Some(Err(error)) => (Kept::Unknown, error),
            None => (Kept::Unknown, "there is no thread to copy it".to_owned()),
        }
    } else {
        (Kept::Unknown, "it is neither a file nor a folder".to_owned())
    };
    Before::new(path, kept, content, Some(&data))
}
