//! Inputs and results of the detector.

use crate::verdict::Evidence;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of the drive before the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// All of it was purged: everything the drive has is free.
    Purged,
    /// The range was then written in order, whole: what is free is the over-provisioning.
    SequentialFill,
    /// Not known: it may be fresh.
    Unknown,
}

/// Facts and limits given before the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    /// Bytes of the addresses that are written: a fill.
    pub range_bytes: u64,
    /// Before the first byte.
    pub start: Start,
    /// (physical - range) / range, when it is known. With a range smaller than the drive it is that of the
    /// range: the rest of a purged drive is spare space too.
    pub over_provisioning: Option<f64>,
    /// Least and most that it may be when it is not known. The wider, the later a drive that never falls is believed.
    pub over_provisioning_range: [f64; 2],
    /// The medium is known to be written in place (no log, no collection): nothing has to be used up.
    pub in_place: bool,
    /// Writes are uniform random over the range: theory may be used.
    pub uniform_random: bool,
    /// Share of its value that a steady state may be off, such as 0.05.
    pub margin: f64,
    /// Fills after which a drive without a steady state gets the verdict *no*.
    pub fills_max: f64,
}

impl Prior {
    /// For uniform random writes: over-provisioning unknown, from 5 to 100% of the range; ± 5%; 16 fills.
    ///
    /// 5% is less than what lies between gigabytes and gibibytes (7.4%), which next to all drives have at least;
    /// above 100% there is hardly one, unless the range is a part of it.
    pub fn new(range_bytes: u64, start: Start) -> Prior {
        Prior {
            range_bytes,
            start,
            over_provisioning: None,
            over_provisioning_range: [0.05, 1.0],
            in_place: false,
            uniform_random: true,
            margin: 0.05,
            fills_max: 16.0,
        }
    }

    /// False when a figure makes no sense; nothing can be judged then.
    pub fn is_valid(&self) -> bool {
        let [least, most] = self.over_provisioning_range;
        let known = self.over_provisioning.unwrap_or(most);
        self.range_bytes > 0
            && least > 0.0
            && least <= most
            && most.is_finite()
            && known > 0.0
            && known.is_finite()
            && self.margin > 0.0
            && self.margin < 0.5
            && self.fills_max > 0.0
    }
}

/// Writes of one stretch, of any length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// By the host, into the range.
    pub bytes_written: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Mean over that time of the rate that is tracked: IOPS, MB/s. NaN where none was measured, as between the rounds
    /// of a variable that is measured now and then; the bytes count all the same.
    pub value: f64,
    /// Bytes written to the medium for each of the host's, where the drive reports it.
    pub amplification: Option<f64>,
    /// Something else held the drive up: heat, another user, an error. The span is not judged, nor is what was before.
    pub disturbed: bool,
    /// The drive was left alone for so long before this span. It may have recovered: what was before does not count.
    pub idle_ns: u64,
}

/// State of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It may still be writing to space that was free in the beginning.
    Fresh,
    /// On the way.
    Transition,
    /// It continues like this.
    Steady,
    /// It continues like this, up and down.
    Periodic,
    /// Something else holds it up, or it fell to a much lower rate.
    Throttled,
    /// It changes gradually.
    Drifting,
    /// It went from one level to another, too short ago to say that it stays there.
    Stepped,
    /// It goes back and forth between levels, not in step.
    Telegraph,
    /// Nothing speaks against a steady state, and there is too little evidence for it.
    Inconclusive,
    /// It did not come to rest within what was granted.
    NeverSteady,
}

impl State {
    /// True when the data speak against a steady state.
    pub fn is_against(self) -> bool {
        matches!(
            self,
            State::NeverSteady
                | State::Throttled
                | State::Drifting
                | State::Stepped
                | State::Telegraph
        )
    }

    /// Name in records, such as `never_steady`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Fresh => "fresh",
            State::Transition => "transition",
            State::Steady => "steady",
            State::Periodic => "periodic",
            State::Throttled => "throttled",
            State::NeverSteady => "never_steady",
            State::Drifting => "drifting",
            State::Stepped => "stepped",
            State::Telegraph => "telegraph",
            State::Inconclusive => "inconclusive",
        }
    }
}

/// May the value be taken?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The drive continues like this: *steady*, or *periodic*, where the value is that of whole periods.
    Yes,
    /// More has to be written.
    NotYet,
    /// Writing more is not expected to help.
    No,
}

impl Verdict {
    /// Name in records, such as `not_yet`.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::NotYet => "not_yet",
            Verdict::No => "no",
        }
    }
}

/// A rate, in the unit of [`Span::value`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The mean over the last drive write; of a *periodic* drive that of whole periods.
    pub mean: f64,
    /// Lower end of its interval, at 95%.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Bytes written before what it is the mean of.
    pub from_bytes: u64,
    /// Bytes written at its end.
    pub to_bytes: u64,
}

/// Findings of the last look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// State of the drive.
    pub state: State,
    /// May the value be taken?
    pub verdict: Verdict,
    /// Bytes that had been written when this was found; for *yes*, when it was found first.
    pub at_bytes: u64,
    /// The rate, when the verdict is *yes*.
    pub value: Option<Level>,
    /// Length of a period, when the state is *periodic*.
    pub period_bytes: Option<u64>,
    /// The rate over the last drive write with its bounds, whatever the verdict.
    pub end: Option<Level>,
    /// The plateau before the last change of the rate.
    pub earlier: Option<Level>,
    /// Least and greatest rate between which the drive goes, where it is not at rest.
    pub range: Option<[f64; 2]>,
    /// Data that an *inconclusive* answer needs, such as `about 1.5 drive writes`.
    pub missing: Option<String>,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// The figures, by name; names end in their unit.
    pub evidence: BTreeMap<String, Evidence>,
}
