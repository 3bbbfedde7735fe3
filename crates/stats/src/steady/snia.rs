//! The rule of SNIA's Performance Test Specification (PTS 2.0.2, the definition of steady state): five rounds whose
//! range and whose fitted line stay within shares of their mean.
//!
//! It is kept to the letter, so that a verdict can be compared with other programs'. Its blind spots are described in
//! `docs/method/steady-state.md`: rounds are minutes, and five of them on a fresh drive are as flat as five on a
//! steady one.

use crate::sample;
use serde::{Deserialize, Serialize};

/// Rounds of the measurement window.
pub const WINDOW_ROUNDS: usize = 5;
/// Rounds after which the test ends, reached or not.
pub const ROUNDS_MAX: usize = 25;
/// Most that the values of a window may range, of their mean.
pub const RANGE_SHARE: f64 = 0.20;
/// Most that the fitted line may rise or fall within a window, of the mean.
pub const SLOPE_SHARE: f64 = 0.10;

/// Five rounds and what the rule asks of them. Values are in the unit of the tracked variable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its first round, counted from 1.
    pub first_round: usize,
    /// Its last round, counted from 1.
    pub last_round: usize,
    /// Mean of the five values.
    pub average: f64,
    /// The greatest less the least value.
    pub range: f64,
    /// Most that `range` may be.
    pub allowed_range: f64,
    /// Slope of the least-squares line, a round.
    pub slope_per_round: f64,
    /// Value of that line at round 0, rounds being counted from the first of the test.
    pub intercept: f64,
    /// Rise or fall of the line from the first to the last of the five, which are four steps apart.
    pub slope_excursion: f64,
    /// Most that `slope_excursion` may be.
    pub allowed_slope_excursion: f64,
    /// Both are within what is allowed.
    pub passes: bool,
}

impl Window {
    /// Looks at five values, the last of which is that of round `last_round`. `None` when they are not five, one is
    /// NaN or an infinity, or `last_round` is below five.
    pub fn of(values: &[f64], last_round: usize) -> Option<Window> {
        if values.len() != WINDOW_ROUNDS || last_round < WINDOW_ROUNDS || !sample::usable(values) {
            return None;
        }
        let first_round = last_round + 1 - WINDOW_ROUNDS;
        let average = sample::mean(values);
        let middle = (first_round + last_round) as f64 / 2.0;
        let rounds = (first_round..=last_round).map(|round| round as f64 - middle);
        let (mut products, mut squares) = (0.0, 0.0);
        for (round, value) in rounds.zip(values) {
            products += round * (value - average);
            squares += round * round;
        }
        let slope_per_round = products / squares;
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = greatest - least;
        let slope_excursion = slope_per_round.abs() * (WINDOW_ROUNDS - 1) as f64;
        let (allowed_range, allowed_slope_excursion) =
            (RANGE_SHARE * average, SLOPE_SHARE * average);
        Some(Window {
            first_round,
            last_round,
            average,
            range,
            allowed_range,
            slope_per_round,
            intercept: average - slope_per_round * middle,
            slope_excursion,
            allowed_slope_excursion,
            passes: range <= allowed_range && slope_excursion <= allowed_slope_excursion,
        })
    }
}

/// Verdict of the rule on a series of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Judgement {
    /// A window passed; it is the first that did.
    Reached {
        /// The window. Its mean is what the test reports.
        window: Window,
    },
    /// None passed in the 25 rounds that a test has. The last window is what is reported then, as *not achieved*.
    NotReached {
        /// The last window.
        window: Window,
    },
    /// None passed so far, and the test is not over.
    TooFew {
        /// Rounds so far.
        rounds: usize,
        /// The last window; `None` below five rounds, or when a value in it is NaN or an infinity.
        window: Option<Window>,
    },
}

impl Judgement {
    /// The round at which steady state was reached, counted from 1.
    pub fn reached_at(&self) -> Option<usize> {
        match self {
            Judgement::Reached { window } => Some(window.last_round),
            _ => None,
        }
    }
}

/// Judges rounds in the order in which they were measured. Those after the 25th are not looked at: an operator may go
/// on, and would say so. A window with NaN or an infinity in it does not pass.
pub fn judge(rounds: &[f64]) -> Judgement {
    let rounds = &rounds[..rounds.len().min(ROUNDS_MAX)];
    let mut last = None;
    for (at, values) in rounds.windows(WINDOW_ROUNDS).enumerate() {
        last = Window::of(values, at + WINDOW_ROUNDS);
        if let Some(window) = last.filter(|window| window.passes) {
            return Judgement::Reached { window };
        }
    }
    match last {
        Some(window) if rounds.len() == ROUNDS_MAX => Judgement::NotReached { window },
        window => Judgement::TooFew { rounds: rounds.len(), window },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five values with the mean, slope and range of a published report, which printed those and not the values.
    const REPORT: [f64; 5] = [11_759.0, 11_695.0, 11_837.0, 11_537.0, 11_806.0];

    fn near(ours: f64, reference: f64) {
        assert!((ours - reference).abs() < 1e-9 * reference.abs(), "{ours}, {reference}");
    }

    // The only window for which a real PTS report prints all figures. With n steps in place of n - 1 the excursion of the
    // slope would be 32.
    #[test]
    fn a_published_window_has_its_published_figures() {
        let window = Window::of(&REPORT, 5).unwrap();
        near(window.average, 11_726.8);
        near(window.allowed_range, 2_345.36);
        near(window.range, 300.0);
        near(window.allowed_slope_excursion, 1_172.68);
        near(window.slope_per_round, -6.4);
        near(window.slope_excursion, 25.6);
        near(window.intercept, 11_746.0);
        assert!(window.passes);
    }

    // The line of a later window is given over the test's rounds, not the window's.
    #[test]
    fn a_window_is_told_by_the_rounds_of_the_test() {
        let later = Window::of(&REPORT, 9).unwrap();
        assert_eq!((later.first_round, later.last_round), (5, 9));
        near(later.intercept + 7.0 * later.slope_per_round, 11_726.8);
    }

    #[test]
    fn both_limits_belong_to_what_is_allowed() {
        // Exactly 20% of range without slope, and a slope of exactly 10% within 20% of range: a strict comparison
        // would refuse both.
        let range = Window::of(&[100.0, 90.0, 110.0, 90.0, 110.0], 5).unwrap();
        assert!(range.range <= range.allowed_range);
        let line = Window::of(&[90.0, 95.0, 100.0, 105.0, 110.0], 5).unwrap();
        assert!((line.range, line.slope_excursion) == (20.0, 20.0) && !line.passes);
        let half = Window::of(&[95.0, 97.5, 100.0, 102.5, 105.0], 5).unwrap();
        assert!((half.range, half.slope_excursion) == (10.0, 10.0) && half.passes);
        let wide = Window::of(&[100.0, 89.9, 110.0, 90.0, 110.1], 5).unwrap();
        assert!(!wide.passes);
    }

    #[test]
    fn the_first_window_that_passes_ends_the_test() {
        let mut rounds: Vec<f64> = (0..20).map(|round| 1000.0 * 0.8_f64.powi(round)).collect();
        assert_eq!(judge(&rounds).reached_at(), None);
        rounds.extend([10.0; 5]);
        assert_eq!(judge(&rounds).reached_at(), Some(25), "{:?}", judge(&rounds));
        assert_eq!(judge(&[7.0; 9]).reached_at(), Some(5));
    }

    // A 26th round must not rescue a test that the standard has ended.
    #[test]
    fn twenty_five_rounds_are_all_there_are() {
        let mut rounds: Vec<f64> = (0..25).map(|round| 1000.0 * 0.8_f64.powi(round)).collect();
        assert!(
            matches!(judge(&rounds), Judgement::NotReached { window } if window.last_round == 25)
        );
        rounds.extend([1.0; 9]);
        assert!(matches!(judge(&rounds), Judgement::NotReached { .. }));
    }

    #[test]
    fn too_few_and_unusable_rounds_are_no_panic() {
        assert_eq!(judge(&[]), Judgement::TooFew { rounds: 0, window: None });
        assert_eq!(judge(&[1.0; 4]), Judgement::TooFew { rounds: 4, window: None });
        let broken = [1.0, f64::NAN, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(judge(&broken), Judgement::TooFew { rounds: 6, window: None });
        assert_eq!(Window::of(&[1.0; 5], 4), None);
        assert_eq!(Window::of(&[1.0; 6], 9), None);
    }
}
