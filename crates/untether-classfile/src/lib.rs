//! Reads and rewrites Java class files (JVMS chapter 4).
//!
//! A [`ClassFile`] keeps every byte that it does not understand or edit, so that writing what was read
//! gives the same bytes. [`CodeEditor`] inserts instructions into a method and relocates whatever
//! points into its code. Nothing here knows what is inserted or why.

mod class;
mod code;
mod content;
mod edit;
mod error;
mod instruction;
mod pool;
mod reader;
mod stackmap;

pub use class::{Attribute, ClassFile, Member};
pub use code::{Code, ExceptionEntry};
pub use content::Content;
pub use edit::CodeEditor;
pub use error::{Error, Result};
pub use instruction::{Instruction, Instructions, opcode};
pub use pool::{ConstantPool, Entry};
