//! Texts that are refused.

use thiserror::Error;

/// Longest text that is read. The largest output of flashbench, 65,536 points, is under 2 MiB.
pub const TEXT_BYTES_MAX: usize = 16 << 20;

/// Why a text was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// It is longer than [`TEXT_BYTES_MAX`].
    #[error(
        "{file}: {bytes} bytes are more than any output of flashbench ({TEXT_BYTES_MAX} are read)"
    )]
    TooLong {
        /// The text's name.
        file: String,
        /// Its length.
        bytes: usize,
    },
    /// A table has more rows than there are sizes, or points than flashbench measures.
    #[error("{file}: a table of more than {most} rows, which flashbench does not print")]
    TooManyRows {
        /// The text's name.
        file: String,
        /// As many as are read.
        most: usize,
    },
    /// It has no table.
    #[error(
        "{file}: no table of flashbench found: expected rows like `align 4096 pre 784µs on 788µs post 779µs diff \
         5.85µs` (--align), `4MiB 8.79M/s` (--open-au, --find-fat) or `0.007812 1.660000` (--scatter)"
    )]
    NoTable {
        /// The text's name.
        file: String,
    },
    /// A row inside a table cannot be read.
    #[error("{file}:{line}: expected {expected}, found {found:?}")]
    Row {
        /// The text's name.
        file: String,
        /// From 1.
        line: u32,
        /// Description of the expected text.
        expected: String,
        /// The text found, at most 200 characters of it.
        found: String,
    },
}
