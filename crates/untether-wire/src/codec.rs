//! How frames stand in bytes: length (four bytes, little endian), tag, fields. Integers are of variable length; strings are
//! a count of UTF-16 units, each an integer, so that the Java side needs no encoder.
//!
//! A kind of frames is defined once, with [`frames!`]: the enum, both directions, and the shapes from which the Java side is
//! written ([`crate::schema`]).

use std::marker::PhantomData;

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

/// One kind of frames.
pub trait Wire: Sized {
    /// The first bytes of every file, the version last.
    const HEADER: [u8; 8];

    /// Tag and fields.
    fn put(&self, bytes: &mut Vec<u8>);

    fn take(body: Body<'_>) -> Result<Self, WireError>;

    /// The whole frame, length included.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        self.put(&mut bytes);
        let length = (bytes.len() - 4) as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes
    }
}

/// What is left of a frame.
#[derive(Debug)]
pub struct Body<'a> {
    bytes: &'a [u8],
    tag: u8,
}

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Body { bytes, tag: 0 }
    }

    /// The first byte, which says what follows.
    pub(crate) fn tag(&mut self) -> Result<u8, WireError> {
        let Some((&tag, rest)) = self.bytes.split_first() else { return self.bad() };
        (self.bytes, self.tag) = (rest, tag);
        Ok(tag)
    }

    pub(crate) fn bad<T>(&self) -> Result<T, WireError> {
        Err(WireError::BadFrame { tag: self.tag })
    }
}

/// A value in a frame.
pub(crate) trait Field: Sized {
    /// What it is called in Java.
    const JAVA: &'static str;

    fn put(&self, bytes: &mut Vec<u8>);

    fn take(body: &mut Body<'_>) -> Result<Self, WireError>;
}

impl Field for u64 {
    const JAVA: &'static str = "long";

    fn put(&self, bytes: &mut Vec<u8>) {
        let mut value = *self;
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }

    fn take(body: &mut Body<'_>) -> Result<Self, WireError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = body.bytes.split_first() else { return body.bad() };
            body.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        body.bad()
    }
}

impl Field for u32 {
    const JAVA: &'static str = "int";

    fn put(&self, bytes: &mut Vec<u8>) {
        u64::from(*self).put(bytes);
    }

    fn take(body: &mut Body<'_>) -> Result<Self, WireError> {
        u32::try_from(u64::take(body)?).or_else(|_| body.bad())
    }
}

impl Field for bool {
    const JAVA: &'static str = "boolean";

    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn take(body: &mut Body<'_>) -> Result<Self, WireError> {
        match u32::take(body)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => body.bad(),
        }
    }
}

impl Field for String {
    const JAVA: &'static str = "String";

    fn put(&self, bytes: &mut Vec<u8>) {
        (self.encode_utf16().count() as u64).put(bytes);
        for unit in self.encode_utf16() {
            u64::from(unit).put(bytes);
        }
    }

    fn take(body: &mut Body<'_>) -> Result<Self, WireError> {
        let units: Vec<u16> = Vec::take(body)?;
        Ok(String::from_utf16_lossy(&units))
    }
}

impl Field for u16 {
    const JAVA: &'static str = "char";

    fn put(&self, bytes: &mut Vec<u8>) {
        u64::from(*self).put(bytes);
    }

    fn take(body: &mut Body<'_>) -> Result<Self, WireError> {
        u16::try_from(u64::take(body)?).or_else(|_| body.bad())
    }
}

/// Not written by Java, like pairs.
impl<T: Field> Field for Vec<T> {
    const JAVA: &'static str = "";

    fn put(&self, bytes: &mut Vec<u8>) {
        (self.len() as u64).put(bytes);
        self.iter().for_each(|item| item.put(bytes));
    }

    fn take(body: &mut Body<'_>) -> Result<Self, WireError> {
        let count = u32::take(body)? as usize;
        // Each takes a byte at least.
        if count > body.bytes.len() {
            return body.bad();
        }
        (0..count).map(|_| T::take(body)).collect()
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    const JAVA: &'static str = "";

    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
        self.1.put(bytes);
    }

    fn take(body: &mut Body<'_>) -> Result<Self, WireError> {
        Ok((A::take(body)?, B::take(body)?))
    }
}

/// An enum whose values stand in frames as numbers.
macro_rules! codes {
    ($(#[$doc:meta])* pub enum $name:ident { $($(#[$value_doc:meta])* $value:ident = $code:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$value_doc])* $value),*
        }

        impl $name {
            #[allow(dead_code, reason = "for those that Java writes")]
            pub(crate) const CODES: $crate::schema::Codes = (stringify!($name), &[$((stringify!($value), $code)),*]);
        }

        impl $crate::codec::Field for $name {
            const JAVA: &'static str = "int";

            fn put(&self, bytes: &mut Vec<u8>) {
                let code: u32 = match self {
                    $($name::$value => $code),*
                };
                code.put(bytes);
            }

            fn take(body: &mut $crate::codec::Body<'_>) -> Result<Self, $crate::codec::WireError> {
                match u32::take(body)? {
                    $($code => Ok($name::$value),)*
                    _ => body.bad(),
                }
            }
        }
    };
}

/// A struct that stands in frames as its fields.
macro_rules! record {
    ($(#[$doc:meta])* pub struct $name:ident { $($(#[$field_doc:meta])* pub $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type),*
        }

        impl $crate::codec::Field for $name {
            const JAVA: &'static str = "";

            fn put(&self, bytes: &mut Vec<u8>) {
                $(self.$field.put(bytes);)*
            }

            fn take(body: &mut $crate::codec::Body<'_>) -> Result<Self, $crate::codec::WireError> {
                Ok($name { $($field: $crate::codec::Field::take(body)?),* })
            }
        }
    };
}

/// A kind of frames: `TAG SIDE Name { field: Type, ... }`, where the side says who writes it.
macro_rules! frames {
    (
        $(#[$doc:meta])*
        pub enum $name:ident with $header:expr, tags in $tags:ident {
            $($(#[$frame_doc:meta])* $tag:literal $side:ident $frame:ident
                { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? }),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            $($(#[$frame_doc])* $frame { $($(#[$field_doc])* $field: $type),* }),*
        }

        #[expect(non_upper_case_globals, reason = "named like what they stand for")]
        #[allow(dead_code, reason = "most are only used here")]
        pub(crate) mod $tags {
            $(pub(crate) const $frame: u8 = $tag;)*
        }

        impl $name {
            #[allow(dead_code, reason = "for those that Java writes")]
            pub(crate) const SHAPES: &[$crate::schema::Shape] = &[$($crate::schema::Shape {
                name: stringify!($frame),
                tag: $tag,
                side: $crate::schema::Side::$side,
                fields: &[$((stringify!($field), <$type as $crate::codec::Field>::JAVA)),*],
            }),*];
        }

        impl $crate::codec::Wire for $name {
            const HEADER: [u8; 8] = $header;

            fn put(&self, bytes: &mut Vec<u8>) {
                match self {
                    $($name::$frame { $($field),* } => {
                        bytes.push($tags::$frame);
                        $($crate::codec::Field::put($field, bytes);)*
                    })*
                }
            }

            #[allow(unused_mut, reason = "frames without fields")]
            fn take(mut body: $crate::codec::Body<'_>) -> Result<Self, $crate::codec::WireError> {
                Ok(match body.tag()? {
                    $($tags::$frame => $name::$frame { $($field: $crate::codec::Field::take(&mut body)?),* },)*
                    tag => return Err($crate::codec::WireError::UnknownTag { tag }),
                })
            }
        }
    };
}

pub(crate) use {codes, frames, record};

/// Decodes a file that may still be growing or may have been cut off.
#[derive(Debug)]
pub struct Reader<F> {
    pending: Vec<u8>,
    consumed: usize,
    has_header: bool,
    kind: PhantomData<F>,
}

impl<F: Wire> Default for Reader<F> {
    fn default() -> Self {
        Reader { pending: Vec::new(), consumed: 0, has_header: false, kind: PhantomData }
    }
}

impl<F: Wire> Reader<F> {
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
    pub fn next_frame(&mut self) -> Result<Option<F>, WireError> {
        if !self.has_header {
            if self.pending.len() < F::HEADER.len() {
                return Ok(None);
            }
            if self.pending[..F::HEADER.len()] != F::HEADER {
                return Err(WireError::BadHeader);
            }
            self.consumed = F::HEADER.len();
            self.has_header = true;
        }
        let rest = &self.pending[self.consumed..];
        let Some((length, body)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        let Some(body) = body.get(..length) else { return Ok(None) };
        let frame = F::take(Body::new(body))?;
        self.consumed += 4 + length;
        Ok(Some(frame))
    }

    /// Bytes of an unfinished frame at the end.
    pub fn unread(&self) -> usize {
        self.pending.len() - self.consumed
    }
}
