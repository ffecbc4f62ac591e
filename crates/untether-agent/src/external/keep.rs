//! What stands at paths before it is changed, so that it can be put back: copies of files, and notes of what was not there.
//!
//! The JVM and its children append to one journal, before they do what they do. What it says of a path first is what the path
//! becomes again, so that it does not matter that several note the same one.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use untether_frameworks::REPORT_FOLDERS;
use untether_wire::{KEPT_EXTENSION, Kept, KeptFrame, Reader, Wire as _, path_bytes};

use crate::agent::lock;
use crate::external::log::Log;
use crate::external::paths;
use crate::external::recorder::prefix;

/// In the folder of the copies: the journal, and the folders whose files are kept.
const JOURNAL: &str = "journal";
const ROOTS: &str = "roots";

/// The part of a mode that can be set, and what is needed to change what is in a folder.
const MODE: u32 = 0o7777;
const OWNERS_FOLDER: u32 = 0o700;

/// What cannot be put back is told for the first of so many.
const MOST_TOLD: usize = 3;

pub(super) struct Keeper {
    journal: Log,
    copies: PathBuf,
    /// Beginnings of paths that are kept.
    roots: Vec<Vec<u8>>,
    next: AtomicU32,
    /// What this process has kept since the last point.
    known: Mutex<HashSet<PathBuf>>,
    /// How long the journal was at each point that can be gone back to; of the JVM only.
    points: Mutex<Vec<u64>>,
    is_wanted: AtomicBool,
}

/// What stood at a path.
struct Before {
    path: PathBuf,
    kept: Kept,
    content: String,
    mode: u32,
    modified: Duration,
    inode: u64,
}

impl Keeper {
    /// For the JVM that tells of files in `log`; none where that cannot be.
    pub(super) fn create(log: &Path, roots: impl Iterator<Item = PathBuf>) -> Option<Self> {
        let copies = log.with_extension(KEPT_EXTENSION);
        fs::create_dir(&copies).ok()?;
        fs::set_permissions(&copies, Permissions::from_mode(0o700)).ok()?;
        // Nobody's project is the whole machine.
        let roots = roots.filter_map(|root| root.canonicalize().ok()).filter(|root| root.parent().is_some());
        let roots: Vec<Vec<u8>> = roots.map(|root| prefix(&root)).collect();
        fs::write(copies.join(ROOTS), roots.join(&0)).ok()?;
        let journal = Log::create::<KeptFrame>(&copies.join(JOURNAL))?;
        Some(Keeper::new(journal, copies, roots, false))
    }

    /// For a program that such a JVM has started.
    pub(super) fn of_parent(log: &Path) -> Option<Self> {
        let copies = log.with_extension(KEPT_EXTENSION);
        let roots = fs::read(copies.join(ROOTS)).ok()?;
        let roots = roots.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect();
        let journal = Log::append(std::ffi::CString::new(copies.join(JOURNAL).into_os_string().as_bytes()).ok()?);
        Some(Keeper::new(journal, copies, roots, true))
    }

    fn new(journal: Log, copies: PathBuf, roots: Vec<Vec<u8>>, is_wanted: bool) -> Self {
        Keeper {
            journal,
            copies,
            roots,
            next: AtomicU32::new(0),
            known: Mutex::default(),
            points: Mutex::default(),
            is_wanted: is_wanted.into(),
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    /// Makes sure that what stands at the path, which has no links, can be put back. Call before it is changed.
    pub(super) fn keep(&self, path: PathBuf) {
        if !self.is_new(&path) {
            return;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let copy = format!("{}-{number}", std::process::id());
        let frame = before(&path, &self.copies.join(&copy), copy).frame();
        self.journal.frame(&frame);
    }

    /// What is there now was made by the call that tells of it.
    pub(super) fn note_made(&self, path: PathBuf) {
        if self.is_new(&path) {
            self.journal.frame(&Before::new(&path, Kept::Nothing, String::new(), None).frame());
        }
    }

    fn is_new(&self, path: &Path) -> bool {
        let is_root = |root: &Vec<u8>| path.as_os_str().as_bytes().starts_with(root);
        self.roots.iter().any(is_root) && !is_report(path) && lock(&self.known).insert(path.to_path_buf())
    }

    /// From here on, changes can be put back: this is the last of so many points.
    pub(super) fn save(&self, points: usize) {
        let mut known = lock(&self.points);
        known.truncate(points.saturating_sub(1));
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
        let mut reader = Reader::<KeptFrame>::new();
        reader.feed(&KeptFrame::HEADER);
        reader.feed(&bytes);
        let mut changed = Vec::new();
        while let Ok(Some(frame)) = reader.next_frame() {
            changed.push(Before::of(frame));
        }
        let is_whole = reader.unread() == 0 && !self.journal.has_failed();
        let (copies, is_outermost) = (self.copies.clone(), known.len() == 1);
        let told = paths::aside(move || {
            let told = put_all_back(&changed, &copies);
            if is_outermost {
                // Nobody needs them any more.
                let kept = changed.iter().filter(|before| before.kept == Kept::File);
                kept.for_each(|before| drop(fs::remove_file(copies.join(&before.content))));
            }
            Some(told)
        });
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

/// Whether it is what a build tool writes of tests.
fn is_report(path: &Path) -> bool {
    path.components().any(|part| REPORT_FOLDERS.iter().any(|name| part.as_os_str() == OsStr::new(name)))
}

/// Looks at what stands there, and copies it where it is a file.
fn before(path: &Path, copy: &Path, name: String) -> Before {
    let Some(data) = paths::metadata(path, false) else {
        return Before::new(path, Kept::Nothing, String::new(), None);
    };
    let (kept, content) = if data.is_symlink() {
        match fs::read_link(path) {
            Ok(target) => (Kept::Link, paths::text(&target)),
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

/// What stood at each path first, folders before what is in them. Below what was no folder there was nothing.
fn first_of_each(changed: &[Before]) -> BTreeMap<&Path, &Before> {
    let mut first: BTreeMap<&Path, &Before> = BTreeMap::new();
    for before in changed {
        first.entry(&before.path).or_insert(before);
    }
    let is_folder =
        |path: &Path| first.get(path).is_none_or(|before| matches!(before.kept, Kept::Directory | Kept::Unknown));
    let was_there: Vec<&Path> = first.keys().filter(|path| path.ancestors().skip(1).all(is_folder)).copied().collect();
    was_there.into_iter().map(|path| (path, first[path])).collect()
}

/// Makes the paths what they were; tells what could not be done.
fn put_all_back(changed: &[Before], copies: &Path) -> Option<String> {
    let first = first_of_each(changed);
    let mut wrong: Vec<String> = Vec::new();
    let mut attempt = |before: &Before, done: io::Result<()>| {
        if let Err(error) = done {
            wrong.push(format!("{} could not be put back: {error}", before.path.display()));
        }
    };
    // What is in the way goes first, the outermost before what is in it; then folders come before what was in them, and get
    // their mode when nothing is written into them any more.
    for before in first.values() {
        attempt(before, before.make_way());
    }
    for before in first.values() {
        attempt(before, before.put_back(copies));
    }
    for before in first.values().rev().filter(|before| before.kept == Kept::Directory) {
        attempt(before, fs::set_permissions(&before.path, Permissions::from_mode(before.mode & MODE)));
    }
    let more = wrong.len().saturating_sub(MOST_TOLD);
    wrong.truncate(MOST_TOLD);
    if more > 0 {
        wrong.push(format!("and {more} more"));
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

impl Before {
    fn new(path: &Path, kept: Kept, content: String, data: Option<&Metadata>) -> Self {
        let modified = data.and_then(|data| data.modified().ok()).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Before {
            path: path.to_path_buf(),
            kept,
            content,
            mode: data.map_or(0, Metadata::mode),
            modified: modified.unwrap_or_default(),
            inode: data.map_or(0, Metadata::ino),
        }
    }

    fn of(frame: KeptFrame) -> Self {
        let KeptFrame::Before { name, kept, content, mode, seconds, nanos, inode } = frame;
        Before { path: paths::path_of(&name), kept, content, mode, modified: Duration::new(seconds, nanos), inode }
    }

    fn frame(&self) -> KeptFrame {
        KeptFrame::Before {
            name: paths::text(&self.path),
            kept: self.kept,
            content: self.content.clone(),
            mode: self.mode,
            seconds: self.modified.as_secs(),
            nanos: self.modified.subsec_nanos(),
            inode: self.inode,
        }
    }

    /// Removes what stands there now, unless it is of the kind that it was.
    fn make_way(&self) -> io::Result<()> {
        let Some(now) = paths::metadata(&self.path, false) else { return Ok(()) };
        let is_same_kind = match self.kept {
            Kept::Nothing => false,
            Kept::File => now.is_file() && now.ino() == self.inode,
            Kept::Directory => now.is_dir(),
            Kept::Link => {
                now.is_symlink() && fs::read_link(&self.path).is_ok_and(|target| paths::text(&target) == self.content)
            }
            Kept::Unknown => return Err(io::Error::other(self.content.clone())),
        };
        match now.is_dir() {
            true if is_same_kind => {
                fs::set_permissions(&self.path, Permissions::from_mode(now.mode() & MODE | OWNERS_FOLDER))
            }
            _ if is_same_kind => Ok(()),
            true => fs::remove_dir_all(&self.path),
            false => fs::remove_file(&self.path),
        }
    }

    fn put_back(&self, copies: &Path) -> io::Result<()> {
        match self.kept {
            Kept::File => self.put_file_back(copies),
            Kept::Directory if !self.path.is_dir() => fs::create_dir(&self.path),
            Kept::Link if !self.path.is_symlink() => symlink(OsStr::from_bytes(&path_bytes(&self.content)), &self.path),
            Kept::Unknown if paths::metadata(&self.path, false).is_none() => {
                Err(io::Error::other(self.content.clone()))
            }
            Kept::Directory | Kept::Link | Kept::Nothing | Kept::Unknown => Ok(()),
        }
    }

    /// Into the same file, where it is still there, as it may have other names.
    fn put_file_back(&self, copies: &Path) -> io::Result<()> {
        let mut copy = File::open(copies.join(&self.content))?;
        let opened = File::options().write(true).create(true).truncate(true).open(&self.path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                fs::set_permissions(&self.path, Permissions::from_mode(0o600))?;
                File::options().write(true).truncate(true).open(&self.path)?
            }
            opened => opened?,
        };
        io::copy(&mut copy, &mut file)?;
        file.set_permissions(Permissions::from_mode(self.mode & MODE))?;
        file.set_times(FileTimes::new().set_modified(UNIX_EPOCH + self.modified))
    }
}
