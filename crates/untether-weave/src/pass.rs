//! One pass over a method for all families of probes: what each asks for is collected, freed of what is redundant, and
//! inserted in the order of the code.

use untether_classfile::{ClassFile, Code, CodeEditor, Entry, Instruction, Result, opcode};

use crate::probe::Probe;
use crate::redundancy::{Key, Requests};
use crate::shape::Resolver;
use crate::values::{Value, Values, slots_of};
use crate::weaver::Numbering;

/// What a run wants to know, as far as it shows in the code of a method.
pub(crate) trait Family {
    /// Before the first instruction.
    fn enter(&mut self, _pass: &mut Pass<'_, '_, '_, '_>) -> Result<()> {
        Ok(())
    }

    /// Each instruction, in the order of the code; `entry` is what it names, if that is a field or a method.
    fn visit(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        instruction: &Instruction<'_>,
        entry: Option<Entry<'_>>,
    ) -> Result<()>;
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
pub(crate) struct Method<'m> {
    pub(crate) class_name: &'m [u8],
    pub(crate) name: &'m [u8],
    pub(crate) descriptor: &'m [u8],
    pub(crate) is_static: bool,
}

impl Method<'_> {
    pub(crate) fn is_initializer(&self) -> bool {
        self.name == b"<clinit>"
    }

    pub(crate) fn is_constructor(&self) -> bool {
        self.name == b"<init>"
    }
}

/// Everything that families need of one method.
pub(crate) struct Pass<'p, 'a, 'c, 'e> {
    pub(crate) method: &'p Method<'p>,
    pub(crate) class: &'p mut ClassFile<'a>,
    pub(crate) code: &'p Code<'c>,
    pub(crate) editor: &'p mut CodeEditor<'e, 'c>,
    pub(crate) resolver: &'p dyn Resolver,
    pub(crate) numbering: &'p mut dyn Numbering,
    pub(crate) values: Values,
    pub(crate) requests: Requests,
}

impl<'p, 'a, 'c, 'e> Pass<'p, 'a, 'c, 'e> {
    pub(crate) fn new(
        method: &'p Method<'p>,
        class: &'p mut ClassFile<'a>,
        code: &'p Code<'c>,
        editor: &'p mut CodeEditor<'e, 'c>,
        resolver: &'p dyn Resolver,
        numbering: &'p mut dyn Numbering,
    ) -> Result<Self> {
        let (values, requests) = (Values::new(stable_locals(code)?), Requests::new(code)?);
        Ok(Pass { method, class, code, editor, resolver, numbering, values, requests })
    }

    pub(crate) fn run(&mut self, families: &mut [Box<dyn Family + '_>]) -> Result<()> {
        for family in families.iter_mut() {
            family.enter(self)?;
        }
        for instruction in self.code.instructions() {
            let instruction = instruction?;
            if self.requests.starts_block(instruction.pc) {
                self.values.start_block();
            }
            let entry = match instruction.opcode {
                opcode::GETSTATIC..=opcode::INVOKEINTERFACE => Some(self.class.pool.entry(instruction.index())?),
                _ => None,
            };
            if may_run_tests(&instruction, entry) {
                self.requests.add_barrier(instruction.pc);
            }
            for family in families.iter_mut() {
                family.visit(self, &instruction, entry)?;
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
    pub(crate) fn always_before(&mut self, pc: u32, bytes: Vec<u8>, stack: u16) {
        self.editor.need_stack(stack);
        self.requests.add(pc, None, bytes, false);
    }

    /// The same behind an instruction.
    pub(crate) fn always_after(&mut self, pc: u32, bytes: Vec<u8>, stack: u16) {
        self.editor.need_stack(stack);
        self.requests.add(pc, None, bytes, true);
    }

    /// Asks for a probe that an earlier one of the same access makes redundant.
    pub(crate) fn probe(&mut self, pc: u32, receiver: Value, slot: u32, is_write: bool, bytes: Vec<u8>, stack: u16) {
        self.editor.need_stack(stack);
        let key = Key { receiver, slot, is_write, is_stable: self.values.is_stable(receiver) };
        self.requests.add(pc, Some(key), bytes, false);
    }

    /// Elements are told apart by the value of their index, which is known within a block only.
    pub(crate) fn element_probe(
        &mut self,
        pc: u32,
        array: Value,
        index: Value,
        is_write: bool,
        bytes: Vec<u8>,
        stack: u16,
    ) {
        self.editor.need_stack(stack);
        let key = Key { receiver: array, slot: !index, is_write, is_stable: false };
        self.requests.add(pc, Some(key), bytes, false);
    }

    /// A fresh local for each of the values on top of the stack, given by their descriptors.
    pub(crate) fn homes<'d>(&mut self, descriptors: &[&'d [u8]]) -> Result<Vec<(&'d [u8], u16)>> {
        let mut local = self.code.max_locals;
        let mut homes = Vec::with_capacity(descriptors.len());
        for descriptor in descriptors {
            homes.push((*descriptor, local));
            local = local.checked_add(slots_of(descriptor) as u16).ok_or(untether_classfile::Error::LimitExceeded)?;
        }
        self.editor.need_locals(local - self.code.max_locals);
        Ok(homes)
    }

    /// A call of a probe that takes a number after what is on the stack.
    pub(crate) fn numbered_call(&mut self, number: u32, probe: Probe) -> Result<Vec<u8>> {
        let mut bytes = self.number(number)?;
        bytes.extend(probe.call(&mut self.class.pool)?);
        Ok(bytes)
    }

    /// The instruction that pushes a number.
    pub(crate) fn number(&mut self, number: u32) -> Result<Vec<u8>> {
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
        Ok(bytes)
    }
}

/// Whether what was probed before the instruction may be another test's afterwards.
fn may_run_tests(instruction: &Instruction<'_>, entry: Option<Entry<'_>>) -> bool {
    match (instruction.opcode, entry) {
        (opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE, Some(Entry::Ref { owner, name, .. })) => {
            !is_quiet(owner, name)
        }
        (opcode::INVOKEDYNAMIC, _) => true,
        _ => false,
    }
}

pub(crate) fn spill(bytes: &mut Vec<u8>, homes: &[(&[u8], u16)]) {
    for (descriptor, home) in homes.iter().rev() {
        move_local(bytes, descriptor, *home, true);
    }
}

pub(crate) fn reload(bytes: &mut Vec<u8>, homes: &[(&[u8], u16)]) {
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
