//! Whether a setting can be measured by runs like these: how far they spread, whether they fall into two groups, whether
//! they went to another level on the way.

use block::number::share;
use stats::{Modes, deviation_interval, shift, two_modes};

use super::body::Limits;
use super::body::{Ends, ModesInTime, ShiftInTime, Stability, Standing};
use crate::body::CONFIDENCE;

/// Range of 20 normal values over their standard deviation, in the mean: d2 of process charts (Tippett, Biometrika 17, 1925).
pub(super) const RANGE_OF_20: f64 = 3.735;

/// Seeds of what resamples, fixed so that the same runs get the same answer.
const MODES_SEED: u64 = 0x7377_6565;
const SHIFT_SEED: u64 = 0x7368_6966;

/// Chance of reporting a shift where there is none, of each setting.
const SHIFT_P: f64 = 0.01;

/// Judges the runs of a setting, in the order made. `headline` is false when a proof withdrew its number.
pub(super) fn judge(rates: &[f64], headline: bool, limits: &Limits) -> Stability {
    let limit = limits.r_over_avg_of_20;
    let ends = spread_of_20(rates);
    let modes = modes(rates, limit / 2.0);
    let shift = shifted(rates, limit / 2.0);
    let mut reasons = Vec::new();
    let standing = if !headline {
        reasons.push("its number is not a property of the drive".to_owned());
        Standing::Withdrawn
    } else {
        if let Some(modes) = &modes {
            reasons.push(of_modes(modes, rates.len()));
        }
        if let Some(shift) = &shift {
            reasons.push(of_shift(shift));
        }
        match ends {
            Some(ends) if ends.low > limit => {
                reasons.push(format!(
                    "R/Avg of 20 runs is {} at least, and {} is the limit",
                    share(ends.low),
                    share(limit)
                ));
            }
            _ => {}
        }
        match (reasons.is_empty(), ends) {
            (false, _) => Standing::Unstable,
            (true, Some(ends)) if ends.high <= limit => Standing::Usable,
            (true, Some(ends)) => {
                reasons.push(format!(
                    "R/Avg of 20 runs lies between {} and {}, and the limit of {} in between: more runs decide",
                    share(ends.low),
                    share(ends.high),
                    share(limit)
                ));
                Standing::Undecided
            }
            (true, None) => {
                reasons.push("fewer than 5 runs do not show how far runs spread".to_owned());
                Standing::Undecided
            }
        }
    };
    Stability { standing, reasons, r_over_avg_of_20: ends, modes, shift }
}

/// R/Avg as 20 runs would show it: the coefficient of variation, by the deviation of logarithms, times a constant. The R/Avg
/// of the runs themselves grows with their count, and could not be compared with one limit.
fn spread_of_20(rates: &[f64]) -> Option<Ends> {
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let found = deviation_interval(&logs, CONFIDENCE)?;
    let scale = |deviation: f64| RANGE_OF_20 * deviation;
    Some(Ends { value: scale(found.deviation), low: scale(found.low), high: scale(found.high) })
}

/// Two groups that are further apart than `least`, and which run is in which.
fn modes(rates: &[f64], least: f64) -> Option<ModesInTime> {
    let found = two_modes(rates, MODES_SEED)?;
    let Modes::Two { low_center, high_center, share_high, .. } = found.modes else { return None };
    if high_center <= low_center * (1.0 + least) {
        return None;
    }
    // The lower group is as large as its share says.
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|a, b| rates[*a].total_cmp(&rates[*b]));
    let count = ((1.0 - share_high) * rates.len() as f64).round() as usize;
    let mut low_runs: Vec<usize> = order.into_iter().take(count).collect();
    low_runs.sort_unstable();
    let p_value = found.p_value;
    Some(ModesInTime { low_mb_s: low_center, high_mb_s: high_center, low_runs, p_value })
}

/// A lasting shift by more than `least`.
fn shifted(rates: &[f64], least: f64) -> Option<ShiftInTime> {
    let found = shift(rates, SHIFT_SEED).filter(|found| found.p_value <= SHIFT_P)?;
    let is_far = found.before > 0.0 && (found.after / found.before - 1.0).abs() > least;
    is_far.then_some(ShiftInTime {
        at_run: found.at,
        before_mb_s: found.before,
        after_mb_s: found.after,
        p_value: found.p_value,
    })
}

/// Describes two groups of runs, with the numbers of the runs in the smaller one.
fn of_modes(modes: &ModesInTime, runs: usize) -> String {
    let is_low_rare = modes.low_runs.len() * 2 <= runs;
    let rare: Vec<usize> = match is_low_rare {
        true => modes.low_runs.clone(),
        false => (0..runs).filter(|run| !modes.low_runs.contains(run)).collect(),
    };
    format!(
        "two groups of runs, around {} and {} MB/s; the {} one in {} of {runs}",
        figure(modes.low_mb_s),
        figure(modes.high_mb_s),
        if is_low_rare { "lower" } else { "higher" },
        numbered(&rare)
    )
}

fn of_shift(shift: &ShiftInTime) -> String {
    let word = if shift.after_mb_s > shift.before_mb_s { "rose" } else { "fell" };
    format!(
        "throughput {word} from {} to {} MB/s with run {}",
        figure(shift.before_mb_s),
        figure(shift.after_mb_s),
        shift.at_run + 1
    )
}

/// `runs 1–3, 7`, counted from 1.
pub(super) fn numbered(runs: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for row in runs.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (row[0] + 1, row[row.len() - 1] + 1);
        parts.push(if first == last { first.to_string() } else { format!("{first}–{last}") });
    }
    let word = if runs.len() == 1 { "run" } else { "runs" };
    format!("{word} {}", parts.join(", "))
}

fn figure(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.2}") } else { format!("{rate:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { r_over_avg_of_20: 0.1, margin: 0.02 };

    fn standing(rates: &[f64]) -> (Standing, String) {
        let found = judge(rates, true, &LIMITS);
        (found.standing, found.reasons.join("; "))
    }

    fn wave(n: usize, around: f64, by: f64) -> Vec<f64> {
        (0..n).map(|i| around * (1.0 + by * [0.3, -1.0, 0.7, -0.4, 1.0, -0.6][i % 6])).collect()
    }

    #[test]
    fn calm_runs_are_usable_and_wild_ones_are_not() {
        assert_eq!(standing(&wave(20, 170.0, 0.002)).0, Standing::Usable);
        let (said, why) = standing(&wave(20, 170.0, 0.3));
        assert!(said == Standing::Unstable && why.contains("at least"), "{why}");
        let (said, why) = standing(&wave(6, 170.0, 0.03));
        assert!(said == Standing::Undecided && why.contains("more runs decide"), "{why}");
        assert_eq!(standing(&[1.0, 1.0, 1.0]).0, Standing::Undecided);
        assert_eq!(judge(&wave(20, 170.0, 0.002), false, &LIMITS).standing, Standing::Withdrawn);
    }

    // The drive that made this necessary: most runs at 160 to 175 MB/s, some below 150.
    #[test]
    fn two_groups_are_found_and_told_when_they_came() {
        let mut rates = wave(30, 168.0, 0.01);
        for run in [4, 5, 6, 20] {
            rates[run] *= 0.8;
        }
        let found = judge(&rates, true, &LIMITS);
        assert_eq!(found.standing, Standing::Unstable);
        let modes = found.modes.unwrap();
        assert_eq!(modes.low_runs, [4, 5, 6, 20]);
        assert!(
            found.reasons[0].contains("the lower one in runs 5–7, 21 of 30"),
            "{:?}",
            found.reasons
        );
    }

    #[test]
    fn a_lasting_shift_is_told_with_its_run() {
        let mut rates = wave(12, 100.0, 0.01);
        rates[8..].iter_mut().for_each(|rate| *rate *= 0.85);
        let found = judge(&rates, true, &LIMITS);
        assert_eq!(found.shift.unwrap().at_run, 8);
        assert!(found.reasons.iter().any(|why| why.contains("fell from") && why.contains("run 9")));
    }

    #[test]
    fn runs_are_numbered_in_rows() {
        assert_eq!(numbered(&[0]), "run 1");
        assert_eq!(numbered(&[0, 1, 2, 6]), "runs 1–3, 7");
    }
}
