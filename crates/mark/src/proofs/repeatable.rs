//! *Repeatable*: the runs agree, with an interval, and how many more would be needed.

use stats::{Proof, Verdict, median, runs_needed};

use super::{MARGIN, RunSeries, mb_s, percent};
use crate::body::CONFIDENCE;

/// Most runs that are suggested: of the default test, more than an hour.
const PRACTICAL: usize = 1000;

pub(super) fn judge(series: &RunSeries<'_>) -> Proof {
    let first = series.in_cache();
    let rates = series.rates().split_off(first);
    let n = rates.len();
    let Some(center) = median(&rates).filter(|m| *m > 0.0) else {
        return Proof::new(Verdict::Unprovable, "nothing was transferred");
    };
    let needed = runs_needed(&rates, MARGIN * 100.0, CONFIDENCE);
    let proof = match series.interval(first) {
        None => Proof::new(
            Verdict::Unprovable,
            format!(
                "{n} {} no 95% interval of the median; at least 6 are needed",
                if n == 1 { "run has" } else { "runs have" }
            ),
        ),
        Some(interval) => {
            let half = (interval.high - center).max(center - interval.low) / center;
            let typical = typical_deviation(&rates, center);
            let proof = if half <= MARGIN {
                let reason = format!("the median of {n} runs is known within {}", percent(half));
                Proof::new(Verdict::Proven, reason)
            } else if let Some((low_center, high_center, _)) =
                series.two_modes().filter(|_| first == 0)
            {
                let reason = format!(
                    "the runs fall into two groups, around {} and {} MB/s: one number cannot stand for both",
                    mb_s(low_center),
                    mb_s(high_center)
                );
                Proof::new(Verdict::Refuted, reason)
            } else if typical > MARGIN {
                let reason = format!(
                    "half of the runs are more than {} away from their median",
                    percent(typical)
                );
                Proof::new(Verdict::Refuted, reason)
            } else {
                let (known, wanted) = (percent(half), percent(MARGIN));
                let more = match needed {
                    Some(needed) if needed > PRACTICAL => {
                        format!("no practical count of runs makes it {wanted}")
                    }
                    Some(needed) if needed > n => {
                        format!("about {needed} runs are needed for {wanted}")
                    }
                    _ => format!("more runs are needed for {wanted}"),
                };
                let reason = format!("the median of {n} runs is known within {known}; {more}");
                Proof::new(Verdict::Unprovable, reason)
            };
            proof.with("half_width", half).with("typical_deviation", typical)
        }
    };
    let proof = proof.with("n", n as u64);
    match needed {
        Some(needed) => proof.with("runs_needed", needed as u64),
        None => proof,
    }
}

/// Median of the relative distances from the median.
fn typical_deviation(rates: &[f64], center: f64) -> f64 {
    let distances: Vec<f64> = rates.iter().map(|r| (r - center).abs() / center).collect();
    median(&distances).unwrap_or(0.0)
}
