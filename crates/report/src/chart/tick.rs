//! Ticks at round values of a unit, and how values are written on a chart.

use stats::Unit;

use super::describe::{Axis, Scale};
use crate::number::RateUnit;

/// A value on an axis with its text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// In the axis' unit.
    pub value: f64,
    pub label: String,
}

/// One step of a unit's ladder: how many of the unit, and what is written after the number.
type Rung = (f64, &'static str);

const BYTES: [Rung; 7] = [
    (1.0, " B"),
    (1024.0, " KiB"),
    (1_048_576.0, " MiB"),
    (1_073_741_824.0, " GiB"),
    (1_099_511_627_776.0, " TiB"),
    (1_125_899_906_842_624.0, " PiB"),
    (1_152_921_504_606_846_976.0, " EiB"),
];
const TIMES: [Rung; 4] = [(1.0, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s")];
/// Longer times, which people count by the clock.
const CLOCK: [Rung; 3] = [(60e9, " min"), (3600e9, " h"), (86_400e9, " d")];
const COUNTS: [Rung; 4] = [(1.0, ""), (1e4, "k"), (1e6, "M"), (1e9, "G")];
const PERCENT: [Rung; 1] = [(1.0, "%")];
const CELSIUS: [Rung; 1] = [(1.0, " °C")];
const PLAIN: [Rung; 1] = [(1.0, "")];

fn ladder(unit: Unit) -> &'static [Rung] {
    match unit {
        Unit::Bytes => &BYTES,
        Unit::Ns => &TIMES,
        Unit::Iops | Unit::Count => &COUNTS,
        Unit::Percent => &PERCENT,
        Unit::Celsius => &CELSIUS,
        Unit::MbPerS | Unit::Ratio => &PLAIN,
    }
}

/// The name of the unit, where ticks do not carry it.
pub(super) fn axis_title(axis: &Axis, rate: RateUnit) -> String {
    match axis.unit {
        Unit::MbPerS => format!("{} ({})", axis.label, rate.name()),
        Unit::Iops => format!("{} (IOPS)", axis.label),
        _ => axis.label.clone(),
    }
}

/// Factor from the unit of an axis to that of its ticks: 1 except for MiB/s.
pub(super) fn factor(unit: Unit, rate: RateUnit) -> f64 {
    match unit {
        Unit::MbPerS => rate.of_mb(1.0),
        _ => 1.0,
    }
}

/// Ticks from `low` to `high`, at most `most` of them (and at least one place for two).
pub(super) fn ticks(axis: &Axis, low: f64, high: f64, most: usize, rate: RateUnit) -> Vec<Tick> {
    if !axis.classes.is_empty() {
        return classes(axis, low, high, most);
    }
    let factor = factor(axis.unit, rate);
    let most = most.max(2);
    let (from, to) = (low * factor, high * factor);
    let round = Round::of(axis.unit, to - from, most);
    let logarithmic = match axis.scale {
        Scale::Linear => None,
        Scale::Log2 => Some(powers(2.0, from, to, most)),
        Scale::Log10 if axis.unit == Unit::Bytes => Some(powers(2.0, from, to, most)),
        Scale::Log10 => Some(decades(from, to, most)),
    };
    // Less than a few powers say too little; round numbers do, if unevenly spaced.
    let values = match logarithmic {
        Some(values) if values.len() >= 3 => values,
        Some(values) => {
            let even = even(from, to, most, round).0;
            if even.len() > values.len() { even } else { values }
        }
        None => {
            let (values, step) = even(from, to, most, round);
            let rung = shared_rung(axis.unit, &values, step);
            let places = places(step / rung.0);
            let label = |v: f64| written(v, rung, places);
            let tick = |v: &f64| Tick { value: v / factor, label: label(*v) };
            return values.iter().map(tick).collect();
        }
    };
    let label = |v: f64| {
        let rung = own_rung(axis.unit, v);
        written(v, rung, places(v / rung.0))
    };
    values.iter().map(|&v| Tick { value: v / factor, label: label(v) }).collect()
}

/// A tick for each class within the range, or for each second, third ... so that they fit. Three times as many as of
/// numbers: who looks for a class needs its own name.
fn classes(axis: &Axis, low: f64, high: f64, most: usize) -> Vec<Tick> {
    let stride = axis.classes.len().div_ceil(3 * most.max(1)).max(1);
    let named = axis.classes.iter().enumerate().step_by(stride);
    let ticks = named.map(|(at, name)| Tick { value: at as f64, label: name.clone() });
    ticks.filter(|tick| (low..=high).contains(&tick.value)).collect()
}

/// Kinds of round numbers, by unit.
#[derive(Clone, Copy, PartialEq)]
enum Round {
    /// 1, 2 or 5 times a power of ten.
    Decimal,
    /// Powers of two, and never a part of one.
    Binary,
    /// Divisors of an hour or a day.
    Clock,
}

impl Round {
    fn of(unit: Unit, span: f64, most: usize) -> Round {
        match unit {
            Unit::Bytes => Round::Binary,
            // So short that ticks would fall between whole numbers.
            Unit::Count if span <= 8.0 => Round::Binary,
            Unit::Ns if span / most as f64 >= 40e9 => Round::Clock,
            _ => Round::Decimal,
        }
    }

    /// The least round step that is not below `rough`.
    fn step(self, rough: f64) -> f64 {
        const CLOCK: [f64; 14] = [
            60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 3600.0, 7200.0, 10_800.0, 14_400.0,
            21_600.0, 43_200.0, 86_400.0,
        ];
        let enough = |step: &f64| *step >= rough * (1.0 - 1e-9);
        match self {
            Round::Binary => libm::exp2(libm::ceil(libm::log2(rough))).max(1.0),
            Round::Clock => {
                let clock = CLOCK.into_iter().map(|seconds| seconds * 1e9).find(enough);
                clock.unwrap_or_else(|| 86_400e9 * Round::Decimal.step(rough / 86_400e9))
            }
            Round::Decimal => {
                let ten = libm::exp10(libm::floor(libm::log10(rough)));
                let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * ten);
                steps.into_iter().find(enough).unwrap_or(10.0 * ten)
            }
        }
    }
}

/// Evenly spaced round values within `from..=to`, and their step.
fn even(from: f64, to: f64, most: usize, round: Round) -> (Vec<f64>, f64) {
    let step = round.step((to - from) / most as f64);
    let slack = 1e-9 * (to - from);
    let first = libm::ceil((from - slack) / step);
    let last = libm::floor((to + slack) / step);
    let count = (last - first).clamp(-1.0, 2.0 * most as f64) as i64;
    let value = |i: i64| {
        let value = (first + i as f64) * step;
        // Never a minus before a zero.
        if value == 0.0 { 0.0 } else { value }
    };
    ((0..=count).map(value).collect(), step)
}

/// Powers of `base` within the range, each, each second, each fifth ... so that they fit.
fn powers(base: f64, from: f64, to: f64, most: usize) -> Vec<f64> {
    let per = libm::log2(base);
    let first = libm::ceil(libm::log2(from) / per - 1e-9);
    let last = libm::floor(libm::log2(to) / per + 1e-9);
    let count = (last - first + 1.0).max(0.0);
    // Thousands are by three, binary ones by ten.
    let strides =
        if base == 2.0 { [1.0, 2.0, 4.0, 10.0, 20.0] } else { [1.0, 2.0, 3.0, 6.0, 12.0] };
    let fits = |s: &f64| count / s <= most as f64;
    let stride = strides.into_iter().find(fits).unwrap_or(100.0);
    let mut at = libm::ceil(first / stride) * stride;
    let mut values = Vec::new();
    while at <= last {
        values.push(if base == 2.0 { libm::exp2(at) } else { libm::exp10(at) });
        at += stride;
    }
    values
}

/// Powers of ten, with their double and fivefold where there is room.
fn decades(from: f64, to: f64, most: usize) -> Vec<f64> {
    let ten = powers(10.0, from, to, most);
    let first = libm::floor(libm::log10(from)) as i32;
    let last = libm::ceil(libm::log10(to)) as i32;
    for parts in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0][..]] {
        let within = |v: &f64| *v >= from * (1.0 - 1e-9) && *v <= to * (1.0 + 1e-9);
        let values: Vec<f64> = (first..=last.min(first + 40))
            .flat_map(|e| parts.iter().map(move |p| p * libm::exp10(f64::from(e))))
            .filter(within)
            .collect();
        if values.len() <= most {
            return values;
        }
    }
    ten
}

/// The rung that all ticks of a linear axis share: the highest on which a step is not a small fraction.
fn shared_rung(unit: Unit, values: &[f64], step: f64) -> Rung {
    if unit == Unit::Ns && step >= CLOCK[0].0 {
        let fits = |rung: &&Rung| step >= rung.0;
        return *CLOCK.iter().rev().find(fits).unwrap_or(&CLOCK[0]);
    }
    let highest = values.iter().fold(0.0, |high: f64, v| high.max(v.abs()));
    let least = if unit == Unit::Bytes { 0.25 } else { 0.1 };
    let fits = |rung: &&Rung| highest >= rung.0 && step / rung.0 >= least * (1.0 - 1e-9);
    let rungs = ladder(unit);
    suffix_of(*rungs.iter().rev().find(fits).unwrap_or(&rungs[0]))
}

fn own_rung(unit: Unit, value: f64) -> Rung {
    // Times of up to three minutes are in seconds.
    let rungs = if unit == Unit::Ns && value.abs() >= 180e9 { &CLOCK[..] } else { ladder(unit) };
    let fits = |rung: &&Rung| value.abs() >= rung.0 * (1.0 - 1e-9);
    suffix_of(*rungs.iter().rev().find(fits).unwrap_or(&rungs[0]))
}

/// Thousands begin at ten thousand and are still thousands.
fn suffix_of(rung: Rung) -> Rung {
    if rung.1 == "k" { (1e3, "k") } else { rung }
}

/// Fewest decimals that write `step` exactly.
fn places(step: f64) -> usize {
    let exact = |p: &usize| {
        let scaled = step.abs() * libm::exp10(*p as f64);
        scaled >= 0.5 && (scaled - libm::round(scaled)).abs() <= 1e-6 * scaled
    };
    (0..=9).find(exact).unwrap_or(9)
}

fn written(value: f64, rung: Rung, places: usize) -> String {
    let scaled = value / rung.0;
    if value == 0.0 && rung.0 == 1.0 {
        return "0".to_owned();
    }
    if scaled.abs() >= 1e7 {
        return format!("{scaled:.3e}{}", rung.1);
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    format!("{scaled:.places$}{}", rung.1)
}

/// A single value in words: three digits and the unit, `1.62 ms`, `4 MiB`, `132 MB/s`.
pub(super) fn figure(value: f64, unit: Unit, rate: RateUnit) -> String {
    let (number, suffix) = parts(value, unit, rate);
    format!("{number}{suffix}")
}

/// Two ends in words: `0–4 MiB`, `980 µs–1.2 ms`.
pub(super) fn figures(from: f64, to: f64, unit: Unit, rate: RateUnit) -> String {
    let (low, low_suffix) = parts(from, unit, rate);
    let (high, high_suffix) = parts(to, unit, rate);
    if low_suffix == high_suffix || from == 0.0 {
        format!("{low}–{high}{high_suffix}")
    } else {
        format!("{low}{low_suffix}–{high}{high_suffix}")
    }
}

fn parts(value: f64, unit: Unit, rate: RateUnit) -> (String, &'static str) {
    let shown = value * factor(unit, rate);
    let rung = own_rung(unit, shown);
    let scaled = shown / rung.0;
    let suffix = match unit {
        Unit::MbPerS if rate == RateUnit::Mib => " MiB/s",
        Unit::MbPerS => " MB/s",
        Unit::Iops if rung.1 == "k" => "k IOPS",
        Unit::Iops if rung.1 == "M" => "M IOPS",
        Unit::Iops if rung.1 == "G" => "G IOPS",
        Unit::Iops => " IOPS",
        _ => rung.1,
    };
    let size = scaled.abs();
    let places = match size {
        _ if size >= 99.95 || scaled == libm::round(scaled) => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.0995 => 2,
        _ => 4,
    };
    let text = if size >= 1e7 { format!("{scaled:.1e}") } else { format!("{scaled:.places$}") };
    (text, suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: f64 = 1024.0;
    const MIB: f64 = 1024.0 * KIB;
    const GIB: f64 = 1024.0 * MIB;

    fn labels(unit: Unit, scale: Scale, low: f64, high: f64, most: usize) -> Vec<String> {
        let axis = Axis::new("", unit).scaled(scale);
        ticks(&axis, low, high, most, RateUnit::Mb).into_iter().map(|t| t.label).collect()
    }

    /// If it failed, offsets would be at decimal places between the blocks of a drive.
    #[test]
    fn bytes_are_divided_in_powers_of_two() {
        let linear = |high, most| labels(Unit::Bytes, Scale::Linear, 0.0, high, most);
        assert_eq!(
            linear(32.0 * MIB, 8),
            ["0", "4 MiB", "8 MiB", "12 MiB", "16 MiB", "20 MiB", "24 MiB", "28 MiB", "32 MiB"]
        );
        assert_eq!(linear(2.2 * GIB, 5), ["0", "0.5 GiB", "1.0 GiB", "1.5 GiB", "2.0 GiB"]);
        assert_eq!(
            linear(1.1 * GIB, 10),
            [
                "0", "128 MiB", "256 MiB", "384 MiB", "512 MiB", "640 MiB", "768 MiB", "896 MiB",
                "1024 MiB"
            ]
        );
        assert_eq!(linear(3.0, 8), ["0", "1 B", "2 B", "3 B"]);
        let log = labels(Unit::Bytes, Scale::Log2, 4.0 * KIB, 4.0 * MIB, 6);
        assert_eq!(log, ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB"]);
    }

    #[test]
    fn times_are_round_in_the_unit_that_fits() {
        let linear = |low, high| labels(Unit::Ns, Scale::Linear, low, high, 5);
        assert_eq!(linear(0.0, 1.7e6), ["0", "0.5 ms", "1.0 ms", "1.5 ms"]);
        assert_eq!(linear(1.5e6, 1.95e6), ["1.5 ms", "1.6 ms", "1.7 ms", "1.8 ms", "1.9 ms"]);
        assert_eq!(linear(0.0, 900.0), ["0", "200 ns", "400 ns", "600 ns", "800 ns"]);
        assert_eq!(linear(-20e3, 20e3), ["-20 µs", "-10 µs", "0", "10 µs", "20 µs"]);
        let log = labels(Unit::Ns, Scale::Log10, 5e4, 3e8, 6);
        assert_eq!(log, ["100 µs", "1 ms", "10 ms", "100 ms"]);
    }

    /// If it failed, the hours of a long run would be written in thousands of seconds.
    #[test]
    fn long_times_are_told_by_the_clock() {
        let linear = |high| labels(Unit::Ns, Scale::Linear, 0.0, high, 5);
        assert_eq!(linear(100e9), ["0", "20 s", "40 s", "60 s", "80 s", "100 s"]);
        assert_eq!(linear(1000e9), ["0", "5 min", "10 min", "15 min"]);
        assert_eq!(linear(4.5 * 3600e9), ["0", "1 h", "2 h", "3 h", "4 h"]);
        assert_eq!(linear(30.0 * 3600e9), ["0", "6 h", "12 h", "18 h", "24 h", "30 h"]);
        assert_eq!(linear(9.0 * 86_400e9), ["0", "2 d", "4 d", "6 d", "8 d"]);
        assert_eq!(figure(90.5e9, Unit::Ns, RateUnit::Mb), "90.5 s");
        assert_eq!(figures(600e9, 1.5 * 3600e9, Unit::Ns, RateUnit::Mb), "10 min–1.50 h");
    }

    #[test]
    fn rates_and_counts_are_plain() {
        assert_eq!(
            labels(Unit::MbPerS, Scale::Linear, 0.0, 520.0, 6),
            ["0", "100", "200", "300", "400", "500"]
        );
        assert_eq!(
            labels(Unit::MbPerS, Scale::Log10, 0.08, 30.0, 9),
            ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]
        );
        assert_eq!(labels(Unit::Count, Scale::Linear, 0.0, 3.0, 8), ["0", "1", "2", "3"]);
        assert_eq!(
            labels(Unit::Iops, Scale::Linear, 0.0, 80e3, 4),
            ["0", "20k", "40k", "60k", "80k"]
        );
        assert_eq!(
            labels(Unit::Percent, Scale::Linear, 0.0, 100.0, 5),
            ["0", "20%", "40%", "60%", "80%", "100%"]
        );
    }

    /// With MiB/s the places move, so that they are round again.
    #[test]
    fn ticks_are_round_in_the_rate_that_is_shown() {
        let axis = Axis::new("", Unit::MbPerS);
        let ticks = ticks(&axis, 0.0, 220.0, 3, RateUnit::Mib);
        assert_eq!(ticks.iter().map(|t| t.label.as_str()).collect::<Vec<_>>(), ["0", "100", "200"]);
        assert!((ticks[1].value - 104.8576).abs() < 1e-9);
    }

    /// If it failed, an axis of any range that a chart accepts might have none, or thousands.
    #[test]
    fn any_range_has_some_ticks_and_not_too_many() {
        for unit in [Unit::Bytes, Unit::Ns, Unit::MbPerS, Unit::Count, Unit::Ratio] {
            for exponent in -8..24 {
                let low = 3.0 * 10f64.powi(exponent);
                for high in [1.37, 9.0, 4e3, 7e9].map(|times| (times * low).min(1.3e24)) {
                    for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
                        let axis = Axis::new("", unit).scaled(scale);
                        let ticks = ticks(&axis, low, high, 8, RateUnit::Mb);
                        assert!(ticks.len() <= 17, "{unit:?} {low} {high} {scale:?}: {ticks:?}");
                        assert!(
                            ticks
                                .iter()
                                .all(|t| t.value.is_finite() && t.label.chars().count() < 16),
                            "{ticks:?}"
                        );
                        // Of bytes and of things there are no halves to put a tick at.
                        let few = matches!(unit, Unit::Bytes | Unit::Count) && high < 40.0;
                        assert!(
                            few || ticks.len() >= 2 || high < 2.0 * low,
                            "{unit:?} {low} {high} {scale:?} {ticks:?}"
                        );
                        let mut labels: Vec<&str> =
                            ticks.iter().map(|t| t.label.as_str()).collect();
                        labels.dedup();
                        assert_eq!(labels.len(), ticks.len(), "{ticks:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn single_values_have_three_digits_and_their_unit() {
        let ends = |from, to, unit| figures(from, to, unit, RateUnit::Mb);
        assert_eq!(ends(0.0, 4.0 * MIB, Unit::Bytes), "0–4 MiB");
        assert_eq!(ends(512.0 * KIB, 4.0 * MIB, Unit::Bytes), "512 KiB–4 MiB");
        assert_eq!(figure(1_623_400.0, Unit::Ns, RateUnit::Mb), "1.62 ms");
        assert_eq!(figure(132.4, Unit::MbPerS, RateUnit::Mb), "132 MB/s");
        assert_eq!(figure(104.8576, Unit::MbPerS, RateUnit::Mib), "100 MiB/s");
        assert_eq!(figure(3.0, Unit::Count, RateUnit::Mb), "3");
    }
}
