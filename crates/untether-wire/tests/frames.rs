//! Frames survive the wire, however their bytes are cut up, and no bytes upset the reader.

use proptest::prelude::*;
use untether_wire::{
    ActorKind, EndStatus, Frame, LaunchFrame, OutcomeStatus, Reader, Rules, Secrets, StackFrame, VERSION, Wire,
    WireError, WithheldKind, WorkerFrame, with_properties,
};

fn kind() -> impl Strategy<Value = ActorKind> {
    prop::sample::select(vec![ActorKind::Class, ActorKind::Test, ActorKind::Initializer, ActorKind::Outside])
}

fn status() -> impl Strategy<Value = OutcomeStatus> {
    prop::sample::select(vec![
        OutcomeStatus::Passed,
        OutcomeStatus::Failed,
        OutcomeStatus::Aborted,
        OutcomeStatus::Skipped,
    ])
}

fn withheld_kind() -> impl Strategy<Value = WithheldKind> {
    prop::sample::select(vec![WithheldKind::Environment, WithheldKind::Property, WithheldKind::Argument])
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any::<String>(), 0..5)
}

fn launch() -> impl Strategy<Value = LaunchFrame> {
    let environment = prop::collection::vec(any::<(String, String)>(), 0..5);
    (any::<(u32, String, String, String)>(), texts(), environment, texts()).prop_map(
        |((pid, java, directory, java_version), arguments, environment, class_path)| LaunchFrame {
            pid,
            java,
            arguments,
            directory,
            environment,
            java_version,
            class_path,
        },
    )
}

fn stack_frames() -> impl Strategy<Value = Vec<StackFrame>> {
    prop::collection::vec(any::<(u32, u32)>().prop_map(|(method, line)| StackFrame { method, line }), 0..20)
}

fn heap_frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        any::<(u32, u32, u32, String, u32, String)>().prop_map(|(number, writer, stack, class, parent, place)| {
            Frame::Object { number, writer, stack, class, parent, place }
        }),
        any::<(u32, u32, String, String)>().prop_map(|(number, object, place, field)| Frame::Slot {
            number,
            object,
            place,
            field
        }),
        any::<(u32, String)>().prop_map(|(slot, text)| Frame::Element { slot, text }),
        any::<(u32, u32, u32, u32, u32, bool)>().prop_map(|(actor, slot, writer, stack, pending_stack, is_empty)| {
            Frame::Read { actor, slot, writer, stack, pending_stack, is_empty }
        }),
        any::<(u32, u32, u32, bool, bool, bool)>().prop_map(
            |(actor, slot, stack, is_lazy, is_unchanged, is_by_initializer)| {
                Frame::Write { actor, slot, stack, is_lazy, is_unchanged, is_by_initializer }
            }
        ),
        any::<(u32, u32)>().prop_map(|(slot, writer)| Frame::Restored { slot, writer }),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        5 => heap_frame(),
        1 => (kind(), any::<(u32, u32, String, String)>())
            .prop_map(|(kind, (number, parent, name, detail))| Frame::Actor { number, kind, parent, name, detail }),
        1 => (status(), any::<(u32, u64, String, String)>())
            .prop_map(|(status, (actor, nanos, message, trace))| Frame::Outcome { actor, status, nanos, message, trace }),
        1 => any::<(String, String)>().prop_map(|(kind, text)| Frame::Note { kind, text }),
        1 => any::<(u32, u64)>().prop_map(|(actor, nanos)| Frame::Started { actor, nanos }),
        1 => launch().prop_map(|launch| Frame::Launch { launch }),
        1 => any::<(String, String)>().prop_map(|(name, value)| Frame::Property { name, value }),
        1 => (withheld_kind(), any::<String>()).prop_map(|(kind, name)| Frame::Withheld { kind, name }),
        1 => any::<(String, String)>().prop_map(|(test, unique_id)| Frame::Selector { test, unique_id }),
        1 => any::<(u32, String, String, String)>()
            .prop_map(|(number, class, name, file)| Frame::Method { number, class, name, file }),
        1 => (any::<u32>(), stack_frames()).prop_map(|(number, frames)| Frame::Stack { number, frames }),
        1 => any::<(String, String, String)>()
            .prop_map(|(class, method, reason)| Frame::Refusal { class, method, reason }),
        1 => Just(Frame::End {}),
    ]
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    prop::collection::vec(frame(), 0..12)
}

fn trace(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Frame::HEADER.to_vec();
    bytes.extend(frames.iter().flat_map(Frame::encode));
    bytes
}

/// Reads until the reader wants more bytes; an error counts as the end.
fn read_all(reader: &mut Reader<Frame>) -> Result<Vec<Frame>, WireError> {
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        frames.push(frame);
    }
    Ok(frames)
}

/// What comes out when the bytes arrive in chunks of these sizes, over and over.
fn read_in_chunks(bytes: &[u8], sizes: &[usize]) -> Result<(Vec<Frame>, usize), WireError> {
    let mut reader = Reader::<Frame>::new();
    let (mut found, mut rest) = (Vec::new(), bytes);
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, later) = rest.split_at(size.min(rest.len()));
        rest = later;
        reader.feed(chunk);
        found.extend(read_all(&mut reader)?);
    }
    Ok((found, reader.unread()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_are_read_as_they_were_written(frames in frames(), sizes in prop::collection::vec(1..40usize, 1..8)) {
        prop_assert_eq!(read_in_chunks(&trace(&frames), &sizes), Ok((frames, 0)));
    }

    #[test]
    fn a_trace_that_was_cut_off_gives_the_frames_before_the_cut(frames in frames(), cut in any::<prop::sample::Index>()) {
        let bytes = trace(&frames);
        let length = cut.index(bytes.len() + 1);
        let mut whole = 0;
        let mut end = Frame::HEADER.len();
        for frame in &frames {
            end += frame.encode().len();
            whole += usize::from(end <= length);
        }
        let mut reader = Reader::<Frame>::new();
        reader.feed(&bytes[..length]);
        prop_assert_eq!(read_all(&mut reader), Ok(frames[..whole].to_vec()));
        prop_assert_eq!(reader.next_frame(), Ok(None));
        reader.feed(&bytes[length..]);
        prop_assert_eq!(read_all(&mut reader), Ok(frames[whole..].to_vec()), "it goes on when the rest arrives");
        prop_assert_eq!(reader.unread(), 0);
    }

    #[test]
    fn a_damaged_trace_never_panics(
        frames in frames(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = trace(&frames);
        for (index, value) in damage {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        let _ = read_in_chunks(&bytes, &[7]);
    }
}

/// A frame around any body: the tag and the fields are what the reader has to doubt.
fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = Frame::HEADER.to_vec();
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(body);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(5_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_in_chunks(&bytes, &[3]);
        let _ = read_in_chunks(&[&Frame::HEADER, bytes.as_slice()].concat(), &[50]);
    }

    #[test]
    fn an_arbitrary_body_is_refused_or_is_a_frame_that_survives(
        tag in 0..30u8,
        fields in prop::collection::vec(prop_oneof![3 => 0..5u8, 1 => any::<u8>()], 0..60),
    ) {
        let bytes = framed(&[&[tag], fields.as_slice()].concat());
        if let Ok((frames, unread)) = read_in_chunks(&bytes, &[bytes.len()]) {
            prop_assert_eq!((frames.len(), unread), (1, 0));
            prop_assert_eq!(read_in_chunks(&trace(&frames), &[1]), Ok((frames, 0)));
        }
    }
}

#[test]
fn the_header_names_the_version() {
    assert_eq!(u32::from(Frame::HEADER[Frame::HEADER.len() - 1]), VERSION);
}

#[test]
fn another_header_is_refused() {
    let mut reader = Reader::<Frame>::new();
    let mut other = Frame::HEADER;
    other[Frame::HEADER.len() - 1] += 1;
    reader.feed(&other);
    assert_eq!(reader.next_frame(), Err(WireError::BadHeader));
}

#[test]
fn an_unknown_tag_is_named() {
    let found = read_in_chunks(&framed(&[99]), &[100]);
    assert_eq!(found, Err(WireError::UnknownTag { tag: 99 }));
}

#[test]
fn a_count_beyond_the_frame_is_refused_without_asking_for_memory() {
    // A stack of 2^32 - 1 frames in seven bytes.
    let stack = [21, 1, 0xff, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(read_in_chunks(&framed(&stack), &[100]), Err(WireError::BadFrame { tag: 21 }));
}

#[test]
fn only_secret_properties_are_replaced_among_other_frames() {
    let property = |name: &str, value: &str| Frame::Property { name: name.to_owned(), value: value.to_owned() };
    let note = Frame::Note { kind: "a".to_owned(), text: "b".to_owned() };
    let encoded = |frames: &[Frame]| frames.iter().flat_map(Frame::encode).collect::<Vec<u8>>();
    let secrets = Secrets::new(&Rules::new(["*PASSWORD*".to_owned()]));
    let plain = encoded(&[note.clone(), property("user.name", "x")]);
    assert_eq!(with_properties(&plain, |frame| secrets.frame(frame)), None);
    let mixed = encoded(&[note.clone(), property("db.password", "hunter2"), property("user.name", "x"), note.clone()]);
    let withheld = Frame::Withheld { kind: WithheldKind::Property, name: "db.password".to_owned() };
    let expected = encoded(&[note.clone(), withheld, property("user.name", "x"), note]);
    assert_eq!(with_properties(&mixed, |frame| secrets.frame(frame)), Some(expected));
}

fn worker_frame() -> impl Strategy<Value = WorkerFrame> {
    let status = prop::sample::select(vec![
        EndStatus::Passed,
        EndStatus::Failed,
        EndStatus::Aborted,
        EndStatus::Skipped,
        EndStatus::Missing,
    ]);
    prop_oneof![
        any::<(String, u32)>().prop_map(|(class, lines)| WorkerFrame::ClassStarted { class, lines }),
        any::<String>().prop_map(|id| WorkerFrame::Started { id }),
        (status, any::<(String, u64, String)>()).prop_map(|(status, (id, nanos, message))| WorkerFrame::Ended {
            id,
            status,
            nanos,
            message
        }),
        Just(WorkerFrame::FieldsEnded {}),
        Just(WorkerFrame::Done {}),
    ]
}

proptest! {
    #[test]
    fn what_workers_tell_survives_however_it_is_cut(
        frames in prop::collection::vec(worker_frame(), 0..12),
        size in 1..40usize,
    ) {
        let bytes = frames.iter().fold(WorkerFrame::HEADER.to_vec(), |bytes, frame| [bytes, frame.encode()].concat());
        let mut reader = Reader::<WorkerFrame>::new();
        let mut found = Vec::new();
        for chunk in bytes.chunks(size) {
            reader.feed(chunk);
            while let Some(frame) = reader.next_frame().unwrap() {
                found.push(frame);
            }
        }
        prop_assert_eq!(found, frames);
    }
}
