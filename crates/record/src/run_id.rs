//! The name of a run.

use std::fmt;
use std::str::FromStr;

use block::UnixNanos;
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Names a run: its date and a part of its seed, in a form that sorts by date and is safe in file names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunId(String);

/// Form of the date in a name, as `strftime(3)` has it.
const DATE: &str = "%Y%m%dT%H%M%SZ";

impl RunId {
    /// The name of a run that began at `date` with `nonce`, which distinguishes two runs of one second.
    pub fn new(date: UnixNanos, nonce: u64) -> RunId {
        let nonce = (nonce ^ (nonce >> 32)) & 0xffff_ffff;
        RunId(format!("{}-{nonce:08x}", timestamp(date).strftime(DATE)))
    }

    /// The second in which it began, in a form that sorts by time.
    pub(crate) fn second(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that names no run: it could not have come from [`RunId::new`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a run id (one looks like 20231114T221320Z-00000007)")]
pub struct NotARunId(pub String);

impl FromStr for RunId {
    type Err = NotARunId;

    /// Takes only what [`RunId::new`] makes: names become paths, so nothing else may pass.
    fn from_str(text: &str) -> Result<RunId, NotARunId> {
        let no = || NotARunId(text.chars().take(80).collect());
        let (date, nonce) = text.split_once('-').ok_or_else(no)?;
        let hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        if date.len() != 16 || nonce.len() != 8 || !nonce.bytes().all(hex) {
            return Err(no());
        }
        // Formatted again, because the parser is more lenient than the writer.
        let parsed = DateTime::strptime(DATE, date).map_err(|_| no())?;
        if parsed.strftime(DATE).to_string() == date {
            Ok(RunId(text.to_owned()))
        } else {
            Err(no())
        }
    }
}

impl TryFrom<String> for RunId {
    type Error = NotARunId;

    fn try_from(text: String) -> Result<RunId, NotARunId> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> String {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// `date` in RFC 3339, UTC, to the second.
pub fn rfc3339(date: UnixNanos) -> String {
    timestamp(date).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Seconds since 1970 of a date in RFC 3339; `None` when it is not such a date.
pub fn seconds_of(date: &str) -> Option<i64> {
    date.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// Dates that do not fit four digits of a year become the epoch: a clock that far off is useless anyway.
fn timestamp(date: UnixNanos) -> Timestamp {
    /// First second of the year 10000.
    const END: i64 = 253_402_300_800;
    /// First second of the year 0.
    const BEGIN: i64 = -62_167_219_200;
    let told = Timestamp::from_nanosecond(date.0).ok();
    told.filter(|t| (BEGIN..END).contains(&t.as_second())).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i128) -> UnixNanos {
        UnixNanos(seconds * 1_000_000_000)
    }

    #[test]
    fn run_ids_sort_by_date_and_are_safe_in_file_names() {
        assert_eq!(RunId::new(at(1_700_000_000), 7).to_string(), "20231114T221320Z-00000007");
        assert!(RunId::new(at(1_700_000_000), u64::MAX) < RunId::new(at(1_700_000_001), 0));
        assert_eq!(rfc3339(at(0)), "1970-01-01T00:00:00Z");
        assert_eq!(seconds_of(&rfc3339(at(86_401))), Some(86_401));
    }

    #[test]
    fn every_id_that_is_made_is_read_back() {
        for (seconds, nonce) in [(0, 0), (1_700_000_000, u64::MAX), (-1, 3), (i128::MAX >> 40, 9)] {
            let id = RunId::new(at(seconds), nonce);
            assert_eq!(id.as_str().parse(), Ok(id));
        }
    }

    #[test]
    fn nothing_else_is_an_id() {
        // Each of these would become a path outside the runs directory, or a second name of one run.
        for text in [
            "",
            "..",
            "20231114T221320Z-0000000",
            "20231114T221320Z-0000000G",
            "20231114T221320Z-0000000A",
            "20231314T221320Z-00000007",
            "2023111aT221320Z-00000007",
            "20231114T221320Z-../../ab",
            "20231114T221320Z-00000007/",
            "20231114t221320z-00000007",
            " 0231114T221320Z-00000007",
        ] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
