//! Methods of the JDK whose bodies a compiler replaces by code of its own once they are hot: probes
//! inside them would fall silent, so the arrays that they touch are shown at the call.
//!
//! Only those that can meet an array of the program are listed. What else is replaced works on
//! immutable values, or beside fields of the same object that are probed anyway.

/// A replaced method and which of its parameters (not counting the receiver) it reads and writes.
pub(crate) struct Bypass {
    owner: &'static [u8],
    name: &'static [u8],
    /// How the descriptor starts.
    parameters: &'static [u8],
    pub(crate) reads: &'static [usize],
    pub(crate) writes: &'static [usize],
}

const fn reads(
    owner: &'static [u8],
    name: &'static [u8],
    parameters: &'static [u8],
    reads: &'static [usize],
) -> Bypass {
    Bypass { owner, name, parameters, reads, writes: &[] }
}

const fn copies(
    owner: &'static [u8],
    name: &'static [u8],
    parameters: &'static [u8],
    from: &'static [usize],
    to: &'static [usize],
) -> Bypass {
    Bypass { owner, name, parameters, reads: from, writes: to }
}

const ARRAYS: &[u8] = b"java/util/Arrays";
const SUPPORT: &[u8] = b"jdk/internal/util/ArraysSupport";
const SORT: &[u8] = b"java/util/DualPivotQuicksort";
const WIDE: &[u8] = b"java/lang/StringUTF16";
const NARROW: &[u8] = b"java/lang/StringLatin1";

const BYPASSES: &[Bypass] = &[
    reads(ARRAYS, b"copyOf", b"([Ljava/lang/Object;ILjava/lang/Class;)", &[0]),
    reads(ARRAYS, b"copyOfRange", b"([Ljava/lang/Object;IILjava/lang/Class;)", &[0]),
    reads(ARRAYS, b"equals", b"([B[B)", &[0, 1]),
    reads(ARRAYS, b"equals", b"([C[C)", &[0, 1]),
    reads(SUPPORT, b"vectorizedMismatch", b"(Ljava/lang/Object;J", &[0, 2]),
    reads(SUPPORT, b"vectorizedHashCode", b"(Ljava/lang/Object;I", &[0]),
    copies(SORT, b"sort", b"(Ljava/lang/Class;Ljava/lang/Object;J", &[1], &[1]),
    copies(SORT, b"partition", b"(Ljava/lang/Class;Ljava/lang/Object;J", &[1], &[1]),
    reads(WIDE, b"compress", b"([C", &[0]),
    reads(WIDE, b"toBytes", b"([C", &[0]),
    copies(WIDE, b"getChars", b"([BII[C", &[], &[3]),
    copies(NARROW, b"inflate", b"([BI[C", &[], &[2]),
    copies(b"java/lang/StringCoding", b"implEncodeISOArray", b"([CI[B", &[0], &[2]),
    copies(b"sun/nio/cs/ISO_8859_1$Encoder", b"implEncodeISOArray", b"([CI[B", &[0], &[2]),
    copies(b"java/util/Base64$Encoder", b"encodeBlock", b"([BII[B", &[0], &[3]),
    copies(b"java/util/Base64$Decoder", b"decodeBlock", b"([BII[B", &[0], &[3]),
    reads(b"java/util/zip/CRC32C", b"updateBytes", b"(I[B", &[1]),
    reads(b"sun/security/provider/MD5", b"implCompress0", b"([BI", &[0]),
    reads(b"sun/security/provider/SHA", b"implCompress0", b"([BI", &[0]),
    reads(b"sun/security/provider/SHA2", b"implCompress0", b"([BI", &[0]),
    reads(b"sun/security/provider/SHA3", b"implCompress0", b"([BI", &[0]),
    reads(b"sun/security/provider/SHA5", b"implCompress0", b"([BI", &[0]),
    reads(b"sun/security/provider/DigestBase", b"implCompressMultiBlock0", b"([BI", &[0]),
];

/// The entry of the method that a call names, if its body may be replaced.
pub(crate) fn find(owner: &[u8], name: &[u8], descriptor: &[u8]) -> Option<&'static Bypass> {
    let is_candidate = owner.starts_with(b"java/") || owner.starts_with(b"jdk/") || owner.starts_with(b"sun/");
    BYPASSES
        .iter()
        .filter(|_| is_candidate)
        .find(|bypass| bypass.owner == owner && bypass.name == name && descriptor.starts_with(bypass.parameters))
}
