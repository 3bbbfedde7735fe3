//! How many I/Os are outstanding, over time.

use serde::{Deserialize, Serialize};

use crate::series::{Join, Series};

/// Classes of depth: 0, 1, 2, 3 to 4, 5 to 8, and so on.
const CLASSES: usize = 34;

/// First step of depth over time, in nanoseconds, and the most steps that are kept: then neighbours are joined.
const FIRST_STEP: u64 = 1 << 20;
const MOST_STEPS: usize = 512;

/// Counts what is outstanding. Instants come in order; one that does not is taken for the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Depth {
    now: u64,
    max: u64,
    begun: Option<u64>,
    last: u64,
    /// Sum of depth × time, in nanoseconds.
    area: u128,
    by_class: Vec<u64>,
    /// Kept where it is wanted.
    over_time: Option<Series<Held>>,
    keeps_course: bool,
}

/// Depth within one step of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Held {
    area: u128,
    max: u64,
}

impl Join for Held {
    fn join(&mut self, behind: Held) {
        self.area += behind.area;
        self.max = self.max.max(behind.max);
    }
}

impl Depth {
    /// Nothing outstanding yet; the result includes the depth over time.
    pub(super) fn with_course() -> Depth {
        Depth { keeps_course: true, ..Depth::default() }
    }

    /// An I/O enters at `at`.
    #[inline]
    pub(super) fn enter(&mut self, at: u64) {
        self.advance(at);
        self.now += 1;
        self.max = self.max.max(self.now);
    }

    /// An I/O leaves at `at`.
    #[inline]
    pub(super) fn leave(&mut self, at: u64) {
        self.advance(at);
        self.now = self.now.saturating_sub(1);
    }

    /// Time goes on to `at`, with what is outstanding. The first instant is where the mean begins.
    #[inline]
    pub(super) fn advance(&mut self, at: u64) {
        if self.begun.is_none() {
            self.begun = Some(at);
            self.last = at;
            self.by_class = vec![0; CLASSES];
            self.over_time = self.keeps_course.then(|| Series::new(at, FIRST_STEP, MOST_STEPS));
        }
        let Some(passed) = at.checked_sub(self.last).filter(|passed| *passed > 0) else { return };
        self.area += u128::from(self.now) * u128::from(passed);
        self.by_class[class(self.now)] += passed;
        let depth = self.now;
        if let Some(course) = &mut self.over_time {
            course.spread(self.last, at, |held, part| {
                held.area += u128::from(depth) * u128::from(part);
                held.max = held.max.max(depth);
            });
        }
        self.last = at;
    }

    /// Returns the figures; `None` where nothing was ever outstanding.
    pub(super) fn finish(&self) -> Option<QueueDepth> {
        let begun = self.begun.filter(|_| self.max > 0)?;
        let span = self.last - begun;
        let share = |time: u64| if span == 0 { 0.0 } else { time as f64 / span as f64 };
        let classes = self.by_class.iter().enumerate().filter(|(_, time)| **time > 0);
        Some(QueueDepth {
            mean: if span == 0 { 0.0 } else { self.area as f64 / span as f64 },
            max: self.max,
            shares: classes
                .map(|(class, time)| {
                    let (from, to) = bounds(class);
                    DepthShare { from, to, share: share(*time) }
                })
                .collect(),
            over_time: self.over_time.as_ref().map(|course| DepthOverTime {
                from_ns: begun,
                step_ns: course.step(),
                mean: course.lengths().map(|(held, ns)| held.area as f64 / ns as f64).collect(),
                max: course.cells().iter().map(|held| held.max).collect(),
            }),
        })
    }
}

fn class(depth: u64) -> usize {
    match depth {
        0 => 0,
        _ => ((64 - (depth - 1).leading_zeros()) as usize + 1).min(CLASSES - 1),
    }
}

fn bounds(class: usize) -> (u64, u64) {
    match class {
        0 => (0, 0),
        1 => (1, 1),
        _ => ((1 << (class - 2)) + 1, 1 << (class - 1)),
    }
}

/// Figures of a depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueDepth {
    /// Mean, weighted by time.
    pub mean: f64,
    /// The greatest that there was at any instant.
    pub max: u64,
    /// Share of the time that each class of depth had; classes without any are left out.
    pub shares: Vec<DepthShare>,
    /// Depth over time; only for all devices together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub over_time: Option<DepthOverTime>,
}

/// How long a depth lay between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthShare {
    /// Least depth of the class.
    pub from: u64,
    /// Greatest depth of the class.
    pub to: u64,
    /// Share of the time, from 0 to 1.
    pub share: f64,
}

/// Depth in steps of the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthOverTime {
    /// Start of the first step, since the trace's origin, in nanoseconds.
    pub from_ns: u64,
    /// Length of a step, in nanoseconds: 2^20, doubled until 512 steps are enough.
    pub step_ns: u64,
    /// Mean of each step, weighted by time. The last step may be shorter than the others.
    pub mean: Vec<f64>,
    /// Greatest depth that lasted in each step.
    pub max: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_weighted_by_time() {
        let mut depth = Depth::with_course();
        depth.advance(100);
        depth.enter(200);
        depth.enter(300);
        depth.leave(600);
        depth.leave(1000);
        depth.advance(1100);
        let said = depth.finish().unwrap();
        // 1 for 100, 2 for 300, 1 for 400 of 1,000.
        assert_eq!((said.mean, said.max), (1.1, 2));
        let shares: Vec<_> = said.shares.iter().map(|s| (s.from, s.to, s.share)).collect();
        assert_eq!(shares, [(0, 0, 0.2), (1, 1, 0.5), (2, 2, 0.3)]);
        let course = said.over_time.unwrap();
        assert_eq!((course.from_ns, course.mean, course.max), (100, vec![1.1], vec![2]));
    }

    #[test]
    fn classes_meet_without_gaps() {
        let mut next = 0;
        for class_of in 0..CLASSES - 1 {
            let (from, to) = bounds(class_of);
            assert_eq!((from, class(from), class(to)), (next, class_of, class_of));
            next = to + 1;
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn nothing_outstanding_is_no_depth() {
        let mut depth = Depth::default();
        assert_eq!(depth.finish(), None);
        depth.advance(7);
        assert_eq!(depth.finish(), None);
        depth.enter(7);
        depth.leave(7);
        assert_eq!(depth.finish().map(|said| (said.mean, said.max)), Some((0.0, 1)));
    }
}
