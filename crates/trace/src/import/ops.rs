//! Names of the operations of a table, as a user says it: `2a=write,28=read`.

use std::fmt;
use std::str::FromStr;

use super::fields::operation;
use super::records::quoted;
use crate::Kind;

/// Words or numbers of a column, and what each does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ops {
    text: String,
    /// `None` for an operation that is left out.
    known: Vec<(String, Option<Kind>)>,
}

/// Reason why such a list is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoOps(String);

impl Ops {
    /// The operation that `word` names; `None` when it is left out.
    ///
    /// # Errors
    /// The reason, when the list does not name it.
    pub(super) fn of(&self, word: &[u8]) -> Result<Option<Kind>, String> {
        let found =
            self.known.iter().find(|(known, _)| word.eq_ignore_ascii_case(known.as_bytes()));
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            let word = quoted(word);
            format!(
                "{word} is not an operation that --op {} names; add it, with - to leave it out",
                self.text
            )
        })
    }
}

impl fmt::Display for Ops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Ops {
    type Err = NoOps;

    fn from_str(text: &str) -> Result<Ops, NoOps> {
        let mut known: Vec<(String, Option<Kind>)> = Vec::new();
        for entry in text.split(',') {
            let (word, what) = entry.trim().split_once('=').ok_or_else(|| {
                NoOps(format!("`{entry}` is not of the form WORD=OPERATION, such as 2a=write"))
            })?;
            let kind = match what {
                "-" | "skip" => None,
                what => Some(operation(what.as_bytes()).ok_or_else(|| {
                    NoOps(format!(
                        "`{what}` is not an operation: write read, write, flush, discard or -"
                    ))
                })?),
            };
            if known.iter().any(|(before, _)| before.eq_ignore_ascii_case(word)) {
                return Err(NoOps(format!("`{word}` is there twice")));
            }
            known.push((word.to_owned(), kind));
        }
        Ok(Ops { text: text.to_owned(), known })
    }
}
