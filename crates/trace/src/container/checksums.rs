//! Checksums of a file, and whether they are looked at.

/// Checksums that have to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksums {
    /// All of them.
    Fit,
    /// None: for a fuzzer, which would seldom get past them. What lies behind has to bear any bytes.
    Ignored,
}

impl Checksums {
    /// Whether `crc32` is the checksum of `bytes`, where that matters.
    pub(super) fn fit(self, crc32: u32, bytes: &[u8]) -> bool {
        self == Checksums::Ignored || crc32fast::hash(bytes) == crc32
    }
}
