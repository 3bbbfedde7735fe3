//! When a drive could not keep up with a schedule.

use serde::{Deserialize, Serialize};

use super::lag::Point;

/// A backlog that grows by fewer requests per request than this is not distinguished from chance: the drive serves 99%
/// of what comes, and only a longer run would show it fall behind.
const GROWTH_MIN: f64 = 0.01;

/// A backlog of fewer requests than this, and of this many times what was outstanding before it grew, is a queue as any
/// queue: its length wanders by about its mean.
const RISE_MIN: f64 = 8.0;
const RISE_TIMES: f64 = 2.0;

/// Latency grows with a backlog, by this factor at least and by this many nanoseconds. Where it does not, more is
/// outstanding because more is asked for at a time, and the drive serves it.
const LATENCY_TIMES: f64 = 1.5;
const LATENCY_MIN: f64 = 100_000.0;

/// Fewest steps of a rise: fewer are a stall, after which all are late at once.
const STEPS_MIN: usize = 8;

/// No single step is more than this share of a rise, for the same reason.
const STEP_SHARE_MAX: f64 = 0.5;

/// A rise is at least this many times what steps of its size would reach by chance: the root of the sum of their
/// squares, which is how far a random walk of such steps gets.
const CHANCE_TIMES: f64 = 2.0;

/// Most time that the replayer may have taken during a rise, relative to the drive's. Beyond it, the rise is a burst
/// of requests that the replayer had held back, or of completions that it saw late, and does not show what the drive
/// would have done with the requests in time.
const OWN_MAX: f64 = 0.1;

/// An episode is over when this share of its rise is left.
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
    /// Greatest rise of what was outstanding, in requests.
    pub backlog: f64,
    /// By how much the mean latency from the due time grew meanwhile, in nanoseconds: the backlog, as time.
    pub backlog_ns: f64,
    /// That over the time in which it grew: 0.25 says that the drive served 80% of what came (1 / 1.25).
    pub growth: f64,
    /// Due time of the first request in the first episode, in nanoseconds; `None` without any.
    pub first_ns: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Episode {
    from: usize,
    to: usize,
    rise: f64,
}

/// Finds where the outstanding requests keep climbing, and latency with them.
///
/// In a queue that the drive can serve, both wander about a level; in one that it cannot, both grow by what the drive
/// falls behind, without end (the fluid limit of a queue: latency grows by offered load over capacity, less 1, per
/// time). A phase of the load with a longer queue, or a stall of the drive, lifts them in one step and is neither. Means
/// are what Little's law binds together; where writes that a cache takes are mixed with reads that wait, the median is
/// one or the other.
pub(super) fn overload(points: &[Point]) -> Overload {
    let mut episodes = Vec::new();
    find(points, 0, points.len(), &mut episodes);
    episodes.sort_unstable_by_key(|episode| episode.from);
    let mut inside = vec![false; points.len()];
    for episode in &episodes {
        let floor = points[episode.from].depth + REST * episode.rise;
        let after = points[episode.to..].iter().position(|p| p.depth <= floor);
        let end = after.map_or(points.len(), |n| episode.to + n);
        inside[episode.from + 1..end.max(episode.to + 1)].fill(true);
    }
    let worst = episodes.iter().copied().max_by(|a, b| a.rise.total_cmp(&b.rise));
    let (backlog_ns, growth) = worst.map_or((0.0, 0.0), |episode| {
        let (from, to) = (&points[episode.from], &points[episode.to]);
        let rise = mean_latency(to) - mean_latency(from);
        (rise, rise / (to.due_ns - from.due_ns))
    });
    let requests: u64 = points.iter().map(|p| p.count).sum();
    let of = |(p, inside): (&Point, &bool)| if *inside { p.count } else { 0 };
    let hit: u64 = points.iter().zip(&inside).map(of).sum();
    Overload {
        episodes: episodes.len() as u64,
        request_share: if requests > 0 { hit as f64 / requests as f64 } else { 0.0 },
        time_share: time_share(points, &inside),
        backlog: worst.map_or(0.0, |episode| episode.rise),
        backlog_ns,
        growth,
        first_ns: episodes.first().map(|episode| points[episode.from + 1].due_ns),
    }
}

/// The greatest lasting climb between `from` and `to`, then those on either side of it.
fn find(points: &[Point], from: usize, to: usize, found: &mut Vec<Episode>) {
    let mut best: Option<Episode> = None;
    for i in from..to {
        let (mut greatest_step, mut squares, mut requests) = (0.0_f64, 0.0, 0);
        let (mut own, mut latency) = (0.0, 0.0);
        for j in i + 1..to {
            let step = points[j].depth - points[j - 1].depth;
            greatest_step = greatest_step.max(step);
            squares += step * step;
            requests += points[j].count;
            own += points[j].own_sum_ns;
            latency += points[j].latency_sum_ns;
            let rise = points[j].depth - points[i].depth;
            let enough = rise >= RISE_MIN + RISE_TIMES * points[i].depth
                && rise >= GROWTH_MIN * requests as f64;
            let lasting = j - i >= STEPS_MIN
                && greatest_step <= STEP_SHARE_MAX * rise
                && rise >= CHANCE_TIMES * squares.sqrt();
            let drives = own <= OWN_MAX * latency;
            let (before, after) = (mean_latency(&points[i]), mean_latency(&points[j]));
            let slower = after >= LATENCY_TIMES * before && after >= before + LATENCY_MIN;
            if enough && lasting && slower && drives && best.is_none_or(|best| rise > best.rise) {
                best = Some(Episode { from: i, to: j, rise });
            }
        }
    }
    let Some(mut episode) = best else { return };
    // It begins where the climb does, and not at the lowest point of the plain before it.
    let floor = points[episode.from].depth + GROWTH_MIN * episode.rise;
    let last_low = (episode.from..episode.to).rev().find(|i| points[*i].depth <= floor);
    episode.from = last_low.unwrap_or(episode.from);
    found.push(episode);
    find(points, from, episode.from, found);
    find(points, episode.to, to, found);
}

fn mean_latency(point: &Point) -> f64 {
    point.latency_sum_ns / point.count.max(1) as f64
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
    use workload::rng::Rng;

    /// Points whose depth is what Little's law makes of a latency at 5,000 requests per second.
    fn points(latency: impl FnMut(usize) -> f64) -> Vec<Point> {
        let point = |(i, latency_ns): (usize, f64)| Point {
            due_ns: i as f64 * 1e7,
            count: 50,
            error_ns: 0.0,
            depth: latency_ns * 5e-6,
            own_sum_ns: 0.0,
            latency_sum_ns: 50.0 * latency_ns,
        };
        (0..200).map(latency).enumerate().map(point).collect()
    }

    #[test]
    fn a_backlog_that_grows_to_the_end_is_overload() {
        // 1.25 times what the drive can do: a quarter of the time goes by in vain.
        let found = overload(&points(|i| 200_000.0 + 0.25 * 1e7 * i as f64));
        assert_eq!(found.episodes, 1);
        assert!((found.growth - 0.25).abs() < 1e-9 && found.request_share > 0.98, "{found:?}");
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
    fn a_burst_of_what_the_replayer_kept_is_not_the_drives() {
        let mut burst = points(|i| 200_000.0 + 0.25 * 1e7 * i as f64);
        burst.iter_mut().for_each(|point| point.own_sum_ns = 0.5 * point.latency_sum_ns);
        assert_eq!(overload(&burst), Overload::default());
    }

    #[test]
    fn a_load_that_asks_for_more_at_a_time_and_gets_it_is_not_overload() {
        let mut ramp = points(|_| 2e5);
        ramp.iter_mut().enumerate().for_each(|(i, point)| point.depth = i as f64);
        assert_eq!(overload(&ramp), Overload::default());
    }

    #[test]
    fn latencies_that_flip_between_quick_and_slow_are_not_overload() {
        // Half of the I/Os hit a cache: the median of a few is one or the other.
        for seed in 0..200 {
            let mut rng = Rng::for_path(seed, &[6]);
            let mut mixed = points(|_| if rng.below(2) == 0 { 5e4 } else { 1e7 });
            mixed.iter_mut().for_each(|point| point.depth = 1.0 + 3.0 * rng.exponential());
            assert_eq!(overload(&mixed).episodes, 0, "{seed}");
        }
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(overload(&[]), Overload::default());
        assert_eq!(overload(&points(|_| 1e9)[..1]), Overload::default());
    }
}
