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

use anyhow::Result;
use block::WallClock as _;
use record::{Document, RunId};
use serde::Serialize;

use crate::envelope::{SystemClock, document};
use crate::exit::Exit;
use crate::messages;

/// Prints `text`, and is done.
///
/// # Errors
/// When it cannot be printed.
fn print(text: &str) -> Result<Exit> {
    messages::plain(text)?;
    Ok(Exit::Done)
}

/// Version line of a compatibility mode: `diskspd (drivescope 0.1.0)`.
fn version(face: &str) -> String {
    format!("{face} (drivescope {})\n", env!("CARGO_PKG_VERSION"))
}

/// Prints `body` as a document of form `schema`: for verbs that keep no run, and are numbered by their process.
///
/// # Errors
/// When it cannot be printed.
pub fn print_json<B: Serialize>(schema: &str, body: B) -> Result<()> {
    messages::document(&unrecorded(schema, body))
}

/// `body` as a document of form `schema` that no run has.
pub fn unrecorded<B>(schema: &str, body: B) -> Document<B> {
    let id = RunId::new(SystemClock.now(), u64::from(std::process::id()));
    document(schema, id, &SystemClock, body)
}
