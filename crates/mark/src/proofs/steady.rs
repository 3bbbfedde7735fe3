//! *Steady*: the windows measured were in one state, by comparing the runs' series with each other.

use stats::{Proof, Verdict, drift, median_interval};

use super::{Case, MARGIN, percent};
use crate::findings::CONFIDENCE;

/// Chance of calling a drift that is none.
const ALPHA: f64 = 0.01;

pub(super) fn judge(case: &Case<'_>) -> Proof {
    let changes: Vec<f64> = case.runs().iter().filter_map(|r| change(&r.series_bytes)).collect();
    let rates = case.rates();
    let over_runs = over_runs(&rates);
    let mut proof = within(&changes);
    if let Some((total, p)) = over_runs {
        proof = proof.with("drift_over_runs", total).with("drift_p", p);
        if p < ALPHA && total.abs() > MARGIN {
            let word = if total > 0.0 { "rose" } else { "fell" };
            proof.verdict = Verdict::Refuted;
            proof.reason = format!(
                "throughput {word} by {} from the first run to the last: the drive was still in transition",
                percent(total.abs())
            );
        }
    }
    let state = match proof.verdict {
        Verdict::Proven => "steady",
        Verdict::Refuted => "transition",
        Verdict::Unprovable => "unknown",
    };
    proof.with("state", state).with("windows", changes.len() as u64)
}

/// Relative change of throughput from the first half of a window to the second.
fn change(series: &[u64]) -> Option<f64> {
    let half = series.len() / 2;
    if half < 2 {
        return None;
    }
    let sum = |part: &[u64]| part.iter().sum::<u64>() as f64;
    let (first, second) = (sum(&series[..half]), sum(&series[series.len() - half..]));
    (first > 0.0).then(|| second / first - 1.0)
}

fn within(changes: &[f64]) -> Proof {
    let Some(interval) = median_interval(changes, CONFIDENCE) else {
        return Proof::new(Verdict::Unprovable, "fewer than 6 windows have a series to compare");
    };
    let (low, high) = (interval.low, interval.high);
    let proof = if low >= -MARGIN && high <= MARGIN {
        let most = percent(low.abs().max(high.abs()));
        Proof::new(Verdict::Proven, format!("the halves of the windows agree within {most}"))
    } else if low > MARGIN || high < -MARGIN {
        let word = if low > 0.0 { "rises" } else { "falls" };
        let least = percent(low.abs().min(high.abs()));
        Proof::new(
            Verdict::Refuted,
            format!("throughput {word} by at least {least} within the window"),
        )
    } else {
        let (low, high) = (percent(low), percent(high));
        Proof::new(
            Verdict::Unprovable,
            format!(
                "the change within the window lies between {low} and {high}: a longer --duration decides"
            ),
        )
    };
    proof.with("change_within_low", low).with("change_within_high", high)
}

/// Change from the first run to the last by Theil–Sen, relative to the median, and its Mann–Kendall p.
fn over_runs(rates: &[f64]) -> Option<(f64, f64)> {
    let drift = drift(rates, CONFIDENCE)?;
    Some((drift.total_percent / 100.0, drift.p_value))
}
