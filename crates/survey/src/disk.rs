//! A disk that turns: its rotation, its zones, and places that are slow.

use probe::surface::Access;
use probe::{Name, Verdict};
use stats::{Better, Quantity, Unit, quantile};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::rates::number;
use crate::seen::Seen;
use crate::words::rounded;

/// Minimum of random reads to derive the time of one revolution from.
const ACCESSES_MIN: usize = 300;
/// How far the length of a turn may be off: 2.8% for the spread of 1,000 reads at 95%, and as much again for seeks
/// that the curve below does not follow.
const OFF: f64 = 0.05;
/// Turns per minute that disks are made with.
const MADE: [f64; 7] = [3_600.0, 4_200.0, 5_400.0, 5_900.0, 7_200.0, 10_000.0, 15_000.0];
/// The spread of the middle half over that of the middle 90%: five ninths where all phases are as likely.
const UNIFORM: std::ops::Range<f64> = 0.47..0.64;

/// Rotation period, from access times.
pub struct Turn {
    /// Length of a turn.
    pub turn_ns: f64,
    /// Turns per minute, as disks are made, where only one such count fits.
    made: Option<f64>,
}

/// The rotation: after a seek, how long the sector is waited for is anything from nothing to a whole turn, each as
/// likely. So what is left of the access times when the curve of seeks (a constant, a root and a line of the distance;
/// Ruemmler and Wilkes, 1994) is taken from them is spread evenly over one turn, whose standard deviation is a turn
/// over the root of 12. `None` where it is not spread so.
pub fn rotation(seen: &Seen<'_>) -> Option<Turn> {
    let surface = seen.surface()?;
    let left = after_seeks(&surface.accesses, seen.target.capacity_bytes.0)?;
    let spread = |share: f64| {
        let tail = (1.0 - share) / 2.0;
        Some(quantile(&left, 1.0 - tail)? - quantile(&left, tail)?)
    };
    if !UNIFORM.contains(&(spread(0.5)? / spread(0.9)?)) {
        return None;
    }
    let squares: f64 = left.iter().map(|x| x * x).sum();
    let turn_ns = (squares / left.len() as f64 * 12.0).sqrt();
    let fits: Vec<f64> =
        MADE.into_iter().filter(|rpm| (60e9 / rpm / turn_ns - 1.0).abs() <= OFF).collect();
    let made = match fits.as_slice() {
        [one] => Some(*one),
        _ => None,
    };
    // Slower than any disk turns, or faster: it is something else.
    let (slowest, fastest) = (60e9 / MADE[0], 60e9 / MADE[MADE.len() - 1]);
    let possible = fastest * (1.0 - OFF)..slowest * (1.0 + OFF);
    possible.contains(&turn_ns).then_some(Turn { turn_ns, made })
}

/// Access times minus the best-fitting seek curve, in ns.
fn after_seeks(accesses: &[Access], capacity: u64) -> Option<Vec<f64>> {
    if accesses.len() < ACCESSES_MIN || capacity == 0 {
        return None;
    }
    let rows: Vec<([f64; 3], f64)> = accesses
        .windows(2)
        .map(|pair| {
            let distance = pair[1].offset.abs_diff(pair[0].offset) as f64 / capacity as f64;
            ([1.0, distance.sqrt(), distance], pair[1].ns as f64)
        })
        .collect();
    let curve = least_squares(&rows)?;
    let seek = |terms: &[f64; 3]| terms.iter().zip(&curve).map(|(x, c)| x * c).sum::<f64>();
    Some(rows.iter().map(|(terms, ns)| ns - seek(terms)).collect())
}

/// The coefficients by least squares; `None` where the rows do not determine all three.
fn least_squares(rows: &[([f64; 3], f64)]) -> Option<[f64; 3]> {
    // Normal equations with the right side as a fourth column, eliminated with pivots.
    let mut a = [[0.0_f64; 4]; 3];
    for (terms, value) in rows {
        for (i, term) in terms.iter().enumerate() {
            for (j, other) in terms.iter().enumerate() {
                a[i][j] += term * other;
            }
            a[i][3] += term * value;
        }
    }
    for i in 0..3 {
        let pivot = (i..3).max_by(|x, y| a[*x][i].abs().total_cmp(&a[*y][i].abs()))?;
        a.swap(i, pivot);
        let row = a[i];
        if row[i].abs() < 1e-12 {
            return None;
        }
        for (k, other) in a.iter_mut().enumerate().filter(|(k, _)| *k != i) {
            debug_assert_ne!(k, i);
            let factor = other[i] / row[i];
            other.iter_mut().zip(row).for_each(|(x, y)| *x -= factor * y);
        }
    }
    Some([a[0][3] / a[0][0], a[1][3] / a[1][1], a[2][3] / a[2][2]])
}

pub fn conclude(seen: &Seen<'_>) -> Vec<Conclusion> {
    let Some(surface) = seen.surface() else { return Vec::new() };
    let mut conclusions = Vec::new();
    if seen.target.rotational != Some(false) {
        conclusions.push(turns(seen));
    }
    conclusions.extend(zones(surface));
    conclusions.push(slow_places(seen, surface));
    conclusions
}

fn turns(seen: &Seen<'_>) -> Conclusion {
    let topic = Topic::Rotation;
    let Some(turn) = rotation(seen) else {
        return Conclusion::unknown(
            topic,
            "its access times do not spread evenly over the time of a turn",
        );
    };
    let rpm = 60e9 / turn.turn_ns;
    let (low, high) = (rpm / (1.0 + OFF), rpm / (1.0 - OFF));
    let quantity = |value| Quantity {
        value,
        low: Some(low.min(value)),
        high: Some(high.max(value)),
        confidence: 0.95,
        unit: Unit::Count,
        n: 1,
        n_effective: 1.0,
        better: Better::Neither,
    };
    let told = format!("access times spread over {:.2} ms", turn.turn_ns / 1e6);
    let found = match turn.made {
        Some(made) => Conclusion::found(
            topic,
            format!("it turns {made:.0} times a minute, {:.1} ms a turn", 60e3 / made),
            Value::Number(quantity(made)),
            0.97,
        ),
        None => Conclusion::found(
            topic,
            format!("it turns {low:.0} to {high:.0} times a minute"),
            Value::Number(quantity(rpm)),
            0.95,
        ),
    };
    found.seen("surface", told)
}

fn zones(surface: &probe::surface::Evidence) -> Option<Conclusion> {
    let trend = surface.trend?;
    let topic = Topic::OuterToInner;
    let ratio = trend.end_over_begin;
    let told = format!("p-value of no trend {:.1e}", trend.p_value);
    Some(if !trend.moves {
        Conclusion::none(
            topic,
            "it is as fast at its end as at its beginning",
            1.0 - trend.p_value.min(0.05),
        )
        .seen("surface", told)
    } else {
        let value = Quantity {
            low: trend.low,
            high: trend.high,
            confidence: 0.95,
            ..number(ratio, Unit::Ratio)
        };
        let statement =
            format!("its end is read at {}% of the speed of its beginning", rounded(ratio * 100.0));
        let found = Conclusion::found(topic, statement, Value::Number(value), 1.0 - trend.p_value)
            .seen("surface", told);
        match ratio < 0.9 {
            true => found.advise("keep what must be fast at its beginning: its first partition"),
            false => found,
        }
    })
}

fn slow_places(seen: &Seen<'_>, surface: &probe::surface::Evidence) -> Conclusion {
    let topic = Topic::SlowPlaces;
    let spots = &surface.slow_spots;
    let told = format!("{} transfers over the whole range", surface.transfers.len());
    if !surface.complete {
        return Conclusion::unknown(topic, "its time was over before all places were read")
            .seen("surface", told);
    }
    let zone = seen.finding(Name::SlowZone).filter(|zone| zone.verdict == Verdict::Found);
    if spots.is_empty() && zone.is_none() {
        return Conclusion::none(
            topic,
            "no place that was read is slower than those around it",
            0.95,
        )
        .seen("surface", told);
    }
    let value = Value::Number(number(spots.len() as f64, Unit::Count));
    let statement = match spots.len() {
        1 => "1 place is far slower to read than those around it".to_owned(),
        spots => format!("{spots} places are far slower to read than those around them"),
    };
    Conclusion::found(topic, statement, value, 0.95)
        .seen("surface", told)
        .advise("read them again another day; what stays slow may be about to fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random reads of a disk of `turn_ns`, with seeks along a root of the distance.
    fn accesses(turn_ns: f64, phases: impl Fn(u64) -> f64) -> Vec<Access> {
        let mut state = 7_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut last = 0;
        (0..1_000)
            .map(|_| {
                let offset = next() % 1_000_000;
                let seek = 1e6 + 7e6 * (offset.abs_diff(last) as f64 / 1e6).sqrt();
                last = offset;
                Access { offset, bytes: 4096, ns: (seek + turn_ns * phases(next())) as u64 }
            })
            .collect()
    }

    fn turn(accesses: &[Access]) -> f64 {
        let left = after_seeks(accesses, 1_000_000).unwrap();
        (left.iter().map(|x| x * x).sum::<f64>() / left.len() as f64 * 12.0).sqrt()
    }

    // Breaks when the curve of seeks takes a part of the wait for the sector with it, or leaves a part of itself: the
    // rotation found would then not be the disk's.
    #[test]
    fn a_turn_is_what_access_times_spread_over_beyond_seeks() {
        for rpm in [5_400.0, 7_200.0, 15_000.0] {
            let turn_ns = 60e9 / rpm;
            let found = turn(&accesses(turn_ns, |n| (n % 10_000) as f64 / 10_000.0));
            assert!((found / turn_ns - 1.0).abs() < OFF, "{rpm}: {found}");
        }
    }

    #[test]
    fn too_few_reads_tell_nothing() {
        assert!(after_seeks(&accesses(8e6, |_| 0.5)[..100], 1_000_000).is_none());
    }
}
