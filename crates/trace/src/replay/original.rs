//! Metrics of the original, gathered while its requests are planned.

use block::{Bytes, Nanos};
use stats::LatencyHistogram;

use super::plan::Origin;
use super::timeline::Timeline;

/// Metrics of the original, for the requests that are replayed.
#[derive(Clone, Debug)]
pub struct Original {
    /// Source of its times.
    pub origin: Origin,
    /// Requests.
    pub requests: u64,
    /// Requests whose completion is known.
    pub completed: u64,
    /// From their time to their completion.
    pub q2c: LatencyHistogram,
    /// From the first request to the last completion, or to the last request where no completion is known.
    pub elapsed: Nanos,
    /// As planned: requests by their due time. As the original had it: what was outstanding by the same time, where
    /// the schedule is the original's.
    pub(super) timeline: Timeline,
    /// True when the timeline's depth is the original's.
    pub(super) depth_known: bool,
}

impl Original {
    pub(super) fn new(origin: Origin, span: Nanos, schedule_is_own: bool) -> Original {
        Original {
            origin,
            requests: 0,
            completed: 0,
            q2c: LatencyHistogram::new(),
            elapsed: Nanos::ZERO,
            timeline: Timeline::of_span(span),
            depth_known: schedule_is_own && origin == Origin::Completions,
        }
    }

    /// A request that came at `time` in the original and is due at `due`.
    pub(super) fn see(&mut self, time: u64, completed: Option<u64>, due: Nanos, len: Bytes) {
        self.requests += 1;
        let done = completed.filter(|end| *end >= time);
        if let Some(end) = done {
            self.completed += 1;
            self.q2c.record(end - time);
        }
        self.elapsed = self.elapsed.max(Nanos(done.unwrap_or(time)));
        let until =
            done.filter(|_| self.depth_known).map(|end| Nanos(due.0.saturating_add(end - time)));
        self.timeline.add(due, until, len);
    }

    /// Sum of Q2C.
    pub fn q2c_sum_ns(&self) -> f64 {
        self.q2c.mean().map_or(0.0, |mean| mean * self.q2c.count() as f64)
    }
}
