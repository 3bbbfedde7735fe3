//! The journal: what was recorded of a run, in the order it happened, one line each.
//!
//! A line is `{"crc32":"1c291ca3","entry":{"seq":0,"step":{…}}}`: the checksum (CRC-32 as in zip and
//! PNG) is over the bytes of the entry, between the colon and the last brace. Only the last line can
//! be half written, because each is durable before the next is begun; so what comes after the last whole
//! line is cut off, and anything else that does not check is damage.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{RecordError, StepEntry};

const OPEN: &str = "{\"crc32\":\"";
const MIDDLE: &str = "\",\"entry\":";
const CLOSE: &str = "}\n";

/// What a line says, and its position in the journal.
#[derive(Serialize)]
struct Numbered<'a> {
    seq: u64,
    #[serde(flatten)]
    what: What<'a>,
}

/// What can be recorded.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What<'a> {
    /// A step was finished.
    Step(&'a StepEntry),
    /// Anything else that the caller wants kept.
    Note {
        /// What sort of thing.
        kind: &'a str,
        /// The thing.
        payload: &'a Value,
    },
}

/// The same, as read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    Step(StepEntry),
    Note { kind: String, payload: Value },
}

/// The line for an entry.
pub(crate) fn line(seq: u64, what: What<'_>) -> Result<String, serde_json::Error> {
    let entry = serde_json::to_string(&Numbered { seq, what })?;
    let crc = crc32fast::hash(entry.as_bytes());
    Ok(format!("{OPEN}{crc:08x}{MIDDLE}{entry}{CLOSE}"))
}

/// A journal as it was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Journal {
    /// The entries, without their numbers.
    pub entries: Vec<Value>,
    /// Bytes of whole lines.
    pub whole: u64,
    /// Bytes after them, of a line that was never finished.
    pub torn: u64,
}

/// Reads a journal. `path` is for errors.
///
/// # Errors
/// [`RecordError::Damaged`] with the line that does not check although lines after it do, or that is
/// out of sequence.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Journal, RecordError> {
    let mut journal = Journal { entries: Vec::new(), whole: 0, torn: 0 };
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    let damaged = |line: usize, what: String| RecordError::Damaged {
        path: path.to_owned(),
        line: Some(line as u64 + 1),
        what,
    };
    while let Some(line) = lines.next() {
        let number = journal.entries.len();
        let Some(entry) = entry(line) else {
            if lines.any(entry_checks) {
                let what = "its checksum is wrong, and lines after it are whole".to_owned();
                return Err(damaged(number, what));
            }
            break;
        };
        let (seq, said) = numbered(entry).map_err(|what| damaged(number, what))?;
        if seq != number as u64 {
            return Err(damaged(number, format!("has number {seq}, and {number} was to come")));
        }
        journal.entries.push(said);
        journal.whole += line.len() as u64;
    }
    journal.torn = bytes.len() as u64 - journal.whole;
    Ok(journal)
}

/// The entry of a whole line, when its checksum is right.
fn entry(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(OPEN.as_bytes())?;
    let (crc, rest) = rest.split_at_checked(8)?;
    let entry = rest.strip_prefix(MIDDLE.as_bytes())?.strip_suffix(CLOSE.as_bytes())?;
    let expected = format!("{:08x}", crc32fast::hash(entry));
    (expected.as_bytes() == crc).then_some(entry)
}

fn entry_checks(line: &[u8]) -> bool {
    entry(line).is_some()
}

/// Number and content of an entry that checks.
fn numbered(entry: &[u8]) -> Result<(u64, Value), String> {
    let value: Value = serde_json::from_slice(entry).map_err(|e| format!("is no JSON: {e}"))?;
    let Value::Object(mut fields) = value else { return Err("is no object".to_owned()) };
    let seq = fields.remove("seq").and_then(|seq| seq.as_u64());
    Ok((seq.ok_or("has no number")?, Value::Object(fields)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn note(seq: u64) -> String {
        line(seq, What::Note { kind: "k", payload: &json!({ "n": seq }) }).unwrap()
    }

    fn journal(lines: &[String]) -> Result<Journal, RecordError> {
        read(Path::new("j"), lines.concat().as_bytes())
    }

    #[test]
    fn a_line_is_json_that_others_can_check() {
        // People without drivescope read this file: the form is a contract.
        assert_eq!(
            note(3),
            "{\"crc32\":\"5ecc0ceb\",\"entry\":{\"seq\":3,\"note\":{\"kind\":\"k\",\"payload\":{\"n\":3}}}}\n"
        );
        let value: Value = serde_json::from_str(&note(3)).unwrap();
        assert_eq!(value["entry"]["note"]["payload"]["n"], 3);
    }

    #[test]
    fn a_torn_tail_is_told_from_damage() {
        let whole = [note(0), note(1), note(2)];
        assert_eq!(journal(&whole).unwrap().entries.len(), 3);
        for cut in 0..whole[2].len() {
            let torn = journal(&[note(0), note(1), note(2)[..cut].to_owned()]).unwrap();
            assert_eq!((torn.entries.len(), torn.torn), (2, cut as u64), "cut at {cut}");
        }
        let flipped = note(1).replace("\"n\":1", "\"n\":7");
        let error = journal(&[note(0), flipped.clone(), note(2)]).unwrap_err().to_string();
        assert!(error.starts_with("j:2: its checksum"), "{error}");
        assert_eq!(journal(&[note(0), flipped]).unwrap().entries.len(), 1);
    }

    #[test]
    fn a_line_that_is_missing_or_doubled_is_damage() {
        let error = journal(&[note(0), note(2)]).unwrap_err().to_string();
        assert!(error.starts_with("j:2: has number 2, and 1 was to come"), "{error}");
        assert!(journal(&[note(0), note(0)]).is_err());
    }
}
