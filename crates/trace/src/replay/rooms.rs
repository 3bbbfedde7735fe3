//! How much the original had outstanding.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Counts what was outstanding in the original just before each request: the sum of the weights of those that came
/// before it and were not done yet, `Q_j <= Q_i < C_j` for j before i (source: Sivathanu, Kim, Kulkarni and Liu,
/// "Load-Aware Replay of I/O Traces", FAST 2011).
///
/// Holds what is outstanding, and nothing else. What has no completion was never seen to end, and would count for ever:
/// it counts nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    outstanding: u64,
}

impl Rooms {
    /// Returns the weight outstanding at `time`, just before the request that came then and weighs `weight`, and adds
    /// the request.
    pub(super) fn before(&mut self, time: u64, completed: Option<u64>, weight: u64) -> u64 {
        while let Some(Reverse((end, weight))) = self.ends.peek().copied() {
            if end > time {
                break;
            }
            self.ends.pop();
            self.outstanding -= weight;
        }
        let before = self.outstanding;
        if let Some(end) = completed.filter(|end| *end > time && weight > 0) {
            self.ends.push(Reverse((end, weight)));
            // Cannot wrap back: what is added here is what is taken off above.
            self.outstanding += weight;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_as_a_request_comes_is_not_outstanding() {
        let mut rooms = Rooms::default();
        let ios = [(0, 10, 8), (0, 30, 1), (10, 20, 4), (25, 26, 1), (30, 40, 1)];
        let seen = ios.map(|(at, end, weight)| rooms.before(at, Some(end), weight));
        assert_eq!(seen, [0, 8, 1, 1, 0]);
    }

    #[test]
    fn what_never_ends_counts_nothing() {
        // One lost completion would let all that follow be issued with too much outstanding.
        let mut rooms = Rooms::default();
        assert_eq!(rooms.before(0, None, 8), 0);
        assert_eq!(rooms.before(1, Some(5), 8), 0);
        assert_eq!(rooms.before(2, Some(9), 8), 8);
    }
}
