//! Comparison of two drives for a trace.
//!
//! Both replay it in rounds, in pairs of alternating order, so that changes over time affect both alike. Two metrics
//! are compared, each by the ratios of the pairs: the completion time, and the sum of Q2C. In a timed replay of a load
//! that both drives can serve the completion time is the trace's own, and only the sum of Q2C can distinguish them
//! (source: Yee and others, "Analysis on I/O Trace Replayer for SSD performance evaluation").

use serde::{Deserialize, Serialize};
use stats::remedy::Trace;
use stats::{
    Agreement, Better, Caveat, Quantity, RatioEstimate, RatioInterval, Unit, agreement,
    median_quantity, paired_ratio,
};

use super::body::{Body, Limit};
use super::options::Mode;

/// Ratios between 1 / (1 + this) and 1 + this count as equal: half a percent.
pub const MARGIN: f64 = 0.005;

/// Share of the requests in an overload that still is a light load; as for the verdict on a replay.
const BACKLOG_MAX: f64 = 0.01;

/// Confidence of intervals. At 95% the least count of pairs with an interval is 6.
const CONFIDENCE: f64 = 0.95;

/// One of two drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The first that was named.
    A,
    /// The second.
    B,
}

/// The order in which drives replay in `rounds` rounds: A B, B A, A B, …
pub fn order(rounds: usize) -> impl Iterator<Item = Side> {
    (0..rounds).flat_map(|round| match round % 2 {
        0 => [Side::A, Side::B],
        _ => [Side::B, Side::A],
    })
}

/// Metrics of one replay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// From the first issue to the last completion.
    pub completion_s: f64,
    /// Sum of Q2C of all requests, flushes among them.
    pub q2c_sum_s: f64,
    /// Requests.
    pub requests: u64,
    /// Mean of Q2C, in nanoseconds.
    pub q2c_mean_ns: f64,
    /// Median of Q2C, in nanoseconds.
    pub q2c_p50_ns: f64,
    /// 99th percentile of Q2C, in nanoseconds.
    pub q2c_p99_ns: f64,
    /// 99.9th percentile of Q2C, in nanoseconds.
    pub q2c_p999_ns: f64,
    /// Sum of Q2C over completion time.
    pub mean_depth: f64,
    /// Share of the requests that fell into an overload; 0 where no time is kept.
    pub overload: f64,
    /// The bottleneck.
    pub verdict: Limit,
}

impl Score {
    /// Of a replay; `None` when nothing was issued.
    pub fn of(body: &Body) -> Option<Score> {
        let q2c = body.q2c?;
        let sum = q2c.mean.value * q2c.mean.n as f64 / 1e9;
        let completion_s = body.elapsed_s;
        Some(Score {
            completion_s,
            q2c_sum_s: sum,
            requests: q2c.mean.n as u64,
            q2c_mean_ns: q2c.mean.value,
            q2c_p50_ns: q2c.p50.value,
            q2c_p99_ns: q2c.p99.value,
            q2c_p999_ns: q2c.p999.value,
            mean_depth: if completion_s > 0.0 { sum / completion_s } else { 0.0 },
            overload: body.overload.map_or(0.0, |overload| overload.request_share),
            verdict: body.fidelity.verdict,
        })
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareBody {
    /// The drives, A first.
    pub drives: [Contestant; 2],
    /// Completion time of A over that of B, by pairs.
    pub completion_ratio: Option<Ratio>,
    /// Sum of Q2C of A over that of B, by pairs.
    pub q2c_sum_ratio: Option<Ratio>,
    /// The conclusion.
    pub verdict: Suits,
    /// The drive that suits the trace, by its name.
    pub winner: Option<String>,
    /// By what.
    pub by: Option<Metric>,
    /// Whether the completion times distinguish the drives.
    pub completion_tells: Tells,
    /// Why, one sentence without a full stop.
    pub reason: String,
    /// Doubts.
    pub caveats: Vec<Caveat>,
}

/// One drive and its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contestant {
    /// Its name.
    pub name: String,
    /// Completion time, in nanoseconds, median of the rounds.
    pub completion: Option<Quantity>,
    /// Sum of Q2C, in nanoseconds.
    pub q2c_sum: Option<Quantity>,
    /// Q2C per I/O, in nanoseconds.
    pub q2c_mean: Option<Quantity>,
    /// Median of Q2C, in nanoseconds.
    pub q2c_p50: Option<Quantity>,
    /// 99th percentile of Q2C, in nanoseconds.
    pub q2c_p99: Option<Quantity>,
    /// 99.9th percentile of Q2C, in nanoseconds.
    pub q2c_p999: Option<Quantity>,
    /// Mean outstanding.
    pub mean_depth: Option<Quantity>,
    /// Share of the requests that fell into an overload, greatest of the rounds.
    pub overload: f64,
    /// Rounds in their order.
    pub rounds: Vec<Score>,
}

/// A ratio of A to B with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Median of the pairs' ratios, with order statistics for its ends.
    #[serde(flatten)]
    pub estimate: RatioEstimate,
    /// Confidence that the interval holds.
    pub confidence: f64,
    /// Pairs.
    pub pairs: u64,
}

impl Ratio {
    fn of(found: &RatioInterval) -> Ratio {
        let RatioInterval { ratio, low, high, confidence, n, .. } = *found;
        Ratio { estimate: RatioEstimate { ratio, low, high }, confidence, pairs: n as u64 }
    }

    fn agreement(&self) -> Agreement {
        agreement((self.estimate.low, self.estimate.high), MARGIN)
    }

    /// Returns the side with less.
    fn less(&self) -> Side {
        if self.estimate.ratio < 1.0 { Side::A } else { Side::B }
    }
}

/// Drive that suits a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Suits {
    /// The first.
    A,
    /// The second.
    B,
    /// Either: they differ by less than matters.
    Equivalent,
    /// The rounds do not decide.
    Undecided,
}

/// Metric that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Completion time.
    Completion,
    /// Sum of Q2C.
    Q2cSum,
}

/// Whether completion times distinguish the drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tells {
    /// They differ.
    Yes,
    /// They are the trace's own: the load is too light.
    TooLight,
    /// They are alike, and not because the load is too light.
    Alike,
    /// The rounds do not decide.
    Undecided,
}

/// Compares the rounds of two drives, which replayed the same trace in `mode`; the i-th of `a` is paired with the i-th
/// of `b`. `schedule_s` is how long the schedule is, for modes that have one: from the first due time to the last.
pub fn compare(
    names: [&str; 2],
    a: &[Score],
    b: &[Score],
    mode: Mode,
    schedule_s: Option<f64>,
) -> CompareBody {
    let ratio = |of: fn(&Score) -> f64| {
        let values = |scores: &[Score]| scores.iter().map(of).collect::<Vec<_>>();
        paired_ratio(&values(a), &values(b), CONFIDENCE).map(|found| Ratio::of(&found))
    };
    let completion = ratio(|score| score.completion_s);
    let q2c = ratio(|score| score.q2c_sum_s);
    let tells = tells(completion.as_ref(), a, b, schedule_s);
    let timed = matches!(mode, Mode::Timed | Mode::Scaled(_));
    let (verdict, by, reason) = decide(completion.as_ref(), q2c.as_ref(), tells, timed, names);
    let winner = match verdict {
        Suits::A => Some(names[0].to_owned()),
        Suits::B => Some(names[1].to_owned()),
        Suits::Equivalent | Suits::Undecided => None,
    };
    CompareBody {
        drives: [contestant(names[0], a), contestant(names[1], b)],
        completion_ratio: completion,
        q2c_sum_ratio: q2c,
        verdict,
        winner,
        by,
        completion_tells: tells,
        reason,
        caveats: caveats(names, a, b),
    }
}

fn tells(completion: Option<&Ratio>, a: &[Score], b: &[Score], schedule_s: Option<f64>) -> Tells {
    match completion.map(Ratio::agreement) {
        Some(Agreement::Differs) => Tells::Yes,
        Some(Agreement::Agrees) => {
            // On time to the end: what lies behind the schedule's last request is a latency and no backlog.
            let own = |schedule: f64| {
                a.iter().chain(b).all(|score| {
                    let rest = score.q2c_p999_ns / 1e9 + MARGIN * schedule;
                    score.overload <= BACKLOG_MAX && score.completion_s <= schedule + rest
                })
            };
            if schedule_s.is_some_and(own) { Tells::TooLight } else { Tells::Alike }
        }
        Some(Agreement::Undecided) | None => Tells::Undecided,
    }
}

/// The verdict, by what, and why.
///
/// In a timed replay the sum of Q2C decides, since it distinguishes drives under any load; under a load that is too
/// heavy the completion times follow it. In a replay without times the completion time decides: it shows how fast the
/// work was done, while the sum of Q2C is that time multiplied by the depth that the replay holds.
fn decide(
    completion: Option<&Ratio>,
    q2c: Option<&Ratio>,
    tells: Tells,
    timed: bool,
    names: [&str; 2],
) -> (Suits, Option<Metric>, String) {
    let (first, second) = if timed {
        ((q2c, Metric::Q2cSum), (completion, Metric::Completion))
    } else {
        ((completion, Metric::Completion), (q2c, Metric::Q2cSum))
    };
    let about = match tells {
        Tells::TooLight => "completion time does not show it: the load is too light; ",
        Tells::Yes | Tells::Alike | Tells::Undecided => "",
    };
    for (ratio, metric) in [first, second] {
        let Some(ratio) = ratio.filter(|ratio| ratio.agreement() == Agreement::Differs) else {
            continue;
        };
        let (suits, name) = match ratio.less() {
            Side::A => (Suits::A, names[0]),
            Side::B => (Suits::B, names[1]),
        };
        let other = if metric == Metric::Completion { q2c } else { completion };
        let against = other.filter(|other| {
            other.agreement() == Agreement::Differs && other.less() != ratio.less()
        });
        let contrary = match (against, metric) {
            (None, _) => "",
            (Some(_), Metric::Q2cSum) => ", though its completion time is the longer one",
            (Some(_), Metric::Completion) => ", though its sum of Q2C is the greater one",
        };
        return (
            suits,
            Some(metric),
            format!("{about}{name} has {}{contrary}", less(ratio, metric)),
        );
    }
    let both = [completion, q2c].map(|ratio| ratio.map(Ratio::agreement));
    if both.iter().all(|agreement| *agreement == Some(Agreement::Agrees)) {
        let reason = "both metrics are the same within half a percent".to_owned();
        return (Suits::Equivalent, None, format!("{about}{reason}"));
    }
    let reason = match completion.or(q2c) {
        None => "there is nothing to compare",
        Some(ratio) if ratio.estimate.low.is_none() => {
            "there are too few rounds for an interval: at least 6 are needed"
        }
        Some(_) => "the rounds differ too much among themselves: more are needed",
    };
    (Suits::Undecided, None, format!("{about}{reason}"))
}

/// How much less the better one has: as the share of the other's.
fn less(ratio: &Ratio, metric: Metric) -> String {
    let RatioEstimate { ratio: middle, low, high } = ratio.estimate;
    let upright = |x: f64| if middle < 1.0 { x } else { 1.0 / x };
    let percent = |x: f64| (1.0 - upright(x)) * 100.0;
    let what = match metric {
        Metric::Completion => "a completion time",
        Metric::Q2cSum => "a sum of Q2C",
    };
    let ends = low.zip(high).map(|(low, high)| (percent(low), percent(high)));
    let (least, most) = ends.map_or((0.0, 0.0), |(x, y)| (x.min(y), x.max(y)));
    format!("{what} that is {:.2}% less ({least:.2} to {most:.2}%)", percent(middle))
}

fn contestant(name: &str, rounds: &[Score]) -> Contestant {
    let quantity = |unit: Unit, of: &dyn Fn(&Score) -> f64| {
        let values: Vec<f64> = rounds.iter().map(of).collect();
        median_quantity(&values, CONFIDENCE, unit, Better::Lower)
    };
    Contestant {
        name: name.to_owned(),
        completion: quantity(Unit::Ns, &|score| score.completion_s * 1e9),
        q2c_sum: quantity(Unit::Ns, &|score| score.q2c_sum_s * 1e9),
        q2c_mean: quantity(Unit::Ns, &|score| score.q2c_mean_ns),
        q2c_p50: quantity(Unit::Ns, &|score| score.q2c_p50_ns),
        q2c_p99: quantity(Unit::Ns, &|score| score.q2c_p99_ns),
        q2c_p999: quantity(Unit::Ns, &|score| score.q2c_p999_ns),
        mean_depth: quantity(Unit::Count, &|score| score.mean_depth),
        overload: rounds.iter().map(|score| score.overload).fold(0.0, f64::max),
        rounds: rounds.to_vec(),
    }
}

fn caveats(names: [&str; 2], a: &[Score], b: &[Score]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for (name, scores) in names.into_iter().zip([a, b]) {
        let limited = scores.iter().filter(|s| s.verdict == Limit::ReplayerLimited).count();
        if limited > 0 {
            caveats.push(Caveat::new(
                "replayer_limited",
                name,
                format!(
                    "in {limited} of {} rounds the replayer was the limit, not the drive",
                    scores.len()
                ),
                Trace::MoreCpu,
            ));
        }
    }
    let counts = |scores: &[Score]| scores.iter().map(|s| s.requests).collect::<Vec<_>>();
    if counts(a) != counts(b) {
        caveats.push(Caveat::new(
            "unequal_requests",
            "comparison",
            "the drives did not get the same count of requests",
            Trace::CompleteReplays,
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(completion_s: f64, q2c_sum_s: f64) -> Score {
        Score {
            completion_s,
            q2c_sum_s,
            requests: 1000,
            q2c_mean_ns: q2c_sum_s * 1e6,
            q2c_p50_ns: q2c_sum_s * 1e6,
            q2c_p99_ns: q2c_sum_s * 2e6,
            q2c_p999_ns: q2c_sum_s * 3e6,
            mean_depth: q2c_sum_s / completion_s,
            overload: 0.0,
            verdict: Limit::Faithful,
        }
    }

    /// Six rounds that differ a little.
    fn rounds(completion_s: f64, q2c_sum_s: f64) -> Vec<Score> {
        let wobble = [1.0, 1.001, 0.999, 1.0005, 0.9995, 1.0];
        wobble.iter().map(|w| score(completion_s, q2c_sum_s * w)).collect()
    }

    fn timed(a: &[Score], b: &[Score]) -> CompareBody {
        compare(["A", "B"], a, b, Mode::Timed, Some(396.0))
    }

    #[test]
    fn a_light_load_is_decided_by_the_sum_of_q2c_and_says_so() {
        // The finding of the source: 396 s each, 1,029 and 1,481 s.
        let found = timed(&rounds(396.0, 1029.0), &rounds(396.0, 1481.0));
        assert_eq!((found.verdict, found.by), (Suits::A, Some(Metric::Q2cSum)));
        assert_eq!(found.completion_tells, Tells::TooLight);
        assert!(
            found.reason.starts_with("completion time does not show it: the load is too light"),
            "{}",
            found.reason
        );
        assert!(found.reason.contains("30.5"), "{}", found.reason);
    }

    #[test]
    fn a_heavy_load_is_told_by_both() {
        let found = timed(&rounds(711.0, 158_118.0), &rounds(704.0, 155_705.0));
        assert_eq!((found.verdict, found.completion_tells), (Suits::B, Tells::Yes));
        let swapped = timed(&rounds(704.0, 155_705.0), &rounds(711.0, 158_118.0));
        assert_eq!(swapped.verdict, Suits::A);
    }

    #[test]
    fn without_times_the_completion_decides() {
        let found =
            compare(["A", "B"], &rounds(54.0, 1259.0), &rounds(146.0, 1000.0), Mode::Afap(8), None);
        assert_eq!((found.verdict, found.by), (Suits::A, Some(Metric::Completion)));
        assert!(
            found.reason.contains("though its sum of Q2C is the greater one"),
            "{}",
            found.reason
        );
    }

    #[test]
    fn what_is_alike_is_equivalent_and_what_is_unsure_undecided() {
        let same = timed(&rounds(396.0, 1000.0), &rounds(396.0, 1000.5));
        assert_eq!((same.verdict, same.winner), (Suits::Equivalent, None));
        let few = timed(&rounds(396.0, 1029.0)[..5], &rounds(396.0, 1481.0)[..5]);
        assert_eq!(few.verdict, Suits::Undecided);
        assert!(few.reason.contains("at least 6"), "{}", few.reason);
        let wide: Vec<Score> =
            (0..6).map(|i| score(396.0, 1000.0 * (0.8 + 0.1 * f64::from(i)))).collect();
        assert_eq!(timed(&wide, &rounds(396.0, 1020.0)).verdict, Suits::Undecided);
    }

    #[test]
    fn alike_under_a_heavy_load_is_not_too_light() {
        let mut heavy = rounds(700.0, 150_000.0);
        heavy.iter_mut().for_each(|score| score.overload = 0.99);
        let found = timed(&heavy, &heavy);
        assert_eq!(found.completion_tells, Tells::Alike);
    }

    #[test]
    fn rounds_alternate() {
        let all: Vec<Side> = order(3).collect();
        assert_eq!(all, [Side::A, Side::B, Side::B, Side::A, Side::A, Side::B]);
    }
}
