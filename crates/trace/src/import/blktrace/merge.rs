//! The records of several files in the order of their time, made into events.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use block::Nanos;
use block::trace::record::{Record, Told};
use block::trace::{TraceEvent, TraceNote};

use crate::TraceError;

use super::stream::Stream;
use crate::import::compressed::Input;

/// How many numbers an event may come behind one that has a higher: a CPU that is interrupted while it records an event
/// records another first. More is a recording that was started again.
const BEHIND: u32 = 64;

/// Most CPUs and devices whose numbers are followed.
const COUNTERS: usize = 1 << 16;

/// Records read at once.
#[derive(Debug, Default)]
pub struct Batch {
    /// Events, in the order of their time as far as each file has them so.
    pub events: Vec<TraceEvent>,
    /// Notes.
    pub notes: Vec<TraceNote>,
    /// Stretches that are not records.
    pub skipped: u64,
    /// First fault of each file, with its offset.
    pub faults: Vec<String>,
    /// Records of a kind that is not known.
    pub unknown: u64,
}

impl Batch {
    /// Takes a record that is not an event.
    #[cold]
    fn aside(&mut self, record: &Record, pdu: &[u8]) {
        match record.told(pdu) {
            Told::Note(note) => self.notes.push(note),
            Told::Event(_) | Told::Unknown => self.unknown += 1,
        }
    }

    /// Forgets what was read; keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.notes.clear();
        self.faults.clear();
        (self.skipped, self.unknown) = (0, 0);
    }
}

/// Finds which numbers are missing.
#[derive(Debug, Default)]
struct Sequences {
    last: HashMap<u64, u32>,
    /// The last one asked for.
    recent: Option<(u64, u32)>,
    lost: u64,
}

impl Sequences {
    #[inline]
    fn see(&mut self, event: &TraceEvent) {
        if event.sequence == 0 {
            return;
        }
        let key = u64::from(event.device.0) << 32 | u64::from(event.cpu);
        if let Some((recent, last)) = &mut self.recent
            && *recent == key
            && last.checked_add(1) == Some(event.sequence)
        {
            *last = event.sequence;
            return;
        }
        self.compare(key, event.sequence);
    }

    fn compare(&mut self, key: u64, sequence: u32) {
        if let Some((recent, last)) = self.recent.take() {
            self.last.insert(recent, last);
        }
        let Some(&last) = self.last.get(&key) else {
            if self.last.len() < COUNTERS {
                self.recent = Some((key, sequence));
            }
            return;
        };
        let mut now = sequence;
        if sequence > last {
            self.lost = self.lost.saturating_add(u64::from(sequence - last - 1));
        } else if last - sequence < BEHIND {
            self.lost = self.lost.saturating_sub(1);
            now = last;
        }
        self.recent = Some((key, now));
    }
}

/// A record's place among those that are next in their files: by time, and in one instant the one that was read last.
/// Clocks tick in tens of nanoseconds, so two CPUs often record in the same instant, and their order is unknown. This
/// is blkparse's order; it is as good as any, and a comparison with btt then sees the same order.
type Head = (Nanos, Reverse<u64>, usize);

/// Reads all files as one.
pub struct Merge {
    streams: Vec<Stream>,
    /// The next record of each file that has one, the earliest first.
    heads: BinaryHeap<Reverse<Head>>,
    next: Vec<Option<TraceEvent>>,
    /// How many records have been read into `next`.
    reads: u64,
    sequences: Sequences,
    begun: bool,
}

impl Merge {
    pub fn new(inputs: Vec<Input>, lenient: bool) -> Merge {
        let streams: Vec<Stream> =
            inputs.into_iter().map(|input| Stream::new(input, lenient)).collect();
        let next = streams.iter().map(|_| None).collect();
        Merge {
            streams,
            heads: BinaryHeap::new(),
            next,
            reads: 0,
            sequences: Sequences::default(),
            begun: false,
        }
    }

    /// How many events are missing, by their numbers.
    pub fn missing(&self) -> u64 {
        self.sequences.lost
    }

    /// How many events were lost, by the kernel's own word.
    pub fn lost(&self) -> u64 {
        self.streams.iter().fold(0, |sum, stream| sum.saturating_add(stream.lost))
    }

    /// The version that records have; the highest, should they differ.
    pub fn version(&self) -> Option<u8> {
        self.streams.iter().map(|stream| stream.version).max().filter(|version| *version > 0)
    }

    /// Appends about `count` records' events and notes. False when there are no more.
    ///
    /// # Errors
    /// As [`Stream::each`]; what came before is in the batch.
    pub fn read(&mut self, count: usize, batch: &mut Batch) -> Result<bool, TraceError> {
        let result = if self.streams.len() == 1 {
            self.read_one(count, batch)
        } else {
            self.read_many(count, batch)
        };
        for stream in &mut self.streams {
            batch.skipped += std::mem::take(&mut stream.skipped);
            batch.faults.extend(stream.fault.take());
        }
        result
    }

    fn read_one(&mut self, count: usize, batch: &mut Batch) -> Result<bool, TraceError> {
        let sequences = &mut self.sequences;
        self.streams[0].each(count, |record, pdu| {
            if let Some(event) = record.event(pdu) {
                sequences.see(&event);
                batch.events.push(event);
            } else {
                batch.aside(record, pdu);
            }
        })
    }

    fn read_many(&mut self, count: usize, batch: &mut Batch) -> Result<bool, TraceError> {
        if !self.begun {
            self.begun = true;
            for nth in 0..self.streams.len() {
                self.advance(nth, batch)?;
            }
        }
        for _ in 0..count {
            let Some(Reverse((.., nth))) = self.heads.pop() else { return Ok(false) };
            if let Some(event) = self.next[nth].take() {
                self.sequences.see(&event);
                batch.events.push(event);
            }
            self.advance(nth, batch)?;
        }
        Ok(true)
    }

    /// Reads on in a file to its next event.
    fn advance(&mut self, nth: usize, batch: &mut Batch) -> Result<(), TraceError> {
        while self.next[nth].is_none() {
            let next = &mut self.next[nth];
            let more = self.streams[nth].each(1, |record, pdu| match record.event(pdu) {
                Some(event) => *next = Some(event),
                None => batch.aside(record, pdu),
            })?;
            if !more {
                return Ok(());
            }
        }
        if let Some(event) = &self.next[nth] {
            self.heads.push(Reverse((event.time, Reverse(self.reads), nth)));
            self.reads += 1;
        }
        Ok(())
    }
}
