//! Files that stay open: whoever reads or writes them in another stretch than the one that opened them is told as well. What is
//! known of a descriptor is one number, so that all other reads and writes cost a look at it.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use untether_wire::Deed;

use crate::external::calls::{next, quietly};
use crate::external::paths;
use crate::external::recorder::{Done, recorder};

const MOST: usize = 1 << 16;

/// By descriptor: 0, or the stretch that is known of it and what was told in that.
static KNOWN: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];

const READ: u32 = 1;
const WRITTEN: u32 = 2;
const FLAGS: u32 = 2;

/// Zero stands for none.
fn mark(segment: u32) -> u32 {
    (segment.wrapping_add(1) << FLAGS).max(1 << FLAGS)
}

fn entry(descriptor: c_int) -> Option<&'static AtomicU32> {
    KNOWN.get(usize::try_from(descriptor).ok()?)
}

/// A file was opened, and that was told.
pub(super) fn opened(descriptor: c_int, segment: u32, is_written: bool) {
    if let Some(known) = entry(descriptor) {
        known.store(mark(segment) | if is_written { WRITTEN } else { READ }, Ordering::Relaxed);
    }
}

/// The path of a descriptor's file, if this is the first such deed with it in this stretch.
fn first(descriptor: c_int, flag: u32) -> Option<PathBuf> {
    let known = entry(descriptor)?;
    let found = known.load(Ordering::Relaxed);
    if found == 0 || paths::is_aside() {
        return None;
    }
    let now = mark(recorder()?.segment());
    let told = if found >> FLAGS == now >> FLAGS { found & (READ | WRITTEN) } else { 0 };
    if told & flag != 0 {
        return None;
    }
    known.store(now | told | flag, Ordering::Relaxed);
    let path = quietly(|| paths::opened(descriptor));
    if path.is_none() {
        // The number is another's by now.
        known.store(0, Ordering::Relaxed);
    }
    path
}

/// Before something is read.
fn reading(descriptor: c_int) {
    if entry(descriptor).is_none_or(|known| known.load(Ordering::Relaxed) == 0) {
        return;
    }
    if let (Some(path), Some(recorder)) = (first(descriptor, READ), recorder()) {
        quietly(|| recorder.seen(Deed::Read, &path, true, true));
    }
}

/// Before something is written; `is_whole` if nothing is left of what was there.
fn writing(descriptor: c_int, is_whole: bool) {
    if entry(descriptor).is_none_or(|known| known.load(Ordering::Relaxed) == 0) {
        return;
    }
    let path = match is_whole {
        true if paths::is_aside() => None,
        true => quietly(|| paths::opened(descriptor)),
        false => first(descriptor, WRITTEN),
    };
    if let (Some(path), Some(recorder)) = (path, recorder()) {
        quietly(|| {
            recorder.keep(&path, true);
            let before = paths::condition(&path, true);
            recorder.tell(Done { deed: Deed::Wrote, path: &path, follows: true, before, is_whole });
        });
    }
}

/// Functions whose descriptor is one of their arguments.
macro_rules! watched {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, or $failed:expr, after $told:expr;)*) => {$(
        /// Stands before the C library's function of that name.
        #[unsafe(no_mangle)]
        #[allow(unreachable_pub, reason = "exported to the loader")]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            let Some(next) = next(&NEXT, NAME) else { return $failed };
            $told;
            // SAFETY: the C library's function of this name has this signature, and gets what the program passed.
            unsafe { std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $result>(next)($($argument),*) }
        }
    )*};
}

type Bytes = *mut c_void;

watched! {
    read(file: c_int, to: Bytes, size: usize) -> isize, or -1, after reading(file);
    pread(file: c_int, to: Bytes, size: usize, at: c_long) -> isize, or -1, after reading(file);
    pread64(file: c_int, to: Bytes, size: usize, at: c_long) -> isize, or -1, after reading(file);
    readv(file: c_int, to: Bytes, count: c_int) -> isize, or -1, after reading(file);
    preadv(file: c_int, to: Bytes, count: c_int, at: c_long) -> isize, or -1, after reading(file);
    preadv64(file: c_int, to: Bytes, count: c_int, at: c_long) -> isize, or -1, after reading(file);
    write(file: c_int, from: Bytes, size: usize) -> isize, or -1, after writing(file, false);
    pwrite(file: c_int, from: Bytes, size: usize, at: c_long) -> isize, or -1, after writing(file, false);
    pwrite64(file: c_int, from: Bytes, size: usize, at: c_long) -> isize, or -1, after writing(file, false);
    writev(file: c_int, from: Bytes, count: c_int) -> isize, or -1, after writing(file, false);
    pwritev(file: c_int, from: Bytes, count: c_int, at: c_long) -> isize, or -1, after writing(file, false);
    pwritev64(file: c_int, from: Bytes, count: c_int, at: c_long) -> isize, or -1, after writing(file, false);
    ftruncate(file: c_int, length: c_long) -> c_int, or -1, after writing(file, length == 0);
    ftruncate64(file: c_int, length: c_long) -> c_int, or -1, after writing(file, length == 0);
    sendfile(to: c_int, from: c_int, at: Bytes, size: usize) -> isize, or -1, after { reading(from); writing(to, false) };
    sendfile64(to: c_int, from: c_int, at: Bytes, size: usize) -> isize, or -1, after { reading(from); writing(to, false) };
    copy_file_range(from: c_int, at: Bytes, to: c_int, goal: Bytes, size: usize, flags: u32) -> isize, or -1,
        after { reading(from); writing(to, false) };
    mmap(at: Bytes, size: usize, access: c_int, flags: c_int, file: c_int, offset: c_long) -> Bytes,
        or libc::MAP_FAILED, after mapping(access, flags, file);
    mmap64(at: Bytes, size: usize, access: c_int, flags: c_int, file: c_int, offset: c_long) -> Bytes,
        or libc::MAP_FAILED, after mapping(access, flags, file);
    close(file: c_int) -> c_int, or -1, after forget(file);
}

fn mapping(access: c_int, flags: c_int, file: c_int) {
    reading(file);
    if access & libc::PROT_WRITE != 0 && flags & libc::MAP_SHARED != 0 {
        writing(file, false);
    }
}

fn forget(descriptor: c_int) {
    // A child that shares our memory until it is another program closes what is open here.
    if let Some(known) = entry(descriptor).filter(|known| known.load(Ordering::Relaxed) != 0)
        && !paths::is_aside()
        && recorder().is_some_and(|recorder| recorder.is_own_process())
    {
        known.store(0, Ordering::Relaxed);
    }
}
