//! Rates over time in bounded memory.

use std::collections::VecDeque;

use block::{Bytes, Nanos};

/// Most points of a series; a plot in a terminal has fewer columns with two dots each.
const POINTS_MAX: usize = 256;
/// Length of an interval at first.
const POINT: u64 = 100_000_000;
/// Time that the present rate is taken over.
const PRESENT: u64 = 1_000_000_000;

/// I/Os and bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes: f64,
}

/// Work done in each interval from the beginning on. Intervals become twice as long when there are too many.
#[derive(Clone, Debug)]
pub struct RateSeries {
    width: u64,
    points: Vec<(f64, f64)>,
    until: u64,
}

impl Default for RateSeries {
    fn default() -> RateSeries {
        RateSeries { width: POINT, points: Vec::new(), until: 0 }
    }
}

impl RateSeries {
    /// Adds what was done in the `length` before `at`, evenly.
    pub fn add(&mut self, at: Nanos, length: Nanos, ios: u64, bytes: Bytes) {
        let (from, to) = (at.0.saturating_sub(length.0), at.0);
        while to.div_ceil(self.width) > POINTS_MAX as u64 {
            self.points = self.points.chunks(2).map(both).collect();
            self.width *= 2;
        }
        self.until = self.until.max(to);
        let points = usize::try_from(self.until.div_ceil(self.width)).unwrap_or(POINTS_MAX);
        self.points.resize(points.max(self.points.len()), (0.0, 0.0));
        for (at, point) in (0u64..).zip(&mut self.points).skip((from / self.width) as usize) {
            let begin = at * self.width;
            if begin >= to {
                break;
            }
            let share = share((from, to), (begin, begin + self.width));
            point.0 += ios as f64 * share;
            point.1 += bytes.0 as f64 * share;
        }
    }

    /// The middle of each whole stretch, and what was done a second in it.
    pub fn rates(&self) -> impl Iterator<Item = (Nanos, Rates)> {
        let whole = usize::try_from(self.until / self.width).unwrap_or(POINTS_MAX);
        let per_second = 1e9 / self.width as f64;
        (0u64..).zip(&self.points).take(whole).map(move |(at, (ios, bytes))| {
            let rates = Rates { iops: ios * per_second, bytes: bytes * per_second };
            (Nanos(at * self.width + self.width / 2), rates)
        })
    }
}

fn both(pair: &[(f64, f64)]) -> (f64, f64) {
    pair.iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// Share of the stretch from `of.0` to `of.1` that lies within another; all of one without length.
fn share(of: (u64, u64), within: (u64, u64)) -> f64 {
    let common = of.1.min(within.1).saturating_sub(of.0.max(within.0));
    if of.1 > of.0 { common as f64 / (of.1 - of.0) as f64 } else { 1.0 }
}

/// The rate of the last second, of all submitters together.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    intervals: VecDeque<(Nanos, Nanos, u64, Bytes)>,
    until: Nanos,
}

impl Recent {
    /// Adds what one submitter did in the `length` before `at`.
    pub fn add(&mut self, at: Nanos, length: Nanos, ios: u64, bytes: Bytes) {
        self.until = self.until.max(at);
        let from = self.until.0.saturating_sub(PRESENT);
        self.intervals.push_back((at, length, ios, bytes));
        while self.intervals.front().is_some_and(|(at, ..)| at.0 <= from) {
            self.intervals.pop_front();
        }
    }

    /// The rate; `None` before the first interval.
    pub fn rates(&self) -> Option<Rates> {
        let span = PRESENT.min(self.until.0);
        if span == 0 {
            return None;
        }
        let within = (self.until.0 - span, self.until.0);
        let mut rates = Rates::default();
        for (at, length, ios, bytes) in &self.intervals {
            let share = share((at.0.saturating_sub(length.0), at.0), within);
            rates.iops += *ios as f64 * share * 1e9 / span as f64;
            rates.bytes += bytes.0 as f64 * share * 1e9 / span as f64;
        }
        Some(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a run of days fills the memory, or its curve shows another rate than was there.
    #[test]
    fn days_of_a_constant_rate_stay_a_constant_rate() {
        let mut course = RateSeries::default();
        for second in 1..=200_000u64 {
            let at = Nanos(second * 1_000_000_000);
            course.add(at, Nanos(1_000_000_000), 100, Bytes(5_000_000));
        }
        let rates: Vec<(Nanos, Rates)> = course.rates().collect();
        assert!((POINTS_MAX / 2..=POINTS_MAX).contains(&rates.len()), "{}", rates.len());
        for (at, rate) in &rates {
            let off = |rate: f64, meant: f64| (rate / meant - 1.0).abs();
            assert!(off(rate.bytes, 5e6) < 1e-6 && off(rate.iops, 100.0) < 1e-6, "{at:?} {rate:?}");
        }
    }

    // Breaks when a fall of the rate is seen at another time than it was, or not at all.
    #[test]
    fn a_fall_is_where_it_was() {
        let mut course = RateSeries::default();
        for tenth in 1..=1000u64 {
            let bytes = if tenth <= 400 { 10_000_000 } else { 1_000_000 };
            course.add(Nanos(tenth * POINT), Nanos(POINT), 1, Bytes(bytes));
        }
        let fast = course.rates().filter(|(_, rates)| rates.bytes > 50e6);
        let last = fast.map(|(at, _)| at.0).max().unwrap();
        assert!((39.0..=40.0).contains(&(last as f64 / 1e9)), "fast until {last} ns");
    }

    // Breaks when several submitters are shown as one of them: the line of progress showed a quarter of four.
    #[test]
    fn submitters_add_up_and_the_past_is_past() {
        let mut recent = Recent::default();
        assert_eq!(recent.rates(), None);
        for tenth in 1..=50u64 {
            for _ in 0..4 {
                let bytes = if tenth <= 20 { 1_000_000 } else { 2_000_000 };
                recent.add(Nanos(tenth * POINT), Nanos(POINT), 10, Bytes(bytes));
            }
        }
        let rates = recent.rates().unwrap();
        assert!((rates.bytes - 80e6).abs() < 1.0 && (rates.iops - 400.0).abs() < 1e-6, "{rates:?}");
    }

    // Breaks when a drive that answers once in five seconds is shown five times as fast as it is.
    #[test]
    fn an_interval_longer_than_a_second_counts_by_its_share() {
        let mut recent = Recent::default();
        recent.add(Nanos(5_000_000_000), Nanos(5_000_000_000), 5, Bytes(50));
        let rates = recent.rates().unwrap();
        assert!((rates.iops - 1.0).abs() < 1e-9 && (rates.bytes - 10.0).abs() < 1e-9, "{rates:?}");
    }
}
