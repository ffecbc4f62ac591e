//! Damaged class files, the same in every run, and a watch over the code that has to bear them.

use std::ops::Range;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use untether_classfile::ClassFile;

use super::{Class, codes};

/// Far beyond what any class takes, however busy the machine.
const HANG: Duration = Duration::from_secs(60);

/// Numbers that sit at the limits of the format's fields.
const EXTREMES: [u32; 8] = [0, 1, 0x7f, 0xff, 0x7fff, 0x8000, 0xffff, u32::MAX];

/// Instructions that compilers seldom or never write: wide ones at the limits of their operands, switches
/// without end, jumps out of the method, `jsr` and `ret`.
const RARITIES: [&[u8]; 10] = [
    &[0xc4, 0x37, 0xff, 0xff],
    &[0xc4, 0x3a, 0xff, 0xff],
    &[0xc4, 0x19, 0xff, 0xff],
    &[0xc4, 0x84, 0xff, 0xff, 0x80, 0x00],
    &[0xc4, 0xa9, 0x00, 0x01],
    &[0xaa, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff],
    &[0xab, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff],
    &[0xc8, 0x80, 0x00, 0x00, 0x00],
    &[0xa8, 0x00, 0x03],
    &[0xc5, 0x00, 0x01, 0xff],
];

/// Xorshift64: good enough to choose places, and always the same choice.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }

    fn place(&mut self, within: &Range<usize>) -> usize {
        within.start + self.below(within.len())
    }
}

/// `class` with one to four pieces of damage; `donor` gives the bytes of splices.
pub fn mutate(class: &[u8], donor: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = class.to_vec();
    for _ in 0..=random.below(4) {
        // Damage to a method body gets past the reading of the class, damage elsewhere seldom does.
        let bodies = if random.below(3) > 0 { bodies(&bytes) } else { Vec::new() };
        let within = match bodies.len() {
            0 => 0..bytes.len(),
            count => bodies[random.below(count)].clone(),
        };
        damage(&mut bytes, &within, donor, random);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, within: &Range<usize>, donor: &[u8], random: &mut Random) {
    let at = random.place(within);
    match random.below(9) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => set(bytes, at, &[random.below(256) as u8]),
        2 => set(bytes, at, &(EXTREMES[random.below(EXTREMES.len())] as u16).to_be_bytes()),
        3 => set(bytes, at, &EXTREMES[random.below(EXTREMES.len())].to_be_bytes()),
        8 => set(bytes, at, RARITIES[random.below(RARITIES.len())]),
        4 if random.below(4) == 0 => bytes.truncate(at),
        4 | 5 => {
            let start = random.below(donor.len());
            let length = random.below(64).min(donor.len() - start);
            set(bytes, at, &donor[start..start + length]);
        }
        6 => {
            let end = (at + random.below(16)).min(bytes.len());
            bytes.drain(at.min(end)..end);
        }
        _ => {
            let end = (at + random.below(16)).min(bytes.len());
            let copy = bytes[at.min(end)..end].to_vec();
            bytes.splice(at.min(end)..at.min(end), copy);
        }
    }
}

fn set(bytes: &mut [u8], at: usize, new: &[u8]) {
    for (old, new) in bytes.iter_mut().skip(at).zip(new) {
        *old = *new;
    }
}

/// Where in the file the contents of the `Code` attributes lie.
fn bodies(bytes: &[u8]) -> Vec<Range<usize>> {
    let Ok(class) = ClassFile::parse(bytes) else { return Vec::new() };
    let start = bytes.as_ptr() as usize;
    codes(&class)
        .map(|(_, content)| {
            let offset = content.as_ptr() as usize - start;
            offset..offset + content.len()
        })
        .filter(|body| !body.is_empty())
        .collect()
}

/// Runs `exercise` on `mutations` damaged copies of each class and names the one that panics or hangs.
pub fn endure(classes: Vec<Class>, mutations: u64, exercise: impl Fn(&[u8]) + Send + 'static) {
    let (sender, receiver) = channel();
    let worker = thread::spawn(move || {
        for (index, class) in classes.iter().enumerate() {
            for mutation in 0..mutations {
                let mut random = Random::new(index as u64 * mutations + mutation + 1);
                let donor = &classes[random.below(classes.len())];
                let bytes = mutate(&class.bytes, &donor.bytes, &mut random);
                sender.send(format!("mutation {mutation} of {}", class.name)).unwrap();
                exercise(&bytes);
            }
        }
    });
    let mut current = String::new();
    loop {
        match receiver.recv_timeout(HANG) {
            Ok(next) => current = next,
            Err(RecvTimeoutError::Timeout) => panic!("{current} did not end within {HANG:?}"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    assert!(worker.join().is_ok(), "{current} panicked");
}
