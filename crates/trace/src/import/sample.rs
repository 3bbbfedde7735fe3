//! The beginning of a file, which determines its format and settles what the options leave open.

use super::compressed::Input;
use super::records::{is_blank, is_head};
use crate::TraceError;

/// How much of the first files is looked at.
const SAMPLE: usize = 256 << 10;

/// Rows that are judged at most.
const ROWS_MAX: usize = 8 << 10;

/// The beginning of a file.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The file as the user named it.
    pub file: String,
    /// Its first bytes, unpacked.
    bytes: Vec<u8>,
    /// Start and end of each line in them, without comments and empty ones.
    lines: Vec<(usize, usize)>,
}

impl Sample {
    /// Looks at the beginning of `input`.
    ///
    /// # Errors
    /// [`TraceError`] when it cannot be read.
    pub fn of(input: &mut Input) -> Result<Sample, TraceError> {
        let file = input.name().to_owned();
        let bytes = input.peek(SAMPLE)?.to_vec();
        let broken = input.is_broken();
        let mut lines = Vec::new();
        let mut from = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        while from < bytes.len() && lines.len() < ROWS_MAX {
            let end = memchr::memchr(b'\n', &bytes[from..]).map(|at| from + at);
            // A line that the sample cuts off says nothing.
            if end.is_none() && (bytes.len() == SAMPLE || broken) {
                break;
            }
            let to = end.unwrap_or(bytes.len());
            let line = bytes[from..to].strip_suffix(b"\r").unwrap_or(&bytes[from..to]);
            if !is_blank(line) {
                lines.push((from, from + line.len()));
            }
            from = to + 1;
        }
        Ok(Sample { file, bytes, lines })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its lines, without comments, empty ones, and one that is cut off.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().map(|(from, to)| &self.bytes[*from..*to])
    }

    /// True when it is not text.
    pub fn is_binary(&self) -> bool {
        self.bytes.iter().take(4096).any(|byte| *byte < 9 || (14..27).contains(byte))
    }

    /// True when more than half of its lines pass `is_row`, apart from a head.
    pub fn mostly(&self, mut is_row: impl FnMut(&[u8]) -> bool) -> bool {
        let fits = self.lines().filter(|line| is_row(line)).count();
        let head = self.lines().next().is_some_and(is_head);
        fits > 0 && 2 * fits > self.lines.len() - usize::from(head)
    }
}
