//! What the agent's native half tells its Java half of a declared field, as one number.

/// The first character of the field's descriptor.
pub const TYPE: u32 = 0xffff;
pub const IS_STATIC: u32 = 1 << 16;
/// Neither recorded nor followed.
pub const IS_IGNORED: u32 = 1 << 17;
/// Recorded, but what it refers to is not followed.
pub const IS_OPAQUE: u32 = 1 << 18;

/// The same by name, for Java.
pub fn field_facts() -> Vec<(String, u32)> {
    let named = [("Type", TYPE), ("IsStatic", IS_STATIC), ("IsIgnored", IS_IGNORED), ("IsOpaque", IS_OPAQUE)];
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
