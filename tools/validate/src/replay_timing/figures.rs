//! By how much reads were issued beside their time.

use stats::theil_sen;

use super::schedule::Schedule;
use crate::latency::tracefs::{Event, Step};
use crate::middle::{CONFIDENCE, Middle};

/// Spans of equal length into which a run is divided, to see whether its error grows.
const SPANS: usize = 40;

/// The errors of one run, in nanoseconds; negative is early.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Errors {
    /// By read, in the order of the schedule; `None` where the trace has none.
    by_read: Vec<Option<i64>>,
    /// Middles of the spans.
    spans: Vec<f64>,
    /// Length of a span.
    span_ns: f64,
}

impl Errors {
    /// Of the reads that `events` have seen queued. The schedule's zero is `start` on the trace's clock; where it is not
    /// known, the first read was on time.
    pub fn of(schedule: &Schedule, events: &[Event], start: Option<u64>) -> Errors {
        let queued = |event: &&Event| event.step == Step::Queued;
        let seen: std::collections::HashMap<u64, u64> =
            events.iter().filter(queued).map(|event| (event.sector, event.at_ns)).collect();
        let first = schedule.reads.first().and_then(|read| seen.get(&(read.offset / 512))).copied();
        let start = start.or(first);
        let by_read: Vec<Option<i64>> = schedule
            .reads
            .iter()
            .map(|read| {
                let at = *seen.get(&(read.offset / 512))?;
                Some(at as i64 - (start? + read.at_ns) as i64)
            })
            .collect();
        let last = schedule.reads.last().map_or(0, |read| read.at_ns) + 1;
        let span_ns = last as f64 / SPANS as f64;
        let mut spans = vec![Vec::new(); SPANS];
        for (read, error) in schedule.reads.iter().zip(&by_read) {
            let span = (read.at_ns as f64 / span_ns) as usize;
            spans[span.min(SPANS - 1)].extend(error.map(|e| e as f64));
        }
        let spans = spans.iter().map(|errors| stats::median(errors).unwrap_or(f64::NAN)).collect();
        Errors { by_read, spans, span_ns }
    }

    /// Reads that were issued.
    pub fn count(&self) -> usize {
        self.by_read.iter().flatten().count()
    }

    /// Reads that were issued before their time.
    pub fn early(&self) -> usize {
        self.by_read.iter().flatten().filter(|&&e| e < 0).count()
    }

    /// How many were issued before one that came earlier in the schedule.
    pub fn reordered(&self, schedule: &Schedule) -> usize {
        let issued = schedule.reads.iter().zip(&self.by_read);
        let mut latest = i64::MIN;
        let mut behind = 0;
        for at in issued.filter_map(|(read, error)| Some(read.at_ns as i64 + (*error)?)) {
            behind += usize::from(at < latest);
            latest = latest.max(at);
        }
        behind
    }

    /// By how much the error grows, in parts per million of the time that goes by.
    pub fn drift_ppm(&self) -> Option<f64> {
        if self.spans.iter().any(|m| m.is_nan()) {
            return None;
        }
        Some(theil_sen(&self.spans, CONFIDENCE)?.slope / self.span_ns * 1e6)
    }

    /// Percentiles of the amounts, by nearest rank.
    pub fn percentiles<const N: usize>(&self, percent: [f64; N]) -> Option<[f64; N]> {
        let mut amounts: Vec<u64> =
            self.by_read.iter().flatten().map(|e| e.unsigned_abs()).collect();
        amounts.sort_unstable();
        let rank = |p: f64| ((p / 100.0 * amounts.len() as f64).ceil() as usize).max(1) - 1;
        let at = percent.map(|p| amounts.get(rank(p)).map_or(f64::NAN, |&ns| ns as f64));
        at.iter().all(|ns| ns.is_finite()).then_some(at)
    }
}

/// By how much the errors of each of `rounds` grow, in parts per million of the time that goes by (Theil and Sen's slope
/// through its spans), and the median of that over the rounds. Errors of spans that follow each other are alike, for
/// machines have better and worse seconds, so an interval from the spans of one round would be too narrow; rounds are
/// apart.
pub(super) fn drift_ppm(rounds: &[Errors]) -> Option<Middle> {
    let slopes: Option<Vec<f64>> = rounds.iter().map(Errors::drift_ppm).collect();
    Middle::of(&slopes?)
}

#[cfg(test)]
mod tests {
    use block::Bytes;

    use super::*;

    fn schedule() -> Schedule {
        Schedule::poisson(4_000, 5_000.0, (Bytes::mib(64), Bytes::kib(4)), 3).unwrap()
    }

    /// Events of reads that are late by what `late` says, on a clock that shows `zero` at the schedule's beginning.
    fn events(schedule: &Schedule, zero: u64, late: impl Fn(u64) -> i64) -> Vec<Event> {
        let event = |(index, read): (usize, &super::super::schedule::Read)| Event {
            step: Step::Queued,
            at_ns: (zero + read.at_ns).saturating_add_signed(late(index as u64)),
            sector: read.offset / 512,
            sectors: 8,
        };
        schedule.reads.iter().enumerate().map(event).collect()
    }

    #[test]
    fn errors_count_from_the_start_or_else_from_the_first_read() {
        let schedule = schedule();
        let events =
            events(&schedule, 77_000, |i| if i == 0 { 3_000 } else { 1_000 + i as i64 % 2 });
        let known = Errors::of(&schedule, &events, Some(77_000));
        assert_eq!(known.percentiles([0.01, 50.0, 100.0]), Some([1_000.0, 1_001.0, 3_000.0]));
        assert_eq!((known.count(), known.early()), (4_000, 0));
        let unknown = Errors::of(&schedule, &events, None);
        assert_eq!(unknown.percentiles([0.01, 50.0, 100.0]), Some([0.0, 1_999.0, 2_000.0]));
        assert_eq!(unknown.early(), 3_999);
    }

    // Reads that were never issued must not pass for reads on time.
    #[test]
    fn reads_that_are_missing_are_counted_as_missing() {
        let schedule = schedule();
        let events = events(&schedule, 0, |_| 5);
        let errors = Errors::of(&schedule, &events[..3_000], Some(0));
        assert_eq!(errors.count(), 3_000);
        assert_eq!(drift_ppm(&[errors]), None, "spans without a read");
        assert_eq!(Errors::of(&schedule, &[], None).percentiles([50.0]), None);
    }

    #[test]
    fn a_drift_is_found_and_noise_is_none() {
        let schedule = schedule();
        let noise = |round: u64, i: u64| {
            let mixed = (round << 32 | i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            1_500 + ((mixed ^ mixed >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 52) as i64
        };
        let errors = |late: &dyn Fn(u64) -> i64| {
            Errors::of(&schedule, &events(&schedule, 9_000, late), Some(9_000))
        };
        let round = |by: u64| errors(&|i| noise(by, i));
        let still = drift_ppm(&[0, 1, 2, 3, 4, 5].map(round)).unwrap();
        let (low, high) = still.interval.unwrap();
        assert!(low <= 0.0 && 0.0 <= high, "{still:?}");
        // 50 ppm of 0.8 s are 40 µs in the end.
        let end = |i: u64| (schedule.reads[i as usize].at_ns as f64 * 50e-6) as i64;
        let round = |by: u64| errors(&|i| noise(by, i) + end(i));
        let drifting = drift_ppm(&[0, 1, 2, 3, 4, 5].map(round)).unwrap();
        let (low, high) = drifting.interval.unwrap();
        assert!(low <= 50.0 && 50.0 <= high && low > 45.0 && high < 55.0, "{drifting:?}");
        assert_eq!(drift_ppm(&[round(0), round(1)]).unwrap().interval, None, "too few rounds");
    }

    #[test]
    fn a_read_behind_a_later_one_is_reordered() {
        let schedule = schedule();
        let swapped = events(&schedule, 0, |i| if i == 100 { 50_000_000 } else { 0 });
        let errors = Errors::of(&schedule, &swapped, Some(0));
        // Late by 50 ms it comes behind some 250 others, of which each is now before one of an earlier time.
        assert!(
            (150..350).contains(&errors.reordered(&schedule)),
            "{}",
            errors.reordered(&schedule)
        );
    }
}
