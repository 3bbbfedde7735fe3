//! *Steady*: the windows measured were in one state, by comparing the runs' series with each other.

use stats::{
    Cost, Penalty, Proof, Verdict, drift, ess, level_change, median, median_interval, pelt,
};

use super::{Case, MARGIN, RunSeries, mb_s, percent, wave};
use crate::body::CONFIDENCE;

/// Chance of finding a drift where there is none.
const ALPHA: f64 = 0.01;
/// Confidence of the bound on the level over the runs: that of two one-sided tests at 5%, as equivalence is shown.
const EQUIVALENCE: f64 = 0.9;
/// Parts of a window whose means are compared with each other.
const PARTS: usize = 10;
/// Parts that a level within a window must last.
const LEVEL_PARTS: usize = 2;
/// Gain in minus twice the log-likelihood that a level has to bring. The greatest of the gains that noise brings to ten parts
/// is above this in about one window of a thousand.
const LEVEL_GAIN: f64 = 16.0;
/// Up to one in this many windows may show several levels: other use of the drive, which the median withstands.
const STRAY_SHARE: usize = 4;

pub(super) fn judge(runs: &RunSeries<'_>) -> Proof {
    let in_cache = runs.in_cache();
    let windows: Vec<Vec<u64>> = runs.runs[in_cache..]
        .iter()
        .map(|run| between_completions(&run.series_bytes, runs.block.0))
        .collect();
    let series = || windows.iter().map(Vec::as_slice);
    let changes: Vec<f64> = series().filter_map(change).collect();
    let rates = runs.rates().split_off(in_cache);
    let mut proof = over_runs(&rates, within(&changes), runs.confidence(EQUIVALENCE));
    if proof.verdict != Verdict::Refuted
        && in_cache == 0
        && let Some((low, high, _)) = runs.two_modes()
    {
        let (low, high) = (mb_s(low), mb_s(high));
        doubt(
            &mut proof,
            format!("the runs were in two states, around {low} and {high} MB/s"),
            "two states",
        );
    }
    let parts: Vec<Vec<f64>> = series().filter_map(parts).collect();
    let noise = noise(&parts);
    let stepped: Vec<Levels> = parts.iter().filter_map(|parts| levels(parts, noise?)).collect();
    let (count, of) = (stepped.len(), changes.len());
    if proof.verdict == Verdict::Proven && count * STRAY_SHARE > of {
        let widest = stepped.iter().map(|l| l.high / l.low - 1.0).fold(0.0, f64::max);
        let back = stepped.iter().filter(|l| l.returns).count() * 2 > count;
        let (course, state) =
            if back { ("went up and down", "waves") } else { ("stepped", "steps") };
        doubt(
            &mut proof,
            format!(
                "throughput {course} by up to {} within {count} of {of} windows: a longer --duration shows which state \
                 the drive keeps",
                percent(widest)
            ),
            state,
        );
    }
    let all: Vec<&[u64]> = series().collect();
    if proof.verdict == Verdict::Proven
        && let Some(wave) = wave::strongest(&all, STRAY_SHARE)
        && wave.amplitude > MARGIN / 2.0
    {
        let (size, cycles) = (percent(wave.amplitude), wave.cycles);
        let often = if cycles == 1 { "once".to_owned() } else { format!("{cycles} times") };
        doubt(
            &mut proof,
            format!(
                "throughput goes up and down by about ± {size} within the windows, {often} in each: a longer --duration \
                 averages over it"
            ),
            "waves",
        );
    }
    let state = match proof.verdict {
        Verdict::Proven => "steady",
        Verdict::Refuted => "transition",
        Verdict::Unprovable => "unknown",
    };
    if !proof.evidence.contains_key("state") {
        proof = proof.with("state", state);
    }
    if in_cache > 0 {
        proof = proof.with("runs_in_cache", in_cache as u64);
    }
    proof.with("windows", changes.len() as u64)
}

/// Runs in the wake of writes are of a drive that was still to recover.
pub(super) fn after_recovery(case: &Case<'_>, mut proof: Proof) -> Proof {
    let (count, of) = (case.stirred.len(), case.runs().len());
    if proof.verdict == Verdict::Proven && count * STRAY_SHARE > of {
        let reason = format!(
            "{count} of {of} runs began before the drive had recovered from earlier writes"
        );
        doubt(&mut proof, reason, "recovering");
    }
    proof
}

/// Takes back a proof that `reason` speaks against.
fn doubt(proof: &mut Proof, reason: String, state: &str) {
    proof.verdict = Verdict::Unprovable;
    proof.reason = reason;
    proof.evidence.insert("state".to_owned(), state.into());
}

/// I/Os of a slice below which one more or less at an end of the window matters.
const IOS_OF_A_SLICE: u64 = 64;

/// The slices of a window from its first to its last completion. Where I/Os are long, the first began before the window, and what
/// was transferred of the one that was outstanding at the end is not known: those two slices are taken to be like their neighbours.
fn between_completions(series: &[u64], block: u64) -> Vec<u64> {
    let ios = series.iter().sum::<u64>() / block.max(1);
    let is_empty = |slice: &&u64| **slice == 0;
    let head = series.iter().take_while(is_empty).count();
    let tail = series.iter().rev().take_while(is_empty).count();
    if ios >= IOS_OF_A_SLICE * series.len() as u64 || head == series.len() {
        return series.to_vec();
    }
    let mut inner = series[head..series.len() - tail].to_vec();
    if let [first, second, .., before, last] = &mut inner[..] {
        (*first, *last) = (*second, *before);
    }
    inner
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

/// Levels of one window that lie further apart than the margin.
struct Levels {
    low: f64,
    high: f64,
    /// True where throughput came back to a level that it had left.
    returns: bool,
}

/// Means of the parts of a window, over the mean of all.
fn parts(series: &[u64]) -> Option<Vec<f64>> {
    let slices: Vec<f64> = series.iter().map(|bytes| *bytes as f64).collect();
    let parts = ess::batch_means(&slices, slices.len() / PARTS);
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    (mean > 0.0).then(|| parts.iter().map(|part| part / mean).collect())
}

/// Deviation of a part, by the differences of neighbours in all windows: steps are too few to count among them. Slices that
/// resemble their neighbours are in it as they are.
fn noise(windows: &[Vec<f64>]) -> Option<f64> {
    let differences = windows.iter().flat_map(|parts| parts.windows(2).map(|two| two[1] - two[0]));
    let sizes: Vec<f64> = differences.map(f64::abs).collect();
    // Equal parts still have the noise of a rounded count.
    Some((median(&sizes)? * 1.4826 / std::f64::consts::SQRT_2).max(MARGIN / 10.0))
}

/// `None` where one level describes the window.
fn levels(parts: &[f64], noise: f64) -> Option<Levels> {
    let (cost, penalty) = (Cost::MeanKnownScale(noise), Penalty::PerChange(LEVEL_GAIN));
    let segments = pelt(parts, cost, penalty, LEVEL_PARTS)?.segments;
    let means: Vec<f64> = segments.iter().map(|segment| segment.mean).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(0.0, f64::max);
    if !(low > 0.0 && high > low * (1.0 + MARGIN)) {
        return None;
    }
    let steps: Vec<f64> = means.windows(2).map(|pair| pair[1] / pair[0] - 1.0).collect();
    let up = steps.iter().any(|step| *step > MARGIN);
    let down = steps.iter().any(|step| *step < -MARGIN);
    Some(Levels { low, high, returns: up && down })
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

/// Weighs how the level moved from the first run to the last: a drift that is there refutes, one that cannot be excluded
/// leaves open what the windows alone would prove.
fn over_runs(rates: &[f64], mut proof: Proof, equivalence: f64) -> Proof {
    let Some(trend) = drift(rates, CONFIDENCE) else { return proof };
    let total = trend.total_percent / 100.0;
    proof = proof.with("drift_over_runs", total).with("drift_p", trend.p_value);
    if trend.p_value < ALPHA && total.abs() > MARGIN {
        let word = if total > 0.0 { "rose" } else { "fell" };
        proof.verdict = Verdict::Refuted;
        proof.reason = format!(
            "throughput {word} by {} from the first run to the last: the drive was still in transition",
            percent(total.abs())
        );
    }
    let Some(bound) = level_change(rates, equivalence) else { return proof };
    proof = proof.with("drift_low", bound.low).with("drift_high", bound.high);
    if proof.verdict == Verdict::Proven && (bound.low < -MARGIN || bound.high > MARGIN) {
        proof.verdict = Verdict::Unprovable;
        proof.reason = if bound.high - bound.low > 1.0 {
            "the runs differ too much to exclude a change of level from the first to the last"
                .to_owned()
        } else {
            let (low, high) = (percent(bound.low), percent(bound.high));
            format!(
                "from the first run to the last the level may have changed by {low} to {high}: more runs decide"
            )
        };
    }
    proof
}
