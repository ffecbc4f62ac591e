//! Starts and ends of tests: calls of the runtime in the methods of test frameworks by which they are followed.

use untether_classfile::{ClassFile, Entry, Instruction, Result, opcode};
use untether_frameworks::{Hook, Moment};

use crate::pass::{Family, Pass};
use crate::probe;

/// The hooks of one method.
pub(crate) struct Boundaries<'h> {
    hooks: Vec<&'h Hook>,
}

impl<'h> Boundaries<'h> {
    pub(crate) fn new(hooks: Vec<&'h Hook>) -> Self {
        Boundaries { hooks }
    }
}

impl Family for Boundaries<'_> {
    fn enter(&mut self, pass: &mut Pass<'_, '_, '_, '_>) -> Result<()> {
        pass.editor.need_stack(4);
        for hook in &self.hooks {
            match hook.moment {
                Moment::Entry => {
                    let call = boundary_call(hook, pass.class)?;
                    pass.always_before(0, call, 4);
                }
                Moment::Scheduler => {
                    let mut bytes = vec![opcode::ALOAD_0, opcode::ALOAD_0 + 1];
                    bytes.extend(probe::SEQUENTIAL_SCHEDULER.call(&mut pass.class.pool)?);
                    bytes.extend(cast(b"org/junit/runners/model/RunnerScheduler", pass.class)?);
                    bytes.push(opcode::ASTORE_0 + 1);
                    pass.always_before(0, bytes, 4);
                }
                Moment::Leave => {
                    // Locals are unknown in the handler's frame: the runtime tells the runner by its stack.
                    let mut handler = vec![opcode::BIPUSH, hook.event.number(), 1, 1, 1];
                    handler.extend(probe::BOUNDARY.call(&mut pass.class.pool)?);
                    handler.push(opcode::ATHROW);
                    pass.editor.catch_all(&handler);
                }
                Moment::Given => {
                    let mut bytes = vec![opcode::ALOAD_0 + 1];
                    bytes.extend(probe::CHOSEN.call(&mut pass.class.pool)?);
                    bytes.extend(cast(b"java/util/Set", pass.class)?);
                    bytes.push(opcode::ASTORE_0 + 1);
                    pass.always_before(0, bytes, 1);
                }
                Moment::Exit | Moment::Result | Moment::Handed => {}
            }
        }
        Ok(())
    }

    fn visit(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        instruction: &Instruction<'_>,
        _entry: Option<Entry<'_>>,
    ) -> Result<()> {
        for hook in self.hooks.iter().filter(|_| instruction.is_return()) {
            let call = match hook.moment {
                Moment::Result => probe::SEQUENTIAL.call(&mut pass.class.pool)?.to_vec(),
                Moment::Exit | Moment::Leave => boundary_call(hook, pass.class)?,
                Moment::Handed => {
                    let mut bytes = probe::CHOSEN.call(&mut pass.class.pool)?.to_vec();
                    bytes.extend(cast(b"java/util/Iterator", pass.class)?);
                    bytes
                }
                Moment::Entry | Moment::Scheduler | Moment::Given => continue,
            };
            pass.always_before(instruction.pc, call, 4);
        }
        Ok(())
    }
}

fn cast(class: &[u8], into: &mut ClassFile<'_>) -> Result<[u8; 3]> {
    const CHECKCAST: u8 = 0xc0;
    let [high, low] = into.pool.add_class(class)?.to_be_bytes();
    Ok([CHECKCAST, high, low])
}

/// The call of `Untether.boundary(number, this, first, second)` with null for what the method lacks.
fn boundary_call(hook: &Hook, class: &mut ClassFile<'_>) -> Result<Vec<u8>> {
    const ACONST_NULL: u8 = 1;
    let references = hook.descriptor.split(')').next().unwrap_or("").matches(';').count();
    let mut bytes = vec![opcode::BIPUSH, hook.event.number(), opcode::ALOAD_0];
    for argument in 0..2 {
        bytes.push(if argument < references { opcode::ALOAD_0 + 1 + argument as u8 } else { ACONST_NULL });
    }
    bytes.extend(probe::BOUNDARY.call(&mut class.pool)?);
    Ok(bytes)
}
