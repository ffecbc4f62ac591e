//! The way in: preloaded into a build tool or a JVM, this library adds `-agentpath` to the JVM, or to the test JVMs that the
//! tool forks, whatever its configuration says, and takes itself out of their environment.
//!
//! `java` is a small C program; its `main` is reached through `__libc_start_main`, which we stand
//! before. Every other program only passes through.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use untether_frameworks::{BUILD_TOOL_DAEMONS, BUILD_TOOL_MAINS, MAVEN_MAINS};
use untether_wire::{
    ACTOR_VARIABLE, AGENT_VARIABLE, EXTERNAL_VARIABLE, MAVEN_EXTENSION, OPTIONS_VARIABLE, PRELOAD_BEFORE_VARIABLE,
};

use crate::guard::guarded;
use crate::{external, lifeline};

pub(crate) const PRELOAD: &str = "LD_PRELOAD";

/// What a program that is to be left as it was does not find in its environment.
const OUR_VARIABLES: [&str; 6] =
    [AGENT_VARIABLE, OPTIONS_VARIABLE, PRELOAD_BEFORE_VARIABLE, EXTERNAL_VARIABLE, ACTOR_VARIABLE, PRELOAD];

/// The optimising compiler takes longer for woven code, and most of what a test suite runs does not last long enough to pay
/// it back: it waits for more calls. First among the options, so that whoever sets these himself is heard.
const LATER_OPTIMISATION: &[&CStr] = &[
    c"-XX:Tier4InvocationThreshold=30000",
    c"-XX:Tier4MinInvocationThreshold=4000",
    c"-XX:Tier4CompileThreshold=80000",
    c"-XX:Tier4BackEdgeThreshold=80000",
];

/// Options of JVMs that run nothing.
const NOTHING_TO_RUN: &[&str] = &["-version", "--version", "-fullversion", "-XshowSettings:properties"];

/// Whether this library stands before the C library's functions.
static IS_PRELOADED: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_preloaded() -> bool {
    IS_PRELOADED.load(Ordering::Relaxed)
}

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type StartMain =
    unsafe extern "C" fn(Main, c_int, *mut *mut c_char, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
}

/// Stands before the C library's function of the same name.
///
/// # Safety
/// Called by the start code of a program with the arguments that the loader prepared.
#[unsafe(no_mangle)]
#[allow(unreachable_pub, reason = "exported to the loader")]
pub unsafe extern "C" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    // SAFETY: the next definition is the C library's, with this signature; without it no program can
    // start, so aborting is all that is left. `argv` has `argc` strings.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, c"__libc_start_main".as_ptr());
        if next.is_null() {
            libc::abort();
        }
        let next: StartMain = std::mem::transmute(next);
        match injected(argc, argv) {
            Some((argc, argv)) => next(main, argc, argv, init, fini, rtld_fini, stack_end),
            None => next(main, argc, argv, init, fini, rtld_fini, stack_end),
        }
    }
}

/// New arguments for a test JVM. They live as long as the process.
///
/// # Safety
/// `argv` has `argc` NUL-terminated strings; no other thread runs yet.
unsafe fn injected(argc: c_int, argv: *mut *mut c_char) -> Option<(c_int, *mut *mut c_char)> {
    if external::is_child() {
        guarded((), external::begin_child);
        restore_environment();
        return None;
    }
    if !is_java() {
        return None;
    }
    IS_PRELOADED.store(true, Ordering::Relaxed);
    let agent = std::env::var_os(AGENT_VARIABLE)?;
    let options = std::env::var_os(OPTIONS_VARIABLE)?;
    // SAFETY: given by the caller.
    let arguments: Vec<*mut c_char> = unsafe { std::slice::from_raw_parts(argv, argc as usize) }.to_vec();
    // SAFETY: given by the caller.
    let texts = || arguments.iter().map(|&argument| unsafe { CStr::from_ptr(argument) }.to_bytes());
    let is_one_of = |names: &[&str]| texts().any(|text| names.iter().any(|name| name.as_bytes() == text));
    if BUILD_TOOL_MAINS.iter().any(|mains| is_one_of(mains)) {
        let directory = Path::new(&options).parent()?;
        lifeline::hang_on(directory);
        let extension = directory.join(MAVEN_EXTENSION);
        if !is_one_of(MAVEN_MAINS) || !extension.exists() {
            return None;
        }
        // What the user gives Maven under this name counts before it.
        let option = [b"-Dmaven.ext.class.path=", extension.as_os_str().as_bytes()].concat();
        return Some(with_options(&arguments, &[CString::new(option).ok()?.into_raw()]));
    }
    let is_watched =
        |text: &[u8]| text.starts_with(b"-agentpath:") && text.windows(14).any(|part| part == b"untether_agent");
    if is_one_of(BUILD_TOOL_DAEMONS) || is_one_of(NOTHING_TO_RUN) || texts().any(is_watched) || arguments.len() < 2 {
        return None;
    }
    let option = [b"-agentpath:", agent.as_bytes(), b"=", options.as_bytes()].concat();
    let mut ours = vec![CString::new(option).ok()?.into_raw()];
    ours.extend(LATER_OPTIMISATION.iter().map(|option| option.as_ptr().cast_mut()));
    restore_environment();
    Some(with_options(&arguments, &ours))
}

/// The arguments with options before all others.
fn with_options(arguments: &[*mut c_char], options: &[*mut c_char]) -> (c_int, *mut *mut c_char) {
    let mut injected = [&arguments[..1], options, &arguments[1..]].concat();
    let count = injected.len() as c_int;
    injected.push(ptr::null_mut());
    (count, Box::leak(injected.into_boxed_slice()).as_mut_ptr())
}

fn is_java() -> bool {
    std::fs::read_link("/proc/self/exe").is_ok_and(|path| path.file_name() == Some(OsStr::new("java")))
}

/// Makes the environment look as it did before us, for the program and its children.
fn restore_environment() {
    let before = std::env::var_os(PRELOAD_BEFORE_VARIABLE);
    let mut kept: Vec<*mut c_char> = Vec::new();
    // SAFETY: the program is not running yet: no other thread, and no one else holds `environ`. The new
    // array and strings are leaked on purpose.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            let entry = CStr::from_ptr(*at).to_bytes();
            let name = entry.split(|&b| b == b'=').next().unwrap_or_default();
            let is_ours = OUR_VARIABLES.iter().any(|ours| ours.as_bytes() == name);
            if !is_ours {
                kept.push(*at);
            }
            at = at.add(1);
        }
        if let Some(before) = before.filter(|value| !value.is_empty()) {
            let entry = [PRELOAD.as_bytes(), b"=", before.as_bytes()].concat();
            if let Ok(entry) = CString::new(entry) {
                kept.push(entry.into_raw());
            }
        }
        kept.push(ptr::null_mut());
        environ = Box::leak(kept.into_boxed_slice()).as_mut_ptr();
    }
}
