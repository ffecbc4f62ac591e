//! Methods of the JDK that have no body, or one that a compiler replaces by code of its own once they are hot: probes
//! inside them would fall silent, so the parts of arrays that they touch are shown at the call.
//!
//! Only those that can meet an array of the program are listed. What else is replaced works on
//! immutable values, or beside fields of the same object that are probed anyway.

/// Which part of an array is touched, by the positions of the parameters that say so (not counting the receiver).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// So many elements from the beginning.
    First {
        length: usize,
    },
    /// So many elements from one on.
    Length {
        from: usize,
        length: usize,
    },
    /// Up to, but not including, another.
    To {
        from: usize,
        to: usize,
    },
    /// As many elements as lie between two others, of another array.
    Like {
        from: usize,
        begin: usize,
        end: usize,
    },
    /// A fixed number of elements.
    Block {
        from: usize,
        length: u8,
    },
}

/// A parameter that is an array, and what of it is touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) array: usize,
    pub(crate) part: Part,
}

/// A replaced method and which of its parameters it reads and writes.
pub(crate) struct Bypass {
    owner: &'static [u8],
    name: &'static [u8],
    /// How the descriptor starts.
    parameters: &'static [u8],
    pub(crate) reads: &'static [Touch],
    pub(crate) writes: &'static [Touch],
    /// Whether it returns how many elements it wrote, of those that it could have.
    pub(crate) is_counted: bool,
}

const fn reads(
    owner: &'static [u8],
    name: &'static [u8],
    parameters: &'static [u8],
    reads: &'static [Touch],
) -> Bypass {
    Bypass { owner, name, parameters, reads, writes: &[], is_counted: false }
}

const fn copies(
    owner: &'static [u8],
    name: &'static [u8],
    parameters: &'static [u8],
    reads: &'static [Touch],
    writes: &'static [Touch],
) -> Bypass {
    Bypass { owner, name, parameters, reads, writes, is_counted: false }
}

const fn fills(
    owner: &'static [u8],
    name: &'static [u8],
    parameters: &'static [u8],
    writes: &'static [Touch],
) -> Bypass {
    Bypass { owner, name, parameters, reads: &[], writes, is_counted: true }
}

const fn whole(array: usize) -> Touch {
    Touch { array, part: Part::Whole }
}

const fn first(array: usize, length: usize) -> Touch {
    Touch { array, part: Part::First { length } }
}

const fn some(array: usize, from: usize, length: usize) -> Touch {
    Touch { array, part: Part::Length { from, length } }
}

const fn between(array: usize, from: usize, to: usize) -> Touch {
    Touch { array, part: Part::To { from, to } }
}

const fn block(array: usize, from: usize, length: u8) -> Touch {
    Touch { array, part: Part::Block { from, length } }
}

const ARRAYS: &[u8] = b"java/util/Arrays";
const SUPPORT: &[u8] = b"jdk/internal/util/ArraysSupport";
const SORT: &[u8] = b"java/util/DualPivotQuicksort";
const WIDE: &[u8] = b"java/lang/StringUTF16";
const NARROW: &[u8] = b"java/lang/StringLatin1";
const DIGEST: &[u8] = b"sun/security/provider/DigestBase";

const INFLATER: &[u8] = b"java/util/zip/Inflater";
const DEFLATER: &[u8] = b"java/util/zip/Deflater";

const BYPASSES: &[Bypass] = &[
    reads(ARRAYS, b"copyOf", b"([Ljava/lang/Object;ILjava/lang/Class;)", &[first(0, 1)]),
    reads(ARRAYS, b"copyOfRange", b"([Ljava/lang/Object;IILjava/lang/Class;)", &[between(0, 1, 2)]),
    reads(ARRAYS, b"equals", b"([B[B)", &[whole(0), whole(1)]),
    reads(ARRAYS, b"equals", b"([C[C)", &[whole(0), whole(1)]),
    reads(SUPPORT, b"vectorizedMismatch", b"(Ljava/lang/Object;J", &[whole(0), whole(2)]),
    reads(SUPPORT, b"vectorizedHashCode", b"(Ljava/lang/Object;II", &[some(0, 1, 2)]),
    copies(SORT, b"sort", b"(Ljava/lang/Class;Ljava/lang/Object;JII", &[between(1, 3, 4)], &[between(1, 3, 4)]),
    copies(SORT, b"partition", b"(Ljava/lang/Class;Ljava/lang/Object;JII", &[between(1, 3, 4)], &[between(1, 3, 4)]),
    reads(WIDE, b"compress", b"([CII)", &[some(0, 1, 2)]),
    copies(WIDE, b"compress", b"([CI[BII)", &[some(0, 1, 4)], &[some(2, 3, 4)]),
    reads(WIDE, b"toBytes", b"([CII)", &[some(0, 1, 2)]),
    copies(WIDE, b"getChars", b"([BII[CI)", &[], &[Touch { array: 3, part: Part::Like { from: 4, begin: 1, end: 2 } }]),
    copies(NARROW, b"inflate", b"([BI[CII)", &[], &[some(2, 3, 4)]),
    copies(b"java/lang/StringCoding", b"implEncodeISOArray", b"([CI[BII)", &[some(0, 1, 4)], &[some(2, 3, 4)]),
    copies(b"sun/nio/cs/ISO_8859_1$Encoder", b"implEncodeISOArray", b"([CI[BII)", &[some(0, 1, 4)], &[some(2, 3, 4)]),
    copies(b"java/util/Base64$Encoder", b"encodeBlock", b"([BII[B", &[between(0, 1, 2)], &[whole(3)]),
    copies(b"java/util/Base64$Decoder", b"decodeBlock", b"([BII[B", &[between(0, 1, 2)], &[whole(3)]),
    reads(b"java/util/zip/CRC32C", b"updateBytes", b"(I[BII)", &[between(1, 2, 3)]),
    reads(b"sun/security/provider/MD5", b"implCompress0", b"([BI", &[block(0, 1, 64)]),
    reads(b"sun/security/provider/SHA", b"implCompress0", b"([BI", &[block(0, 1, 64)]),
    reads(b"sun/security/provider/SHA2", b"implCompress0", b"([BI", &[block(0, 1, 64)]),
    reads(b"sun/security/provider/SHA3", b"implCompress0", b"([BI", &[whole(0)]),
    reads(b"sun/security/provider/SHA5", b"implCompress0", b"([BI", &[block(0, 1, 128)]),
    // Native: what they do to arrays is seen nowhere else.
    fills(b"java/io/FileInputStream", b"readBytes", b"([BII)I", &[some(0, 1, 2)]),
    reads(b"java/io/FileOutputStream", b"writeBytes", b"([BIIZ)", &[some(0, 1, 2)]),
    fills(b"java/io/RandomAccessFile", b"readBytes", b"([BII)I", &[some(0, 1, 2)]),
    reads(b"java/io/RandomAccessFile", b"writeBytes", b"([BII)", &[some(0, 1, 2)]),
    reads(b"java/util/zip/CRC32", b"updateBytes", b"(I[BII)", &[some(1, 2, 3)]),
    reads(b"java/util/zip/Adler32", b"updateBytes", b"(I[BII)", &[some(1, 2, 3)]),
    copies(INFLATER, b"inflateBytesBytes", b"(J[BII[BII)", &[some(1, 2, 3)], &[some(4, 5, 6)]),
    copies(INFLATER, b"inflateBufferBytes", b"(JJI[BII)", &[], &[some(3, 4, 5)]),
    reads(INFLATER, b"inflateBytesBuffer", b"(J[BII", &[some(1, 2, 3)]),
    copies(DEFLATER, b"deflateBytesBytes", b"(J[BII[BII", &[some(1, 2, 3)], &[some(4, 5, 6)]),
    copies(DEFLATER, b"deflateBufferBytes", b"(JJI[BII", &[], &[some(3, 4, 5)]),
    reads(DEFLATER, b"deflateBytesBuffer", b"(J[BII", &[some(1, 2, 3)]),
    reads(DIGEST, b"implCompressMultiBlock0", b"([BII)", &[between(0, 1, 2)]),
];

/// The entry of the method that a call names, if its body may be replaced.
pub(crate) fn find(owner: &[u8], name: &[u8], descriptor: &[u8]) -> Option<&'static Bypass> {
    let is_candidate = owner.starts_with(b"java/") || owner.starts_with(b"jdk/") || owner.starts_with(b"sun/");
    BYPASSES
        .iter()
        .filter(|_| is_candidate)
        .find(|bypass| bypass.owner == owner && bypass.name == name && descriptor.starts_with(bypass.parameters))
}
