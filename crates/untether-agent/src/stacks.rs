//! Stacks of accesses: captured cheaply, kept once, spelled out when first seen.

use std::collections::HashMap;

use untether_wire::{Frame, StackFrame};

use crate::agent::Agent;
use crate::jvm::{MethodDescription, RawFrame};

/// Frames kept of a stack: enough to reach the test from library code.
const DEEPEST: usize = 48;

#[derive(Debug, Default)]
pub(crate) struct Stacks {
    numbers: HashMap<Box<[RawFrame]>, u32>,
    /// `None` for the runtime's own methods.
    methods: HashMap<usize, Option<Method>>,
    method_count: u32,
}

#[derive(Debug)]
struct Method {
    number: u32,
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
        if !self.methods.contains_key(&frame.method) {
            let described = self.describe(frame.method, agent);
            self.methods.insert(frame.method, described);
        }
        let method = self.methods.get(&frame.method)?.as_ref()?;
        let line = match method.lines.partition_point(|&(start, _)| start <= frame.location) {
            0 => 0,
            after => method.lines[after - 1].1,
        };
        Some(StackFrame { method: method.number, line })
    }

    fn describe(&mut self, method: usize, agent: &Agent) -> Option<Method> {
        let MethodDescription { class, name, file, mut lines } = agent.jvmti.describe_method(method)?;
        if class.starts_with("java.lang.Untether") {
            return None;
        }
        lines.sort_unstable();
        self.method_count += 1;
        let number = self.method_count;
        agent.trace.frame(&Frame::Method { number, class, name, file });
        Some(Method { number, lines })
    }
}
