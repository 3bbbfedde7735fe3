//! Statistics that can be trusted: quantities with intervals, distributions, change points, drift,
//! modes, and the verdicts that are built on them. Pure functions from numbers to numbers.
//!
//! Rules that hold for every function here:
//! - Input is a slice of `f64` in the order of measurement. Empty input, NaN and infinities never
//!   panic: the function returns `None`. The caller has to say why a number is missing; a statistic
//!   that skips it in silence would hide that.
//! - Nothing is drawn from the clock or the system: what resamples takes a seed, and the same seed
//!   gives the same bits.
//! - An interval is only given where the count of observations allows one.

pub mod caveat;
pub mod changepoint;
pub mod compare;
pub mod course;
pub mod drift;
pub mod effects;
pub mod ess;
pub mod fio_bins;
pub mod histogram;
pub mod interval;
pub mod knee;
pub mod lenient;
pub mod modes;
pub mod quantity;
pub mod remedy;
pub mod shift;
pub mod spread;
pub mod steady;
pub mod stop;
pub mod verdict;

mod binomial;
mod normal;
mod rng;
mod sample;

pub use caveat::Caveat;
pub use changepoint::{Cost, Penalty, Segment, Segmentation, pelt};
pub use compare::{
    Agreement, Contrast, Design, ERROR_MAX, Judged, Outcome, RatioEstimate, RatioInterval,
    Withheld, agreement, equivalence, holm, judge, paired_ratio,
};
pub use course::{COURSE_MIN, Course, JudgedCourse, Turn, judge_courses};
pub use drift::{
    Drift, LevelChange, MannKendall, Slope, drift, level_change, mann_kendall, theil_sen,
};
pub use effects::{Effects, Term, effects};
pub use ess::{effective_runs, effective_sample_size};
pub use histogram::LatencyHistogram;
pub use interval::{
    BootstrapInterval, BootstrapKind, OrderInterval, ProportionInterval, bootstrap, median,
    median_interval, median_quantity, proportion_interval, runs_needed,
};
pub use knee::{Knee, Progress};
pub use lenient::Lenient;
pub use modes::{DipNull, ModeTest, Modes, two_modes};
pub use quantity::{Better, Quantity, Unit};
pub use remedy::Remedy;
pub use shift::{Shift, shift};
pub use spread::{
    DeviationInterval, Fences, coefficient_of_variation, deviation_interval,
    median_absolute_deviation, quantile, range_over_mean, tukey_fences,
};
pub use stop::{Decision, StopRule};
pub use verdict::{Assessment, Evidence, Proof, Verdict};
