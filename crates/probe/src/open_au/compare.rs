//! One table of times per write beside another with fewer erase blocks.

use super::table::{Order, Profile};

/// A line counts as slow from this excess on, as a share of the table before it.
const SLOW: f64 = 0.9;
/// The slowest line of a cliff has at least this excess.
const CLIFF: f64 = 1.5;
/// Lines with less than this excess are as fast as before.
const FAST: f64 = 0.5;
/// Greatest and least slope of log excess against log size that still count as constant. The lesser bound is wide:
/// the smaller the writes, the more of a block is left to be copied when it is closed, and small writes miss other
/// comforts too (source 000: the excess at 8 KiB is twice that at 64 KiB).
const CONSTANT: (f64, f64) = (-1.2, 0.45);
/// The next larger size has at least this part of the excess of a cliff's largest slow one...
const GOES_ON: f64 = 0.35;
/// ...and at most this part if these lines are not a cliff: writes of less than a page cost a page, and larger ones
/// nothing.
const STOPS: f64 = 0.15;
/// No page is larger than this, in bytes.
pub(super) const PAGES: f64 = 65536.0;
/// A slight cliff is distinguished from accidents by this many lines in a row, and this excess of the last: the more
/// lines, the less.
const LEVEL: [(usize, f64); 2] = [(4, 0.4), (5, 0.25)];
/// Their excesses lie within this ratio.
const EVEN: f64 = 1.6;
/// Three lines within this ratio and from this share on may be a cliff that is too slight to be sure of.
const HINT: (f64, f64) = (2.0, 0.04);
/// So may be the smallest writes by themselves, from this share on.
const LAST: f64 = 0.1;
/// A line's slowdown counts when that of the next smaller size is at least this share of it. A cliff is steepest for
/// the smallest writes; if only the largest are slow, as in the first lines of many tables, it is something else.
const LASTS: f64 = 0.35;
/// At random, no line of a fast table but one by itself is slower by this share.
const FAST_RANDOM: f64 = 0.2;

/// State of one table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// This number is open without harm.
    Fast,
    /// No harm is clear, but there is an excess of this many nanoseconds, which may be the cost of a limit that is
    /// passed now and then. A comparison with the cost of a merge decides.
    Slight(f64),
    /// They are too many.
    Cliff(Cliff),
    /// Neither is clear.
    Unclear,
}

/// How clear a cliff is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cliff {
    /// Greatest excess, as a share of the time before.
    pub(super) share: f64,
    /// The excess of that line, in nanoseconds.
    pub(super) ns: f64,
    /// Lines that show it.
    pub(super) lines: usize,
}

/// Size, excess in nanoseconds, and excess as a share of the time before; the largest size first.
type Line = (f64, f64, f64);

/// Looks for an excess over `fast` that does not depend on the size.
pub(super) fn compare(profile: &Profile, fast: &Profile, order: Order) -> State {
    let lines: Vec<Line> = profile
        .beside(fast)
        .into_iter()
        .map(|(len, ns, before)| (len as f64, ns - before, ns / before - 1.0))
        .collect();
    let seen = Seen::of(&lines);
    if let Some(cliff) = seen.cliff {
        return State::Cliff(cliff);
    }
    // At random an excess is slight whether a limit is passed now and then or always, so it gives no number.
    for (count, least) in LEVEL.into_iter().filter(|_| order == Order::Linear) {
        if let Some(run) = lines.windows(count).find(|run| level(run, EVEN, least)) {
            let (_, ns, share) = run[count - 1];
            return State::Cliff(Cliff { share, ns, lines: count });
        }
    }
    let slower = |least: f64| {
        let lasts = |at: usize| lines.get(at + 1).is_none_or(|next| next.1 >= LASTS * lines[at].1);
        (0..lines.len()).filter(|at| lines[*at].2 >= least && lasts(*at)).count()
    };
    let alike = match order {
        Order::Linear => slower(FAST) <= 1 + seen.pages || proportional(&lines),
        Order::Random => slower(FAST_RANDOM) <= 1 + seen.pages,
    };
    match slight(&lines[..lines.len() - seen.pages], order) {
        _ if seen.doubtful || !alike => State::Unclear,
        Some(ns) => State::Slight(ns),
        None => State::Fast,
    }
}

/// Classification of the runs of slow lines.
#[derive(Default)]
struct Seen {
    cliff: Option<Cliff>,
    /// One may be a cliff or not.
    doubtful: bool,
    /// Lines at the end that are writes of less than a page.
    pages: usize,
}

impl Seen {
    fn of(lines: &[Line]) -> Seen {
        let mut seen = Seen::default();
        for run in slow_runs(lines) {
            let slow = &lines[run.clone()];
            let Some((_, ns, share)) = slow.iter().copied().max_by(|a, b| a.2.total_cmp(&b.2))
            else {
                continue;
            };
            if slow.len() < 2 || share < CLIFF {
                continue;
            }
            let larger = run.start.checked_sub(1).map(|at| lines[at].1 / slow[0].1);
            // The largest writes may be whole erase blocks, which cost no merge: what stops there says nothing.
            let (inner, last) = (run.start > 1, run.end == lines.len());
            match larger {
                Some(part) if part < STOPS && inner && last && slow[0].0 <= PAGES => {
                    seen.pages = run.len();
                }
                Some(part) if part < STOPS && inner => seen.doubtful = true,
                Some(part) if part < GOES_ON && (inner || run.len() < 3) => seen.doubtful = true,
                None if run.len() < 3 => seen.doubtful = true,
                _ => seen.cliff = Some(Cliff { share, ns, lines: run.len() }),
            }
        }
        seen
    }
}

/// The excess that may be that of a slight cliff, in nanoseconds. Planes one by one are not a cliff.
fn slight(lines: &[Line], order: Order) -> Option<f64> {
    if order == Order::Linear && proportional(lines) && lines.len() > 2 {
        return None;
    }
    let level = lines.windows(3).filter(|run| level(run, HINT.0, HINT.1)).map(|run| run[1].1);
    let last = lines.last().filter(|line| line.2 >= LAST).map(|line| line.1);
    level.chain(last).reduce(f64::max)
}

/// Lines next to each other that are slow by nearly the same time.
fn slow_runs(lines: &[Line]) -> Vec<std::ops::Range<usize>> {
    let constant = |before: &Line, line: &Line| {
        let slope = (before.1 / line.1).ln() / (before.0 / line.0).ln();
        before.2 >= SLOW && line.2 >= SLOW && (CONSTANT.0..=CONSTANT.1).contains(&slope)
    };
    let mut runs = Vec::new();
    let mut from = 0;
    for at in 1..=lines.len() {
        if at == lines.len() || !constant(&lines[at - 1], &lines[at]) {
            runs.push(from..at);
            from = at;
        }
    }
    runs
}

/// True when the excesses of a run lie within `ratio` and make up a growing share, from a tenth of `least` to that.
fn level(run: &[Line], ratio: f64, least: f64) -> bool {
    let (low, high) = run
        .iter()
        .fold((f64::MAX, 0.0_f64), |(low, high), line| (low.min(line.1), high.max(line.1)));
    let shares = run.iter().all(|line| line.2 >= least / 10.0);
    let grows = run.windows(2).all(|pair| pair[1].2 > pair[0].2);
    shares && grows && run[run.len() - 1].2 >= least && high <= ratio * low
}

/// True when all lines are slower by about the same share, and by no more than planes in turn explain.
fn proportional(lines: &[Line]) -> bool {
    let shares: Vec<f64> = lines.iter().map(|line| line.2).collect();
    let (least, most) = (stats::quantile(&shares, 0.2), stats::quantile(&shares, 0.8));
    least.zip(most).is_some_and(|(least, most)| most <= 1.3 && most <= 2.0 * least.max(0.0) + 0.1)
}
