//! What a JVM and its children tell of files arrives as it was meant, wherever the file is cut off.

use proptest::prelude::*;
use untether_wire::{Condition, Deed, ExternalFrame, Reader, Thing, Wire as _, path_bytes};

fn deed() -> impl Strategy<Value = Deed> {
    prop::sample::select(vec![
        Deed::Looked,
        Deed::Asked,
        Deed::Read,
        Deed::Listed,
        Deed::Wrote,
        Deed::Created,
        Deed::Removed,
        Deed::Changed,
        Deed::Bound,
        Deed::Reached,
    ])
}

fn condition() -> impl Strategy<Value = Condition> {
    let things = vec![Thing::Unknown, Thing::Absent, Thing::File, Thing::Directory, Thing::Other];
    (prop::sample::select(things), any::<u64>(), any::<u64>()).prop_map(|(thing, high, low)| Condition {
        thing,
        high,
        low,
    })
}

fn frame() -> impl Strategy<Value = ExternalFrame> {
    let done = (any::<[u32; 3]>(), deed(), any::<String>(), condition(), any::<bool>(), any::<[u64; 2]>()).prop_map(
        |([process, actor, stack], deed, name, before, is_whole, [device, inode])| ExternalFrame::Done {
            process,
            actor,
            deed,
            name,
            before,
            is_whole,
            device,
            inode,
            stack,
        },
    );
    let after = (any::<u32>(), any::<String>(), condition()).prop_map(|(actor, name, after)| ExternalFrame::After {
        actor,
        name,
        after,
    });
    let child = (any::<[u32; 2]>(), any::<String>()).prop_map(|([process, actor], command)| ExternalFrame::Child {
        process,
        actor,
        command,
    });
    let unobserved = (any::<u32>(), any::<[String; 2]>())
        .prop_map(|(actor, [command, reason])| ExternalFrame::Unobserved { actor, command, reason });
    prop_oneof![done, after, child, unobserved, any::<u32>().prop_map(|actor| ExternalFrame::Acts { actor })]
}

proptest! {
    #[test]
    fn frames_survive_and_a_cut_costs_only_what_is_behind_it(
        frames in prop::collection::vec(frame(), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = ExternalFrame::HEADER.to_vec();
        let mut ends = Vec::new();
        for frame in &frames {
            bytes.extend(frame.encode());
            ends.push(bytes.len());
        }
        for length in [bytes.len(), cut.index(bytes.len() + 1)] {
            let mut reader = Reader::<ExternalFrame>::new();
            reader.feed(&bytes[..length]);
            let mut read = Vec::new();
            while let Some(frame) = reader.next_frame().unwrap() {
                read.push(frame);
            }
            let whole = ends.iter().filter(|end| **end <= length).count();
            prop_assert_eq!(&read[..], &frames[..whole]);
        }
    }

    #[test]
    fn damaged_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut reader = Reader::<ExternalFrame>::new();
        reader.feed(&ExternalFrame::HEADER);
        reader.feed(&bytes);
        while let Ok(Some(_)) = reader.next_frame() {}
    }

    #[test]
    fn any_text_is_some_path(text in any::<String>()) {
        let bytes = path_bytes(&text);
        prop_assert!(bytes.len() <= text.len());
    }
}

#[test]
fn bytes_that_are_no_text_come_back() {
    assert_eq!(path_bytes(r"/tmp/caf\xe9 \\ d"), b"/tmp/caf\xe9 \\ d");
    assert_eq!(path_bytes("/tmp/café"), "/tmp/café".as_bytes());
}
