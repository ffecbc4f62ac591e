//! Why a class file could not be read or rewritten.

/// The reason a class or a method was refused; the original bytes stay usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the file ends before the structure does")]
    Truncated,
    #[error("not a class file: the magic number is missing")]
    BadMagic,
    #[error("constant pool entry {index} has the unknown tag {tag}")]
    BadPoolTag { index: u16, tag: u8 },
    #[error("constant pool index {index} is not a {expected}")]
    BadPoolIndex { index: u16, expected: &'static str },
    #[error("bytes remain after the end of the class")]
    TrailingBytes,
    #[error("unknown opcode {opcode:#04x} at {pc}")]
    BadOpcode { opcode: u8, pc: u32 },
    #[error("something points to {pc}, which is no instruction")]
    BadTarget { pc: i64 },
    #[error("a stack map frame of the reserved type {frame_type}")]
    BadFrame { frame_type: u8 },
    #[error("an attribute is longer or shorter than its content")]
    BadAttribute,
    #[error("the constant pool would exceed 65,535 entries")]
    PoolFull,
    #[error("the method would exceed 65,535 bytes of code")]
    CodeTooLarge,
    #[error("a branch would exceed its 16-bit offset")]
    BranchTooFar,
    #[error("the method would exceed a 16-bit limit of stack, locals or exception table")]
    LimitExceeded,
}

pub type Result<T> = std::result::Result<T, Error>;
