//! The constant pool (JVMS 4.4): entries are read in place and new ones appended.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::reader::{Put, Reader};

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const FLOAT: u8 = 4;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;
const CLASS: u8 = 7;
const STRING: u8 = 8;
const FIELD_REF: u8 = 9;
const METHOD_REF: u8 = 10;
const INTERFACE_METHOD_REF: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const METHOD_HANDLE: u8 = 15;
const METHOD_TYPE: u8 = 16;
const DYNAMIC: u8 = 17;
const INVOKE_DYNAMIC: u8 = 18;
const MODULE: u8 = 19;
const PACKAGE: u8 = 20;

/// A resolved view of one entry, as far as weaving needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    Utf8(&'a [u8]),
    Class(&'a [u8]),
    /// Field, method or interface method: owner, name, descriptor.
    Ref {
        owner: &'a [u8],
        name: &'a [u8],
        descriptor: &'a [u8],
    },
    /// `Long` or `Double`: loaded with `ldc2_w`.
    Wide,
    Other,
}

/// One entry as it stands: its bytes where they are its own, and what it points at.
pub(crate) struct Constant<'a> {
    pub(crate) tag: u8,
    pub(crate) bytes: &'a [u8],
    pub(crate) parts: [Option<u16>; 2],
    /// The entry of `BootstrapMethods` that makes it.
    pub(crate) bootstrap: Option<u16>,
}

/// The pool of one class: its original bytes and what was appended.
#[derive(Debug, Clone)]
pub struct ConstantPool<'a> {
    original: &'a [u8],
    /// Offset of each entry's tag in `original`, `u32::MAX` for the unusable second halves.
    offsets: Vec<u32>,
    original_count: u16,
    appended: Vec<u8>,
    appended_index: HashMap<Vec<u8>, u16>,
    next: u32,
}

impl<'a> ConstantPool<'a> {
    pub(crate) fn read(bytes: &'a [u8], reader: &mut Reader<'a>) -> Result<Self> {
        let count = reader.u2()?;
        let start = reader.position();
        let mut offsets = vec![u32::MAX; usize::from(count.max(1))];
        let mut index: u16 = 1;
        while index < count {
            offsets[usize::from(index)] = (reader.position() - start) as u32;
            let tag = reader.u1()?;
            let length = match tag {
                UTF8 => usize::from(reader.u2()?),
                INTEGER | FLOAT | FIELD_REF | METHOD_REF | INTERFACE_METHOD_REF | NAME_AND_TYPE | DYNAMIC
                | INVOKE_DYNAMIC => 4,
                LONG | DOUBLE => 8,
                CLASS | STRING | METHOD_TYPE | MODULE | PACKAGE => 2,
                METHOD_HANDLE => 3,
                _ => return Err(Error::BadPoolTag { index, tag }),
            };
            reader.take(length)?;
            index = match tag {
                LONG | DOUBLE => index.checked_add(2).ok_or(Error::Truncated)?,
                _ => index + 1,
            };
        }
        Ok(ConstantPool {
            original: &bytes[start..reader.position()],
            offsets,
            original_count: count,
            appended: Vec::new(),
            appended_index: HashMap::new(),
            next: u32::from(count.max(1)),
        })
    }

    /// Resolves an entry of the original pool; appended entries are not looked up again by index.
    pub fn entry(&self, index: u16) -> Result<Entry<'a>> {
        let (tag, mut reader) = self.raw(index)?;
        Ok(match tag {
            UTF8 => Entry::Utf8(self.utf8(index)?),
            CLASS => Entry::Class(self.utf8(reader.u2()?)?),
            FIELD_REF | METHOD_REF | INTERFACE_METHOD_REF => {
                let owner = self.class_name(reader.u2()?)?;
                let (name, descriptor) = self.name_and_type(reader.u2()?)?;
                Entry::Ref { owner, name, descriptor }
            }
            LONG | DOUBLE => Entry::Wide,
            _ => Entry::Other,
        })
    }

    pub(crate) fn constant(&self, index: u16) -> Result<Constant<'a>> {
        let (tag, mut reader) = self.raw(index)?;
        let mut constant = Constant { tag, bytes: &[], parts: [None, None], bootstrap: None };
        match tag {
            UTF8 => constant.bytes = self.utf8(index)?,
            INTEGER | FLOAT => constant.bytes = reader.take(4)?,
            LONG | DOUBLE => constant.bytes = reader.take(8)?,
            CLASS | STRING | METHOD_TYPE | MODULE | PACKAGE => constant.parts[0] = Some(reader.u2()?),
            METHOD_HANDLE => {
                constant.bytes = reader.take(1)?;
                constant.parts[0] = Some(reader.u2()?);
            }
            DYNAMIC | INVOKE_DYNAMIC => {
                constant.bootstrap = Some(reader.u2()?);
                constant.parts[0] = Some(reader.u2()?);
            }
            _ => constant.parts = [Some(reader.u2()?), Some(reader.u2()?)],
        }
        Ok(constant)
    }

    pub fn utf8(&self, index: u16) -> Result<&'a [u8]> {
        let (tag, mut reader) = self.raw(index)?;
        if tag != UTF8 {
            return Err(Error::BadPoolIndex { index, expected: "Utf8" });
        }
        let length = usize::from(reader.u2()?);
        reader.take(length)
    }

    pub fn class_name(&self, index: u16) -> Result<&'a [u8]> {
        match self.raw(index)? {
            (CLASS, mut reader) => self.utf8(reader.u2()?),
            _ => Err(Error::BadPoolIndex { index, expected: "Class" }),
        }
    }

    /// The classes that the original pool names, arrays included.
    pub fn class_names(&self) -> impl Iterator<Item = &'a [u8]> {
        (1..self.original_count).filter_map(|index| self.class_name(index).ok())
    }

    /// The texts of the original pool.
    pub fn texts(&self) -> impl Iterator<Item = &'a [u8]> {
        (1..self.original_count).filter_map(|index| self.utf8(index).ok())
    }

    fn name_and_type(&self, index: u16) -> Result<(&'a [u8], &'a [u8])> {
        match self.raw(index)? {
            (NAME_AND_TYPE, mut reader) => Ok((self.utf8(reader.u2()?)?, self.utf8(reader.u2()?)?)),
            _ => Err(Error::BadPoolIndex { index, expected: "NameAndType" }),
        }
    }

    fn raw(&self, index: u16) -> Result<(u8, Reader<'a>)> {
        let offset = self.offsets.get(usize::from(index)).copied().unwrap_or(u32::MAX);
        let bytes = self.original.get(offset as usize..).ok_or(Error::BadPoolIndex { index, expected: "constant" })?;
        let mut reader = Reader::new(bytes);
        Ok((reader.u1()?, reader))
    }

    fn append(&mut self, entry: Vec<u8>) -> Result<u16> {
        if let Some(&index) = self.appended_index.get(&entry) {
            return Ok(index);
        }
        if self.next >= u32::from(u16::MAX) {
            return Err(Error::PoolFull);
        }
        let index = self.next as u16;
        self.appended.extend_from_slice(&entry);
        self.appended_index.insert(entry, index);
        self.next += 1;
        Ok(index)
    }

    pub fn add_utf8(&mut self, text: &[u8]) -> Result<u16> {
        let length = u16::try_from(text.len()).map_err(|_| Error::LimitExceeded)?;
        let mut entry = vec![UTF8];
        entry.put_u2(length);
        entry.extend_from_slice(text);
        self.append(entry)
    }

    pub fn add_class(&mut self, name: &[u8]) -> Result<u16> {
        let name = self.add_utf8(name)?;
        self.add_pointing(CLASS, &[name])
    }

    pub fn add_integer(&mut self, value: i32) -> Result<u16> {
        let mut entry = vec![INTEGER];
        entry.put_u4(value as u32);
        self.append(entry)
    }

    pub fn add_method_ref(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16> {
        self.add_ref(METHOD_REF, owner, name, descriptor)
    }

    pub fn add_field_ref(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16> {
        self.add_ref(FIELD_REF, owner, name, descriptor)
    }

    fn add_ref(&mut self, tag: u8, owner: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16> {
        let owner = self.add_class(owner)?;
        let name = self.add_utf8(name)?;
        let descriptor = self.add_utf8(descriptor)?;
        let name_and_type = self.add_pointing(NAME_AND_TYPE, &[name, descriptor])?;
        self.add_pointing(tag, &[owner, name_and_type])
    }

    fn add_pointing(&mut self, tag: u8, indices: &[u16]) -> Result<u16> {
        let mut entry = vec![tag];
        for &index in indices {
            entry.put_u2(index);
        }
        self.append(entry)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let count = if self.appended.is_empty() { self.original_count } else { self.next as u16 };
        out.put_u2(count);
        out.extend_from_slice(self.original);
        out.extend_from_slice(&self.appended);
    }
}
