//! Stacks of accesses: captured cheaply, kept once, spelled out when first seen.

use std::collections::HashMap;

use untether_wire::{Frame, StackFrame};

use crate::agent::Agent;
use crate::jvm::RawFrame;

/// Frames kept of a stack: enough to reach the test from deep library code.
const DEEPEST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Stacks {
    numbers: HashMap<Box<[RawFrame]>, u32>,
    /// `None` for the runtime's own methods.
    methods: HashMap<usize, Option<MethodName>>,
}

#[derive(Debug, Clone)]
struct MethodName {
    class: String,
    method: String,
    file: String,
    /// Start locations with their lines, ascending.
    lines: Vec<(i64, u32)>,
}

impl Stacks {
    /// The number of the calling thread's stack.
    pub(crate) fn capture(&mut self, agent: &Agent) -> u32 {
        let mut buffer = [RawFrame::default(); DEEPEST];
        let count = agent.jvmti.stack(&mut buffer);
        let raw = &buffer[..count];
        if let Some(&number) = self.numbers.get(raw) {
            return number;
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(raw.into(), number);
        let frames = raw.iter().filter_map(|frame| self.spell(frame, agent)).collect();
        agent.trace.frame(&Frame::Stack { number, frames });
        number
    }

    fn spell(&mut self, frame: &RawFrame, agent: &Agent) -> Option<StackFrame> {
        let name = self.methods.entry(frame.method).or_insert_with(|| method_name(frame.method, agent)).as_ref()?;
        let line = match name.lines.partition_point(|&(start, _)| start <= frame.location) {
            0 => 0,
            after => name.lines[after - 1].1,
        };
        Some(StackFrame { class: name.class.clone(), method: name.method.clone(), file: name.file.clone(), line })
    }
}

fn method_name(method: usize, agent: &Agent) -> Option<MethodName> {
    let (class, name, file, mut lines) = agent.jvmti.describe_method(method)?;
    if class.starts_with("java.lang.Untether") {
        return None;
    }
    lines.sort_unstable();
    Some(MethodName { class, method: name, file, lines })
}
