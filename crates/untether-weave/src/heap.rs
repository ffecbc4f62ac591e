//! Probes of heap state: fields, array elements, statics, and the library calls that bypass bytecode.

use untether_classfile::{ClassFile, Code, CodeEditor, Entry, Instruction, Result, opcode};

use crate::bypass::{self, Part, Touch};
use crate::probe::{self, Probe};
use crate::redundancy::{Key, Requests};
use crate::shape::{FieldShape, Resolver, resolve_field};
use crate::values::{NOBODY, THIS, Value, Values, parameters, slots_of};
use crate::weaver::Numbering;

const UNSAFE: &[u8] = b"jdk/internal/misc/Unsafe";

const SYSTEM: &[u8] = b"java/lang/System";

/// Final fields that a native method of `System` writes: that method, the field, its descriptor.
const WRITTEN_BY_VM: [(&[u8], &[u8], &[u8]); 3] = [
    (b"setIn0", b"in", b"Ljava/io/InputStream;"),
    (b"setOut0", b"out", b"Ljava/io/PrintStream;"),
    (b"setErr0", b"err", b"Ljava/io/PrintStream;"),
];

fn is_written_by_vm(owner: &[u8], field: &[u8]) -> bool {
    owner == SYSTEM && WRITTEN_BY_VM.iter().any(|(_, name, _)| *name == field)
}

/// Classes whose methods neither wait nor run a test, and are called often.
const QUIET: [&[u8]; 14] = [
    b"java/lang/Boolean",
    b"java/lang/Byte",
    b"java/lang/Character",
    b"java/lang/Double",
    b"java/lang/Float",
    b"java/lang/Integer",
    b"java/lang/Long",
    b"java/lang/Math",
    b"java/lang/Short",
    b"java/lang/String",
    b"java/lang/StringBuffer",
    b"java/lang/StringBuilder",
    b"java/util/Arrays",
    b"java/util/Objects",
];

/// Whether a call surely ends within the test in which it began.
fn is_quiet(owner: &[u8], name: &[u8]) -> bool {
    QUIET.contains(&owner) || owner.starts_with(b"[") || (owner == b"java/lang/Object" && name == b"<init>")
}

/// The method being woven.
pub(crate) struct HeapProbes<'m> {
    pub(crate) class_name: &'m [u8],
    pub(crate) method_name: &'m [u8],
    pub(crate) descriptor: &'m [u8],
    pub(crate) is_static: bool,
}

/// Everything that one method's pass needs.
struct Pass<'p, 'a, 'c, 'e> {
    method: &'p HeapProbes<'p>,
    class: &'p mut ClassFile<'a>,
    code: &'p Code<'c>,
    editor: &'p mut CodeEditor<'e, 'c>,
    resolver: &'p dyn Resolver,
    numbering: &'p mut dyn Numbering,
    values: Values,
    requests: Requests,
    /// In a constructor: whether `this` still awaits its superclass's constructor.
    is_this_raw: bool,
    pending_news: usize,
}

impl HeapProbes<'_> {
    pub(crate) fn insert<'a, 'c>(
        &self,
        class: &mut ClassFile<'a>,
        code: &Code<'c>,
        editor: &mut CodeEditor<'_, 'c>,
        resolver: &dyn Resolver,
        numbering: &mut dyn Numbering,
    ) -> Result<()> {
        let stable = stable_locals(code)?;
        let mut pass = Pass {
            method: self,
            class,
            code,
            editor,
            resolver,
            numbering,
            values: Values::new(stable),
            requests: Requests::new(code)?,
            is_this_raw: self.method_name == b"<init>",
            pending_news: 0,
        };
        pass.run()
    }
}

impl Pass<'_, '_, '_, '_> {
    fn run(&mut self) -> Result<()> {
        let is_initializer = self.method.method_name == b"<clinit>";
        let initializer = if is_initializer { self.numbering.initializer(self.method.class_name) } else { 0 };
        if is_initializer {
            let enter = self.numbered_call(initializer, probe::INITIALIZER_ENTER)?;
            self.always_before(0, enter, 1);
            let mut handler = self.numbered_call(initializer, probe::INITIALIZER_EXIT)?;
            handler.push(opcode::ATHROW);
            // The handler runs with the throwable and one number on the stack.
            self.editor.need_stack(2);
            self.editor.catch_all(&handler);
        }
        self.reflection_entry()?;
        self.handle_entry()?;
        for instruction in self.code.instructions() {
            let instruction = instruction?;
            if self.requests.starts_block(instruction.pc) {
                self.values.start_block();
            }
            let entry = match instruction.opcode {
                opcode::GETSTATIC..=opcode::INVOKEINTERFACE => Some(self.class.pool.entry(instruction.index())?),
                _ => None,
            };
            if is_initializer && instruction.is_return() {
                let exit = self.numbered_call(initializer, probe::INITIALIZER_EXIT)?;
                self.always_before(instruction.pc, exit, 1);
            } else {
                self.visit(&instruction, entry)?;
            }
            self.values.step(&instruction, entry);
            if self.requests.ends_block(&instruction) {
                self.values.start_block();
            }
        }
        self.requests.insert_needed(self.editor);
        Ok(())
    }

    /// Inserts where nothing could have made it redundant.
    fn always_before(&mut self, pc: u32, bytes: Vec<u8>, stack: u16) {
        self.editor.need_stack(stack);
        self.requests.add(pc, None, bytes, false);
    }

    /// Asks for a probe that an earlier one of the same access makes redundant.
    fn probe(&mut self, pc: u32, receiver: Value, slot: u32, is_write: bool, bytes: Vec<u8>, stack: u16) {
        self.editor.need_stack(stack);
        let key = Key { receiver, slot, is_write, is_stable: self.values.is_stable(receiver) };
        self.requests.add(pc, Some(key), bytes, false);
    }

    fn visit(&mut self, instruction: &Instruction<'_>, entry: Option<Entry<'_>>) -> Result<()> {
        match (instruction.opcode, entry) {
            (opcode::GETFIELD, Some(Entry::Ref { owner, name, descriptor })) => {
                self.field_read(instruction, owner, name, descriptor)
            }
            (opcode::PUTFIELD, Some(Entry::Ref { owner, name, descriptor })) => {
                self.field_write(instruction, owner, name, descriptor)
            }
            (opcode::GETSTATIC, Some(Entry::Ref { owner, name, descriptor })) => {
                self.static_read(instruction, owner, name, descriptor)
            }
            (opcode::PUTSTATIC, Some(Entry::Ref { owner, name, descriptor })) => {
                self.static_write(instruction, owner, name, descriptor)
            }
            (opcode::IALOAD..=opcode::SALOAD, _) => self.array_read(instruction),
            (opcode::IASTORE..=opcode::SASTORE, _) => self.array_write(instruction),
            (opcode::NEW, _) => {
                self.pending_news += 1;
                Ok(())
            }
            (opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE, Some(Entry::Ref { owner, name, descriptor })) => {
                if !is_quiet(owner, name) {
                    self.requests.add_barrier(instruction.pc);
                }
                self.call(instruction, owner, name, descriptor)
            }
            (opcode::INVOKEDYNAMIC, _) => {
                self.requests.add_barrier(instruction.pc);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A receiver that no other test can hold: made here, or `this` of a running constructor.
    fn is_private(&mut self, receiver: u32) -> bool {
        self.values.is_fresh(receiver) || (receiver == THIS && self.method.method_name == b"<init>")
    }

    fn shape(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> FieldShape {
        self.resolve(owner, name, descriptor).1
    }

    /// The declaring class as far as it is known, and the facts; an unknown field counts as mutable.
    fn resolve(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> (Vec<u8>, FieldShape) {
        if owner == self.method.class_name {
            let own = self.class.fields.iter().find(|field| {
                self.class.pool.utf8(field.name_index) == Ok(name)
                    && self.class.pool.utf8(field.descriptor_index) == Ok(descriptor)
            });
            if let Some(field) = own {
                let mut shape = FieldShape::of(field, self.class);
                shape.is_final &= !is_written_by_vm(owner, name);
                return (owner.to_vec(), shape);
            }
        }
        let (declaring, mut shape) = resolve_field(self.resolver, owner, name, descriptor)
            .unwrap_or_else(|| (owner.to_vec(), FieldShape::default()));
        shape.is_final &= !is_written_by_vm(&declaring, name);
        (declaring, shape)
    }

    fn field_read(&mut self, at: &Instruction<'_>, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<()> {
        let receiver = self.values.peek(0);
        if self.is_private(receiver) || self.shape(owner, name, descriptor).is_final {
            return Ok(());
        }
        let number = self.numbering.instance_field(owner, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let mut bytes = vec![opcode::DUP];
        bytes.extend(self.numbered_call(number, probe::FIELD_READ)?);
        self.probe(at.pc, receiver, number, false, bytes, 2);
        Ok(())
    }

    fn field_write(&mut self, at: &Instruction<'_>, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<()> {
        let slots = slots_of(descriptor);
        let receiver = self.values.peek(slots);
        if self.is_private(receiver) || (self.is_this_raw && owner == self.method.class_name) {
            return Ok(());
        }
        if self.shape(owner, name, descriptor).is_final && self.class.major_version >= 53 {
            return Ok(());
        }
        let number = self.numbering.instance_field(owner, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let mut bytes = match slots {
            1 => vec![opcode::DUP2, opcode::POP],
            _ => vec![opcode::DUP2_X1, opcode::POP2, opcode::DUP_X2],
        };
        bytes.extend(self.numbered_call(number, probe::FIELD_WRITE)?);
        self.probe(at.pc, receiver, number, true, bytes, 4);
        Ok(())
    }

    fn static_read(&mut self, at: &Instruction<'_>, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<()> {
        let (declaring, shape) = self.resolve(owner, name, descriptor);
        // An initializer sees its own class's constants being made; provenance is noted at its end.
        if shape.is_fixed || (shape.is_final && self.is_own_initializer(owner)) {
            return Ok(());
        }
        let number = self.numbering.static_field(&declaring, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let probe = if shape.is_final { probe::CONSTANT_READ } else { probe::STATIC_READ };
        let bytes = self.numbered_call(number, probe)?;
        self.editor.need_stack(3);
        let key = Key { receiver: NOBODY, slot: number, is_write: false, is_stable: true };
        // After the access: then the class is initialised.
        self.requests.add(at.pc, Some(key), bytes, true);
        Ok(())
    }

    fn static_write(&mut self, at: &Instruction<'_>, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<()> {
        let (declaring, shape) = self.resolve(owner, name, descriptor);
        if shape.is_final {
            return Ok(());
        }
        let number = self.numbering.static_field(&declaring, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        if owner != self.method.class_name {
            // The write may have to initialise a class first, and only what it leaves there is the old value. A read
            // does the same to the same class, in the same frame, so that nobody sees a difference.
            let [high, low] = at.index().to_be_bytes();
            bytes.extend([opcode::GETSTATIC, high, low]);
            bytes.push(if slots_of(descriptor) == 2 { opcode::POP2 } else { opcode::POP });
        }
        bytes.extend(self.numbered_call(number, probe::STATIC_WRITE)?);
        self.probe(at.pc, NOBODY, number, true, bytes, 2);
        Ok(())
    }

    fn is_own_initializer(&self, owner: &[u8]) -> bool {
        self.method.method_name == b"<clinit>" && owner == self.method.class_name
    }

    fn array_read(&mut self, at: &Instruction<'_>) -> Result<()> {
        let (array, index) = (self.values.peek(1), self.values.peek(0));
        if self.values.is_fresh(array) {
            return Ok(());
        }
        let mut bytes = vec![opcode::DUP2];
        bytes.extend(probe::ARRAY_READ.call(&mut self.class.pool)?);
        self.element_probe(at.pc, array, index, false, bytes, 2);
        Ok(())
    }

    fn array_write(&mut self, at: &Instruction<'_>) -> Result<()> {
        let is_wide = matches!(at.opcode, opcode::LASTORE | opcode::DASTORE);
        let depth = if is_wide { 2 } else { 1 };
        let (array, index) = (self.values.peek(depth + 1), self.values.peek(depth));
        if self.values.is_fresh(array) {
            return Ok(());
        }
        let mut bytes = if is_wide {
            vec![opcode::DUP2_X2, opcode::POP2, opcode::DUP2_X2]
        } else {
            vec![opcode::DUP_X2, opcode::POP, opcode::DUP2_X1]
        };
        bytes.extend(probe::ARRAY_WRITE.call(&mut self.class.pool)?);
        self.element_probe(at.pc, array, index, true, bytes, 4);
        Ok(())
    }

    /// Elements are told apart by the value of their index, which is known within a block only.
    fn element_probe(&mut self, pc: u32, array: Value, index: Value, is_write: bool, bytes: Vec<u8>, stack: u16) {
        self.editor.need_stack(stack);
        let key = Key { receiver: array, slot: !index, is_write, is_stable: false };
        self.requests.add(pc, Some(key), bytes, false);
    }

    fn call(&mut self, at: &Instruction<'_>, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<()> {
        if at.opcode == opcode::INVOKESPECIAL && name == b"<init>" {
            // The constructor call that is not of a pending `new` is the one of `this`.
            match self.pending_news.checked_sub(1) {
                Some(rest) => self.pending_news = rest,
                None => self.is_this_raw = false,
            }
            return Ok(());
        }
        if owner == b"java/lang/System" && name == b"arraycopy" {
            let homes = self.homes(&parameters(descriptor))?;
            let mut bytes = Vec::new();
            spill(&mut bytes, &homes);
            reload(&mut bytes, &homes);
            bytes.extend(probe::ARRAY_COPY.call(&mut self.class.pool)?);
            reload(&mut bytes, &homes);
            self.always_before(at.pc, bytes, 0);
            return Ok(());
        }
        if let Some(bypass) = bypass::find(owner, name, descriptor) {
            let homes = self.homes(&parameters(descriptor))?;
            let mut bytes = Vec::new();
            spill(&mut bytes, &homes);
            for touch in bypass.reads {
                self.show_part(&mut bytes, &homes, touch, (probe::READ_ALL, probe::RANGE_READ))?;
            }
            for touch in bypass.writes {
                self.show_part(&mut bytes, &homes, touch, (probe::WRITE_ALL, probe::RANGE_WRITE))?;
            }
            reload(&mut bytes, &homes);
            self.always_before(at.pc, bytes, 4);
            return Ok(());
        }
        if name == b"clone"
            && descriptor == b"()Ljava/lang/Object;"
            && matches!(at.opcode, opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL)
        {
            let mut bytes = vec![opcode::DUP];
            bytes.extend(probe::READ_ALL.call(&mut self.class.pool)?);
            self.always_before(at.pc, bytes, 1);
            return Ok(());
        }
        if owner == SYSTEM
            && let Some((_, field, descriptor)) = WRITTEN_BY_VM.iter().find(|(method, ..)| *method == name)
        {
            let number = self.numbering.static_field(SYSTEM, field, descriptor);
            let bytes = self.numbered_call(number, probe::STATIC_WRITE)?;
            self.always_before(at.pc, bytes, 1);
            return Ok(());
        }
        if owner == b"java/lang/reflect/Array" && descriptor.starts_with(b"(Ljava/lang/Object;I") {
            return self.reflective_array(at, name, descriptor);
        }
        if owner == UNSAFE && self.method.class_name != UNSAFE && descriptor.starts_with(b"(Ljava/lang/Object;J") {
            return self.unsafe_call(at, name, descriptor);
        }
        Ok(())
    }

    /// Shows an array among the spilled arguments, or the part of it that is touched, to one of two probes.
    fn show_part(
        &mut self,
        bytes: &mut Vec<u8>,
        homes: &[(&[u8], u16)],
        touch: &Touch,
        (of_whole, of_range): (Probe, Probe),
    ) -> Result<()> {
        const ICONST_0: u8 = 3;
        const ISUB: u8 = 0x64;
        let Some(array) = homes.get(touch.array) else { return Ok(()) };
        let load = |bytes: &mut Vec<u8>, position: usize| {
            if let Some(home) = homes.get(position) {
                reload(bytes, &[*home]);
            }
        };
        reload(bytes, &[*array]);
        let probe = match touch.part {
            Part::Whole => of_whole,
            Part::First { length } => {
                bytes.push(ICONST_0);
                load(bytes, length);
                of_range
            }
            Part::Length { from, length } => {
                load(bytes, from);
                load(bytes, length);
                of_range
            }
            Part::To { from, to } => {
                load(bytes, from);
                load(bytes, to);
                load(bytes, from);
                bytes.push(ISUB);
                of_range
            }
            Part::Like { from, begin, end } => {
                load(bytes, from);
                load(bytes, end);
                load(bytes, begin);
                bytes.push(ISUB);
                of_range
            }
            Part::Block { from, length } => {
                load(bytes, from);
                bytes.extend([opcode::SIPUSH, 0, length]);
                of_range
            }
        };
        bytes.extend(probe.call(&mut self.class.pool)?);
        Ok(())
    }

    /// Spills what lies above the object into fresh locals, shows object and offset to the probe, reloads.
    fn unsafe_call(&mut self, at: &Instruction<'_>, name: &[u8], descriptor: &[u8]) -> Result<()> {
        let mode = match name {
            b"copyMemory" | b"copySwapMemory" | b"setMemory" => return self.unsafe_range(at, descriptor),
            _ if name.starts_with(b"getAnd") => probe::READS | probe::WRITES,
            _ if name.starts_with(b"get") => probe::READS,
            _ if name.starts_with(b"compareAnd") || name.starts_with(b"weakCompareAnd") => probe::READS | probe::WRITES,
            // Whatever is not a known read counts as a write.
            _ => probe::WRITES,
        };
        let homes = self.homes(&parameters(descriptor)[1..])?;
        let mut bytes = Vec::new();
        spill(&mut bytes, &homes);
        bytes.push(opcode::DUP);
        reload(&mut bytes, &homes[..1]);
        bytes.extend([opcode::BIPUSH, mode + width(name) * probe::BYTES]);
        bytes.extend(probe::UNSAFE_ACCESS.call(&mut self.class.pool)?);
        reload(&mut bytes, &homes);
        self.always_before(at.pc, bytes, 4);
        Ok(())
    }

    /// Memory is copied from an object and an offset to others, or filled; the number of bytes follows.
    fn unsafe_range(&mut self, at: &Instruction<'_>, descriptor: &[u8]) -> Result<()> {
        let parameters = parameters(descriptor);
        let is_copy = parameters.get(2).is_some_and(|parameter| parameter.starts_with(b"L"));
        let length = if is_copy { 4 } else { 2 };
        if parameters.len() <= length {
            return Ok(());
        }
        let homes = self.homes(&parameters)?;
        let mut bytes = Vec::new();
        spill(&mut bytes, &homes);
        let ends: &[(usize, u8)] =
            if is_copy { &[(0, probe::READS), (2, probe::WRITES)] } else { &[(0, probe::WRITES)] };
        for &(object, mode) in ends {
            reload(&mut bytes, &homes[object..object + 2]);
            reload(&mut bytes, &homes[length..=length]);
            bytes.extend([opcode::BIPUSH, mode]);
            bytes.extend(probe::UNSAFE_RANGE.call(&mut self.class.pool)?);
        }
        reload(&mut bytes, &homes);
        self.always_before(at.pc, bytes, 6);
        Ok(())
    }

    /// A fresh local for each of the values on top of the stack, given by their descriptors.
    fn homes<'d>(&mut self, descriptors: &[&'d [u8]]) -> Result<Vec<(&'d [u8], u16)>> {
        let mut local = self.code.max_locals;
        let mut homes = Vec::with_capacity(descriptors.len());
        for descriptor in descriptors {
            homes.push((*descriptor, local));
            local = local.checked_add(slots_of(descriptor) as u16).ok_or(untether_classfile::Error::LimitExceeded)?;
        }
        self.editor.need_locals(local - self.code.max_locals);
        Ok(homes)
    }

    /// The methods that the hidden code of method handles calls on its way to a field.
    fn handle_entry(&mut self) -> Result<()> {
        if self.method.class_name != b"java/lang/invoke/DirectMethodHandle" {
            return Ok(());
        }
        let probe = match (self.method.method_name, self.method.descriptor) {
            (b"checkBase", b"(Ljava/lang/Object;)Ljava/lang/Object;") => probe::HANDLE_BASE,
            (b"fieldOffset", b"(Ljava/lang/Object;)J") => probe::HANDLE_FIELD,
            (b"staticOffset", b"(Ljava/lang/Object;)J") => probe::HANDLE_STATIC,
            _ => return Ok(()),
        };
        let mut bytes = vec![opcode::ALOAD_0];
        bytes.extend(probe.call(&mut self.class.pool)?);
        self.always_before(0, bytes, 1);
        Ok(())
    }

    /// `Array.get*` and `Array.set*` are native.
    fn reflective_array(&mut self, at: &Instruction<'_>, name: &[u8], descriptor: &[u8]) -> Result<()> {
        let probe = if name.starts_with(b"get") { probe::ARRAY_READ } else { probe::ARRAY_WRITE };
        let parameters = parameters(descriptor);
        let homes = self.homes(parameters.get(2..).unwrap_or_default())?;
        let mut bytes = Vec::new();
        spill(&mut bytes, &homes);
        bytes.push(opcode::DUP2);
        bytes.extend(probe.call(&mut self.class.pool)?);
        reload(&mut bytes, &homes);
        self.always_before(at.pc, bytes, 2);
        Ok(())
    }

    /// `Field.get*` and `Field.set*`: since JDK 18 their work happens in hidden classes.
    fn reflection_entry(&mut self) -> Result<()> {
        if self.method.class_name != b"java/lang/reflect/Field" || self.method.is_static {
            return Ok(());
        }
        let probe = match self.method.descriptor {
            d if d.starts_with(b"(Ljava/lang/Object;)") && self.method.method_name.starts_with(b"get") => {
                probe::REFLECTIVE_READ
            }
            d if d.starts_with(b"(Ljava/lang/Object;")
                && d.ends_with(b")V")
                && self.method.method_name.starts_with(b"set") =>
            {
                probe::REFLECTIVE_WRITE
            }
            _ => return Ok(()),
        };
        let mut bytes = vec![opcode::ALOAD_0, opcode::ALOAD_0 + 1];
        bytes.extend(probe.call(&mut self.class.pool)?);
        self.always_before(0, bytes, 2);
        Ok(())
    }

    fn numbered_call(&mut self, number: u32, probe: Probe) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(6);
        match i16::try_from(number) {
            Ok(small) => {
                bytes.push(opcode::SIPUSH);
                bytes.extend(small.to_be_bytes());
            }
            Err(_) => {
                bytes.push(opcode::LDC_W);
                bytes.extend(self.class.pool.add_integer(number as i32)?.to_be_bytes());
            }
        }
        bytes.extend(probe.call(&mut self.class.pool)?);
        Ok(bytes)
    }
}

/// How many bytes a method of `Unsafe` touches, by its name; references are as wide as the JVM makes them.
fn width(name: &[u8]) -> u8 {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    match () {
        () if has(b"Long") || has(b"Double") => 8,
        () if has(b"Int") || has(b"Float") => 4,
        () if has(b"Short") || has(b"Char") => 2,
        () => 1,
    }
}

fn spill(bytes: &mut Vec<u8>, homes: &[(&[u8], u16)]) {
    for (descriptor, home) in homes.iter().rev() {
        move_local(bytes, descriptor, *home, true);
    }
}

fn reload(bytes: &mut Vec<u8>, homes: &[(&[u8], u16)]) {
    for (descriptor, home) in homes {
        move_local(bytes, descriptor, *home, false);
    }
}

/// Loads or stores a fresh local of the given type.
fn move_local(bytes: &mut Vec<u8>, descriptor: &[u8], local: u16, is_store: bool) {
    let kind = match descriptor[0] {
        b'J' => 1,
        b'F' => 2,
        b'D' => 3,
        b'L' | b'[' => 4,
        _ => 0,
    };
    let op = kind + if is_store { opcode::ISTORE } else { opcode::ILOAD };
    match u8::try_from(local) {
        Ok(local) => bytes.extend([op, local]),
        Err(_) => {
            let [high, low] = local.to_be_bytes();
            bytes.extend([opcode::WIDE, op, high, low]);
        }
    }
}

/// The locals that are never stored into, so that they hold what the caller passed.
fn stable_locals(code: &Code<'_>) -> Result<Vec<bool>> {
    let mut stable = vec![true; usize::from(code.max_locals)];
    for instruction in code.instructions() {
        if let Some((local, slots)) = instruction?.stored_local() {
            let first = usize::from(local);
            for slot in stable.iter_mut().skip(first).take(usize::from(slots)) {
                *slot = false;
            }
        }
    }
    Ok(stable)
}
