//! Weaving of one class: which methods are edited, and what happens when one cannot be.

use std::borrow::Cow;

use untether_classfile::{ClassFile, Code, CodeEditor, Error, Member, Result};
use untether_frameworks::{Hook, hooks_of, is_runner};

use crate::heap::{Accesses, Heap};
use crate::hooks::Boundaries;
use crate::initializers::Initializers;
use crate::pass::{Family, Method, Pass};
use crate::probe;
use crate::shape::Resolver;
use crate::uses::{Uses, Watched};

/// Gives numbers to what probes name. A number of 0 means: no room left, do not probe.
pub trait Numbering {
    fn instance_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32;
    fn static_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32;
    fn initializer(&mut self, class: &[u8]) -> u32;
    fn class(&mut self, name: &[u8]) -> u32;
}

/// Which families of probes a run wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Families {
    /// Accesses of fields and array elements, and with them starts and ends of class initializers.
    pub heap: Option<Accesses>,
    /// Starts and ends of tests.
    pub boundaries: bool,
    /// Which classes are used.
    pub uses: bool,
}

/// A method that was left as it was, or the whole class where `method` is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub method: Option<String>,
    pub reason: Error,
}

/// The outcome of weaving one class.
#[derive(Debug, Default)]
pub struct Woven {
    /// `None` where nothing had to be inserted or nothing could be.
    pub bytes: Option<Vec<u8>>,
    pub refusals: Vec<Refusal>,
}

/// Weaves classes; holds no state between them but what its collaborators keep.
pub struct Weaver<'w> {
    pub families: Families,
    pub resolver: &'w dyn Resolver,
    pub numbering: &'w mut dyn Numbering,
}

impl Weaver<'_> {
    pub fn weave(&mut self, bytes: &[u8]) -> Woven {
        match self.weave_class(bytes) {
            Ok(woven) => woven,
            Err(reason) => Woven { bytes: None, refusals: vec![Refusal { method: None, reason }] },
        }
    }

    fn weave_class(&mut self, bytes: &[u8]) -> Result<Woven> {
        let mut class = ClassFile::parse(bytes)?;
        let name = class.name()?.to_vec();
        if name.starts_with(probe::RUNTIME_PREFIX) || probe::FOUNDATION.contains(&name.as_slice()) {
            return Ok(Woven::default());
        }
        let is_framework = is_runner(&name);
        let hooks: Vec<&Hook> = if self.families.boundaries { hooks_of(&name).collect() } else { Vec::new() };
        let accesses = self.families.heap.filter(|_| !is_framework);
        let uses = (self.families.uses && !is_framework).then(|| Uses::kind(&name)).flatten();
        if accesses.is_none() && hooks.is_empty() && uses.is_none() {
            return Ok(Woven::default());
        }
        let mut refusals = Vec::new();
        let mut changed = false;
        let mut methods = std::mem::take(&mut class.methods);
        for method in &mut methods {
            match self.weave_method(&mut class, method, &name, (accesses, uses), &hooks) {
                Ok(None) => {}
                Ok(Some((attribute, content))) => {
                    method.attributes[attribute].content = Cow::Owned(content);
                    changed = true;
                }
                Err(reason) => {
                    let method_name = class.pool.utf8(method.name_index)?;
                    let descriptor = class.pool.utf8(method.descriptor_index)?;
                    let label =
                        format!("{}{}", String::from_utf8_lossy(method_name), String::from_utf8_lossy(descriptor));
                    refusals.push(Refusal { method: Some(label), reason });
                }
            }
        }
        class.methods = methods;
        Ok(Woven { bytes: changed.then(|| class.to_bytes()), refusals })
    }

    /// The index of the method's `Code` attribute and its new content, where something was inserted.
    fn weave_method(
        &mut self,
        class: &mut ClassFile<'_>,
        method: &Member<'_>,
        class_name: &[u8],
        (accesses, uses): (Option<Accesses>, Option<Watched>),
        hooks: &[&Hook],
    ) -> Result<Option<(usize, Vec<u8>)>> {
        let Some(position) = method.attributes.iter().position(|a| class.pool.utf8(a.name_index) == Ok(b"Code")) else {
            return Ok(None);
        };
        let method_name = class.pool.utf8(method.name_index)?;
        let descriptor = class.pool.utf8(method.descriptor_index)?;
        let woven = Method { class_name, name: method_name, descriptor, is_static: method.is_static() };
        let mut families: Vec<Box<dyn Family + '_>> = Vec::new();
        let is_hooked =
            |hook: &&&Hook| hook.method.as_bytes() == method_name && hook.descriptor.as_bytes() == descriptor;
        let of_method: Vec<&Hook> = hooks.iter().filter(is_hooked).copied().collect();
        if !of_method.is_empty() {
            families.push(Box::new(Boundaries::new(of_method)));
        }
        if let Some(accesses) = accesses {
            families.push(Box::new(Initializers::default()));
            families.push(Box::new(Heap::new(accesses, &woven)));
        }
        if let Some(watched) = uses {
            families.extend(Uses::of(watched, &woven).map(|uses| Box::new(uses) as Box<dyn Family>));
        }
        if families.is_empty() {
            return Ok(None);
        }
        let code = Code::parse(&method.attributes[position].content)?;
        let mut editor = CodeEditor::new(&code);
        Pass::new(&woven, class, &code, &mut editor, self.resolver, self.numbering)?.run(&mut families)?;
        if editor.is_empty() {
            return Ok(None);
        }
        Ok(Some((position, editor.apply(&mut class.pool)?)))
    }
}
