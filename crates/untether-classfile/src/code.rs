//! The `Code` attribute (JVMS 4.7.3).

use crate::class::Attribute;
use crate::error::{Error, Result};
use crate::instruction::Instructions;
use crate::reader::{Put, Reader};

/// One row of the exception table; pcs are of the code that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExceptionEntry {
    pub start: u16,
    pub end: u16,
    pub handler: u16,
    pub catch_type: u16,
}

/// A method body, its bytes still undecoded.
#[derive(Debug, Clone)]
pub struct Code<'a> {
    pub max_stack: u16,
    pub max_locals: u16,
    pub bytes: &'a [u8],
    pub exceptions: Vec<ExceptionEntry>,
    pub attributes: Vec<Attribute<'a>>,
}

impl<'a> Code<'a> {
    pub fn parse(content: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(content);
        let max_stack = reader.u2()?;
        let max_locals = reader.u2()?;
        let length = reader.u4()? as usize;
        if length > usize::from(u16::MAX) {
            return Err(Error::CodeTooLarge);
        }
        let bytes = reader.take(length)?;
        let count = reader.u2()?;
        let exceptions = (0..count)
            .map(|_| {
                Ok(ExceptionEntry {
                    start: reader.u2()?,
                    end: reader.u2()?,
                    handler: reader.u2()?,
                    catch_type: reader.u2()?,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let attributes = Attribute::read_all(&mut reader)?;
        if !reader.is_at_end() {
            return Err(Error::BadAttribute);
        }
        Ok(Code { max_stack, max_locals, bytes, exceptions, attributes })
    }

    pub fn instructions(&self) -> Instructions<'a> {
        Instructions::new(self.bytes)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes.len() + 64);
        out.put_u2(self.max_stack);
        out.put_u2(self.max_locals);
        out.put_u4(self.bytes.len() as u32);
        out.extend_from_slice(self.bytes);
        out.put_u2(self.exceptions.len() as u16);
        for entry in &self.exceptions {
            out.put_u2(entry.start);
            out.put_u2(entry.end);
            out.put_u2(entry.handler);
            out.put_u2(entry.catch_type);
        }
        Attribute::write_all(&self.attributes, &mut out);
        out
    }
}
