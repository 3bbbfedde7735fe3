//! Writing in order until the drive slows down: where the single-bit part ends, and how fast each stretch is.

use block::{Bytes, Nanos, Op};
use serde::{Deserialize, Serialize};
use stats::{Cost, Penalty, pelt};
use workload::script::{Access, Script};

use crate::desk::{Desk, Halt};

/// Requests that are issued together, of 1 MiB each.
const TOGETHER: u64 = 8;
/// Size of a request.
const REQUEST: u64 = 1 << 20;
/// What is written between two looks at the clock.
pub const GROUP: u64 = TOGETHER * REQUEST;
/// What is left out at the beginning: cards keep it in another way.
const FIRST: u64 = 48 << 20;
/// Most bins that a series is cut into for the search.
const BINS_MAX: usize = 1024;
/// A drop is told when what comes after takes so many times as long.
pub const RATIO: f64 = 1.25;
/// Changes that are smaller than this in the logarithm of a bin's time are taken for noise.
const SCALE_MIN: f64 = 0.05;

/// Writing in order, group after group of 8 MiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Bytes of a group.
    pub group_bytes: u64,
    /// When each group was complete, since the first was issued.
    pub ends_ns: Vec<u64>,
    /// Degrees Celsius at the beginning and at the end, where the drive tells.
    pub celsius: Option<(f64, f64)>,
    /// Throttling events while it went on, where they are counted.
    pub throttled: Option<u64>,
}

/// A stretch of one speed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// Where it begins, counted from the first byte written.
    pub from_bytes: u64,
    /// Where it ends.
    pub to_bytes: u64,
    /// Its speed.
    pub bytes_per_s: f64,
}

/// The place at which a fast stretch ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drop {
    /// Where the lines of the two stretches meet: bytes that the drive had taken.
    pub at_bytes: f64,
    /// What the drive had taken before the fast stretch's line begins: what memory took at once.
    pub head_start_bytes: f64,
    /// Speed before, in bytes per second.
    pub fast: f64,
    /// Speed after.
    pub slow: f64,
    /// Greatest distance of the series from the two lines, in bytes.
    pub error_bytes: f64,
}

impl Fill {
    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.ends_ns.len() as u64 * self.group_bytes
    }

    /// Speed of the last so many groups, in bytes per second.
    pub fn pace_of_last(&self, groups: usize) -> Option<f64> {
        let first = self.ends_ns.len().checked_sub(groups)?;
        let span = self.time(self.ends_ns.len()) - self.time(first);
        Some(groups as f64 * self.group_bytes as f64 / span.max(1.0) * 1e9)
    }

    /// Bytes from the first on that were written at `bytes_per_s` at least, one slow group in eight forgiven.
    pub fn fast_bytes(&self, bytes_per_s: f64) -> u64 {
        let limit = self.group_bytes as f64 * 1e9 / bytes_per_s;
        let is_fast = |group: &usize| self.time(group + 1) - self.time(*group) <= limit;
        let mut fast = 0;
        for group in 0..self.ends_ns.len() {
            let window = group..(group + 8).min(self.ends_ns.len());
            if is_fast(&group) {
                fast = group as u64 + 1;
            } else if window.len() < 8 || window.filter(is_fast).count() < 7 {
                break;
            }
        }
        fast * self.group_bytes
    }

    fn time(&self, group: usize) -> f64 {
        if group == 0 { 0.0 } else { self.ends_ns[group - 1] as f64 }
    }

    /// Stretches of one speed, in order.
    pub fn plateaus(&self) -> Vec<Plateau> {
        let cut = self.cut();
        let plateau = |pair: &[usize]| {
            let bytes = (pair[1] - pair[0]) as u64 * self.group_bytes;
            Plateau {
                from_bytes: pair[0] as u64 * self.group_bytes,
                to_bytes: pair[1] as u64 * self.group_bytes,
                bytes_per_s: bytes as f64 / (self.time(pair[1]) - self.time(pair[0])).max(1.0)
                    * 1e9,
            }
        };
        cut.windows(2).map(plateau).collect()
    }

    /// The groups at which stretches begin, and the end of the last.
    fn cut(&self) -> Vec<usize> {
        let groups = self.ends_ns.len();
        let each = groups.div_ceil(BINS_MAX).max(1);
        let bin = |at: usize| {
            let (from, to) = (at * each, (at + 1) * each);
            ((self.time(to) - self.time(from)) / each as f64).max(1.0).ln()
        };
        let xs: Vec<f64> = (0..groups / each).map(bin).collect();
        let steps: Vec<f64> = xs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let noise = stats::median(&steps).unwrap_or(0.0) * 1.4826 / std::f64::consts::SQRT_2;
        let cost = Cost::MeanKnownScale(noise.max(SCALE_MIN));
        let Some(found) = pelt(&xs, cost, Penalty::Mbic, 1) else { return vec![0, groups] };
        let mut cut: Vec<usize> =
            found.segments.iter().map(|segment| segment.start * each).collect();
        cut.push(groups);
        cut
    }

    /// Speed over all, in bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes() as f64 / self.time(self.ends_ns.len()).max(1.0) * 1e9
    }

    /// The first drop for good after `from_bytes`: see [`RATIO`] and [`Fill::drop_of`].
    pub fn drop(&self, from_bytes: u64) -> Option<Drop> {
        self.drop_of(RATIO, from_bytes)
    }

    /// The first drop for good after `from_bytes`, by a given ratio. For good: what follows, for a quarter of what came
    /// before and eight groups at least, takes so many times as long as all that came since `from_bytes`.
    pub fn drop_of(&self, ratio: f64, from_bytes: u64) -> Option<Drop> {
        let cut = self.cut();
        let first = (from_bytes.div_ceil(self.group_bytes.max(1)) as usize).min(self.ends_ns.len());
        let inner = &cut[1..cut.len().max(2) - 1];
        inner.iter().filter(|&&at| at > first).find_map(|&at| self.lasting(ratio, first, at))
    }

    fn lasting(&self, ratio: f64, first: usize, at: usize) -> Option<Drop> {
        let groups = self.ends_ns.len();
        let last = at + ((at - first) / 4).max(8);
        if last > groups {
            return None;
        }
        let pace = |from: usize, to: usize| (self.time(to) - self.time(from)) / (to - from) as f64;
        let before = pace(first, at);
        // Not one slow stretch and then as before: each half of what follows is slow.
        let middle = at + (last - at) / 2;
        let after = pace(at, middle).min(pace(middle, last));
        (after >= ratio * before).then(|| self.lines(first, at, last))
    }

    /// Lines through both stretches, without the groups next to the change; where they meet.
    fn lines(&self, first: usize, at: usize, last: usize) -> Drop {
        // What is filled at once at the beginning is no part of the first line.
        let begin = first + (at - first) / 4;
        let end = (at - (at - begin) / 8).max(begin + 1).min(at);
        let next = (at + (last - at) / 4).min(last - 1).max(at);
        let group = self.group_bytes as f64;
        let line = |from: usize, to: usize| {
            let pace = (self.time(to) - self.time(from)) / ((to - from) as f64 * group);
            (pace, self.time(from) - pace * from as f64 * group)
        };
        let ((fast, early), (slow, late)) = (line(begin, end), line(next, last));
        let at_bytes = (early - late) / (slow - fast);
        let bytes_at = |time: f64, (pace, base): (f64, f64)| (time - base) / pace;
        let error = |groups: std::ops::Range<usize>, line| {
            groups
                .map(|g| (bytes_at(self.time(g), line) - g as f64 * group).abs())
                .fold(0.0, f64::max)
        };
        Drop {
            at_bytes,
            head_start_bytes: bytes_at(self.time(first), (fast, early)) - first as f64 * group,
            fast: 1e9 / fast,
            slow: 1e9 / slow,
            error_bytes: error(begin..end, (fast, early)).max(error(next..last, (slow, late))),
        }
    }
}

/// Where the next group of a fill goes.
#[derive(Clone, Debug)]
pub struct Cursor {
    next: u64,
    begin: u64,
    end: u64,
    /// Size of each request.
    request: u64,
}

impl Cursor {
    /// Near the beginning of the region, at a whole MiB, behind what may be kept for file allocation tables.
    pub fn new(desk: &Desk<'_>) -> Cursor {
        let region = desk.region();
        let skipped = FIRST.min(region.length.0 / 16);
        let begin = (region.offset.0 + skipped).next_multiple_of(REQUEST);
        let end = region.offset.0 + region.length.0;
        Cursor { next: begin, begin, end, request: REQUEST }
    }

    /// Where it began.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// With requests of another size, no larger than 1 MiB.
    #[must_use]
    pub fn by(self, request: u64) -> Cursor {
        Cursor { request: request.clamp(1, REQUEST), ..self }
    }

    fn group_bytes(&self) -> u64 {
        TOGETHER * self.request
    }

    /// Bytes that are still to be written for the first time.
    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.next) / self.group_bytes() * self.group_bytes()
    }

    /// From the beginning again, when there is no room for `bytes` any more.
    pub fn make_room(&mut self, bytes: u64) {
        if self.left() < bytes {
            self.next = self.begin;
        }
    }

    fn group(&mut self) -> Script {
        let accesses: Vec<Access> = (0..TOGETHER)
            .map(|n| Access {
                op: Op::Write,
                fua: false,
                offset: Bytes(self.next + n * self.request),
                len: Bytes(self.request),
            })
            .collect();
        self.next += self.group_bytes();
        let mut script = Script::new();
        script.group(Nanos::ZERO, &accesses);
        script
    }
}

/// Writes on in order until `done` says so, which is asked after every so many groups, or nothing is left.
///
/// # Errors
/// [`Halt`], limits too; what was written until then stands in `fill`.
pub fn write(
    desk: &mut Desk<'_>,
    cursor: &mut Cursor,
    part: &str,
    fill: &mut Fill,
    mut done: impl FnMut(&Fill) -> bool,
) -> Result<(), Halt> {
    fill.group_bytes = cursor.group_bytes();
    let before = desk.snapshot();
    let mut begun = None;
    let mut look = 16;
    let mut result = Ok(());
    while cursor.left() >= cursor.group_bytes() {
        let samples = match desk.run(part, &cursor.group()) {
            Ok(samples) => samples,
            Err(halt) => {
                cursor.next -= cursor.group_bytes();
                result = Err(halt);
                break;
            }
        };
        let first = samples.iter().map(|s| s.issued.0).min().unwrap_or(0);
        let begun = *begun.get_or_insert(first);
        let last = samples.iter().map(|s| s.completed.0).max().unwrap_or(0);
        fill.ends_ns.push(last.saturating_sub(begun));
        if fill.ends_ns.len() >= look {
            // Each look goes through the whole series: so the distance between two grows with it.
            look = fill.ends_ns.len() + (fill.ends_ns.len() / 16).max(4);
            if done(fill) {
                break;
            }
        }
    }
    let after = desk.snapshot();
    fill.celsius = before.temperature_c.zip(after.temperature_c);
    fill.throttled =
        before.throttle_events.zip(after.throttle_events).map(|(a, b)| b.saturating_sub(a));
    result
}
