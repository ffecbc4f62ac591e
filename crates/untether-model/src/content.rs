//! Hashes of contents that are kept: the same in every release, on every machine, and wide enough not to meet by chance.
//!
//! (`std::hash` promises none of that: neither its hasher nor what a type feeds to it.) Every part is fed with its length,
//! so that parts cannot run into each other.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

/// 128 bits, shown as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContentHash(u128);

impl ContentHash {
    /// The hash of one piece of content.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::default();
        hasher.bytes(bytes);
        hasher.finish()
    }

    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Takes contents in part by part.
#[derive(Clone, Default)]
pub struct ContentHasher(Xxh3);

impl ContentHasher {
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// As many texts as there are, and that many.
    pub fn texts<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>) {
        let texts = texts.into_iter();
        self.number(texts.len() as u64);
        texts.for_each(|text| self.text(text.as_ref()));
    }

    pub fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    pub fn hash(&mut self, hash: ContentHash) {
        self.0.update(&hash.0.to_le_bytes());
    }

    pub fn finish(&self) -> ContentHash {
        ContentHash(self.0.digest128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_same_in_every_release() {
        let mut hasher = ContentHasher::default();
        hasher.texts(["one", "two"]);
        hasher.number(7);
        hasher.hash(ContentHash::of(b"three"));
        assert_eq!(hasher.finish().to_string(), "a6736cb2324397351dc6ae6b75e49e1b");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let of = |texts: &[&str]| {
            let mut hasher = ContentHasher::default();
            hasher.texts(texts);
            hasher.finish()
        };
        let all = [of(&["ab", "c"]), of(&["a", "bc"]), of(&["abc"]), of(&["abc", ""]), of(&[])];
        for (number, one) in all.iter().enumerate() {
            assert!(all[..number].iter().all(|other| other != one), "{number}");
        }
    }
}
