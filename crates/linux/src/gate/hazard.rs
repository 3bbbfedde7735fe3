//! Losses that writing to a device may cause, by name.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Something on a device that would be lost, which the user may allow by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// A partition table and the partitions in it (`partitions`).
    Partitions,
    /// A signature of this kind, on the device or in one of its partitions (`signature:ext4`).
    Signature(String),
    /// Other users, where it cannot be found out whether there are any (`unknown:users`).
    UnknownUsers,
    /// Contents that a table or a place with bad blocks would show if it could be read in full (`unknown:content`).
    UnknownContent,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hazard::Partitions => f.write_str("partitions"),
            Hazard::Signature(kind) => write!(f, "signature:{kind}"),
            Hazard::UnknownUsers => f.write_str("unknown:users"),
            Hazard::UnknownContent => f.write_str("unknown:content"),
        }
    }
}

/// A word that names no hazard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} cannot be allowed; what can be is `partitions`, `signature:<kind>`, `unknown:users` and \
     `unknown:content` (mounted, swap and held devices are never written to)"
)]
pub struct HazardError(String);

impl FromStr for Hazard {
    type Err = HazardError;

    fn from_str(text: &str) -> Result<Hazard, HazardError> {
        match text.split_once(':') {
            None if text == "partitions" => Ok(Hazard::Partitions),
            Some(("signature", kind)) if !kind.is_empty() => {
                Ok(Hazard::Signature(kind.to_ascii_lowercase()))
            }
            Some(("unknown", "users")) => Ok(Hazard::UnknownUsers),
            Some(("unknown", "content")) => Ok(Hazard::UnknownContent),
            _ => Err(HazardError(text.to_owned())),
        }
    }
}
