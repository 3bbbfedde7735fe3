//! One file per verb.

pub mod compare;
pub mod devices;
pub mod diskspd;
pub mod explain;
pub mod flashbench;
pub mod health;
pub mod import;
pub mod judge;
pub mod mark;
pub mod plan;
pub mod probe;
pub mod pts;
pub mod purge;
pub mod report;
pub mod rerun;
pub mod resume;
pub mod rows;
pub mod run;
pub mod runs;
pub mod shell;
pub mod show;
pub mod sim;
pub mod sweep;
pub mod trace;
pub mod trend;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use block::WallClock as _;
use record::RunId;
use serde::Serialize;

use crate::envelope::{SystemClock, document};
use crate::exit::Exit;
use crate::opening::is_nobodys;
use crate::talk;

/// Prints `text`, and is done.
///
/// # Errors
/// When it cannot be printed.
fn print(text: &str) -> Result<Exit> {
    talk::plain(text)?;
    Ok(Exit::Done)
}

/// What a face says of its version: `diskspd (drivescope 0.1.0)`.
fn version(face: &str) -> String {
    format!("{face} (drivescope {})\n", env!("CARGO_PKG_VERSION"))
}

/// Prints `body` as a document of form `schema`: for verbs that keep no run, and are numbered by their process.
///
/// # Errors
/// When it cannot be printed.
pub fn print_json<B: Serialize>(schema: &str, body: B) -> Result<()> {
    let id = RunId::new(SystemClock.now(), u64::from(std::process::id()));
    talk::document(&document(schema, id, &SystemClock, body))
}

/// Longest file that is read as a whole.
const WHOLE_MAX: u64 = 64 << 20;

/// Opens the file at `path`, or standard input for `-`.
///
/// # Errors
/// When it cannot be read.
fn open_input(path: &Path) -> Result<Box<dyn Read>> {
    if path.is_dir() {
        bail!("{}: is a directory; name the files in it", path.display());
    }
    if path.to_str().is_some_and(is_nobodys) {
        bail!("{}: is a drive, and a file belongs there", path.display());
    }
    if std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device()) {
        bail!("{}: is a block device, and a file of results belongs there", path.display());
    }
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    Ok(Box::new(file))
}

/// What the file at `path` holds, or standard input for `-`.
///
/// # Errors
/// When it cannot be read, or is too long.
fn read_input(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_input(path)?.take(WHOLE_MAX + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("{}: cannot be read", path.display()))?;
    if bytes.len() as u64 > WHOLE_MAX {
        bail!(
            "{}: is longer than {} MiB, and no result of this kind is",
            path.display(),
            WHOLE_MAX >> 20
        );
    }
    Ok(bytes)
}
