//! Any bytes as a trace: reading never panics, does not depend on how the bytes arrive, and what was
//! read survives being written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use untether_wire::{Frame, FrameReader, FrameWriter, HEADER, WireError};

/// The frames before the first error, with that error.
fn read(chunks: &[&[u8]]) -> (Vec<Frame>, Option<WireError>) {
    let mut reader = FrameReader::new();
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

fuzz_target!(|bytes: &[u8]| {
    let _ = read(&[bytes]);
    let (frames, error) = read(&[&HEADER, bytes]);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!(read(&[&HEADER, first, second]), (frames.clone(), error));
    let written: Vec<u8> = frames.iter().flat_map(FrameWriter::encode).collect();
    assert_eq!(read(&[&HEADER, &written]), (frames, None));
});
