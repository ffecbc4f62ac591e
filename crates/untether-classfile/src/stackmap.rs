//! Relocation of the `StackMapTable` (JVMS 4.7.4): frames keep their types, only offsets move.

use crate::error::{Error, Result};
use crate::reader::{Put, Reader};

const ITEM_OBJECT: u8 = 7;
const ITEM_UNINITIALIZED: u8 = 8;
const SAME_LOCALS_1: u8 = 64;
const SAME_LOCALS_1_EXTENDED: u8 = 247;
const SAME_EXTENDED: u8 = 251;
const FULL: u8 = 255;

/// How old pcs map to new ones: where a jump lands, and where the instruction itself stands.
pub(crate) trait Relocation {
    fn target(&self, pc: i64) -> Result<u32>;
    fn instruction(&self, pc: i64) -> Result<u32>;
}

/// Rewrites the table; `handler` appends a frame at that new pc with no locals and one stack item of
/// the given class, for a catch-all handler placed at the end of the code.
pub(crate) fn relocate(
    content: Option<&[u8]>,
    relocation: &impl Relocation,
    handler: Option<(u32, u16)>,
) -> Result<Vec<u8>> {
    let mut reader = Reader::new(content.unwrap_or(&[0, 0]));
    let count = reader.u2()?;
    let mut out = Vec::new();
    out.put_u2(count.checked_add(u16::from(handler.is_some())).ok_or(Error::LimitExceeded)?);
    let mut writer = FrameWriter { out: &mut out, previous: None };
    let mut old_pc: i64 = -1;
    for _ in 0..count {
        let frame_type = reader.u1()?;
        let delta = match frame_type {
            0..=63 => frame_type.into(),
            64..=127 => (frame_type - SAME_LOCALS_1).into(),
            SAME_LOCALS_1_EXTENDED..=FULL => reader.u2()?,
            _ => return Err(Error::BadFrame { frame_type }),
        };
        old_pc += i64::from(delta) + 1;
        let delta = writer.delta(relocation.target(old_pc)?)?;
        match frame_type {
            0..=63 | SAME_EXTENDED => writer.same(delta),
            64..=127 | SAME_LOCALS_1_EXTENDED => {
                writer.same_locals_1(delta);
                copy_types(&mut reader, 1, writer.out, relocation)?;
            }
            248..=250 => writer.tagged(frame_type, delta),
            252..=254 => {
                writer.tagged(frame_type, delta);
                copy_types(&mut reader, u16::from(frame_type - SAME_EXTENDED), writer.out, relocation)?;
            }
            _ => {
                writer.tagged(FULL, delta);
                for _ in 0..2 {
                    let items = reader.u2()?;
                    writer.out.put_u2(items);
                    copy_types(&mut reader, items, writer.out, relocation)?;
                }
            }
        }
    }
    if !reader.is_at_end() {
        return Err(Error::BadAttribute);
    }
    if let Some((pc, class)) = handler {
        let delta = writer.delta(pc)?;
        writer.tagged(FULL, delta);
        writer.out.put_u2(0);
        writer.out.put_u2(1);
        writer.out.push(ITEM_OBJECT);
        writer.out.put_u2(class);
    }
    Ok(out)
}

struct FrameWriter<'o> {
    out: &'o mut Vec<u8>,
    previous: Option<u32>,
}

impl FrameWriter<'_> {
    fn delta(&mut self, pc: u32) -> Result<u16> {
        let delta = match self.previous {
            None => Some(pc),
            Some(previous) => pc.checked_sub(previous).and_then(|d| d.checked_sub(1)),
        };
        self.previous = Some(pc);
        delta.and_then(|d| u16::try_from(d).ok()).ok_or(Error::BadTarget { pc: pc.into() })
    }

    fn tagged(&mut self, tag: u8, delta: u16) {
        self.out.push(tag);
        self.out.put_u2(delta);
    }

    fn same(&mut self, delta: u16) {
        match u8::try_from(delta) {
            Ok(small) if small < SAME_LOCALS_1 => self.out.push(small),
            _ => self.tagged(SAME_EXTENDED, delta),
        }
    }

    fn same_locals_1(&mut self, delta: u16) {
        match u8::try_from(delta) {
            Ok(small) if small < SAME_LOCALS_1 => self.out.push(SAME_LOCALS_1 + small),
            _ => self.tagged(SAME_LOCALS_1_EXTENDED, delta),
        }
    }
}

fn copy_types(reader: &mut Reader<'_>, count: u16, out: &mut Vec<u8>, relocation: &impl Relocation) -> Result<()> {
    for _ in 0..count {
        let tag = reader.u1()?;
        out.push(tag);
        match tag {
            ITEM_OBJECT => out.put_u2(reader.u2()?),
            ITEM_UNINITIALIZED => {
                let moved = relocation.instruction(reader.u2()?.into())?;
                out.put_u2(u16::try_from(moved).map_err(|_| Error::CodeTooLarge)?);
            }
            0..=6 => {}
            _ => return Err(Error::BadAttribute),
        }
    }
    Ok(())
}
