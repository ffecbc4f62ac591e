//! Any bytes as what a watched JVM or a worker wrote: reading never panics, does not depend on how the bytes arrive, and what was
//! read survives being written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use untether_wire::{Frame, Reader, Wire, WireError, WorkerFrame};

/// The frames before the first error, with that error.
fn read<F: Wire>(chunks: &[&[u8]]) -> (Vec<F>, Option<WireError>) {
    let mut reader = Reader::<F>::new();
    let mut frames = Vec::new();
    for chunk in chunks {
        reader.feed(chunk);
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

fn check<F: Wire + Clone + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let _ = read::<F>(&[bytes]);
    let (frames, error) = read::<F>(&[&F::HEADER, bytes]);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(read(&[&F::HEADER, first, second]), (frames.clone(), error));
    let written: Vec<u8> = frames.iter().flat_map(F::encode).collect();
    assert_eq!(read(&[&F::HEADER, &written]), (frames, None));
}

fuzz_target!(|bytes: &[u8]| {
    check::<Frame>(bytes);
    check::<WorkerFrame>(bytes);
});
