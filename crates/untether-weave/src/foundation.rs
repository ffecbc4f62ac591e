//! `jdk.internal.misc.UnsafeConstants`: the VM fills it in after the first classes have run.
//!
//! Probes stand on `Unsafe`, so `Unsafe` is initialised earlier than in an unwatched JVM and would take
//! over zeroes. The initializer therefore sets the values itself; the VM writes the same again later.

use std::borrow::Cow;

use untether_classfile::{ClassFile, Code, CodeEditor, Entry, Result, opcode};

pub const CLASS: &[u8] = b"jdk/internal/misc/UnsafeConstants";

/// The platform's values, by field name.
#[derive(Debug, Clone, Copy)]
pub struct UnsafeConstants {
    pub address_size: u16,
    pub page_size: u16,
    pub is_big_endian: bool,
    pub allows_unaligned: bool,
}

impl UnsafeConstants {
    fn value(&self, field: &[u8]) -> Option<u16> {
        match field {
            b"ADDRESS_SIZE0" => Some(self.address_size),
            b"PAGE_SIZE" => Some(self.page_size),
            b"BIG_ENDIAN" => Some(self.is_big_endian.into()),
            b"UNALIGNED_ACCESS" => Some(self.allows_unaligned.into()),
            _ => None,
        }
    }

    /// The class with an initializer that stores these values.
    pub fn apply(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut class = ClassFile::parse(bytes)?;
        let mut methods = std::mem::take(&mut class.methods);
        for method in &mut methods {
            if class.pool.utf8(method.name_index)? != b"<clinit>" {
                continue;
            }
            for attribute in &mut method.attributes {
                if class.pool.utf8(attribute.name_index)? != b"Code" {
                    continue;
                }
                let content = attribute.content.to_vec();
                let code = Code::parse(&content)?;
                let mut editor = CodeEditor::new(&code);
                for instruction in code.instructions() {
                    let instruction = instruction?;
                    if instruction.opcode != opcode::PUTSTATIC {
                        continue;
                    }
                    if let Entry::Ref { name, .. } = class.pool.entry(instruction.index())?
                        && let Some(value) = self.value(name)
                    {
                        let [high, low] = value.to_be_bytes();
                        editor.before(instruction.pc, &[opcode::POP, opcode::SIPUSH, high, low]);
                    }
                }
                attribute.content = Cow::Owned(editor.apply(&mut class.pool)?);
            }
        }
        class.methods = methods;
        Ok(class.to_bytes())
    }
}
