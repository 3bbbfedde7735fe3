//! Sort of drive, from the bus that the kernel reports and from the timing of its I/O.

use mark::Direction;
use probe::{Name, Verdict};
use serde::{Deserialize, Serialize};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::seen::Seen;
use crate::{disk, rates};

/// A sort of drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveSort {
    /// A disk that turns.
    Disk,
    /// A memory card or a stick: a small controller that serves one request at a time and keeps few units open.
    Card,
    /// A solid-state drive: many chips behind a controller that serves many requests.
    Ssd,
}

impl DriveSort {
    /// For people, and in the JSON.
    pub fn words(self) -> &'static str {
        match self {
            DriveSort::Disk => "turning disk",
            DriveSort::Card => "memory card or stick",
            DriveSort::Ssd => "solid-state drive",
        }
    }
}

/// Random accesses that grow by this ratio with their depth are served by several chips at once. A stick's controller
/// overlaps transfer and read at most, which is less than twice.
const QUEUES_MIN: f64 = 2.5;
/// No flash is read in more than this, and no arm gets anywhere in less, in the median of random places.
const ARM_NS_MIN: u64 = 2_000_000;

/// Returns the sort of the drive, with its confidence, the part that shows it and the reason; or why it cannot be
/// determined.
fn sort(seen: &Seen<'_>) -> Result<(DriveSort, f64, &'static str, String), String> {
    if seen.stack.is_memory() {
        return Err("its data lies in this machine's memory, on no drive".to_owned());
    }
    if seen.stack.leaves.len() > 1 {
        return Err(format!(
            "there are {} devices under it, each of its own kind",
            seen.stack.leaves.len()
        ));
    }
    let leaf = seen.stack.leaves.first().map_or("", |leaf| leaf.name.as_str());
    if leaf.starts_with("mmcblk") {
        let why = "the kernel's driver of memory cards serves it".to_owned();
        return Ok((DriveSort::Card, 0.99, "identity", why));
    }
    let rotational = seen.target.rotational;
    if let Some(turn) = disk::rotation(seen).filter(|_| rotational != Some(false)) {
        let why = format!(
            "its access times spread as on a medium that turns in {:.1} ms",
            turn.turn_ns / 1e6
        );
        return Ok((DriveSort::Disk, 0.99, "surface", why));
    }
    let median = seen.test("RND4K Q1T1", Direction::Read).map(|test| test.latency_ns.p50);
    if rotational == Some(true) {
        return match median {
            Some(ns) if ns >= ARM_NS_MIN => {
                let why = "it says that it turns, and its random reads take as long as an arm does"
                    .to_owned();
                Ok((DriveSort::Disk, 0.95, "mark", why))
            }
            Some(_) => Err(
                "it says that it turns, and reads at random places faster than any arm moves: a \
                 virtual machine's disk says so too"
                    .to_owned(),
            ),
            None => Err("it says that it turns, and its access times were not measured".to_owned()),
        };
    }
    if leaf.starts_with("nvme") {
        let why = "it is connected by NVMe, which only solid-state drives are".to_owned();
        return Ok((DriveSort::Ssd, 0.99, "identity", why));
    }
    if rotational.is_none() {
        return Err("it does not say whether it turns".to_owned());
    }
    if let Some(at_once) = at_once(seen) {
        let why =
            format!("it does not turn, and reads that lie apart are served {at_once} at once");
        return Ok((DriveSort::Ssd, 0.97, "probe", why));
    }
    let growth = growth(seen);
    if let Some(growth) = growth.filter(|growth| *growth >= QUEUES_MIN) {
        let why = format!(
            "it does not turn, and serves {growth:.1} times as many accesses at random places when they wait in a queue"
        );
        return Ok((DriveSort::Ssd, 0.95, "mark", why));
    }
    let open = seen.finding(Name::OpenAuLinear);
    if let Some(open) = open.filter(|open| open.verdict == Verdict::Found) {
        let why =
            format!("it does not turn, and few of its units may be open at once: {}", open.reason);
        return Ok((DriveSort::Card, 0.97, "probe", why));
    }
    if seen.finding(Name::OpenAuLinear).is_some_and(|open| open.verdict == Verdict::None) {
        let why = "it does not turn, and any number of its units may be written at once, as a controller that maps \
                   pages lets them"
            .to_owned();
        return Ok((DriveSort::Ssd, 0.9, "probe", why));
    }
    Err(match queues(seen) {
        Some(_) => "it does not turn and serves one request at a time, as cards, sticks and slow bridges do; the number \
             of units that it keeps open, which would distinguish them, is unknown"
            .to_owned(),
        None => "it does not turn, and whether it serves many requests at once is not known".to_owned(),
    })
}

/// Gain in rate from queue depth, the greater of reads and writes. On a fresh drive only writes show it: its reads are of
/// blocks that were never written.
fn growth(seen: &Seen<'_>) -> Option<f64> {
    let of = |direction| rates::growth(seen, direction);
    [Direction::Read, Direction::Write].into_iter().filter_map(of).reduce(f64::max)
}

/// Reads that are served at once, where they are several.
fn at_once(seen: &Seen<'_>) -> Option<u64> {
    seen.value(Name::Interleave).filter(|at_once| *at_once >= 2)
}

/// True when requests that wait together are served together, as far as that is known.
pub fn queues(seen: &Seen<'_>) -> Option<bool> {
    let growth = growth(seen);
    if at_once(seen).is_some() || growth.is_some_and(|growth| growth >= QUEUES_MIN) {
        return Some(true);
    }
    let one_by_one = seen.finding(Name::Interleave).map(|finding| finding.verdict);
    (one_by_one == Some(Verdict::None) || growth.is_some()).then_some(false)
}

pub fn conclude(seen: &Seen<'_>) -> Conclusion {
    match sort(seen) {
        Ok((sort, confidence, part, why)) => {
            let statement = format!("it is a {}: {why}", sort.words());
            let value = Value::Word(sort.words().to_owned());
            Conclusion::found(Topic::DriveKind, statement, value, confidence).seen(part, why)
        }
        Err(why) => Conclusion::unknown(Topic::DriveKind, why),
    }
}
