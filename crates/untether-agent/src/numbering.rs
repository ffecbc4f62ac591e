//! Numbers for the fields and initializers that probes name.

use std::collections::HashMap;

use untether_weave::probe::MOST_CLASSES;
use untether_wire::{FIRST_CLASS, Frame, Rules};

use crate::loaders::Loaders;
use crate::trace::Trace;

/// Static tables hold this many fields; further ones are not probed, and that is reported.
pub(crate) const MOST_STATICS: u32 = 1 << 20;
/// The cache key of a field has this many values.
pub(crate) const MOST_INSTANCE_FIELDS: u32 = 1 << 19;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FieldName {
    pub(crate) owner: Box<[u8]>,
    pub(crate) name: Box<[u8]>,
    pub(crate) descriptor: Box<[u8]>,
}

#[derive(Debug, Default)]
pub(crate) struct Numbers {
    instance: HashMap<FieldName, u32>,
    pub(crate) instance_names: Vec<FieldName>,
    statics: HashMap<(usize, FieldName), u32>,
    pub(crate) static_names: Vec<(usize, FieldName)>,
    pub(crate) initializers: Vec<(usize, Box<[u8]>)>,
    pub(crate) loaders: Loaders,
    /// By internal name, whoever defines them.
    classes: HashMap<Box<[u8]>, u32>,
    pub(crate) is_full: bool,
}

impl Numbers {
    /// The number of a class, which is told when it gets one; 0 where there is none left.
    pub(crate) fn class(&mut self, name: &[u8], trace: &Trace) -> u32 {
        self.number(name, trace, || String::from_utf8_lossy(name).replace('/', "."))
    }

    /// The number of something else that is used like a class, by a name that no class can have.
    pub(crate) fn thing(&mut self, name: &str, trace: &Trace) -> u32 {
        self.number(name.as_bytes(), trace, || name.to_owned())
    }

    fn number(&mut self, key: &[u8], trace: &Trace, name: impl FnOnce() -> String) -> u32 {
        if let Some(&number) = self.classes.get(key) {
            return number;
        }
        let number = self.classes.len() as u32 + FIRST_CLASS;
        if number >= MOST_CLASSES {
            self.is_full = true;
            return 0;
        }
        self.classes.insert(key.into(), number);
        trace.frame(&Frame::ClassName { number, name: name() });
        number
    }

    /// The highest number of a class.
    pub(crate) fn class_count(&self) -> u32 {
        self.classes.len() as u32 + FIRST_CLASS
    }
}

/// The numbering as seen while weaving a class of one loader.
pub(crate) struct LoaderNumbers<'n> {
    pub(crate) numbers: &'n mut Numbers,
    pub(crate) loader: usize,
    pub(crate) constants: *mut u8,
    pub(crate) ignore: &'n Rules,
    pub(crate) trace: &'n Trace,
}

/// Whether accesses of this field are not to be recorded, so that no probe is needed.
fn is_ignored(rules: &Rules, name: &FieldName) -> bool {
    let owner = String::from_utf8_lossy(&name.owner).replace('/', ".");
    rules.matches(&format!("{owner}.{}", String::from_utf8_lossy(&name.name)))
}

fn field_name(owner: &[u8], name: &[u8], descriptor: &[u8]) -> FieldName {
    FieldName { owner: owner.into(), name: name.into(), descriptor: descriptor.into() }
}

impl untether_weave::Numbering for LoaderNumbers<'_> {
    fn instance_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32 {
        let key = field_name(owner, name, descriptor);
        if let Some(&number) = self.numbers.instance.get(&key) {
            return number;
        }
        if is_ignored(self.ignore, &key) {
            self.numbers.instance.insert(key, 0);
            return 0;
        }
        let number = self.numbers.instance_names.len() as u32 + 1;
        if number >= MOST_INSTANCE_FIELDS {
            self.numbers.is_full = true;
            return 0;
        }
        self.numbers.instance_names.push(key.clone());
        self.numbers.instance.insert(key, number);
        number
    }

    fn static_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32 {
        let key = (self.loader, field_name(owner, name, descriptor));
        if let Some(&number) = self.numbers.statics.get(&key) {
            return number;
        }
        if is_ignored(self.ignore, &key.1) {
            self.numbers.statics.insert(key, 0);
            return 0;
        }
        let number = self.numbers.static_names.len() as u32 + 1;
        if number >= MOST_STATICS {
            self.numbers.is_full = true;
            return 0;
        }
        self.numbers.static_names.push(key.clone());
        self.numbers.statics.insert(key, number);
        // SAFETY: the table has `MOST_STATICS` bytes and `number` is below that. Until its first access
        // is judged, a constant counts as one that may matter.
        unsafe { self.constants.add(number as usize).write_volatile(1) };
        number
    }

    fn initializer(&mut self, class: &[u8]) -> u32 {
        self.numbers.initializers.push((self.loader, class.into()));
        self.numbers.initializers.len() as u32
    }

    fn class(&mut self, name: &[u8]) -> u32 {
        self.numbers.class(name, self.trace)
    }
}
