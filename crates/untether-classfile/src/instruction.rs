//! Instruction boundaries and operands (JVMS chapter 6), enough to find and relocate them.

use crate::error::{Error, Result};

/// The opcodes that weaving and relocation name.
pub mod opcode {
    pub const ICONST_0: u8 = 0x03;
    pub const BIPUSH: u8 = 0x10;
    pub const SIPUSH: u8 = 0x11;
    pub const LDC: u8 = 0x12;
    pub const LDC_W: u8 = 0x13;
    pub const ILOAD: u8 = 0x15;
    pub const ALOAD: u8 = 0x19;
    pub const ALOAD_0: u8 = 0x2a;
    pub const ALOAD_3: u8 = 0x2d;
    pub const IALOAD: u8 = 0x2e;
    pub const SALOAD: u8 = 0x35;
    pub const ISTORE: u8 = 0x36;
    pub const ASTORE: u8 = 0x3a;
    pub const ISTORE_0: u8 = 0x3b;
    pub const ASTORE_0: u8 = 0x4b;
    pub const ASTORE_3: u8 = 0x4e;
    pub const IASTORE: u8 = 0x4f;
    pub const LASTORE: u8 = 0x50;
    pub const DASTORE: u8 = 0x52;
    pub const AASTORE: u8 = 0x53;
    pub const SASTORE: u8 = 0x56;
    pub const POP: u8 = 0x57;
    pub const POP2: u8 = 0x58;
    pub const DUP: u8 = 0x59;
    pub const DUP_X2: u8 = 0x5b;
    pub const DUP2: u8 = 0x5c;
    pub const DUP2_X1: u8 = 0x5d;
    pub const DUP2_X2: u8 = 0x5e;
    pub const IINC: u8 = 0x84;
    pub const IFEQ: u8 = 0x99;
    pub const JSR: u8 = 0xa8;
    pub const RET: u8 = 0xa9;
    pub const TABLESWITCH: u8 = 0xaa;
    pub const LOOKUPSWITCH: u8 = 0xab;
    pub const IRETURN: u8 = 0xac;
    pub const ARETURN: u8 = 0xb0;
    pub const RETURN: u8 = 0xb1;
    pub const GETSTATIC: u8 = 0xb2;
    pub const PUTSTATIC: u8 = 0xb3;
    pub const GETFIELD: u8 = 0xb4;
    pub const PUTFIELD: u8 = 0xb5;
    pub const INVOKEVIRTUAL: u8 = 0xb6;
    pub const INVOKESPECIAL: u8 = 0xb7;
    pub const INVOKESTATIC: u8 = 0xb8;
    pub const INVOKEINTERFACE: u8 = 0xb9;
    pub const INVOKEDYNAMIC: u8 = 0xba;
    pub const NEW: u8 = 0xbb;
    pub const ATHROW: u8 = 0xbf;
    pub const WIDE: u8 = 0xc4;
    pub const IFNULL: u8 = 0xc6;
    pub const IFNONNULL: u8 = 0xc7;
    pub const GOTO_W: u8 = 0xc8;
    pub const JSR_W: u8 = 0xc9;
}

/// Operand bytes after each opcode; 255 marks opcodes of variable length, 254 the undefined ones.
const OPERANDS: [u8; 256] = operand_table();

const VARIABLE: u8 = 255;
const UNDEFINED: u8 = 254;

const fn operand_table() -> [u8; 256] {
    let mut table = [UNDEFINED; 256];
    let mut op = 0;
    while op <= 0xc9 {
        table[op] = match op as u8 {
            opcode::BIPUSH | opcode::LDC | 0x15..=0x19 | 0x36..=0x3a | opcode::RET | 0xbc => 1,
            opcode::SIPUSH
            | 0x13
            | 0x14
            | opcode::IINC
            | 0x99..=0xa8
            | 0xb2..=0xb8
            | 0xbb
            | 0xbd
            | 0xc0
            | 0xc1
            | 0xc6
            | 0xc7 => 2,
            0xc5 => 3,
            opcode::INVOKEINTERFACE | opcode::INVOKEDYNAMIC | 0xc8 | 0xc9 => 4,
            opcode::TABLESWITCH | opcode::LOOKUPSWITCH | opcode::WIDE => VARIABLE,
            _ => 0,
        };
        op += 1;
    }
    table
}

/// One instruction in place.
#[derive(Debug, Clone, Copy)]
pub struct Instruction<'a> {
    pub pc: u32,
    pub opcode: u8,
    /// The whole instruction, opcode included.
    pub bytes: &'a [u8],
}

impl Instruction<'_> {
    /// The unsigned 16-bit operand of the field, method, class and constant instructions.
    pub fn index(&self) -> u16 {
        match self.bytes {
            [_, high, low, ..] => u16::from_be_bytes([*high, *low]),
            _ => 0,
        }
    }

    /// What `ldc` or `ldc_w` loads, as an index into the constant pool.
    pub fn constant(&self) -> u16 {
        match self.bytes {
            [opcode::LDC, index, ..] => u16::from(*index),
            _ => self.index(),
        }
    }

    /// The local variable of `aload`, in its short, normal and wide forms.
    pub fn loaded_reference(&self) -> Option<u16> {
        self.local(opcode::ALOAD, opcode::ALOAD_0, opcode::ALOAD_3)
    }

    fn local(&self, plain: u8, first: u8, last: u8) -> Option<u16> {
        match self.bytes {
            [op, ..] if (first..=last).contains(op) => Some(u16::from(op - first)),
            [op, local] if *op == plain => Some(u16::from(*local)),
            [opcode::WIDE, op, high, low] if *op == plain => Some(u16::from_be_bytes([*high, *low])),
            _ => None,
        }
    }

    /// The local variable that this instruction overwrites, with the number of slots it covers.
    pub fn stored_local(&self) -> Option<(u16, u16)> {
        let (op, local) = match self.bytes {
            [opcode::WIDE, op, high, low, ..] => (*op, u16::from_be_bytes([*high, *low])),
            [op, local, ..] if (opcode::ISTORE..=opcode::ASTORE).contains(op) || *op == opcode::IINC => {
                (*op, u16::from(*local))
            }
            [op] if (opcode::ISTORE_0..=opcode::ASTORE_3).contains(op) => {
                let relative = op - opcode::ISTORE_0;
                (opcode::ISTORE + relative / 4, u16::from(relative % 4))
            }
            _ => return None,
        };
        match op {
            0x37 | 0x39 => Some((local, 2)),
            0x36 | 0x38 | 0x3a | opcode::IINC => Some((local, 1)),
            _ => None,
        }
    }

    pub fn is_branch(&self) -> bool {
        matches!(self.opcode, 0x99..=0xa8 | opcode::IFNULL..=opcode::JSR_W)
    }

    pub fn is_switch(&self) -> bool {
        matches!(self.opcode, opcode::TABLESWITCH | opcode::LOOKUPSWITCH)
    }

    pub fn is_return(&self) -> bool {
        (opcode::IRETURN..=opcode::RETURN).contains(&self.opcode)
    }

    /// Whether control never falls through to the next instruction.
    pub fn ends_block(&self) -> bool {
        self.is_return()
            || self.is_switch()
            || matches!(self.opcode, 0xa7 | opcode::RET | opcode::ATHROW | opcode::GOTO_W)
    }

    /// Calls `visit` with every pc that this instruction can jump to.
    pub fn targets(&self, mut visit: impl FnMut(i64)) {
        let base = i64::from(self.pc);
        if self.is_switch() {
            for relative in self.switch_offsets() {
                visit(base + i64::from(relative));
            }
        } else if self.is_branch() {
            visit(base + i64::from(self.branch_offset()));
        }
    }

    pub(crate) fn branch_offset(&self) -> i32 {
        match self.bytes {
            [_, a, b] => i32::from(i16::from_be_bytes([*a, *b])),
            [_, a, b, c, d] => i32::from_be_bytes([*a, *b, *c, *d]),
            _ => 0,
        }
    }

    /// The words of a switch after its padding: default, then bounds or pairs.
    pub(crate) fn switch_words(&self) -> impl Iterator<Item = i32> + use<'_> {
        let padding = switch_padding(self.pc);
        self.bytes[1 + padding..].chunks_exact(4).map(|word| i32::from_be_bytes([word[0], word[1], word[2], word[3]]))
    }

    fn switch_offsets(&self) -> Vec<i32> {
        let words: Vec<i32> = self.switch_words().collect();
        let mut offsets = vec![words[0]];
        if self.opcode == opcode::TABLESWITCH {
            offsets.extend_from_slice(&words[3..]);
        } else {
            offsets.extend(words[2..].chunks_exact(2).map(|pair| pair[1]));
        }
        offsets
    }
}

pub(crate) fn switch_padding(pc: u32) -> usize {
    (3 - (pc % 4)) as usize
}

/// Walks the instructions of a code array, stopping at the first that is malformed.
#[derive(Debug, Clone)]
pub struct Instructions<'a> {
    code: &'a [u8],
    pc: u32,
}

impl<'a> Instructions<'a> {
    pub fn new(code: &'a [u8]) -> Self {
        Instructions { code, pc: 0 }
    }

    fn length(&self, rest: &[u8]) -> Result<usize> {
        let op = rest[0];
        let word = |at: usize| -> Result<i64> {
            let bytes = rest.get(at..at + 4).ok_or(Error::Truncated)?;
            Ok(i64::from(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
        };
        let length = match OPERANDS[usize::from(op)] {
            UNDEFINED => return Err(Error::BadOpcode { opcode: op, pc: self.pc }),
            VARIABLE if op == opcode::WIDE => match rest.get(1) {
                Some(&opcode::IINC) => 6,
                Some(0x15..=0x19 | 0x36..=0x3a | 0xa9) => 4,
                Some(&other) => return Err(Error::BadOpcode { opcode: other, pc: self.pc }),
                None => return Err(Error::Truncated),
            },
            VARIABLE => {
                let start = 1 + switch_padding(self.pc);
                let words = if op == opcode::TABLESWITCH {
                    let (low, high) = (word(start + 4)?, word(start + 8)?);
                    if high < low {
                        return Err(Error::BadOpcode { opcode: op, pc: self.pc });
                    }
                    3 + (high - low + 1)
                } else {
                    let pairs = word(start + 4)?;
                    if pairs < 0 {
                        return Err(Error::BadOpcode { opcode: op, pc: self.pc });
                    }
                    2 + 2 * pairs
                };
                start + usize::try_from(words * 4).map_err(|_| Error::Truncated)?
            }
            operands => 1 + usize::from(operands),
        };
        if length > rest.len() { Err(Error::Truncated) } else { Ok(length) }
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.code[self.pc as usize..];
        if rest.is_empty() {
            return None;
        }
        let pc = self.pc;
        match self.length(rest) {
            Ok(length) => {
                self.pc += length as u32;
                Some(Ok(Instruction { pc, opcode: rest[0], bytes: &rest[..length] }))
            }
            Err(error) => {
                self.pc = self.code.len() as u32;
                Some(Err(error))
            }
        }
    }
}
