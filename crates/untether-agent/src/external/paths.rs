//! Paths as programs give them, made absolute and free of links, and what stands there.

use std::cell::Cell;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use untether_wire::{Condition, Thing, hash_of_bytes, path_text};

use crate::lifeline;

/// Of larger files, what they are is told by their size and time, and by how they begin.
const LARGEST: u64 = 16 << 20;
const BEGINNING: u64 = 64 << 10;

thread_local! {
    /// Whether this thread's descriptors are its own: their numbers are others' elsewhere.
    static IS_ASIDE: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn is_aside() -> bool {
    IS_ASIDE.get()
}

pub(super) const NOTHING_KNOWN: Condition = Condition { thing: Thing::Unknown, high: 0, low: 0 };

/// The path, absolute, as it was given; none where there is none, or its folder is not known.
///
/// # Safety
/// `path` is null or a NUL-terminated string.
pub(super) unsafe fn absolute(folder: c_int, path: *const c_char) -> Option<PathBuf> {
    if path.is_null() {
        return None;
    }
    // SAFETY: given by the caller.
    let given = unsafe { CStr::from_ptr(path) }.to_bytes();
    if given.is_empty() {
        return None;
    }
    let given = Path::new(OsStr::from_bytes(given));
    if given.is_absolute() {
        return Some(given.to_path_buf());
    }
    let folder = if folder == libc::AT_FDCWD { std::env::current_dir().ok()? } else { opened(folder)? };
    Some(folder.join(given))
}

/// As many links as the system follows.
const MOST_LINKS: u32 = 40;

/// What a descriptor was opened as.
pub(super) fn opened(descriptor: c_int) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    path.is_absolute().then_some(path)
}

/// Without links and dots, as far as there is something; `follows` tells whether the last part may be a link that is
/// followed.
pub(super) fn canonical(path: &Path, follows: bool) -> PathBuf {
    canonical_within(path, follows, MOST_LINKS)
}

fn canonical_within(path: &Path, follows: bool, links: u32) -> PathBuf {
    if follows && let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    // A link that leads to nothing: who makes a file there makes what it names.
    if follows
        && links > 0
        && let (Some(folder), Ok(target)) = (path.parent(), fs::read_link(path))
    {
        return canonical_within(&folder.join(target), true, links - 1);
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => canonical_within(parent, true, links).join(name),
        (Some(parent), Some(Component::ParentDir)) => {
            let mut folder = canonical_within(parent, true, links);
            folder.pop();
            folder
        }
        (Some(parent), _) => canonical_within(parent, true, links),
        (None, _) => path.to_path_buf(),
    }
}

pub(super) fn text(path: &Path) -> String {
    path_text(path.as_os_str().as_bytes())
}

/// The path of such a text.
pub(super) fn path_of(text: &str) -> PathBuf {
    PathBuf::from(OsString::from_vec(untether_wire::path_bytes(text)))
}

pub(super) fn metadata(path: &Path, follows: bool) -> Option<Metadata> {
    if follows { fs::metadata(path).ok() } else { fs::symlink_metadata(path).ok() }
}

fn thing(data: &Metadata) -> Thing {
    if data.is_dir() {
        Thing::Directory
    } else if data.is_file() || data.is_symlink() {
        Thing::File
    } else {
        Thing::Other
    }
}

/// What is said of it besides its content: whose it is, who may do what, and when it was changed.
pub(super) fn attributes(path: &Path, follows: bool) -> Option<[i64; 5]> {
    let data = metadata(path, follows)?;
    Some([data.mode().into(), data.uid().into(), data.gid().into(), data.mtime(), data.mtime_nsec()])
}

/// What stands there now; of a file its time and length, of a folder its time, by which it is known whether it is changed
/// later.
pub(super) fn version(path: &Path, follows: bool) -> Condition {
    let Some(data) = metadata(path, follows) else { return Condition { thing: Thing::Absent, high: 0, low: 0 } };
    let thing = thing(&data);
    let modified = data.mtime().wrapping_mul(1_000_000_000).wrapping_add(data.mtime_nsec());
    let (high, low) = match thing {
        Thing::File => (modified as u64, data.len()),
        Thing::Directory => (modified as u64, 0),
        _ => (0, 0),
    };
    Condition { thing, high, low }
}

/// What stands there now, with the hash of its content.
pub(super) fn condition(path: &Path, follows: bool) -> Condition {
    let Some(data) = metadata(path, follows) else { return Condition { thing: Thing::Absent, high: 0, low: 0 } };
    let thing = thing(&data);
    let (high, low) = if thing == Thing::File { content(path, &data) } else { (0, 0) };
    Condition { thing, high, low }
}

fn content(path: &Path, data: &Metadata) -> (u64, u64) {
    if data.is_symlink() {
        return hash_of_bytes(fs::read_link(path).unwrap_or_default().as_os_str().as_bytes());
    }
    let file = path.to_path_buf();
    let most = if data.len() > LARGEST { BEGINNING } else { LARGEST };
    let read = aside(move || {
        let mut bytes = Vec::new();
        File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes)).ok().map(|_| bytes)
    });
    let Some(mut bytes) = read else { return (0, data.mtime_nsec() as u64) };
    if data.len() > LARGEST {
        bytes.extend(data.len().to_le_bytes());
        bytes.extend(data.mtime().to_le_bytes());
        bytes.extend(data.mtime_nsec().to_le_bytes());
    }
    hash_of_bytes(&bytes)
}

/// Runs it on a thread with descriptors of its own: whoever closes a file loses all locks that the process has on it, and here
/// that is nobody.
/// On a thread with descriptors of its own.
pub(super) fn aside<T: Send + 'static>(work: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    const STACK: usize = 256 << 10;
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        lifeline::leave_signals_to_others();
        IS_ASIDE.set(true);
        // SAFETY: only this thread's table of descriptors becomes its own.
        if unsafe { libc::unshare(libc::CLONE_FILES) } == 0 { work() } else { None }
    });
    thread.ok()?.join().ok().flatten()
}

/// Everything below a folder, folders before what is in them; no more than so many.
pub(super) fn below(folder: &Path, most: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if found.len() == most {
                return found;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_leads_to_nothing_is_what_it_names_and_one_that_leads_to_itself_ends() {
        let folder = std::env::temp_dir().join(format!("untether-paths-{}", std::process::id()));
        let folder = {
            fs::create_dir_all(&folder).unwrap();
            folder.canonicalize().unwrap()
        };
        symlink("inner/../absent.txt", folder.join("dangling")).unwrap();
        symlink("circle/inside", folder.join("circle")).unwrap();
        let dangling = canonical(&folder.join("dangling"), true);
        let not_followed = canonical(&folder.join("dangling"), false);
        let circle = canonical(&folder.join("circle/deep/er"), true);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(dangling, folder.join("absent.txt"));
        assert_eq!(not_followed, folder.join("dangling"));
        assert!(circle.starts_with(&folder), "{}", circle.display());
    }
}
