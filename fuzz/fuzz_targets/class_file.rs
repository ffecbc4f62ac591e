//! Any bytes as a class file: what can be read is written as it was, and reading, editing and weaving
//! never panic. Seeds are class files; `jimage extract` gives plenty.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use untether_classfile::{ClassFile, Code, CodeEditor, ConstantPool, Content};
use untether_weave::{ClassShape, Numbering, ProbeSets, Resolver, Weaver};

const NOP: u8 = 0x00;
const ATHROW: u8 = 0xbf;

/// Numbers on both sides of what fits into `sipush`, and now and then none.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = (self.0 + 1_009) % 70_000;
        if self.0.is_multiple_of(16) { 0 } else { self.0 }
    }
}

impl Numbering for Numbers {
    fn instance_field(&mut self, _owner: &[u8], _name: &[u8], _descriptor: &[u8]) -> u32 {
        self.next()
    }

    fn static_field(&mut self, _owner: &[u8], _name: &[u8], _descriptor: &[u8]) -> u32 {
        self.next()
    }

    fn initializer(&mut self, _class: &[u8]) -> u32 {
        self.next()
    }
}

struct Unknown;

impl Resolver for Unknown {
    fn shape(&self, _name: &[u8]) -> Option<Arc<ClassShape>> {
        None
    }
}

fn edit(code: &Code<'_>, pool: &ConstantPool<'_>) {
    let mut editor = CodeEditor::new(code);
    for instruction in code.instructions() {
        let Ok(instruction) = instruction else { break };
        instruction.targets(|_| {});
        editor.before(instruction.pc, &[NOP]);
        editor.after(instruction.pc, &[NOP, NOP]);
    }
    editor.catch_all(&[ATHROW]);
    if let Ok(edited) = editor.apply(&mut pool.clone()) {
        let edited = Code::parse(&edited).expect("what was written can be read");
        assert!(edited.instructions().all(|instruction| instruction.is_ok()));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let sets = ProbeSets { heap: true, boundaries: true };
    let woven = Weaver { sets, resolver: &Unknown, numbering: &mut Numbers(0) }.weave(bytes);
    if let Some(woven) = woven.bytes {
        assert!(ClassFile::parse(&woven).expect("what was woven can be read").to_bytes() == woven);
    }
    let Ok(class) = ClassFile::parse(bytes) else { return };
    let _ = Content::of(&class);
    assert!(class.to_bytes() == bytes);
    let _ = ClassShape::of(&class);
    for method in &class.methods {
        let Some(content) = method.attribute(&class.pool, b"Code").map(|code| &code.content) else { continue };
        let Ok(code) = Code::parse(content) else { continue };
        assert!(code.to_bytes() == **content);
        edit(&code, &class.pool);
    }
});
