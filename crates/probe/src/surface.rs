//! Speed and access time over the whole range of addresses.

use serde::{Deserialize, Serialize};

use crate::{Desk, Halt, Known, Outcome};

/// Options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {}

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
