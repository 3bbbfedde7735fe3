//! The files of a trace as one: merged by time, counted from the first arrival, spaces kept apart.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::PathBuf;

use block::Nanos;

use super::compressed::Input;
use super::options::SpaceRule;
use super::records::{FAULTS_TOLD, Records};
use super::spread::shift;
use super::stream::{Handling, Stream, WINDOW, too_late};
use crate::{BATCH, Io, Place, Source, TraceError, TraceInfo};

/// Most files that are read at a time: each needs a descriptor and about two MiB.
const OPEN_MAX: usize = 256;

/// Makes the records of a file.
pub type Opener = Box<dyn Fn(Input) -> Result<Box<dyn Records>, TraceError> + Send>;

/// A file that waits for its time to come.
pub struct Waiting {
    /// The file as the user named it.
    pub name: String,
    /// The earliest arrival in its beginning.
    pub first: u64,
    /// Its source.
    pub from: From,
}

/// Source of a file.
pub enum From {
    /// Opened already, since it cannot be opened again.
    Input(Box<Input>),
    /// To be opened when its time comes.
    Path(PathBuf),
}

impl From {
    /// The file from its beginning.
    ///
    /// # Errors
    /// [`TraceError`] when it cannot be opened.
    pub fn input(self) -> Result<Input, TraceError> {
        match self {
            From::Input(input) => Ok(*input),
            From::Path(path) => Input::open(&path),
        }
    }
}

/// How the files of a trace become one.
pub struct Joining {
    /// Makes the records of each.
    pub opener: Opener,
    /// How each file's I/Os are handed out.
    pub handling: Handling,
    /// Rule for address spaces.
    pub rule: SpaceRule,
    /// Offset from the files' clock to nanoseconds since 1970, where it is a date.
    pub unix_offset: Option<i128>,
}

/// A file that is being read.
struct Open {
    stream: Stream,
    name: String,
    batch: Vec<Io>,
    at: usize,
    /// The trace's number of each of the file's spaces.
    spaces: Vec<u32>,
}

/// All files as one source.
pub struct Joined {
    info: TraceInfo,
    joining: Joining,
    /// The latest first, so that the next is at the end.
    waiting: Vec<Waiting>,
    open: Vec<Option<Open>>,
    /// Next arrival of each open file.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    known: HashMap<String, u32>,
    started: bool,
    out: u64,
    late: (u64, Nanos),
    negative_latencies: u64,
}

impl Joined {
    /// `files` as one trace; `info` holds what is known before it is read.
    pub fn new(mut info: TraceInfo, mut files: Vec<Waiting>, joining: Joining) -> Joined {
        info.files = files.iter().map(|file| file.name.clone()).collect();
        // Stable, so that files that begin at one instant are read in the order in which they were named.
        files.reverse();
        files.sort_by_key(|file| Reverse(file.first));
        Joined {
            info,
            joining,
            waiting: files,
            open: Vec::new(),
            next: BinaryHeap::new(),
            known: HashMap::new(),
            started: false,
            out: 0,
            late: (0, Nanos::ZERO),
            negative_latencies: 0,
        }
    }

    /// Opens what may hold the next I/O: all whose beginning is not after the earliest that is known.
    fn open_due(&mut self) -> Result<(), TraceError> {
        while let Some(file) = self.waiting.last() {
            let due = match self.next.peek() {
                None => true,
                // If all I/Os are sorted later, one open file at a time is enough.
                Some(_) if self.joining.handling.unordered => false,
                Some(Reverse((earliest, _))) => file.first <= *earliest,
            };
            if !due {
                return Ok(());
            }
            if self.next.len() >= OPEN_MAX {
                return Err(TraceError::Unsuited(format!(
                    "more than {OPEN_MAX} of the files overlap in time, and are not read at once; name fewer"
                )));
            }
            if let Some(file) = self.waiting.pop() {
                self.open(file)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, file: Waiting) -> Result<(), TraceError> {
        let records = (self.joining.opener)(file.from.input()?)?;
        let stream = Stream::new(records, self.joining.handling);
        let slot = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        if slot == self.open.len() {
            self.open.push(None);
        }
        let open = Open { stream, name: file.name, batch: Vec::new(), at: 0, spaces: Vec::new() };
        self.open[slot] = Some(open);
        self.refill(slot)
    }

    /// Reads on in a file whose batch is used up; closes it when there is no more.
    fn refill(&mut self, slot: usize) -> Result<(), TraceError> {
        let Some(open) = &mut self.open[slot] else { return Ok(()) };
        open.batch.clear();
        open.at = 0;
        open.stream.next(&mut open.batch)?;
        for space in open.stream.told.spaces.all().iter().skip(open.spaces.len()) {
            let mut space = space.clone();
            match self.joining.rule {
                SpaceRule::Shared => {}
                SpaceRule::PerFile => space.name = format!("{}: {}", open.name, space.name),
                SpaceRule::One => space.name = "all".to_owned(),
            }
            let number = *self.known.entry(space.name.clone()).or_insert_with(|| {
                self.info.spaces.push(space);
                (self.info.spaces.len() - 1) as u32
            });
            open.spaces.push(number);
        }
        match open.batch.first() {
            Some(io) => self.next.push(Reverse((io.arrival.0, slot))),
            None => self.close(slot),
        }
        Ok(())
    }

    fn close(&mut self, slot: usize) {
        let Some(open) = self.open[slot].take() else { return };
        let met = open.stream.met;
        self.info.skipped_rows += met.skipped;
        self.info.ignored_rows += met.ignored;
        let room = FAULTS_TOLD.saturating_sub(self.info.faults.len());
        self.info.faults.extend(met.faults.into_iter().take(room));
        self.info.processes.extend(open.stream.told.processes);
        self.late.0 += met.late;
        self.late.1 = self.late.1.max(met.late_max);
        self.negative_latencies += open.stream.told.negative_latencies;
        if self.waiting.is_empty() && self.open.iter().all(Option::is_none) {
            self.finish();
        }
    }

    /// The last sentences: what was put in order, and what is unknown beyond what the format lacks.
    fn finish(&mut self) {
        if self.negative_latencies > 0 {
            self.info.settled.push(format!(
                "{} latencies are below zero, which none is; these I/Os complete we know not when",
                self.negative_latencies
            ));
        }
        let (count, by) = self.late;
        if count > 0 {
            let by = by.human();
            self.info.settled.push(format!(
                "{count} I/Os came after one that arrived later, by {by} at most; they were put in order \
                 within a window of {WINDOW} rows"
            ));
        }
    }

    /// Counts `io`'s times from the origin, and gives it its space in the trace.
    fn place(&mut self, mut io: Io, spaces: &[u32]) -> Io {
        let origin = self.info.origin.0;
        shift(&mut io, |at| at.saturating_sub(origin));
        io.space = spaces.get(io.space as usize).copied().unwrap_or(0);
        io
    }

    fn start(&mut self, first: u64) {
        self.started = true;
        // Out of order, the first I/O is known only after sorting; `Resorted` then counts from it.
        let first = if self.joining.handling.unordered { 0 } else { first };
        self.info.origin = Nanos(first);
        self.info.origin_unix_ns = self
            .joining
            .unix_offset
            .and_then(|offset| i64::try_from(i128::from(first) + offset).ok());
    }

    /// Hands out of one file what arrives before every other's next.
    fn hand_out(
        &mut self,
        slot: usize,
        full: usize,
        batch: &mut Vec<Io>,
    ) -> Result<(), TraceError> {
        let until = match self.next.peek() {
            Some(Reverse(next)) => *next,
            None => (u64::MAX, usize::MAX),
        };
        let waiting = self.waiting.last().map_or(u64::MAX, |file| file.first);
        let Some(mut open) = self.open[slot].take() else { return Ok(()) };
        while let Some(io) = open.batch.get(open.at) {
            let arrival = io.arrival.0;
            let mine = self.joining.handling.unordered
                || ((arrival, slot) <= until && (arrival < waiting || self.waiting.is_empty()));
            if !mine || batch.len() >= full {
                break;
            }
            if arrival < self.out && !self.joining.handling.unordered {
                return Err(too_late(&open.name, Place::Whole, Nanos(self.out - arrival)));
            }
            self.out = arrival;
            let io = self.place(*io, &open.spaces);
            batch.push(io);
            open.at += 1;
        }
        let next = open.batch.get(open.at).map(|io| io.arrival.0);
        self.open[slot] = Some(open);
        match next {
            Some(arrival) => self.next.push(Reverse((arrival, slot))),
            None => self.refill(slot)?,
        }
        Ok(())
    }
}

impl Source for Joined {
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        let full = batch.len() + BATCH;
        while batch.len() < full {
            self.open_due()?;
            let Some(Reverse((arrival, slot))) = self.next.pop() else {
                // A file without a single I/O may have been the last that was open.
                if self.waiting.is_empty() {
                    return Ok(());
                }
                continue;
            };
            if !self.started {
                self.start(arrival);
            }
            self.hand_out(slot, full, batch)?;
        }
        Ok(())
    }

    fn info(&self) -> &TraceInfo {
        &self.info
    }
}
