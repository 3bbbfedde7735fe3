//! Writes that come fast at first and slower for good: the burst, what is sustained, and how much was written until then.
//!
//! A drive takes what comes first into memory, into cells that it writes with one bit, or into blocks that are empty.
//! When those are used up its rate falls, within a run or between two.

mod writes;

use block::{Bytes, DriveKind, Nanos, Op};
use stats::{Better, Knee, Progress, Quantity, Unit, Verdict, median_quantity};

use crate::body::CONFIDENCE;
use crate::body::Proofs;
use crate::execute::Executed;
use crate::proofs::Case;
use crate::run::RunFigures;

pub use writes::{Safety, Shown, Writes};

/// A fall counts when what comes after takes at least this many times as long.
const RATIO: f64 = 1.25;
/// Fewer I/Os than this in all windows together make no series.
const IOS_MIN: u64 = 256;
/// I/Os of a group, at least: fewer, and their count alone makes a rate jump.
const GROUP_IOS: u64 = 8;
/// Batches whose median is a stretch's rate.
const BATCHES: usize = 12;
/// On this part of a disk the outermost and the innermost track differ by some percent.
const ZONES: u64 = 16;
/// Groups of all windows, at most about.
const GROUPS_MAX: u64 = 1024;
/// The rate at a run's end is that of its last 1/`END_PART`, or of its last `GROUP_IOS` blocks where that has fewer.
const END_PART: usize = 16;
/// Later runs begin with as much of a burst when they have this part of what the first one had.
const AGAIN_MIN: f64 = 0.8;
/// Runs end slowly from one on when of it and those that follow no more than this part ends fast.
const FAST_PART: usize = 4;

/// A rotating drive has written to its platters what exceeds its cache by this factor.
const CACHES: u64 = 2;

/// Finds the burst and the sustained rate of a test that only writes.
pub(crate) fn find(
    case: &Case<'_>,
    proofs: &Proofs,
    executed: &Executed,
    pause: Nanos,
) -> Option<Writes> {
    let waited =
        case.runs().first().and_then(|run| run.settled).map_or(Nanos::ZERO, |s| s.waited_ns);
    let found = course(case, proofs, executed)?;
    Some(Writes {
        shown: shown(case, proofs, &found),
        written_bytes: case.runs().iter().map(|run| run.totals.written).sum(),
        idle_ns: pause + waited,
        ..found
    })
}

/// The rate that the test's numbers are. What a drive sustains of writes in random places shows only when it was filled and
/// written over and over, and shingled disks are not an exception.
fn shown(case: &Case<'_>, proofs: &Proofs, found: &Writes) -> Option<Shown> {
    let burst = found.burst_mb_s?;
    let is_random = case.phase.address.is_random() || !case.phase.blocks.is_empty();
    let Some(sustained) = found.sustained_mb_s else {
        return Some(if is_on_platters(case) && !is_random {
            Shown::Sustained
        } else {
            Shown::Burst
        });
    };
    let median = stats::median(&case.rates()[case.series.in_cache()..])?;
    let is_after = median < (burst.value * sustained.value).sqrt();
    match (is_after, is_random || proofs.steady.verdict == Verdict::Refuted) {
        (false, _) => Some(Shown::Burst),
        (true, false) => Some(Shown::Sustained),
        (true, true) => None,
    }
}

/// True when a drive that rotates wrote more in each run than its cache holds.
fn is_on_platters(case: &Case<'_>) -> bool {
    let written = case.runs().iter().map(|run| run.totals.written).min();
    let exceeds = |cache: Bytes| written.is_some_and(|least| least.0 >= CACHES * cache.0);
    case.info.rotational == Some(true) && case.info.cache_bytes.is_some_and(exceeds)
}

/// Burst, fall and what came after it.
fn course(case: &Case<'_>, proofs: &Proofs, executed: &Executed) -> Option<Writes> {
    let ops = &case.phase.ops;
    if !ops.iter().all(|share| share.op == Op::Write) {
        return None;
    }
    let is_durable = ops.iter().all(|share| share.fua);
    let safety = if is_durable { Safety::Durable } else { Safety::Cached };
    let nothing = Writes {
        safety,
        burst_mb_s: None,
        sustained_mb_s: None,
        until_knee_bytes: None,
        shown: None,
        written_bytes: Bytes::ZERO,
        idle_ns: Nanos::ZERO,
        reason: None,
    };
    let none = |reason: &str| Some(Writes { reason: Some(reason.to_owned()), ..nothing.clone() });
    if !proofs.hold() {
        return none("the number was withdrawn");
    }
    if is_over_zones(case) {
        return none(
            "the zones of a disk that turns differ in rate over so large a part: take a smaller --span",
        );
    }
    let windows = windows(case.runs(), case.phase.block);
    let Some(line) = Line::new(&windows, case.phase.block) else {
        return none("too few I/Os were finished for a series: take a longer --duration");
    };
    let Some(fall) = line.last_fall() else {
        let all = whole(executed.written_until(case.runs().last()));
        return Some(Writes {
            burst_mb_s: line.rate(|_| true),
            reason: Some(format!(
                "not reached within {all}: the rate did not fall for good in any window; what a warm-up uses up is not seen (--warm-up 0s)"
            )),
            ..nothing
        });
    };
    if proofs.undisturbed.verdict == Verdict::Refuted {
        return none("the rate fell, perhaps because other processes used the drive");
    }
    if is_beyond(&case.rates(), fall.burst) {
        return none(
            "the rate fell, and was higher than before it in most runs: they differ, and there is no burst",
        );
    }
    Some(after(nothing, (&line, &fall), &windows, executed))
}

/// True when the median of the runs lies above all that `burst` may be: the beginning is not a burst then.
fn is_beyond(rates: &[f64], burst: Quantity) -> bool {
    let most = burst.high.unwrap_or(burst.value).max(burst.value);
    stats::median(rates).is_some_and(|median| median > most)
}

/// True when runs begin so far from each other on a disk that turns that their places alone make rates differ. A file lies
/// in one place, as far as is known.
fn is_over_zones(case: &Case<'_>) -> bool {
    let info = case.info;
    let is_large = case.region.length.0 > info.capacity_bytes.0 / ZONES;
    info.rotational == Some(true) && info.kind != DriveKind::File && is_large
}

/// In whole GiB or MiB, as far as it matters.
fn whole(bytes: Bytes) -> Bytes {
    let unit = if bytes >= Bytes::gib(10) { Bytes::gib(1) } else { Bytes::mib(1) };
    Bytes(bytes.0 / unit.0 * unit.0)
}

/// `nothing`, with the rates on both sides of `fall` and its place.
fn after(
    nothing: Writes,
    (line, fall): (&Line, &Fall),
    windows: &[Window<'_>],
    executed: &Executed,
) -> Writes {
    let knee = &fall.knee;
    let error = knee.error_bytes + line.group_bytes as f64;
    let before = executed.made_room_for(windows, knee.at_bytes.max(0.0) as u64);
    let place = |at: f64, side: Side| {
        Bytes(executed.written_at(windows, at.max(0.0) as u64, side).0.saturating_sub(before))
    };
    Writes {
        burst_mb_s: Some(fall.burst),
        sustained_mb_s: Some(fall.sustained),
        until_knee_bytes: Some(Quantity {
            value: place(knee.at_bytes, Side::Before).0 as f64,
            low: Some(place(knee.at_bytes - error, Side::Before).0 as f64),
            high: Some(place(knee.at_bytes + error, Side::After).0 as f64),
            confidence: CONFIDENCE,
            unit: Unit::Bytes,
            n: 1,
            n_effective: 1.0,
            better: Better::Higher,
        }),
        ..nothing
    }
}

/// Run that a border between two runs is counted with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

impl Executed {
    /// Bytes that the runs up to this one wrote together, those that are not counted among them.
    fn written_until(&self, run: Option<&RunFigures>) -> Bytes {
        let Some(run) = run else { return Bytes::ZERO };
        let until = self.written.iter().filter(|(position, _)| *position <= run.position);
        until.map(|(_, bytes)| *bytes).sum()
    }

    /// Bytes that all runs had written when `windows` had written `at`: their warm-ups and the runs of other tests
    /// come on top.
    fn written_at(&self, windows: &[Window<'_>], at: u64, side: Side) -> Bytes {
        let Some((index, within)) = place(windows, at, side) else {
            return self.written_until(windows.last().map(|window| window.run));
        };
        let window = &windows[index];
        let all = self.written_until(Some(window.run)).0;
        Bytes(all.saturating_sub(window.run.run.bytes) + window.skipped() + within)
    }
}

impl Executed {
    /// Bytes that a run wrote, its warm-up included.
    fn written_by(&self, run: &RunFigures) -> u64 {
        let own = self.written.iter().filter(|(position, _)| *position == run.position);
        own.map(|(_, bytes)| bytes.0).sum()
    }

    /// Bytes that had been written before the run of the knee at `at`, and that the drive had made room for again: those of a
    /// memory that is empty again after each rest, so that each later run begins with as much of a burst; otherwise none.
    fn made_room_for(&self, windows: &[Window<'_>], at: u64) -> u64 {
        let Some((index, within)) = place(windows, at, Side::Before) else { return 0 };
        let window = &windows[index];
        let warm_up = |run: &RunFigures| self.written_by(run).saturating_sub(run.run.bytes);
        let here = (warm_up(window.run) + window.skipped() + within) as f64;
        let again = |later: &Window<'_>| match later.skipped() {
            0 => 0.0,
            head => (warm_up(later.run) + head) as f64,
        };
        let again: Vec<f64> = windows[index + 1..].iter().map(again).collect();
        let is_again = stats::median(&again).is_some_and(|again| again >= AGAIN_MIN * here);
        let all = self.written_until(Some(window.run)).0;
        if is_again { all.saturating_sub(self.written_by(window.run)) } else { 0 }
    }
}

/// Index of the window in which the total of `windows` reaches `at` bytes, and the bytes within it; `None` beyond the last.
/// On the border of two windows, `side` selects one.
fn place(windows: &[Window<'_>], at: u64, side: Side) -> Option<(usize, u64)> {
    let mut left = at;
    for (index, window) in windows.iter().enumerate() {
        let bytes: u64 = window.slices().iter().sum();
        if left < bytes || (left == bytes && side == Side::Before) {
            return Some((index, left));
        }
        left -= bytes;
    }
    None
}

/// Part of a run's window that is examined.
struct Window<'a> {
    run: &'a RunFigures,
    /// Slices at its beginning that are left out.
    head: usize,
}

impl Window<'_> {
    /// Bytes of each slice that is looked at.
    fn slices(&self) -> &[u64] {
        self.run.series_bytes.get(self.head..).unwrap_or_default()
    }

    /// Bytes of those that are not.
    fn skipped(&self) -> u64 {
        self.run.series_bytes.iter().take(self.head).sum()
    }
}

/// Bytes per slice at the end of a run.
fn end_rate(run: &RunFigures, block: Bytes) -> f64 {
    let slices = &run.series_bytes;
    let (mut count, mut bytes) = (0, 0);
    for slice in slices.iter().rev() {
        count += 1;
        bytes += slice;
        if count >= slices.len() / END_PART && bytes >= GROUP_IOS * block.0 {
            break;
        }
    }
    bytes as f64 / (count as f64).max(1.0)
}

/// The windows of the runs, in order. A drive that rested between two runs, or received a flush, takes the first bytes of
/// the next one fast again. That does not belong to what it sustains: once runs end slowly, those that follow are examined
/// from where they are slow. The first of them may have begun in the burst, but no faster than the one before it ended.
fn windows(runs: &[RunFigures], block: Bytes) -> Vec<Window<'_>> {
    let ends: Vec<f64> = runs.iter().map(|run| end_rate(run, block)).collect();
    let slow = stats::median(&ends[ends.len() / 2..]).unwrap_or(0.0) * RATIO;
    let is_settled = |from: &usize| {
        let fast = ends[*from..].iter().filter(|end| **end > slow).count();
        ends[*from] <= slow && fast * FAST_PART <= ends.len() - from
    };
    let first_slow = (0..ends.len()).find(is_settled).unwrap_or(ends.len());
    let head = |(index, run): (usize, &RunFigures)| {
        let most = match index.checked_sub(1) {
            Some(before) if index == first_slow => slow.max(RATIO * ends[before]),
            Some(_) if index > first_slow => slow,
            _ => f64::INFINITY,
        };
        run.series_bytes.iter().take_while(|slice| **slice as f64 > most).count()
    };
    let heads = runs.iter().enumerate().map(head);
    runs.iter().zip(heads).map(|(run, head)| Window { run, head }).collect()
}

/// A fall for good, and the rates on both sides of it.
struct Fall {
    knee: Knee,
    burst: Quantity,
    sustained: Quantity,
}

/// The windows of a test's runs, one after the other, in groups of equal bytes.
struct Line {
    group_bytes: u64,
    ends_ns: Vec<u64>,
}

impl Line {
    /// `None` of too few I/Os.
    fn new(windows: &[Window<'_>], block: Bytes) -> Option<Line> {
        let bytes: u64 = windows.iter().flat_map(Window::slices).sum();
        if bytes / block.0.max(1) < IOS_MIN {
            return None;
        }
        let group_bytes = (GROUP_IOS * block.0).max(bytes / GROUPS_MAX);
        let (mut ends_ns, mut done, mut now) = (Vec::new(), 0_u64, 0.0_f64);
        for window in windows {
            // Slices lie wholly inside the window, whose rest is shorter than one.
            let run = window.run;
            let span = run.run.duration_ns as f64 / run.series_bytes.len().max(1) as f64;
            for &bytes in window.slices() {
                let mut next = (ends_ns.len() as u64 + 1) * group_bytes;
                while next <= done + bytes {
                    let share = (next - done) as f64 / bytes as f64;
                    ends_ns.push((now + share * span) as u64);
                    next += group_bytes;
                }
                done += bytes;
                now += span;
            }
        }
        Some(Line { group_bytes, ends_ns })
    }

    fn progress(&self) -> Progress<'_> {
        Progress { group_bytes: self.group_bytes, ends_ns: &self.ends_ns }
    }

    /// The last fall for good: memory is used up first, and cells after it.
    fn last_fall(&self) -> Option<Fall> {
        let (mut from, mut last) = (0, None);
        while let Some(knee) = self.progress().knee(RATIO, from) {
            last = self.fall(from, knee).or(last);
            // The groups next to a knee hold some of both stretches.
            from = from.max(knee.at_bytes.max(0.0) as u64) + 2 * self.group_bytes;
        }
        last
    }

    /// The fall at `knee`, of what came after `from`; none where the stretches on its two sides do not differ by as much.
    fn fall(&self, from: u64, knee: Knee) -> Option<Fall> {
        let begin = (from / self.group_bytes) as usize;
        let end = (knee.at_bytes / self.group_bytes as f64) as usize;
        let end = end.saturating_sub(1).max(begin + 1);
        let middle = (knee.fast * knee.slow).sqrt();
        // A memory that is empty again after a pause is fast again; its groups are not part of the sustained rate.
        let is_slow = |group: usize| group > end + 2 && self.bytes_per_s(group) < middle;
        let burst = self.rate(|group| (begin..end).contains(&group))?;
        let sustained = self.rate(is_slow)?;
        (burst.value >= RATIO * sustained.value).then_some(Fall { knee, burst, sustained })
    }

    fn bytes_per_s(&self, group: usize) -> f64 {
        let progress = self.progress();
        let span = progress.time(group + 1) - progress.time(group);
        self.group_bytes as f64 / span.max(1.0) * 1e9
    }

    /// Median rate of batches of the groups that are meant: single groups of a drive that writes in gulps have any rate.
    fn rate(&self, is_meant: impl Fn(usize) -> bool) -> Option<Quantity> {
        let meant: Vec<usize> = (0..self.ends_ns.len()).filter(|group| is_meant(*group)).collect();
        let rate = |batch: &[usize]| {
            let seconds = batch.iter().map(|group| 1.0 / self.bytes_per_s(*group)).sum::<f64>();
            batch.len() as f64 / seconds / 1e6
        };
        let rates: Vec<f64> =
            meant.chunks(meant.len().div_ceil(BATCHES).max(1)).map(rate).collect();
        median_quantity(&rates, CONFIDENCE, Unit::MbPerS, Better::Higher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a fall within one run is reported as a burst though most runs are faster than what came before it.
    #[test]
    fn what_most_runs_exceed_is_no_burst() {
        let burst = |low, high| Quantity {
            value: 2200.0,
            low,
            high,
            confidence: CONFIDENCE,
            unit: Unit::MbPerS,
            n: 12,
            n_effective: 12.0,
            better: Better::Higher,
        };
        let known = burst(Some(2000.0), Some(2400.0));
        assert!(is_beyond(&[1709.0, 3318.0, 4266.0], known));
        assert!(!is_beyond(&[1709.0, 2300.0, 4266.0], known), "within what the burst may be");
        assert!(is_beyond(&[2300.0], burst(None, None)));
        assert!(!is_beyond(&[1534.0, 1600.0, 2900.0], known) && !is_beyond(&[], known));
    }
}
