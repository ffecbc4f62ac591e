//! The few JVMTI functions that the agent uses, with their results as plain values.

use std::ffi::{CStr, CString, c_char, c_uchar};
use std::ptr;

use jvmti_bindings::sys::jni::{jclass, jobject, jthread};
use jvmti_bindings::sys::jvmti::{self, jvmtiEnv, jvmtiFrameInfo, jvmtiLineNumberEntry};

/// A JVMTI environment; valid for the life of the process.
#[derive(Clone, Copy)]
pub(crate) struct Jvmti {
    env: *mut jvmtiEnv,
}

// SAFETY: the specification allows an environment to be used from any thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// One frame as the JVM gives it: method identity and bytecode position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct RawFrame {
    pub(crate) method: usize,
    pub(crate) location: i64,
}

/// What a stack shows of a method.
#[derive(Debug)]
pub(crate) struct MethodDescription {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) file: String,
    /// Start locations with their lines.
    pub(crate) lines: Vec<(i64, u32)>,
}

/// A declared field: modifiers, name, descriptor.
pub(crate) type DeclaredField = (i32, String, String);

/// Calls a function of the table; a missing one counts as an error of the VM.
macro_rules! call {
    ($self:ident, $function:ident $(, $argument:expr)*) => {
        match (*(*$self.env).functions).$function {
            Some(function) => function($self.env $(, $argument)*) == jvmti::JVMTI_ERROR_NONE,
            None => false,
        }
    };
}

impl Jvmti {
    pub(crate) fn new(env: *mut jvmtiEnv) -> Self {
        Jvmti { env }
    }

    pub(crate) fn add_capabilities(&self, capabilities: &jvmti::jvmtiCapabilities) -> bool {
        // SAFETY: `env` is valid and the structure outlives the call.
        unsafe { call!(self, AddCapabilities, capabilities) }
    }

    pub(crate) fn set_callbacks(&self, callbacks: &jvmti::jvmtiEventCallbacks) -> bool {
        // SAFETY: the VM copies the table, whose size is passed.
        unsafe { call!(self, SetEventCallbacks, callbacks, size_of::<jvmti::jvmtiEventCallbacks>() as i32) }
    }

    pub(crate) fn enable(&self, event: jvmti::jvmtiEvent) -> bool {
        // SAFETY: a null thread enables the event globally.
        unsafe { call!(self, SetEventNotificationMode, jvmti::JVMTI_ENABLE, event, ptr::null_mut()) }
    }

    pub(crate) fn system_property(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        let mut value: *mut c_char = ptr::null_mut();
        // SAFETY: on success `value` is a string that we must deallocate.
        unsafe { call!(self, GetSystemProperty, name.as_ptr(), &mut value).then(|| self.owned(value)) }
    }

    /// Memory for class bytes, which the VM frees.
    pub(crate) fn allocate(&self, bytes: &[u8]) -> Option<*mut c_uchar> {
        let mut memory: *mut c_uchar = ptr::null_mut();
        // SAFETY: on success `memory` has room for the requested bytes.
        unsafe {
            if !call!(self, Allocate, bytes.len() as i64, &mut memory) || memory.is_null() {
                return None;
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), memory, bytes.len());
        }
        Some(memory)
    }

    /// Copies a string of the VM's and frees it.
    ///
    /// # Safety
    /// `text` is null or a NUL-terminated string that this environment allocated.
    unsafe fn owned(&self, text: *mut c_char) -> String {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: given by the caller.
        unsafe {
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            self.free(text);
            copy
        }
    }

    /// # Safety
    /// `memory` is null or was allocated by this environment and is not used afterwards.
    unsafe fn free<T>(&self, memory: *mut T) {
        if !memory.is_null() {
            // SAFETY: given by the caller.
            unsafe { call!(self, Deallocate, memory.cast::<c_uchar>()) };
        }
    }

    /// Fills `buffer` with the calling thread's frames from the given depth on, innermost first.
    pub(crate) fn stack(&self, depth: usize, buffer: &mut [RawFrame]) -> usize {
        let mut frames = [jvmtiFrameInfo::default(); 64];
        let most = buffer.len().min(frames.len());
        let mut count = 0;
        // SAFETY: the buffer has room for `most` frames; a null thread is the calling one.
        let is_ok = unsafe {
            call!(self, GetStackTrace, ptr::null_mut(), depth as i32, most as i32, frames.as_mut_ptr(), &mut count)
        };
        let count = if is_ok { count.max(0) as usize } else { 0 };
        for (to, from) in buffer.iter_mut().zip(&frames[..count]) {
            *to = RawFrame { method: from.method as usize, location: from.location };
        }
        count
    }

    /// Class, method, source file and line table of a method.
    pub(crate) fn describe_method(&self, method: usize) -> Option<MethodDescription> {
        let method = method as jvmti_bindings::sys::jni::jmethodID;
        let mut name: *mut c_char = ptr::null_mut();
        let mut class: jclass = ptr::null_mut();
        // SAFETY: the method came from `GetStackTrace`; out-pointers are valid; strings are freed by `owned`.
        unsafe {
            if !call!(self, GetMethodName, method, &mut name, ptr::null_mut(), ptr::null_mut()) {
                return None;
            }
            let name = self.owned(name);
            if !call!(self, GetMethodDeclaringClass, method, &mut class) {
                return None;
            }
            let mut file: *mut c_char = ptr::null_mut();
            let file = if call!(self, GetSourceFileName, class, &mut file) { self.owned(file) } else { String::new() };
            let mut table: *mut jvmtiLineNumberEntry = ptr::null_mut();
            let mut count = 0;
            let mut lines = Vec::new();
            if call!(self, GetLineNumberTable, method, &mut count, &mut table) {
                for entry in table_of(table, count) {
                    lines.push((entry.start_location, entry.line_number.max(0) as u32));
                }
                self.free(table);
            }
            Some(MethodDescription { class: self.class_name(class)?, name, file, lines })
        }
    }

    /// The binary name (`java.util.Map$Entry`) of a class that is no array.
    pub(crate) fn class_name(&self, class: jclass) -> Option<String> {
        let mut signature: *mut c_char = ptr::null_mut();
        // SAFETY: `class` is a live reference; the string is freed by `owned`.
        let signature = unsafe {
            call!(self, GetClassSignature, class, &mut signature, ptr::null_mut()).then(|| self.owned(signature))?
        };
        let name = signature.strip_prefix('L').and_then(|s| s.strip_suffix(';')).unwrap_or(&signature);
        Some(name.replace('/', "."))
    }

    pub(crate) fn fields(&self, class: jclass) -> Vec<DeclaredField> {
        let mut count = 0;
        let mut table = ptr::null_mut();
        let mut fields = Vec::new();
        // SAFETY: `class` is a live reference; the table has `count` entries until it is freed.
        unsafe {
            if !call!(self, GetClassFields, class, &mut count, &mut table) {
                return fields;
            }
            for &field in table_of(table, count) {
                let (mut name, mut descriptor) = (ptr::null_mut(), ptr::null_mut());
                let mut modifiers = 0;
                if call!(self, GetFieldName, class, field, &mut name, &mut descriptor, ptr::null_mut())
                    && call!(self, GetFieldModifiers, class, field, &mut modifiers)
                {
                    fields.push((modifiers, self.owned(name), self.owned(descriptor)));
                }
            }
            self.free(table);
        }
        fields
    }

    /// Local references to the classes whose initializers have completed.
    pub(crate) fn initialized_classes(&self) -> Vec<jclass> {
        let mut count = 0;
        let mut table: *mut jclass = ptr::null_mut();
        // SAFETY: the table has `count` entries until it is freed; the references stay valid.
        unsafe {
            if !call!(self, GetLoadedClasses, &mut count, &mut table) {
                return Vec::new();
            }
            let all = table_of(table, count).to_vec();
            self.free(table);
            all.into_iter().filter(|&class| self.is_initialized(class)).collect()
        }
    }

    /// Has the hook see those of these classes again that are loaded already.
    pub(crate) fn retransform(&self, names: &[&[u8]]) -> bool {
        let mut count = 0;
        let mut table: *mut jclass = ptr::null_mut();
        // SAFETY: the table has `count` entries until it is freed; the references stay valid.
        unsafe {
            if !call!(self, GetLoadedClasses, &mut count, &mut table) {
                return false;
            }
            let all = table_of(table, count).to_vec();
            self.free(table);
            let is_meant = |class: &jclass| {
                let name = self.class_name(*class).unwrap_or_default().replace('.', "/");
                names.contains(&name.as_bytes())
            };
            let meant: Vec<jclass> = all.into_iter().filter(is_meant).collect();
            call!(self, RetransformClasses, meant.len() as i32, meant.as_ptr())
        }
    }

    fn is_initialized(&self, class: jclass) -> bool {
        self.has_status(class, jvmti::JVMTI_CLASS_STATUS_INITIALIZED)
    }

    /// Whether the class's fields can be asked for.
    pub(crate) fn is_prepared(&self, class: jclass) -> bool {
        self.has_status(class, jvmti::JVMTI_CLASS_STATUS_PREPARED)
    }

    fn has_status(&self, class: jclass, wanted: i32) -> bool {
        let mut status = 0;
        // SAFETY: `class` is a live reference.
        unsafe { call!(self, GetClassStatus, class, &mut status) && status & wanted != 0 }
    }

    /// The identity hash of an object.
    pub(crate) fn hash(&self, object: jobject) -> i32 {
        let mut hash = 0;
        // SAFETY: `object` is a live reference.
        unsafe { call!(self, GetObjectHashCode, object, &mut hash) };
        hash
    }

    pub(crate) fn threads(&self) -> Vec<jobject> {
        let mut count = 0;
        let mut table: *mut jthread = ptr::null_mut();
        // SAFETY: the table has `count` entries until it is freed.
        unsafe {
            if !call!(self, GetAllThreads, &mut count, &mut table) {
                return Vec::new();
            }
            let all = table_of(table, count).to_vec();
            self.free(table);
            all
        }
    }
}

/// The entries of a table that the VM gave; it gives null for an empty one.
///
/// # Safety
/// `table` is null or has `count` entries that outlive the use of the slice.
unsafe fn table_of<'t, T>(table: *const T, count: i32) -> &'t [T] {
    if table.is_null() {
        return &[];
    }
    // SAFETY: given by the caller, and not null.
    unsafe { std::slice::from_raw_parts(table, count.max(0) as usize) }
}
