//! Damaged class files are refused or kept as they are; nothing panics and nothing hangs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::mutation::endure;
use support::{codes, newest_jdk};
use untether_classfile::{ClassFile, Code, CodeEditor, ConstantPool, Content};

const NOP: u8 = 0x00;
const ATHROW: u8 = 0xbf;

/// What must hold of any bytes at all.
fn exercise(bytes: &[u8]) {
    let Ok(class) = ClassFile::parse(bytes) else { return };
    let _ = Content::of(&class);
    assert!(class.to_bytes() == bytes, "a class that can be read is written as it was");
    let _ = (class.name(), class.super_name());
    for index in (0..1_000).chain([u16::MAX]) {
        let _ = class.pool.entry(index);
    }
    for (_, content) in codes(&class) {
        let Ok(code) = Code::parse(content) else { continue };
        assert!(code.to_bytes() == content, "code that can be read is written as it was");
        exercise_code(&code, &class.pool);
    }
}

fn exercise_code(code: &Code<'_>, pool: &ConstantPool<'_>) {
    let mut end = 0;
    let mut pcs = Vec::new();
    for instruction in code.instructions() {
        let Ok(instruction) = instruction else { break };
        assert_eq!(instruction.pc as usize, end, "instructions follow one another");
        assert!(!instruction.bytes.is_empty());
        end += instruction.bytes.len();
        instruction.targets(|_| {});
        let _ = (instruction.index(), instruction.stored_local(), instruction.loaded_reference());
        pcs.push(instruction.pc);
    }
    assert!(end <= code.bytes.len(), "no instruction reaches beyond the code");
    let empty = CodeEditor::new(code);
    if let Some(once) = applied(&empty, pool) {
        let reread = Code::parse(&once).unwrap();
        let twice = applied(&CodeEditor::new(&reread), pool);
        assert!(twice.as_ref() == Some(&once), "a second edit of nothing changes nothing");
    }
    let mut editor = CodeEditor::new(code);
    for (position, &pc) in pcs.iter().enumerate() {
        editor.before(pc, &[NOP][..position % 2]);
        editor.after(pc, &[NOP; 3][..position % 3]);
    }
    editor.need_stack(4);
    editor.need_locals(2);
    applied(&editor, pool);
    editor.catch_all(&[ATHROW]);
    applied(&editor, pool);
}

/// The new code, which must be readable to the last instruction, or nothing where it was refused.
fn applied(editor: &CodeEditor<'_, '_>, pool: &ConstantPool<'_>) -> Option<Vec<u8>> {
    let content = editor.apply(&mut pool.clone()).ok()?;
    let code = Code::parse(&content).unwrap();
    assert!(code.instructions().all(|instruction| instruction.is_ok()), "what was written can be read");
    Some(content)
}

#[test]
fn damaged_classes_never_panic_or_hang() {
    let classes = newest_jdk().classes("java.base/java/util/concurrent");
    assert!(classes.len() > 100);
    endure(classes, 100, exercise);
}

#[test]
fn every_truncation_of_a_class_is_refused() {
    let classes = newest_jdk().classes("java.base/java/util/function");
    for class in classes {
        for length in 0..class.bytes.len() {
            assert!(ClassFile::parse(&class.bytes[..length]).is_err(), "{} cut at {length}", class.name);
        }
    }
}
