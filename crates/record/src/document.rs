//! `{"envelope": …, "body": …}`: what a result is, apart from what it says.
//!
//! The body of a run on a virtual drive depends on plan, model and seed alone; whatever depends on
//! the host, the date or the binary stands in the envelope.

use std::fmt;

use block::UnixNanos;
use jiff::Timestamp;
use serde::Serialize;

/// A result with what is known about its making.
#[derive(Clone, Debug, Serialize)]
pub struct Document<B> {
    /// Where, when and by what it was made.
    pub envelope: Envelope,
    /// The result.
    pub body: B,
}

impl<B: Serialize> Document<B> {
    /// The document as JSON, indented, with a line feed at its end.
    ///
    /// # Errors
    /// When the body has a form that JSON does not: a map whose keys are no text.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// Where, when and by what a result was made.
#[derive(Clone, Debug, Serialize)]
pub struct Envelope {
    /// Name and version of the body's form, such as `drivescope.mark/1`.
    pub schema: String,
    /// RFC 3339, UTC.
    pub date: String,
    /// The machine.
    pub host: Host,
    /// Names the run.
    pub run_id: RunId,
    /// Version of drivescope.
    pub version: String,
    /// The arguments, program name left out.
    pub arguments: Vec<String>,
}

/// The machine that a result was made on.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// CPUs that this process may use.
    pub cpus: usize,
}

/// Names a run: its date and a part of its seed, in a form that sorts by date and is safe in file names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

impl RunId {
    /// The name of a run that began at `date` with `nonce`, which tells apart two runs of one second.
    pub fn new(date: UnixNanos, nonce: u64) -> RunId {
        let nonce = (nonce ^ (nonce >> 32)) & 0xffff_ffff;
        RunId(format!("{}-{nonce:08x}", timestamp(date).strftime("%Y%m%dT%H%M%SZ")))
    }
}

/// `date` in RFC 3339, UTC, to the second.
pub fn rfc3339(date: UnixNanos) -> String {
    timestamp(date).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Dates beyond the years -9999 to 9999 become the epoch: a clock that far off tells nothing anyway.
fn timestamp(date: UnixNanos) -> Timestamp {
    Timestamp::from_nanosecond(date.0).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_sort_by_date_and_are_safe_in_file_names() {
        let at = |seconds: i128| UnixNanos(seconds * 1_000_000_000);
        assert_eq!(RunId::new(at(1_700_000_000), 7).to_string(), "20231114T221320Z-00000007");
        assert!(RunId::new(at(1_700_000_000), u64::MAX) < RunId::new(at(1_700_000_001), 0));
        assert_eq!(rfc3339(at(0)), "1970-01-01T00:00:00Z");
    }
}
