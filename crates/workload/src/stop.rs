//! When a phase ends.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::units;

/// When a phase ends: at the first of the limits that are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// After this time.
    #[serde(with = "units::optional_nanos", skip_serializing_if = "Option::is_none")]
    pub after: Option<Nanos>,
    /// After this many bytes have been transferred, over all submitters; a submitter takes an equal share.
    #[serde(with = "units::optional_bytes", skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// After this many I/Os, over all submitters; a submitter takes an equal share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ios: Option<u64>,
    /// Lengthens `after` where it is too short: each submitter continues until its share of this many I/Os has completed,
    /// at most [`Stop::LONGEST`] times as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least_ios: Option<u64>,
}

impl Stop {
    /// Most times `after` that a phase lasts for the sake of `at_least_ios`.
    pub const LONGEST: u64 = 4;

    /// Asks for a limit that cannot be run, and what to write instead. `transfers`: the phase moves data.
    pub(crate) fn check(&self, transfers: bool) -> Result<(), &'static str> {
        let limits = [self.after.map(|n| n.0), self.bytes.map(|b| b.0), self.ios];
        if limits == [None; 3] {
            return Err("write after, bytes or ios, or it never ends");
        }
        if limits.contains(&Some(0)) {
            return Err("a limit of 0 measures nothing; leave it out");
        }
        if !transfers && self.after.is_none() && self.ios.is_none() {
            return Err("flushes transfer no bytes; write after or ios");
        }
        if self.at_least_ios.is_some() && self.after.is_none() {
            return Err("at_least_ios makes `after` longer; write that too");
        }
        Ok(())
    }
}
