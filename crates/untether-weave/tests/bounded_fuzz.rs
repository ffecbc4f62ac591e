//! Damaged class files are woven, refused or left alone; nothing panics and nothing hangs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../untether-classfile/tests/support/mod.rs"]
mod support;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use support::mutation::endure;
use support::{Class, codes, newest_jdk};
use untether_classfile::{Attribute, ClassFile, Code, ConstantPool, Member, opcode};
use untether_frameworks::{HOOKS, hooks_of};
use untether_weave::foundation::UnsafeConstants;
use untether_weave::probe::{
    ARRAY_READ, CONSTANT_READ, FIELD_READ, FIELD_WRITE, INITIALIZER_FIELD_READ, Probe, STATIC_READ,
};
use untether_weave::{Accesses, ClassShape, Families, Numbering, Resolver, Weaver, Woven};

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

    fn class(&mut self, _name: &[u8]) -> u32 {
        self.next()
    }
}

/// Knows a single class under every name: field resolution meets what damage made of it, cycles included.
struct Only(Option<Arc<ClassShape>>);

impl Resolver for Only {
    fn shape(&self, _name: &[u8]) -> Option<Arc<ClassShape>> {
        self.0.clone()
    }
}

fn weave(bytes: &[u8], resolver: &dyn Resolver) -> Woven {
    weave_for(Accesses::All, bytes, resolver)
}

fn weave_for(accesses: Accesses, bytes: &[u8], resolver: &dyn Resolver) -> Woven {
    let families = Families { heap: Some(accesses), boundaries: true, uses: true };
    Weaver { families, resolver, numbering: &mut Numbers(0) }.weave(bytes)
}

/// What must hold of any bytes at all.
fn exercise(bytes: &[u8]) {
    let constants = UnsafeConstants { address_size: 8, page_size: 4096, is_big_endian: false, allows_unaligned: true };
    let _ = constants.apply(bytes);
    let shape = ClassShape::parse(bytes).ok().map(|mut shape| {
        shape.interfaces.truncate(1);
        shape.super_class = None;
        Arc::new(shape)
    });
    for resolver in [Only(None), Only(shape)] {
        let Some(woven) = weave(bytes, &resolver).bytes else { continue };
        let class = ClassFile::parse(&woven).unwrap();
        assert!(class.to_bytes() == woven, "what was woven is written as it is read");
        assert_eq!(class.methods.len(), ClassFile::parse(bytes).unwrap().methods.len());
    }
}

#[test]
fn damaged_classes_never_panic_or_hang() {
    let mut classes = newest_jdk().classes("java.base/java/util/concurrent");
    let more = newest_jdk().classes("java.base/java/lang/reflect");
    classes.extend(more.into_iter().filter(|class| class.name.ends_with("/Field") || class.name.ends_with("/Array")));
    assert!(classes.len() > 100);
    endure(classes, 60, exercise);
}

#[test]
fn damaged_framework_classes_never_panic_or_hang() {
    endure(framework(), 1_000, exercise);
}

#[test]
fn undamaged_classes_are_woven_without_refusals() {
    for class in newest_jdk().classes("java.base/java/util").into_iter().chain(framework()) {
        let woven = weave(&class.bytes, &Only(None));
        assert_eq!(woven.refusals, [], "{}", class.name);
        let Some(bytes) = woven.bytes else { continue };
        let parsed = ClassFile::parse(&bytes).unwrap();
        for (method, content) in codes(&parsed) {
            let code = Code::parse(content).unwrap();
            assert!(code.instructions().all(|instruction| instruction.is_ok()), "{} {method}", class.name);
        }
    }
}

#[test]
fn who_puts_back_gets_the_cheap_probes_of_reads() {
    // As an entry of the constant pool, with its length before it: `readAll` is part of `readAllBytes`.
    let has = |bytes: &[u8], probe: Probe| {
        let entry = [&(probe.name.len() as u16).to_be_bytes(), probe.name.as_bytes()].concat();
        bytes.windows(entry.len()).any(|window| window == entry)
    };
    let (mut reads, mut writes) = (0, 0);
    for class in newest_jdk().classes("java.base/java/util") {
        let woven = weave_for(Accesses::ToPutBack, &class.bytes, &Only(None));
        assert_eq!(woven.refusals, [], "{}", class.name);
        let Some(bytes) = woven.bytes else { continue };
        reads += usize::from(has(&bytes, INITIALIZER_FIELD_READ));
        for probe in [FIELD_READ, ARRAY_READ, STATIC_READ, CONSTANT_READ] {
            assert!(!has(&bytes, probe), "{} calls {}", class.name, probe.name);
        }
        writes += usize::from(has(&bytes, FIELD_WRITE));
    }
    assert!(reads > 50 && writes > 50, "{reads} {writes}");
}

#[test]
fn every_hook_is_woven_into_its_method() {
    for hook in HOOKS {
        let class = stand_in(hook.class);
        let woven = weave(&class.bytes, &Only(None)).bytes.unwrap();
        let (before, after) = (ClassFile::parse(&class.bytes).unwrap(), ClassFile::parse(&woven).unwrap());
        let method = format!("{}{}", hook.method, hook.descriptor);
        let code = |class| codes(class).find(|(name, _)| *name == method).map(|(_, content)| content.len()).unwrap();
        assert!(code(&after) > code(&before), "{} {method}", hook.class);
    }
}

/// Stand-ins for the classes of test frameworks that are hooked.
fn framework() -> Vec<Class> {
    let names: BTreeSet<&str> = HOOKS.iter().map(|hook| hook.class).collect();
    names.into_iter().map(stand_in).collect()
}

/// A class of that name with the hooked methods in it.
fn stand_in(name: &'static str) -> Class {
    const EMPTY: [u8; 24] = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 55, 0, 1, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut class = ClassFile::parse(&EMPTY).unwrap();
    class.this_class = class.pool.add_class(name.as_bytes()).unwrap();
    class.super_class = class.pool.add_class(b"java/lang/Object").unwrap();
    let methods: BTreeSet<_> = hooks_of(name.as_bytes()).map(|hook| (hook.method, hook.descriptor)).collect();
    for (method, descriptor) in methods {
        let member = Member {
            access_flags: 0x0001,
            name_index: class.pool.add_utf8(method.as_bytes()).unwrap(),
            descriptor_index: class.pool.add_utf8(descriptor.as_bytes()).unwrap(),
            attributes: vec![body(&mut class.pool, descriptor.ends_with('Z'))],
        };
        class.methods.push(member);
    }
    Class { name: name.to_owned(), bytes: class.to_bytes() }
}

/// A method body with a jump and two ways out.
fn body(pool: &mut ConstantPool<'_>, returns_boolean: bool) -> Attribute<'static> {
    const ICONST_1: u8 = 0x04;
    let exit: &[u8] = if returns_boolean { &[ICONST_1, opcode::IRETURN] } else { &[opcode::RETURN] };
    let target = 4 + exit.len() as u8;
    let bytes = [&[opcode::ALOAD_0, opcode::IFNULL, 0, target - 1], exit, exit].concat();
    let frames =
        Attribute { name_index: pool.add_utf8(b"StackMapTable").unwrap(), content: Cow::Owned(vec![0, 1, target]) };
    let code = Code { max_stack: 1, max_locals: 3, bytes: &bytes, exceptions: Vec::new(), attributes: vec![frames] };
    Attribute { name_index: pool.add_utf8(b"Code").unwrap(), content: Cow::Owned(code.to_bytes()) }
}
