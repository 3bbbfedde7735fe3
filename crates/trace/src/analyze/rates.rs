//! How many I/Os and bytes there were a second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::series::{Join, Series};
use crate::{Io, Kind};

/// A second.
const SECOND_NS: u64 = 1_000_000_000;
/// Seconds that are kept each by itself: what completes comes in the order of its arrival, so that seconds overlap.
const LATEST: usize = 64;
/// The most steps that are kept: then two are joined.
const MOST_STEPS: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Passed {
    ios: u64,
    read: u64,
    written: u64,
}

impl Passed {
    fn raise(&mut self, other: Passed) {
        self.ios = self.ios.max(other.ios);
        self.read = self.read.max(other.read);
        self.written = self.written.max(other.written);
    }
}

impl Join for Passed {
    fn join(&mut self, behind: Passed) {
        self.ios += behind.ios;
        self.read = self.read.saturating_add(behind.read);
        self.written = self.written.saturating_add(behind.written);
    }
}

/// Counts by the second of arrival, and by that of completion.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rates {
    begun: Option<u64>,
    arrived: Course,
    completed: Course,
}

/// Counts by the second since the first arrival.
#[derive(Clone, Debug, PartialEq)]
struct Course {
    seconds: Series<Passed>,
    /// The latest seconds, each by itself, by number.
    latest: BTreeMap<u64, Passed>,
    /// The most of each in one second, of seconds that are no longer among the latest.
    most: Passed,
    /// The last that is counted, in nanoseconds since the first arrival.
    last: Option<u64>,
}

impl Default for Course {
    fn default() -> Course {
        Course {
            seconds: Series::new(0, 1, MOST_STEPS),
            latest: BTreeMap::new(),
            most: Passed::default(),
            last: None,
        }
    }
}

impl Course {
    #[inline]
    fn add(&mut self, since: u64, io: &Io) {
        self.last = self.last.max(Some(since));
        let second = since / SECOND_NS;
        let length = |kind| if io.kind == kind { io.length.0 } else { 0 };
        let passed = Passed { ios: 1, read: length(Kind::Read), written: length(Kind::Write) };
        self.seconds.cell(second).join(passed);
        self.latest.entry(second).or_default().join(passed);
        while self.latest.len() > LATEST
            && let Some((_, passed)) = self.latest.pop_first()
        {
            self.most.raise(passed);
        }
    }

    /// The most of each in one second. The last second is shorter than that, and counts as far as it came.
    fn most(&self) -> Passed {
        let mut most = self.most;
        self.latest.values().for_each(|passed| most.raise(*passed));
        most
    }

    /// Steps and how long they are, in seconds. The last is as long as there was something in it.
    fn steps(&self) -> Vec<(Passed, f64)> {
        let last = self.last.unwrap_or(0).saturating_add(1) as f64 / SECOND_NS as f64;
        let step = self.seconds.step() as f64;
        let lengths = (0..).map(|index| (last - f64::from(index) * step).min(step));
        self.seconds.cells().iter().copied().zip(lengths).collect()
    }
}

impl Rates {
    /// Takes an I/O. Seconds begin with the first arrival.
    #[inline]
    pub(super) fn see(&mut self, io: &Io) {
        let begun = *self.begun.get_or_insert(io.arrival.0);
        self.arrived.add(io.arrival.0.saturating_sub(begun), io);
        if let Some(at) = io.completed.get() {
            self.completed.add(at.0.saturating_sub(begun), io);
        }
    }

    /// Returns the figures: by completion, where completions are known, as btt counts; else by arrival. `None`
    /// without I/Os.
    pub(super) fn finish(&self) -> Option<RateFigures> {
        self.begun?;
        let known = self.completed.last.is_some();
        let course = if known { &self.completed } else { &self.arrived };
        let steps = course.steps();
        let seconds: f64 = steps.iter().map(|(_, seconds)| seconds).sum();
        let most = course.most();
        let per_s = |of: fn(&Passed) -> u64| -> (f64, f64, Vec<f64>) {
            let each: Vec<f64> =
                steps.iter().map(|(cell, seconds)| of(cell) as f64 / seconds).collect();
            let sum: u128 = steps.iter().map(|(cell, _)| u128::from(of(cell))).sum();
            let mean = sum as f64 / seconds;
            // No mean is above it, as one of less than a second may be.
            let most = mean.max(of(&most) as f64);
            (mean, most, each)
        };
        let (iops_mean, iops_max, iops) = per_s(|cell| cell.ios);
        let (read_mean, read_max, read) = per_s(|cell| cell.read);
        let (written_mean, written_max, written) = per_s(|cell| cell.written);
        Some(RateFigures {
            counted: if known { Counted::Completions } else { Counted::Arrivals },
            step_s: course.seconds.step(),
            iops_mean,
            iops_max,
            bytes_read_per_s_mean: read_mean,
            bytes_read_per_s_max: read_max,
            bytes_written_per_s_mean: written_mean,
            bytes_written_per_s_max: written_max,
            iops,
            bytes_read_per_s: read,
            bytes_written_per_s: written,
        })
    }
}

/// Events counted by the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// I/Os that complete.
    Completions,
    /// I/Os that arrive.
    Arrivals,
}

/// Rates, and how they went. The last step is as long as there was something in it, the others are whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateFigures {
    /// Events counted.
    pub counted: Counted,
    /// Length of a step, in seconds: 1, doubled until 4,096 steps are enough.
    pub step_s: u64,
    /// I/Os per second, from the first arrival to the last that is counted.
    pub iops_mean: f64,
    /// The most in one second, counted from the first arrival, however long a step is; the mean where that is more.
    pub iops_max: f64,
    /// Bytes read per second.
    pub bytes_read_per_s_mean: f64,
    /// The most in one second.
    pub bytes_read_per_s_max: f64,
    /// Bytes written per second.
    pub bytes_written_per_s_mean: f64,
    /// The most in one second.
    pub bytes_written_per_s_max: f64,
    /// I/Os per second of each step.
    pub iops: Vec<f64>,
    /// Bytes read per second of each step.
    pub bytes_read_per_s: Vec<f64>,
    /// Bytes written per second of each step.
    pub bytes_written_per_s: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos};

    use super::*;
    use crate::Stamp;

    #[test]
    fn rates_are_by_completion_where_it_is_known() {
        let second = 1_000_000_000;
        let io = |at: u64| Io::arriving(Nanos(at), Kind::Read, Bytes(0), Bytes(1000));
        let mut arrivals = Rates::default();
        assert_eq!(arrivals.finish(), None);
        let mut rates = Rates::default();
        for at in [0, 1, 2, second] {
            arrivals.see(&io(at));
            rates.see(&Io { completed: Stamp::at(Nanos(at + 2 * second)), ..io(at) });
        }
        let said = rates.finish().unwrap();
        assert_eq!((said.counted, said.step_s), (Counted::Completions, 1));
        assert_eq!(said.iops[..3], [0.0, 0.0, 3.0]);
        assert_eq!((said.iops_max, said.bytes_read_per_s_max), (3.0, 3000.0));
        assert!((said.iops_mean - 4.0 / 3.0).abs() < 1e-6, "{}", said.iops_mean);
        let said = arrivals.finish().unwrap();
        assert_eq!((said.counted, said.iops[0], said.iops.len()), (Counted::Arrivals, 3.0, 2));
    }
}
