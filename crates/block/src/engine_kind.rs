//! The kernel's ways to take requests.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum EngineKind {
    /// io_uring: the least cost per I/O.
    #[default]
    IoUring,
    /// The kernel's older asynchronous I/O.
    Libaio,
    /// `pread(2)` and `pwrite(2)`; one request at a time, whatever the depth.
    Psync,
}

impl EngineKind {
    /// All of them.
    pub const ALL: [EngineKind; 3] = [EngineKind::IoUring, EngineKind::Libaio, EngineKind::Psync];

    /// Its name, as fio has it.
    pub fn word(self) -> &'static str {
        match self {
            EngineKind::IoUring => "io_uring",
            EngineKind::Libaio => "libaio",
            EngineKind::Psync => "psync",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Reads what [`EngineKind::word`] writes.
impl FromStr for EngineKind {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineKind, String> {
        let known = EngineKind::ALL.into_iter().find(|kind| kind.word() == text);
        known.ok_or_else(|| "write io_uring, libaio or psync".to_owned())
    }
}

/// The engine that a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// This one, or, where the kernel refuses it, the next in the order of [`EngineKind::ALL`].
    From(EngineKind),
    /// This one and no other.
    Only(EngineKind),
}

impl EngineChoice {
    /// The engine that is tried first.
    pub fn first(self) -> EngineKind {
        match self {
            EngineChoice::From(kind) | EngineChoice::Only(kind) => kind,
        }
    }
}

/// io_uring, or the next one that the kernel allows.
impl Default for EngineChoice {
    fn default() -> EngineChoice {
        EngineChoice::From(EngineKind::default())
    }
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineChoice::From(_) => f.pad("auto"),
            EngineChoice::Only(kind) => kind.fmt(f),
        }
    }
}

/// Reads `auto`, which begins with io_uring, or an engine's name.
impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<EngineChoice, String> {
        match text {
            "auto" => Ok(EngineChoice::default()),
            _ => text
                .parse()
                .map(EngineChoice::Only)
                .map_err(|_| "write auto, io_uring, libaio or psync".to_owned()),
        }
    }
}

impl TryFrom<String> for EngineKind {
    type Error = String;

    fn try_from(text: String) -> Result<EngineKind, String> {
        text.parse()
    }
}

impl From<EngineKind> for String {
    fn from(kind: EngineKind) -> String {
        kind.word().to_owned()
    }
}
