//! Lines of logs, which may be of any length.

use std::io::{self, BufRead, Read as _};

use super::error::JudgeError;

/// Longest line of a log; one with all bins of a histogram has some 40 KB.
const LINE_MAX: u64 = 64 << 10;

/// The lines of a log, each with its number.
pub(super) struct Lines<'a> {
    file: &'a str,
    input: &'a mut dyn BufRead,
    bytes: Vec<u8>,
    text: String,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn of(file: &'a str, input: &'a mut dyn BufRead) -> Lines<'a> {
        Lines { file, input, bytes: Vec::new(), text: String::new(), number: 0 }
    }

    /// The next line, or `None` behind the last.
    ///
    /// # Errors
    /// When it is longer than any of a log's, or has no end: fio ends the last line too, so it was cut off, perhaps within a
    /// number.
    pub(super) fn next(&mut self) -> Result<Option<(&str, u64)>, JudgeError> {
        self.bytes.clear();
        self.number += 1;
        let read = (&mut *self.input).take(LINE_MAX).read_until(b'\n', &mut self.bytes);
        read.map_err(|error| unreadable(self.file, &error))?;
        let fault = |what: &str, remedy: &str| JudgeError::at(self.file, self.number, what, remedy);
        match self.bytes.last() {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(_) if self.bytes.len() as u64 == LINE_MAX => {
                let what = "the line is longer than 64 KiB, and no line of a log of fio is";
                return Err(fault(what, "give the file as fio wrote it"));
            }
            Some(_) => {
                let remedy = "give the whole file, or remove this line; end it if it is whole";
                return Err(fault("the last line has no end and may be cut off", remedy));
            }
        }
        self.text.clear();
        self.text.push_str(&String::from_utf8_lossy(&self.bytes));
        Ok(Some((self.text.trim_end_matches(['\n', '\r']), self.number)))
    }
}

/// A file that cannot be read.
pub(super) fn unreadable(file: &str, error: &io::Error) -> JudgeError {
    JudgeError::whole(file, format!("cannot be read: {error}"), "give a file that can be read")
}
