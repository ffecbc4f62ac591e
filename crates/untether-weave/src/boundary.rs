//! Whether the classes of test frameworks have the methods by which tests are followed.

use untether_classfile::ClassFile;
use untether_frameworks::{Hook, hooks_of};

/// The hooks whose class this is, but which has no such method. Nearly all classes have no hooks and are not looked into.
pub fn missing_hooks(name: &[u8], bytes: &[u8]) -> Vec<&'static Hook> {
    let mut hooks = hooks_of(name).peekable();
    if hooks.peek().is_none() {
        return Vec::new();
    }
    // That it cannot be read is reported when it is woven.
    let Ok(class) = ClassFile::parse(bytes) else { return Vec::new() };
    let has = |hook: &Hook| {
        class.methods.iter().any(|method| {
            class.pool.utf8(method.name_index) == Ok(hook.method.as_bytes())
                && class.pool.utf8(method.descriptor_index) == Ok(hook.descriptor.as_bytes())
        })
    };
    hooks.filter(|hook| !hook.is_optional() && !has(hook)).collect()
}
