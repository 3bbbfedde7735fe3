//! Facts about a drive that are not in a result, and an answer that rests on them.

use serde::Serialize;
use stats::steady::State;
use stats::{Proof, Remedy, Verdict};

/// Content of the drive before the first byte of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Nothing: it had been purged.
    Purged,
    /// All of its capacity had been written.
    Filled,
    /// Unknown; the drive is then taken to have been purged, since that is what looks steady
    /// longest.
    #[default]
    Unknown,
}

/// Facts from outside the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Known {
    /// Bytes of the drive.
    pub drive_bytes: Option<u64>,
    /// The range that the result addressed is the whole drive.
    pub range_is_drive: bool,
    /// Content of the drive before the result.
    pub start: Start,
    /// Its spare space, as a share of its capacity.
    pub over_provisioning: Option<f64>,
    /// Addresses written were drawn uniformly, each from all of them (`norandommap`).
    pub is_uniform: bool,
}

/// Whether the figure that was reported has the way to the steady state in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transient {
    /// None when that is not known.
    pub included: Option<bool>,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// Mean of the steady part, in the series' unit, where there is one.
    pub steady_mean: Option<f64>,
}

/// An answer with what would change it.
pub(super) struct Answer {
    pub(super) steady: Proof,
    pub(super) remedy: Option<Remedy>,
    pub(super) transient: Transient,
    /// State of the drive by the rule in bytes, if that was applied.
    pub(super) state: Option<State>,
}

impl Answer {
    /// Evidence that is missing, and where to get it.
    pub(super) fn unprovable(reason: impl Into<String>, remedy: impl Into<Remedy>) -> Answer {
        let reason = reason.into();
        let transient = Transient {
            included: None,
            reason: "the steady part, if there is one, is not known".to_owned(),
            steady_mean: None,
        };
        let steady = Proof::new(Verdict::Unprovable, reason);
        Answer { steady, remedy: Some(remedy.into()), transient, state: None }
    }

    /// Evidence that it was not.
    pub(super) fn refuted(reason: impl Into<String>, remedy: impl Into<Remedy>) -> Answer {
        let mut answer = Answer::unprovable(reason, remedy);
        answer.steady.verdict = Verdict::Refuted;
        answer.transient.included = Some(true);
        answer.transient.reason = "no part of it is steady".to_owned();
        answer
    }
}
