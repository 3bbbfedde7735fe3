//! Ranges of axes that have no given range.

use super::describe::Scale;

/// Share of a layer at each end that does not decide about the range: its bulk is the rest.
const OUTER: f64 = 0.02;
/// How many times as tall as the bulk all values may be before the far ones are clipped.
const TALL: f64 = 3.0;
/// Room left beyond the bulk when far values are clipped, in heights of the bulk.
const HEADROOM: f64 = 0.25;
/// The axis begins at zero if the lowest value is below this share of the highest: the room lost is then
/// less than what heights gain by being comparable.
const NEAR_ZERO: f64 = 0.6;
/// Values closer together than this share of their size are one value.
const SAME: f64 = 1e-9;

/// Values of one layer on an axis.
pub(super) struct Sample {
    /// As given, in the axis' unit.
    pub values: Vec<f64>,
    /// Fewer values than this are all bulk: one of a few may be the finding.
    pub all_below: usize,
    /// Ends of intervals: room is made for the usual ones.
    pub soft: Vec<f64>,
    /// Whether the range makes room for it.
    pub stretches: bool,
}

/// Low and high end, `low < high`, for the samples' bulk and for `wanted`, single values that must be seen.
/// `pad` is the share left free at each end; `robust` whether far values may be left outside.
pub(super) fn automatic(
    samples: &[Sample],
    wanted: &[f64],
    scale: Scale,
    pad: f64,
    robust: bool,
) -> (f64, f64) {
    let Some(hull) = hull(samples, wanted, scale, robust) else {
        return match scale {
            Scale::Linear => (0.0, 1.0),
            Scale::Log2 => (1.0, 1024.0),
            Scale::Log10 => (1.0, 1000.0),
        };
    };
    let (low, high) = softened(hull, samples, scale);
    let span = high - low;
    if span <= SAME * high.abs().max(low.abs()) {
        return alone(scale.backward(high), scale);
    }
    let mut padded = (low - pad * span, high + pad * span);
    if scale == Scale::Linear && low >= 0.0 && padded.0 < 0.0 {
        padded.0 = 0.0;
    }
    if scale == Scale::Linear && high <= 0.0 && padded.1 > 0.0 {
        padded.1 = 0.0;
    }
    (scale.backward(padded.0), scale.backward(padded.1))
}

/// The hull with room for the ends of intervals. Usual ones are seen whole, since noise whose intervals were cut
/// would look like a finding; one of many that is far wider is cut.
fn softened(hull: (f64, f64), samples: &[Sample], scale: Scale) -> (f64, f64) {
    let ends = samples.iter().filter(|s| s.stretches).flat_map(|s| &s.soft);
    let placed = ends.map(|&end| scale.forward(end)).filter(|end| end.is_finite());
    let placed: Vec<f64> = placed.collect();
    let mut out: Vec<f64> = placed.iter().map(|end| (hull.0 - end).max(end - hull.1)).collect();
    out.sort_by(f64::total_cmp);
    let usual = out.get(out.len() / 2).copied().unwrap_or(0.0).max(0.0);
    let height = if hull.1 > hull.0 { hull.1 - hull.0 } else { f64::INFINITY };
    let reach = (0.5 * height).max(TALL * usual);
    placed.into_iter().fold(hull, |(low, high), end| {
        (low.min(end.max(hull.0 - reach)), high.max(end.min(hull.1 + reach)))
    })
}

/// A range around one single value.
fn alone(value: f64, scale: Scale) -> (f64, f64) {
    match scale {
        Scale::Linear if value == 0.0 => (0.0, 1.0),
        Scale::Linear if value > 0.0 => (0.0, 1.25 * value),
        Scale::Linear => (1.25 * value, 0.0),
        Scale::Log2 => (value / 2.0, value * 2.0),
        Scale::Log10 => (value / 10.0, value * 10.0),
    }
}

/// The range in the scale's own space, before padding; `None` without a value.
fn hull(samples: &[Sample], wanted: &[f64], scale: Scale, robust: bool) -> Option<(f64, f64)> {
    let any = samples.iter().any(|s| s.stretches && !s.values.is_empty());
    let (mut bulk, mut all) = (Ends::none(), Ends::none());
    for sample in samples.iter().filter(|s| s.stretches || !any) {
        let mut sorted: Vec<f64> = sample.values.iter().map(|&v| scale.forward(v)).collect();
        sorted.sort_by(f64::total_cmp);
        let outer = match sorted.len() {
            count if count < sample.all_below || !robust => 0,
            count => (count as f64 * OUTER).ceil() as usize,
        };
        if let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) {
            all.take(first);
            all.take(last);
            bulk.take(sorted[outer.min(sorted.len() / 2)]);
            bulk.take(sorted[(sorted.len() - 1).saturating_sub(outer).max(sorted.len() / 2)]);
        }
    }
    for &value in wanted {
        all.take(scale.forward(value));
        bulk.take(scale.forward(value));
    }
    (bulk.low <= bulk.high).then(|| within(bulk, all, scale))
}

/// All values if that does not flatten the bulk, else the bulk with some room.
fn within(bulk: Ends, all: Ends, scale: Scale) -> (f64, f64) {
    if scale == Scale::Linear && all.low >= 0.0 {
        return above_zero(bulk, all);
    }
    let height = (bulk.high - bulk.low).max(scale.least_height());
    let reaches = |far: f64| far <= TALL * height;
    let low = if reaches(bulk.high - all.low) { all.low } else { bulk.low - HEADROOM * height };
    let high = if reaches(all.high - bulk.low) { all.high } else { bulk.high + HEADROOM * height };
    (low, high)
}

/// Times, rates and counts: far is what is many times as much, and nothing is far below, since what fell to
/// nothing is as a rule the finding.
fn above_zero(bulk: Ends, all: Ends) -> (f64, f64) {
    let base = if bulk.low <= NEAR_ZERO * bulk.high { 0.0 } else { bulk.low };
    let room = HEADROOM * (bulk.high - base).max(0.1 * bulk.high);
    let high = if all.high <= TALL * bulk.high { all.high } else { bulk.high + room };
    let low = if all.low <= NEAR_ZERO * high { 0.0 } else { all.low };
    (low, high)
}

#[derive(Clone, Copy)]
struct Ends {
    low: f64,
    high: f64,
}

impl Ends {
    fn none() -> Ends {
        Ends { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }

    fn take(&mut self, value: f64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }
}

impl Scale {
    /// Maps a value to the space in which the axis is linear. Uses libm, whose last bit is the same on every
    /// machine.
    pub(super) fn forward(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log2 => libm::log2(value),
            Scale::Log10 => libm::log10(value),
        }
    }

    /// Maps a position in that space back to a value.
    pub(super) fn backward(self, place: f64) -> f64 {
        match self {
            Scale::Linear => place,
            Scale::Log2 => libm::exp2(place),
            Scale::Log10 => libm::exp10(place),
        }
    }

    /// A bulk is taken to be at least as tall as this, in the scale's own space, so that noise on one value
    /// does not make everything else far: a factor of four, or of about three.
    fn least_height(self) -> f64 {
        match self {
            Scale::Linear => 0.0,
            Scale::Log2 => 2.0,
            Scale::Log10 => 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: Vec<f64>) -> Sample {
        Sample { values, all_below: 20, soft: vec![], stretches: true }
    }

    /// Two bands of access times, and one in a hundred at ten times as long.
    fn spiked() -> Vec<f64> {
        let band = |i: usize| if i.is_multiple_of(3) { 1.6e6 } else { 0.9e6 };
        (0..4000).map(|i| band(i) * if i.is_multiple_of(100) { 10.0 } else { 1.0 }).collect()
    }

    /// If it failed, a few spikes would press all bands into one line at the bottom.
    #[test]
    fn spikes_do_not_flatten_the_bands() {
        let (low, high) = automatic(&[sample(spiked())], &[], Scale::Linear, 0.05, true);
        assert_eq!(low, 0.0);
        assert!((1.8e6..2.5e6).contains(&high), "{high}");
    }

    /// If it failed, a slow zone at three times the usual would be cut off as if it were noise.
    #[test]
    fn what_is_merely_slow_is_seen_whole() {
        let mut values = vec![1.0e6; 995];
        values.extend([2.8e6; 5]);
        let (_, high) = automatic(&[sample(values)], &[], Scale::Linear, 0.05, true);
        assert!(high > 2.8e6);
    }

    /// If it failed, one row of few (an erase block's plateau) would be taken for an outlier.
    #[test]
    fn few_values_are_all_seen() {
        let mut values = vec![1.0; 18];
        values.push(1000.0);
        let (_, high) = automatic(&[sample(values)], &[], Scale::Linear, 0.05, true);
        assert!(high >= 1000.0);
    }

    #[test]
    fn marked_values_are_always_within() {
        let (_, high) = automatic(&[sample(spiked())], &[9.0e6], Scale::Linear, 0.05, true);
        assert!(high > 9.0e6);
    }

    /// On an axis that is not robust (positions), nothing is left out.
    #[test]
    fn positions_are_never_clipped() {
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.push(1e9);
        let (_, high) = automatic(&[sample(values)], &[], Scale::Linear, 0.0, false);
        assert_eq!(high, 1e9);
    }

    /// If it failed, noise would look like steps, its intervals being cut off.
    #[test]
    fn usual_intervals_are_seen_whole_and_a_far_wider_one_is_cut() {
        let values: Vec<f64> = (0..12).map(|i| f64::from(i % 3) - 1.0).collect();
        let mut soft: Vec<f64> = values.iter().flat_map(|v| [v - 6.0, v + 6.0]).collect();
        let one = |soft: &[f64]| Sample { soft: soft.to_vec(), ..sample(values.clone()) };
        let (low, high) = automatic(&[one(&soft)], &[], Scale::Linear, 0.0, true);
        assert_eq!((low, high), (-7.0, 7.0));
        soft[3] = 900.0;
        let (_, high) = automatic(&[one(&soft)], &[], Scale::Linear, 0.0, true);
        assert!((7.0..30.0).contains(&high), "{high}");
    }

    #[test]
    fn a_narrow_range_is_not_drawn_from_zero() {
        let values = (0..100).map(|i| 100.0 + f64::from(i) / 10.0).collect();
        let (low, _) = automatic(&[sample(values)], &[], Scale::Linear, 0.05, true);
        assert!(low > 95.0, "{low}");
    }

    #[test]
    fn one_value_or_none_has_a_range_too() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            for values in [vec![], vec![5.0], vec![5.0; 50], vec![1e-9], vec![1e24]] {
                let (low, high) = automatic(&[sample(values)], &[], scale, 0.05, true);
                assert!(low < high && low.is_finite() && high.is_finite());
            }
        }
        let (low, high) = automatic(&[sample(vec![-3.0])], &[], Scale::Linear, 0.05, true);
        assert!(low < -3.0 && high == 0.0);
    }
}
