//! The methods of `UntetherNative.java`, exported under the names by which the JVM looks for them.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use jvmti_bindings::sys::jni::{
    JNIEnv, jboolean, jbyteArray, jclass, jint, jlong, jlongArray, jobject, jobjectArray, jstring, jvalue,
};

use untether_wire::{Probes, Question, facts};

use crate::agent::{self, Agent, lock};
use crate::guard::guarded;
use crate::jvm::DeclaredField;
use crate::numbering::FieldName;

#[unsafe(export_name = "Java_java_lang_UntetherNative_emit")]
unsafe extern "system" fn emit(jni: *mut JNIEnv, _class: jclass, frames: jbyteArray, length: jint) {
    guarded((), || {
        let Some(agent) = agent::get() else { return };
        let mut bytes = vec![0u8; length.max(0) as usize];
        // SAFETY: the Java side passes an array of at least `length` bytes.
        unsafe { ((**jni).GetByteArrayRegion)(jni, frames, 0, length, bytes.as_mut_ptr().cast()) };
        let told = untether_wire::with_properties(&bytes, |property| agent.secrets.frame(property));
        agent.trace.bytes(told.as_ref().unwrap_or(&bytes));
    });
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_captureStack")]
unsafe extern "system" fn capture_stack(jni: *mut JNIEnv, _class: jclass) -> jint {
    guarded(0, || agent::get().map_or(0, |agent| lock(&agent.stacks).capture(agent, jni) as jint))
}

/// A native method is promised room for 16 local references; more are to be asked for.
const SPARE: usize = 16;

/// A new Java array of the named class with the given elements.
fn array(jni: *mut JNIEnv, class: &CStr, elements: &[jobject]) -> jobjectArray {
    // SAFETY: called inside a native method with its environment; the elements are live references.
    unsafe {
        ((**jni).EnsureLocalCapacity)(jni, (elements.len() + SPARE) as jint);
        let array = empty_array(jni, class, elements.len());
        if array.is_null() {
            return array;
        }
        for (index, &element) in elements.iter().enumerate() {
            ((**jni).SetObjectArrayElement)(jni, array, index as jint, element);
            ((**jni).DeleteLocalRef)(jni, element);
        }
        array
    }
}

/// # Safety
/// Called inside a native method with its environment.
unsafe fn empty_array(jni: *mut JNIEnv, class: &CStr, length: usize) -> jobjectArray {
    // SAFETY: given by the caller; the class is one of java.lang.
    unsafe {
        let class = ((**jni).FindClass)(jni, class.as_ptr());
        let array = ((**jni).NewObjectArray)(jni, length as jint, class, ptr::null_mut());
        ((**jni).DeleteLocalRef)(jni, class);
        array
    }
}

/// A new Java array of strings, of which there may be many: one after the other.
fn strings(jni: *mut JNIEnv, texts: &[&str]) -> jobjectArray {
    // SAFETY: called inside a native method with its environment; each reference is dropped once it is stored.
    unsafe {
        let array = empty_array(jni, c"java/lang/String", texts.len());
        if array.is_null() {
            return array;
        }
        for (index, text) in texts.iter().enumerate() {
            let text = java_string(jni, text);
            ((**jni).SetObjectArrayElement)(jni, array, index as jint, text);
            ((**jni).DeleteLocalRef)(jni, text);
        }
        array
    }
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_initializedClasses")]
unsafe extern "system" fn initialized_classes(jni: *mut JNIEnv, _class: jclass) -> jobjectArray {
    guarded(ptr::null_mut(), || {
        let classes = agent::get().map(|agent| agent.jvmti.initialized_classes()).unwrap_or_default();
        array(jni, c"java/lang/Class", &classes)
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_isPrepared")]
unsafe extern "system" fn is_prepared(_jni: *mut JNIEnv, _class: jclass, asked: jclass) -> jboolean {
    guarded(0, || agent::get().map_or(0, |agent| agent.jvmti.is_prepared(asked).into()))
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_liveThreads")]
unsafe extern "system" fn live_threads(jni: *mut JNIEnv, _class: jclass) -> jobjectArray {
    guarded(ptr::null_mut(), || {
        let threads = agent::get().map(|agent| agent.jvmti.threads()).unwrap_or_default();
        array(jni, c"java/lang/Thread", &threads)
    })
}

fn java_string(jni: *mut JNIEnv, text: &str) -> jstring {
    let Ok(text) = CString::new(text) else { return ptr::null_mut() };
    // SAFETY: names of fields and classes come from the VM in modified UTF-8 and go back unchanged but
    // for characters outside the basic plane, which only leave a name unresolved.
    unsafe { ((**jni).NewStringUTF)(jni, text.as_ptr()) }
}

/// The names of the fields that the class declares; the numbers about them, and whether the class is opaque, go into the first
/// element of `told`.
#[unsafe(export_name = "Java_java_lang_UntetherNative_fields")]
unsafe extern "system" fn fields(
    jni: *mut JNIEnv,
    _class: jclass,
    declaring: jclass,
    told: jobjectArray,
) -> jobjectArray {
    guarded(ptr::null_mut(), || {
        let Some(agent) = agent::get() else { return ptr::null_mut() };
        let class = agent.jvmti.class_name(declaring).unwrap_or_default();
        let declared = agent.jvmti.fields(declaring);
        let mut numbers: Vec<jint> = vec![is_opaque(agent, &class).into()];
        numbers.extend(declared.iter().map(|field| field_facts(agent, &class, field) as jint));
        // SAFETY: called inside a native method with its environment; the Java side passes an array of one array of
        // numbers.
        unsafe {
            let array = ((**jni).NewIntArray)(jni, numbers.len() as jint);
            if array.is_null() {
                return ptr::null_mut();
            }
            ((**jni).SetIntArrayRegion)(jni, array, 0, numbers.len() as jint, numbers.as_ptr());
            ((**jni).SetObjectArrayElement)(jni, told, 0, array);
            ((**jni).DeleteLocalRef)(jni, array);
        }
        let names: Vec<&str> = declared.iter().map(|(_, name, _)| name.as_str()).collect();
        strings(jni, &names)
    })
}

fn field_facts(agent: &Agent, class: &str, (modifiers, name, descriptor): &DeclaredField) -> u32 {
    const ACC_STATIC: i32 = 0x0008;
    let full = format!("{class}.{name}");
    let is_static = modifiers & ACC_STATIC != 0;
    let is_ours = is_static && (is_framework(class) || class.starts_with("java.lang.Untether"));
    let flags = [
        (is_static, facts::IS_STATIC),
        (is_ours || agent.options.ignore.matches(&full), facts::IS_IGNORED),
        (agent.options.opaque.matches(&full), facts::IS_OPAQUE),
    ];
    let known = flags.into_iter().filter(|(is_so, _)| *is_so).fold(0, |all, (_, fact)| all | fact);
    known | u32::from(descriptor.bytes().next().unwrap_or(b'?'))
}

fn is_framework(class: &str) -> bool {
    untether_frameworks::is_runner(class.as_bytes())
}

fn is_opaque(agent: &Agent, class: &str) -> bool {
    class.starts_with("java.lang.Untether")
        || untether_frameworks::is_build_tool(class.as_bytes())
        || agent.options.immutable.matches(class)
}

fn field_name(agent: &Agent, number: jint, is_static: bool) -> Option<(usize, FieldName)> {
    let numbers = lock(&agent.numbers);
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    if is_static {
        numbers.static_names.get(index).cloned()
    } else {
        numbers.instance_names.get(index).map(|name| (0, name.clone()))
    }
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_field")]
unsafe extern "system" fn field(jni: *mut JNIEnv, _class: jclass, number: jint, is_static: jboolean) -> jobjectArray {
    guarded(ptr::null_mut(), || {
        let found = agent::get().and_then(|agent| field_name(agent, number, is_static != 0));
        let Some((_, name)) = found else { return ptr::null_mut() };
        let owner = String::from_utf8_lossy(&name.owner).replace('/', ".");
        strings(jni, &[&owner, &*String::from_utf8_lossy(&name.name), &*String::from_utf8_lossy(&name.descriptor)])
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_staticOwner")]
unsafe extern "system" fn static_owner(jni: *mut JNIEnv, _class: jclass, number: jint) -> jclass {
    guarded(ptr::null_mut(), || {
        let Some((agent, (loader, name))) = agent::get().and_then(|a| Some((a, field_name(a, number, true)?))) else {
            return ptr::null_mut();
        };
        loaded_class(jni, agent, loader, &name.owner)
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_initializerClass")]
unsafe extern "system" fn initializer_class(jni: *mut JNIEnv, _class: jclass, number: jint) -> jclass {
    guarded(ptr::null_mut(), || {
        let Some(agent) = agent::get() else { return ptr::null_mut() };
        let index = (number as usize).wrapping_sub(1);
        let Some((loader, name)) = lock(&agent.numbers).initializers.get(index).cloned() else {
            return ptr::null_mut();
        };
        loaded_class(jni, agent, loader, &name)
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_staticLoader")]
unsafe extern "system" fn static_loader(jni: *mut JNIEnv, _class: jclass, number: jint) -> jobject {
    guarded(ptr::null_mut(), || {
        let Some((agent, (loader, _))) = agent::get().and_then(|a| Some((a, field_name(a, number, true)?))) else {
            return ptr::null_mut();
        };
        loader_reference(jni, agent, loader)
    })
}

/// A local reference to a numbered loader: null for the boot loader or one that is gone.
fn loader_reference(jni: *mut JNIEnv, agent: &Agent, loader: usize) -> jobject {
    lock(&agent.numbers).loaders.reference(jni, loader)
}

/// The class of that name if the loader has already loaded or been asked for it; loads nothing for
/// loaders other than the boot loader, and runs no Java code.
fn loaded_class(jni: *mut JNIEnv, agent: &Agent, loader: usize, internal_name: &[u8]) -> jclass {
    let Ok(slashed) = CString::new(internal_name) else { return ptr::null_mut() };
    // SAFETY: the environment is the calling native's; `findLoadedClass0` is a native method of every
    // supported JDK, called without virtual dispatch; pending exceptions are cleared.
    unsafe {
        let found = if loader == 0 {
            ((**jni).FindClass)(jni, slashed.as_ptr())
        } else {
            let reference = loader_reference(jni, agent, loader);
            if reference.is_null() {
                return ptr::null_mut();
            }
            let class = ((**jni).FindClass)(jni, c"java/lang/ClassLoader".as_ptr());
            let method = ((**jni).GetMethodID)(
                jni,
                class,
                c"findLoadedClass0".as_ptr(),
                c"(Ljava/lang/String;)Ljava/lang/Class;".as_ptr(),
            );
            if method.is_null() {
                ((**jni).ExceptionClear)(jni);
                return ptr::null_mut();
            }
            let dotted = String::from_utf8_lossy(internal_name).replace('/', ".");
            let arguments = [jvalue { l: java_string(jni, &dotted) }];
            let found = ((**jni).CallNonvirtualObjectMethodA)(jni, reference, class, method, arguments.as_ptr());
            if ((**jni).ExceptionCheck)(jni) != 0 {
                ((**jni).ExceptionClear)(jni);
                return ptr::null_mut();
            }
            found
        };
        if ((**jni).ExceptionCheck)(jni) != 0 {
            ((**jni).ExceptionClear)(jni);
            return ptr::null_mut();
        }
        found
    }
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_stackBounds")]
unsafe extern "system" fn stack_bounds(jni: *mut JNIEnv, _class: jclass, low_and_high: jlongArray) {
    guarded((), || {
        // SAFETY: the attribute structure is initialised by the call that succeeds, then destroyed; the
        // Java array has two elements.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
                return;
            }
            let mut low: *mut c_void = ptr::null_mut();
            let mut size = 0;
            if libc::pthread_attr_getstack(&attributes, &mut low, &mut size) == 0 {
                let bounds = [low as jlong, low as jlong + size as jlong];
                ((**jni).SetLongArrayRegion)(jni, low_and_high, 0, 2, bounds.as_ptr());
            }
            libc::pthread_attr_destroy(&mut attributes);
        }
    });
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_isThorough")]
unsafe extern "system" fn is_thorough(_jni: *mut JNIEnv, _class: jclass) -> jboolean {
    guarded(0, || agent::get().map_or(0, |agent| agent.options.is_thorough.into()))
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_isRegistry")]
unsafe extern "system" fn is_registry(jni: *mut JNIEnv, _class: jclass, field: jstring) -> jboolean {
    guarded(0, || {
        let Some(agent) = agent::get() else { return 0 };
        let name = text_of(jni, field).unwrap_or_default();
        agent.options.registries.matches(&name).into()
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_isLookup")]
unsafe extern "system" fn is_lookup(jni: *mut JNIEnv, _class: jclass, field: jstring) -> jboolean {
    guarded(0, || {
        let Some(agent) = agent::get() else { return 0 };
        let name = text_of(jni, field).unwrap_or_default();
        agent.options.lookups.matches(&name).into()
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_isTelling")]
unsafe extern "system" fn is_telling(_jni: *mut JNIEnv, _class: jclass) -> jboolean {
    guarded(0, || agent::get().map_or(0, |agent| (agent.options.probes == Probes::All).into()))
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_watchesUses")]
unsafe extern "system" fn watches_uses(_jni: *mut JNIEnv, _class: jclass) -> jboolean {
    guarded(0, || agent::get().map_or(0, |agent| agent.watches_uses().into()))
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_classNumber")]
unsafe extern "system" fn class_number(jni: *mut JNIEnv, _class: jclass, name: jstring) -> jint {
    guarded(0, || {
        let (Some(agent), Some(name)) = (agent::get(), text_of(jni, name)) else { return 0 };
        lock(&agent.numbers).class(name.replace('.', "/").as_bytes(), &agent.trace) as jint
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_classCount")]
unsafe extern "system" fn class_count(_jni: *mut JNIEnv, _class: jclass) -> jint {
    guarded(0, || agent::get().map_or(0, |agent| lock(&agent.numbers).class_count() as jint))
}

/// Null where nobody answers.
#[unsafe(export_name = "Java_java_lang_UntetherNative_ask")]
unsafe extern "system" fn ask(jni: *mut JNIEnv, _class: jclass, names: jobjectArray) -> jobjectArray {
    guarded(ptr::null_mut(), || {
        let Some(agent) = agent::get() else { return ptr::null_mut() };
        // SAFETY: the Java side passes an array of strings; each reference is dropped once it is read.
        let classes: Vec<String> = unsafe {
            let count = ((**jni).GetArrayLength)(jni, names);
            let read = |index| {
                let name = ((**jni).GetObjectArrayElement)(jni, names, index);
                let text = text_of(jni, name);
                ((**jni).DeleteLocalRef)(jni, name);
                text
            };
            (0..count).filter_map(read).collect()
        };
        let question = Question { trace: agent.trace.name.clone(), classes };
        match crate::question::ask(&agent.options.trace_directory, &question) {
            Some(answer) => strings(jni, &answer.iter().map(String::as_str).collect::<Vec<_>>()),
            None => ptr::null_mut(),
        }
    })
}

/// The characters of a string that Java passed.
fn text_of(jni: *mut JNIEnv, text: jstring) -> Option<String> {
    // SAFETY: called inside a native method with its environment; the characters are released before they can go away.
    unsafe {
        if text.is_null() {
            return None;
        }
        let characters = ((**jni).GetStringUTFChars)(jni, text, ptr::null_mut());
        if characters.is_null() {
            return None;
        }
        let copy = CStr::from_ptr(characters).to_string_lossy().into_owned();
        ((**jni).ReleaseStringUTFChars)(jni, text, characters);
        Some(copy)
    }
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_isolation")]
unsafe extern "system" fn isolation(_jni: *mut JNIEnv, _class: jclass) -> jint {
    guarded(0, || agent::get().map_or(0, |agent| agent.options.isolation.number()))
}

/// Whether uses of classes are those of tests.
#[unsafe(export_name = "Java_java_lang_UntetherNative_isByTest")]
unsafe extern "system" fn is_by_test(_jni: *mut JNIEnv, _class: jclass) -> jboolean {
    guarded(0, || agent::get().is_some_and(|agent| agent.options.by_test).into())
}

/// Whoever acts from now on, to all that happens outside of the heap.
#[unsafe(export_name = "Java_java_lang_UntetherNative_acts")]
unsafe extern "system" fn acts(_jni: *mut JNIEnv, _class: jclass, actor: jint) {
    guarded((), || crate::external::acts(actor.max(0) as u32));
}

/// What was told is told again from now on.
#[unsafe(export_name = "Java_java_lang_UntetherNative_newStretch")]
unsafe extern "system" fn new_stretch(_jni: *mut JNIEnv, _class: jclass) {
    crate::external::new_stretch();
}

/// Files are to be found as they are now, once more.
#[unsafe(export_name = "Java_java_lang_UntetherNative_saveFiles")]
unsafe extern "system" fn save_files(_jni: *mut JNIEnv, _class: jclass, saves: jint) {
    guarded((), || crate::external::save_files(saves.max(0) as usize));
}

/// Puts files back; says what cannot be, or nothing.
#[unsafe(export_name = "Java_java_lang_UntetherNative_putBackFiles")]
unsafe extern "system" fn put_back_files(jni: *mut JNIEnv, _class: jclass, saves: jint) -> jstring {
    guarded(ptr::null_mut(), || match crate::external::put_back_files(saves.max(0) as usize) {
        Some(obstacle) => {
            let text = CString::new(obstacle).unwrap_or_default();
            // SAFETY: called inside a native method with its environment, and a NUL-terminated string.
            unsafe { ((**jni).NewStringUTF)(jni, text.as_ptr()) }
        }
        None => ptr::null_mut(),
    })
}

/// The number of something that is used like a class; 0 where there is none left, or it is not watched.
#[unsafe(export_name = "Java_java_lang_UntetherNative_thingNumber")]
unsafe extern "system" fn thing_number(jni: *mut JNIEnv, _class: jclass, name: jstring) -> jint {
    guarded(0, || {
        let Some(agent) = agent::get().filter(|agent| agent.options.external) else { return 0 };
        let Some(name) = text_of(jni, name) else { return 0 };
        lock(&agent.numbers).thing(&name, &agent.trace) as jint
    })
}

#[unsafe(export_name = "Java_java_lang_UntetherNative_yieldProcessor")]
unsafe extern "system" fn yield_processor(_jni: *mut JNIEnv, _class: jclass) {
    std::thread::yield_now();
}
