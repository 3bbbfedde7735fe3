//! Writing in order until the drive slows down: where the single-bit part ends, and how fast each stretch is.

use block::{Bytes, Nanos, Op};
use serde::{Deserialize, Serialize};
pub use stats::Knee as Drop;
use stats::Progress;
use workload::script::{Access, Script};

use crate::desk::{Desk, Halt};

/// Requests that are issued together, of 1 MiB each.
const TOGETHER: u64 = 8;
/// Size of a request.
const REQUEST: u64 = 1 << 20;
/// Bytes written between two looks at the clock.
pub const GROUP: u64 = TOGETHER * REQUEST;
/// Bytes left out at the beginning, which cards keep in another way.
const FIRST: u64 = 48 << 20;
/// A drop is reported when the writes after it take at least this many times as long.
pub const RATIO: f64 = 1.25;

/// Writing in order, group after group of 8 MiB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Bytes of a group.
    pub group_bytes: u64,
    /// When each group was complete, since the first was issued.
    pub ends_ns: Vec<u64>,
    /// Degrees Celsius at the beginning and at the end, if the drive reports them.
    pub celsius: Option<(f64, f64)>,
    /// Throttling events while it went on, where they are counted.
    pub throttled: Option<u64>,
}

/// A stretch of one speed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// Its start, counted from the first byte written.
    pub from_bytes: u64,
    /// Its end.
    pub to_bytes: u64,
    /// Its speed.
    pub bytes_per_s: f64,
}

impl Fill {
    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.ends_ns.len() as u64 * self.group_bytes
    }

    /// Speed of the last `groups` groups, in bytes per second.
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
        self.progress().time(group)
    }

    /// Stretches of one speed, in order.
    pub fn plateaus(&self) -> Vec<Plateau> {
        let cut = self.progress().cut();
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

    /// Speed over all, in bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes() as f64 / self.time(self.ends_ns.len()).max(1.0) * 1e9
    }

    /// The first drop for good after `from_bytes`: see [`RATIO`] and [`Fill::drop_of`].
    pub fn drop(&self, from_bytes: u64) -> Option<Drop> {
        self.drop_of(RATIO, from_bytes)
    }

    /// The first drop for good after `from_bytes`, by a given ratio: see [`Progress::knee`].
    pub fn drop_of(&self, ratio: f64, from_bytes: u64) -> Option<Drop> {
        self.progress().knee(ratio, from_bytes)
    }

    fn progress(&self) -> Progress<'_> {
        Progress { group_bytes: self.group_bytes, ends_ns: &self.ends_ns }
    }
}

/// Position of the next group of a fill.
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

    /// Offset at which it began.
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

/// Writes on in order until `done`, which is called now and then, returns true, or nothing is left.
///
/// # Errors
/// [`Halt`], limits too; `fill` holds what was written until then.
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
