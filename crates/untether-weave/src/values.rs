//! Which value stands where on the operand stack, followed within one basic block.
//!
//! It tells whether a receiver is an object that the method made itself (then no other test can have
//! seen it), and which accesses are of the same value. Losing track is always safe: an unknown value
//! gets a number of its own.

use std::collections::{HashMap, HashSet};

use untether_classfile::{Entry, Instruction, opcode};

/// A value number, unique within a method.
pub(crate) type Value = u32;

/// The number of `this` in methods that never reassign local 0.
pub(crate) const THIS: Value = 0;

/// Stands for the receiver of static fields.
pub(crate) const NOBODY: Value = u32::MAX;

#[derive(Debug, Default)]
pub(crate) struct Values {
    stack: Vec<Value>,
    locals: HashMap<u16, Value>,
    fresh: HashSet<Value>,
    next: Value,
    /// Locals that the method never stores into, by number; they have the value of that number.
    stable: Vec<bool>,
}

impl Values {
    pub(crate) fn new(stable: Vec<bool>) -> Self {
        Values { next: stable.len() as Value, stable, ..Values::default() }
    }

    /// Whether the value is the same wherever in the method it appears.
    pub(crate) fn is_stable(&self, value: Value) -> bool {
        value == NOBODY || self.stable.get(value as usize).copied().unwrap_or(false)
    }

    /// Forgets everything at the start of a basic block.
    pub(crate) fn start_block(&mut self) {
        self.stack.clear();
        self.locals.clear();
        self.fresh.clear();
    }

    /// The value `depth` slots below the top.
    pub(crate) fn peek(&mut self, depth: usize) -> Value {
        while self.stack.len() <= depth {
            let unknown = self.number();
            self.stack.insert(0, unknown);
        }
        self.stack[self.stack.len() - 1 - depth]
    }

    pub(crate) fn is_fresh(&self, value: Value) -> bool {
        self.fresh.contains(&value)
    }

    fn number(&mut self) -> Value {
        self.next += 1;
        self.next
    }

    fn push(&mut self, count: usize) {
        for _ in 0..count {
            let value = self.number();
            self.stack.push(value);
        }
    }

    fn pop(&mut self, count: usize) {
        let keep = self.stack.len().saturating_sub(count);
        self.stack.truncate(keep);
    }

    fn push_fresh(&mut self) {
        let value = self.number();
        self.fresh.insert(value);
        self.stack.push(value);
    }

    fn load(&mut self, local: u16) {
        let value = if self.is_stable(local.into()) {
            local.into()
        } else if let Some(&value) = self.locals.get(&local) {
            value
        } else {
            let value = self.number();
            self.locals.insert(local, value);
            value
        };
        self.stack.push(value);
    }

    /// Moves past `instruction`; `entry` is the constant that it names, if any.
    pub(crate) fn step(&mut self, instruction: &Instruction<'_>, entry: Option<Entry<'_>>) {
        if let Some(local) = instruction.loaded_reference() {
            self.load(local);
            return;
        }
        if let Some((local, slots)) = instruction.stored_local() {
            if instruction.opcode != opcode::IINC && instruction.bytes.get(1) != Some(&opcode::IINC) {
                let value = self.peek(0);
                self.pop(usize::from(slots));
                if slots == 1 {
                    self.locals.insert(local, value);
                } else {
                    self.locals.remove(&local);
                    self.locals.remove(&local.saturating_add(1));
                }
            }
            return;
        }
        match instruction.opcode {
            opcode::POP..=0x5f => self.shuffle(instruction.opcode),
            opcode::GETSTATIC..=0xba => self.member(instruction.opcode, entry),
            opcode::NEW => self.push_fresh(),
            0xbc | 0xbd => {
                self.pop(1);
                self.push_fresh();
            }
            0xc5 => {
                self.pop(usize::from(instruction.bytes[3]));
                self.push_fresh();
            }
            0xc0 => {
                self.peek(0);
            }
            opcode::WIDE => self.push(match instruction.bytes.get(1) {
                Some(0x15 | 0x17) => 1,
                Some(0x16 | 0x18) => 2,
                _ => 0,
            }),
            op => {
                let (pops, pushes) = effect(op);
                self.pop(pops);
                self.push(pushes);
            }
        }
    }

    /// `pop` to `swap`, expressed by the slots that they move.
    fn shuffle(&mut self, op: u8) {
        // Fill what is unknown, so that indices exist.
        self.peek(3);
        let top = self.stack.len();
        match op {
            opcode::POP => self.pop(1),
            opcode::POP2 => self.pop(2),
            opcode::DUP => self.stack.push(self.stack[top - 1]),
            0x5a => self.stack.insert(top - 2, self.stack[top - 1]),
            opcode::DUP_X2 => self.stack.insert(top - 3, self.stack[top - 1]),
            0x5f => self.stack.swap(top - 1, top - 2),
            _ => {
                let pair = [self.stack[top - 2], self.stack[top - 1]];
                let at = match op {
                    opcode::DUP2 => top,
                    opcode::DUP2_X1 => top - 3,
                    _ => top - 4,
                };
                self.stack.splice(at..at, pair);
            }
        }
    }

    fn member(&mut self, op: u8, entry: Option<Entry<'_>>) {
        let Some(Entry::Ref { descriptor, .. }) = entry else {
            // `invokedynamic` and malformed code: give up on the stack, keep the locals.
            self.stack.clear();
            return;
        };
        match op {
            opcode::GETSTATIC => self.push(slots_of(descriptor)),
            opcode::PUTSTATIC => self.pop(slots_of(descriptor)),
            opcode::GETFIELD => {
                self.pop(1);
                self.push(slots_of(descriptor));
            }
            opcode::PUTFIELD => self.pop(1 + slots_of(descriptor)),
            _ => {
                let receiver = usize::from(op != opcode::INVOKESTATIC);
                self.pop(argument_slots(descriptor) + receiver);
                let close = descriptor.iter().position(|&b| b == b')').map_or(descriptor.len(), |p| p + 1);
                self.push(slots_of(&descriptor[close..]));
            }
        }
    }
}

/// The stack slots of one field or return descriptor.
pub(crate) fn slots_of(descriptor: &[u8]) -> usize {
    match descriptor.first() {
        Some(b'J' | b'D') => 2,
        Some(b'V') | None => 0,
        _ => 1,
    }
}

/// The descriptors of a method's parameters, in order.
pub(crate) fn parameters(descriptor: &[u8]) -> Vec<&[u8]> {
    let mut parameters = Vec::new();
    let mut at = 1;
    while at < descriptor.len() && descriptor[at] != b')' {
        let start = at;
        while descriptor.get(at) == Some(&b'[') {
            at += 1;
        }
        if descriptor.get(at) == Some(&b'L') {
            at += descriptor[at..].iter().position(|&b| b == b';').unwrap_or(descriptor.len() - at);
        }
        at += 1;
        parameters.push(&descriptor[start..at.min(descriptor.len())]);
    }
    parameters
}

fn argument_slots(descriptor: &[u8]) -> usize {
    parameters(descriptor).iter().map(|p| slots_of(p)).sum()
}

/// Slots popped and pushed by the opcodes that need no operand to tell (JVMS 6.5).
fn effect(op: u8) -> (usize, usize) {
    match op {
        0x01..=0x08 | 0x0b..=0x0d | 0x10..=0x13 | 0x15 | 0x17 | 0x1a..=0x1d | 0x22..=0x25 | 0xa8 | 0xc9 => (0, 1),
        0x09 | 0x0a | 0x0e | 0x0f | 0x14 | 0x16 | 0x18 | 0x1e..=0x21 | 0x26..=0x29 => (0, 2),
        0x2e | 0x30 | 0x32..=0x35 => (2, 1),
        0x2f | 0x31 => (2, 2),
        0x4f | 0x51 | 0x53..=0x56 => (3, 0),
        0x50 | 0x52 => (4, 0),
        0x60..=0x73 => {
            if op.is_multiple_of(2) {
                (2, 1)
            } else {
                (4, 2)
            }
        }
        0x74 | 0x76 | 0x86 | 0x8b | 0x91..=0x93 | 0xbe | 0xc1 => (1, 1),
        0x75 | 0x77 | 0x8a | 0x8f => (2, 2),
        0x78 | 0x7a | 0x7c | 0x7e | 0x80 | 0x82 | 0x95 | 0x96 => (2, 1),
        0x79 | 0x7b | 0x7d => (3, 2),
        0x7f | 0x81 | 0x83 => (4, 2),
        0x85 | 0x87 | 0x8c | 0x8d => (1, 2),
        0x88 | 0x89 | 0x8e | 0x90 => (2, 1),
        0x94 | 0x97 | 0x98 => (4, 1),
        0x99..=0x9e | 0xaa | 0xab | 0xc2 | 0xc3 | 0xc6 | 0xc7 => (1, 0),
        0x9f..=0xa6 => (2, 0),
        _ => (0, 0),
    }
}
