//! Weaving of one class: which methods are edited, and what happens when one cannot be.

use std::borrow::Cow;

use untether_classfile::{ClassFile, Code, CodeEditor, Error, Member, Result, opcode};

use crate::boundary::{self, Hook, Moment};
use crate::heap::HeapProbes;
use crate::probe;
use crate::shape::Resolver;

/// Gives numbers to what probes name. A number of 0 means: no room left, do not probe.
pub trait Numbering {
    fn instance_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32;
    fn static_field(&mut self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> u32;
    fn initializer(&mut self, class: &[u8]) -> u32;
}

/// Which families of probes a run wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeSets {
    /// Reads and writes of fields and array elements.
    pub heap: bool,
    /// Starts and ends of tests.
    pub boundaries: bool,
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
    pub sets: ProbeSets,
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
        let is_framework = boundary::is_framework(&name);
        let hooks: Vec<&Hook> = if self.sets.boundaries { boundary::hooks_of(&name).collect() } else { Vec::new() };
        let wants_heap = self.sets.heap && !is_framework;
        if !wants_heap && hooks.is_empty() {
            return Ok(Woven::default());
        }
        let mut refusals = Vec::new();
        let mut changed = false;
        let mut methods = std::mem::take(&mut class.methods);
        for method in &mut methods {
            match self.weave_method(&mut class, method, &name, wants_heap, &hooks) {
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
        wants_heap: bool,
        hooks: &[&Hook],
    ) -> Result<Option<(usize, Vec<u8>)>> {
        let Some(position) = method.attributes.iter().position(|a| class.pool.utf8(a.name_index) == Ok(b"Code")) else {
            return Ok(None);
        };
        let method_name = class.pool.utf8(method.name_index)?;
        let descriptor = class.pool.utf8(method.descriptor_index)?;
        let code = Code::parse(&method.attributes[position].content)?;
        let mut editor = CodeEditor::new(&code);
        for hook in hooks {
            if hook.method.as_bytes() == method_name && hook.descriptor.as_bytes() == descriptor {
                insert_hook(hook, class, &code, &mut editor)?;
            }
        }
        if wants_heap {
            HeapProbes { class_name, method_name, is_static: method.is_static(), descriptor }.insert(
                class,
                &code,
                &mut editor,
                self.resolver,
                self.numbering,
            )?;
        }
        if editor.is_empty() {
            return Ok(None);
        }
        Ok(Some((position, editor.apply(&mut class.pool)?)))
    }
}

/// The call of `Untether.boundary(number, this, first, second)` with null for what the method lacks.
fn boundary_call(hook: &Hook, class: &mut ClassFile<'_>) -> Result<Vec<u8>> {
    const ACONST_NULL: u8 = 1;
    let references = hook.descriptor.split(')').next().unwrap_or("").matches(';').count();
    let mut bytes = vec![opcode::BIPUSH, hook.number, opcode::ALOAD_0];
    for argument in 0..2 {
        bytes.push(if argument < references { opcode::ALOAD_0 + 1 + argument as u8 } else { ACONST_NULL });
    }
    bytes.extend(probe::BOUNDARY.call(&mut class.pool)?);
    Ok(bytes)
}

fn insert_hook(hook: &Hook, class: &mut ClassFile<'_>, code: &Code<'_>, editor: &mut CodeEditor<'_, '_>) -> Result<()> {
    editor.need_stack(4);
    match hook.moment {
        Moment::Entry => editor.before(0, &boundary_call(hook, class)?),
        Moment::Scheduler => {
            let mut bytes = vec![opcode::ALOAD_0, opcode::ALOAD_0 + 1];
            bytes.extend(probe::SEQUENTIAL_SCHEDULER.call(&mut class.pool)?);
            let [high, low] = class.pool.add_class(b"org/junit/runners/model/RunnerScheduler")?.to_be_bytes();
            bytes.extend([0xc0, high, low, opcode::ASTORE_0 + 1]);
            editor.before(0, &bytes);
        }
        Moment::Exit | Moment::Leave | Moment::Result => {
            let call = if hook.moment == Moment::Result {
                probe::SEQUENTIAL.call(&mut class.pool)?.to_vec()
            } else {
                boundary_call(hook, class)?
            };
            for instruction in code.instructions() {
                let instruction = instruction?;
                if instruction.is_return() {
                    editor.before(instruction.pc, &call);
                }
            }
            if hook.moment == Moment::Leave {
                // Locals are unknown in the handler's frame: the runtime tells the runner by its stack.
                let mut handler = vec![opcode::BIPUSH, hook.number, 1, 1, 1];
                handler.extend(probe::BOUNDARY.call(&mut class.pool)?);
                handler.push(opcode::ATHROW);
                editor.catch_all(&handler);
            }
        }
    }
    Ok(())
}
