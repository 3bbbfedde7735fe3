//! The body of `sweep --json`: a contract. Fields keep their names and units.

use block::{DriveInfo, Stack};
use serde::{Deserialize, Serialize};
use stats::{Caveat, RatioEstimate};

use super::design::{Load, Sweep};
use super::vary::Factor;
use crate::body::{Latency, Proofs, Run, Setup, Spread};

/// Everything that a sweep found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Body {
    /// Target of the runs.
    pub target: DriveInfo,
    /// Layers that the I/O passed through.
    pub stack: Stack,
    /// Design of the sweep.
    pub sweep: Sweep,
    /// Settings of all runs; times are those of the first setting.
    pub setup: Setup,
    /// By what settings and effects were judged.
    pub limits: Limits,
    /// One entry per setting, in the order of the design.
    pub settings: Vec<SettingFigures>,
    /// Effects of the factors; null where the runs do not decide, with the reason as a caveat.
    pub effects: Option<EffectsOfAll>,
    /// Effect of the order of the runs, where both orders were made.
    pub order: Option<OrderEffect>,
    /// Doubts, each with cause and remedy.
    pub caveats: Vec<Caveat>,
    /// True when the sweep was ended before its plan was done.
    pub interrupted: bool,
}

/// Figures of one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingFigures {
    /// `depth=4 threads=1`, or `base`.
    pub name: String,
    /// `SEQ1M Q8T1`.
    pub test: String,
    /// All of its levels.
    pub load: Load,
    /// Index of its level, by factor.
    pub levels: Vec<usize>,
    /// False when *reached* or *pattern* is refuted: its numbers are not a property of the drive.
    pub headline: bool,
    /// Throughput over the runs, in MB/s (10^6 bytes per second).
    pub mb_s: Spread,
    /// I/Os per second over the runs.
    pub iops: Spread,
    /// Latency of all counted I/Os of all runs together.
    pub latency_ns: Latency,
    /// The six proofs.
    pub proofs: Proofs,
    /// Whether it can be measured by runs like these.
    pub stability: Stability,
    /// The counted runs, in the order made.
    pub runs: Vec<SettingRun>,
}

/// A counted run, and when it was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingRun {
    /// Position in the order of execution, from 0.
    pub position: u32,
    /// Index of the repetition of its setting, from 0, including runs that are not counted; of interleaved settings, the
    /// block.
    pub block: u32,
    /// Root of its random streams.
    pub seed: u64,
    /// When it was begun, by the plan: from the beginning of the sweep, in nanoseconds. Flushes are not planned by the clock, so
    /// runs of writes begin later.
    pub planned_at_ns: u64,
    /// Result of the run.
    #[serde(flatten)]
    pub run: Run,
}

/// Whether runs of a setting agree so far that a number of it means something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stability {
    /// Verdict.
    pub standing: Standing,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// R/Avg that 20 runs would show, by the coefficient of variation of these; null for fewer than 5 runs.
    pub r_over_avg_of_20: Option<Ends>,
    /// The two groups that the runs fall into, if they do.
    pub modes: Option<ModesInTime>,
    /// The moment at which the runs went to another level, if they did.
    pub shift: Option<ShiftInTime>,
}

/// Verdict on a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its runs agree within the limit.
    Usable,
    /// They do not.
    Unstable,
    /// The runs do not decide it.
    Undecided,
    /// A proof withdrew its number.
    Withdrawn,
}

impl Standing {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Usable => "usable",
            Standing::Unstable => "unstable",
            Standing::Undecided => "undecided",
            Standing::Withdrawn => "withdrawn",
        }
    }
}

/// An estimate with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ends {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Two groups of runs, and which runs are in each: by their places among the setting's counted runs, from 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModesInTime {
    /// Median of the lower group, in MB/s.
    pub low_mb_s: f64,
    /// Median of the upper group, in MB/s.
    pub high_mb_s: f64,
    /// Runs of the lower group.
    pub low_runs: Vec<usize>,
    /// Probability that there are no two groups.
    pub p_value: f64,
}

/// A lasting shift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShiftInTime {
    /// The first run after it, by its place among the setting's counted runs, from 0.
    pub at_run: usize,
    /// Median of the runs before, in MB/s.
    pub before_mb_s: f64,
    /// Median of those after.
    pub after_mb_s: f64,
    /// How likely chance divides the runs as well.
    pub p_value: f64,
}

/// Effects of all factors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectsOfAll {
    /// Runs of each setting that were compared.
    pub blocks: usize,
    /// Levels whose settings were left out, since a number of them was withdrawn: `size=64MiB`.
    pub left_out: Vec<String>,
    /// Each factor alone, and where all levels met each pair.
    pub terms: Vec<Effect>,
    /// Share of what settings do together that needs three factors and more; null one at a time.
    pub beyond_pairs: Option<f64>,
    /// Share of the variation that is between runs of one setting; null one at a time.
    pub noise: Option<f64>,
}

/// Effect of a factor, or of two together beyond the effect of each alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// One factor or two.
    pub factors: Vec<Factor>,
    /// Outcome.
    pub outcome: Outcome,
    /// ω²: the share of the variation of runs that it explains; one at a time, of runs of this factor's settings.
    pub share: Ends,
    /// F of the term; null where blocks agree exactly.
    pub f: f64,
    /// Its degrees of freedom.
    pub degrees: usize,
    /// Multiplier of both degrees of freedom.
    pub epsilon: f64,
    /// Probability of such an F by chance, of this test alone.
    pub p_value: f64,
    /// The same by Holm's procedure over all tests of the sweep.
    pub p_holm: f64,
    /// Throughput at the highest level to that at the lowest; of two factors, how far they are at most from what each does
    /// alone, above 1.
    pub greatest_ratio: f64,
    /// Each level to the first; of two factors, each pair of levels to what each does alone.
    pub levels: Vec<LevelEffect>,
}

/// A level's throughput.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelEffect {
    /// `4`, or `4 × 16` of two factors.
    pub level: String,
    /// Ratio to its reference (see `Effect::levels`), over all that is varied besides.
    pub ratio: RatioEstimate,
}

/// Outcome of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Throughput depends on it.
    Matters,
    /// All its levels are within the margin.
    NoMatter,
    /// The runs do not decide it.
    Undecided,
}

impl Outcome {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Matters => "matters",
            Outcome::NoMatter => "no matter",
            Outcome::Undecided => "undecided",
        }
    }
}

/// Effect of interleaving, over the settings made in both orders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderEffect {
    /// Settings that were made in both orders, with a valid number in each.
    pub settings: usize,
    /// Spread of runs (CV) in turns to that of runs in a row; its interval is over settings.
    pub spread: Option<RatioEstimate>,
    /// Throughput in turns to that in a row; its interval is over settings.
    pub throughput: Option<RatioEstimate>,
    /// Median CV of settings in turns.
    pub cv_interleaved: f64,
    /// Median CV of settings in a row.
    pub cv_blocked: f64,
}

impl Body {
    /// True when a number was refuted: the run's answer is negative.
    pub fn refuted(&self) -> bool {
        self.settings.iter().any(|setting| !setting.headline)
    }

    /// Number of settings with this `standing`.
    pub fn count(&self, standing: Standing) -> usize {
        self.settings.iter().filter(|setting| setting.stability.standing == standing).count()
    }
}

impl SettingFigures {
    /// Throughputs of its runs, in MB/s.
    pub fn rates(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.run.mb_s).collect()
    }
}

/// By what settings and effects are judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// R/Avg of 20 runs above which a setting is unstable, as a ratio.
    pub r_over_avg_of_20: f64,
    /// Levels whose throughputs are within this share of each other do not matter (0.02 for 2%).
    pub margin: f64,
}
