//! Starts and ends of class initializers, which act for themselves and not for the test that triggers them.

use untether_classfile::{Entry, Instruction, Result, opcode};

use crate::pass::{Family, Method, Pass};
use crate::probe;

/// Methods of the JDK that make global data when it is first asked for: like initializers, they come to the same whoever asks.
const LAZY: [(&[u8], &[u8]); 1] = [(b"java/util/TimeZone", b"setDefaultZone")];

fn is_lazy(method: &Method<'_>) -> bool {
    method.is_static && LAZY.contains(&(method.class_name, method.name))
}

#[derive(Default)]
pub(crate) struct Initializers {
    /// The number of the initializer that is being woven.
    number: Option<u32>,
}

impl Family for Initializers {
    fn enter(&mut self, pass: &mut Pass<'_, '_, '_, '_>) -> Result<()> {
        if !pass.method.is_initializer() && !is_lazy(pass.method) {
            return Ok(());
        }
        let number = pass.numbering.initializer(pass.method.class_name);
        self.number = Some(number);
        let enter = pass.numbered_call(number, probe::INITIALIZER_ENTER)?;
        pass.always_before(0, enter, 1);
        let mut handler = pass.numbered_call(number, probe::INITIALIZER_EXIT)?;
        handler.push(opcode::ATHROW);
        // The handler runs with the throwable and one number on the stack.
        pass.editor.need_stack(2);
        pass.editor.catch_all(&handler);
        Ok(())
    }

    fn visit(
        &mut self,
        pass: &mut Pass<'_, '_, '_, '_>,
        instruction: &Instruction<'_>,
        _entry: Option<Entry<'_>>,
    ) -> Result<()> {
        if let Some(number) = self.number.filter(|_| instruction.is_return()) {
            let exit = pass.numbered_call(number, probe::INITIALIZER_EXIT)?;
            pass.always_before(instruction.pc, exit, 1);
        }
        Ok(())
    }
}
