//! Numbers for class loaders. A suite may make thousands of them, so they are found by their hash, and what is kept of one
//! that is gone is released.

use std::collections::HashMap;
use std::ptr;

use jvmti_bindings::sys::jni::{JNIEnv, jobject};

/// The loaders that classes came from; 0 is the boot loader.
#[derive(Debug)]
pub(crate) struct Loaders {
    /// Weak global references, by number minus one; 0 once released.
    references: Vec<usize>,
    /// Numbers by the loader's identity hash.
    by_hash: HashMap<i32, Vec<usize>>,
    /// How many there are before those that are gone are looked for.
    limit: usize,
}

impl Default for Loaders {
    fn default() -> Self {
        Loaders { references: Vec::new(), by_hash: HashMap::new(), limit: 64 }
    }
}

impl Loaders {
    /// The number of a loader, which stays while the loader lives.
    pub(crate) fn number(&mut self, jni: *mut JNIEnv, loader: jobject, hash: impl FnOnce(jobject) -> i32) -> usize {
        if loader.is_null() || jni.is_null() {
            return 0;
        }
        let hash = hash(loader);
        let alike = self.by_hash.entry(hash).or_default();
        // SAFETY: `jni` belongs to this thread; the references are weak globals of ours or a local reference that the
        // JVM handed to the running callback.
        unsafe {
            let is_same = |number: &&usize| {
                let known = self.references[**number - 1];
                known != 0 && ((**jni).IsSameObject)(jni, known as jobject, loader) != 0
            };
            if let Some(&number) = alike.iter().find(is_same) {
                return number;
            }
            self.references.push(((**jni).NewWeakGlobalRef)(jni, loader) as usize);
        }
        let number = self.references.len();
        alike.push(number);
        if self.by_hash.len() > self.limit {
            self.release(jni);
        }
        number
    }

    /// A local reference to a loader: null for the boot loader or one that is gone.
    pub(crate) fn reference(&self, jni: *mut JNIEnv, number: usize) -> jobject {
        match number.checked_sub(1).and_then(|index| self.references.get(index)) {
            Some(&weak) if weak != 0 => {
                // SAFETY: a weak global reference of ours that was not released.
                unsafe { ((**jni).NewLocalRef)(jni, weak as jobject) }
            }
            _ => ptr::null_mut(),
        }
    }

    fn release(&mut self, jni: *mut JNIEnv) {
        let references = &mut self.references;
        self.by_hash.retain(|_, numbers| {
            numbers.retain(|&number| {
                let weak = references[number - 1] as jobject;
                // SAFETY: a weak global reference of ours; where its object is gone, nobody asks for it again.
                unsafe {
                    let is_gone = ((**jni).IsSameObject)(jni, weak, ptr::null_mut()) != 0;
                    if is_gone {
                        ((**jni).DeleteWeakGlobalRef)(jni, weak);
                        references[number - 1] = 0;
                    }
                    !is_gone
                }
            });
            !numbers.is_empty()
        });
        self.limit = self.by_hash.len() * 2 + 64;
    }
}
