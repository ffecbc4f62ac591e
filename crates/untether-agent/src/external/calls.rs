//! Functions of the C library about files, folders and sockets, each with ours before it.
//!
//! Each exported function is two instructions long: it puts the place that it was called from behind the arguments and goes on
//! to its body. Both names of what takes 64-bit sizes, and the names by which programs built for older C libraries know
//! `stat`, lead to the same body.

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use untether_wire::{Condition, Deed, Thing};

use crate::external::keep::Found;
use crate::external::recorder::{Done, Recorder, watching};
use crate::external::{descriptors, paths, sockets};
use crate::guard::guarded;

/// Entries of a folder that are told one by one when it moves.
const MOST_MOVED: usize = 10_000;

/// Finds the function that would have been called without us.
pub(super) fn next(known: &AtomicUsize, name: &CStr) -> Option<usize> {
    match known.load(Ordering::Relaxed) {
        0 => {}
        found => return Some(found),
    }
    // SAFETY: NUL-terminated names. What only old programs call has a version that must be named.
    let found = unsafe {
        let newest = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        if newest.is_null() { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.2.5".as_ptr()) } else { newest }
    } as usize;
    known.store(found, Ordering::Relaxed);
    (found != 0).then_some(found)
}

/// Runs what tells of a call: nothing of it reaches the caller, its error number neither.
pub(super) fn quietly<T: Default>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the error number is this thread's.
    let number = unsafe { *libc::__errno_location() };
    let value = guarded(T::default(), work);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = number };
    value
}

fn error() -> c_int {
    // SAFETY: the error number is this thread's.
    unsafe { *libc::__errno_location() }
}

/// Whether what a failed call was about is there all the same.
fn is_there() -> bool {
    !matches!(error(), libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::ENAMETOOLONG)
}

/// Exports functions under the names, with the register of the argument after their last one.
macro_rules! exported {
    ($($name:ident, $register:literal => $body:ident;)*) => {$(
        /// Stands before the C library's function of that name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[allow(unreachable_pub, reason = "exported to the loader")]
        pub unsafe extern "C" fn $name() {
            naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp {body}", body = sym bodies::$name::$body)
        }
    )*};
}

/// A body for each name, so that each goes on to the function of its own name; what is told is the same.
macro_rules! bodies {
    ($($body:ident $parameters:tt -> $result:ty, or $failed:expr, by $told:ident: $($name:ident)*;)*) => {
        mod bodies {
            $($(
                pub(super) mod $name {
                    use crate::external::calls::*;

                    body!($name $body $parameters -> $result, or $failed, by $told);
                }
            )*)*
        }
    };
}

macro_rules! body {
    ($name:ident $body:ident ($($argument:ident: $type:ty),*) -> $result:ty, or $failed:expr, by $told:ident) => {
        pub(in crate::external::calls) unsafe extern "C" fn $body($($argument: $type,)* caller: usize) -> $result {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            let Some(next) = next(&NEXT, NAME) else {
                // SAFETY: the error number is this thread's.
                unsafe { *libc::__errno_location() = libc::ENOSYS };
                return $failed;
            };
            // SAFETY: the C library's function of this name has this signature.
            let next: unsafe extern "C" fn($($type),*) -> $result = unsafe { std::mem::transmute(next) };
            let call = || {
                // SAFETY: called with what the program passed.
                unsafe { next($($argument),*) }
            };
            match watching(caller) {
                // SAFETY: what the program passed is valid for the call, as it would be for the C library's.
                Some(recorder) => unsafe { $told(recorder, call, $($argument),*) },
                None => call(),
            }
        }
    };
}

type Path0 = *const c_char;
type Pointer = *mut c_void;

bodies! {
    open(path: Path0, flags: c_int, mode: c_uint) -> c_int, or -1, by opening: open open64;
    open_2(path: Path0, flags: c_int) -> c_int, or -1, by opening_2: __open_2 __open64_2;
    open_at(folder: c_int, path: Path0, flags: c_int, mode: c_uint) -> c_int, or -1, by opening_at: openat openat64;
    open_at_2(folder: c_int, path: Path0, flags: c_int) -> c_int, or -1, by opening_at_2: __openat_2 __openat64_2;
    create(path: Path0, mode: c_uint) -> c_int, or -1, by creating: creat creat64;
    open_stream(path: Path0, mode: Path0) -> Pointer, or std::ptr::null_mut(), by opening_stream: fopen fopen64;
    reopen_stream(path: Path0, mode: Path0, stream: Pointer) -> Pointer, or std::ptr::null_mut(), by reopening_stream:
        freopen freopen64;
    open_folder(path: Path0) -> Pointer, or std::ptr::null_mut(), by opening_folder: opendir;
    status(path: Path0, buffer: Pointer) -> c_int, or -1, by looking: stat stat64;
    status_of_link(path: Path0, buffer: Pointer) -> c_int, or -1, by looking_at_link: lstat lstat64;
    old_status(version: c_int, path: Path0, buffer: Pointer) -> c_int, or -1, by looking_as_before: __xstat __xstat64;
    old_status_of_link(version: c_int, path: Path0, buffer: Pointer) -> c_int, or -1, by looking_at_link_as_before:
        __lxstat __lxstat64;
    status_at(folder: c_int, path: Path0, buffer: Pointer, flags: c_int) -> c_int, or -1, by looking_at:
        fstatat fstatat64;
    old_status_at(version: c_int, folder: c_int, path: Path0, buffer: Pointer, flags: c_int) -> c_int, or -1,
        by looking_at_as_before: __fxstatat __fxstatat64;
    extended_status(folder: c_int, path: Path0, flags: c_int, mask: c_uint, buffer: Pointer) -> c_int, or -1,
        by looking_more: statx;
    may_access(path: Path0, mode: c_int) -> c_int, or -1, by asking: access eaccess euidaccess;
    may_access_at(folder: c_int, path: Path0, mode: c_int, flags: c_int) -> c_int, or -1, by asking_at: faccessat;
    read_link(path: Path0, buffer: *mut c_char, size: usize) -> isize, or -1, by reading_link: readlink;
    read_link_at(folder: c_int, path: Path0, buffer: *mut c_char, size: usize) -> isize, or -1, by reading_link_at:
        readlinkat;
    resolve(path: Path0, buffer: *mut c_char) -> *mut c_char, or std::ptr::null_mut(), by resolving: realpath;
    resolve_checked(path: Path0, buffer: *mut c_char, size: usize) -> *mut c_char, or std::ptr::null_mut(),
        by resolving_checked: __realpath_chk;
    resolve_anew(path: Path0) -> *mut c_char, or std::ptr::null_mut(), by resolving_anew: canonicalize_file_name;
    rename_file(from: Path0, to: Path0) -> c_int, or -1, by renaming: rename;
    rename_at(folder: c_int, from: Path0, target: c_int, to: Path0) -> c_int, or -1, by renaming_at: renameat;
    rename_at_2(folder: c_int, from: Path0, target: c_int, to: Path0, flags: c_uint) -> c_int, or -1, by renaming_at_2:
        renameat2;
    remove_file(path: Path0) -> c_int, or -1, by removing: unlink remove rmdir;
    remove_at(folder: c_int, path: Path0, flags: c_int) -> c_int, or -1, by removing_at: unlinkat;
    make(path: Path0, mode: c_uint) -> c_int, or -1, by making: mkdir mkfifo;
    make_at(folder: c_int, path: Path0, mode: c_uint) -> c_int, or -1, by making_at: mkdirat mkfifoat;
    make_node(path: Path0, mode: c_uint, device: u64) -> c_int, or -1, by making_node: mknod;
    make_node_at(folder: c_int, path: Path0, mode: c_uint, device: u64) -> c_int, or -1, by making_node_at: mknodat;
    draw(name: *mut c_char) -> c_int, or -1, by drawing: mkstemp mkstemp64;
    draw_with(name: *mut c_char, setting: c_int) -> c_int, or -1, by drawing_with:
        mkostemp mkostemp64 mkstemps mkstemps64;
    draw_with_both(name: *mut c_char, length: c_int, flags: c_int) -> c_int, or -1, by drawing_with_both:
        mkostemps mkostemps64;
    draw_folder(name: *mut c_char) -> *mut c_char, or std::ptr::null_mut(), by drawing_folder: mkdtemp;
    list(path: Path0, names: Pointer, filter: Pointer, order: Pointer) -> c_int, or -1, by listing: scandir scandir64;
    add_name(from: Path0, to: Path0) -> c_int, or -1, by naming: link;
    add_name_at(folder: c_int, from: Path0, target: c_int, to: Path0, flags: c_int) -> c_int, or -1, by naming_at: linkat;
    add_link(content: Path0, path: Path0) -> c_int, or -1, by linking: symlink;
    add_link_at(content: Path0, folder: c_int, path: Path0) -> c_int, or -1, by linking_at: symlinkat;
    change_mode(path: Path0, mode: c_uint) -> c_int, or -1, by changing: chmod;
    change_mode_at(folder: c_int, path: Path0, mode: c_uint, flags: c_int) -> c_int, or -1, by changing_at: fchmodat;
    change_opened(descriptor: c_int, mode: c_uint) -> c_int, or -1, by changing_opened: fchmod;
    set_times(path: Path0, times: Pointer) -> c_int, or -1, by setting_times: utime utimes;
    set_times_of_link(path: Path0, times: Pointer) -> c_int, or -1, by setting_times_of_link: lutimes;
    set_times_at(folder: c_int, path: Path0, times: Pointer, flags: c_int) -> c_int, or -1, by setting_times_at: utimensat;
    set_opened_times(descriptor: c_int, times: Pointer) -> c_int, or -1, by setting_opened_times: futimens futimes;
    cut(path: Path0, length: c_long) -> c_int, or -1, by cutting: truncate truncate64;
    bind_socket(socket: c_int, address: *const libc::sockaddr, length: libc::socklen_t) -> c_int, or -1, by binding: bind;
    reach(socket: c_int, address: *const libc::sockaddr, length: libc::socklen_t) -> c_int, or -1, by reaching: connect;
}

exported! {
    open, "rcx" => open;
    open64, "rcx" => open;
    __open_2, "rdx" => open_2;
    __open64_2, "rdx" => open_2;
    openat, "r8" => open_at;
    openat64, "r8" => open_at;
    __openat_2, "rcx" => open_at_2;
    __openat64_2, "rcx" => open_at_2;
    creat, "rdx" => create;
    creat64, "rdx" => create;
    fopen, "rdx" => open_stream;
    fopen64, "rdx" => open_stream;
    freopen, "rcx" => reopen_stream;
    freopen64, "rcx" => reopen_stream;
    opendir, "rsi" => open_folder;
    stat, "rdx" => status;
    stat64, "rdx" => status;
    lstat, "rdx" => status_of_link;
    lstat64, "rdx" => status_of_link;
    __xstat, "rcx" => old_status;
    __xstat64, "rcx" => old_status;
    __lxstat, "rcx" => old_status_of_link;
    __lxstat64, "rcx" => old_status_of_link;
    fstatat, "r8" => status_at;
    fstatat64, "r8" => status_at;
    __fxstatat, "r9" => old_status_at;
    __fxstatat64, "r9" => old_status_at;
    statx, "r9" => extended_status;
    access, "rdx" => may_access;
    eaccess, "rdx" => may_access;
    euidaccess, "rdx" => may_access;
    faccessat, "r8" => may_access_at;
    readlink, "rcx" => read_link;
    readlinkat, "r8" => read_link_at;
    realpath, "rdx" => resolve;
    __realpath_chk, "rcx" => resolve_checked;
    canonicalize_file_name, "rsi" => resolve_anew;
    rename, "rdx" => rename_file;
    renameat, "r8" => rename_at;
    renameat2, "r9" => rename_at_2;
    unlink, "rsi" => remove_file;
    remove, "rsi" => remove_file;
    rmdir, "rsi" => remove_file;
    unlinkat, "rcx" => remove_at;
    mkdir, "rdx" => make;
    mkfifo, "rdx" => make;
    mkdirat, "rcx" => make_at;
    mkfifoat, "rcx" => make_at;
    mknod, "rcx" => make_node;
    mknodat, "r8" => make_node_at;
    mkstemp, "rsi" => draw;
    mkstemp64, "rsi" => draw;
    mkostemp, "rdx" => draw_with;
    mkostemp64, "rdx" => draw_with;
    mkstemps, "rdx" => draw_with;
    mkstemps64, "rdx" => draw_with;
    mkostemps, "rcx" => draw_with_both;
    mkostemps64, "rcx" => draw_with_both;
    mkdtemp, "rsi" => draw_folder;
    scandir, "r8" => list;
    scandir64, "r8" => list;
    link, "rdx" => add_name;
    linkat, "r9" => add_name_at;
    symlink, "rdx" => add_link;
    symlinkat, "rcx" => add_link_at;
    chmod, "rdx" => change_mode;
    fchmodat, "r8" => change_mode_at;
    fchmod, "rdx" => change_opened;
    utime, "rdx" => set_times;
    utimes, "rdx" => set_times;
    lutimes, "rdx" => set_times_of_link;
    utimensat, "r8" => set_times_at;
    futimens, "rdx" => set_opened_times;
    futimes, "rdx" => set_opened_times;
    truncate, "rdx" => cut;
    truncate64, "rdx" => cut;
    bind, "rcx" => bind_socket;
    connect, "rcx" => reach;
}

// ---- opening

fn found(is_found: bool) -> Deed {
    if is_found { Deed::Wrote } else { Deed::Created }
}

/// How a file is opened.
#[derive(Clone, Copy)]
struct Mode {
    reads: bool,
    writes: bool,
    truncates: bool,
    /// It must not be there.
    is_exclusive: bool,
    follows: bool,
    is_nameless: bool,
}

impl Mode {
    fn of_flags(flags: c_int) -> Self {
        let access = flags & libc::O_ACCMODE;
        Mode {
            reads: access != libc::O_WRONLY,
            writes: access != libc::O_RDONLY || flags & (libc::O_TRUNC | libc::O_CREAT) != 0,
            truncates: flags & libc::O_TRUNC != 0,
            is_exclusive: flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL,
            follows: flags & libc::O_NOFOLLOW == 0,
            is_nameless: flags & libc::O_TMPFILE == libc::O_TMPFILE,
        }
    }

    /// As `fopen` has it.
    ///
    /// # Safety
    /// `mode` is a NUL-terminated string.
    unsafe fn of_stream(mode: Path0) -> Self {
        // SAFETY: given by the caller.
        let text = unsafe { CStr::from_ptr(mode) }.to_bytes();
        let has = |letter: u8| text.contains(&letter);
        Mode {
            reads: has(b'r') || has(b'+'),
            writes: has(b'w') || has(b'a') || has(b'+'),
            truncates: has(b'w'),
            is_exclusive: has(b'x'),
            follows: true,
            is_nameless: false,
        }
    }
}

/// What a stream is opened with, which the C library reads by itself.
const NO_DESCRIPTOR: c_int = -1;

/// Opens and tells of it. `opened` says whether it worked, and with which descriptor.
///
/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn open_and_tell<T: Copy>(
    recorder: &Recorder,
    (folder, path, mode): (c_int, Path0, Mode),
    call: impl FnOnce() -> T,
    opened: fn(T) -> Option<c_int>,
) -> T {
    if mode.is_nameless {
        return call();
    }
    // SAFETY: given by the caller.
    let Some(path) = quietly(|| unsafe { recorder.wanted(folder, path) }) else { return call() };
    let kept = if mode.writes { quietly(|| Some(recorder.keep(&path, mode.follows))) } else { None };
    let before = mode.writes.then(|| quietly(|| before_writing(recorder, &path, mode))).flatten();
    let result = call();
    let is_found = opened(result).is_some() || is_there();
    quietly(|| {
        let Some(descriptor) = opened(result) else {
            return recorder.seen(Deed::Looked, &path, mode.follows, is_found);
        };
        if !mode.writes {
            let is_folder = path.is_dir();
            recorder.seen(if is_folder { Deed::Listed } else { Deed::Read }, &path, mode.follows, true);
            if !is_folder {
                descriptors::opened(descriptor, recorder.segment(), false);
            }
            return;
        }
        if let Some(kept) = kept {
            recorder.note_made(kept, &path, mode.follows);
        }
        descriptors::opened(descriptor, recorder.segment(), true);
        let was_there = before.is_none_or(|before| before.thing != Thing::Absent);
        if mode.is_exclusive {
            recorder.seen(Deed::Looked, &path, false, false);
        } else if mode.reads && !mode.truncates && was_there && descriptor == NO_DESCRIPTOR {
            recorder.seen(Deed::Read, &path, mode.follows, true);
        }
        if let Some(before) = before {
            let deed = found(was_there);
            let is_whole = mode.truncates || !was_there;
            recorder.tell(Done { deed, path: &path, follows: mode.follows, before, is_whole });
        }
    });
    result
}

/// Only who truncates is told apart from who goes on with what is there.
fn before_writing(recorder: &Recorder, path: &Path, mode: Mode) -> Option<Condition> {
    // A file that is made and written again in one stretch is one deed; what it was in between is nobody's affair.
    let key = if mode.truncates { Deed::Created } else { Deed::Wrote };
    recorder.before(key, path, mode.follows)
}

unsafe fn opening(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, flags: c_int, _mode: c_uint) -> c_int {
    // SAFETY: given by the caller.
    unsafe {
        open_and_tell(r, (libc::AT_FDCWD, path, Mode::of_flags(flags)), call, |opened| (opened >= 0).then_some(opened))
    }
}

unsafe fn opening_2(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, flags: c_int) -> c_int {
    // SAFETY: given by the caller.
    unsafe {
        open_and_tell(r, (libc::AT_FDCWD, path, Mode::of_flags(flags)), call, |opened| (opened >= 0).then_some(opened))
    }
}

unsafe fn opening_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    path: Path0,
    flags: c_int,
    _mode: c_uint,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { open_and_tell(r, (folder, path, Mode::of_flags(flags)), call, |opened| (opened >= 0).then_some(opened)) }
}

unsafe fn opening_at_2(r: &Recorder, call: impl FnOnce() -> c_int, folder: c_int, path: Path0, flags: c_int) -> c_int {
    // SAFETY: given by the caller.
    unsafe { open_and_tell(r, (folder, path, Mode::of_flags(flags)), call, |opened| (opened >= 0).then_some(opened)) }
}

unsafe fn creating(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _mode: c_uint) -> c_int {
    let mode = Mode::of_flags(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC);
    // SAFETY: given by the caller.
    unsafe { open_and_tell(r, (libc::AT_FDCWD, path, mode), call, |opened| (opened >= 0).then_some(opened)) }
}

unsafe fn opening_stream(r: &Recorder, call: impl FnOnce() -> Pointer, path: Path0, mode: Path0) -> Pointer {
    // SAFETY: given by the caller.
    unsafe {
        let mode = Mode::of_stream(mode);
        open_and_tell(r, (libc::AT_FDCWD, path, mode), call, |stream| (!stream.is_null()).then_some(NO_DESCRIPTOR))
    }
}

unsafe fn reopening_stream(
    r: &Recorder,
    call: impl FnOnce() -> Pointer,
    path: Path0,
    mode: Path0,
    _stream: Pointer,
) -> Pointer {
    // SAFETY: given by the caller.
    unsafe { opening_stream(r, call, path, mode) }
}

unsafe fn opening_folder(r: &Recorder, call: impl FnOnce() -> Pointer, path: Path0) -> Pointer {
    let result = call();
    let is_found = !result.is_null() || is_there();
    let deed = if result.is_null() { Deed::Looked } else { Deed::Listed };
    // SAFETY: given by the caller.
    unsafe { tell_seen(r, deed, (libc::AT_FDCWD, path), true, is_found) };
    result
}

unsafe fn listing(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    path: Path0,
    _names: Pointer,
    _filter: Pointer,
    _order: Pointer,
) -> c_int {
    let count = call();
    let is_found = count >= 0 || is_there();
    let deed = if count < 0 { Deed::Looked } else { Deed::Listed };
    // SAFETY: given by the caller.
    unsafe { tell_seen(r, deed, (libc::AT_FDCWD, path), true, is_found) };
    count
}

// ---- looking

/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn tell_seen(r: &Recorder, deed: Deed, (folder, path): (c_int, Path0), follows: bool, is_found: bool) {
    quietly(|| {
        // SAFETY: given by the caller.
        if let Some(path) = unsafe { r.wanted(folder, path) } {
            r.seen(deed, &path, follows, is_found);
        }
    });
}

/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn look<T: Copy + Into<i64>>(
    r: &Recorder,
    call: impl FnOnce() -> T,
    (folder, path): (c_int, Path0),
    follows: bool,
) -> T {
    let result = call();
    let is_found = result.into() >= 0 || is_there();
    // SAFETY: given by the caller.
    unsafe { tell_seen(r, Deed::Looked, (folder, path), follows, is_found) };
    result
}

/// Whether flags say that the last part of a path may be a link that is followed.
fn follows(flags: c_int) -> bool {
    flags & libc::AT_SYMLINK_NOFOLLOW == 0
}

unsafe fn looking(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _buffer: Pointer) -> c_int {
    // SAFETY: given by the caller.
    unsafe { look(r, call, (libc::AT_FDCWD, path), true) }
}

unsafe fn looking_at_link(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _buffer: Pointer) -> c_int {
    // SAFETY: given by the caller.
    unsafe { look(r, call, (libc::AT_FDCWD, path), false) }
}

unsafe fn looking_as_before(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    _version: c_int,
    path: Path0,
    _buffer: Pointer,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { look(r, call, (libc::AT_FDCWD, path), true) }
}

unsafe fn looking_at_link_as_before(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    _version: c_int,
    path: Path0,
    _buffer: Pointer,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { look(r, call, (libc::AT_FDCWD, path), false) }
}

unsafe fn looking_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    path: Path0,
    _buffer: Pointer,
    flags: c_int,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { look(r, call, (folder, path), follows(flags)) }
}

unsafe fn looking_at_as_before(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    _version: c_int,
    folder: c_int,
    path: Path0,
    _buffer: Pointer,
    flags: c_int,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { look(r, call, (folder, path), follows(flags)) }
}

unsafe fn looking_more(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    path: Path0,
    flags: c_int,
    _mask: c_uint,
    _buffer: Pointer,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { look(r, call, (folder, path), follows(flags)) }
}

unsafe fn asking(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, mode: c_int) -> c_int {
    // SAFETY: given by the caller.
    unsafe { ask(r, call, (libc::AT_FDCWD, path), mode, true) }
}

unsafe fn asking_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    path: Path0,
    mode: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { ask(r, call, (folder, path), mode, follows(flags)) }
}

/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn ask(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    (folder, path): (c_int, Path0),
    mode: c_int,
    follows: bool,
) -> c_int {
    let result = call();
    let is_found = result >= 0 || is_there();
    // What may be done with it is another question.
    let deed = if mode == libc::F_OK { Deed::Asked } else { Deed::Looked };
    // SAFETY: given by the caller.
    unsafe { tell_seen(r, deed, (folder, path), follows, is_found) };
    result
}

unsafe fn reading_link(
    r: &Recorder,
    call: impl FnOnce() -> isize,
    path: Path0,
    _buffer: *mut c_char,
    _size: usize,
) -> isize {
    let result = call();
    let is_found = result >= 0 || is_there();
    // SAFETY: given by the caller.
    unsafe { tell_seen(r, Deed::Looked, (libc::AT_FDCWD, path), false, is_found) };
    result
}

unsafe fn reading_link_at(
    r: &Recorder,
    call: impl FnOnce() -> isize,
    folder: c_int,
    path: Path0,
    _buffer: *mut c_char,
    _size: usize,
) -> isize {
    let result = call();
    let is_found = result >= 0 || is_there();
    // SAFETY: given by the caller.
    unsafe { tell_seen(r, Deed::Looked, (folder, path), false, is_found) };
    result
}

/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn resolve_and_tell(r: &Recorder, call: impl FnOnce() -> *mut c_char, path: Path0) -> *mut c_char {
    let result = call();
    let is_found = !result.is_null() || is_there();
    // SAFETY: given by the caller.
    unsafe { tell_seen(r, Deed::Asked, (libc::AT_FDCWD, path), true, is_found) };
    result
}

unsafe fn resolving(
    r: &Recorder,
    call: impl FnOnce() -> *mut c_char,
    path: Path0,
    _buffer: *mut c_char,
) -> *mut c_char {
    // SAFETY: given by the caller.
    unsafe { resolve_and_tell(r, call, path) }
}

unsafe fn resolving_checked(
    r: &Recorder,
    call: impl FnOnce() -> *mut c_char,
    path: Path0,
    _buffer: *mut c_char,
    _size: usize,
) -> *mut c_char {
    // SAFETY: given by the caller.
    unsafe { resolve_and_tell(r, call, path) }
}

unsafe fn resolving_anew(r: &Recorder, call: impl FnOnce() -> *mut c_char, path: Path0) -> *mut c_char {
    // SAFETY: given by the caller.
    unsafe { resolve_and_tell(r, call, path) }
}

// ---- changing

/// Changes what is at the path and tells of it.
///
/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn change(
    r: &Recorder,
    deed: Deed,
    (folder, path): (c_int, Path0),
    follows: bool,
    call: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: given by the caller.
    let path = quietly(|| unsafe { r.wanted(folder, path) });
    let Some(path) = path else { return call() };
    quietly(|| {
        r.keep(&path, follows);
    });
    let before = quietly(|| r.before(deed, &path, follows));
    let result = call();
    let is_found = result == 0 || is_there();
    quietly(|| match before {
        Some(before) if result == 0 => {
            let is_whole = matches!(deed, Deed::Created | Deed::Removed);
            r.tell(Done { deed, path: &path, follows, before, is_whole });
        }
        // Who removes what is not there has left it as it was, and would have removed it otherwise.
        _ if result != 0 && deed != Deed::Removed => r.seen(Deed::Looked, &path, follows, is_found),
        _ => {}
    });
    result
}

unsafe fn removing(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0) -> c_int {
    // SAFETY: given by the caller.
    unsafe { change(r, Deed::Removed, (libc::AT_FDCWD, path), false, call) }
}

unsafe fn removing_at(r: &Recorder, call: impl FnOnce() -> c_int, folder: c_int, path: Path0, _flags: c_int) -> c_int {
    // SAFETY: given by the caller.
    unsafe { change(r, Deed::Removed, (folder, path), false, call) }
}

unsafe fn making(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _mode: c_uint) -> c_int {
    // SAFETY: given by the caller.
    unsafe { make_and_tell(r, (libc::AT_FDCWD, path), call) }
}

unsafe fn making_at(r: &Recorder, call: impl FnOnce() -> c_int, folder: c_int, path: Path0, _mode: c_uint) -> c_int {
    // SAFETY: given by the caller.
    unsafe { make_and_tell(r, (folder, path), call) }
}

unsafe fn making_node(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _mode: c_uint, _device: u64) -> c_int {
    // SAFETY: given by the caller.
    unsafe { make_and_tell(r, (libc::AT_FDCWD, path), call) }
}

unsafe fn making_node_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    path: Path0,
    _mode: c_uint,
    _device: u64,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { make_and_tell(r, (folder, path), call) }
}

unsafe fn drawing(r: &Recorder, call: impl FnOnce() -> c_int, name: *mut c_char) -> c_int {
    // SAFETY: given by the caller.
    unsafe { draw_and_tell(r, call, name, |opened| (opened >= 0).then_some(opened)) }
}

unsafe fn drawing_with(r: &Recorder, call: impl FnOnce() -> c_int, name: *mut c_char, _setting: c_int) -> c_int {
    // SAFETY: given by the caller.
    unsafe { drawing(r, call, name) }
}

unsafe fn drawing_with_both(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    name: *mut c_char,
    _length: c_int,
    _flags: c_int,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { drawing(r, call, name) }
}

unsafe fn drawing_folder(r: &Recorder, call: impl FnOnce() -> *mut c_char, name: *mut c_char) -> *mut c_char {
    // SAFETY: given by the caller.
    unsafe { draw_and_tell(r, call, name, |made| (!made.is_null()).then_some(NO_DESCRIPTOR)) }
}

/// Makes what nobody has, under a name that the C library draws: only afterwards it is known.
///
/// # Safety
/// `name` is null or a NUL-terminated string, and so it is after the call.
unsafe fn draw_and_tell<T: Copy>(
    r: &Recorder,
    call: impl FnOnce() -> T,
    name: *mut c_char,
    made: fn(T) -> Option<c_int>,
) -> T {
    let result = call();
    quietly(|| {
        // SAFETY: given by the caller.
        let path = unsafe { r.wanted(libc::AT_FDCWD, name) };
        let (Some(descriptor), Some(path)) = (made(result), path) else { return };
        let before = Condition { thing: Thing::Absent, ..paths::NOTHING_KNOWN };
        r.note_made(Found::Nothing, &path, false);
        r.seen(Deed::Looked, &path, false, false);
        r.tell(Done { deed: Deed::Created, path: &path, follows: false, before, is_whole: true });
        descriptors::opened(descriptor, r.segment(), true);
    });
    result
}

/// What may only be made where nothing is. Who makes a folder that is there already would have made it otherwise.
///
/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn make_and_tell(r: &Recorder, (folder, path): (c_int, Path0), call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: given by the caller.
    unsafe {
        let path_wanted = quietly(|| r.wanted(folder, path));
        let Some(path_wanted) = path_wanted else { return call() };
        let kept = quietly(|| Some(r.keep(&path_wanted, false)));
        let before = quietly(|| r.before(Deed::Created, &path_wanted, false));
        let made = call();
        let is_found = made == 0 || is_there();
        quietly(|| {
            let is_folder = before.is_some_and(|before| before.thing == Thing::Directory);
            if made == 0 {
                if let Some(kept) = kept {
                    r.note_made(kept, &path_wanted, false);
                }
                r.seen(Deed::Looked, &path_wanted, false, false);
            }
            match before {
                Some(before) if made == 0 || is_folder => {
                    r.tell(Done { deed: Deed::Created, path: &path_wanted, follows: false, before, is_whole: true });
                }
                _ if made != 0 => r.seen(Deed::Looked, &path_wanted, false, is_found),
                _ => {}
            }
        });
        made
    }
}

unsafe fn linking(r: &Recorder, call: impl FnOnce() -> c_int, _content: Path0, path: Path0) -> c_int {
    // SAFETY: given by the caller.
    unsafe { make_and_tell(r, (libc::AT_FDCWD, path), call) }
}

unsafe fn linking_at(r: &Recorder, call: impl FnOnce() -> c_int, _content: Path0, folder: c_int, path: Path0) -> c_int {
    // SAFETY: given by the caller.
    unsafe { make_and_tell(r, (folder, path), call) }
}

unsafe fn naming(r: &Recorder, call: impl FnOnce() -> c_int, from: Path0, to: Path0) -> c_int {
    // SAFETY: given by the caller.
    unsafe { naming_at(r, call, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) }
}

/// The new name shows what the file holds.
unsafe fn naming_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    from: Path0,
    target: c_int,
    to: Path0,
    _flags: c_int,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe {
        // From now on, it can be changed under another name.
        quietly(|| {
            if let Some(path) = r.wanted(folder, from) {
                r.keep(&path, false);
            }
        });
        let made = make_and_tell(r, (target, to), call);
        if made == 0 {
            tell_seen(r, Deed::Read, (folder, from), false, true);
        }
        made
    }
}

unsafe fn renaming(r: &Recorder, call: impl FnOnce() -> c_int, from: Path0, to: Path0) -> c_int {
    // SAFETY: given by the caller.
    unsafe { renaming_at_2(r, call, libc::AT_FDCWD, from, libc::AT_FDCWD, to, 0) }
}

unsafe fn renaming_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    from: Path0,
    target: c_int,
    to: Path0,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { renaming_at_2(r, call, folder, from, target, to, 0) }
}

/// What was at one place is at another, with all that is in it.
unsafe fn renaming_at_2(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    from: Path0,
    target: c_int,
    to: Path0,
    flags: c_uint,
) -> c_int {
    // SAFETY: given by the caller.
    let (source, goal) = quietly(|| unsafe { (r.wanted(folder, from), r.wanted(target, to)) });
    let (Some(from), Some(to)) = (source, goal) else { return call() };
    let (taken, given, moved, kept) = quietly(|| {
        let at = |path: &Path| Some(paths::condition(path, false));
        if paths::metadata(&from, false).is_some() {
            r.seen(Deed::Read, &from, false, true);
        }
        let moved = if from.is_dir() { paths::below(&from, MOST_MOVED) } else { Vec::new() };
        let is_kept = |path: &Path| r.keep(path, false) != Found::Unkept;
        let is_whole = is_kept(&from) & moved.iter().fold(moved.len() < MOST_MOVED, |all, path| is_kept(path) & all);
        let kept = if is_whole { r.keep(&to, false) } else { Found::Unkept };
        (at(&from), at(&to), moved, Some((is_whole, kept)))
    });
    let result = call();
    if result != 0 {
        let is_found = is_there();
        quietly(|| r.seen(Deed::Looked, &from, false, is_found));
        return result;
    }
    quietly(|| {
        match kept {
            // What cannot be put back where it was is not to be lost where it is.
            Some((false, _)) => r.note_moved(&to),
            Some((true, kept)) => {
                r.note_made(kept, &to, false);
                let below = moved.iter().filter_map(|path| path.strip_prefix(&from).ok());
                below.for_each(|rest| r.note_made(Found::Nothing, &to.join(rest), false));
            }
            None => {}
        }
        let tell = |deed, path: &Path, before| r.tell(Done { deed, path, follows: false, before, is_whole: true });
        if flags & libc::RENAME_EXCHANGE != 0 {
            for (path, before) in [(&from, taken), (&to, given)] {
                tell(Deed::Wrote, path, before.unwrap_or(paths::NOTHING_KNOWN));
            }
            return;
        }
        let absent = Condition { thing: Thing::Absent, ..paths::NOTHING_KNOWN };
        let unknown = paths::NOTHING_KNOWN;
        tell(Deed::Removed, &from, taken.unwrap_or(unknown));
        let was_there = given.is_some_and(|given| given.thing != Thing::Absent);
        tell(found(was_there), &to, given.unwrap_or(unknown));
        for path in &moved {
            if let Ok(rest) = path.strip_prefix(&from) {
                tell(Deed::Removed, path, unknown);
                tell(Deed::Created, &to.join(rest), absent);
            }
        }
    });
    result
}

unsafe fn cutting(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _length: c_long) -> c_int {
    // SAFETY: given by the caller.
    unsafe { change(r, Deed::Wrote, (libc::AT_FDCWD, path), true, call) }
}

unsafe fn changing(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _mode: c_uint) -> c_int {
    // SAFETY: given by the caller.
    unsafe { set(r, (libc::AT_FDCWD, path), true, call) }
}

unsafe fn changing_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    path: Path0,
    _mode: c_uint,
    flags: c_int,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { set(r, (folder, path), follows(flags), call) }
}

unsafe fn setting_times(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _times: Pointer) -> c_int {
    // SAFETY: given by the caller.
    unsafe { set(r, (libc::AT_FDCWD, path), true, call) }
}

unsafe fn setting_times_of_link(r: &Recorder, call: impl FnOnce() -> c_int, path: Path0, _times: Pointer) -> c_int {
    // SAFETY: given by the caller.
    unsafe { set(r, (libc::AT_FDCWD, path), false, call) }
}

unsafe fn setting_times_at(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    folder: c_int,
    path: Path0,
    _times: Pointer,
    flags: c_int,
) -> c_int {
    // SAFETY: given by the caller.
    unsafe { set(r, (folder, path), follows(flags), call) }
}

unsafe fn changing_opened(r: &Recorder, call: impl FnOnce() -> c_int, descriptor: c_int, _mode: c_uint) -> c_int {
    change_opened(r, call, descriptor)
}

unsafe fn setting_opened_times(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    descriptor: c_int,
    _times: Pointer,
) -> c_int {
    change_opened(r, call, descriptor)
}

fn change_opened(r: &Recorder, call: impl FnOnce() -> c_int, descriptor: c_int) -> c_int {
    let path = quietly(|| paths::opened(descriptor));
    let path = path.and_then(|path| std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).ok());
    match path {
        // SAFETY: a NUL-terminated string.
        Some(path) => unsafe { set(r, (libc::AT_FDCWD, path.as_ptr()), false, call) },
        None => call(),
    }
}

/// Sets the mode or the times of what is at the path and tells of it, if they were others.
///
/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn set(r: &Recorder, (folder, path): (c_int, Path0), follows: bool, call: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: given by the caller.
    let path = quietly(|| unsafe { r.wanted(folder, path) });
    let Some(path) = path else { return call() };
    quietly(|| {
        r.keep(&path, follows);
    });
    let was = quietly(|| Some((paths::attributes(&path, follows)?, paths::condition(&path, follows))));
    let result = call();
    let is_found = result == 0 || is_there();
    quietly(|| {
        if result != 0 {
            return r.seen(Deed::Looked, &path, follows, is_found);
        }
        let (Some((was, before)), Some(is)) = (was, paths::attributes(&path, follows)) else { return };
        let (of_mode, of_times) = (was[..3] != is[..3], was[3..] != is[3..]);
        if of_mode {
            r.changed(b"mode", Done { deed: Deed::Changed, path: &path, follows, before, is_whole: false });
        }
        if of_times {
            // Nothing is left of the times that others had set.
            r.changed(b"times", Done { deed: Deed::Changed, path: &path, follows, before, is_whole: true });
        }
    });
    result
}

// ---- sockets

unsafe fn binding(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    socket: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    let result = call();
    // Who finds an address taken wanted it as well.
    if result == 0 || error() == libc::EADDRINUSE {
        quietly(|| {
            // SAFETY: given by the caller.
            let Some(address) = (unsafe { sockets::address(socket, address, length) }) else { return };
            match address.is_open.then(|| sockets::own_address(socket)).flatten() {
                Some(own) => r.tell_address(Deed::Bound, &own.name, true),
                None => r.tell_address(Deed::Bound, &address.name, false),
            }
        });
    }
    result
}

unsafe fn reaching(
    r: &Recorder,
    call: impl FnOnce() -> c_int,
    socket: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> c_int {
    let result = call();
    quietly(|| {
        // SAFETY: given by the caller.
        if let Some(address) = unsafe { sockets::address(socket, address, length) }
            && !address.is_open
        {
            r.tell_address(Deed::Reached, &address.name, false);
        }
    });
    result
}

/// The seventh argument has no register: who sends is always told, and the JVM itself sends nothing.
#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
unsafe extern "C" fn sendto(
    socket: c_int,
    buffer: *const c_void,
    size: usize,
    flags: c_int,
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> isize {
    type Send =
        unsafe extern "C" fn(c_int, *const c_void, usize, c_int, *const libc::sockaddr, libc::socklen_t) -> isize;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let Some(next) = next(&NEXT, c"sendto") else { return -1 };
    // SAFETY: the C library's function has this signature, and gets what the program passed.
    let result = unsafe { std::mem::transmute::<usize, Send>(next)(socket, buffer, size, flags, address, length) };
    if !address.is_null()
        && let Some(recorder) = crate::external::recorder::recorder()
    {
        quietly(|| {
            // SAFETY: what the program passed is valid for the call.
            if let Some(address) = unsafe { sockets::address(socket, address, length) } {
                recorder.tell_address(Deed::Reached, &address.name, false);
            }
        });
    }
    result
}
