//! Label of a trace file, after its first four bytes.

use super::checksums::Checksums;

/// Version of the format that is written. A reader knows this one and those before.
pub const VERSION: u32 = 1;

/// How every Parquet file begins and ends.
pub(super) const PARQUET: &[u8] = b"PAR1";

/// How a label begins.
pub(super) const MAGIC: &[u8; 16] = b"drivescope trace";

/// The label of a file: 44 bytes, numbers in little endian.
///
/// | bytes | what |
/// |---|---|
/// | 0..16 | `drivescope trace` |
/// | 16..20 | version of the format |
/// | 20..28 | length of the whole file in bytes; 0 in one that was not finished |
/// | 28..36 | where the tail begins: all that follows the last row group |
/// | 36..40 | CRC-32 of the tail |
/// | 40..44 | CRC-32 of the 40 bytes before |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Version of the format.
    pub version: u32,
    /// Length of the whole file in bytes; 0 in one that was not finished.
    pub file_bytes: u64,
    /// Offset of the tail, which is all that follows the last row group, in bytes.
    pub tail_at: u64,
    /// CRC-32 of what follows the last row group.
    pub tail_crc32: u32,
}

impl Label {
    /// First byte behind the label.
    pub const END: usize = 48;

    /// Its length in bytes.
    const LENGTH: usize = Label::END - PARQUET.len();

    /// Of a file that is being written.
    pub(super) const UNFINISHED: Label =
        Label { version: VERSION, file_bytes: 0, tail_at: 0, tail_crc32: 0 };

    /// Its bytes in the file.
    pub(super) fn bytes(&self) -> [u8; Label::LENGTH] {
        let mut bytes = [0; Label::LENGTH];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..20].copy_from_slice(&self.version.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.file_bytes.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.tail_at.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.tail_crc32.to_le_bytes());
        let crc32 = crc32fast::hash(&bytes[..40]);
        bytes[40..].copy_from_slice(&crc32.to_le_bytes());
        bytes
    }

    /// Of the first bytes of a file.
    ///
    /// # Errors
    /// What is wrong with them, as a sentence, and at which byte.
    pub(super) fn parse(first: &[u8], checksums: Checksums) -> Result<Label, (u64, &'static str)> {
        if !first.starts_with(PARQUET) {
            return Err((0, "does not begin as a Parquet file does (`PAR1`)"));
        }
        let magic = first.get(PARQUET.len()..PARQUET.len() + MAGIC.len());
        if magic.is_none_or(|magic| magic != MAGIC) {
            return Err((4, NOT_OURS));
        }
        let Some(label) = first.get(PARQUET.len()..Label::END) else {
            return Err((
                first.len() as u64,
                "ends within the label that each such file begins with",
            ));
        };
        let four = |at: usize| {
            u32::from_le_bytes([label[at], label[at + 1], label[at + 2], label[at + 3]])
        };
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        if !checksums.fit(four(40), &label[..40]) {
            return Err((4, "the label is damaged: its checksum does not fit"));
        }
        Ok(Label {
            version: four(16),
            file_bytes: eight(20),
            tail_at: eight(28),
            tail_crc32: four(36),
        })
    }
}

const NOT_OURS: &str = "a Parquet file, but not a trace as `drivescope trace` writes it (or one that other \
    software has written again); to read it, write it out as CSV and import that with a column map";
