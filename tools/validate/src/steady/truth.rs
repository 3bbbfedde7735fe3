//! Lasting behaviour of a drive, by its long run.

use super::series::{SPANS_PER_FILL, Series};

/// Fills at the end whose mean is the truth.
const LAST_FILLS: usize = 5;
/// A half fill within this share of the truth is at it.
pub(super) const MARGIN: f64 = 0.05;
/// Spans between the beginnings of successive half fills: a twentieth of a fill.
const STEP: usize = SPANS_PER_FILL / 20;

/// Behaviour in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Half fills stay.
    Steady,
    /// Half fills keep leaving, whole fills come back to the same level, and the load comes round.
    Periodic,
    /// The same, under a load that does not come round.
    Irregular,
    /// Half fills keep leaving, and whole fills do as well.
    Never,
    /// Something else: half fills left once.
    Unsettled,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::Steady => "steady",
            Kind::Periodic => "periodic",
            Kind::Irregular => "irregular",
            Kind::Never => "never",
            Kind::Unsettled => "unsettled",
        }
    }
}

/// The truth of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Truth {
    pub(super) kind: Kind,
    /// Bytes a second.
    pub(super) rate: f64,
    /// Fills after which each half fill is within the margin; `None` when there is no such moment.
    pub(super) earliest_fills: Option<f64>,
}

impl Truth {
    /// `comes_round` is true when the load comes round.
    pub(super) fn of(series: &Series, comes_round: bool) -> Truth {
        let spans = series.spans.len();
        let half = SPANS_PER_FILL / 2;
        let last = spans.saturating_sub(LAST_FILLS * SPANS_PER_FILL);
        let rate = series.rate(last, spans);
        let is_off = |from: usize, length: usize| {
            (series.rate(from, from + length) / rate - 1.0).abs() > MARGIN
        };
        let starts = || (0..=spans.saturating_sub(half)).step_by(STEP);
        let latest_off = starts().filter(|from| is_off(*from, half)).last();
        let off_in = |from: usize, to: usize| {
            starts().any(|start| start >= from && start + half <= to && is_off(start, half))
        };
        let (middle, fills) = (usize::midpoint(last, spans), LAST_FILLS);
        let fill_off = (0..fills).any(|fill| is_off(last + fill * SPANS_PER_FILL, SPANS_PER_FILL));
        let kind = match (off_in(last, middle), off_in(middle, spans)) {
            (false, false) => Kind::Steady,
            (true, true) if fill_off => Kind::Never,
            (true, true) if comes_round => Kind::Periodic,
            (true, true) => Kind::Irregular,
            _ => Kind::Unsettled,
        };
        let after = latest_off.map_or(0, |from| from + STEP);
        let is_steady = kind == Kind::Steady;
        Truth {
            kind,
            rate,
            earliest_fills: is_steady.then(|| after as f64 / SPANS_PER_FILL as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::Span;
    use super::*;

    fn series(rate: impl Fn(f64) -> f64) -> Series {
        let span = |at: usize| Span {
            bytes: 1_000_000,
            duration_ns: (1e15 / rate(at as f64 / SPANS_PER_FILL as f64)) as u64,
            media_bytes: 0,
        };
        Series { over_provisioning: 0.1, spans: (0..4_000).map(span).collect() }
    }

    // The score is worth what its truth is worth.
    #[test]
    fn long_runs_are_told_apart() {
        let kind = |rate: &dyn Fn(f64) -> f64| Truth::of(&series(rate), true).kind;
        assert_eq!(kind(&|_| 5e8), Kind::Steady);
        assert_eq!(
            kind(&|t| 5e8 * (1.0 + 0.3 * (t * std::f64::consts::TAU).sin())),
            Kind::Periodic
        );
        assert_eq!(kind(&|t| 5e8 * (-0.1 * t).exp()), Kind::Never);
        let step = Truth::of(&series(|t| if t < 2.0 { 9e8 } else { 5e8 }), false);
        assert!((step.rate / 5e8 - 1.0).abs() < 1e-3, "{step:?}");
        // A half fill with a sixteenth of its bytes at the old rate is off by 5%.
        assert!((1.9..=2.0).contains(&step.earliest_fills.unwrap()), "{step:?}");
    }
}
