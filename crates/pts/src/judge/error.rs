//! Fault in a file: its place, and what to do.

use thiserror::Error;

/// A file that cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{}: {what}; {remedy}", line_words(.line))]
pub struct JudgeError {
    /// The file, as it was named.
    pub file: String,
    /// The line, counted from 1; none where the fault is the whole file's.
    pub line: Option<u64>,
    /// The fault.
    pub what: String,
    /// Advice on how to fix it.
    pub remedy: String,
}

fn line_words(line: &Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

impl JudgeError {
    /// A fault of the whole file.
    pub(crate) fn whole(
        file: &str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> JudgeError {
        JudgeError { file: file.to_owned(), line: None, what: what.into(), remedy: remedy.into() }
    }

    /// A fault of one line, counted from 1.
    pub(crate) fn at(
        file: &str,
        line: u64,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> JudgeError {
        JudgeError { line: Some(line), ..JudgeError::whole(file, what, remedy) }
    }
}
