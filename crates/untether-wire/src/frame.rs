//! Event frames: length (four bytes, little endian), tag, fields. Integers are of variable length;
//! strings are a count of UTF-16 units, each an integer, so that the Java side needs no encoder.

/// The version of the frames, written after the magic at the start of each trace.
pub const VERSION: u32 = 2;

/// The first bytes of every trace file.
pub const HEADER: [u8; 8] = *b"UNTETHR\x02";

/// A frame or an options file that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("not a trace of this version of untether")]
    BadHeader,
    #[error("a frame of tag {tag} ends too early or holds a value out of range")]
    BadFrame { tag: u8 },
    #[error("unknown frame tag {tag}")]
    UnknownTag { tag: u8 },
    #[error("agent options: {0}")]
    Options(String),
}

/// Who acts between two boundaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorKind {
    Class,
    Test,
    Initializer,
    Outside,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutcomeStatus {
    Passed,
    Failed,
    Aborted,
    Skipped,
}

/// What a value was withheld of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WithheldKind {
    Environment,
    Property,
    Argument,
}

/// A position in a numbered method; the line is 0 where unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StackFrame {
    pub method: u32,
    pub line: u32,
}

/// How a JVM was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaunchFrame {
    pub pid: u32,
    pub java: String,
    pub arguments: Vec<String>,
    pub directory: String,
    pub environment: Vec<(String, String)>,
    pub java_version: String,
    /// What the class path amounts to, with the entries that a jar of only a manifest names.
    pub class_path: Vec<String>,
}

/// One event of a watched JVM. Numbers name actors, objects, slots and stacks of the same trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Actor {
        number: u32,
        kind: ActorKind,
        parent: u32,
        name: String,
        detail: String,
    },
    /// `parent` is 0 for class mirrors and other roots; `place` is where in the parent it was found.
    Object {
        number: u32,
        writer: u32,
        stack: u32,
        class: String,
        parent: u32,
        place: String,
    },
    /// `field` is the nearest field on the way to the slot that is none of the JDK's objects, with its class.
    Slot {
        number: u32,
        object: u32,
        place: String,
        field: String,
    },
    /// Which element of a collection a slot belongs to, as a person would write it.
    Element {
        slot: u32,
        text: String,
    },
    /// `pending_stack` is the write's, where the writer's segment has not ended yet.
    Read {
        actor: u32,
        slot: u32,
        writer: u32,
        stack: u32,
        pending_stack: u32,
        /// Null, zero or false stood there.
        is_empty: bool,
    },
    Write {
        actor: u32,
        slot: u32,
        stack: u32,
        /// The slot was found empty and filled.
        is_lazy: bool,
        /// The slot was left as another test had left it.
        is_unchanged: bool,
        /// A class initializer did it, on the actor's behalf.
        is_by_initializer: bool,
    },
    Restored {
        slot: u32,
        writer: u32,
    },
    Outcome {
        actor: u32,
        status: OutcomeStatus,
        nanos: u64,
        message: String,
        trace: String,
    },
    Note {
        kind: String,
        text: String,
    },
    Started {
        actor: u32,
        nanos: u64,
    },
    Launch(LaunchFrame),
    /// A system property as it was when the first test class started.
    Property {
        name: String,
        value: String,
    },
    /// The JUnit Platform's unique id of a test that has no class and method.
    Selector {
        test: String,
        unique_id: String,
    },
    /// A value that was there and is not told.
    Withheld {
        kind: WithheldKind,
        name: String,
    },
    Method {
        number: u32,
        class: String,
        name: String,
        file: String,
    },
    /// Innermost frame first.
    Stack {
        number: u32,
        frames: Vec<StackFrame>,
    },
    /// A class, or a method of it, that could not be woven.
    Refusal {
        class: String,
        method: String,
        reason: String,
    },
    /// The JVM ended in an orderly way.
    End,
}

const ACTOR: u8 = 1;
const OBJECT: u8 = 2;
const SLOT: u8 = 3;
const READ: u8 = 4;
const WRITE: u8 = 5;
const RESTORED: u8 = 6;
const OUTCOME: u8 = 7;
const NOTE: u8 = 8;
const STARTED: u8 = 9;
const PROPERTY: u8 = 10;
const ELEMENT: u8 = 11;
const SELECTOR: u8 = 12;
const LAUNCH: u8 = 20;
const STACK: u8 = 21;
const REFUSAL: u8 = 22;
const END: u8 = 23;
const METHOD: u8 = 24;
const WITHHELD: u8 = 25;

/// How a slot was written, as bits; `UntetherTrace.java` has the same.
const LAZY: u32 = 1;
const UNCHANGED: u32 = 2;
const BY_INITIALIZER: u32 = 4;

/// Encodes the frames that the agent itself writes.
#[derive(Debug, Default)]
pub struct FrameWriter {
    bytes: Vec<u8>,
}

impl FrameWriter {
    fn integer(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn string(&mut self, text: &str) {
        self.integer(text.encode_utf16().count() as u64);
        for unit in text.encode_utf16() {
            self.integer(unit.into());
        }
    }

    fn strings(&mut self, texts: &[&str]) {
        for text in texts {
            self.string(text);
        }
    }

    /// The whole frame, length included.
    pub fn encode(frame: &Frame) -> Vec<u8> {
        let mut writer = FrameWriter { bytes: vec![0; 4] };
        writer.body(frame);
        let length = (writer.bytes.len() - 4) as u32;
        writer.bytes[..4].copy_from_slice(&length.to_le_bytes());
        writer.bytes
    }

    fn body(&mut self, frame: &Frame) {
        match frame {
            Frame::Actor { number, kind, parent, name, detail } => {
                self.bytes.push(ACTOR);
                self.integer((*number).into());
                self.integer(match kind {
                    ActorKind::Class => 1,
                    ActorKind::Test => 2,
                    ActorKind::Initializer => 3,
                    ActorKind::Outside => 4,
                });
                self.integer((*parent).into());
                self.strings(&[name, detail]);
            }
            Frame::Object { number, writer, stack, class, parent, place } => {
                self.bytes.push(OBJECT);
                self.integers(&[*number, *writer, *stack]);
                self.string(class);
                self.integer((*parent).into());
                self.string(place);
            }
            Frame::Slot { number, object, place, field } => {
                self.bytes.push(SLOT);
                self.integers(&[*number, *object]);
                self.strings(&[place, field]);
            }
            Frame::Element { slot, text } => {
                self.bytes.push(ELEMENT);
                self.integer((*slot).into());
                self.string(text);
            }
            Frame::Read { actor, slot, writer, stack, pending_stack, is_empty } => {
                self.bytes.push(READ);
                self.integers(&[*actor, *slot, *writer, *stack, *pending_stack, u32::from(*is_empty)]);
            }
            Frame::Write { actor, slot, stack, is_lazy, is_unchanged, is_by_initializer } => {
                self.bytes.push(WRITE);
                let flag = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
                let flags =
                    flag(*is_lazy, LAZY) | flag(*is_unchanged, UNCHANGED) | flag(*is_by_initializer, BY_INITIALIZER);
                self.integers(&[*actor, *slot, *stack, flags]);
            }
            Frame::Restored { slot, writer } => {
                self.bytes.push(RESTORED);
                self.integers(&[*slot, *writer]);
            }
            Frame::Outcome { actor, status, nanos, message, trace } => {
                self.bytes.push(OUTCOME);
                self.integers(&[
                    *actor,
                    match status {
                        OutcomeStatus::Passed => 0,
                        OutcomeStatus::Failed => 1,
                        OutcomeStatus::Aborted => 2,
                        OutcomeStatus::Skipped => 3,
                    },
                ]);
                self.integer(*nanos);
                self.strings(&[message, trace]);
            }
            Frame::Note { kind, text } => {
                self.bytes.push(NOTE);
                self.strings(&[kind, text]);
            }
            Frame::Started { actor, nanos } => {
                self.bytes.push(STARTED);
                self.integer((*actor).into());
                self.integer(*nanos);
            }
            Frame::Launch(launch) => self.launch(launch),
            Frame::Property { name, value } => {
                self.bytes.push(PROPERTY);
                self.strings(&[name, value]);
            }
            Frame::Selector { test, unique_id } => {
                self.bytes.push(SELECTOR);
                self.strings(&[test, unique_id]);
            }
            Frame::Withheld { kind, name } => {
                self.bytes.push(WITHHELD);
                self.integer(match kind {
                    WithheldKind::Environment => 0,
                    WithheldKind::Property => 1,
                    WithheldKind::Argument => 2,
                });
                self.string(name);
            }
            Frame::Stack { number, frames } => {
                self.bytes.push(STACK);
                self.integers(&[*number, frames.len() as u32]);
                for frame in frames {
                    self.integers(&[frame.method, frame.line]);
                }
            }
            Frame::Method { number, class, name, file } => {
                self.bytes.push(METHOD);
                self.integer((*number).into());
                self.strings(&[class, name, file]);
            }
            Frame::Refusal { class, method, reason } => {
                self.bytes.push(REFUSAL);
                self.strings(&[class, method, reason]);
            }
            Frame::End => self.bytes.push(END),
        }
    }

    fn integers(&mut self, values: &[u32]) {
        for &value in values {
            self.integer(value.into());
        }
    }

    fn launch(&mut self, launch: &LaunchFrame) {
        self.bytes.push(LAUNCH);
        self.integer(launch.pid.into());
        self.string(&launch.java);
        self.integer(launch.arguments.len() as u64);
        for argument in &launch.arguments {
            self.string(argument);
        }
        self.string(&launch.directory);
        self.integer(launch.environment.len() as u64);
        for (key, value) in &launch.environment {
            self.strings(&[key, value]);
        }
        self.string(&launch.java_version);
        self.integer(launch.class_path.len() as u64);
        for entry in &launch.class_path {
            self.string(entry);
        }
    }
}

/// The frames with each property as `judge` leaves it; nothing where that changes none.
pub fn with_properties(frames: &[u8], judge: impl Fn(Frame) -> Frame) -> Option<Vec<u8>> {
    let mut changed: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some((length, rest)) = frames[at..].split_first_chunk::<4>() {
        let Some(body) = rest.get(..u32::from_le_bytes(*length) as usize) else { break };
        let end = at + 4 + body.len();
        let property = if body.first() == Some(&PROPERTY) { Body { bytes: body, tag: 0 }.frame().ok() } else { None };
        let judged = property.and_then(|property| Some(judge(property.clone())).filter(|judged| *judged != property));
        match (judged, &mut changed) {
            (Some(judged), _) => {
                changed.get_or_insert_with(|| frames[..at].to_vec()).extend(FrameWriter::encode(&judged));
            }
            (None, Some(changed)) => changed.extend_from_slice(&frames[at..end]),
            (None, None) => {}
        }
        at = end;
    }
    if let Some(changed) = &mut changed {
        changed.extend_from_slice(&frames[at..]);
    }
    changed
}

/// Decodes a trace that may still be growing or may have been cut off.
#[derive(Debug, Default)]
pub struct FrameReader {
    pending: Vec<u8>,
    consumed: usize,
    has_header: bool,
}

impl FrameReader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes as they arrive.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.consumed > 0 {
            self.pending.drain(..self.consumed);
            self.consumed = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole frame, or `None` until more bytes arrive.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, WireError> {
        if !self.has_header {
            if self.pending.len() < HEADER.len() {
                return Ok(None);
            }
            if self.pending[..HEADER.len()] != HEADER {
                return Err(WireError::BadHeader);
            }
            self.consumed = HEADER.len();
            self.has_header = true;
        }
        let rest = &self.pending[self.consumed..];
        let Some((length, body)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        let Some(body) = body.get(..length) else { return Ok(None) };
        let frame = Body { bytes: body, tag: 0 }.frame()?;
        self.consumed += 4 + length;
        Ok(Some(frame))
    }

    /// Bytes of an unfinished frame at the end.
    pub fn unread(&self) -> usize {
        self.pending.len() - self.consumed
    }
}

struct Body<'a> {
    bytes: &'a [u8],
    tag: u8,
}

impl Body<'_> {
    fn bad<T>(&self) -> Result<T, WireError> {
        Err(WireError::BadFrame { tag: self.tag })
    }

    fn long(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.bytes.split_first() else { return self.bad() };
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.bad()
    }

    fn int(&mut self) -> Result<u32, WireError> {
        let value = self.long()?;
        u32::try_from(value).or_else(|_| self.bad())
    }

    fn string(&mut self) -> Result<String, WireError> {
        let units = self.int()? as usize;
        if units > self.bytes.len() {
            return self.bad();
        }
        let mut text = Vec::with_capacity(units);
        for _ in 0..units {
            let unit = self.int()?;
            text.push(u16::try_from(unit).or_else(|_| self.bad())?);
        }
        Ok(String::from_utf16_lossy(&text))
    }

    fn count(&mut self) -> Result<usize, WireError> {
        let count = self.int()? as usize;
        if count > self.bytes.len() { self.bad() } else { Ok(count) }
    }

    fn frame(mut self) -> Result<Frame, WireError> {
        let Some((&tag, rest)) = self.bytes.split_first() else { return self.bad() };
        self.bytes = rest;
        self.tag = tag;
        Ok(match tag {
            ACTOR => Frame::Actor {
                number: self.int()?,
                kind: match self.int()? {
                    1 => ActorKind::Class,
                    2 => ActorKind::Test,
                    3 => ActorKind::Initializer,
                    4 => ActorKind::Outside,
                    _ => return self.bad(),
                },
                parent: self.int()?,
                name: self.string()?,
                detail: self.string()?,
            },
            OBJECT => Frame::Object {
                number: self.int()?,
                writer: self.int()?,
                stack: self.int()?,
                class: self.string()?,
                parent: self.int()?,
                place: self.string()?,
            },
            SLOT => {
                Frame::Slot { number: self.int()?, object: self.int()?, place: self.string()?, field: self.string()? }
            }
            ELEMENT => Frame::Element { slot: self.int()?, text: self.string()? },
            READ => Frame::Read {
                actor: self.int()?,
                slot: self.int()?,
                writer: self.int()?,
                stack: self.int()?,
                pending_stack: self.int()?,
                is_empty: self.int()? != 0,
            },
            WRITE => {
                let (actor, slot, stack, flags) = (self.int()?, self.int()?, self.int()?, self.int()?);
                if flags > LAZY | UNCHANGED | BY_INITIALIZER {
                    return self.bad();
                }
                Frame::Write {
                    actor,
                    slot,
                    stack,
                    is_lazy: flags & LAZY != 0,
                    is_unchanged: flags & UNCHANGED != 0,
                    is_by_initializer: flags & BY_INITIALIZER != 0,
                }
            }
            RESTORED => Frame::Restored { slot: self.int()?, writer: self.int()? },
            OUTCOME => Frame::Outcome {
                actor: self.int()?,
                status: match self.int()? {
                    0 => OutcomeStatus::Passed,
                    1 => OutcomeStatus::Failed,
                    2 => OutcomeStatus::Aborted,
                    3 => OutcomeStatus::Skipped,
                    _ => return self.bad(),
                },
                nanos: self.long()?,
                message: self.string()?,
                trace: self.string()?,
            },
            NOTE => Frame::Note { kind: self.string()?, text: self.string()? },
            STARTED => Frame::Started { actor: self.int()?, nanos: self.long()? },
            PROPERTY => Frame::Property { name: self.string()?, value: self.string()? },
            SELECTOR => Frame::Selector { test: self.string()?, unique_id: self.string()? },
            LAUNCH => self.launch()?,
            WITHHELD => Frame::Withheld {
                kind: match self.int()? {
                    0 => WithheldKind::Environment,
                    1 => WithheldKind::Property,
                    2 => WithheldKind::Argument,
                    _ => return self.bad(),
                },
                name: self.string()?,
            },
            STACK => {
                let number = self.int()?;
                let count = self.count()?;
                let frames = (0..count)
                    .map(|_| Ok(StackFrame { method: self.int()?, line: self.int()? }))
                    .collect::<Result<_, _>>()?;
                Frame::Stack { number, frames }
            }
            REFUSAL => Frame::Refusal { class: self.string()?, method: self.string()?, reason: self.string()? },
            END => Frame::End,
            METHOD => {
                Frame::Method { number: self.int()?, class: self.string()?, name: self.string()?, file: self.string()? }
            }
            _ => return Err(WireError::UnknownTag { tag }),
        })
    }

    fn launch(&mut self) -> Result<Frame, WireError> {
        let pid = self.int()?;
        let java = self.string()?;
        let arguments = (0..self.count()?).map(|_| self.string()).collect::<Result<_, _>>()?;
        let directory = self.string()?;
        let environment = (0..self.count()?).map(|_| Ok((self.string()?, self.string()?))).collect::<Result<_, _>>()?;
        let java_version = self.string()?;
        let class_path = (0..self.count()?).map(|_| self.string()).collect::<Result<_, _>>()?;
        Ok(Frame::Launch(LaunchFrame { pid, java, arguments, directory, environment, java_version, class_path }))
    }
}
