//! Probes of heap state: fields, array elements, statics, and the library calls that bypass bytecode.

use untether_classfile::{Entry, Instruction, Result, opcode};

use crate::bypass::{self, Part, Touch};
use crate::pass::{Family, Method, Pass, reload, spill};
use crate::probe::{self, Probe};
use crate::redundancy::Key;
use crate::shape::{FieldShape, resolve_field};
use crate::values::{NOBODY, THIS, parameters, slots_of};

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

/// Which accesses of the heap a run wants to know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accesses {
    /// Reads and writes.
    All,
    /// What it takes to put changes back: writes, and what class initializers read, as they run only once.
    ToPutBack,
}

/// Reads and writes of fields, statics and elements, as far as they are wanted, in one method.
pub(crate) struct Heap {
    accesses: Accesses,
    /// In a constructor: whether `this` still awaits its superclass's constructor.
    is_this_raw: bool,
    pending_news: usize,
}

impl Heap {
    pub(crate) fn new(accesses: Accesses, method: &Method<'_>) -> Self {
        Heap { accesses, is_this_raw: method.is_constructor(), pending_news: 0 }
    }
}

impl Family for Heap {
    fn enter(&mut self, pass: &mut Pass<'_, '_, '_, '_>) -> Result<()> {
        self.reflection_entry(pass)?;
        self.handle_entry(pass)
    }

    fn visit(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        instruction: &Instruction<'_>,
        entry: Option<Entry<'_>>,
    ) -> Result<()> {
        match (instruction.opcode, entry) {
            (opcode::GETFIELD, Some(Entry::Ref { owner, name, descriptor })) => {
                self.field_read(pass, instruction, owner, name, descriptor)
            }
            (opcode::PUTFIELD, Some(Entry::Ref { owner, name, descriptor })) => {
                self.field_write(pass, instruction, owner, name, descriptor)
            }
            (opcode::GETSTATIC, Some(Entry::Ref { owner, name, descriptor })) => {
                self.static_read(pass, instruction, owner, name, descriptor)
            }
            (opcode::PUTSTATIC, Some(Entry::Ref { owner, name, descriptor })) => {
                self.static_write(pass, instruction, owner, name, descriptor)
            }
            (opcode::IALOAD..=opcode::SALOAD, _) => self.array_read(pass, instruction),
            (opcode::IASTORE..=opcode::SASTORE, _) => self.array_write(pass, instruction),
            (opcode::NEW, _) => {
                self.pending_news += 1;
                Ok(())
            }
            (opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE, Some(Entry::Ref { owner, name, descriptor })) => {
                self.call(pass, instruction, owner, name, descriptor)
            }
            _ => Ok(()),
        }
    }
}

impl Heap {
    /// One of two probes of reads: where only initializers matter, the cheaper one.
    fn read_probe(&self, of_all: Probe, of_initializers: Probe) -> Probe {
        if self.accesses == Accesses::All { of_all } else { of_initializers }
    }

    /// A receiver that no other test can hold: made here, or `this` of a running constructor.
    fn is_private(&mut self, pass: &mut Pass<'_, '_, '_, '_>, receiver: u32) -> bool {
        pass.values.is_fresh(receiver) || (receiver == THIS && pass.method.is_constructor())
    }

    fn shape(&self, pass: &mut Pass<'_, '_, '_, '_>, owner: &[u8], name: &[u8], descriptor: &[u8]) -> FieldShape {
        self.resolve(pass, owner, name, descriptor).1
    }

    /// The declaring class as far as it is known, and the facts; an unknown field counts as mutable.
    fn resolve(
        &self,
        pass: &mut Pass<'_, '_, '_, '_>,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> (Vec<u8>, FieldShape) {
        if owner == pass.method.class_name {
            let own = pass.class.fields.iter().find(|field| {
                pass.class.pool.utf8(field.name_index) == Ok(name)
                    && pass.class.pool.utf8(field.descriptor_index) == Ok(descriptor)
            });
            if let Some(field) = own {
                let mut shape = FieldShape::of(field, pass.class);
                shape.is_final &= !is_written_by_vm(owner, name);
                return (owner.to_vec(), shape);
            }
        }
        let (declaring, mut shape) = resolve_field(pass.resolver, owner, name, descriptor)
            .unwrap_or_else(|| (owner.to_vec(), FieldShape::default()));
        shape.is_final &= !is_written_by_vm(&declaring, name);
        (declaring, shape)
    }

    fn field_read(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        at: &Instruction<'_>,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<()> {
        let receiver = pass.values.peek(0);
        if self.is_private(pass, receiver) || self.shape(pass, owner, name, descriptor).is_final {
            return Ok(());
        }
        let number = pass.numbering.instance_field(owner, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let mut bytes = vec![opcode::DUP];
        let probe = self.read_probe(probe::FIELD_READ, probe::INITIALIZER_FIELD_READ);
        bytes.extend(pass.numbered_call(number, probe)?);
        pass.probe(at.pc, receiver, number, false, bytes, 2);
        Ok(())
    }

    fn field_write(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        at: &Instruction<'_>,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<()> {
        let slots = slots_of(descriptor);
        let receiver = pass.values.peek(slots);
        if self.is_private(pass, receiver) || (self.is_this_raw && owner == pass.method.class_name) {
            return Ok(());
        }
        if self.shape(pass, owner, name, descriptor).is_final && pass.class.major_version >= 53 {
            return Ok(());
        }
        let number = pass.numbering.instance_field(owner, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let mut bytes = match slots {
            1 => vec![opcode::DUP2, opcode::POP],
            _ => vec![opcode::DUP2_X1, opcode::POP2, opcode::DUP_X2],
        };
        bytes.extend(pass.numbered_call(number, probe::FIELD_WRITE)?);
        pass.probe(at.pc, receiver, number, true, bytes, 4);
        Ok(())
    }

    fn static_read(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        at: &Instruction<'_>,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<()> {
        let (declaring, shape) = self.resolve(pass, owner, name, descriptor);
        // An initializer sees its own class's constants being made; provenance is noted at its end.
        if shape.is_fixed || (shape.is_final && self.is_own_initializer(pass, owner)) {
            return Ok(());
        }
        // A constant is what its initializer made of what it read, and that was seen.
        if shape.is_final && self.accesses == Accesses::ToPutBack {
            return Ok(());
        }
        let number = pass.numbering.static_field(&declaring, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let of_variable = self.read_probe(probe::STATIC_READ, probe::INITIALIZER_STATIC_READ);
        let probe = if shape.is_final { probe::CONSTANT_READ } else { of_variable };
        let bytes = pass.numbered_call(number, probe)?;
        pass.editor.need_stack(3);
        let key = Key { receiver: NOBODY, slot: number, is_write: false, is_stable: true };
        // After the access: then the class is initialised.
        pass.requests.add(at.pc, Some(key), bytes, true);
        Ok(())
    }

    fn static_write(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        at: &Instruction<'_>,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<()> {
        let (declaring, shape) = self.resolve(pass, owner, name, descriptor);
        if shape.is_final {
            return Ok(());
        }
        let number = pass.numbering.static_field(&declaring, name, descriptor);
        if number == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        if owner != pass.method.class_name {
            // The write may have to initialise a class first, and only what it leaves there is the old value. A read
            // does the same to the same class, in the same frame, so that nobody sees a difference.
            let [high, low] = at.index().to_be_bytes();
            bytes.extend([opcode::GETSTATIC, high, low]);
            bytes.push(if slots_of(descriptor) == 2 { opcode::POP2 } else { opcode::POP });
        }
        bytes.extend(pass.numbered_call(number, probe::STATIC_WRITE)?);
        pass.probe(at.pc, NOBODY, number, true, bytes, 2);
        Ok(())
    }

    fn is_own_initializer(&self, pass: &mut Pass<'_, '_, '_, '_>, owner: &[u8]) -> bool {
        pass.method.is_initializer() && owner == pass.method.class_name
    }

    fn array_read(&mut self, pass: &mut Pass<'_, '_, '_, '_>, at: &Instruction<'_>) -> Result<()> {
        let (array, index) = (pass.values.peek(1), pass.values.peek(0));
        if pass.values.is_fresh(array) {
            return Ok(());
        }
        let mut bytes = vec![opcode::DUP2];
        let probe = self.read_probe(probe::ARRAY_READ, probe::INITIALIZER_ARRAY_READ);
        bytes.extend(probe.call(&mut pass.class.pool)?);
        pass.element_probe(at.pc, array, index, false, bytes, 2);
        Ok(())
    }

    fn array_write(&mut self, pass: &mut Pass<'_, '_, '_, '_>, at: &Instruction<'_>) -> Result<()> {
        let is_wide = matches!(at.opcode, opcode::LASTORE | opcode::DASTORE);
        let depth = if is_wide { 2 } else { 1 };
        let (array, index) = (pass.values.peek(depth + 1), pass.values.peek(depth));
        if pass.values.is_fresh(array) {
            return Ok(());
        }
        let mut bytes = if is_wide {
            vec![opcode::DUP2_X2, opcode::POP2, opcode::DUP2_X2]
        } else {
            vec![opcode::DUP_X2, opcode::POP, opcode::DUP2_X1]
        };
        bytes.extend(probe::ARRAY_WRITE.call(&mut pass.class.pool)?);
        pass.element_probe(at.pc, array, index, true, bytes, 4);
        Ok(())
    }

    fn call(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        at: &Instruction<'_>,
        owner: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<()> {
        if at.opcode == opcode::INVOKESPECIAL && name == b"<init>" {
            // The constructor call that is not of a pending `new` is the one of `this`.
            match self.pending_news.checked_sub(1) {
                Some(rest) => self.pending_news = rest,
                None => self.is_this_raw = false,
            }
            return Ok(());
        }
        if owner == b"java/lang/System" && name == b"arraycopy" {
            let homes = pass.homes(&parameters(descriptor))?;
            let mut bytes = Vec::new();
            spill(&mut bytes, &homes);
            reload(&mut bytes, &homes);
            bytes.extend(probe::ARRAY_COPY.call(&mut pass.class.pool)?);
            reload(&mut bytes, &homes);
            pass.always_before(at.pc, bytes, 0);
            return Ok(());
        }
        if let Some(bypass) = bypass::find(owner, name, descriptor) {
            let homes = pass.homes(&parameters(descriptor))?;
            let mut bytes = Vec::new();
            spill(&mut bytes, &homes);
            for touch in bypass.reads {
                show_part(pass, &mut bytes, &homes, touch, (probe::READ_ALL, probe::RANGE_READ))?;
            }
            let of_range = if bypass.is_counted { probe::RANGE_FILL } else { probe::RANGE_WRITE };
            for touch in bypass.writes {
                show_part(pass, &mut bytes, &homes, touch, (probe::WRITE_ALL, of_range))?;
            }
            reload(&mut bytes, &homes);
            pass.always_before(at.pc, bytes, 4);
            if bypass.is_counted {
                for touch in bypass.writes {
                    show_count(pass, at, &homes, touch)?;
                }
            }
            return Ok(());
        }
        if name == b"clone"
            && descriptor == b"()Ljava/lang/Object;"
            && matches!(at.opcode, opcode::INVOKEVIRTUAL | opcode::INVOKESPECIAL)
        {
            let mut bytes = vec![opcode::DUP];
            bytes.extend(probe::READ_ALL.call(&mut pass.class.pool)?);
            pass.always_before(at.pc, bytes, 1);
            return Ok(());
        }
        if owner == SYSTEM
            && let Some((_, field, descriptor)) = WRITTEN_BY_VM.iter().find(|(method, ..)| *method == name)
        {
            let number = pass.numbering.static_field(SYSTEM, field, descriptor);
            let bytes = pass.numbered_call(number, probe::STATIC_WRITE)?;
            pass.always_before(at.pc, bytes, 1);
            return Ok(());
        }
        if owner == b"java/lang/reflect/Array" && descriptor.starts_with(b"(Ljava/lang/Object;I") {
            return self.reflective_array(pass, at, name, descriptor);
        }
        if owner == UNSAFE && pass.method.class_name != UNSAFE && descriptor.starts_with(b"(Ljava/lang/Object;J") {
            return self.unsafe_call(pass, at, name, descriptor);
        }
        Ok(())
    }

    /// Spills what lies above the object into fresh locals, shows object and offset to the probe, reloads.
    fn unsafe_call(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        at: &Instruction<'_>,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<()> {
        let mode = match name {
            b"copyMemory" | b"copySwapMemory" | b"setMemory" => return self.unsafe_range(pass, at, descriptor),
            _ if name.starts_with(b"getAnd") => probe::READS | probe::WRITES,
            _ if name.starts_with(b"get") => probe::READS,
            _ if name.starts_with(b"compareAnd") || name.starts_with(b"weakCompareAnd") => probe::READS | probe::WRITES,
            // Whatever is not a known read counts as a write.
            _ => probe::WRITES,
        };
        let homes = pass.homes(&parameters(descriptor)[1..])?;
        let mut bytes = Vec::new();
        spill(&mut bytes, &homes);
        bytes.push(opcode::DUP);
        reload(&mut bytes, &homes[..1]);
        bytes.extend([opcode::BIPUSH, mode + width(name) * probe::BYTES]);
        bytes.extend(probe::UNSAFE_ACCESS.call(&mut pass.class.pool)?);
        reload(&mut bytes, &homes);
        pass.always_before(at.pc, bytes, 4);
        Ok(())
    }

    /// Memory is copied from an object and an offset to others, or filled; the number of bytes follows.
    fn unsafe_range(&mut self, pass: &mut Pass<'_, '_, '_, '_>, at: &Instruction<'_>, descriptor: &[u8]) -> Result<()> {
        let parameters = parameters(descriptor);
        let is_copy = parameters.get(2).is_some_and(|parameter| parameter.starts_with(b"L"));
        let length = if is_copy { 4 } else { 2 };
        if parameters.len() <= length {
            return Ok(());
        }
        let homes = pass.homes(&parameters)?;
        let mut bytes = Vec::new();
        spill(&mut bytes, &homes);
        let ends: &[(usize, u8)] =
            if is_copy { &[(0, probe::READS), (2, probe::WRITES)] } else { &[(0, probe::WRITES)] };
        for &(object, mode) in ends {
            reload(&mut bytes, &homes[object..object + 2]);
            reload(&mut bytes, &homes[length..=length]);
            bytes.extend([opcode::BIPUSH, mode]);
            bytes.extend(probe::UNSAFE_RANGE.call(&mut pass.class.pool)?);
        }
        reload(&mut bytes, &homes);
        pass.always_before(at.pc, bytes, 6);
        Ok(())
    }

    /// The methods that the hidden code of method handles calls on its way to a field.
    fn handle_entry(&mut self, pass: &mut Pass<'_, '_, '_, '_>) -> Result<()> {
        if pass.method.class_name != b"java/lang/invoke/DirectMethodHandle" {
            return Ok(());
        }
        let probe = match (pass.method.name, pass.method.descriptor) {
            (b"checkBase", b"(Ljava/lang/Object;)Ljava/lang/Object;") => probe::HANDLE_BASE,
            (b"fieldOffset", b"(Ljava/lang/Object;)J") => probe::HANDLE_FIELD,
            (b"staticOffset", b"(Ljava/lang/Object;)J") => probe::HANDLE_STATIC,
            _ => return Ok(()),
        };
        let mut bytes = vec![opcode::ALOAD_0];
        bytes.extend(probe.call(&mut pass.class.pool)?);
        pass.always_before(0, bytes, 1);
        Ok(())
    }

    /// `Array.get*` and `Array.set*` are native.
    fn reflective_array(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        at: &Instruction<'_>,
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<()> {
        let is_read = name.starts_with(b"get");
        let probe = if is_read { probe::ARRAY_READ } else { probe::ARRAY_WRITE };
        let parameters = parameters(descriptor);
        let homes = pass.homes(parameters.get(2..).unwrap_or_default())?;
        let mut bytes = Vec::new();
        spill(&mut bytes, &homes);
        bytes.push(opcode::DUP2);
        bytes.extend(probe.call(&mut pass.class.pool)?);
        reload(&mut bytes, &homes);
        pass.always_before(at.pc, bytes, 2);
        Ok(())
    }

    /// `Field.get*` and `Field.set*`: since JDK 18 their work happens in hidden classes.
    fn reflection_entry(&mut self, pass: &mut Pass<'_, '_, '_, '_>) -> Result<()> {
        if pass.method.class_name != b"java/lang/reflect/Field" || pass.method.is_static {
            return Ok(());
        }
        let probe = match pass.method.descriptor {
            d if d.starts_with(b"(Ljava/lang/Object;)") && pass.method.name.starts_with(b"get") => {
                probe::REFLECTIVE_READ
            }
            d if d.starts_with(b"(Ljava/lang/Object;")
                && d.ends_with(b")V")
                && pass.method.name.starts_with(b"set") =>
            {
                probe::REFLECTIVE_WRITE
            }
            _ => return Ok(()),
        };
        let mut bytes = vec![opcode::ALOAD_0, opcode::ALOAD_0 + 1];
        bytes.extend(probe.call(&mut pass.class.pool)?);
        pass.always_before(0, bytes, 2);
        Ok(())
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

/// Shows an array among the spilled arguments, or the part of it that is touched, to one of two probes.
fn show_part(
    pass: &mut Pass<'_, '_, '_, '_>,
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
    bytes.extend(probe.call(&mut pass.class.pool)?);
    Ok(())
}

/// Shows how many elements were written, which the call has left on the stack; its arguments are still where they were
/// spilled.
fn show_count(
    pass: &mut Pass<'_, '_, '_, '_>,
    at: &Instruction<'_>,
    homes: &[(&[u8], u16)],
    touch: &Touch,
) -> Result<()> {
    const SWAP: u8 = 0x5f;
    let Part::Length { from, .. } = touch.part else { return Ok(()) };
    let (Some(array), Some(from)) = (homes.get(touch.array), homes.get(from)) else { return Ok(()) };
    let mut bytes = vec![opcode::DUP];
    reload(&mut bytes, &[*array]);
    bytes.push(SWAP);
    reload(&mut bytes, &[*from]);
    bytes.push(SWAP);
    bytes.extend(probe::RANGE_WRITE.call(&mut pass.class.pool)?);
    pass.editor.need_stack(4);
    pass.requests.add(at.pc, None, bytes, true);
    Ok(())
}
