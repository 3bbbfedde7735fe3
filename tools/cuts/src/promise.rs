//! Promises of the program about saved data, as marks of a log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// One promise, or that one is taken back. Its text is the mark: words with a colon
/// between them, since `dmsetup message` takes a mark without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The run is recorded to its end.
    Finished {
        /// The run's name.
        run: String,
        /// SHA-256 of its `document.json`, in hexadecimal.
        sha256: String,
    },
    /// So much of the run is recorded.
    Steps {
        /// The run's name.
        run: String,
        /// Lines of its journal.
        lines: u32,
        /// Bytes of them.
        bytes: u64,
        /// SHA-256 of these bytes, in hexadecimal.
        sha256: String,
    },
    /// From here on nothing is promised of the run: it is being removed, or taken in again.
    Open {
        /// The run's name.
        run: String,
    },
    /// The run was removed.
    Removed {
        /// The run's name.
        run: String,
    },
    /// A file was written.
    File {
        /// Its name in the directory of files.
        name: String,
        /// SHA-256 of its content, in hexadecimal.
        sha256: String,
    },
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Promise::Finished { run, sha256 } => write!(f, "finished:{run}:{sha256}"),
            Promise::Steps { run, lines, bytes, sha256 } => {
                write!(f, "steps:{run}:{lines}:{bytes}:{sha256}")
            }
            Promise::Open { run } => write!(f, "open:{run}"),
            Promise::Removed { run } => write!(f, "removed:{run}"),
            Promise::File { name, sha256 } => write!(f, "file:{name}:{sha256}"),
        }
    }
}

impl FromStr for Promise {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Promise> {
        let words: Vec<&str> = text.split(':').collect();
        let own = |word: &&str| (*word).to_owned();
        Ok(match words.as_slice() {
            ["finished", run, sum] => Promise::Finished { run: own(run), sha256: own(sum) },
            ["steps", run, lines, bytes, sum] => Promise::Steps {
                run: own(run),
                lines: lines.parse().context("lines")?,
                bytes: bytes.parse().context("bytes")?,
                sha256: own(sum),
            },
            ["open", run] => Promise::Open { run: own(run) },
            ["removed", run] => Promise::Removed { run: own(run) },
            ["file", name, sum] => Promise::File { name: own(name), sha256: own(sum) },
            _ => bail!("{text:?}: is no promise"),
        })
    }
}

/// The beginning of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Its lines.
    pub lines: u32,
    /// Bytes of them.
    pub bytes: u64,
    /// SHA-256 of these bytes, in hexadecimal.
    pub sha256: String,
}

/// Promises in force at some moment: all made until then and not taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Runs that are finished, with the sum of their document.
    pub finished: BTreeMap<String, String>,
    /// Runs, with the longest beginning of their journal that was promised.
    pub steps: BTreeMap<String, Beginning>,
    /// Runs that are not there any more.
    pub removed: BTreeSet<String>,
    /// Files, with their sums.
    pub files: BTreeMap<String, String>,
}

impl Standing {
    /// After one more promise.
    pub fn add(&mut self, promise: &Promise) {
        match promise.clone() {
            Promise::Finished { run, sha256 } => {
                self.finished.insert(run, sha256);
            }
            Promise::Steps { run, lines, bytes, sha256 } => {
                self.steps.insert(run, Beginning { lines, bytes, sha256 });
            }
            Promise::Open { run } => self.forget(&run),
            Promise::Removed { run } => {
                self.forget(&run);
                self.removed.insert(run);
            }
            Promise::File { name, sha256 } => {
                self.files.insert(name, sha256);
            }
        }
    }

    fn forget(&mut self, run: &str) {
        self.finished.remove(run);
        self.steps.remove(run);
        self.removed.remove(run);
    }

    /// Promises that can be looked at. The lines of a journal count one each: each was promised alone.
    pub fn count(&self) -> u64 {
        let lines = self.steps.values().map(|beginning| u64::from(beginning.lines));
        let others = self.finished.len() + self.removed.len() + self.files.len();
        lines.sum::<u64>() + others as u64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::*;

    fn promise(text: &str) -> Promise {
        text.parse().unwrap()
    }

    #[test]
    fn a_promise_comes_back_from_its_mark() {
        for text in ["finished:r:00", "steps:r:3:120:0a", "open:r", "removed:r", "file:a.tar.gz:0b"]
        {
            assert_eq!(promise(text).to_string(), text);
        }
        assert!("finished:r".parse::<Promise>().is_err());
        assert!("steps:r:x:1:00".parse::<Promise>().is_err());
        assert!("".parse::<Promise>().is_err());
    }

    // A promise that is taken back for too much would hide a loss, one for too little would make one up.
    #[test]
    fn what_is_taken_back_is_that_run_alone() {
        let mut standing = Standing::default();
        for text in ["steps:a:3:120:0a", "finished:a:00", "steps:b:2:80:0b", "file:f:0c"] {
            standing.add(&promise(text));
        }
        assert_eq!(standing.count(), 7);
        standing.add(&promise("open:a"));
        assert_eq!((standing.count(), standing.steps.len()), (3, 1));
        standing.add(&promise("removed:a"));
        assert!(standing.removed.contains("a"));
        standing.add(&promise("open:a"));
        standing.add(&promise("finished:a:00"));
        assert!(standing.removed.is_empty() && standing.finished.contains_key("a"));
    }
}
