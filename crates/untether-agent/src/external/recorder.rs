//! Who acts, and what was told of it already.

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use jvmti_bindings::sys::jni::{JNI_VERSION_1_6, JNIEnv, JavaVM, jbyte, jint};
use untether_wire::{Condition, Deed, EXTERNAL_EXTENSION, ExternalFrame, Probes, Reader, Wire as _, hash_of_bytes};

use crate::agent::{Agent, lock};
use crate::external::images::Images;
use crate::external::keep::{Found, Keeper};
use crate::external::log::Log;
use crate::external::paths;

/// A power of two: what was told last, by hash. Where two fall together, one is told again.
const REMEMBERED: usize = 1 << 13;

/// Folders of the system that say nothing of tests.
const OF_SYSTEM: &[&str] = &["/proc/", "/sys/", "/dev/"];

pub(super) struct Recorder {
    pub(super) log: Log,
    pub(super) images: Images,
    process: u32,
    actor: AtomicU32,
    /// Counts stretches of one actor: what was told in an earlier one is told again.
    segment: AtomicU32,
    told: Box<[AtomicU64]>,
    /// Beginnings of paths that are left out.
    hidden: Vec<Vec<u8>>,
    /// Paths that are left out.
    jars: Vec<Vec<u8>>,
    /// Folders whose class files the JVM loads.
    class_folders: Vec<Vec<u8>>,
    /// Where files are put back.
    pub(super) keeper: Option<Keeper>,
    /// None in a program that is no JVM of ours.
    jvm: Option<Jvm>,
}

/// What only a watched JVM has.
struct Jvm {
    agent: &'static Agent,
    vm: *mut JavaVM,
    /// Whether Java can be asked nothing any more.
    has_ended: AtomicBool,
    /// How far what was changed has been looked at.
    settled: Mutex<u64>,
    /// Global reference to `UntetherUses.USED`, where used classes are marked.
    marks: OnceLock<usize>,
}

// SAFETY: the VM's invocation interface may be used from any thread; all else is data.
unsafe impl Send for Recorder {}
// SAFETY: as above.
unsafe impl Sync for Recorder {}

/// Made once, never dropped.
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());

pub(super) fn recorder() -> Option<&'static Recorder> {
    // SAFETY: null, or what `install` leaked.
    unsafe { RECORDER.load(Ordering::Acquire).as_ref() }
}

/// Who is to be told of a call from there.
pub(super) fn watching(caller: usize) -> Option<&'static Recorder> {
    recorder().filter(|recorder| !recorder.images.is_left_out(caller))
}

pub(super) fn install(recorder: Recorder) {
    RECORDER.store(Box::into_raw(Box::new(recorder)), Ordering::Release);
}

/// Begins to watch what this JVM does; false where that cannot be.
pub(crate) fn begin(agent: &'static Agent, jni: *mut JNIEnv) -> bool {
    let folder = &agent.options.trace_directory;
    let path = folder.join(&agent.trace.name).with_extension(EXTERNAL_EXTENSION);
    let (Some(log), Some(vm)) = (Log::create::<ExternalFrame>(&path), java_vm(jni)) else { return false };
    let mut hidden =
        vec![prefix(folder), prefix(Path::new(&agent.jvmti.system_property("java.home").unwrap_or_default()))];
    hidden.extend(folder.parent().filter(|store| store.ends_with(".untether")).map(prefix));
    let (mut jars, mut class_folders) = (Vec::new(), Vec::new());
    for entry in &agent.class_path {
        let Ok(path) = std::path::absolute(entry) else { continue };
        // Whoever walks through it does so under its real name.
        for path in path.canonicalize().ok().filter(|real| *real != path).into_iter().chain([path]) {
            if path.is_dir() {
                class_folders.push(prefix(&path));
            }
            jars.push(path.as_os_str().as_bytes().to_vec());
        }
    }
    let jvm = Jvm { agent, vm, has_ended: false.into(), settled: Mutex::default(), marks: OnceLock::new() };
    let kept_folders = &agent.options.kept_folders;
    let keeper = (!kept_folders.is_empty()).then(|| {
        let temporary = agent.jvmti.system_property("java.io.tmpdir").map(PathBuf::from);
        Keeper::create(&path, kept_folders.iter().cloned().chain(temporary).chain([std::env::temp_dir()]))
    });
    if keeper.as_ref().is_some_and(Option::is_none) {
        agent.trace.note(agent.kind_of_gap(), "files cannot be put back: there is no room for what they held");
    }
    install(Recorder {
        jars,
        class_folders,
        keeper: keeper.flatten(),
        jvm: Some(jvm),
        ..Recorder::new(log, 0, hidden)
    });
    true
}

/// The world is to be found as it is now, again: at most so many such points are remembered.
pub(crate) fn save_files(saves: usize) {
    if let Some(keeper) = recorder().and_then(|recorder| recorder.keeper.as_ref()) {
        keeper.save(saves);
    }
}

/// Puts back what was changed since the last of so many points; what cannot be is told.
pub(crate) fn put_back_files(saves: usize) -> Option<String> {
    recorder()?.keeper.as_ref()?.put_back(saves)
}

fn java_vm(jni: *mut JNIEnv) -> Option<*mut JavaVM> {
    let mut vm = ptr::null_mut();
    // SAFETY: `jni` is this thread's environment.
    let status = unsafe { ((**jni).GetJavaVM)(jni, &mut vm) };
    (status == 0 && !vm.is_null()).then_some(vm)
}

/// From now on what is read is marked like used classes, in this array.
pub(crate) fn begin_marking(used: usize) {
    if let Some(Recorder { jvm: Some(jvm), .. }) = recorder() {
        let _ = jvm.marks.set(used);
    }
}

/// Somebody else acts from now on.
pub(crate) fn acts(actor: u32) {
    let Some(recorder) = recorder() else { return };
    recorder.settle();
    if recorder.actor.swap(actor, Ordering::AcqRel) != actor {
        recorder.log.frame(&ExternalFrame::Acts { actor });
    }
    recorder.segment.fetch_add(1, Ordering::AcqRel);
}

/// Whoever acts, what was told is told again: it is marked for a class initializer as well.
pub(crate) fn new_stretch() {
    if let Some(recorder) = recorder() {
        recorder.segment.fetch_add(1, Ordering::AcqRel);
    }
}

/// The JVM ends: it is asked nothing any more.
pub(crate) fn finish() {
    let Some(recorder) = recorder() else { return };
    recorder.settle();
    if let Some(jvm) = &recorder.jvm {
        jvm.has_ended.store(true, Ordering::Release);
        if recorder.log.has_failed() {
            let kind = jvm.agent.kind_of_gap();
            jvm.agent.trace.note(kind, "what tests did with files could not be written down: is the disk full?");
        }
    }
}

/// The folder as the beginning of a path.
pub(super) fn prefix(folder: &Path) -> Vec<u8> {
    let mut bytes = folder.as_os_str().as_bytes().to_vec();
    if bytes.last() != Some(&b'/') {
        bytes.push(b'/');
    }
    bytes
}

/// What is told of one deed.
pub(super) struct Done<'d> {
    pub(super) deed: Deed,
    pub(super) path: &'d Path,
    /// Whether links are followed to what they name.
    pub(super) follows: bool,
    pub(super) before: Condition,
    pub(super) is_whole: bool,
}

impl Recorder {
    pub(super) fn new(log: Log, actor: u32, hidden: Vec<Vec<u8>>) -> Self {
        Recorder {
            log,
            images: Images::loaded(),
            process: std::process::id(),
            actor: actor.into(),
            segment: 0.into(),
            told: (0..REMEMBERED).map(|_| AtomicU64::new(0)).collect(),
            hidden: hidden.into_iter().filter(|prefix| prefix.len() > 1).collect(),
            jars: Vec::new(),
            class_folders: Vec::new(),
            keeper: None,
            jvm: None,
        }
    }

    pub(super) fn actor(&self) -> u32 {
        self.actor.load(Ordering::Acquire)
    }

    /// Whether this is the process that began to watch, and no copy of it.
    pub(super) fn is_own_process(&self) -> bool {
        self.process == std::process::id()
    }

    pub(super) fn segment(&self) -> u32 {
        self.segment.load(Ordering::Relaxed)
    }

    /// Whether this is about the JVM's class path, the system or ourselves.
    fn is_hidden(&self, path: &[u8]) -> bool {
        if OF_SYSTEM.iter().any(|prefix| path.starts_with(prefix.as_bytes()))
            || self.hidden.iter().any(|prefix| path.starts_with(prefix))
        {
            return true;
        }
        let is_class = path.ends_with(b".class");
        let is_root =
            |root: &Vec<u8>| path.strip_prefix(root.as_slice()).is_some_and(|rest| rest.is_empty() || rest == b"/");
        is_class && self.class_folders.iter().any(|folder| path.starts_with(folder)) || self.jars.iter().any(is_root)
    }

    /// Whether it has not been told yet, in this stretch of this actor.
    fn is_new(&self, deed: Deed, name: &[u8]) -> bool {
        let who = u64::from(self.segment.load(Ordering::Relaxed)) << 32 | u64::from(self.actor.load(Ordering::Relaxed));
        let mixed = (who ^ (deed as u64) << 28).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Zero is what nothing leaves.
        let key = (hash_of_bytes(name).1 ^ mixed) | 1;
        self.told[key as usize >> 1 & (REMEMBERED - 1)].swap(key, Ordering::Relaxed) != key
    }

    /// The path, if a deed with it is to be told.
    ///
    /// # Safety
    /// `path` is null or a NUL-terminated string.
    pub(super) unsafe fn wanted(&self, folder: c_int, path: *const std::ffi::c_char) -> Option<PathBuf> {
        // SAFETY: given by the caller.
        let path = unsafe { paths::absolute(folder, path) }?;
        (!self.is_hidden(path.as_os_str().as_bytes())).then_some(path)
    }

    /// How it is before it is changed, where that is to be told.
    pub(super) fn before(&self, deed: Deed, path: &Path, follows: bool) -> Option<Condition> {
        self.is_new(deed, path.as_os_str().as_bytes()).then(|| paths::condition(path, follows))
    }

    /// Keeps what stands there, where it is to be put back later. Call before each change.
    pub(super) fn keep(&self, path: &Path, follows: bool) -> Found {
        let Some(keeper) = self.keeper.as_ref().filter(|keeper| keeper.is_wanted()) else { return Found::Unkept };
        let path = paths::canonical(path, follows);
        if self.is_hidden(path.as_os_str().as_bytes()) { Found::Unkept } else { keeper.keep(&path) }
    }

    /// After the change: notes that nothing stood there.
    pub(super) fn note_made(&self, found: Found, path: &Path, follows: bool) {
        if found == Found::Nothing
            && let Some(keeper) = &self.keeper
        {
            keeper.note_made(&paths::canonical(path, follows));
        }
    }

    /// After the change: what stands there now came from where it cannot be put back.
    pub(super) fn note_moved(&self, path: &Path) {
        if let Some(keeper) = self.keeper.as_ref().filter(|keeper| keeper.is_wanted()) {
            keeper.note_moved(&paths::canonical(path, false));
        }
    }

    /// What is said of a file besides its content was set, of this kind.
    pub(super) fn changed(&self, kind: &[u8], done: Done<'_>) {
        if self.is_new(done.deed, &[done.path.as_os_str().as_bytes(), b"\0", kind].concat()) {
            self.tell(done);
        }
    }

    /// Something was looked at, or read.
    pub(super) fn seen(&self, deed: Deed, path: &Path, follows: bool, is_there: bool) {
        let bytes = path.as_os_str().as_bytes();
        if !self.is_new(deed, bytes) {
            return;
        }
        let before = if is_there {
            paths::version(path, follows)
        } else {
            Condition { thing: untether_wire::Thing::Absent, ..paths::NOTHING_KNOWN }
        };
        self.tell(Done { deed, path, follows, before, is_whole: false });
    }

    pub(super) fn tell(&self, done: Done<'_>) {
        let path = paths::canonical(done.path, done.follows);
        if self.is_hidden(path.as_os_str().as_bytes()) {
            return;
        }
        let name = paths::text(&path);
        let links = paths::metadata(&path, false).filter(|data| data.is_file() && data.nlink() > 1);
        let (device, inode) = links.map_or((0, 0), |data| (data.dev(), data.ino()));
        if matches!(done.deed, Deed::Looked | Deed::Asked | Deed::Read | Deed::Listed) {
            let kind = if done.deed == Deed::Listed { "dir" } else { "file" };
            self.mark(&format!("{kind}:{name}"));
        }
        self.log.frame(&ExternalFrame::Done {
            process: std::process::id(),
            actor: self.actor(),
            deed: done.deed,
            name,
            before: done.before,
            is_whole: done.is_whole,
            device,
            inode,
            stack: self.stack(),
        });
    }

    /// The same of an address.
    pub(super) fn tell_address(&self, deed: Deed, name: &str, is_given_by_system: bool) {
        if is_given_by_system || self.is_new(deed, name.as_bytes()) {
            self.log.frame(&ExternalFrame::Done {
                process: std::process::id(),
                actor: self.actor(),
                deed,
                name: name.to_owned(),
                before: paths::NOTHING_KNOWN,
                is_whole: is_given_by_system,
                device: 0,
                inode: 0,
                stack: self.stack(),
            });
        }
    }

    /// The calling thread's environment, where it is one of Java's and nothing is in the air.
    fn java(&self) -> Option<(&Jvm, *mut JNIEnv)> {
        let jvm = self.jvm.as_ref().filter(|jvm| !jvm.has_ended.load(Ordering::Acquire))?;
        if !self.is_own_process() {
            // A copy of the JVM's process, in which only one thread is left.
            return None;
        }
        let mut env = ptr::null_mut();
        // SAFETY: the VM is there as long as the process; a thread that is not Java's gets an error.
        let status = unsafe { ((**jvm.vm).GetEnv)(jvm.vm, &mut env, JNI_VERSION_1_6) };
        let env = env.cast::<JNIEnv>();
        // SAFETY: on success `env` is this thread's environment. Calls that are told come from native code that Java called.
        (status == 0 && !env.is_null() && unsafe { ((**env).ExceptionCheck)(env) } == 0).then_some((jvm, env))
    }

    fn stack(&self) -> u32 {
        let Some((jvm, env)) = self.java().filter(|(jvm, _)| jvm.agent.options.probes == Probes::All) else { return 0 };
        lock(&jvm.agent.stacks).capture(jvm.agent, env)
    }

    /// Marks it as used, like a class.
    fn mark(&self, name: &str) {
        let Some((jvm, env)) = self.java() else { return };
        let Some(&used) = jvm.marks.get() else { return };
        let number = lock(&jvm.agent.numbers).thing(name, &jvm.agent.trace);
        if number > 0 {
            let mark: jbyte = 1;
            // SAFETY: the array has an element for each number that is given out.
            unsafe { ((**env).SetByteArrayRegion)(env, used as _, number as jint, 1, &mark) };
        }
    }

    /// Tells how what was changed is, now that whoever acted does so no longer.
    fn settle(&self) {
        let Some(jvm) = self.jvm.as_ref().filter(|jvm| jvm.agent.options.probes == Probes::All) else { return };
        let mut settled = lock(&jvm.settled);
        let bytes = self.log.since(*settled);
        let mut reader = Reader::<ExternalFrame>::new();
        if *settled > 0 {
            reader.feed(&ExternalFrame::HEADER);
        }
        reader.feed(&bytes);
        *settled += bytes.len() as u64;
        let mut changed: Vec<(u32, String)> = Vec::new();
        while let Ok(Some(frame)) = reader.next_frame() {
            if let ExternalFrame::Done { actor, deed, name, .. } = frame
                && matches!(deed, Deed::Wrote | Deed::Created | Deed::Removed | Deed::Changed)
                && !changed.iter().any(|(other, known)| *other == actor && *known == name)
            {
                changed.push((actor, name));
            }
        }
        for (actor, name) in changed {
            let after = paths::condition(&paths::path_of(&name), false);
            self.log.frame(&ExternalFrame::After { actor, name, after });
        }
    }
}
