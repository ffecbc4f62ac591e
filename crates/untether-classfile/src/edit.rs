//! Insertion of instructions into a method and relocation of all that points into its code.

use std::borrow::Cow;

use crate::class::Attribute;
use crate::code::{Code, ExceptionEntry};
use crate::error::{Error, Result};
use crate::instruction::{Instruction, opcode, switch_padding};
use crate::pool::ConstantPool;
use crate::reader::{Put, Reader};
use crate::stackmap::{self, Relocation};

const UNMAPPED: u32 = u32::MAX;

/// Collects edits to one method body and applies them in one pass.
///
/// Inserted code must be straight-line and leave the operand stack as it found it; then the frames of
/// the original stay valid and none has to be computed.
#[derive(Debug)]
pub struct CodeEditor<'c, 'a> {
    code: &'c Code<'a>,
    edits: Vec<Edit>,
    extra_stack: u16,
    extra_locals: u16,
    final_handler: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Edit {
    pc: u32,
    before: Vec<u8>,
    replacement: Option<Vec<u8>>,
    after: Vec<u8>,
}

impl<'c, 'a> CodeEditor<'c, 'a> {
    pub fn new(code: &'c Code<'a>) -> Self {
        CodeEditor { code, edits: Vec::new(), extra_stack: 0, extra_locals: 0, final_handler: None }
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.final_handler.is_none()
    }

    /// Runs `bytes` before the instruction at `pc`, also when it is reached by a jump.
    /// Edits must come in ascending order of `pc`.
    pub fn before(&mut self, pc: u32, bytes: &[u8]) {
        self.edit(pc).before.extend_from_slice(bytes);
    }

    /// Runs `bytes` when the instruction at `pc` has completed normally and did not jump.
    pub fn after(&mut self, pc: u32, bytes: &[u8]) {
        self.edit(pc).after.extend_from_slice(bytes);
    }

    /// Puts `bytes` in the place of the instruction at `pc`, which must not be a branch or a switch.
    pub fn replace(&mut self, pc: u32, bytes: &[u8]) {
        self.edit(pc).replacement = Some(bytes.to_vec());
    }

    /// Appends a handler that receives any throwable leaving the method; `bytes` must end in `athrow`.
    pub fn catch_all(&mut self, bytes: &[u8]) {
        self.final_handler = Some(bytes.to_vec());
    }

    /// Room on the operand stack that inserted code needs on top of the original's.
    pub fn need_stack(&mut self, slots: u16) {
        self.extra_stack = self.extra_stack.max(slots);
    }

    /// Room for fresh locals, numbered from the original `max_locals`.
    pub fn need_locals(&mut self, slots: u16) {
        self.extra_locals = self.extra_locals.max(slots);
    }

    fn edit(&mut self, pc: u32) -> &mut Edit {
        let found = match self.edits.last() {
            Some(last) if last.pc == pc => true,
            Some(last) => {
                debug_assert!(last.pc < pc, "edits must ascend");
                false
            }
            None => false,
        };
        if !found {
            self.edits.push(Edit { pc, before: Vec::new(), replacement: None, after: Vec::new() });
        }
        let last = self.edits.len() - 1;
        &mut self.edits[last]
    }

    /// The content of the new `Code` attribute.
    pub fn apply(&self, pool: &mut ConstantPool<'_>) -> Result<Vec<u8>> {
        let instructions = self.code.instructions().collect::<Result<Vec<_>>>()?;
        let map = self.layout(&instructions)?;
        let mut bytes = self.emit(&instructions, &map)?;
        let mut exceptions = self.relocated_exceptions(&map)?;
        let mut handler_frame = None;
        if let Some(handler) = &self.final_handler {
            let pc = bytes.len() as u32;
            let throwable = pool.add_class(b"java/lang/Throwable")?;
            handler_frame = Some((pc, throwable));
            exceptions.push(ExceptionEntry { start: 0, end: narrow(pc)?, handler: narrow(pc)?, catch_type: 0 });
            bytes.extend_from_slice(handler);
        }
        if bytes.len() > usize::from(u16::MAX) || exceptions.len() > usize::from(u16::MAX) {
            return Err(Error::CodeTooLarge);
        }
        let code = Code {
            max_stack: self.code.max_stack.checked_add(self.extra_stack).ok_or(Error::LimitExceeded)?,
            max_locals: self.code.max_locals.checked_add(self.extra_locals).ok_or(Error::LimitExceeded)?,
            bytes: &bytes,
            exceptions,
            attributes: self.relocated_attributes(&map, handler_frame, pool)?,
        };
        Ok(code.to_bytes())
    }

    fn layout(&self, instructions: &[Instruction<'_>]) -> Result<PcMap> {
        let length = self.code.bytes.len();
        let mut map = PcMap { target: vec![UNMAPPED; length + 1], instruction: vec![UNMAPPED; length + 1] };
        let mut edits = self.edits.iter().peekable();
        let mut position: u32 = 0;
        for instruction in instructions {
            let pc = instruction.pc as usize;
            map.target[pc] = position;
            let edit = edits.next_if(|e| e.pc == instruction.pc);
            position += edit.map_or(0, |e| e.before.len() as u32);
            map.instruction[pc] = position;
            position += match edit.and_then(|e| e.replacement.as_ref()) {
                Some(replacement) => replacement.len() as u32,
                None if instruction.is_switch() => {
                    let body = instruction.bytes.len() - 1 - switch_padding(instruction.pc);
                    (1 + switch_padding(position) + body) as u32
                }
                None => instruction.bytes.len() as u32,
            };
            position += edit.map_or(0, |e| e.after.len() as u32);
        }
        map.target[length] = position;
        map.instruction[length] = position;
        if position > u32::from(u16::MAX) {
            return Err(Error::CodeTooLarge);
        }
        Ok(map)
    }

    fn emit(&self, instructions: &[Instruction<'_>], map: &PcMap) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(map.target[self.code.bytes.len()] as usize);
        let mut edits = self.edits.iter().peekable();
        for instruction in instructions {
            let edit = edits.next_if(|e| e.pc == instruction.pc);
            if let Some(edit) = edit {
                out.extend_from_slice(&edit.before);
            }
            match edit.and_then(|e| e.replacement.as_ref()) {
                Some(replacement) => out.extend_from_slice(replacement),
                None if instruction.is_switch() => emit_switch(instruction, map, &mut out)?,
                None if instruction.is_branch() => emit_branch(instruction, map, &mut out)?,
                None => out.extend_from_slice(instruction.bytes),
            }
            if let Some(edit) = edit {
                out.extend_from_slice(&edit.after);
            }
        }
        if edits.peek().is_some() {
            return Err(Error::BadTarget { pc: i64::from(edits.next().map_or(0, |e| e.pc)) });
        }
        Ok(out)
    }

    fn relocated_exceptions(&self, map: &PcMap) -> Result<Vec<ExceptionEntry>> {
        self.code
            .exceptions
            .iter()
            .map(|entry| {
                Ok(ExceptionEntry {
                    start: narrow(map.target(entry.start.into())?)?,
                    end: narrow(map.target(entry.end.into())?)?,
                    handler: narrow(map.target(entry.handler.into())?)?,
                    catch_type: entry.catch_type,
                })
            })
            .collect()
    }

    fn relocated_attributes(
        &self,
        map: &PcMap,
        handler_frame: Option<(u32, u16)>,
        pool: &mut ConstantPool<'_>,
    ) -> Result<Vec<Attribute<'static>>> {
        let mut attributes = Vec::with_capacity(self.code.attributes.len() + 1);
        let mut has_stack_map = false;
        for attribute in &self.code.attributes {
            let content = match pool.utf8(attribute.name_index)? {
                b"LineNumberTable" => line_numbers(&attribute.content, map)?,
                b"LocalVariableTable" | b"LocalVariableTypeTable" => local_variables(&attribute.content, map)?,
                b"StackMapTable" => {
                    has_stack_map = true;
                    stackmap::relocate(Some(&attribute.content), map, handler_frame)?
                }
                // They hold pcs, nothing at run time can read them, and `StackMap` is of J2ME: dropped.
                b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" | b"StackMap" => continue,
                _ => attribute.content.to_vec(),
            };
            attributes.push(Attribute { name_index: attribute.name_index, content: Cow::Owned(content) });
        }
        if handler_frame.is_some() && !has_stack_map {
            let content = stackmap::relocate(None, map, handler_frame)?;
            let name_index = pool.add_utf8(b"StackMapTable")?;
            attributes.push(Attribute { name_index, content: Cow::Owned(content) });
        }
        Ok(attributes)
    }
}

/// Old pcs to new ones, with one more entry for the end of the code.
#[derive(Debug)]
struct PcMap {
    target: Vec<u32>,
    instruction: Vec<u32>,
}

fn lookup(table: &[u32], pc: i64) -> Result<u32> {
    let new = usize::try_from(pc).ok().and_then(|pc| table.get(pc)).copied();
    new.filter(|&new| new != UNMAPPED).ok_or(Error::BadTarget { pc })
}

impl Relocation for PcMap {
    fn target(&self, pc: i64) -> Result<u32> {
        lookup(&self.target, pc)
    }

    fn instruction(&self, pc: i64) -> Result<u32> {
        lookup(&self.instruction, pc)
    }
}

fn narrow(pc: u32) -> Result<u16> {
    u16::try_from(pc).map_err(|_| Error::CodeTooLarge)
}

fn emit_branch(instruction: &Instruction<'_>, map: &PcMap, out: &mut Vec<u8>) -> Result<()> {
    let here = i64::from(map.instruction(instruction.pc.into())?);
    let old_target = i64::from(instruction.pc) + i64::from(instruction.branch_offset());
    let offset = i64::from(map.target(old_target)?) - here;
    out.push(instruction.opcode);
    if matches!(instruction.opcode, opcode::GOTO_W | opcode::JSR_W) {
        out.put_u4(offset as i32 as u32);
    } else {
        out.put_u2(i16::try_from(offset).map_err(|_| Error::BranchTooFar)? as u16);
    }
    Ok(())
}

fn emit_switch(instruction: &Instruction<'_>, map: &PcMap, out: &mut Vec<u8>) -> Result<()> {
    let here = map.instruction(instruction.pc.into())?;
    let relocated = |relative: i32| -> Result<u32> {
        let target = map.target(i64::from(instruction.pc) + i64::from(relative))?;
        Ok((i64::from(target) - i64::from(here)) as i32 as u32)
    };
    out.push(instruction.opcode);
    out.resize(out.len() + switch_padding(here), 0);
    let is_table = instruction.opcode == opcode::TABLESWITCH;
    for (position, word) in instruction.switch_words().enumerate() {
        let is_offset = match position {
            0 => true,
            1 => false,
            2 if is_table => false,
            _ => is_table || position % 2 == 1,
        };
        out.put_u4(if is_offset { relocated(word)? } else { word as u32 });
    }
    Ok(())
}

fn line_numbers(content: &[u8], map: &PcMap) -> Result<Vec<u8>> {
    let mut reader = Reader::new(content);
    let count = reader.u2()?;
    let mut out = Vec::with_capacity(content.len());
    out.put_u2(count);
    for _ in 0..count {
        out.put_u2(narrow(map.target(reader.u2()?.into())?)?);
        out.put_u2(reader.u2()?);
    }
    if reader.is_at_end() { Ok(out) } else { Err(Error::BadAttribute) }
}

fn local_variables(content: &[u8], map: &PcMap) -> Result<Vec<u8>> {
    let mut reader = Reader::new(content);
    let count = reader.u2()?;
    let mut out = Vec::with_capacity(content.len());
    out.put_u2(count);
    for _ in 0..count {
        let start = i64::from(reader.u2()?);
        let end = start + i64::from(reader.u2()?);
        let new_start = map.target(start)?;
        let new_end = map.target(end)?;
        out.put_u2(narrow(new_start)?);
        out.put_u2(narrow(new_end.saturating_sub(new_start))?);
        out.extend_from_slice(reader.take(6)?);
    }
    if reader.is_at_end() { Ok(out) } else { Err(Error::BadAttribute) }
}
