//! Checksums of a run's files, in a file that `sha256sum -c` reads: years later, and without drivescope.
//!
//! They detect accidents (a failing disk, a careless editor), not forgery: anyone who can change a file can change its
//! checksum.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::RecordError;
use crate::files::Files;
use crate::store::{self, SUMS};

/// Whether a run is still what it was when it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Every file has the checksum that it had.
    AsRecorded {
        /// Files that were looked at.
        files: usize,
    },
    /// It has not ended, so nothing says yet what all of its files should be. Plan, envelope and setup are
    /// what they were when it began (or it was made before that was written down), and its journal checks
    /// by itself.
    Unsealed,
    /// It is not what it was: each file with what became of it, such as `plan.toml (changed)`.
    Altered(Vec<String>),
}

/// Checksums by file name, relative to the run's directory.
pub(crate) type Sums = BTreeMap<String, String>;

/// Checksums of all files of a run but the file of checksums itself.
pub(crate) fn of_dir<F: Files>(files: &F, dir: &Path) -> Result<Sums, RecordError> {
    of_files(files, dir, store::inventory(files, dir)?.into_iter().filter(|name| name != SUMS))
}

fn of_files<F: Files>(
    files: &F,
    dir: &Path,
    names: impl Iterator<Item = String>,
) -> Result<Sums, RecordError> {
    names
        .map(|name| {
            let path = dir.join(&name);
            let open = files.open(&path).map_err(RecordError::io("open it", &path))?;
            let sum = of_reader(open).map_err(RecordError::io("read it", &path))?;
            Ok((name, sum))
        })
        .collect()
}

/// The checksum of some bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of a file anywhere, in hexadecimal: of the program that makes a record, say.
///
/// # Errors
/// When it cannot be read.
pub fn sha256_of_file(path: &Path) -> std::io::Result<String> {
    of_reader(std::fs::File::open(path)?)
}

fn of_reader(mut from: impl Read) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n) => hash.update(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A checksum that is made piece by piece.
#[derive(Default)]
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing into a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The text of the file.
pub(crate) fn to_text(sums: &Sums) -> String {
    sums.iter().fold(String::new(), |text, (name, sum)| text + sum + "  " + name + "\n")
}

/// `None` when it is not the text of such a file.
fn of_text(bytes: &[u8]) -> Option<Sums> {
    let line = |line: &str| {
        let (sum, name) = line.split_once("  ")?;
        Some((name.to_owned(), sum.to_owned()))
    };
    std::str::from_utf8(bytes).ok()?.lines().map(line).collect()
}

/// Compares a run's files with their checksums: those from its beginning, and those from its end.
pub(crate) fn verify<F: Files>(
    files: &F,
    dir: &Path,
    beginning: Option<&Sums>,
    ended: bool,
) -> Result<Integrity, RecordError> {
    let mut faults = Vec::new();
    for (name, sum) in beginning.into_iter().flatten() {
        let now = store::read_if(files, &dir.join(name))?;
        faults.extend(fault(name, sum, now.map(|bytes| of_bytes(&bytes)).as_ref()));
    }
    let mut looked_at = 0;
    if ended {
        let Some(bytes) = store::read_if(files, &dir.join(SUMS))? else {
            return Ok(Integrity::Altered(vec![format!("{SUMS} (missing)")]));
        };
        let Some(recorded) = of_text(&bytes) else {
            return Ok(Integrity::Altered(vec![format!("{SUMS} (changed)")]));
        };
        let names = store::inventory(files, dir)?.into_iter().filter(|name| name != SUMS);
        // Files that the record does not list may be anything, and are not read.
        let (known, added): (Vec<String>, Vec<String>) =
            names.partition(|name| recorded.contains_key(name));
        let found = of_files(files, dir, known.into_iter())?;
        faults.extend(recorded.iter().filter_map(|(name, sum)| fault(name, sum, found.get(name))));
        faults.extend(added.iter().map(|name| format!("{name} (added)")));
        looked_at = found.len() + added.len();
    }
    faults.sort();
    faults.dedup();
    Ok(match (faults.is_empty(), ended) {
        (false, _) => Integrity::Altered(faults),
        (true, true) => Integrity::AsRecorded { files: looked_at },
        (true, false) => Integrity::Unsealed,
    })
}

/// Describes the fault of a file whose checksum was `then`; `None` when it has not changed.
fn fault(name: &str, then: &str, now: Option<&String>) -> Option<String> {
    match now {
        None => Some(format!("{name} (missing)")),
        Some(now) if now != then => Some(format!("{name} (changed)")),
        Some(_) => None,
    }
}
