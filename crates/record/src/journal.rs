//! The journal: what was recorded of a run, in the order it happened, one line each.
//!
//! A line is `{"crc32":"1c291ca3","entry":{"seq":0,"step":{…}}}`: the checksum (CRC-32 as in zip and
//! PNG) is over the bytes of the entry, between the colon and the last brace. Only the last line can
//! be half written, because each is durable before the next is begun; so what comes after the last whole
//! line is cut off, and anything else that does not check is damage.

use std::io::{BufRead as _, BufReader, Read, Take};
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::Files;
use crate::store::{self, JOURNAL_MAX, LINE_MAX};
use crate::{RecordError, StepEntry};

const OPEN: &str = "{\"crc32\":\"";
const MIDDLE: &str = "\",\"entry\":";
const CLOSE: &str = "}\n";

/// Content of a line, with its position in the journal.
#[derive(Serialize)]
struct Numbered<'a> {
    seq: u64,
    #[serde(flatten)]
    what: What<'a>,
}

/// Entry of the journal.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What<'a> {
    /// A step was finished.
    Step(&'a StepEntry),
    /// Anything else that the caller wants kept.
    Note {
        /// Kind of the note.
        kind: &'a str,
        /// The thing.
        payload: &'a Value,
    },
    /// The single I/Os of a position could not be written.
    SamplesLost {
        /// The position.
        position: u32,
        /// Why not.
        why: &'a str,
    },
}

/// The same, as read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    Step(StepEntry),
    Note { kind: String, payload: Value },
    SamplesLost { position: u32, why: String },
}

/// An entry with its number. Its kinds are fields here, since serde reads an enum beside another field by way of a tree
/// of the whole entry, which takes about twelve times its size.
#[derive(Deserialize)]
struct Line {
    seq: u64,
    step: Option<StepEntry>,
    note: Option<Note>,
    samples_lost: Option<Lost>,
}

#[derive(Deserialize)]
struct Note {
    kind: String,
    payload: Value,
}

#[derive(Deserialize)]
struct Lost {
    position: u32,
    why: String,
}

/// The fields of an entry that counting needs.
#[derive(Deserialize)]
struct Glance {
    seq: u64,
    step: Option<IgnoredAny>,
}

/// The line for an entry.
pub(crate) fn line(seq: u64, what: What<'_>) -> Result<String, serde_json::Error> {
    let entry = serde_json::to_string(&Numbered { seq, what })?;
    let crc = crc32fast::hash(entry.as_bytes());
    Ok(format!("{OPEN}{crc:08x}{MIDDLE}{entry}{CLOSE}"))
}

/// A journal that is read line by line, so that its size is not what it takes in memory.
pub(crate) struct Lines {
    path: PathBuf,
    from: BufReader<Take<Box<dyn Read>>>,
    line: Vec<u8>,
    entries: u64,
    whole: u64,
    torn: u64,
    is_over: bool,
}

impl Lines {
    /// Opens a journal.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn open<F: Files>(files: &F, path: &Path) -> Result<Lines, RecordError> {
        let open = store::open_within(files, path, JOURNAL_MAX)?;
        Ok(Lines {
            path: path.to_owned(),
            from: BufReader::with_capacity(256 << 10, open.take(JOURNAL_MAX + 1)),
            line: Vec::new(),
            entries: 0,
            whole: 0,
            torn: 0,
            is_over: false,
        })
    }

    /// Entries read so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of their lines.
    pub fn whole_bytes(&self) -> u64 {
        self.whole
    }

    /// Bytes after the last whole line, once all of them are read: of a line that was never finished.
    pub fn torn_bytes(&self) -> u64 {
        self.torn
    }

    /// The next entry; `None` after the last whole one.
    ///
    /// # Errors
    /// The kernel's answer, or [`RecordError::Damaged`] with the number of a line that is out of sequence, is not an
    /// entry, or has a wrong checksum although later lines are whole. The same applies to the functions below.
    pub fn next_said(&mut self) -> Result<Option<Said>, RecordError> {
        let Some(line) = self.next::<Line>(|line| Some(line.seq))? else { return Ok(None) };
        let said = match (line.step, line.note, line.samples_lost) {
            (Some(step), None, None) => Said::Step(step),
            (None, Some(Note { kind, payload }), None) => Said::Note { kind, payload },
            (None, None, Some(Lost { position, why })) => Said::SamplesLost { position, why },
            _ => {
                return Err(
                    self.damaged("is not an entry of a journal: it is of no kind that is known")
                );
            }
        };
        Ok(Some(said))
    }

    /// Whether the next entry is a step.
    pub fn next_is_step(&mut self) -> Result<Option<bool>, RecordError> {
        let glance = self.next::<Glance>(|glance| Some(glance.seq))?;
        Ok(glance.map(|glance| glance.step.is_some()))
    }

    /// The next entry, without its number, in whatever form its version had.
    pub fn next_value(&mut self) -> Result<Option<Value>, RecordError> {
        let entry = self.next::<Value>(|entry| entry["seq"].as_u64())?;
        Ok(entry.map(|mut entry| {
            if let Value::Object(fields) = &mut entry {
                fields.remove("seq");
            }
            entry
        }))
    }

    fn next<T: DeserializeOwned>(
        &mut self,
        seq: impl Fn(&T) -> Option<u64>,
    ) -> Result<Option<T>, RecordError> {
        if !self.advance()? {
            return Ok(None);
        }
        let expected = self.entries - 1;
        let text = entry(&self.line).unwrap_or_default();
        let entry = serde_json::from_slice::<T>(text)
            .map_err(|e| self.damaged(format!("is not an entry of a journal: {e}")))?;
        match seq(&entry) {
            Some(seq) if seq == expected => Ok(Some(entry)),
            Some(seq) => Err(self.damaged(format!("has number {seq}, and {expected} was to come"))),
            None => Err(self.damaged("has no number")),
        }
    }

    /// Takes the next line, if it is whole, and else makes sure that none comes after it.
    fn advance(&mut self) -> Result<bool, RecordError> {
        if self.is_over || self.take_line()? == 0 {
            self.is_over = true;
            return Ok(false);
        }
        if entry(&self.line).is_some() {
            self.entries += 1;
            self.whole += self.line.len() as u64;
            return Ok(true);
        }
        self.is_over = true;
        loop {
            self.torn += self.line.len() as u64;
            // Without its end it is the last one, whatever somebody adds while it is looked at.
            if self.line.last() != Some(&b'\n') || self.take_line()? == 0 {
                return Ok(false);
            }
            if entry(&self.line).is_some() {
                self.entries += 1;
                return Err(self.damaged("its checksum is wrong, and lines after it are whole"));
            }
        }
    }

    fn take_line(&mut self) -> Result<usize, RecordError> {
        self.line.clear();
        let taken = self.from.by_ref().take(LINE_MAX + 1).read_until(b'\n', &mut self.line);
        let taken = taken.map_err(RecordError::io("read it", &self.path))?;
        if taken as u64 > LINE_MAX || self.from.get_ref().limit() == 0 {
            return Err(RecordError::damaged(&self.path, "is larger than any journal can be"));
        }
        Ok(taken)
    }

    /// Returns an error for the line that was taken last.
    fn damaged(&self, what: impl Into<String>) -> RecordError {
        RecordError::Damaged {
            path: self.path.clone(),
            line: Some(self.entries),
            what: what.into(),
        }
    }
}

/// Counts of a journal's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    /// Its entries.
    pub entries: u64,
    /// Those of them that are steps.
    pub steps: u32,
}

/// Counts what is in a journal.
///
/// # Errors
/// As [`Lines`] has them.
pub(crate) fn count<F: Files>(files: &F, path: &Path) -> Result<Count, RecordError> {
    let mut lines = Lines::open(files, path)?;
    let mut steps: u32 = 0;
    while let Some(is_step) = lines.next_is_step()? {
        steps = steps.saturating_add(u32::from(is_step));
    }
    Ok(Count { entries: lines.entries(), steps })
}

/// The entry of a whole line, when its checksum is right.
fn entry(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(OPEN.as_bytes())?;
    let (crc, rest) = rest.split_at_checked(8)?;
    let entry = rest.strip_prefix(MIDDLE.as_bytes())?.strip_suffix(CLOSE.as_bytes())?;
    let expected = format!("{:08x}", crc32fast::hash(entry));
    (expected.as_bytes() == crc).then_some(entry)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn note(seq: u64) -> String {
        line(seq, What::Note { kind: "k", payload: &json!({ "n": seq }) }).unwrap()
    }

    /// Entries in a journal, and bytes after them.
    fn journal(lines: &[String]) -> Result<(u64, u64), RecordError> {
        let text = lines.concat().into_bytes();
        let from: Box<dyn Read> = Box::new(std::io::Cursor::new(text));
        let mut lines = Lines {
            path: "j".into(),
            from: BufReader::new(from.take(JOURNAL_MAX + 1)),
            line: Vec::new(),
            entries: 0,
            whole: 0,
            torn: 0,
            is_over: false,
        };
        while lines.next_said()?.is_some() {}
        Ok((lines.entries(), lines.torn_bytes()))
    }

    #[test]
    fn a_line_is_json_that_others_can_check() {
        // People without drivescope read this file: the form is a contract.
        assert_eq!(
            note(3),
            "{\"crc32\":\"13fbed51\",\"entry\":{\"seq\":3,\"note\":{\"kind\":\"k\",\"payload\":{\"n\":3}}}}\n"
        );
        let value: Value = serde_json::from_str(&note(3)).unwrap();
        assert_eq!(value["entry"]["note"]["payload"]["n"], 3);
    }

    #[test]
    fn a_torn_tail_is_told_from_damage() {
        let whole = [note(0), note(1), note(2)];
        assert_eq!(journal(&whole).unwrap(), (3, 0));
        for cut in 0..whole[2].len() {
            let torn = journal(&[note(0), note(1), note(2)[..cut].to_owned()]).unwrap();
            assert_eq!(torn, (2, cut as u64), "cut at {cut}");
        }
        let flipped = note(1).replace("\"n\":1", "\"n\":7");
        let error = journal(&[note(0), flipped.clone(), note(2)]).unwrap_err().to_string();
        assert!(error.starts_with("j:2: its checksum"), "{error}");
        assert_eq!(journal(&[note(0), flipped]).unwrap().0, 1);
    }

    #[test]
    fn a_line_that_is_missing_or_doubled_is_damage() {
        let error = journal(&[note(0), note(2)]).unwrap_err().to_string();
        assert!(error.starts_with("j:2: has number 2, and 1 was to come"), "{error}");
        assert!(journal(&[note(0), note(0)]).is_err());
    }
}
