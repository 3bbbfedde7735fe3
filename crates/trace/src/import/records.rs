//! Output of every reader: I/Os as the file has them, one after the other, with other data of the records.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use crate::{Io, Place, Space, TraceError};

use super::compressed::{Input, LINE_MAX, LineError};

/// Most address spaces, and most tasks, that a trace may have. More are none, but a column misread, and each would
/// have to be held in memory.
const NAMES_MAX: usize = 1 << 17;

/// Most faults that are reported word for word.
pub const FAULTS_TOLD: usize = 5;

/// Result of reading one record of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// An I/O. Its times are those of the file's clock; its space is one of [`Told::spaces`].
    Io(Io),
    /// Marked as not an I/O, or without anything that can be kept.
    Ignored,
    /// A head, a comment, an empty line.
    Blank,
    /// There are no more.
    End,
}

/// Why a record was not read.
#[derive(Debug)]
pub enum Trouble {
    /// It is wrong; what follows can be read nevertheless.
    Record {
        /// Its place.
        place: Place,
        /// The problem, and what would be right.
        reason: String,
    },
    /// Nothing more can be read.
    Broken(TraceError),
}

impl From<TraceError> for Trouble {
    fn from(error: TraceError) -> Trouble {
        Trouble::Broken(error)
    }
}

/// The records of one file.
pub trait Records: Send {
    /// The next one.
    ///
    /// # Errors
    /// [`Trouble`]; after [`Trouble::Record`] the next call goes on behind it.
    fn next(&mut self, told: &mut Told) -> Result<Record, Trouble>;

    /// Place of the last record.
    fn place(&self) -> Place;

    /// The file as the user named it.
    fn file(&self) -> &str;
}

/// The form of a line.
pub trait Row: Send {
    /// Parses `line`. The reason of an error says what is wrong and what would be right.
    ///
    /// # Errors
    /// The reason why it is not a line of this form.
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String>;
}

/// A file of lines.
pub struct Lines<R> {
    input: Input,
    row: R,
    /// A row was read, or a head: no head comes after it.
    begun: bool,
}

impl<R: Row> Lines<R> {
    /// The lines of `input`, each of which is a `row`.
    pub fn new(input: Input, row: R) -> Lines<R> {
        Lines { input, row, begun: false }
    }
}

impl<R: Row> Records for Lines<R> {
    fn next(&mut self, told: &mut Told) -> Result<Record, Trouble> {
        let place = Place::Line(self.input.line_number() + 1);
        let mut line = match self.input.line() {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(Record::End),
            Err(LineError::Broken(error)) => return Err(Trouble::Broken(error)),
            Err(LineError::TooLong) => {
                let reason = format!("is longer than {LINE_MAX} bytes, which no row is");
                return Err(Trouble::Record { place, reason });
            }
        };
        if place == Place::Line(1) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if is_blank(line) {
            return Ok(Record::Blank);
        }
        match self.row.read(line, told) {
            Err(_) if !self.begun && is_head(line) => {
                self.begun = true;
                Ok(Record::Blank)
            }
            Err(reason) => Err(Trouble::Record { place, reason }),
            Ok(record) => {
                self.begun = true;
                Ok(record)
            }
        }
    }

    fn place(&self) -> Place {
        Place::Line(self.input.line_number())
    }

    fn file(&self) -> &str {
        self.input.name()
    }
}

/// True for an empty line and for a comment.
pub fn is_blank(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), None | Some(b'#'))
}

/// True for a line that names columns: it begins with a letter, and no word of it is a number.
pub fn is_head(line: &[u8]) -> bool {
    let words = || line.split(|byte| b",;\t |\"".contains(byte)).filter(|word| !word.is_empty());
    words().next().is_some_and(|word| word[0].is_ascii_alphabetic())
        && !words().any(|word| word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
}

/// Bytes of a file for a sentence: short, and without what a terminal would obey.
pub fn quoted(bytes: &[u8]) -> String {
    const MOST: usize = 60;
    let shown = &bytes[..bytes.len().min(MOST)];
    let mut text = String::from("`");
    for character in String::from_utf8_lossy(shown).chars() {
        if character.is_control() {
            let _ = write!(text, "{}", character.escape_default());
        } else {
            text.push(character);
        }
    }
    text.push_str(if bytes.len() > MOST { "…`" } else { "`" });
    text
}

/// Data of the records besides their I/Os.
#[derive(Debug, Default)]
pub struct Told {
    /// The address spaces of this file.
    pub spaces: Spaces,
    /// Names of tasks.
    pub processes: BTreeMap<u32, String>,
    /// Latencies below zero: they are the recorder's fault, and the I/O is one all the same.
    pub negative_latencies: u64,
}

impl Told {
    /// Keeps the name of a task. Beyond the bound names are dropped: a trace is none the worse for it.
    pub fn process(&mut self, pid: u32, name: &[u8]) {
        let known = self.processes.contains_key(&pid);
        if !known && self.processes.len() < NAMES_MAX {
            self.processes.insert(pid, String::from_utf8_lossy(name).into_owned());
        }
    }
}

/// The address spaces of a file, by what its column says.
#[derive(Debug, Default)]
pub struct Spaces {
    known: HashMap<Box<[u8]>, u32>,
    spaces: Vec<Space>,
    /// Short keys asked for lately, with their numbers: quicker than the map, by ten times.
    recent: [(u64, u32); RECENT],
}

/// Short keys that are remembered: a power of two.
const RECENT: usize = 32;

/// A key of up to seven bytes as a number, which is never 0; 0 for longer ones.
fn packed(key: &[u8]) -> u64 {
    if key.len() > 7 {
        return 0;
    }
    key.iter().fold(1, |packed, byte| packed << 8 | u64::from(*byte))
}

/// Returns the index at which a packed key is remembered.
fn slot(packed: u64) -> usize {
    (packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % RECENT
}

impl Spaces {
    /// The space that `key` names, made by `name` when it is new.
    ///
    /// # Errors
    /// A reason, when there are too many.
    pub fn of(&mut self, key: &[u8], name: impl FnOnce() -> Space) -> Result<u32, String> {
        let packed = packed(key);
        let (recent, number) = self.recent[slot(packed)];
        if recent == packed && packed != 0 {
            return Ok(number);
        }
        let number = match self.known.get(key) {
            Some(number) => *number,
            None => self.add(key, name())?,
        };
        self.recent[slot(packed)] = (packed, number);
        Ok(number)
    }

    /// The space of a column's number, called `word` and the number.
    ///
    /// # Errors
    /// As [`Spaces::of`].
    pub fn numbered(&mut self, number: u64, word: &str) -> Result<u32, String> {
        // Without its leading zeroes, so that it is short.
        let bytes = number.to_le_bytes();
        let short = 8 - number.leading_zeros() as usize / 8;
        self.of(&bytes[..short], || Space { name: format!("{word} {number}"), ..Space::default() })
    }

    fn add(&mut self, key: &[u8], space: Space) -> Result<u32, String> {
        if self.spaces.len() >= NAMES_MAX {
            return Err(format!(
                "would be address space number {}, which are more than any trace has: is the column \
                 that names them another one?",
                NAMES_MAX + 1
            ));
        }
        let number = self.spaces.len() as u32;
        self.known.insert(key.into(), number);
        self.spaces.push(space);
        Ok(number)
    }

    /// All of them, by number.
    pub fn all(&self) -> &[Space] {
        &self.spaces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that are remembered in one place, or differ in their zeroes alone, are spaces of their own.
    #[test]
    fn every_key_has_one_space() {
        let mut spaces = Spaces::default();
        let keys: Vec<Vec<u8>> = (0..2_000u64)
            .map(|n| n.to_string().into_bytes())
            .chain([
                vec![],
                vec![0],
                vec![0, 0],
                vec![1],
                vec![1, 0],
                vec![0; 7],
                vec![0; 8],
                vec![0; 9],
            ])
            .collect();
        for round in 0..2 {
            for (number, key) in keys.iter().enumerate() {
                assert_eq!(
                    spaces.of(key, Space::default),
                    Ok(number as u32),
                    "{key:?}, round {round}"
                );
            }
        }
        assert_eq!(spaces.all().len(), keys.len());
    }

    #[test]
    fn heads_are_words_and_rows_are_not() {
        assert!(is_head(b"Timestamp,Hostname,DiskNumber,Type"));
        assert!(is_head(b"time (us);op"));
        assert!(is_head(b",time,op"), "a table's index has no name");
        for row in [&b"0,1,2"[..], b"web,1,R", b"", b"fio version 3 iolog"] {
            assert!(!is_head(row), "{:?}", String::from_utf8_lossy(row));
        }
    }
}
