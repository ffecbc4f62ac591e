//! Programs that tests start: they are given this library as well, and take it out of their environment before their `main`
//! runs, so that neither they nor who started them sees it.

use std::arch::naked_asm;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::AtomicUsize;

use untether_wire::{ACTOR_VARIABLE, Deed, EXTERNAL_VARIABLE, ExternalFrame, PRELOAD_BEFORE_VARIABLE};

use crate::external::calls::{next, quietly};
use crate::external::images::own_path;
use crate::external::keep::Keeper;
use crate::external::log::Log;
use crate::external::recorder::{Recorder, install, prefix, recorder};
use crate::preload::PRELOAD;

/// The loader of programs for the C library that this library stands before.
const LOADER: &[u8] = b"ld-linux-x86-64.so.2";

/// Where the machine's own C library lies; programs that bring another one may not fit us.
const LIBRARIES: [&[u8]; 2] = [b"/lib", b"/usr/lib"];

/// By which the JDK starts other programs.
const HELPER: &str = "jspawnhelper";

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Whether a watched JVM, or a child of it, has started this program.
pub(crate) fn is_child() -> bool {
    std::env::var_os(EXTERNAL_VARIABLE).is_some()
}

/// Begins to tell what this program does, on behalf of whoever started it.
pub(crate) fn begin_child() {
    let Some(path) = std::env::var_os(EXTERNAL_VARIABLE).and_then(|path| CString::new(path.as_bytes()).ok()) else {
        return;
    };
    let actor = std::env::var(ACTOR_VARIABLE).ok().and_then(|actor| actor.parse().ok()).unwrap_or(0);
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let folder = Path::new(OsStr::from_bytes(path.to_bytes())).parent().map(prefix);
    // A JVM reads much of itself.
    let own = program.parent().filter(|folder| folder.ends_with("bin") && program.ends_with("java"));
    let hidden = folder.into_iter().chain(own.and_then(Path::parent).map(prefix)).collect();
    let keeper = Keeper::of_parent(Path::new(OsStr::from_bytes(path.to_bytes())));
    let mut recorder = Recorder::new(Log::append(path), actor, hidden);
    recorder.keeper = keeper;
    if !program.ends_with(HELPER) {
        let command = std::fs::read("/proc/self/cmdline").unwrap_or_default();
        let words: Vec<_> = command.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
        let command = words.join(" ").trim_end().to_owned();
        recorder.log.frame(&ExternalFrame::Child { process: std::process::id(), actor, command });
    }
    install(recorder);
    if let Some(recorder) = crate::external::recorder::recorder() {
        // The system opens it, and not the C library.
        recorder.seen(Deed::Read, &program, true, true);
    }
}

/// An environment with what a child needs to tell what it does.
struct Prepared {
    pointers: Vec<*const c_char>,
    /// What the last pointers point to.
    _added: Vec<CString>,
}

fn entry(name: &str, value: &[u8]) -> Option<CString> {
    CString::new([name.as_bytes(), b"=", value].concat()).ok()
}

/// # Safety
/// `environment` is null or a null-terminated array of strings, which outlives what is returned.
unsafe fn prepared(recorder: &Recorder, environment: *const *const c_char) -> Option<Prepared> {
    let mut pointers: Vec<*const c_char> = Vec::new();
    let mut before: Vec<u8> = Vec::new();
    let mut at = environment;
    // SAFETY: given by the caller.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            let text = CStr::from_ptr(*at).to_bytes();
            match text.strip_prefix(PRELOAD.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) {
                Some(value) => before = value.to_vec(),
                None => pointers.push(*at),
            }
            at = at.add(1);
        }
    }
    let own = own_path();
    // Where it cannot be read, the loader would say so to the program's own output.
    if own.is_empty() || File::open(OsStr::from_bytes(&own)).is_err() {
        return None;
    }
    let preload = if before.is_empty() { own.clone() } else { [own.as_slice(), b":", &before].concat() };
    let added = vec![
        entry(PRELOAD, &preload)?,
        entry(PRELOAD_BEFORE_VARIABLE, &before)?,
        entry(EXTERNAL_VARIABLE, recorder.log.path().to_bytes())?,
        entry(ACTOR_VARIABLE, recorder.actor().to_string().as_bytes())?,
    ];
    pointers.extend(added.iter().map(|entry| entry.as_ptr()));
    pointers.push(ptr::null());
    Some(Prepared { pointers, _added: added })
}

/// What stands between us and a program.
enum Program {
    Watchable,
    /// It cannot be started.
    Nothing,
    Not(&'static str),
}

/// # Safety
/// `path` is null or a NUL-terminated string.
unsafe fn program(path: *const c_char, searches: bool) -> Program {
    if path.is_null() {
        return Program::Nothing;
    }
    // SAFETY: given by the caller.
    let name = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
    let found = if searches && !name.as_bytes().contains(&b'/') { search(name) } else { Some(PathBuf::from(name)) };
    found.map_or(Program::Nothing, |path| kind(&path, 0))
}

fn search(name: &OsStr) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn kind(path: &Path, depth: usize) -> Program {
    const MOST_INTERPRETERS: usize = 4;
    const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Program::Not("it cannot be read"),
        Err(_) => return Program::Nothing,
    };
    let Ok(data) = file.metadata() else { return Program::Nothing };
    if !data.is_file() || data.permissions().mode() & 0o111 == 0 {
        return Program::Nothing;
    }
    if data.permissions().mode() & SET_ID != 0 {
        return Program::Not("it runs with the rights of somebody else");
    }
    let mut head = Vec::new();
    if (&file).take(4096).read_to_end(&mut head).is_err() {
        return Program::Nothing;
    }
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let interpreter = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()).unwrap_or_default();
        if depth == MOST_INTERPRETERS || interpreter.is_empty() {
            return Program::Not("its interpreter is not known");
        }
        return kind(Path::new(OsStr::from_bytes(interpreter)), depth + 1);
    }
    if is_made_by_go(&file, &head) {
        return Program::Not("it calls the system past the C library");
    }
    match interpreter(&file, &head) {
        Some(loader) if loader.ends_with(LOADER) && LIBRARIES.iter().any(|place| loader.starts_with(place)) => {
            Program::Watchable
        }
        Some(_) => Program::Not("it was built for another C library"),
        None if head.starts_with(b"\x7fELF") => Program::Not("it is statically linked"),
        // A shell runs what has no form.
        None => Program::Watchable,
    }
}

/// The loader that a program of 64 bits names.
fn interpreter(file: &File, head: &[u8]) -> Option<Vec<u8>> {
    const INTERPRETER: u32 = 3;
    let mut name = segments(file, head, INTERPRETER).into_iter().next()?;
    name.retain(|&byte| byte != 0);
    Some(name)
}

/// Whether a note says that it was made by Go, whose programs use little of the C library.
fn is_made_by_go(file: &File, head: &[u8]) -> bool {
    const NOTES: u32 = 4;
    segments(file, head, NOTES).iter().any(|notes| is_noted(notes, b"Go\0"))
}

/// Whether one of the notes is of this owner.
fn is_noted(mut notes: &[u8], owner: &[u8]) -> bool {
    /// The length of its owner's name, that of its content, and its kind.
    const HEADER: usize = 12;
    while let Some((header, rest)) = notes.split_at_checked(HEADER) {
        let length =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize;
        let (name, content) = (length(0), length(4));
        if rest.get(..name).is_some_and(|name| name.starts_with(owner)) {
            return true;
        }
        let Some(following) = rest.get(name.next_multiple_of(4).saturating_add(content.next_multiple_of(4))..) else {
            return false;
        };
        notes = following;
    }
    false
}

/// The beginnings of a program's segments of one kind.
fn segments(file: &File, head: &[u8], kind: u32) -> Vec<Vec<u8>> {
    const MOST: u64 = 4096;
    let number = |bytes: &[u8], at: usize, size: usize| -> Option<u64> {
        let part = bytes.get(at..at + size)?;
        Some(part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    let segment = |start: u64| -> Option<Vec<u8>> {
        let mut header = [0u8; 56];
        file.read_exact_at(&mut header, start).ok()?;
        if number(&header, 0, 4)? != u64::from(kind) {
            return None;
        }
        let mut bytes = vec![0u8; number(&header, 32, 8)?.min(MOST) as usize];
        file.read_exact_at(&mut bytes, number(&header, 8, 8)?).ok()?;
        Some(bytes)
    };
    let table = || Some((number(head, 32, 8)?, number(head, 54, 2)?, number(head, 56, 2)?));
    let Some((start, size, count)) = table().filter(|_| head.starts_with(b"\x7fELF\x02\x01")) else {
        return Vec::new();
    };
    (0..count).filter_map(|index| segment(start.checked_add(index * size)?)).collect()
}

/// The environment for the program, where it can be watched.
///
/// # Safety
/// As for [`program`] and [`prepared`].
unsafe fn environment_for(
    path: *const c_char,
    searches: bool,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> Option<Prepared> {
    quietly(|| {
        let recorder = recorder()?;
        // Whether it may be run is part of it, and a script is opened by its interpreter only.
        // SAFETY: given by the caller.
        let is_path = !path.is_null() && (!searches || unsafe { CStr::from_ptr(path) }.to_bytes().contains(&b'/'));
        // SAFETY: given by the caller.
        let wanted = if is_path { unsafe { recorder.wanted(libc::AT_FDCWD, path) } } else { None };
        wanted.inspect(|path| recorder.seen(Deed::Looked, path, true, path.exists()));
        // SAFETY: given by the caller.
        unsafe {
            match program(path, searches) {
                Program::Watchable => prepared(recorder, environment),
                Program::Nothing => None,
                Program::Not(reason) => {
                    let command = words(path, arguments);
                    let (actor, reason) = (recorder.actor(), reason.to_owned());
                    recorder.log.frame(&ExternalFrame::Unobserved { actor, command, reason });
                    None
                }
            }
        }
    })
}

/// # Safety
/// `path` is a string, `arguments` null or a null-terminated array of strings.
unsafe fn words(path: *const c_char, arguments: *const *const c_char) -> String {
    let mut words = Vec::new();
    // SAFETY: given by the caller.
    unsafe {
        words.push(CStr::from_ptr(path).to_string_lossy().into_owned());
        let mut at = arguments;
        while !at.is_null() && !(*at).is_null() {
            if at != arguments {
                words.push(CStr::from_ptr(*at).to_string_lossy().into_owned());
            }
            at = at.add(1);
        }
    }
    words.join(" ")
}

/// The program's own environment.
fn current() -> *const *const c_char {
    // SAFETY: a read of a pointer, as the C library's functions do it.
    unsafe { environ as *const *const c_char }
}

type Strings = *const *const c_char;
type Execute = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
type Spawn =
    unsafe extern "C" fn(*mut libc::pid_t, *const c_char, *const c_void, *const c_void, Strings, Strings) -> c_int;

/// Calls the C library's function of that name with the environment that suits the program.
///
/// # Safety
/// The arguments are those of `execve`.
unsafe fn execute(
    (known, name): (&AtomicUsize, &CStr),
    searches: bool,
    (path, arguments, environment): (*const c_char, Strings, Strings),
) -> c_int {
    let Some(next) = next(known, name) else { return -1 };
    // SAFETY: the functions of these names have this signature; the prepared environment lives until they return.
    unsafe {
        let next: Execute = std::mem::transmute(next);
        let prepared = environment_for(path, searches, arguments, environment);
        next(path, arguments, prepared.as_ref().map_or(environment, |prepared| prepared.pointers.as_ptr()))
    }
}

#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
unsafe extern "C" fn execve(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: passed on.
    unsafe { execute((&NEXT, c"execve"), false, (path, arguments, environment)) }
}

#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: passed on.
    unsafe { execute((&NEXT, c"execve"), false, (path, arguments, current())) }
}

#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
unsafe extern "C" fn execvpe(path: *const c_char, arguments: Strings, environment: Strings) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: passed on.
    unsafe { execute((&NEXT, c"execvpe"), true, (path, arguments, environment)) }
}

#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
unsafe extern "C" fn execvp(path: *const c_char, arguments: Strings) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: passed on.
    unsafe { execute((&NEXT, c"execvpe"), true, (path, arguments, current())) }
}

/// # Safety
/// The arguments are those of `posix_spawn`.
unsafe fn spawn(
    (known, name): (&AtomicUsize, &CStr),
    searches: bool,
    process: *mut libc::pid_t,
    (path, arguments, environment): (*const c_char, Strings, Strings),
    (actions, attributes): (*const c_void, *const c_void),
) -> c_int {
    let Some(next) = next(known, name) else { return libc::ENOSYS };
    // SAFETY: the functions of these names have this signature; the prepared environment lives until they return.
    unsafe {
        let next: Spawn = std::mem::transmute(next);
        // No environment at all is taken for an empty one.
        let prepared = environment_for(path, searches, arguments, environment);
        let environment = prepared.as_ref().map_or(environment, |prepared| prepared.pointers.as_ptr());
        next(process, path, actions, attributes, arguments, environment)
    }
}

#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
unsafe extern "C" fn posix_spawn(
    process: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: passed on.
    unsafe { spawn((&NEXT, c"posix_spawn"), false, process, (path, arguments, environment), (actions, attributes)) }
}

#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
unsafe extern "C" fn posix_spawnp(
    process: *mut libc::pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: passed on.
    unsafe { spawn((&NEXT, c"posix_spawnp"), true, process, (path, arguments, environment), (actions, attributes)) }
}

/// What is started by these takes its environment from the program, which is not ours to change: it is only told.
fn tell_unobserved(command: *const c_char) {
    quietly(|| {
        if let Some(recorder) = recorder().filter(|_| !command.is_null()) {
            // SAFETY: what the program passed is a NUL-terminated string.
            let command = unsafe { CStr::from_ptr(command) }.to_string_lossy().into_owned();
            let reason = "it was started by a function that passes on the environment as it is".to_owned();
            recorder.log.frame(&ExternalFrame::Unobserved { actor: recorder.actor(), command, reason });
        }
    });
}

/// Exports functions whose first argument is a program or a command: all arguments stay where they are.
macro_rules! telling {
    ($($name:ident by $tell:ident;)*) => {$(
        /// Stands before the C library's function of that name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[allow(unreachable_pub, reason = "exported to the loader")]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "call {tell}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                tell = sym $tell
            )
        }

        /// Tells of it, and where the C library's function is.
        unsafe extern "C" fn $tell(command: *const c_char) -> usize {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            tell_unobserved(command);
            next(&NEXT, NAME).unwrap_or(nothing as *const () as usize)
        }
    )*};
}

extern "C" fn nothing() -> c_int {
    -1
}

telling! {
    execl by tell_execl;
    execlp by tell_execlp;
    execle by tell_execle;
    system by tell_system;
    popen by tell_popen;
}
