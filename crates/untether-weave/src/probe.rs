//! The seam between weaving and the Java runtime: the static methods that woven code calls.
//!
//! `java/runtime` implements them in `java.lang.Untether`, and those of uses in `java.lang.UntetherUses`; both sides change
//! together.

use untether_classfile::{ConstantPool, Result};

pub const CLASS: &[u8] = b"java/lang/Untether";

/// What tells which classes are used.
pub const USES: &[u8] = b"java/lang/UntetherUses";

/// Its table: a byte for each numbered class, which is set by whoever uses the class.
pub const USED: &str = "USED";

/// How many classes the table has room for.
pub const MOST_CLASSES: u32 = 1 << 17;

/// Names in `java/lang` that belong to the runtime and are never woven.
pub const RUNTIME_PREFIX: &[u8] = b"java/lang/Untether";

/// What the probes themselves stand on, without state of its own: initialised before a probe can run.
pub const FOUNDATION: [&[u8]; 2] = [b"jdk/internal/misc/Unsafe", b"jdk/internal/misc/UnsafeConstants"];

/// A probe: its class, its method's name and descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    pub class: &'static [u8],
    pub name: &'static str,
    pub descriptor: &'static str,
}

const fn probe(name: &'static str, descriptor: &'static str) -> Probe {
    Probe { class: CLASS, name, descriptor }
}

const fn uses_probe(name: &'static str, descriptor: &'static str) -> Probe {
    Probe { class: USES, name, descriptor }
}

pub const FIELD_READ: Probe = probe("fieldRead", "(Ljava/lang/Object;I)V");
pub const FIELD_WRITE: Probe = probe("fieldWrite", "(Ljava/lang/Object;I)V");
pub const ARRAY_READ: Probe = probe("arrayRead", "(Ljava/lang/Object;I)V");
pub const ARRAY_WRITE: Probe = probe("arrayWrite", "(Ljava/lang/Object;I)V");
pub const STATIC_READ: Probe = probe("staticRead", "(I)V");
pub const STATIC_WRITE: Probe = probe("staticWrite", "(I)V");
pub const CONSTANT_READ: Probe = probe("constantRead", "(I)V");
pub const INITIALIZER_FIELD_READ: Probe = probe("initializerFieldRead", "(Ljava/lang/Object;I)V");
pub const INITIALIZER_ARRAY_READ: Probe = probe("initializerArrayRead", "(Ljava/lang/Object;I)V");
pub const INITIALIZER_STATIC_READ: Probe = probe("initializerStaticRead", "(I)V");
pub const UNSAFE_ACCESS: Probe = probe("unsafeAccess", "(Ljava/lang/Object;JI)V");
pub const UNSAFE_RANGE: Probe = probe("unsafeRange", "(Ljava/lang/Object;JJI)V");
pub const READ_ALL: Probe = probe("readAll", "(Ljava/lang/Object;)V");
pub const WRITE_ALL: Probe = probe("writeAll", "(Ljava/lang/Object;)V");
pub const RANGE_READ: Probe = probe("rangeRead", "(Ljava/lang/Object;II)V");
pub const RANGE_WRITE: Probe = probe("rangeWrite", "(Ljava/lang/Object;II)V");
pub const RANGE_FILL: Probe = probe("rangeFill", "(Ljava/lang/Object;II)V");
pub const ARRAY_COPY: Probe = probe("arrayCopy", "(Ljava/lang/Object;ILjava/lang/Object;II)V");
pub const REFLECTIVE_READ: Probe = probe("reflectiveRead", "(Ljava/lang/reflect/Field;Ljava/lang/Object;)V");
pub const REFLECTIVE_WRITE: Probe = probe("reflectiveWrite", "(Ljava/lang/reflect/Field;Ljava/lang/Object;)V");
pub const HANDLE_BASE: Probe = probe("handleBase", "(Ljava/lang/Object;)V");
pub const HANDLE_FIELD: Probe = probe("handleField", "(Ljava/lang/Object;)V");
pub const HANDLE_STATIC: Probe = probe("handleStatic", "(Ljava/lang/Object;)V");
pub const INITIALIZER_ENTER: Probe = probe("initializerEnter", "(I)V");
pub const INITIALIZER_EXIT: Probe = probe("initializerExit", "(I)V");
pub const BOUNDARY: Probe = probe("boundary", "(ILjava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)V");
pub const SEQUENTIAL: Probe = probe("sequential", "(Z)Z");
pub const SEQUENTIAL_SCHEDULER: Probe =
    probe("sequentialScheduler", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;");

/// What was handed to a test framework to choose from, and what is left of it.
pub const CHOSEN: Probe = probe("chosen", "(Ljava/lang/Object;)Ljava/lang/Object;");

pub const USES_ENTER: Probe = uses_probe("enter", "(I)V");
pub const USES_EXIT: Probe = uses_probe("exit", "(I)V");
/// Something is asked of the class.
pub const CLASS_ASKED: Probe = uses_probe("asked", "(Ljava/lang/Object;)V");
/// A class was looked for: what was found, by whom and under which name where that is known.
pub const CLASS_SOUGHT: Probe = uses_probe("sought", "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)V");
/// A property is asked for: the table, and the name, or null for all.
pub const PROPERTY_ASKED: Probe = uses_probe("property", "(Ljava/lang/Object;Ljava/lang/Object;)V");
/// A variable of the environment is asked for, in the same way.
pub const VARIABLE_ASKED: Probe = uses_probe("variable", "(Ljava/lang/Object;Ljava/lang/Object;)V");
/// A resource is asked for by this name.
pub const RESOURCE_ASKED: Probe = uses_probe("resource", "(Ljava/lang/Object;)V");
/// Somebody looks at the lines of a stack trace.
pub const LINES_SEEN: Probe = uses_probe("linesSeen", "()V");

/// What a call of `Unsafe` does, as its probes want it: one of these, or both, and the number of bytes times [`BYTES`].
pub const READS: u8 = 1;
pub const WRITES: u8 = 2;
pub const BYTES: u8 = 4;

impl Probe {
    /// The three bytes that call this probe.
    pub fn call(&self, pool: &mut ConstantPool<'_>) -> Result<[u8; 3]> {
        let index = pool.add_method_ref(self.class, self.name.as_bytes(), self.descriptor.as_bytes())?;
        let [high, low] = index.to_be_bytes();
        Ok([untether_classfile::opcode::INVOKESTATIC, high, low])
    }
}
