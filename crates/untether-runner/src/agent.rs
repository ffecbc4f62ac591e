//! The agent library, which this crate embeds, as a file that JVMs can load.
//!
//! It is kept in the user's cache folder under the hash of its content, and looked at before each use: what is loaded into
//! JVMs must be what was built, whoever else can write where the cache is.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{OFlags, StatVfsMountFlags, statvfs};
use untether_model::ContentHash;

use crate::error::RunnerError;

/// Built by this crate's build script.
static LIBRARY: &[u8] = include_bytes!(env!("UNTETHER_EMBEDDED_AGENT"));

/// Names another library instead, for those who work on the agent.
const OVERRIDE: &str = "UNTETHER_AGENT_LIBRARY";

/// Bits of a mode that let others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The agent library as a file: unpacked now where it is not there already.
pub fn agent_library() -> Result<PathBuf, RunnerError> {
    if let Some(path) = std::env::var_os(OVERRIDE).map(PathBuf::from) {
        return if path.exists() { Ok(path) } else { Err(RunnerError::NoAgent { path }) };
    }
    let mut reasons = Vec::new();
    for folder in folders(|name| std::env::var_os(name).map(PathBuf::from)) {
        match unpack(&folder, LIBRARY) {
            Ok(path) => return Ok(path),
            Err(error) => reasons.push(format!("{}: {error}", folder.display())),
        }
    }
    Err(RunnerError::CannotUnpack { reasons: reasons.join("; ") })
}

/// Where it may be kept, the best place first.
fn folders(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let temporary = absolute("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
    // The temporary folder is everybody's, so that each has one of their own in it.
    let own = format!("untether-{}", user());
    cache.map(|cache| cache.join("untether")).into_iter().chain([temporary.join(own)]).collect()
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The library in this folder, written there unless it is there and nobody else could have changed it.
fn unpack(folder: &Path, library: &[u8]) -> io::Result<PathBuf> {
    if !can_be_named(folder) {
        return Err(io::Error::other(
            "its name has a character that the dynamic linker or java would take for its own",
        ));
    }
    make_private(folder)?;
    if statvfs(folder)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(io::Error::other("it is mounted noexec, so no library can be loaded from it"));
    }
    // The agent knows itself by this beginning.
    let path = folder.join(format!("libuntether_agent-{}.so", ContentHash::of(library)));
    if !is_trusted(&path, library) {
        write(&path, library)?;
    }
    Ok(path)
}

/// `LD_PRELOAD` is a list, separated by spaces or colons, in which dollars are expanded; java splits `-agentpath` at `=`.
fn can_be_named(folder: &Path) -> bool {
    !folder.as_os_str().as_bytes().iter().any(|byte| byte.is_ascii_whitespace() || b":=$".contains(byte))
}

/// A folder that is ours, and for us only.
fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Not what a link leads to: somebody else might have made it.
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != user() {
        return Err(io::Error::other("it belongs to somebody else"));
    }
    if found.mode() & 0o777 != 0o700 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Whether the file is ours alone to change and has exactly this content.
fn is_trusted(path: &Path, library: &[u8]) -> bool {
    let read = || -> io::Result<bool> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let found = file.metadata()?;
        if !found.is_file() || found.uid() != user() || found.mode() & WRITABLE_BY_OTHERS != 0 {
            return Ok(false);
        }
        if found.len() != library.len() as u64 {
            return Ok(false);
        }
        let mut content = Vec::with_capacity(library.len());
        file.read_to_end(&mut content)?;
        Ok(content == library)
    };
    // What cannot be read is written anew.
    read().unwrap_or(false)
}

/// Whole or not at all: others see no file or a complete one, and JVMs that have the one before keep it.
fn write(path: &Path, library: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}-{}-{number}", std::process::id()));
    // What a process of the same number left when it was killed.
    let _ = fs::remove_file(&temporary);
    let written = write_new(&temporary, library).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The reason is more telling than what comes of this.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, library: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(library)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("untether-agent-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_is_embedded_is_a_library() {
        assert!(LIBRARY.starts_with(b"\x7fELF"));
    }

    #[test]
    fn it_is_unpacked_once_for_its_owner_only_and_under_its_hash() {
        let place = fresh("once");
        let folder = place.join("deep/untether");
        let path = unpack(&folder, b"one").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        assert!(path.to_string_lossy().contains(&ContentHash::of(b"one").to_string()), "{}", path.display());
        let first = fs::metadata(&path).unwrap().ino();
        assert_eq!(unpack(&folder, b"one").unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().ino(), first, "written again");
        assert_ne!(unpack(&folder, b"two").unwrap(), path);
        assert_eq!(names(&folder).len(), 2, "something was left behind");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_file_that_is_another_or_that_others_can_write_is_replaced() {
        let folder = fresh("replaced");
        let path = unpack(&folder, b"one").unwrap();
        let is_replaced_after = |change: &dyn Fn()| {
            let before = fs::metadata(&path).unwrap().ino();
            change();
            assert_eq!(unpack(&folder, b"one").unwrap(), path);
            let found = fs::symlink_metadata(&path).unwrap();
            assert!(found.is_file() && fs::read(&path).unwrap() == b"one" && mode(&path) == 0o600);
            found.ino() != before
        };
        assert!(!is_replaced_after(&|| {}));
        assert!(is_replaced_after(&|| fs::write(&path, b"two").unwrap()), "another content of the same length");
        assert!(is_replaced_after(&|| fs::write(&path, b"on").unwrap()), "half of it");
        assert!(is_replaced_after(&|| fs::set_permissions(&path, Permissions::from_mode(0o620)).unwrap()));
        assert!(is_replaced_after(&|| fs::set_permissions(&path, Permissions::from_mode(0o602)).unwrap()));
        let elsewhere = folder.join("elsewhere");
        assert!(is_replaced_after(&|| {
            fs::rename(&path, &elsewhere).unwrap();
            symlink(&elsewhere, &path).unwrap();
        }));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_of_ours_that_others_can_write_is_closed_to_them() {
        let folder = fresh("open");
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        unpack(&folder, b"one").unwrap();
        assert_eq!(mode(&folder), 0o700);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_a_link_or_has_a_name_that_cannot_be_given_is_left_alone() {
        let folder = fresh("link");
        let place = folder.join("place");
        fs::create_dir(&place).unwrap();
        let link = folder.join("link");
        symlink(&place, &link).unwrap();
        assert!(unpack(&link, b"one").unwrap_err().to_string().contains("somebody else"));
        assert!(unpack(&folder.join("two words"), b"one").is_err(), "LD_PRELOAD would be two libraries");
        assert!(names(&place).is_empty());
        fs::remove_dir_all(folder).unwrap();
    }

    /// Only root can give something away.
    #[test]
    fn what_somebody_else_owns_is_not_trusted() {
        const NOBODY: u32 = 65534;
        let folder = fresh("owner");
        if user() == 0 {
            let path = unpack(&folder, b"one").unwrap();
            chown(&path, Some(NOBODY), None).unwrap();
            assert_eq!(unpack(&folder, b"one").unwrap(), path);
            assert_eq!(fs::metadata(&path).unwrap().uid(), 0);
            chown(&folder, Some(NOBODY), None).unwrap();
            assert!(unpack(&folder, b"one").unwrap_err().to_string().contains("somebody else"));
        } else {
            assert!(unpack(Path::new("/usr"), b"one").unwrap_err().to_string().contains("somebody else"));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_cache_of_the_user_comes_first_then_a_folder_of_theirs_for_temporary_files() {
        let of = |given: &[(&str, &str)]| {
            folders(|name| given.iter().find(|(known, _)| *known == name).map(|(_, value)| PathBuf::from(value)))
        };
        let temporary = |folder: &str| PathBuf::from(format!("{folder}/untether-{}", user()));
        let all = [("XDG_CACHE_HOME", "/c"), ("HOME", "/h"), ("TMPDIR", "/t")];
        assert_eq!(of(&all), [PathBuf::from("/c/untether"), temporary("/t")]);
        assert_eq!(of(&all[1..]), [PathBuf::from("/h/.cache/untether"), temporary("/t")]);
        let relative = [("XDG_CACHE_HOME", "c"), ("HOME", ""), ("TMPDIR", "t")];
        assert_eq!(of(&relative), [temporary("/tmp")], "relative ones do not count");
    }
}
