//! Access times by offset: bands of kinds of pages, slower and faster zones, periods.

use serde::{Deserialize, Serialize};

use crate::{Desk, Halt, Known, Outcome};

/// Options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// 2^order places.
    pub order: Option<u32>,
    /// Blocks per read.
    pub span: Option<u64>,
    /// Distance of places.
    pub block_bytes: Option<u64>,
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
