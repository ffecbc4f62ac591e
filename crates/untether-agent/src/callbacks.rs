//! The agent's life: loaded, the VM's start, every class, the VM's end.

use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use jvmti_bindings::sys::jni::{JNIEnv, JavaVM, jclass, jint, jobject, jthread};
use jvmti_bindings::sys::jvmti::{self, jvmtiCapabilities, jvmtiEnv, jvmtiEventCallbacks};
use untether_classfile::ClassFile;
use untether_frameworks::hooks_of;
use untether_weave::{Accesses, Families, GATED, Weaver, boundary};
use untether_wire::{AgentOptions, Frame, Probes, Secrets};

use crate::agent::{self, Agent, lock};
use crate::external;
use crate::guard::guarded;
use crate::jvm::Jvmti;
use crate::launch;
use crate::lifeline;
use crate::numbering::{LoaderNumbers, MOST_STATICS};
use crate::shapes::Shapes;
use crate::trace::Trace;

include!(concat!(env!("OUT_DIR"), "/runtime_classes.rs"));

/// Static reads, static writes, constants and the access cache, as `Untether.java` divides it.
const TABLE_BYTES: usize = 32 << 20;
const CONSTANTS_OFFSET: usize = 8 << 20;
const _: () = assert!(MOST_STATICS as usize * 4 <= 4 << 20);

/// The agent cannot work in this JVM, and why.
struct LoadError(String);

/// Starts to watch this JVM, or notes why that is not possible and leaves it alone.
pub(crate) fn load(vm: *mut JavaVM, options_path: &Path) {
    let (options, trace) = match prepare(options_path) {
        Ok(prepared) => prepared,
        Err(LoadError(reason)) => {
            // Whoever made the options file reads what is beside it; if nobody did, nobody is to be told.
            if let Some(Ok(trace)) = options_path.parent().filter(|_| options_path.exists()).map(Trace::create) {
                trace.note("unsupported", &reason);
            }
            return;
        }
    };
    lifeline::hang_on(&options.trace_directory);
    // The first to be made is the first to see a class.
    let (Some(first), Some(second)) = (environment(vm), environment(vm)) else {
        trace.note("unsupported", "this JVM offers no JVMTI 11");
        return;
    };
    let watches_uses = options.probes == Probes::Uses;
    watch(second, options, trace);
    if watches_uses {
        see_classes_first(first);
    }
}

/// A JVMTI environment of its own.
fn environment(vm: *mut JavaVM) -> Option<Jvmti> {
    let mut env: *mut c_void = ptr::null_mut();
    // SAFETY: `vm` was given by the JVM; on success `env` is a new JVMTI environment.
    let status = unsafe { ((**vm).GetEnv)(vm, &mut env, jvmti::JVMTI_VERSION_11) };
    (status == 0 && !env.is_null()).then(|| Jvmti::new(env.cast::<jvmtiEnv>()))
}

/// Classes are told as they lie on the class path, before other agents, for coverage say, have made something else of them. What
/// is woven comes after those, so that they know the classes that they see.
fn see_classes_first(jvmti: Jvmti) {
    let mut capabilities = jvmtiCapabilities::default();
    capabilities.set_can_generate_all_class_hook_events(true);
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.ClassFileLoadHook = Some(class_seen);
    let is_told = jvmti.add_capabilities(&capabilities)
        && jvmti.set_callbacks(&callbacks)
        && jvmti.enable(jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK);
    if let Some(agent) = agent::get().filter(|_| !is_told) {
        agent.trace.note("limit", "classes cannot be seen as they are loaded on this JVM");
    }
}

#[allow(clippy::too_many_arguments, reason = "the JVM calls it so")]
unsafe extern "system" fn class_seen(
    _jvmti: *mut jvmtiEnv,
    jni: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _domain: jobject,
    length: jint,
    data: *const c_uchar,
    _new_length: *mut jint,
    _new_data: *mut *mut c_uchar,
) {
    guarded((), || {
        let Some(agent) = agent::get().filter(|_| redefined.is_null() && !name.is_null()) else { return };
        // SAFETY: the JVM gives `length` readable bytes for the time of this call.
        let bytes = unsafe { std::slice::from_raw_parts(data, length.max(0) as usize) };
        // SAFETY: the name is a NUL-terminated string.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        if !is_of_jdk(agent, jni, loader)
            && !untether_frameworks::is_runner(name)
            && !untether_frameworks::is_build_tool(name)
        {
            let (high, low) = untether_wire::hash_of_bytes(bytes);
            let number = lock(&agent.numbers).class(name, &agent.trace);
            agent.trace.frame(&Frame::ClassLoaded { number, high, low, supertypes: supertypes(bytes) });
        }
    });
}

fn is_of_jdk(agent: &Agent, jni: *mut JNIEnv, loader: jobject) -> bool {
    loader.is_null() || is_platform_loader(agent, jni, loader)
}

fn prepare(options_path: &Path) -> Result<(AgentOptions, Trace), LoadError> {
    let options = AgentOptions::read(options_path).map_err(|error| LoadError(error.to_string()))?;
    let folder = &options.trace_directory;
    let trace = Trace::create(folder).map_err(|error| LoadError(format!("{}: {error}", folder.display())))?;
    Ok((options, trace))
}

fn watch(jvmti: Jvmti, options: AgentOptions, trace: Trace) {
    let property = |name: &str| jvmti.system_property(name).unwrap_or_default();
    let secrets = Secrets::new(&options.secrets);
    let (launched, withheld) = launch::capture(property("java.vm.version"), &property("java.class.path"), &secrets);
    let mut code = vec![property("java.class.path")];
    code.extend(untether_wire::module_entries(&launched.arguments));
    let class_path = launched.class_path.iter().cloned().chain(code.iter().skip(1).cloned()).collect();
    trace.frame(&Frame::Launch { launch: launched });
    withheld.iter().for_each(|frame| trace.frame(frame));
    let Some(tables) = reserve_tables() else {
        trace.note("unsupported", "there is no address space left for the agent's tables");
        return;
    };
    let agent = Agent {
        shapes: Shapes::new(&property("java.home"), code.join(":")),
        hash_shift: hash_shift(&property("java.vm.specification.version")),
        class_path,
        tables,
        jvmti,
        options,
        secrets,
        trace,
        numbers: Default::default(),
        stacks: Default::default(),
        boundary_class: OnceLock::new(),
        platform_loader: OnceLock::new(),
    };
    // Set already where the library was given twice.
    if let Some(agent) = agent::install(agent)
        && !subscribe(agent)
    {
        agent.trace.note("unsupported", "this JVM cannot show classes to an agent before it is up");
    }
}

/// The position of the identity hash in the header; the Java side checks it at start.
fn hash_shift(specification: &str) -> i32 {
    match specification.parse::<u32>() {
        Ok(feature) if feature >= 24 => 11,
        _ => 8,
    }
}

fn reserve_tables() -> Option<usize> {
    // SAFETY: a fresh private mapping; pages appear, zeroed, when touched.
    let address = unsafe {
        libc::mmap(
            ptr::null_mut(),
            TABLE_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    (address != libc::MAP_FAILED).then_some(address as usize)
}

fn subscribe(agent: &Agent) -> bool {
    let mut capabilities = jvmtiCapabilities::default();
    capabilities.set_can_generate_all_class_hook_events(true);
    if agent.watches_uses() {
        capabilities.set_can_retransform_classes(true);
    } else {
        // Classes of the JDK are woven as well. Without these, those that the JVM shares stay shared.
        capabilities.set_can_generate_early_class_hook_events(true);
        capabilities.set_can_generate_early_vmstart(true);
    }
    capabilities.set_can_get_line_numbers(true);
    capabilities.set_can_get_source_file_name(true);
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.ClassFileLoadHook = Some(class_file_load_hook);
    callbacks.VMStart = Some(vm_start);
    callbacks.VMInit = Some(vm_init);
    callbacks.VMDeath = Some(vm_death);
    let jvmti = agent.jvmti;
    jvmti.add_capabilities(&capabilities)
        && jvmti.set_callbacks(&callbacks)
        && [
            jvmti::JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
            jvmti::JVMTI_EVENT_VM_START,
            jvmti::JVMTI_EVENT_VM_INIT,
            jvmti::JVMTI_EVENT_VM_DEATH,
        ]
        .into_iter()
        .all(|event| jvmti.enable(event))
}

/// Defines the runtime in `java.lang` before any woven class can call it.
unsafe extern "system" fn vm_start(_jvmti: *mut jvmtiEnv, jni: *mut JNIEnv) {
    guarded((), || {
        let Some(agent) = agent::get() else { return };
        for (name, bytes) in CLASSES {
            let Ok(c_name) = CString::new(*name) else { continue };
            let bytes = with_constants(bytes, agent);
            // SAFETY: `jni` is this thread's environment; the bytes live until the JVM has parsed them;
            // the boot loader is null.
            let class = unsafe {
                ((**jni).DefineClass)(jni, c_name.as_ptr(), ptr::null_mut(), bytes.as_ptr().cast(), bytes.len() as jint)
            };
            if class.is_null() {
                agent.trace.note("unsupported", &format!("{name} could not be defined"));
                continue;
            }
            if *name == "java/lang/UntetherBoundary" {
                // SAFETY: `class` is a live local reference.
                let global = unsafe { ((**jni).NewGlobalRef)(jni, class) };
                let _ = agent.boundary_class.set(global as usize);
            }
            // SAFETY: as above, and it is not used any more.
            unsafe { ((**jni).DeleteLocalRef)(jni, class) };
        }
    });
}

/// The class's bytes with the two numbers of `UntetherConstants.java` in place of their stand-ins.
fn with_constants(bytes: &[u8], agent: &Agent) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    replace(&mut bytes, b"\x05untether", &(agent.tables as u64).to_be_bytes());
    replace(&mut bytes, b"\x03hash", &agent.hash_shift.to_be_bytes());
    bytes
}

/// Overwrites what follows the tag of a constant; `from` is the tag and the old value.
fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    if let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at + 1..at + from.len()].copy_from_slice(to);
    }
}

unsafe extern "system" fn vm_init(_jvmti: *mut jvmtiEnv, jni: *mut JNIEnv, _thread: jthread) {
    guarded((), || {
        if let Some(agent) = agent::get().filter(|agent| agent.options.external) {
            begin_external(agent, jni);
        }
        call_boundary(jni, "start");
        if let Some(agent) = agent::get().filter(|agent| agent.watches_uses()) {
            note_platform_loader(agent, jni);
            if !agent.jvmti.retransform(&GATED) {
                agent.trace.note("limit", "what reflection reaches is not seen on this JVM");
            }
        }
    });
}

/// What cannot be watched is told once.
fn begin_external(agent: &'static Agent, jni: *mut JNIEnv) {
    if !crate::preload::is_preloaded() || !external::begin(agent, jni) {
        agent.trace.note(agent.kind_of_gap(), "files, sockets and other programs are not watched in this JVM");
        return;
    }
    if !agent.watches_uses() {
        return;
    }
    // SAFETY: `jni` is this thread's environment; the class was defined when the VM started, and what is thrown is cleared.
    unsafe {
        let class = ((**jni).FindClass)(jni, c"java/lang/UntetherUses".as_ptr());
        let field = ((**jni).GetStaticFieldID)(jni, class, c"USED".as_ptr(), c"[B".as_ptr());
        if !field.is_null() {
            let used = ((**jni).GetStaticObjectField)(jni, class, field);
            external::begin_marking(((**jni).NewGlobalRef)(jni, used) as usize);
        }
        if ((**jni).ExceptionCheck)(jni) != 0 {
            ((**jni).ExceptionClear)(jni);
        }
    }
}

fn note_platform_loader(agent: &Agent, jni: *mut JNIEnv) {
    // SAFETY: `jni` is this thread's environment; the method is one of every supported JDK, and what it throws is cleared.
    unsafe {
        let class = ((**jni).FindClass)(jni, c"java/lang/ClassLoader".as_ptr());
        let method = ((**jni).GetStaticMethodID)(
            jni,
            class,
            c"getPlatformClassLoader".as_ptr(),
            c"()Ljava/lang/ClassLoader;".as_ptr(),
        );
        if !method.is_null() {
            let loader = ((**jni).CallStaticObjectMethodA)(jni, class, method, ptr::null());
            let _ = agent.platform_loader.set(((**jni).NewGlobalRef)(jni, loader) as usize);
        }
        if ((**jni).ExceptionCheck)(jni) != 0 {
            ((**jni).ExceptionClear)(jni);
        }
    }
}

unsafe extern "system" fn vm_death(_jvmti: *mut jvmtiEnv, jni: *mut JNIEnv) {
    guarded((), || {
        call_boundary(jni, "finish");
        external::finish();
        if let Some(agent) = agent::get() {
            if lock(&agent.numbers).is_full {
                agent.trace.note("limit", "too many fields to number: some were not watched");
            }
            agent.trace.frame(&Frame::End {});
        }
    });
}

fn call_boundary(jni: *mut JNIEnv, method: &str) {
    let Some((agent, &class)) = agent::get().and_then(|a| Some((a, a.boundary_class.get()?))) else { return };
    let (Ok(name), class) = (CString::new(method), class as jclass) else { return };
    // SAFETY: `class` is our global reference; the methods take nothing and return nothing.
    unsafe {
        let id = ((**jni).GetStaticMethodID)(jni, class, name.as_ptr(), c"()V".as_ptr());
        if !id.is_null() {
            ((**jni).CallStaticVoidMethodA)(jni, class, id, ptr::null());
        }
        if ((**jni).ExceptionCheck)(jni) != 0 {
            ((**jni).ExceptionClear)(jni);
            agent.trace.note("unsupported", &format!("the runtime failed in {method}"));
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the JVM calls it so")]
unsafe extern "system" fn class_file_load_hook(
    _jvmti: *mut jvmtiEnv,
    jni: *mut JNIEnv,
    _redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _domain: jobject,
    length: jint,
    data: *const c_uchar,
    new_length: *mut jint,
    new_data: *mut *mut c_uchar,
) {
    guarded((), || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: the JVM gives `length` readable bytes for the time of this call.
        let bytes = unsafe { std::slice::from_raw_parts(data, length.max(0) as usize) };
        // SAFETY: the name is null or a NUL-terminated string.
        let name = if name.is_null() { &[] } else { unsafe { CStr::from_ptr(name) }.to_bytes() };
        report_missing_hooks(agent, name, bytes);
        let woven = if agent.watches_uses() {
            weave_uses(agent, jni, (loader, name), bytes)
        } else if name == untether_weave::foundation::CLASS {
            foundation(agent, bytes)
        } else {
            weave(agent, jni, loader, bytes)
        };
        let Some(woven) = woven else { return };
        let Some(memory) = agent.jvmti.allocate(&woven) else { return };
        // SAFETY: both are out-parameters of the hook.
        unsafe {
            *new_length = woven.len() as jint;
            *new_data = memory;
        }
    });
}

fn foundation(agent: &Agent, bytes: &[u8]) -> Option<Vec<u8>> {
    let constants = untether_weave::foundation::UnsafeConstants {
        address_size: size_of::<usize>() as u16,
        // SAFETY: asks for a constant of the system.
        page_size: unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.clamp(0, i16::MAX.into()) as u16,
        is_big_endian: cfg!(target_endian = "big"),
        allows_unaligned: cfg!(any(target_arch = "x86_64", target_arch = "aarch64")),
    };
    let woven = constants.apply(bytes);
    if woven.is_err() {
        agent.trace.note("unsupported", "UnsafeConstants of this JDK is not as expected");
    }
    woven.ok()
}

/// Where only uses are wanted, classes of the JDK stay as they are, but for the gates.
fn weave_uses(agent: &Agent, jni: *mut JNIEnv, (loader, name): (jobject, &[u8]), bytes: &[u8]) -> Option<Vec<u8>> {
    if is_of_jdk(agent, jni, loader) && !GATED.contains(&name)
        || untether_frameworks::is_build_tool(name) && hooks_of(name).next().is_none()
    {
        return None;
    }
    weave_with(agent, 0, Families { heap: None, boundaries: true, uses: true }, bytes)
}

fn is_platform_loader(agent: &Agent, jni: *mut JNIEnv, loader: jobject) -> bool {
    let Some(&platform) = agent.platform_loader.get() else { return false };
    // SAFETY: `jni` is this thread's environment; both are live references.
    !jni.is_null() && unsafe { ((**jni).IsSameObject)(jni, platform as jobject, loader) != 0 }
}

fn supertypes(bytes: &[u8]) -> Vec<String> {
    let names = |class: &ClassFile<'_>| -> untether_classfile::Result<Vec<String>> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).replace('/', ".");
        let mut names: Vec<String> = class.super_name()?.map(text).into_iter().collect();
        for &interface in &class.interfaces {
            names.push(text(class.pool.class_name(interface)?));
        }
        Ok(names)
    };
    ClassFile::parse(bytes).and_then(|class| names(&class)).unwrap_or_default()
}

fn weave(agent: &Agent, jni: *mut JNIEnv, loader: jobject, bytes: &[u8]) -> Option<Vec<u8>> {
    let accesses = match agent.options.probes {
        Probes::All => Accesses::All,
        Probes::ToPutBack => Accesses::ToPutBack,
        Probes::Uses => return None,
    };
    let loader = lock(&agent.numbers).loaders.number(jni, loader, |loader| agent.jvmti.hash(loader));
    weave_with(agent, loader, Families { heap: Some(accesses), boundaries: true, uses: false }, bytes)
}

fn weave_with(agent: &Agent, loader: usize, families: Families, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut numbers = lock(&agent.numbers);
    let mut numbering = LoaderNumbers {
        numbers: &mut numbers,
        loader,
        constants: (agent.tables + CONSTANTS_OFFSET) as *mut u8,
        ignore: &agent.options.ignore,
        trace: &agent.trace,
    };
    let mut weaver = Weaver { families, resolver: &agent.shapes, numbering: &mut numbering };
    let woven = weaver.weave(bytes);
    if !woven.refusals.is_empty() {
        let class = ClassFile::parse(bytes)
            .ok()
            .and_then(|class| Some(String::from_utf8_lossy(class.name().ok()?).replace('/', ".")))
            .unwrap_or_default();
        for refusal in woven.refusals {
            agent.trace.frame(&Frame::Refusal {
                class: class.clone(),
                method: refusal.method.unwrap_or_default(),
                reason: refusal.reason.to_string(),
            });
        }
    }
    woven.bytes
}

/// A framework that does not have a method by which it is followed may run tests that nobody sees.
fn report_missing_hooks(agent: &Agent, name: &[u8], bytes: &[u8]) {
    for hook in boundary::missing_hooks(name, bytes) {
        let class = hook.class.replace('/', ".");
        agent.trace.note(
            "framework",
            &format!(
                "{class} has no method {}{}: this version of the framework is not known, tests may have been missed",
                hook.method, hook.descriptor
            ),
        );
    }
}
