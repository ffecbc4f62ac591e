//! What stood at paths before tests changed them, and how it is put back.
//!
//! A JVM and its children append to one journal, beside copies of files, before they change something. What the journal says of a
//! path first is what the path becomes again. The agent puts back when a class ends; whoever waits for a JVM that was ended before
//! does it in its place, so that nothing is lost that a test had changed. Nothing here knows a JVM.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use untether_wire::{KEPT_EXTENSION, Kept, KeptFrame, Reader, Wire as _, path_bytes, path_text};

/// The journal, in the folder of the copies.
pub const JOURNAL: &str = "journal";

/// The part of a mode that can be set, and what is needed to change what is in a folder.
const MODE: u32 = 0o7777;
const OWNERS_FOLDER: u32 = 0o700;

/// Between what a journal says and the change itself.
const GRACE: Duration = Duration::from_secs(2);

/// What cannot be put back is told for the first of so many.
const MOST_TOLD: usize = 3;

/// What stood at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    pub path: PathBuf,
    pub kept: Kept,
    content: String,
    mode: u32,
    modified: Duration,
    inode: u64,
}

/// What a journal, or the end of one, says was changed since all was put back the last time.
#[derive(Debug, Default)]
pub struct Changed {
    pub befores: Vec<Before>,
    /// Whether it was read to its end.
    pub is_whole: bool,
    /// Whether what is changed at its end is to be put back: what is changed between classes is nobody's.
    is_open: bool,
}

impl Changed {
    /// From frames, without the header of the file.
    pub fn read(frames: &[u8]) -> Self {
        let mut reader = Reader::<KeptFrame>::new();
        reader.feed(&KeptFrame::HEADER);
        reader.feed(frames);
        let mut changed = Changed::default();
        changed.is_whole = loop {
            match reader.next_frame() {
                Ok(Some(KeptFrame::Before { name, kept, content, mode, seconds, nanos, inode })) => {
                    let path = PathBuf::from(OsString::from_vec(path_bytes(&name)));
                    let modified = Duration::new(seconds, nanos.min(999_999_999));
                    changed.befores.push(Before { path, kept, content, mode, modified, inode });
                }
                Ok(Some(KeptFrame::PutBack {})) => {
                    changed.befores.clear();
                    changed.is_open = false;
                }
                Ok(Some(KeptFrame::Saved {})) => {
                    changed.befores.clear();
                    changed.is_open = true;
                }
                Ok(None) => break reader.unread() == 0,
                Err(_) => break false,
            }
        };
        changed
    }
}

/// Whose files may have been changed since by somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Nobody: the JVM has ended just now.
    JustNow,
    /// Whoever came later: what was changed after the tests changed something for the last time stays as it is.
    Earlier,
}

/// Puts back what JVMs changed that were ended before they could do it themselves, and removes the copies; `folder` is that of
/// their traces. Tells what was not put back.
pub fn put_back_in_their_place(folder: &Path, since: Since) -> Option<String> {
    let is_kept = |path: &PathBuf| path.extension() == Some(OsStr::new(KEPT_EXTENSION));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_kept);
    let mut journals: Vec<(SystemTime, PathBuf, Vec<u8>)> = entries
        .filter_map(|copies| {
            let journal = copies.join(JOURNAL);
            let modified = fs::metadata(&journal).and_then(|data| data.modified()).ok()?;
            Some((modified, copies, fs::read(journal).ok()?))
        })
        .collect();
    // Who came later changed what the others had left.
    journals.sort();
    let mut told = Vec::new();
    for (modified, copies, journal) in journals.into_iter().rev() {
        let Some(frames) = journal.strip_prefix(&KeptFrame::HEADER) else { continue };
        let Changed { mut befores, is_open, .. } = Changed::read(frames);
        if !is_open {
            continue;
        }
        if since == Since::Earlier {
            let is_later = |before: &Before| before.is_changed_after(modified + GRACE);
            told.extend(
                befores
                    .iter()
                    .filter(|before| is_later(before))
                    .map(|before| format!("{} was changed since, and is left as it is", before.path.display())),
            );
            befores.retain(|before| !is_later(before));
        }
        match put_back(&befores, &copies) {
            // Left over, it would be put back once more.
            None => drop(fs::remove_dir_all(copies)),
            failed => told.extend(failed),
        }
    }
    (!told.is_empty()).then(|| told.join("; "))
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
pub fn put_back(changed: &[Before], copies: &Path) -> Option<String> {
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
        let done = match before.copy(copies) {
            // What stands there now is better than nothing.
            Some(copy) if !copy.is_file() => Err(io::Error::other("its copy is gone")),
            _ => before.make_way(),
        };
        attempt(before, done);
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
    /// `content` is the name of the copy, what a link says, or why it cannot be put back.
    pub fn new(path: &Path, kept: Kept, content: String, data: Option<&Metadata>) -> Self {
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

    /// Where the copy of a file is, in the folder of the copies.
    pub fn copy(&self, copies: &Path) -> Option<PathBuf> {
        (self.kept == Kept::File).then(|| copies.join(&self.content))
    }

    /// As a journal has it.
    pub fn frame(&self) -> KeptFrame {
        KeptFrame::Before {
            name: path_text(self.path.as_os_str().as_bytes()),
            kept: self.kept,
            content: self.content.clone(),
            mode: self.mode,
            seconds: self.modified.as_secs(),
            nanos: self.modified.subsec_nanos(),
            inode: self.inode,
        }
    }

    /// Whether what stands there now, or anything in it, was made or changed later.
    fn is_changed_after(&self, time: SystemTime) -> bool {
        let is_later = |path: &Path| {
            let modified = fs::symlink_metadata(path).and_then(|data| data.modified());
            modified.is_ok_and(|modified| modified > time)
        };
        let is_made_folder = self.kept == Kept::Nothing && self.path.is_dir() && !self.path.is_symlink();
        is_later(&self.path) || is_made_folder && all_below(&self.path).iter().any(|path| is_later(path))
    }

    /// Removes what stands there now, unless it is of the kind that it was.
    fn make_way(&self) -> io::Result<()> {
        let Some(now) = fs::symlink_metadata(&self.path).ok() else { return Ok(()) };
        let is_same_kind = match self.kept {
            Kept::Nothing => false,
            Kept::File => now.is_file() && now.ino() == self.inode,
            Kept::Directory => now.is_dir(),
            Kept::Link => {
                now.is_symlink()
                    && fs::read_link(&self.path)
                        .is_ok_and(|target| path_text(target.as_os_str().as_bytes()) == self.content)
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
            Kept::Unknown if fs::symlink_metadata(&self.path).ok().is_none() => {
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

fn all_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(all_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of traces with the journal of a JVM in it.
    fn journal(folder: &Path, frames: &[KeptFrame]) -> PathBuf {
        let copies = folder.join(format!("1-1.{KEPT_EXTENSION}"));
        fs::create_dir_all(&copies).unwrap();
        let bytes = frames.iter().fold(KeptFrame::HEADER.to_vec(), |mut bytes, frame| {
            bytes.extend(frame.encode());
            bytes
        });
        fs::write(copies.join(JOURNAL), bytes).unwrap();
        copies
    }

    #[test]
    fn what_a_jvm_that_was_killed_had_changed_is_put_back_and_what_it_had_put_back_is_not_again() {
        let folder = tempfile::tempdir().unwrap();
        let (file, made, earlier) =
            (folder.path().join("file"), folder.path().join("made"), folder.path().join("earlier"));
        fs::write(&file, "before").unwrap();
        fs::write(&earlier, "now").unwrap();
        let data = fs::metadata(&file).unwrap();
        let of = |path: &Path, kept, content: &str, data| Before::new(path, kept, content.to_owned(), data).frame();
        let frames = [
            KeptFrame::Saved {},
            of(&earlier, Kept::Nothing, "", None),
            KeptFrame::PutBack {},
            of(&earlier, Kept::Nothing, "", None),
            KeptFrame::Saved {},
            of(&file, Kept::File, "copy", Some(&data)),
            of(&made, Kept::Nothing, "", None),
        ];
        let copies = journal(folder.path(), &frames);
        fs::copy(&file, copies.join("copy")).unwrap();
        fs::write(&file, "changed").unwrap();
        fs::create_dir_all(made.join("deep")).unwrap();
        assert_eq!(put_back_in_their_place(folder.path(), Since::Earlier), None);
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), data.modified().unwrap());
        assert!(!made.exists() && earlier.exists() && !copies.exists());
    }

    #[test]
    fn what_somebody_changed_since_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, made) = (folder.path().join("file"), folder.path().join("made"));
        fs::write(&file, "before").unwrap();
        let data = fs::metadata(&file).unwrap();
        let frames = [
            KeptFrame::Saved {},
            Before::new(&file, Kept::File, "copy".to_owned(), Some(&data)).frame(),
            Before::new(&made, Kept::Nothing, String::new(), None).frame(),
        ];
        let copies = journal(folder.path(), &frames);
        fs::copy(&file, copies.join("copy")).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        let times = FileTimes::new().set_modified(long_ago);
        File::options().write(true).open(copies.join(JOURNAL)).unwrap().set_times(times).unwrap();
        fs::write(&file, "of somebody").unwrap();
        fs::create_dir(&made).unwrap();
        fs::write(made.join("work"), "of somebody").unwrap();
        File::open(&made).unwrap().set_times(times).unwrap();
        let told = put_back_in_their_place(folder.path(), Since::Earlier).unwrap();
        assert!(told.contains("file was changed since") && told.contains("made was changed since"), "{told}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "of somebody");
        assert!(made.join("work").exists());
    }

    #[test]
    fn half_a_journal_is_put_back_as_far_as_it_goes_and_is_known_to_be_half() {
        let one = Before::new(Path::new("/some/file"), Kept::Nothing, String::new(), None);
        let bytes = [one.frame().encode(), one.frame().encode()].concat();
        for end in 0..=bytes.len() {
            let changed = Changed::read(&bytes[..end]);
            assert_eq!(changed.is_whole, end % (bytes.len() / 2) == 0, "{end}");
            assert_eq!(changed.befores, vec![one.clone(); end / (bytes.len() / 2)]);
        }
    }
}
