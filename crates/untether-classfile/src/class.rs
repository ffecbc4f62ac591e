//! The class file structure (JVMS 4.1): members and attributes with their contents left as bytes.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::pool::ConstantPool;
use crate::reader::{Put, Reader};

const MAGIC: u32 = 0xCAFE_BABE;

/// A named attribute with its undecoded content.
#[derive(Debug, Clone)]
pub struct Attribute<'a> {
    pub name_index: u16,
    pub content: Cow<'a, [u8]>,
}

impl<'a> Attribute<'a> {
    pub(crate) fn read_all(reader: &mut Reader<'a>) -> Result<Vec<Attribute<'a>>> {
        let count = reader.u2()?;
        let mut attributes = Vec::with_capacity(usize::from(count.min(16)));
        for _ in 0..count {
            let name_index = reader.u2()?;
            let length = reader.u4()? as usize;
            attributes.push(Attribute { name_index, content: Cow::Borrowed(reader.take(length)?) });
        }
        Ok(attributes)
    }

    pub(crate) fn write_all(attributes: &[Attribute<'_>], out: &mut Vec<u8>) {
        out.put_u2(attributes.len() as u16);
        for attribute in attributes {
            out.put_u2(attribute.name_index);
            out.put_u4(attribute.content.len() as u32);
            out.extend_from_slice(&attribute.content);
        }
    }
}

/// A field or a method.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    pub access_flags: u16,
    pub name_index: u16,
    pub descriptor_index: u16,
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> Member<'a> {
    fn read_all(reader: &mut Reader<'a>) -> Result<Vec<Member<'a>>> {
        let count = reader.u2()?;
        let mut members = Vec::with_capacity(usize::from(count.min(64)));
        for _ in 0..count {
            members.push(Member {
                access_flags: reader.u2()?,
                name_index: reader.u2()?,
                descriptor_index: reader.u2()?,
                attributes: Attribute::read_all(reader)?,
            });
        }
        Ok(members)
    }

    fn write_all(members: &[Member<'_>], out: &mut Vec<u8>) {
        out.put_u2(members.len() as u16);
        for member in members {
            out.put_u2(member.access_flags);
            out.put_u2(member.name_index);
            out.put_u2(member.descriptor_index);
            Attribute::write_all(&member.attributes, out);
        }
    }

    pub fn is_static(&self) -> bool {
        self.access_flags & 0x0008 != 0
    }

    pub fn is_final(&self) -> bool {
        self.access_flags & 0x0010 != 0
    }

    pub fn is_enum_constant(&self) -> bool {
        self.access_flags & 0x4000 != 0
    }

    pub fn attribute(&self, pool: &ConstantPool<'_>, name: &[u8]) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|a| pool.utf8(a.name_index) == Ok(name))
    }
}

/// One class, interface, enum or module descriptor.
#[derive(Debug, Clone)]
pub struct ClassFile<'a> {
    pub minor_version: u16,
    pub major_version: u16,
    pub pool: ConstantPool<'a>,
    pub access_flags: u16,
    pub this_class: u16,
    pub super_class: u16,
    pub interfaces: Vec<u16>,
    pub fields: Vec<Member<'a>>,
    pub methods: Vec<Member<'a>>,
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> ClassFile<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        if reader.u4()? != MAGIC {
            return Err(Error::BadMagic);
        }
        let minor_version = reader.u2()?;
        let major_version = reader.u2()?;
        let pool = ConstantPool::read(bytes, &mut reader)?;
        let access_flags = reader.u2()?;
        let this_class = reader.u2()?;
        let super_class = reader.u2()?;
        let interface_count = reader.u2()?;
        let interfaces = (0..interface_count).map(|_| reader.u2()).collect::<Result<Vec<_>>>()?;
        let fields = Member::read_all(&mut reader)?;
        let methods = Member::read_all(&mut reader)?;
        let attributes = Attribute::read_all(&mut reader)?;
        if !reader.is_at_end() {
            return Err(Error::TrailingBytes);
        }
        Ok(ClassFile {
            minor_version,
            major_version,
            pool,
            access_flags,
            this_class,
            super_class,
            interfaces,
            fields,
            methods,
            attributes,
        })
    }

    /// The class's own name in internal form (`java/util/Map`).
    pub fn name(&self) -> Result<&'a [u8]> {
        self.pool.class_name(self.this_class)
    }

    /// The superclass, absent for `java/lang/Object` and module descriptors.
    pub fn super_name(&self) -> Result<Option<&'a [u8]>> {
        if self.super_class == 0 { Ok(None) } else { self.pool.class_name(self.super_class).map(Some) }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8192);
        out.put_u4(MAGIC);
        out.put_u2(self.minor_version);
        out.put_u2(self.major_version);
        self.pool.write(&mut out);
        out.put_u2(self.access_flags);
        out.put_u2(self.this_class);
        out.put_u2(self.super_class);
        out.put_u2(self.interfaces.len() as u16);
        for &interface in &self.interfaces {
            out.put_u2(interface);
        }
        Member::write_all(&self.fields, &mut out);
        Member::write_all(&self.methods, &mut out);
        Attribute::write_all(&self.attributes, &mut out);
        out
    }
}
