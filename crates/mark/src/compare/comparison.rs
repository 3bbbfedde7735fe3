//! Result of a comparison: a contract, as the body of a mark is. Fields keep their names and units.

use block::Bytes;
use serde::{Deserialize, Serialize};
use stats::{Caveat, Design, Judged};

use super::latency::LatencyRatio;
use crate::body::{CONFIDENCE, Latency, Run, Spread};

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Ratios within this share of 1 do not count as a difference, in percent.
    pub margin_percent: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Confidence that none of the verdicts *faster* and *slower* is wrong.
    #[serde(default = "Comparison::verdicts_before")]
    pub verdict_confidence: f64,
    /// How far apart two sessions of one drive may be, in percent: an assumption about sides that were measured each by
    /// itself.
    #[serde(default)]
    pub session_offset_percent: f64,
    /// Sides, in the order named.
    pub sides: Vec<Side>,
    /// By test.
    pub tests: Vec<ComparedTest>,
    /// Doubts, each with cause and remedy.
    pub caveats: Vec<Caveat>,
}

/// One of what is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// The recorded run, if it is one.
    pub run_id: Option<String>,
    /// When it was begun.
    pub date: Option<String>,
    /// The drive in a few words.
    pub drive: String,
    /// Name of what was measured; `None` where the document is of before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Names the measurement in blocks that it was part of.
    pub blocks: Option<String>,
    /// The sessions that it was measured in, where several were named for it; else none.
    #[serde(default)]
    pub sessions: Vec<SideSession>,
}

/// A session of a side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideSession {
    /// As the user named it.
    pub name: String,
    /// When it was begun.
    pub date: Option<String>,
}

/// One test, on all sides that made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedTest {
    /// `SEQ1M Q8T1`.
    pub name: String,
    /// `read`, `write`, or `mix70`.
    pub op: String,
    /// Size of a transfer; `None`, as the next two, where no side has it or the document is of before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<Bytes>,
    /// Outstanding I/Os per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u16>,
    /// Submitters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
    /// Figures of each side, in the order of [`Comparison::sides`]; null where a side did not make the test.
    pub sides: Vec<Option<Figures>>,
    /// Each later side to each earlier one.
    pub pairs: Vec<Pair>,
    /// The sides with a valid number, by falling median, each with the ranks that it may have: all of them hold together
    /// at the confidence of the comparison.
    pub ranking: Vec<Ranked>,
}

/// Figures of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// False when *reached* or *pattern* is refuted: nothing can be compared with it.
    pub headline: bool,
    /// True when a proof is missing, or speaks against the value: it is not confirmed.
    #[serde(default)]
    pub provisional: bool,
    /// Verdict of the proof *reached*: whether the bytes were the device's.
    pub reached: stats::Verdict,
    /// Throughput over the runs, in MB/s.
    pub mb_s: Spread,
    /// Latency of all I/Os of all runs together, in nanoseconds.
    pub latency_ns: Latency,
    /// True when its runs fall into two groups: a median of both describes neither.
    pub two_modes: bool,
    /// Its counted runs, in the order made; of a comparison in blocks a run is of the block with its number. Empty in documents
    /// of before they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Run>,
}

/// One side to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Index of the side that is spoken of.
    pub of: usize,
    /// Index of the side that it is compared with.
    pub to: usize,
    /// Verdict.
    pub outcome: Verdict,
    /// How the two were measured.
    pub design: Design,
    /// Runs of each that were compared.
    pub runs: (usize, usize),
    /// The evidence: throughput of `of` to `to`; null where there is nothing to compare.
    pub throughput: Option<Judged>,
    /// How often a run of `of` is faster than one of `to`, less how often it is slower: Cliff's delta, from -1 to 1.
    pub dominance: Option<f64>,
    /// Percentiles of latency of all runs together, `of` to `to`: above 1 it is slower.
    pub latency: Option<LatencyRatio>,
    /// True when both were measured in several sessions that took turns: each session is one observation, and no offset of
    /// sessions is assumed.
    #[serde(default)]
    pub by_sessions: bool,
    /// Why the verdict is withheld, and what to do, in words; null where it is not.
    #[serde(default)]
    pub not_decided: Option<String>,
}

/// Verdict on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Its throughput is higher.
    Faster,
    /// It is lower.
    Slower,
    /// The two are within the margin.
    Equivalent,
    /// The runs do not decide it.
    Undecided,
    /// A number was withdrawn, or there is none.
    NotComparable,
}

impl Verdict {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Equivalent => "equivalent",
            Verdict::Undecided => "undecided",
            Verdict::NotComparable => "not comparable",
        }
    }
}

impl Comparison {
    /// Confidence of verdicts in documents of before it was named in them.
    fn verdicts_before() -> f64 {
        CONFIDENCE
    }

    /// True when two sides are known to differ by more than `tolerance_percent`: the whole interval lies beyond it, less what
    /// two sessions may differ by where they were measured each by itself.
    pub fn differs_beyond(&self, tolerance_percent: f64) -> bool {
        self.pairs().any(|(_, pair)| {
            let is_apart = pair.design == Design::Separate && !pair.by_sessions;
            let sessions = if is_apart { self.session_offset_percent } else { 0.0 };
            let most = (1.0 + tolerance_percent / 100.0) * (1.0 + sessions / 100.0);
            let ratio = pair.throughput.as_ref().map(|judged| judged.ratio);
            let ends = ratio.and_then(|ratio| ratio.low.zip(ratio.high));
            match pair.outcome {
                Verdict::Faster => ends.is_some_and(|(low, _)| low > most),
                Verdict::Slower => ends.is_some_and(|(_, high)| high < 1.0 / most),
                _ => false,
            }
        })
    }

    /// All pairs with their tests.
    pub fn pairs(&self) -> impl Iterator<Item = (&ComparedTest, &Pair)> {
        self.tests.iter().flat_map(|test| test.pairs.iter().map(move |pair| (test, pair)))
    }
}

/// A side among those with a valid number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    /// Index of the side.
    pub side: usize,
    /// The best rank that it may have, 1 for the fastest: one more than the sides that are surely faster.
    pub best: usize,
    /// The worst: the count of those ranked, less the sides that are surely slower.
    pub worst: usize,
}
