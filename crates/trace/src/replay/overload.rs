//! When a drive could not keep up with a schedule.

use serde::{Deserialize, Serialize};

use super::lag::Point;

/// A backlog that grows more slowly than this, in time per time, is not told from chance: the drive serves 99 % of what
/// comes, and a longer run would be needed to see it fall behind.
const GROWTH_MIN: f64 = 0.01;

/// A backlog of fewer than this many latencies of the unloaded drive is a queue as any queue.
const RISE_MIN: f64 = 10.0;

/// Least latency that counts as the unloaded drive's, in nanoseconds.
const BASE_MIN: f64 = 100_000.0;

/// A rise has at least so many steps: fewer are a stall, after which all are late at once.
const STEPS_MIN: usize = 5;

/// No single step is more than this share of a rise, for the same reason.
const STEP_SHARE_MAX: f64 = 0.5;

/// An episode is over when so much of its rise is left.
const REST: f64 = 0.1;

/// How far a drive could not keep up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// Episodes in which the backlog grew.
    pub episodes: u64,
    /// Share of the requests that fell in them, until the backlog was worked off.
    pub request_share: f64,
    /// Share of the schedule's time, the same.
    pub time_share: f64,
    /// Greatest rise of the median latency from the due time, in nanoseconds: the backlog, as time.
    pub backlog_ns: f64,
    /// Time gained by the backlog per time in the episode of the greatest rise: 0.25 says that the drive served 80 % of
    /// what came (1 / 1.25).
    pub growth: f64,
    /// Due time of the first request in the first episode, in nanoseconds; `None` without any.
    pub first_ns: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Episode {
    from: usize,
    to: usize,
    rise: f64,
    growth: f64,
}

/// Finds where the latency from the due time climbs and goes on climbing.
///
/// In a queue that the drive can serve, latency wanders about a level; in one that it cannot, it grows by the time that
/// the drive falls behind, without end (the fluid limit of a queue: growth is offered load over capacity, less 1). A
/// phase of the load that has a longer queue, or a stall of the drive, lifts the latency in one step and is neither.
pub(super) fn overload(points: &[Point]) -> Overload {
    let base = points.iter().map(|p| p.latency_ns).fold(f64::INFINITY, f64::min).max(BASE_MIN);
    let mut episodes = Vec::new();
    find(points, 0, points.len(), base, &mut episodes);
    episodes.sort_unstable_by_key(|episode| episode.from);
    let mut inside = vec![false; points.len()];
    for episode in &episodes {
        let floor = points[episode.from].latency_ns + REST * episode.rise;
        let after = points[episode.to..].iter().position(|p| p.latency_ns <= floor);
        let end = after.map_or(points.len(), |n| episode.to + n);
        inside[episode.from + 1..end.max(episode.to + 1)].fill(true);
    }
    let worst = episodes.iter().copied().max_by(|a, b| a.rise.total_cmp(&b.rise));
    let requests: u64 = points.iter().map(|p| p.count).sum();
    let of = |(p, inside): (&Point, &bool)| if *inside { p.count } else { 0 };
    let hit: u64 = points.iter().zip(&inside).map(of).sum();
    Overload {
        episodes: episodes.len() as u64,
        request_share: if requests > 0 { hit as f64 / requests as f64 } else { 0.0 },
        time_share: time_share(points, &inside),
        backlog_ns: worst.map_or(0.0, |episode| episode.rise),
        growth: worst.map_or(0.0, |episode| episode.growth),
        first_ns: episodes.first().map(|episode| points[episode.from + 1].due_ns),
    }
}

/// The steepest lasting climb between `from` and `to`, then those on either side of it.
fn find(points: &[Point], from: usize, to: usize, base: f64, found: &mut Vec<Episode>) {
    let mut best: Option<Episode> = None;
    for i in from..to {
        let mut greatest_step = 0.0_f64;
        for j in i + 1..to {
            greatest_step = greatest_step.max(points[j].latency_ns - points[j - 1].latency_ns);
            let rise = points[j].latency_ns - points[i].latency_ns;
            let growth = rise / (points[j].due_ns - points[i].due_ns);
            let lasting = j - i >= STEPS_MIN && greatest_step <= STEP_SHARE_MAX * rise;
            let counts = lasting && rise >= RISE_MIN * base && growth >= GROWTH_MIN;
            if counts && best.is_none_or(|best| rise > best.rise) {
                best = Some(Episode { from: i, to: j, rise, growth });
            }
        }
    }
    let Some(mut episode) = best else { return };
    // It begins where the climb does, and not at the lowest point of the plain before it.
    let floor = points[episode.from].latency_ns + base;
    let last_low = (episode.from..episode.to).rev().find(|i| points[*i].latency_ns <= floor);
    episode.from = last_low.unwrap_or(episode.from);
    found.push(episode);
    find(points, from, episode.from, base, found);
    find(points, episode.to, to, base, found);
}

fn time_share(points: &[Point], inside: &[bool]) -> f64 {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return 0.0 };
    let whole = last.due_ns - first.due_ns;
    let steps = points.windows(2).zip(&inside[1..]);
    let hit: f64 =
        steps.filter(|(_, inside)| **inside).map(|(pair, _)| pair[1].due_ns - pair[0].due_ns).sum();
    if whole > 0.0 { hit / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(latency: impl Fn(usize) -> f64) -> Vec<Point> {
        let point =
            |i| Point { due_ns: i as f64 * 1e7, count: 50, error_ns: 0.0, latency_ns: latency(i) };
        (0..200).map(point).collect()
    }

    #[test]
    fn a_backlog_that_grows_to_the_end_is_overload() {
        // 1.25 times what the drive can do: a quarter of the time goes by in vain.
        let found = overload(&points(|i| 200_000.0 + 0.25 * 1e7 * i as f64));
        assert_eq!(found.episodes, 1);
        assert!((found.growth - 0.25).abs() < 1e-9 && found.request_share > 0.99, "{found:?}");
    }

    #[test]
    fn a_backlog_that_is_worked_off_counts_until_then() {
        let found = overload(&points(|i| match i {
            50..100 => 200_000.0 + 1e6 * (i - 50) as f64,
            100..150 => 200_000.0 + 1e6 * (150 - i) as f64,
            _ => 200_000.0,
        }));
        assert_eq!(found.episodes, 1);
        assert!((found.time_share - 0.48).abs() < 0.03, "{found:?}");
        assert_eq!(found.first_ns, Some(51.0 * 1e7));
    }

    #[test]
    fn neither_a_stall_nor_a_phase_with_a_longer_queue_is_overload() {
        let stall =
            |i: usize| if (90..95).contains(&i) { 5e8 - 1e8 * (i - 90) as f64 } else { 2e5 };
        let phase = |i: usize| if (50..150).contains(&i) { 8e6 } else { 2e5 };
        let wander = |i: usize| 2e5 + 1e5 * (i as f64 / 9.0).sin();
        for (name, found) in [
            ("stall", overload(&points(stall))),
            ("phase", overload(&points(phase))),
            ("wander", overload(&points(wander))),
        ] {
            assert_eq!(found, Overload::default(), "{name}");
        }
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(overload(&[]), Overload::default());
        assert_eq!(overload(&points(|_| 1e9)[..1]), Overload::default());
    }
}
