//! What a drive really holds: fake drives, found by sampling.

use serde::{Deserialize, Serialize};

use crate::{Desk, Halt, Known, Outcome};

/// Options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Do not keep what is overwritten.
    pub destructive: bool,
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
