//! The log that some cards keep for small writes: asked with writes that go round more erase blocks than may be open.
//!
//! Each write but the first round opens an erase block that was closed meanwhile, and pays for closing another, unless
//! it goes to a log. A log takes them at one speed until it is full; from then on what was in it first must be merged
//! for each further round's worth. Where the slow writes begin is the size, to the write.

use std::collections::VecDeque;

use block::Nanos;
use serde::{Deserialize, Serialize};

use crate::desk::{Desk, Halt};
use crate::known::Known;
use crate::{Finding, Name};

/// Writes issued together: few, since the end is looked for after each batch.
const BATCH: u64 = 32;
/// Merges after the end that are predicted, and how many of them must come where they are. Chance spikes of one write
/// in a hundred do so less than once in a million runs.
const MERGES: usize = 8;
const MERGES_MIN: usize = 6;
/// A run with at least this many late slow writes that no full log explains is unclear.
const UNCLEAR: usize = 48;
/// A write is slow when it takes more than this many times the usual time.
const SLOW: f64 = 2.0;
/// Writes to one place of which the usual time is taken.
const USUAL: u64 = 24;
/// Most written in one run.
const RUN_BYTES_MAX: u64 = 128 << 20;
/// Sizes asked, ascending.
const SIZES: [u64; 6] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];
/// Below this, a write was taken by memory: no cell is programmed so soon.
const CELL_NS_MIN: f64 = 100_000.0;
/// Idle times tried until what a run fits no longer grows, doubled from the first to the last.
const IDLE: [u64; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The one that must be tried before a drive is said to take no small writes at once.
const LONG_PAUSE: usize = 3;

/// Writes of one size, going round erase blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Size of each write.
    pub write_bytes: u64,
    /// Erase blocks that were gone round.
    pub places: u64,
    /// Idle time before it.
    pub idle_ns: u64,
    /// Median time of writes in order to one place, before this run.
    pub usual_ns: u64,
    /// Time of each write.
    pub times_ns: Vec<u64>,
}

/// End of the fast writes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Already in the second round: writes of this size do not go to a log.
    AtOnce,
    /// After this many writes.
    After(u64),
    /// They do, in a way that a log which was empty at first does not explain.
    Unclear,
    /// Not within the run.
    Beyond,
}

impl Run {
    fn is_slow(&self, time_ns: u64) -> bool {
        time_ns as f64 > SLOW * self.usual_ns as f64
    }

    /// Returns the end of its fast writes: see [`End`].
    pub fn end(&self) -> End {
        let places = self.places as usize;
        if self.is_closed_from_the_second_round(places) {
            return End::AtOnce;
        }
        // The first write may have waited for what the drive did in the pause.
        let slow: Vec<usize> =
            (1..self.times_ns.len()).filter(|&at| self.is_slow(self.times_ns[at])).collect();
        let mut later = slow.iter().filter(|&&at| at > places);
        match later.find(|&&at| self.is_full_at(at, &slow)) {
            Some(&at) => End::After(at as u64),
            None if self.lags(&slow) => End::Unclear,
            None => End::Beyond,
        }
    }

    /// True when slow writes are many and take much of the time of the later half.
    fn lags(&self, slow: &[usize]) -> bool {
        let half = self.times_ns.len() / 2;
        let all: u64 = self.times_ns[half..].iter().sum();
        let late = slow.iter().filter(|&&at| at >= half);
        let lost: u64 = late.clone().map(|&at| self.times_ns[at]).sum();
        late.count() >= UNCLEAR && lost * 4 > all
    }

    /// True when most writes of the second round cost more than writes in order do.
    fn is_closed_from_the_second_round(&self, places: usize) -> bool {
        let round = self.times_ns.get(places..).unwrap_or_default();
        let round = &round[..round.len().min(places)];
        let times: Vec<f64> = round.iter().map(|&time| time as f64).collect();
        let least = stats::quantile(&times, 0.25).unwrap_or(0.0);
        round.len() >= 8 && least > 1.2 * self.usual_ns as f64
    }

    /// True when a log that is full after `at` writes would merge where writes were slow.
    fn is_full_at(&self, at: usize, slow: &[usize]) -> bool {
        let merges = merges(at, self.places as usize, MERGES);
        let seen = |index: &&usize| **index < self.times_ns.len();
        let hits = merges.iter().filter(seen).filter(|index| slow.binary_search(index).is_ok());
        hits.count() >= MERGES_MIN
    }
}

/// Writes at which a log that holds `fits` of them merges, the first `count` of them: it takes the block that was
/// written to it first, with all that the log has of it.
fn merges(fits: usize, places: usize, count: usize) -> Vec<usize> {
    let share = |place| (place, (fits + places - 1 - place) / places);
    let mut blocks: VecDeque<(usize, usize)> = (0..places).map(share).collect();
    let (mut used, mut at, mut found) = (fits, fits, Vec::new());
    while found.len() < count {
        if used == fits {
            used -= blocks.pop_front().map_or(fits, |(_, held)| held);
            found.push(at);
        }
        match blocks.iter_mut().find(|(place, _)| *place == at % places) {
            Some((_, held)) => *held += 1,
            None => blocks.push_back((at % places, 1)),
        }
        used += 1;
        at += 1;
    }
    found
}

/// Infers the size of the log from the runs, given the size of a page if it is known. `None` when there is no such log.
pub fn infer(runs: &[Run], page_bytes: Option<u64>) -> Option<Finding> {
    let taken = |run: &&Run| matches!(run.end(), End::After(_));
    let largest = runs.iter().filter(taken).map(|run| run.write_bytes).max()?;
    if !runs.iter().any(|run| run.write_bytes > largest && run.end() == End::AtOnce) {
        return Some(Finding::unknown(
            Name::SlcCache,
            format!(
                "writes of {} go to a log, and what larger ones do was not seen",
                block::Bytes(largest).human()
            ),
        ));
    }
    let of = |size: u64| settled(runs, size);
    let Some(count) = of(largest) else {
        return Some(Finding::unknown(
            Name::SlcCache,
            format!(
                "writes of {} go to a log, and how much it takes differs from run to run",
                block::Bytes(largest).human()
            ),
        ));
    };
    let host = count * largest;
    let half = of(largest / 2);
    let by_bytes = half.is_some_and(|half| half == 2 * count);
    let by_pages = half.is_some_and(|half| half == count);
    match page_bytes {
        _ if by_bytes => Some(found(host, largest, "twice as many of half the size fit")),
        // Each write takes a page, however little of it.
        Some(page) if page >= largest => Some(found(count * page, largest, "each takes a page")),
        Some(page) if largest % page == 0 => Some(found(host, largest, "each takes whole pages")),
        _ if by_pages || half.is_none() => Some(Finding::unknown(
            Name::SlcCache,
            format!(
                "{count} writes of {} fit into a log, and how much of it each takes is not known: it holds at least {}",
                block::Bytes(largest).human(),
                block::Bytes(host).human()
            ),
        )),
        _ => Some(Finding::unknown(
            Name::SlcCache,
            "the log takes sizes of writes in a way that is not understood",
        )),
    }
}

/// Two runs after pauses of different length that end alike count as one rule; three would be needed to say more than
/// that chance did not do it, and each chain already says that.
fn found(bytes: u64, largest: u64, how: &str) -> Finding {
    let size = block::Bytes(largest).human();
    Finding::found(
        Name::SlcCache,
        bytes,
        0.99,
        format!(
            "writes of up to {size} to many erase blocks are fast until {} were written, and as many again after a \
         pause; {how}",
            block::Bytes(bytes).human()
        ),
    )
}

/// The count at which the two runs of a size with the longest pauses before them both end.
fn settled(runs: &[Run], size: u64) -> Option<u64> {
    let mut of: Vec<(u64, End)> = runs
        .iter()
        .filter(|run| run.write_bytes == size)
        .map(|run| (run.idle_ns, run.end()))
        .collect();
    of.sort_by_key(|(idle, _)| *idle);
    match of.as_slice() {
        [.., (_, End::After(a)), (_, End::After(b))] if a == b => Some(*a),
        _ => None,
    }
}

/// A distance that is a whole count of erase blocks whatever their size, as far as there is room.
fn whole_units(room: u64) -> u64 {
    [48, 24, 12, 4].map(|mib| mib << 20).into_iter().find(|grain| *grain <= room).unwrap_or(1 << 20)
}

/// Places that the runs write to.
struct Places {
    first: u64,
    stride: u64,
    count: u64,
}

impl Places {
    /// As many places as it takes, each in an erase block of its own. `None` when the region is too small.
    fn new(desk: &Desk<'_>, known: &Known) -> Option<Places> {
        let region = desk.region();
        let open = known.value(Name::OpenAuLinear).filter(|open| *open <= 64);
        let count = open.map_or(24, |open| (2 * open + 2).max(12));
        let unit = known.value(Name::EraseBlock);
        // The beginning may be kept in another way.
        let skipped = known.value(Name::FatZone).unwrap_or(0).max(48 << 20);
        let skipped = skipped.min(region.length.0 / 8);
        let room = (region.length.0 - skipped) / (count + 2);
        let grain = unit.unwrap_or_else(|| whole_units(room));
        let first = (region.offset.0 + skipped).next_multiple_of(grain);
        let stride = room.min(16 * grain.max(8 << 20)) / grain * grain;
        (stride > 0).then_some(Places { first, stride, count })
    }

    /// The `n`th write of `len` bytes, going round; `None` where a place is full.
    fn round(&self, n: u64, len: u64) -> Option<(u64, u64)> {
        let within = n / self.count * len;
        let offset = self.first + n % self.count * self.stride + within;
        (within + len <= self.stride).then_some((offset, len))
    }

    /// The `n`th write of `len` bytes in order, beside the places that are gone round.
    fn in_order(&self, n: u64, len: u64) -> (u64, u64) {
        (self.first + self.count * self.stride + n * len, len)
    }
}

/// Asks the drive. `runs` holds what was seen until a limit ended it.
///
/// # Errors
/// [`Halt`], limits too.
pub fn ask(desk: &mut Desk<'_>, known: &Known, runs: &mut Vec<Run>) -> Result<(), Halt> {
    let Some(places) = Places::new(desk, known) else { return Ok(()) };
    let block = desk.info().logical_block_bytes.0;
    let mut asker = Asker { desk, places, runs, pause: 0 };
    for size in SIZES.into_iter().filter(|size| *size >= block) {
        match asker.settle(size)? {
            End::AtOnce | End::Beyond => break,
            End::After(_) | End::Unclear => {}
        }
    }
    Ok(())
}

/// Measurement in progress.
struct Asker<'d, 'a> {
    desk: &'d mut Desk<'a>,
    places: Places,
    runs: &'d mut Vec<Run>,
    /// The pause, by its place in [`IDLE`], that lets the drive empty the log.
    pause: usize,
}

impl Asker<'_, '_> {
    /// Runs of one size after longer and longer pauses, until two end alike.
    fn settle(&mut self, size: u64) -> Result<End, Halt> {
        self.pause()?;
        let usual = self.usual(size)?;
        if usual < CELL_NS_MIN {
            return Ok(End::Beyond);
        }
        loop {
            self.pause()?;
            let run = self.run(size, usual as u64)?;
            let end = run.end();
            self.runs.push(run);
            let of_size = self.runs.iter().filter(|run| run.write_bytes == size).count();
            // The first size shows how long a pause must be: while the log is full of earlier data, even small writes
            // seem to go past it.
            let first = self.runs.iter().all(|run| run.write_bytes == size);
            let again = match end {
                End::Beyond => self.has_taken(size) && of_size < IDLE.len(),
                End::After(_) | End::Unclear => settled(self.runs, size).is_none(),
                End::AtOnce => first && (self.has_taken(size) || self.pause < LONG_PAUSE),
            };
            if !again || self.pause + 1 == IDLE.len() {
                return Ok(end);
            }
            self.pause = match end {
                End::AtOnce => (self.pause + 1).max(LONG_PAUSE),
                _ => self.pause + usize::from(first || of_size > 1),
            };
        }
    }

    fn has_taken(&self, size: u64) -> bool {
        let taken = |run: &Run| run.write_bytes == size && matches!(run.end(), End::After(_));
        self.runs.iter().any(taken)
    }

    fn pause(&mut self) -> Result<(), Halt> {
        self.desk.pause(Nanos::secs(IDLE[self.pause]))
    }

    /// Median time of writes in order to one place; the first ones may open it.
    fn usual(&mut self, size: u64) -> Result<f64, Halt> {
        let writes: Vec<(u64, u64)> = (0..USUAL).map(|n| self.places.in_order(n, size)).collect();
        let samples = self.desk.write(&format!("{size}B in order"), &writes)?;
        let times = samples.iter().skip(4).map(|s| (s.completed.0 - s.issued.0) as f64);
        Ok(stats::median(&times.collect::<Vec<f64>>()).unwrap_or(0.0))
    }

    /// One run: until an end shows, or the most is written.
    fn run(&mut self, size: u64, usual_ns: u64) -> Result<Run, Halt> {
        let (places, idle) = (self.places.count, Nanos::secs(IDLE[self.pause]));
        let part = format!("{size}B round {places} blocks");
        let mut run =
            Run { write_bytes: size, places, idle_ns: idle.0, usual_ns, times_ns: Vec::new() };
        let mut look = 4 * places as usize;
        while (run.times_ns.len() as u64) * size < RUN_BYTES_MAX {
            let from = run.times_ns.len() as u64;
            let batch = from..from + BATCH;
            let writes: Vec<(u64, u64)> = batch.map_while(|n| self.places.round(n, size)).collect();
            if writes.is_empty() {
                break;
            }
            let samples = self.desk.write(&part, &writes)?;
            run.times_ns.extend(samples.iter().map(|s| s.completed.0 - s.issued.0));
            // Each look goes through the whole run, so the distance between two grows with it.
            let so_far = run.times_ns.len();
            let looks = so_far >= look || from < 4 * places;
            if looks {
                look = so_far + so_far / 32;
            }
            if looks && run.end() != End::Beyond {
                break;
            }
        }
        Ok(run)
    }
}
