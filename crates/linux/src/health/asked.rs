//! Failed queries to a drive.

use crate::passthrough::CommandError;

/// Errors of the queries to a drive that failed.
#[derive(Debug, Default)]
pub(super) struct Asked {
    failures: Vec<String>,
}

impl Asked {
    /// The answer, or nothing, with the reason kept.
    pub fn keep<T>(&mut self, answer: Result<T, CommandError>) -> Option<T> {
        answer.map_err(|error| self.note(&error.to_string())).ok()
    }

    pub fn note(&mut self, why: &str) {
        if !self.failures.iter().any(|known| known == why) {
            self.failures.push(why.to_owned());
        }
    }

    /// Why a fact is missing: the first thing that failed, which commonly makes the others fail, or `otherwise`.
    pub fn why(&self, otherwise: &str) -> String {
        self.failures.first().cloned().unwrap_or_else(|| otherwise.to_owned())
    }
}
