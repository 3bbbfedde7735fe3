//! A figure of one run, over the rounds.

use stats::{median, median_interval};

/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// The median over the rounds, with its interval if there are rounds enough (6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Middle {
    /// The median.
    pub median: f64,
    /// Interval of the median, with [`CONFIDENCE`].
    pub interval: Option<(f64, f64)>,
}

impl Middle {
    /// Of one value a round; `None` of none.
    pub fn of(values: &[f64]) -> Option<Middle> {
        let interval = median_interval(values, CONFIDENCE).map(|i| (i.low, i.high));
        Some(Middle { median: median(values)?, interval })
    }

    /// `12 (10–14)`, with `digits` digits after the point.
    pub fn show(self, digits: usize) -> String {
        let Middle { median, interval } = self;
        match interval {
            // Signs and the dash between would run together.
            Some((low, high)) if low < 0.0 => {
                format!("{median:.digits$} ({low:.digits$} to {high:.digits$})")
            }
            Some((low, high)) => format!("{median:.digits$} ({low:.digits$}–{high:.digits$})"),
            None => format!("{median:.digits$} (no interval)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_has_an_interval_from_six_rounds_on() {
        let middle = Middle::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(middle, Middle { median: 3.5, interval: Some((1.0, 6.0)) });
        assert_eq!(middle.show(1), "3.5 (1.0–6.0)");
        assert_eq!(Middle::of(&[2.0]).unwrap().show(0), "2 (no interval)");
        assert_eq!(Middle::of(&[]), None);
    }

    #[test]
    fn a_negative_end_is_told_from_a_dash() {
        let middle = Middle { median: -0.5, interval: Some((-1.0, 0.2)) };
        assert_eq!(middle.show(1), "-0.5 (-1.0 to 0.2)");
    }
}
