//! I/Os put in the order of their arrival, in bounded memory.
//!
//! Two means, for two sorts of disorder. Most recordings are nearly in order: I/Os of several CPUs or servers were
//! written one beside the other, and a [`Window`] of the last few thousand puts them right while they stream by. A
//! file in another order altogether (by volume, by completion of long requests) has to be seen whole before its first
//! I/O is known: a [`Sorter`] keeps sorted runs in a temporary file, and merges them. Both are stable: I/Os that
//! arrive at one instant stay as they came.

mod runs;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

use block::Nanos;

use crate::{BATCH, Io, TraceError};
use runs::{Cursor, Level};

/// I/Os that a [`Sorter`] holds: with what sorting them takes, some 45 MB.
const RUN: usize = 256 << 10;

/// Runs of one size that are merged into one of the next: 64 KiB of memory for each while merging.
const FAN_IN: usize = 64;

/// Puts I/Os in order that are nearly so.
///
/// The window is sorted each time that it has filled up, and half of it is given: I/Os that are in order already, which
/// most are, cost a comparison. With a heap, each would have to be sifted through it.
#[derive(Debug)]
pub struct Window {
    capacity: usize,
    held: Vec<Io>,
    sorted: bool,
    /// Latest arrival of those taken.
    newest: Nanos,
    /// Latest arrival of those given.
    given: Nanos,
}

/// An I/O arrived before one that has left the window already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate {
    /// By how much before the latest that came.
    pub by: Nanos,
}

impl Window {
    /// A window for I/Os that come up to `capacity` positions late; 0 means 1. It holds up to twice as many.
    pub fn new(capacity: usize) -> Window {
        Window {
            capacity: capacity.max(1),
            held: Vec::new(),
            sorted: true,
            newest: Nanos::ZERO,
            given: Nanos::ZERO,
        }
    }

    /// Takes an I/O; by how much it arrived before the latest that came, where it did.
    ///
    /// # Errors
    /// [`TooLate`] when one that is later has been given already; the I/O is not taken then.
    #[inline]
    pub fn push(&mut self, io: Io) -> Result<Option<Nanos>, TooLate> {
        let late = (io.arrival < self.newest).then(|| self.newest - io.arrival);
        if let Some(by) = late {
            if io.arrival < self.given {
                return Err(TooLate { by });
            }
            self.sorted = false;
        }
        self.newest = self.newest.max(io.arrival);
        self.held.push(io);
        Ok(late)
    }

    /// True when it holds twice its capacity, and [`Window::give`] is due.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.held.len() >= 2 * self.capacity
    }

    /// Appends the earliest to `batch`, and keeps as many as the window's capacity.
    pub fn give(&mut self, batch: &mut Vec<Io>) {
        self.give_but(self.capacity, batch);
    }

    /// Appends all that is held to `batch`, when no more will come.
    pub fn finish(&mut self, batch: &mut Vec<Io>) {
        self.give_but(0, batch);
    }

    fn give_but(&mut self, kept: usize, batch: &mut Vec<Io>) {
        if !self.sorted {
            self.held.sort_by_key(|io| io.arrival);
            self.sorted = true;
        }
        let ready = self.held.len().saturating_sub(kept);
        if let Some(last) = ready.checked_sub(1) {
            self.given = self.held[last].arrival;
        }
        batch.extend(self.held.drain(..ready));
    }
}

/// Puts I/Os in order that come in any.
///
/// I/Os that do not fit into memory go to a temporary file without a name, which the system removes however the
/// program ends. It takes about 30 bytes an I/O, and twice that while runs are merged.
#[derive(Debug)]
pub struct Sorter {
    directory: PathBuf,
    run: usize,
    fan_in: usize,
    ios: Vec<Io>,
    /// Of runs on disk: those of level n + 1 are made of [`FAN_IN`] of level n, and came before them.
    levels: Vec<Level>,
    count: u64,
}

impl Sorter {
    /// A sorter whose temporary files are in the directory that `TMPDIR` names, or in the system's for large ones.
    pub fn new() -> Sorter {
        // Not the one for small files, which is memory on many systems.
        let named = std::env::var_os("TMPDIR").filter(|name| !name.is_empty());
        Sorter::in_directory(named.map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from))
    }

    /// A sorter whose temporary files are in `directory`.
    pub fn in_directory(directory: PathBuf) -> Sorter {
        Sorter::with_limits(directory, RUN, FAN_IN)
    }

    fn with_limits(directory: PathBuf, run: usize, fan_in: usize) -> Sorter {
        Sorter { directory, run, fan_in, ios: Vec::new(), levels: Vec::new(), count: 0 }
    }

    /// Takes an I/O.
    ///
    /// # Errors
    /// When the temporary file cannot be written; the sorter is of no use then.
    pub fn push(&mut self, io: Io) -> Result<(), TraceError> {
        if self.ios.len() == self.run {
            self.spill()?;
        }
        self.ios.push(io);
        self.count += 1;
        Ok(())
    }

    /// All I/Os in order.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn finish(mut self) -> Result<Sorted, TraceError> {
        self.ios.sort_by_key(|io| io.arrival);
        let mut merge = Merge::default();
        for level in self.levels.iter().rev() {
            merge.add(level.cursors()?);
        }
        // The last run needs no file.
        merge.add([Cursor::in_memory(self.ios)]);
        Ok(Sorted { merge, count: self.count })
    }

    /// Writes what is in memory as a run, and merges runs where there are many of one size.
    fn spill(&mut self) -> Result<(), TraceError> {
        self.ios.sort_by_key(|io| io.arrival);
        let mut ios = std::mem::take(&mut self.ios);
        self.level(0)?.write(ios.drain(..).map(Ok))?;
        self.ios = ios;
        let mut number = 0;
        while self.levels[number].len() == self.fan_in {
            let mut merge = Merge::default();
            merge.add(self.levels[number].cursors()?);
            self.level(number + 1)?.write(merge)?;
            self.levels[number] = Level::new(&self.directory)?;
            number += 1;
        }
        Ok(())
    }

    fn level(&mut self, number: usize) -> Result<&mut Level, TraceError> {
        if number == self.levels.len() {
            self.levels.push(Level::new(&self.directory)?);
        }
        Ok(&mut self.levels[number])
    }
}

impl Default for Sorter {
    fn default() -> Sorter {
        Sorter::new()
    }
}

/// I/Os in the order of their arrival.
#[derive(Debug)]
pub struct Sorted {
    merge: Merge,
    count: u64,
}

impl Sorted {
    /// How many there were at the beginning.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// When the next one arrives, which at the beginning is the first of all.
    pub fn next_arrival(&self) -> Option<Nanos> {
        self.merge.heads.peek().map(|Reverse((arrival, _))| *arrival)
    }

    /// Appends the next I/Os to `batch`, about [`BATCH`] of them; none when there are no more.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        for io in self.merge.by_ref().take(BATCH) {
            batch.push(io?);
        }
        Ok(())
    }
}

/// Several runs as one.
#[derive(Debug, Default)]
struct Merge {
    /// In the order in which their I/Os came.
    runs: Vec<Cursor>,
    /// The arrival of each run's next I/O, with the number of the run.
    heads: BinaryHeap<Reverse<(Nanos, usize)>>,
}

impl Merge {
    fn add(&mut self, runs: impl IntoIterator<Item = Cursor>) {
        for run in runs {
            if let Some(next) = run.peek() {
                self.heads.push(Reverse((next.arrival, self.runs.len())));
            }
            self.runs.push(run);
        }
    }
}

impl Iterator for Merge {
    type Item = Result<Io, TraceError>;

    fn next(&mut self) -> Option<Result<Io, TraceError>> {
        let Reverse((_, number)) = self.heads.pop()?;
        let run = &mut self.runs[number];
        let io = *run.peek()?;
        if let Err(error) = run.advance() {
            self.heads.clear();
            return Some(Err(error));
        }
        if let Some(next) = run.peek() {
            self.heads.push(Reverse((next.arrival, number)));
        }
        Some(Ok(io))
    }
}
