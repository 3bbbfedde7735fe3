//! Records of a run in progress, from which a later process resumes it.

use std::collections::VecDeque;

use block::{Nanos, RunSink};
use engine::Samples;
use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;
use stats::steady::State;

use crate::body::RuleVerdict;
use crate::fill::is_amid_fill;
use crate::options::Test;
use crate::rig::Purged;
use crate::window::{Window, Written};

/// Record of a stretch or a purge, from which a run resumes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// A stretch.
    Window {
        /// Its figures.
        window: Box<Window>,
        /// Its response times.
        latencies: LatencyHistogram,
    },
    /// A purge, before this test.
    Purged {
        /// The test.
        test: Test,
        /// Result of the purge.
        purged: Purged,
    },
    /// All before is whole: a run that is interrupted later resumes from here.
    Whole {
        /// Name of the finished part, such as `round 3 of iops`.
        what: String,
        /// Bytes written to the device by then, one entry per counter.
        written: Vec<Written>,
    },
}

/// State of a test after a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The tracked value, such as `IOPS of RND 4KiB 0/100`.
    pub tracked: String,
    /// Its values, a round each.
    pub values: Vec<f64>,
    /// Fills of the range written since the preconditioning that is independent of the load.
    pub fills: f64,
    /// The specification's verdict.
    pub pts: RuleVerdict,
    /// State by bytes.
    pub ours: State,
    /// Least time until the rule that ends rounds can be met, and most, where there is an end.
    pub left: Left,
}

/// How long rounds may go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// At least.
    pub least: Nanos,
    /// At most; `None` when it is unknown.
    pub most: Option<Nanos>,
}

/// Receives the progress of a run, and the records to keep.
pub trait Keeper: RunSink {
    /// Something is over; `samples` is what a stretch was made of.
    fn keep(&mut self, kept: &Kept, samples: Option<&Samples>);

    /// A round is over. Does nothing unless somebody looks.
    fn stands(&mut self, _: &Standing) {}
}

/// Records of an earlier process.
#[derive(Debug, Default)]
pub struct Earlier {
    /// In the order made.
    pub kept: VecDeque<Kept>,
    /// True for a drive that is created again in its initial state (a virtual one): everything is done once more, and must give
    /// the same records.
    pub replay: bool,
}

impl Earlier {
    /// The records that a real drive can resume from: all up to the last whole part. Later ones are dropped, since it is
    /// not known which of their writes reached the drive.
    pub fn up_to_whole(mut self) -> Earlier {
        let whole = self.kept.iter().rposition(|kept| matches!(kept, Kept::Whole { .. }));
        self.kept.truncate(whole.map_or(0, |at| at + 1));
        self
    }

    /// True where it ends in the middle of a fill: what comes next writes as much as what came last, and no minute of a load.
    pub fn is_amid_fill(&self) -> bool {
        matches!(self.kept.back(), Some(Kept::Whole { what, .. }) if is_amid_fill(what))
    }
}
