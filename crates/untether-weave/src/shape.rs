//! What weaving must know of other classes: their fields, superclass and interfaces.

use std::collections::HashSet;
use std::sync::Arc;

use untether_classfile::{ClassFile, Member, Result};

/// The facts about a field that decide whether and how its accesses are probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldShape {
    pub is_final: bool,
    /// A compile-time constant, enum constant or compiler-made field: its value cannot depend on a test.
    pub is_fixed: bool,
}

impl FieldShape {
    pub(crate) fn of(field: &Member<'_>, class: &ClassFile<'_>) -> Self {
        const SYNTHETIC: u16 = 0x1000;
        FieldShape {
            is_final: field.is_final(),
            is_fixed: field.is_final()
                && (field.is_enum_constant()
                    || field.access_flags & SYNTHETIC != 0
                    || field.attribute(&class.pool, b"ConstantValue").is_some()),
        }
    }
}

/// The part of a class that field resolution (JVMS 5.4.3.2) looks at.
#[derive(Debug, Clone, Default)]
pub struct ClassShape {
    pub super_class: Option<Vec<u8>>,
    pub interfaces: Vec<Vec<u8>>,
    pub fields: Vec<(Vec<u8>, Vec<u8>, FieldShape)>,
}

impl ClassShape {
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::of(&ClassFile::parse(bytes)?)
    }

    pub fn of(class: &ClassFile<'_>) -> Result<Self> {
        let mut shape = ClassShape { super_class: class.super_name()?.map(<[u8]>::to_vec), ..Self::default() };
        for &interface in &class.interfaces {
            shape.interfaces.push(class.pool.class_name(interface)?.to_vec());
        }
        for field in &class.fields {
            let name = class.pool.utf8(field.name_index)?.to_vec();
            let descriptor = class.pool.utf8(field.descriptor_index)?.to_vec();
            shape.fields.push((name, descriptor, FieldShape::of(field, class)));
        }
        Ok(shape)
    }

    fn field(&self, name: &[u8], descriptor: &[u8]) -> Option<FieldShape> {
        self.fields.iter().find(|(n, d, _)| n == name && d == descriptor).map(|(_, _, shape)| *shape)
    }
}

/// Finds classes by name as the class being woven would see them.
pub trait Resolver {
    fn shape(&self, name: &[u8]) -> Option<Arc<ClassShape>>;
}

/// The class that declares the field which a reference resolves to, and the field's facts; `None` where
/// some class on the way is not known.
pub fn resolve_field(
    resolver: &dyn Resolver,
    owner: &[u8],
    name: &[u8],
    descriptor: &[u8],
) -> Option<(Vec<u8>, FieldShape)> {
    resolve_within(resolver, owner, name, descriptor, &mut HashSet::new())
}

fn resolve_within(
    resolver: &dyn Resolver,
    owner: &[u8],
    name: &[u8],
    descriptor: &[u8],
    visited: &mut HashSet<Vec<u8>>,
) -> Option<(Vec<u8>, FieldShape)> {
    if !visited.insert(owner.to_vec()) {
        return None;
    }
    let shape = resolver.shape(owner)?;
    if let Some(field) = shape.field(name, descriptor) {
        return Some((owner.to_vec(), field));
    }
    shape
        .interfaces
        .iter()
        .chain(shape.super_class.iter())
        .find_map(|parent| resolve_within(resolver, parent, name, descriptor, visited))
}
