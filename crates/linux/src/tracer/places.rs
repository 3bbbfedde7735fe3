//! Sums of what reaches known places of the leaf devices, by the block events of requests that completed.
//!
//! A counter of a device is everybody's. An event has an address, so what others move elsewhere on the device does not
//! count. One tracepoint is on, in a tracefs instance of our own, and a thread adds up what it says; nothing is kept of
//! single events but the last that lay elsewhere, since files grow into new places while they are written.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use block::trace::{DeviceNumber, TraceEvent, Traits};
use block::{Bytes, LeafEvents, Nanos};

use super::TracerRoots;
use super::chunk::{Chunk, Gathered};
use super::events::Decoder;
use super::feed::Feed as _;
use super::started::BUFFER_MIN;
use super::subject::{Subject, Subjects};
use super::tracepoints::{self, Tracepoints};

/// The only tracepoint that is enabled: once per request, with the bytes that completed, before its issuer is notified.
const COMPLETE: &str = "block_rq_complete";
/// Most memory for the kernel's buffers of all CPUs together.
const BUFFERS_MAX: Bytes = Bytes::mib(64);
/// Buffer of one CPU, where that allows it: 16,000 events.
const BUFFER_USUAL: Bytes = Bytes::mib(1);
/// Time between two looks at the buffers.
const EVERY: Duration = Duration::from_millis(15);
/// Requests elsewhere that are remembered until the places are looked up again.
const STRAYS_MAX: usize = 1 << 14;

/// Places of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Number of the disk.
    pub(crate) disk: DeviceNumber,
    /// Bytes on it.
    pub(crate) ranges: Ranges,
}

/// Ranges in ascending order that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    pub(crate) fn new(mut all: Vec<Range<u64>>) -> Ranges {
        all.retain(|range| !range.is_empty());
        all.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(all.len());
        for range in all {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Ranges(joined)
    }

    /// Bytes of `range` that lie in them.
    fn overlap(&self, range: &Range<u64>) -> u64 {
        let first = self.0.partition_point(|own| own.end <= range.start);
        let of = self.0[first..].iter().take_while(|own| own.start < range.end);
        of.map(|own| own.end.min(range.end) - own.start.max(range.start)).sum()
    }

    fn join(&mut self, more: &Ranges) {
        *self = Ranges::new(self.0.iter().chain(&more.0).cloned().collect());
    }
}

/// A request that did not lie in known places, or not as a whole.
#[derive(Debug)]
struct Stray {
    disk: usize,
    range: Range<u64>,
    is_read: bool,
    counted: u64,
}

/// Sums, without the kernel's part of it.
#[derive(Debug, Default)]
struct Sums {
    places: Vec<Places>,
    events: LeafEvents,
    strays: Vec<Stray>,
}

impl Sums {
    fn take(&mut self, event: &TraceEvent) {
        let is_read = event.traits.has(Traits::READ);
        let others = [Traits::DISCARD, Traits::WRITE_ZEROES, Traits::PASSTHROUGH];
        let is_other = others.into_iter().any(|other| event.traits.has(other));
        if is_other
            || !(is_read || event.traits.has(Traits::WRITE))
            || event.bytes == 0
            || event.error != 0
        {
            return;
        }
        let Some(disk) = self.places.iter().position(|places| places.disk == event.device) else {
            return;
        };
        let start = event.sector.saturating_mul(crate::sysfs::SYSFS_SECTOR_BYTES);
        let range = start..start.saturating_add(u64::from(event.bytes));
        let counted = self.places[disk].ranges.overlap(&range);
        self.add(is_read, counted);
        if counted == u64::from(event.bytes) {
            return;
        }
        if self.strays.len() < STRAYS_MAX {
            self.strays.push(Stray { disk, range, is_read, counted });
        }
    }

    fn add(&mut self, is_read: bool, bytes: u64) {
        let sum = match is_read {
            true => &mut self.events.read_bytes,
            false => &mut self.events.write_bytes,
        };
        *sum += Bytes(bytes);
    }

    /// Takes the places as they are now for places of the measured part, besides those that were: what lay elsewhere since
    /// the last time and lies in them is added.
    fn renew(&mut self, now: &[Places]) {
        let before: Vec<Ranges> = self.places.iter().map(|places| places.ranges.clone()).collect();
        for known in &mut self.places {
            for new in now.iter().filter(|new| new.disk == known.disk) {
                known.ranges.join(&new.ranges);
            }
        }
        let changed = self.places.iter().zip(&before).any(|(now, before)| now.ranges != *before);
        let strays = std::mem::take(&mut self.strays);
        if changed {
            self.events.moves += 1;
            for stray in strays {
                let found = self.places[stray.disk].ranges.overlap(&stray.range);
                self.add(stray.is_read, found - stray.counted);
            }
        }
    }
}

/// The kernel's part.
#[derive(Debug)]
struct Live {
    feed: Tracepoints,
    decoder: Decoder,
    sums: Sums,
}

impl Live {
    /// Takes what the buffers hold.
    fn drain(&mut self) {
        loop {
            let mut chunk = Chunk::at(Nanos::ZERO);
            let Ok(more) = self.feed.collect(&mut chunk) else {
                self.sums.events.lost += 1;
                return;
            };
            let mut gathered = Gathered::default();
            for (cpu, part) in &chunk.parts {
                self.decoder.page(*cpu, &chunk.data[part.clone()], &mut gathered);
            }
            let lost: u64 = chunk.lost.iter().map(|(_, events)| events).sum();
            self.sums.events.lost += lost + gathered.malformed;
            gathered.events.iter().for_each(|event| self.sums.take(event));
            if !more {
                return;
            }
        }
    }
}

/// `None` when it has ended.
type State = Mutex<Option<Live>>;

/// Those of this process, so that a hasty exit can end them.
static ALIVE: Mutex<Vec<Weak<State>>> = Mutex::new(Vec::new());

/// Ends all, for an exit that runs no destructors.
pub(crate) fn end_all() {
    for state in ALIVE.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        if let Some(state) = state.upgrade() {
            drop(state.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// Adds up what reaches places of devices, as long as it lives.
#[derive(Debug)]
pub(crate) struct PlaceWatch {
    state: Arc<State>,
    is_mapped: bool,
    thread: Option<JoinHandle<()>>,
}

impl PlaceWatch {
    /// Begins. `is_mapped` says whether these are the places of the measured part alone.
    ///
    /// # Errors
    /// A sentence: events are not to be had, or not of each of these devices.
    pub(crate) fn start(
        roots: &TracerRoots,
        disks: &[Subject],
        places: Vec<Places>,
        is_mapped: bool,
    ) -> Result<PlaceWatch, String> {
        if let Some(without) = disks.iter().find(|disk| !disk.has_requests) {
            return Err(format!("{} has no requests, whose completion is an event", without.name));
        }
        let subjects = Subjects::new(disks).map_err(|error| error.to_string())?;
        let cpus = thread::available_parallelism().map_or(1, usize::from) as u64;
        let buffer = Bytes(BUFFERS_MAX.0 / cpus).min(BUFFER_USUAL).max(BUFFER_MIN);
        let (feed, decoder) = tracepoints::open(roots, &subjects, buffer, |name| name == COMPLETE)?;
        let sums = Sums { places, ..Sums::default() };
        let state = Arc::new(Mutex::new(Some(Live { feed, decoder, sums })));
        let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
        alive.retain(|state| state.strong_count() > 0);
        alive.push(Arc::downgrade(&state));
        drop(alive);
        let mut watch = PlaceWatch { state: state.clone(), is_mapped, thread: None };
        let work = move || {
            while Arc::strong_count(&state) > 1 {
                match &mut *state.lock().unwrap_or_else(PoisonError::into_inner) {
                    Some(live) => live.drain(),
                    None => return,
                }
                thread::park_timeout(EVERY);
            }
        };
        let thread = thread::Builder::new().name("leaf-events".to_owned()).spawn(work);
        watch.thread = Some(thread.map_err(|error| error.to_string())?);
        Ok(watch)
    }

    /// The sums of all that has completed. Then `places` are looked up again, in which the kernel may write: what it does
    /// meanwhile does not count.
    pub(crate) fn read(&self, places: impl FnOnce() -> Option<Vec<Places>>) -> Option<LeafEvents> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let live = state.as_mut()?;
        live.feed.count_losses();
        live.drain();
        if let Some(places) = places() {
            live.sums.renew(&places);
        }
        let events = LeafEvents { is_mapped: self.is_mapped, ..live.sums.events };
        live.drain();
        let moves = live.sums.events.moves;
        live.sums.events = LeafEvents { moves, lost: live.sums.events.lost, ..events };
        live.sums.strays.clear();
        Some(events)
    }
}

impl Drop for PlaceWatch {
    fn drop(&mut self) {
        drop(self.state.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::trace::{Action, Extra};

    fn disk() -> DeviceNumber {
        DeviceNumber::new(8, 0)
    }

    fn ranges(all: &[(u64, u64)]) -> Ranges {
        Ranges::new(all.iter().map(|&(start, end)| start..end).collect())
    }

    fn sums(all: &[(u64, u64)]) -> Sums {
        Sums { places: vec![Places { disk: disk(), ranges: ranges(all) }], ..Sums::default() }
    }

    fn event(traits: Traits, sector: u64, bytes: u32) -> TraceEvent {
        TraceEvent {
            time: Nanos(1),
            sector,
            bytes,
            device: disk(),
            pid: 0,
            cpu: 0,
            sequence: 0,
            action: Action::Complete,
            traits,
            error: 0,
            extra: Extra::None,
        }
    }

    #[test]
    fn ranges_that_touch_are_one_and_count_once() {
        let own = ranges(&[(4096, 8192), (0, 4096), (2048, 6000), (16384, 20480), (9, 9)]);
        assert_eq!(own, ranges(&[(0, 8192), (16384, 20480)]));
        assert_eq!(own.overlap(&(4096..18432)), 4096 + 2048);
        assert_eq!(own.overlap(&(8192..16384)), 0);
        assert_eq!(own.overlap(&(0..u64::MAX)), 8192 + 4096);
    }

    /// Breaks when I/O of others elsewhere on the disk is counted in place of bytes that never came, or a discard or an
    /// error is counted as data.
    #[test]
    fn only_data_in_the_places_counts() {
        let mut sums = sums(&[(4096, 8192)]);
        for (traits, sector, bytes) in [
            (Traits::READ, 0, 4096),
            (Traits::READ, 4, 4096),
            (Traits::READ, 8, 4096),
            (Traits::WRITE | Traits::SYNC, 8, 512),
            (Traits::WRITE | Traits::DISCARD, 8, 4096),
            (Traits::WRITE | Traits::WRITE_ZEROES, 8, 4096),
            (Traits::FLUSH, 8, 0),
        ] {
            sums.take(&event(traits, sector, bytes));
        }
        sums.take(&TraceEvent { error: 5, ..event(Traits::READ, 8, 4096) });
        sums.take(&TraceEvent { device: DeviceNumber::new(8, 16), ..event(Traits::READ, 8, 4096) });
        assert_eq!(sums.events.read_bytes, Bytes(2048 + 4096));
        assert_eq!(sums.events.write_bytes, Bytes(512));
    }

    /// If it failed, writes that fill holes of an image would be missed: their places are known only afterwards.
    #[test]
    fn what_went_to_places_that_came_later_is_added_once() {
        let mut sums = sums(&[(0, 4096)]);
        sums.take(&event(Traits::WRITE, 0, 8192));
        sums.take(&event(Traits::WRITE, 64, 4096));
        assert_eq!(sums.events.write_bytes, Bytes(4096));
        let now = |all: &[(u64, u64)]| [Places { disk: disk(), ranges: ranges(all) }];
        sums.renew(&now(&[(0, 8192)]));
        assert_eq!((sums.events.write_bytes, sums.events.moves), (Bytes(8192), 1));
        sums.renew(&now(&[(0, 8192)]));
        assert_eq!((sums.events.write_bytes, sums.events.moves), (Bytes(8192), 1));
        sums.renew(&now(&[(32768, 36864)]));
        assert_eq!(sums.events.write_bytes, Bytes(8192), "too late");
        sums.take(&event(Traits::WRITE, 64, 4096));
        sums.take(&event(Traits::WRITE, 0, 4096));
        assert_eq!(sums.events.write_bytes, Bytes(16384), "places that were stay");
    }
}
