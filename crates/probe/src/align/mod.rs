//! Where boundaries are: erase block, page and multi-plane page from what it costs to read across them.

use serde::{Deserialize, Serialize};

use crate::{Desk, Halt, Known, Outcome};

/// Options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Sizes of reads in bytes; those that speak, when empty.
    pub block_bytes: Vec<u64>,
}

/// Evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {}

/// Probes.
///
/// # Errors
/// Always, for now.
pub fn probe(_: &mut Desk<'_>, _: &Known, _: &Options) -> Result<Outcome<Evidence>, Halt> {
    Err(Halt::Time)
}
