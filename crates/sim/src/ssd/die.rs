//! A die: what it does now, and what waits for it.

use std::collections::VecDeque;

use super::ftl::{Ftl, Stream};

/// No request.
pub(super) const NOBODY: u32 = u32::MAX;

/// Programs that a die takes the data of while it is busy: one in its cache register and one on its way.
const STAGED_MAX: usize = 2;

/// A row of pages is read for the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowRead {
    pub(super) request: u32,
    pub(super) row: u32,
    /// Bytes of it that the host wants.
    pub(super) bytes: u32,
    pub(super) page: Page,
}

/// Type of a page, on which its times depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// Of cells with all bits: which of them.
    Bit(u8),
    /// Of cells with one bit.
    Single,
}

/// A row of pages is programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    pub(super) page: Page,
    pub(super) from: Source,
}

/// Source of a program's data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// The host's.
    Host {
        /// Units of the write buffer that it frees.
        units: u32,
        /// The request that waits for it, or [`NOBODY`].
        waiter: u32,
        /// Number of the epoch, which a flush closes.
        epoch: u64,
    },
    /// The collection's.
    Moves,
}

/// Work that the drive gives to a die, in this order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Program(Program),
    /// Reads `units` units of a row, to move them.
    Fetch {
        page: Page,
        units: u32,
    },
    Erase,
}

/// Current work of a die.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    Nothing,
    Read(RowRead),
    Program(Program),
    Fetch { units: u32 },
    Erase,
}

/// A row that fills in memory until it is programmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) row: u32,
    pub(super) units: u32,
    pub(super) waiter: u32,
}

impl Open {
    const NONE: Open = Open { row: 0, units: 0, waiter: NOBODY };
}

/// Storage of a die's units.
#[derive(Debug)]
pub(super) enum Keeping {
    Log(Box<Ftl>),
    /// Each in the slot of its own number.
    InPlace,
}

/// A die.
#[derive(Debug)]
pub(super) struct Die {
    pub(super) keeping: Keeping,
    pub(super) doing: Doing,
    /// Reads of the host.
    pub(super) reads: VecDeque<RowRead>,
    /// Reads that went before a program since the last one.
    pub(super) reads_in_a_row: u32,
    pub(super) work: VecDeque<Work>,
    /// Programs whose data is on its way or here, and whether it is here.
    pub(super) staged: VecDeque<(Program, bool)>,
    /// Rows that the host or the collection filled and that are not programmed yet, oldest first.
    pub(super) rows: VecDeque<u32>,
    open: [Open; 2],
    /// The row that the collection fills, when it is not full.
    pub(super) moving: Option<u32>,
    /// The row that was last read to be moved; nothing of it was written since.
    pub(super) fetched: Option<u32>,
    /// The row in the page register.
    pub(super) register: Option<u32>,
}

fn index(stream: Stream) -> usize {
    match stream {
        Stream::Main => 0,
        Stream::Slc => 1,
    }
}

impl Die {
    pub(super) fn new(keeping: Keeping) -> Die {
        Die {
            keeping,
            doing: Doing::Nothing,
            reads: VecDeque::new(),
            reads_in_a_row: 0,
            work: VecDeque::new(),
            staged: VecDeque::new(),
            rows: VecDeque::new(),
            open: [Open::NONE; 2],
            moving: None,
            fetched: None,
            register: None,
        }
    }

    /// The slot of a unit; `None` when it holds nothing.
    #[inline]
    pub(super) fn slot(&self, unit: u32) -> Option<u32> {
        match &self.keeping {
            Keeping::Log(ftl) => ftl.slot(unit),
            Keeping::InPlace => Some(unit),
        }
    }

    #[inline]
    pub(super) fn open(&mut self, stream: Stream) -> &mut Open {
        &mut self.open[index(stream)]
    }

    /// Takes the open row, which is programmed now.
    #[inline]
    pub(super) fn close(&mut self, stream: Stream) -> Open {
        std::mem::replace(&mut self.open[index(stream)], Open::NONE)
    }

    /// The stream whose open row this is.
    #[inline]
    pub(super) fn opened(&self, row: u32) -> Option<Stream> {
        [Stream::Main, Stream::Slc].into_iter().find(|&stream| {
            let open = &self.open[index(stream)];
            open.units > 0 && open.row == row
        })
    }

    /// Units of the host in rows that are not full.
    pub(super) fn open_units(&self) -> u32 {
        self.open[0].units + self.open[1].units
    }

    /// True when memory still has what `row` holds or will hold.
    #[inline]
    pub(super) fn in_memory(&self, row: u32) -> bool {
        self.opened(row).is_some() || self.moving == Some(row) || self.rows.contains(&row)
    }

    /// A program whose data may cross the channel now. What the collection fetched must have left the die first.
    pub(super) fn stage(&mut self) -> Option<Program> {
        let Some(&Work::Program(program)) = self.work.front() else { return None };
        let moves = matches!(program.from, Source::Moves);
        let fetching = matches!(self.doing, Doing::Fetch { .. });
        if self.staged.len() >= STAGED_MAX || (moves && fetching) {
            return None;
        }
        self.work.pop_front();
        Some(program)
    }

    /// Whether the data of the oldest staged program is here.
    pub(super) fn is_ready(&self) -> bool {
        self.staged.front().is_some_and(|(_, here)| *here)
    }

    /// The data of the oldest program that waits for it is here.
    pub(super) fn arrived(&mut self) {
        if let Some((_, here)) = self.staged.iter_mut().find(|(_, here)| !here) {
            *here = true;
        }
    }
}
