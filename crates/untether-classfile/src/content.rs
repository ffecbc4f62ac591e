//! What a class file says, apart from how it says it: two files with the same content behave alike.
//!
//! The content is written out in a canonical form that names constants instead of pointing at them, counts instructions
//! instead of bytes and leaves out what only debuggers and stack traces show. What is not understood goes into it as it
//! stands, so that a difference there is always seen.

use std::collections::BTreeSet;

use crate::class::{Attribute, ClassFile, Member};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::instruction::opcode;
use crate::reader::{Put, Reader};

/// Attributes that only debuggers, compilers and stack traces look at.
const DEBUG: [&[u8]; 5] =
    [b"LineNumberTable", b"LocalVariableTable", b"LocalVariableTypeTable", b"SourceDebugExtension", b"SourceFile"];

/// Resolved where they are used.
const INLINED: [&[u8]; 1] = [b"BootstrapMethods"];

/// How deep constants, annotations and records may nest before they are taken for nonsense.
const DEEPEST: usize = 32;

/// The canonical form of a class and the names of those that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub bytes: Vec<u8>,
    /// Superclass and interfaces, in internal form.
    pub supertypes: BTreeSet<Vec<u8>>,
    /// The types of the annotations that are visible at run time, in internal form.
    pub annotations: BTreeSet<Vec<u8>>,
}

impl Content {
    pub fn of(class: &ClassFile<'_>) -> Result<Content> {
        let mut supertypes = BTreeSet::new();
        supertypes.extend(class.super_name()?.map(<[u8]>::to_vec));
        for &interface in &class.interfaces {
            supertypes.insert(class.pool.class_name(interface)?.to_vec());
        }
        let mut writer = Writer { class, bootstraps: bootstraps(class)?, annotations: BTreeSet::new() };
        let bytes = writer.class()?;
        Ok(Content { bytes, supertypes, annotations: writer.annotations })
    }
}

/// Where the entries of `BootstrapMethods` stand: the handle and its arguments.
fn bootstraps(class: &ClassFile<'_>) -> Result<Vec<(u16, Vec<u16>)>> {
    let is_meant = |a: &&Attribute<'_>| class.pool.utf8(a.name_index) == Ok(b"BootstrapMethods");
    let Some(table) = class.attributes.iter().find(is_meant) else { return Ok(Vec::new()) };
    let mut reader = Reader::new(&table.content);
    let mut methods = Vec::new();
    for _ in 0..reader.u2()? {
        let handle = reader.u2()?;
        let count = reader.u2()?;
        methods.push((handle, (0..count).map(|_| reader.u2()).collect::<Result<_>>()?));
    }
    Ok(methods)
}

struct Writer<'w, 'a> {
    class: &'w ClassFile<'a>,
    bootstraps: Vec<(u16, Vec<u16>)>,
    annotations: BTreeSet<Vec<u8>>,
}

impl Writer<'_, '_> {
    fn class(&mut self) -> Result<Vec<u8>> {
        let class = self.class;
        let mut out = Vec::with_capacity(4096);
        out.put_u2(class.minor_version);
        out.put_u2(class.major_version);
        out.put_u2(class.access_flags);
        self.constant(class.this_class, &mut out, 0)?;
        self.optional(class.super_class, &mut out)?;
        out.put_u2(class.interfaces.len() as u16);
        for &interface in &class.interfaces {
            self.constant(interface, &mut out, 0)?;
        }
        // Reflection lists fields in the order of the file, and methods in none.
        out.put_u2(class.fields.len() as u16);
        for field in &class.fields {
            self.member(field, &mut out)?;
        }
        let mut methods = Vec::with_capacity(class.methods.len());
        for method in &class.methods {
            let mut bytes = Vec::new();
            self.member(method, &mut bytes)?;
            methods.push(bytes);
        }
        put_sorted(methods, &mut out);
        self.attributes(&class.attributes, None, &mut out, 0)?;
        Ok(out)
    }

    fn member(&mut self, member: &Member<'_>, out: &mut Vec<u8>) -> Result<()> {
        out.put_u2(member.access_flags);
        self.text(member.name_index, out)?;
        self.text(member.descriptor_index, out)?;
        self.attributes(&member.attributes, None, out, 0)
    }

    fn attributes(
        &mut self,
        attributes: &[Attribute<'_>],
        positions: Option<&Positions>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::BadAttribute);
        }
        let mut all = Vec::new();
        for attribute in attributes {
            let name = self.class.pool.utf8(attribute.name_index)?;
            if DEBUG.contains(&name) || INLINED.contains(&name) {
                continue;
            }
            let mut bytes = Vec::new();
            put_bytes(name, &mut bytes);
            self.attribute(name, &attribute.content, positions, &mut bytes, depth)?;
            all.push(bytes);
        }
        put_sorted(all, out);
        Ok(())
    }

    fn attribute(
        &mut self,
        name: &[u8],
        content: &[u8],
        positions: Option<&Positions>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<()> {
        let mut reader = Reader::new(content);
        match name {
            b"Code" => return self.code(content, out, depth),
            b"ConstantValue" | b"Signature" | b"NestHost" => self.constant(reader.u2()?, out, 0)?,
            // In the order in which reflection shows them.
            b"Exceptions" | b"PermittedSubclasses" => {
                for _ in 0..reader.u2()? {
                    self.constant(reader.u2()?, out, 0)?;
                }
            }
            b"NestMembers" => {
                let mut names = Vec::new();
                for _ in 0..reader.u2()? {
                    let mut bytes = Vec::new();
                    self.constant(reader.u2()?, &mut bytes, 0)?;
                    names.push(bytes);
                }
                put_sorted(names, out);
            }
            b"EnclosingMethod" => {
                self.constant(reader.u2()?, out, 0)?;
                self.optional(reader.u2()?, out)?;
            }
            b"InnerClasses" => {
                let mut entries = Vec::new();
                for _ in 0..reader.u2()? {
                    let mut bytes = Vec::new();
                    self.constant(reader.u2()?, &mut bytes, 0)?;
                    self.optional(reader.u2()?, &mut bytes)?;
                    self.optional(reader.u2()?, &mut bytes)?;
                    bytes.put_u2(reader.u2()?);
                    entries.push(bytes);
                }
                put_sorted(entries, out);
            }
            b"MethodParameters" => {
                for _ in 0..reader.u1()? {
                    self.optional(reader.u2()?, out)?;
                    out.put_u2(reader.u2()?);
                }
            }
            b"Record" => {
                for _ in 0..reader.u2()? {
                    self.text(reader.u2()?, out)?;
                    self.text(reader.u2()?, out)?;
                    let attributes = Attribute::read_all(&mut reader)?;
                    self.attributes(&attributes, None, out, depth + 1)?;
                }
            }
            b"AnnotationDefault" => self.element_value(&mut reader, out, true, 0)?,
            b"RuntimeVisibleAnnotations" => self.annotations(&mut reader, out, true)?,
            b"RuntimeInvisibleAnnotations" => self.annotations(&mut reader, out, false)?,
            b"RuntimeVisibleParameterAnnotations" | b"RuntimeInvisibleParameterAnnotations" => {
                let parameters = reader.u1()?;
                out.push(parameters);
                for _ in 0..parameters {
                    self.annotations(&mut reader, out, name == b"RuntimeVisibleParameterAnnotations")?;
                }
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                for _ in 0..reader.u2()? {
                    self.type_target(&mut reader, positions, out)?;
                    self.annotation(&mut reader, out, name == b"RuntimeVisibleTypeAnnotations", 0)?;
                }
            }
            b"StackMapTable" => match positions {
                Some(positions) => self.frames(&mut reader, positions, out)?,
                None => return Err(Error::BadAttribute),
            },
            _ => {
                put_bytes(content, out);
                return Ok(());
            }
        }
        if reader.is_at_end() { Ok(()) } else { Err(Error::BadAttribute) }
    }

    // ---- code

    fn code(&mut self, content: &[u8], out: &mut Vec<u8>, depth: usize) -> Result<()> {
        let code = Code::parse(content)?;
        let positions = Positions::of(&code)?;
        out.put_u2(code.max_stack);
        out.put_u2(code.max_locals);
        for instruction in code.instructions() {
            let instruction = instruction?;
            if instruction.is_switch() {
                out.push(instruction.opcode);
                let words: Vec<i32> = instruction.switch_words().collect();
                let at = |offset: i32, out: &mut Vec<u8>| -> Result<()> {
                    out.put_u4(positions.ordinal(i64::from(instruction.pc) + i64::from(offset))?);
                    Ok(())
                };
                at(words[0], out)?;
                let is_table = instruction.opcode == opcode::TABLESWITCH;
                let plain = if is_table { 2 } else { 1 };
                words[1..=plain].iter().for_each(|&word| out.put_u4(word as u32));
                for (index, &word) in words[1 + plain..].iter().enumerate() {
                    if is_table || index % 2 == 1 {
                        at(word, out)?;
                    } else {
                        out.put_u4(word as u32);
                    }
                }
            } else if instruction.is_branch() {
                out.push(instruction.opcode);
                out.put_u4(positions.ordinal(i64::from(instruction.pc) + i64::from(instruction.branch_offset()))?);
            } else {
                self.instruction(&instruction, out)?;
            }
        }
        out.push(0xff);
        for entry in &code.exceptions {
            for pc in [entry.start, entry.end, entry.handler] {
                out.put_u4(positions.ordinal(i64::from(pc))?);
            }
            self.optional(entry.catch_type, out)?;
        }
        self.attributes(&code.attributes, Some(&positions), out, depth + 1)
    }

    fn instruction(&mut self, instruction: &crate::Instruction<'_>, out: &mut Vec<u8>) -> Result<()> {
        match instruction.opcode {
            // Which of the two it is depends on where in the pool the constant stands.
            opcode::LDC | opcode::LDC_W => {
                out.push(opcode::LDC);
                let index = match instruction.bytes {
                    [_, index] => u16::from(*index),
                    _ => instruction.index(),
                };
                self.constant(index, out, 0)
            }
            0x14 | opcode::GETSTATIC..=opcode::INVOKEDYNAMIC | 0xbb | 0xbd | 0xc0 | 0xc1 | 0xc5 => {
                out.push(instruction.opcode);
                self.constant(instruction.index(), out, 0)?;
                out.extend_from_slice(&instruction.bytes[3..]);
                Ok(())
            }
            _ => {
                out.extend_from_slice(instruction.bytes);
                Ok(())
            }
        }
    }

    fn frames(&mut self, reader: &mut Reader<'_>, positions: &Positions, out: &mut Vec<u8>) -> Result<()> {
        let mut pc: i64 = -1;
        for _ in 0..reader.u2()? {
            let kind = reader.u1()?;
            let delta = match kind {
                0..=63 => u16::from(kind),
                64..=127 => u16::from(kind - 64),
                247..=255 => reader.u2()?,
                _ => return Err(Error::BadFrame { frame_type: kind }),
            };
            pc += i64::from(delta) + 1;
            out.put_u4(positions.ordinal(pc)?);
            match kind {
                0..=63 | 251 => out.push(0),
                64..=127 | 247 => {
                    out.push(64);
                    self.types(reader, 1, positions, out)?;
                }
                248..=250 => out.push(kind),
                252..=254 => {
                    out.push(kind);
                    self.types(reader, u16::from(kind - 251), positions, out)?;
                }
                _ => {
                    out.push(kind);
                    for _ in 0..2 {
                        let count = reader.u2()?;
                        out.put_u2(count);
                        self.types(reader, count, positions, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn types(&mut self, reader: &mut Reader<'_>, count: u16, positions: &Positions, out: &mut Vec<u8>) -> Result<()> {
        for _ in 0..count {
            let tag = reader.u1()?;
            out.push(tag);
            match tag {
                7 => self.constant(reader.u2()?, out, 0)?,
                8 => out.put_u4(positions.ordinal(i64::from(reader.u2()?))?),
                0..=6 => {}
                _ => return Err(Error::BadAttribute),
            }
        }
        Ok(())
    }

    // ---- annotations

    fn annotations(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>, is_visible: bool) -> Result<()> {
        let count = reader.u2()?;
        out.put_u2(count);
        for _ in 0..count {
            self.annotation(reader, out, is_visible, 0)?;
        }
        Ok(())
    }

    fn annotation(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>, is_visible: bool, depth: usize) -> Result<()> {
        let descriptor = self.class.pool.utf8(reader.u2()?)?;
        put_bytes(descriptor, out);
        if is_visible && let [b'L', name @ .., b';'] = descriptor {
            self.annotations.insert(name.to_vec());
        }
        let count = reader.u2()?;
        out.put_u2(count);
        for _ in 0..count {
            self.text(reader.u2()?, out)?;
            self.element_value(reader, out, is_visible, depth)?;
        }
        Ok(())
    }

    fn element_value(
        &mut self,
        reader: &mut Reader<'_>,
        out: &mut Vec<u8>,
        is_visible: bool,
        depth: usize,
    ) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::BadAttribute);
        }
        let tag = reader.u1()?;
        out.push(tag);
        match tag {
            b'e' => {
                self.text(reader.u2()?, out)?;
                self.text(reader.u2()?, out)
            }
            b'@' => self.annotation(reader, out, is_visible, depth + 1),
            b'[' => {
                let count = reader.u2()?;
                out.put_u2(count);
                (0..count).try_for_each(|_| self.element_value(reader, out, is_visible, depth + 1))
            }
            _ => self.constant(reader.u2()?, out, 0),
        }
    }

    fn type_target(&mut self, reader: &mut Reader<'_>, positions: Option<&Positions>, out: &mut Vec<u8>) -> Result<()> {
        let kind = reader.u1()?;
        out.push(kind);
        let ordinal = |pc: i64| positions.map_or(Ok(pc as u32), |positions| positions.ordinal(pc));
        match kind {
            0x00 | 0x01 | 0x16 => out.push(reader.u1()?),
            0x10 | 0x11 | 0x12 | 0x17 | 0x42 => out.put_u2(reader.u2()?),
            0x13..=0x15 => {}
            0x40 | 0x41 => {
                for _ in 0..reader.u2()? {
                    let start = i64::from(reader.u2()?);
                    let end = start + i64::from(reader.u2()?);
                    out.put_u4(ordinal(start)?);
                    out.put_u4(ordinal(end)?);
                    out.put_u2(reader.u2()?);
                }
            }
            0x43..=0x46 => out.put_u4(ordinal(i64::from(reader.u2()?))?),
            0x47..=0x4b => {
                out.put_u4(ordinal(i64::from(reader.u2()?))?);
                out.push(reader.u1()?);
            }
            _ => return Err(Error::BadAttribute),
        }
        let length = reader.u1()?;
        out.push(length);
        out.extend_from_slice(reader.take(usize::from(length) * 2)?);
        Ok(())
    }

    // ---- constants

    fn text(&self, index: u16, out: &mut Vec<u8>) -> Result<()> {
        put_bytes(self.class.pool.utf8(index)?, out);
        Ok(())
    }

    /// A constant where 0 stands for none.
    fn optional(&self, index: u16, out: &mut Vec<u8>) -> Result<()> {
        if index == 0 {
            out.push(0);
            return Ok(());
        }
        self.constant(index, out, 0)
    }

    fn constant(&self, index: u16, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            return Err(Error::BadPoolIndex { index, expected: "a constant that does not contain itself" });
        }
        let constant = self.class.pool.constant(index)?;
        out.push(constant.tag);
        put_bytes(constant.bytes, out);
        for part in constant.parts.into_iter().flatten() {
            self.constant(part, out, depth + 1)?;
        }
        if let Some(bootstrap) = constant.bootstrap {
            let missing = Error::BadPoolIndex { index, expected: "bootstrap method" };
            let (handle, arguments) = self.bootstraps.get(usize::from(bootstrap)).ok_or(missing)?;
            self.constant(*handle, out, depth + 1)?;
            out.put_u2(arguments.len() as u16);
            arguments.iter().try_for_each(|&argument| self.constant(argument, out, depth + 1))?;
        }
        Ok(())
    }
}

/// The ordinals of the instructions by where they start, and that of the end.
struct Positions {
    starts: Vec<u32>,
}

impl Positions {
    fn of(code: &Code<'_>) -> Result<Self> {
        let mut starts = Vec::new();
        let mut end = 0;
        for instruction in code.instructions() {
            let instruction = instruction?;
            starts.push(instruction.pc);
            end = instruction.pc + instruction.bytes.len() as u32;
        }
        starts.push(end);
        Ok(Positions { starts })
    }

    fn ordinal(&self, pc: i64) -> Result<u32> {
        let found = u32::try_from(pc).ok().and_then(|pc| self.starts.binary_search(&pc).ok());
        found.map(|ordinal| ordinal as u32).ok_or(Error::BadTarget { pc })
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.put_u4(bytes.len() as u32);
    out.extend_from_slice(bytes);
}

fn put_sorted(mut all: Vec<Vec<u8>>, out: &mut Vec<u8>) {
    all.sort();
    out.put_u4(all.len() as u32);
    all.iter().for_each(|bytes| put_bytes(bytes, out));
}
