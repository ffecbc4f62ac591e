//! Accesses as bytes: a suite makes millions, and rows of their own would be four times as large and slow to load.
//!
//! Each is a byte that says what it has, its labels, the resource, the differences of unit and position from the one before, and what
//! it has of source and stacks; numbers are LEB128. (The agent's frames have the like, but those are between the JVM and us,
//! and a store must outlive their versions.)

use untether_model::{Access, AccessMode, Labels};

/// How many accesses go into one row.
pub(crate) const PER_ROW: usize = 1 << 16;

const IS_WRITE: u8 = 1;
const HAS_SOURCE: u8 = 1 << 1;
const HAS_STACK: u8 = 1 << 2;
const HAS_SOURCE_STACK: u8 = 1 << 3;
const HAS_LABELS: u8 = 1 << 4;

pub(crate) fn pack(accesses: &[Access]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(accesses.len() * 12);
    let (mut unit, mut position) = (0u32, 0u32);
    for access in accesses {
        let mut kind = 0;
        for (is_set, bit) in [
            (access.mode == AccessMode::Write, IS_WRITE),
            (access.source.is_some(), HAS_SOURCE),
            (access.stack.is_some(), HAS_STACK),
            (access.source_stack.is_some(), HAS_SOURCE_STACK),
            (access.labels.bits() != 0, HAS_LABELS),
        ] {
            if is_set {
                kind |= bit;
            }
        }
        bytes.push(kind);
        if kind & HAS_LABELS != 0 {
            bytes.push(access.labels.bits());
        }
        let numbers = [access.resource, access.unit.wrapping_sub(unit), access.position.wrapping_sub(position)];
        let given = [access.source, access.stack, access.source_stack];
        for number in numbers.into_iter().chain(given.into_iter().flatten()) {
            put(&mut bytes, number);
        }
        (unit, position) = (access.unit, access.position);
    }
    bytes
}

/// Appends what was packed; none where the bytes end too early or a number is too large.
pub(crate) fn unpack(mut bytes: &[u8], accesses: &mut Vec<Access>) -> Option<()> {
    let (mut unit, mut position) = (0u32, 0u32);
    while let Some((&kind, rest)) = bytes.split_first() {
        bytes = rest;
        let mut labels = 0;
        if kind & HAS_LABELS != 0 {
            (labels, bytes) = bytes.split_first().map(|(&labels, rest)| (labels, rest))?;
        }
        let resource = take(&mut bytes)?;
        unit = unit.wrapping_add(take(&mut bytes)?);
        position = position.wrapping_add(take(&mut bytes)?);
        let mut given = |bit: u8| if kind & bit == 0 { Some(None) } else { take(&mut bytes).map(Some) };
        accesses.push(Access {
            resource,
            unit,
            position,
            mode: if kind & IS_WRITE == 0 { AccessMode::Read } else { AccessMode::Write },
            labels: Labels::from_bits(labels),
            source: given(HAS_SOURCE)?,
            stack: given(HAS_STACK)?,
            source_stack: given(HAS_SOURCE_STACK)?,
        });
    }
    Some(())
}

pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(crate) fn take(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![0..200u32, any::<u32>()]
    }

    fn access() -> impl Strategy<Value = Access> {
        let optional = || prop::option::of(number());
        (number(), number(), number(), any::<bool>(), 0..32u8, optional(), optional(), optional()).prop_map(
            |(resource, unit, position, is_write, labels, source, stack, source_stack)| Access {
                resource,
                unit,
                position,
                mode: if is_write { AccessMode::Write } else { AccessMode::Read },
                labels: Labels::from_bits(labels),
                source,
                stack,
                source_stack,
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(accesses in prop::collection::vec(access(), 0..50)) {
            let mut found = Vec::new();
            prop_assert_eq!(unpack(&pack(&accesses), &mut found), Some(()));
            prop_assert_eq!(found, accesses);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut found = Vec::new();
            if unpack(&bytes, &mut found).is_some() {
                let mut again = Vec::new();
                prop_assert_eq!(unpack(&pack(&found), &mut again), Some(()));
                prop_assert_eq!(again, found);
            }
        }
    }
}
