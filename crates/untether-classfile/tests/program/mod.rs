//! A method body without pcs: whatever points into the code names an instruction by its position.
//!
//! Decoded on its own and as naively as can be from JVMS 4.7 and 6.5, so that it shares no mistake with
//! the editor. Anything that points between two instructions panics.

use untether_classfile::{Code, ConstantPool};

/// One instruction: its bytes without padding and jump offsets, and the instructions it can jump to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) bytes: Vec<u8>,
    pub(crate) targets: Vec<usize>,
}

impl Step {
    pub(crate) const NOP: u8 = 0x00;
    const NEW: u8 = 0xbb;

    pub(crate) fn nop() -> Self {
        Step { bytes: vec![Step::NOP], targets: Vec::new() }
    }

    pub(crate) fn is_new(&self) -> bool {
        self.bytes[0] == Step::NEW
    }

    /// Whether a jump of this instruction is limited to 16 bits.
    pub(crate) fn has_short_jump(&self) -> bool {
        !self.targets.is_empty() && !self.is_switch() && !matches!(self.bytes[0], 0xc8 | 0xc9)
    }

    fn is_switch(&self) -> bool {
        matches!(self.bytes[0], 0xaa | 0xab)
    }

    fn length_at(&self, pc: usize) -> usize {
        match self.bytes[0] {
            0xaa | 0xab => self.bytes.len() + padding(pc) + 4 * self.targets.len(),
            0xc8 | 0xc9 => 5,
            _ if self.has_short_jump() => 3,
            _ => self.bytes.len(),
        }
    }
}

/// A type in a stack map frame; of an object not yet initialised, the second part is its `new`.
pub(crate) type Item = (u8, usize);

/// A stack map frame; forms that differ only in how they write the offset are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) at: usize,
    pub(crate) form: u8,
    pub(crate) locals: Vec<Item>,
    pub(crate) stack: Vec<Item>,
}

/// A method body in terms of instructions; one more stands for the end of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
    /// Start, end, handler and type.
    pub(crate) exceptions: Vec<(usize, usize, usize, u16)>,
    pub(crate) lines: Vec<(usize, u16)>,
    /// Start, end, and the rest of the entry.
    pub(crate) variables: Vec<(usize, usize, Vec<u8>)>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) others: Vec<(u16, Vec<u8>)>,
}

impl Program {
    pub(crate) fn of(code: &Code<'_>, pool: &ConstantPool<'_>) -> Program {
        let starts = starts(code.bytes);
        let index = |pc: i64| {
            usize::try_from(pc)
                .ok()
                .and_then(|pc| starts.binary_search(&pc).ok())
                .unwrap_or_else(|| panic!("{pc} is no start of an instruction"))
        };
        let steps = starts.windows(2).map(|part| step(code.bytes, part[0], part[1], index)).collect();
        let exceptions = code.exceptions.iter();
        let mut program = Program {
            steps,
            exceptions: exceptions
                .map(|e| (index(e.start.into()), index(e.end.into()), index(e.handler.into()), e.catch_type))
                .collect(),
            lines: Vec::new(),
            variables: Vec::new(),
            frames: Vec::new(),
            others: Vec::new(),
        };
        for attribute in &code.attributes {
            let mut bytes = Bytes(&attribute.content);
            match pool.utf8(attribute.name_index).unwrap() {
                b"LineNumberTable" => {
                    program.lines.extend((0..bytes.u2()).map(|_| (index(bytes.u2().into()), bytes.u2())));
                }
                b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                    program.variables.extend((0..bytes.u2()).map(|_| {
                        let start = i64::from(bytes.u2());
                        let end = start + i64::from(bytes.u2());
                        (index(start), index(end), bytes.take(6).to_vec())
                    }));
                }
                b"StackMapTable" => program.frames = frames(&mut bytes, index),
                b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {}
                _ => program.others.push((attribute.name_index, attribute.content.to_vec())),
            }
        }
        program
    }

    /// The pc of each instruction and of the end, were they written one after the other.
    pub(crate) fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0];
        for step in &self.steps {
            let pc = positions[positions.len() - 1];
            positions.push(pc + step.length_at(pc));
        }
        positions
    }
}

/// The pc of each instruction and of the end.
fn starts(code: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut pc = 0;
    while pc < code.len() {
        pc += length(code, pc);
        starts.push(pc);
    }
    assert_eq!(pc, code.len(), "the last instruction is cut off");
    starts
}

fn padding(pc: usize) -> usize {
    (4 - (pc + 1) % 4) % 4
}

fn word(code: &[u8], at: usize) -> i64 {
    i32::from_be_bytes(code[at..at + 4].try_into().unwrap()).into()
}

fn length(code: &[u8], pc: usize) -> usize {
    let first_word = pc + 1 + padding(pc);
    match code[pc] {
        0xaa => first_word + 12 + 4 * (word(code, first_word + 8) - word(code, first_word + 4) + 1) as usize - pc,
        0xab => first_word + 8 + 8 * word(code, first_word + 4) as usize - pc,
        0xc4 => {
            if code[pc + 1] == 0x84 {
                6
            } else {
                4
            }
        }
        // bipush, ldc, loads, stores, ret, newarray
        0x10 | 0x12 | 0x15..=0x19 | 0x36..=0x3a | 0xa9 | 0xbc => 2,
        // sipush, ldc_w, ldc2_w, iinc, jumps, members, new, anewarray, checkcast, instanceof, null tests
        0x11 | 0x13 | 0x14 | 0x84 | 0x99..=0xa8 | 0xb2..=0xb8 | 0xbb | 0xbd | 0xc0 | 0xc1 | 0xc6 | 0xc7 => 3,
        // multianewarray
        0xc5 => 4,
        // invokeinterface, invokedynamic, goto_w, jsr_w
        0xb9 | 0xba | 0xc8 | 0xc9 => 5,
        _ => 1,
    }
}

fn step(code: &[u8], pc: usize, end: usize, index: impl Fn(i64) -> usize) -> Step {
    let target = |offset: i64| index(pc as i64 + offset);
    let first_word = pc + 1 + padding(pc);
    let (mut bytes, mut targets) = (vec![code[pc]], Vec::new());
    match code[pc] {
        0x99..=0xa8 | 0xc6 | 0xc7 => targets.push(target(i16::from_be_bytes([code[pc + 1], code[pc + 2]]).into())),
        0xc8 | 0xc9 => targets.push(target(word(code, pc + 1))),
        0xaa => {
            bytes.extend(&code[first_word + 4..first_word + 12]);
            targets.push(target(word(code, first_word)));
            targets.extend((first_word + 12..end).step_by(4).map(|at| target(word(code, at))));
        }
        0xab => {
            bytes.extend(&code[first_word + 4..first_word + 8]);
            targets.push(target(word(code, first_word)));
            for at in (first_word + 8..end).step_by(8) {
                bytes.extend(&code[at..at + 4]);
                targets.push(target(word(code, at + 4)));
            }
        }
        _ => bytes.extend(&code[pc + 1..end]),
    }
    Step { bytes, targets }
}

fn frames(bytes: &mut Bytes<'_>, index: impl Fn(i64) -> usize) -> Vec<Frame> {
    let mut pc = -1;
    let mut frames = Vec::new();
    for _ in 0..bytes.u2() {
        let form = bytes.u1();
        let delta = match form {
            0..=127 => u16::from(form % 64),
            _ => bytes.u2(),
        };
        pc += i64::from(delta) + 1;
        let mut frame = Frame { at: index(pc), form, locals: Vec::new(), stack: Vec::new() };
        match form {
            0..=63 | 251 => frame.form = 251,
            64..=127 | 247 => {
                frame.form = 247;
                frame.stack = bytes.items(1, &index);
            }
            248..=250 => {}
            252..=254 => frame.locals = bytes.items(u16::from(form) - 251, &index),
            255 => {
                let locals = bytes.u2();
                frame.locals = bytes.items(locals, &index);
                let stack = bytes.u2();
                frame.stack = bytes.items(stack, &index);
            }
            _ => panic!("{form} is no form of frame"),
        }
        frames.push(frame);
    }
    assert!(bytes.0.is_empty(), "{} bytes after the last frame", bytes.0.len());
    frames
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u1(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn u2(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn items(&mut self, count: u16, index: &impl Fn(i64) -> usize) -> Vec<Item> {
        (0..count)
            .map(|_| match self.u1() {
                7 => (7, self.u2().into()),
                8 => (8, index(self.u2().into())),
                tag => (tag, 0),
            })
            .collect()
    }
}
