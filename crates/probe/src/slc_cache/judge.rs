//! Judgement of the evidence for a cache of single-bit cells.

use block::Bytes;

use super::evidence::{Evidence, Recovery};
use super::fill::{Drop, GROUP, RATIO};
use super::ring;
use crate::desk::Desk;
use crate::known::Known;
use crate::{Finding, Name};

/// Below this a fast stretch may be memory, and above it is not: no drive has more for writes.
pub const MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Probability that a drive without a cache behaves so that one is found, or that the size lies outside its range; see
/// the method's page for how it was counted.
const CONFIDENCE: f64 = 0.98;
/// Share of the fast stretch that must come back in a pause: else it was no cache that is emptied while the host is
/// quiet. A smaller share will do where it grows with the pause.
const RECOVERED: f64 = 0.5;
const RECOVERED_GROWING: f64 = 0.1;
/// Least growth from one pause to the next.
const GROWING: f64 = 1.5;
/// Above this share of its link's rate a drive is limited by the link, and what lies behind does not show.
const LINK_SHARE: f64 = 0.93;
/// With a smaller change than this nothing changed at all.
const STEADY_RATIO: f64 = 1.10;
/// Memory of drives for writes, where it was not measured.
const BUFFER_BYTES_MAX: f64 = (64 << 20) as f64;
/// No cache is made that holds less than this share of what the drive holds; a shorter head start is memory's.
const CACHE_SHARE_MIN: f64 = 0.01;
/// Share of the size that one block of each die is at most, and so much sooner a drive may begin to make room.
const BLOCKS: f64 = 0.05;
/// The end of a stretch of this size can be measured to within a few percent.
const MEASURABLE: f64 = (32 * GROUP) as f64;
/// Above this temperature drives slow down of themselves.
const HOT_CELSIUS: f64 = 70.0;

/// Facts about the drive beside the evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Size of the drive.
    pub capacity_bytes: u64,
    /// Rate of the link to the host, in bytes per second, if the drive reports it.
    pub link_bytes_per_s: Option<u64>,
    /// True for a disk that turns.
    pub rotational: bool,
    /// Page of one plane, if known.
    pub page_bytes: Option<u64>,
    /// Least and greatest size of the write buffer, if known.
    pub write_buffer: Option<(u64, u64)>,
}

impl Facts {
    pub(super) fn of(desk: &Desk<'_>, known: &Known) -> Facts {
        let range = |value| match known.finding(Name::WriteBuffer) {
            Some(finding) => (finding.low.unwrap_or(value), finding.high.unwrap_or(value)),
            None => (value, value),
        };
        Facts {
            capacity_bytes: desk.info().capacity_bytes.0,
            link_bytes_per_s: desk.info().link_bytes_per_s,
            rotational: desk.info().rotational == Some(true),
            page_bytes: known.value(Name::Page),
            write_buffer: known.value(Name::WriteBuffer).map(range),
        }
    }
}

/// Half of the time in which memory of the first drop's size would be emptied at the speed of the last, in seconds.
pub(super) fn half_life(drops: &[Drop]) -> f64 {
    let size = drops.first().map_or(0.0, |drop| drop.at_bytes * (1.0 - drop.slow / drop.fast));
    size / drops.last().map_or(1.0, |drop| drop.slow) / 2.0
}

/// True when memory of common size could have taken what was fast: emptied nearly as fast as it is filled, it takes
/// many times its size.
pub(super) fn may_be_memory(drop: &Drop) -> bool {
    let most = 1.5 * BUFFER_BYTES_MAX * drop.fast / (drop.fast - drop.slow);
    drop.at_bytes <= most.max(MEMORY_BYTES_MAX as f64)
}

/// Infers the size of the cache from the evidence.
pub fn infer(evidence: &Evidence, facts: &Facts) -> Finding {
    if facts.rotational {
        let reason = "it turns: there are no cells to be written with one bit";
        return Finding::none(Name::SlcCache, 0.999, reason);
    }
    if let Some(finding) = ring::infer(&evidence.rings, facts.page_bytes) {
        return finding;
    }
    if evidence.fill.throttled.is_some_and(|events| events > 0) {
        return unknown("the drive throttled itself for heat while it was written");
    }
    let of = |at: usize| evidence.drops.get(at).map(|drop| (drop, stretch(drop, evidence, facts)));
    let candidate = match of(0) {
        Some((_, Stretch::Memory)) => of(1),
        first => first,
    };
    match candidate {
        Some((drop, Stretch::Cells)) => dropped(drop, evidence, facts),
        Some((drop, _)) => unknown(format!(
            "the first {} are fast, and whether memory takes them or cells with one bit was not seen",
            whole_mib(drop.at_bytes)
        )),
        None => no_drop(evidence, facts),
    }
}

fn unknown(reason: impl Into<String>) -> Finding {
    Finding::unknown(Name::SlcCache, reason)
}

/// Kind of storage behind the first fast stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stretch {
    /// Memory, whose size is known.
    Memory,
    /// Cells.
    Cells,
    /// One or the other.
    Either,
}

/// Memory is emptied at the slow speed from the first moment of a pause on; cells are later, or at another speed.
fn stretch(drop: &Drop, evidence: &Evidence, facts: &Facts) -> Stretch {
    let head_start = facts.capacity_bytes as f64 * CACHE_SHARE_MIN;
    if drop.at_bytes < head_start.min(MEASURABLE) {
        return Stretch::Memory;
    }
    if let Some((_, high)) = facts.write_buffer {
        let filled = high as f64 * drop.fast / (drop.fast - drop.slow);
        return match drop.at_bytes {
            at if at < 1.5 * filled + GROUP as f64 => Stretch::Memory,
            at if at < 3.0 * filled => Stretch::Either,
            _ => Stretch::Cells,
        };
    }
    if !may_be_memory(drop) {
        return Stretch::Cells;
    }
    let came_back = evidence.recovery.first().is_none_or(|back| {
        let slow = evidence.drops.last().map_or(drop.slow, |last| last.slow);
        let emptied = slow * back.idle_ns as f64 / 1e9;
        back.fast_bytes as f64 > 0.5 * emptied
    });
    if came_back { Stretch::Either } else { Stretch::Cells }
}

fn no_drop(evidence: &Evidence, facts: &Facts) -> Finding {
    let written = evidence.fill.bytes();
    if written == 0 && !evidence.rings.is_empty() && evidence.limit.is_none() {
        return unknown("nothing was written in order");
    }
    if let (0, Some(limit)) = (written, &evidence.limit) {
        return unknown(format!("nothing was written in order: {limit}"));
    }
    let rest = match &evidence.limit {
        Some(limit) => format!(", and then {limit}"),
        None => String::new(),
    };
    if written * 2 < facts.capacity_bytes.saturating_sub(facts.capacity_bytes / 16) {
        return unknown(format!(
            "{} were written in order at one speed{rest}: if there is a cache, it holds at least that many",
            Bytes(written).human()
        ));
    }
    let speed = evidence.fill.bytes_per_s();
    if facts.link_bytes_per_s.is_some_and(|link| speed > LINK_SHARE * link as f64) {
        return unknown(
            "writes come as fast as the link carries them: how fast the cells are does not show",
        );
    }
    if let Some(drop) = evidence.fill.drop_of(STEADY_RATIO, GROUP) {
        return unknown(format!(
            "after {} the drive is {:.0}% slower, which is too little to show why",
            whole_mib(drop.at_bytes),
            100.0 * (1.0 - drop.slow / drop.fast)
        ));
    }
    Finding::none(
        Name::SlcCache,
        CONFIDENCE,
        format!(
            "{} were written in order without becoming slower for good, more than cells of several bits could hold \
             with one",
            Bytes(written).human()
        ),
    )
}

fn dropped(drop: &Drop, evidence: &Evidence, facts: &Facts) -> Finding {
    let (low, high) = size(drop, facts);
    let seen = format!(
        "after {} the drive is {:.1} times slower",
        whole_mib(drop.at_bytes),
        drop.fast / drop.slow
    );
    if evidence.fill.celsius.is_some_and(|(_, end)| end >= HOT_CELSIUS) {
        return unknown(format!("{seen}, and so hot that it may have slowed down for that"));
    }
    if drop.fast < RATIO * drop.slow {
        return unknown(format!("{seen}, which is too little to show why"));
    }
    if drop.at_bytes < MEASURABLE {
        return unknown(format!("{seen}, which is too little to be measured"));
    }
    let back = evidence.recovery.iter().max_by_key(|back| back.fast_bytes);
    let Some(back) = back.filter(|_| long_pauses(&evidence.recovery)) else {
        let limit = evidence.limit.as_deref().unwrap_or("no pause was tried");
        return unknown(format!(
            "{seen}, and whether a pause brings the speed back was not seen: {limit}"
        ));
    };
    if !is_emptied(drop, &evidence.recovery) {
        return unknown(format!(
            "{seen}, and no pause brought the speed back as it does where a cache is emptied: perhaps the drive has \
             to make room"
        ));
    }
    let value = (low + high) / 2.0;
    let reason = format!(
        "{seen}, and after a pause of {} the first {} were fast again",
        block::Nanos(back.idle_ns).human(),
        whole_mib(back.fast_bytes as f64)
    );
    Finding::found(Name::SlcCache, value as u64, CONFIDENCE, reason)
        .between(low as u64, high as u64)
}

/// True when what came back after pauses is what a cache gives back.
fn is_emptied(drop: &Drop, recovery: &[Recovery]) -> bool {
    let mut long: Vec<Recovery> = recovery.iter().filter(|back| is_long(back)).copied().collect();
    long.sort_by_key(|back| back.idle_ns);
    let share = |back: &Recovery| back.fast_bytes as f64 / drop.at_bytes;
    let grows = match long.as_slice() {
        [.., before, last] => {
            last.fast_bytes as f64 >= (GROWING * before.fast_bytes as f64).max(MEASURABLE / 2.0)
        }
        _ => false,
    };
    // A part that stays fast to the end was not a cache's.
    let ended = long.iter().all(|back| back.fast_bytes + 4 * GROUP <= back.written_bytes);
    let much = long.iter().any(|back| share(back) >= RECOVERED);
    ended && much
        || ended && grows && long.last().is_some_and(|back| share(back) >= RECOVERED_GROWING)
}

fn is_long(back: &Recovery) -> bool {
    back.idle_ns >= 1_000_000_000
}

fn long_pauses(recovery: &[Recovery]) -> bool {
    recovery.iter().any(is_long)
}

/// Least and greatest size. What the host had sent when the speed fell is the cache and what memory held by then: as
/// much as fits into it where it was full all along, or what it took while it filled up after the fall.
fn size(drop: &Drop, facts: &Facts) -> (f64, f64) {
    let share = drop.fast / (drop.fast - drop.slow);
    let error = drop.error_bytes + BLOCKS * drop.at_bytes;
    let head = drop.head_start_bytes.max(0.0);
    let (least, most) =
        facts.write_buffer.map_or((0.0, BUFFER_BYTES_MAX), |(l, h)| (l as f64, h as f64));
    let filled_before = head > 0.25 * most;
    let (held_least, held_most) = if filled_before {
        (least.min(head), head.max(most.min(1.5 * head)))
    } else {
        (least, most * share)
    };
    let low = (drop.at_bytes - held_most - error).max(0.25 * drop.at_bytes);
    (low, drop.at_bytes - held_least + error)
}

fn whole_mib(bytes: f64) -> Bytes {
    Bytes::mib((bytes / f64::from(1 << 20)).round().max(0.0) as u64)
}
