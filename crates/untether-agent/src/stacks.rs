//! Stacks of accesses: captured cheaply, kept once, spelled out when first seen.

use std::collections::HashMap;
use std::ptr;

use jvmti_bindings::sys::jni::JNIEnv;
use untether_frameworks::is_runner;
use untether_wire::{Frame, StackFrame};

use crate::agent::Agent;
use crate::jvm::{MethodDescription, RawFrame};

/// Frames kept of a stack: enough to reach the test from library code.
const DEEPEST: usize = 48;

/// Frames looked at first. Mostly they reach the test, and every frame that is not walked is time saved.
const FIRST: usize = 20;

#[derive(Debug, Default)]
pub(crate) struct Stacks {
    /// Of a stack's first frames, its number, or `None` where the others decide.
    first: HashMap<[RawFrame; FIRST], Option<u32>>,
    numbers: HashMap<Box<[RawFrame]>, u32>,
    methods: HashMap<usize, Known>,
    method_count: u32,
}

#[derive(Debug)]
enum Known {
    /// The runtime's own, which nobody is to see.
    Hidden,
    Shown {
        method: Method,
        is_framework: bool,
    },
}

#[derive(Debug)]
struct Method {
    number: u32,
    /// Start locations with their lines, ascending.
    lines: Vec<(i64, u32)>,
}

/// The thread that is looked at, from inside of a native method.
struct Java<'a> {
    agent: &'a Agent,
    jni: *mut JNIEnv,
}

impl Java<'_> {
    /// A stack may show more classes than a native method may refer to at a time.
    fn with_local_references<T>(&self, work: impl FnOnce() -> T) -> T {
        const REFERENCES: i32 = 4;
        // SAFETY: this thread's environment; what refers to classes is gone when the frame is.
        unsafe {
            let has_frame = ((**self.jni).PushLocalFrame)(self.jni, REFERENCES) == 0;
            let result = work();
            if has_frame {
                ((**self.jni).PopLocalFrame)(self.jni, ptr::null_mut());
            }
            result
        }
    }
}

impl Stacks {
    /// The number of the calling thread's stack, down to the framework that called the test.
    pub(crate) fn capture(&mut self, agent: &Agent, jni: *mut JNIEnv) -> u32 {
        let java = &Java { agent, jni };
        let mut first = [RawFrame::default(); FIRST];
        let count = agent.jvmti.stack(0, &mut first);
        match self.first.get(&first) {
            Some(&Some(number)) => return number,
            Some(None) => {}
            None => {
                let has_all = count < FIRST || first.iter().any(|frame| self.is_runner(frame, java));
                let number = has_all.then(|| self.number(&first[..count], java));
                self.first.insert(first, number);
                if let Some(number) = number {
                    return number;
                }
            }
        }
        let mut buffer = [RawFrame::default(); DEEPEST];
        buffer[..FIRST].copy_from_slice(&first);
        let count = FIRST + agent.jvmti.stack(FIRST, &mut buffer[FIRST..]);
        self.number(&buffer[..count], java)
    }

    fn number(&mut self, frames: &[RawFrame], java: &Java<'_>) -> u32 {
        let end = frames.iter().position(|frame| self.is_runner(frame, java));
        let raw = &frames[..end.map_or(frames.len(), |end| end + 1)];
        if let Some(&number) = self.numbers.get(raw) {
            return number;
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(raw.into(), number);
        let frames = raw.iter().filter_map(|frame| self.spell(frame, java)).collect();
        java.agent.trace.frame(&Frame::Stack { number, frames });
        number
    }

    fn is_runner(&mut self, frame: &RawFrame, java: &Java<'_>) -> bool {
        matches!(self.known(frame.method, java), Known::Shown { is_framework: true, .. })
    }

    fn known(&mut self, method: usize, java: &Java<'_>) -> &Known {
        if !self.methods.contains_key(&method) {
            let described = self.describe(method, java);
            self.methods.insert(method, described);
        }
        self.methods.get(&method).unwrap_or(&Known::Hidden)
    }

    fn spell(&mut self, frame: &RawFrame, java: &Java<'_>) -> Option<StackFrame> {
        let Known::Shown { method, .. } = self.known(frame.method, java) else { return None };
        let line = match method.lines.partition_point(|&(start, _)| start <= frame.location) {
            0 => 0,
            after => method.lines[after - 1].1,
        };
        Some(StackFrame { method: method.number, line })
    }

    fn describe(&mut self, method: usize, java: &Java<'_>) -> Known {
        let described = java.with_local_references(|| java.agent.jvmti.describe_method(method));
        let Some(MethodDescription { class, name, file, mut lines }) = described else {
            return Known::Hidden;
        };
        if class.starts_with("java.lang.Untether") {
            return Known::Hidden;
        }
        let is_framework = is_runner(class.as_bytes());
        lines.sort_unstable();
        self.method_count += 1;
        let number = self.method_count;
        java.agent.trace.frame(&Frame::Method { number, class, name, file });
        Known::Shown { method: Method { number, lines }, is_framework }
    }
}
