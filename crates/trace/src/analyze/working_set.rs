//! How much of the address space a trace works on: as a whole, window by window, and how soon it is overwritten.

mod touched;
mod updates;

use serde::{Deserialize, Serialize};

pub use super::blocks::{BLOCK, Distinct};
use super::blocks::{BLOCK_SHIFT, key, salt};
use super::reach::reach;
use super::sketch::Sketch;
use crate::series::{Join, Series};
use crate::{Io, Kind};
use touched::Touched;
use updates::Rewrites;
pub use updates::Updates;

/// Most windows. A window begins as 1.024 µs and doubles whenever there would be more.
pub const WINDOWS_MAX: usize = 64;
const FIRST_NS: u64 = 1 << 10;

/// Different blocks of a window, counted to 1.6%.
type Window = Sketch<12>;

/// Different bytes in one window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSet {
    /// About how many, to [`WorkingSetBody::window_error`].
    #[serde(flatten)]
    pub distinct: Distinct,
    /// Of all, those that no I/O had touched before; `None` where that is not known any more.
    pub new_bytes: Option<u64>,
}

/// How much of the address space a trace works on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkingSetBody {
    /// [`BLOCK`].
    pub block_bytes: u64,
    /// Different bytes of the whole trace.
    #[serde(flatten)]
    pub distinct: Distinct,
    /// True when these were counted; else they are estimated, to `error`.
    pub exact: bool,
    /// Standard error of them, relative; 0 where they are exact.
    pub error: f64,
    /// Length of a window; the first begins at the first arrival.
    pub window_ns: u64,
    /// Relative standard error of the figures of windows.
    pub window_error: f64,
    /// From the first arrival to the last.
    pub windows: Vec<WindowSet>,
    /// How soon blocks are written again.
    pub updates: Updates,
}

/// Watches which blocks are touched. Memory: 1 KiB for each 16 MiB of address space that is touched, at most 134 MiB
/// (2 TiB touched everywhere, or 131,072 places far apart), then 48 KiB instead; beside it 0.5 MiB for windows and at
/// most 2.5 MiB for updates.
#[derive(Clone, Debug)]
pub struct WorkingSet {
    touched: Touched,
    rewrites: Rewrites,
    windows: Series<Cell>,
    last: u64,
    /// The instant from which on it is not known what is new.
    forgot: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    read: Window,
    written: Window,
    fresh: u64,
}

impl Default for WorkingSet {
    fn default() -> Self {
        WorkingSet::new()
    }
}

impl WorkingSet {
    /// Nothing seen.
    pub fn new() -> WorkingSet {
        WorkingSet::with_chunks(touched::CHUNKS_MAX)
    }

    /// Nothing seen, with room for `chunks` stretches of 16 MiB in which blocks are counted one by one, instead of
    /// 131,072. A stretch takes 1 KiB.
    pub fn with_chunks(chunks: usize) -> WorkingSet {
        WorkingSet {
            touched: Touched::new(chunks),
            rewrites: Rewrites::new(),
            windows: Series::new(0, FIRST_NS, WINDOWS_MAX),
            last: 0,
            forgot: None,
        }
    }

    /// Notes a transfer.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let Some((first, last)) = reach(io) else { return };
        self.last = self.last.max(io.arrival.0);
        let write = io.kind == Kind::Write;
        let (first, last) = (first >> BLOCK_SHIFT, last >> BLOCK_SHIFT);
        let salt = salt(io.space);
        let fresh = self.touched.touch(io.space, first, last, write);
        if self.touched.estimates() {
            self.touched.sketch(salt, first, last, write);
            self.forgot.get_or_insert(self.last);
        }
        let at = self.last;
        let cell = self.windows.cell(at);
        cell.fresh += fresh;
        for block in first..=last {
            let key = key(salt, block);
            if write {
                cell.written.add(key);
                self.rewrites.write(key, at);
            } else {
                cell.read.add(key);
            }
        }
    }

    /// Returns the result.
    pub fn finish(&self) -> WorkingSetBody {
        let window_ns = self.windows.step();
        let windows = (1u64..).zip(self.windows.cells()).map(|(index, cell)| {
            let known = self.forgot.is_none_or(|forgot| index.saturating_mul(window_ns) <= forgot);
            WindowSet {
                distinct: cell.distinct(),
                new_bytes: known.then(|| cell.fresh.saturating_mul(BLOCK)),
            }
        });
        WorkingSetBody {
            block_bytes: BLOCK,
            distinct: self.touched.distinct(),
            exact: !self.touched.estimates(),
            error: if self.touched.estimates() { touched::error() } else { 0.0 },
            window_ns,
            window_error: Window::error(),
            windows: windows.collect(),
            updates: self.rewrites.finish(self.touched.rewritten()),
        }
    }
}

impl Join for Cell {
    fn join(&mut self, behind: Cell) {
        self.read.merge(&behind.read);
        self.written.merge(&behind.written);
        self.fresh += behind.fresh;
    }
}

impl Cell {
    fn distinct(&self) -> Distinct {
        let mut both = self.read.clone();
        both.merge(&self.written);
        let bytes = |sketch: &Window| sketch.count().saturating_mul(BLOCK);
        Distinct {
            read_bytes: bytes(&self.read),
            written_bytes: bytes(&self.written),
            total_bytes: bytes(&both),
        }
    }
}
