//! How late requests were as time went by.

use block::Nanos;

/// Slices of the schedule.
const SLICES: usize = 256;

/// Values kept of a slice, spread evenly over it.
const KEPT: usize = 64;

/// Every n-th value, where n (`every`) doubles each time that they no longer fit.
#[derive(Clone, Debug)]
struct Spread {
    every: u64,
    seen: u64,
    values: Vec<u64>,
}

impl Spread {
    fn new() -> Spread {
        Spread { every: 1, seen: 0, values: Vec::with_capacity(KEPT) }
    }

    fn add(&mut self, value: u64) {
        if self.seen.is_multiple_of(self.every) {
            if self.values.len() == KEPT {
                let mut index = 0;
                self.values.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.values.push(value);
            }
        }
        self.seen += 1;
    }
}

#[derive(Clone, Debug)]
struct Slice {
    count: u64,
    /// Sum of the due times, from the slice's beginning.
    due: u64,
    error: Spread,
    /// Sum of what was outstanding before each.
    outstanding: u64,
    own_sum: f64,
    latency_sum: f64,
    /// Requests by the position of the highest bit of how long the replayer, and how long a slot, let them wait.
    own: [u32; 65],
    slot: [u32; 65],
}

/// How late requests were, by slices of their due time.
#[derive(Clone, Debug)]
pub(super) struct Lag {
    width: u64,
    slices: Vec<Slice>,
}

/// How late one request was, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    /// When it was due.
    pub due: u64,
    /// Issued less due.
    pub error: u64,
    /// Completed less due, without what the replayer took.
    pub latency: u64,
    /// Outstanding when it was due, by that latency.
    pub outstanding: u64,
    /// Time that the replayer took.
    pub own: u64,
    /// Time that it waited for a slot.
    pub slot: u64,
}

/// One or several slices together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// Mean due time, in nanoseconds since the start.
    pub due_ns: f64,
    /// Requests.
    pub count: u64,
    /// Median of issued less due, in nanoseconds.
    pub error_ns: f64,
    /// Mean of what was outstanding when a request was due.
    pub depth: f64,
    /// Sum of what the replayer took.
    pub own_sum_ns: f64,
    /// Sum of what the drive took from the due time on.
    pub latency_sum_ns: f64,
}

/// Cause of a request's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// The replayer: nothing else was missing.
    Replayer,
    /// A slot.
    Slot,
}

impl Lag {
    /// For a schedule of about `span`.
    pub(super) fn of_span(span: Nanos) -> Lag {
        Lag { width: (span.0 / SLICES as u64 + 1).max(1), slices: Vec::new() }
    }

    /// A request.
    pub(super) fn see(&mut self, one: &Lateness) {
        let Lateness { due, error, latency, outstanding, own, slot } = *one;
        let index = ((due / self.width) as usize).min(SLICES - 1);
        while self.slices.len() <= index {
            self.slices.push(Slice {
                count: 0,
                due: 0,
                error: Spread::new(),
                outstanding: 0,
                own_sum: 0.0,
                latency_sum: 0.0,
                own: [0; 65],
                slot: [0; 65],
            });
        }
        let slice = &mut self.slices[index];
        slice.count += 1;
        slice.due = slice.due.saturating_add(due - index as u64 * self.width);
        slice.error.add(error);
        slice.outstanding += outstanding;
        slice.own_sum += own as f64;
        slice.latency_sum += latency as f64;
        slice.own[bits(own)] += 1;
        slice.slot[bits(slot)] += 1;
    }

    /// The slices, joined so that each has at least `least` requests; what is left at the end is joined to the last.
    pub(super) fn points(&self, least: u64) -> Vec<Point> {
        let mut points: Vec<Vec<usize>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut count = 0;
        for (index, slice) in self.slices.iter().enumerate().filter(|(_, slice)| slice.count > 0) {
            open.push(index);
            count += slice.count;
            if count >= least {
                points.push(std::mem::take(&mut open));
                count = 0;
            }
        }
        match points.last_mut() {
            Some(last) => last.append(&mut open),
            None if open.is_empty() => {}
            None => points.push(open),
        }
        points.iter().map(|slices| self.point(slices)).collect()
    }

    fn point(&self, indices: &[usize]) -> Point {
        let of = |i: &usize| &self.slices[*i];
        let count: u64 = indices.iter().map(|i| of(i).count).sum();
        let due: f64 = indices
            .iter()
            .map(|i| *i as f64 * self.width as f64 * of(i).count as f64 + of(i).due as f64)
            .sum();
        let outstanding: u64 = indices.iter().map(|i| of(i).outstanding).sum();
        Point {
            depth: outstanding as f64 / count as f64,
            own_sum_ns: indices.iter().map(|i| of(i).own_sum).sum(),
            latency_sum_ns: indices.iter().map(|i| of(i).latency_sum).sum(),
            due_ns: due / count as f64,
            count,
            error_ns: weighted_median(indices.iter().map(|i| &of(i).error)),
        }
    }

    /// The first slice with which at least `share` of all requests had waited for `what` for more than about `least`,
    /// a power of two. What is greater in earnest and what came first are different questions; this is the second.
    pub(super) fn first_slice(&self, what: Waited, least: Nanos, share: f64) -> Option<usize> {
        let all: u64 = self.slices.iter().map(|slice| slice.count).sum();
        let mut sum = 0;
        self.slices.iter().position(|slice| {
            let bins = if what == Waited::Replayer { &slice.own } else { &slice.slot };
            sum += above(bins, least);
            sum > 0 && sum as f64 > share * all as f64
        })
    }

    /// The slice that an instant lies in.
    pub(super) fn slice_of(&self, due_ns: f64) -> usize {
        ((due_ns / self.width as f64) as usize).min(SLICES - 1)
    }
}

/// How many of those that are counted by their bits are above `limit`, or above the next power of two.
fn above(bins: &[u32; 65], limit: Nanos) -> u64 {
    bins[bits(limit.0) + 1..].iter().map(|n| u64::from(*n)).sum()
}

/// How many bits a number has; 0 for 0.
fn bits(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()) as usize
}

/// The median of several spreads; each value is weighted by the number of values that it represents.
fn weighted_median<'a>(spreads: impl Iterator<Item = &'a Spread>) -> f64 {
    let mut values: Vec<(u64, u64)> = spreads
        .flat_map(|spread| spread.values.iter().map(|value| (*value, spread.every)))
        .collect();
    values.sort_unstable();
    let half = values.iter().map(|(_, weight)| weight).sum::<u64>().div_ceil(2);
    let mut sum = 0;
    let middle = values.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    middle.map_or(0.0, |(value, _)| *value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_many_is_that_of_all_about() {
        // A slice of a million requests keeps 64 of them, evenly spread: its median must still be theirs.
        let mut lag = Lag::of_span(Nanos(SLICES as u64 * 1000));
        for i in 0..1_000_000_u64 {
            lag.see(&Lateness { due: 500, error: i * 7919 % 1_000_000, ..Lateness::default() });
        }
        let points = lag.points(1);
        assert_eq!((points.len(), points[0].count), (1, 1_000_000));
        assert!((points[0].error_ns / 500_000.0 - 1.0).abs() < 0.25, "{}", points[0].error_ns);
        assert!((points[0].due_ns - 500.0).abs() < 1e-6);
    }

    #[test]
    fn few_requests_are_joined_to_points_and_none_is_lost() {
        let mut lag = Lag::of_span(Nanos(256_000));
        for i in 0..100_u64 {
            lag.see(&Lateness { due: i * 2560, error: i, ..Lateness::default() });
        }
        let points = lag.points(8);
        assert!(points.iter().all(|p| p.count >= 8));
        assert_eq!(points.iter().map(|p| p.count).sum::<u64>(), 100);
        assert_eq!(lag.points(1000).len(), 1);
    }

    #[test]
    fn what_came_first_is_told() {
        let mut lag = Lag::of_span(Nanos(256_000));
        for i in 0..256_u64 {
            let own = if i > 200 { 1_000_000 } else { 0 };
            let slot = if i > 100 { 1_000_000 } else { 10 };
            lag.see(&Lateness { due: i * 1000, own, slot, ..Lateness::default() });
        }
        let first = |what| lag.first_slice(what, Nanos(1000), 0.01);
        let (own, slot) = (first(Waited::Replayer), first(Waited::Slot));
        assert!(own > slot && slot.is_some(), "{own:?}, {slot:?}");
    }
}
