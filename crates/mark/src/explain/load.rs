//! A load as every reader of commands makes it, whatever the program: what is predicted follows from this alone.

use block::Nanos;
use stats::Caveat;

use super::explained::{Order, Way};

/// I/O of one job of a command.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// Its name in the command, or the program's.
    pub name: String,
    /// Loads of one group run at the same time.
    pub group: u32,
    /// Files or devices, as named.
    pub targets: Vec<String>,
    /// Files that each copy goes over, at least 1.
    pub files: u64,
    /// Each copy has files of its own.
    pub own_files: bool,
    /// Threads or processes that do the same, at least 1.
    pub copies: u64,
    /// Sizes of transfers with their shares in percent; one at least.
    pub blocks: Vec<(u64, f64)>,
    /// Share of reads in percent, of the I/Os.
    pub read_percent: u8,
    /// Share of the bytes that are read, where it is known to be another than that of the I/Os.
    pub read_share: Option<f64>,
    /// Reads and writes of a mix have a cursor each, which begin at the same place.
    pub cursor_each: bool,
    /// Written data is read back once.
    pub reads_back: bool,
    /// Access pattern.
    pub order: Order,
    /// Bytes of each file that a copy goes over; none where the target's size decides.
    pub span: Option<u64>,
    /// Offset of the first copy's span.
    pub offset: u64,
    /// The last transfer of a pass may be a short one.
    pub short_end: bool,
    /// Cursors of each copy, at least 1, that go through the same steps; those without gaps are an order of their own.
    pub cursors: u64,
    /// No copy goes beyond this many bytes from where the first begins.
    pub limit: Option<u64>,
    /// From where one copy begins to where the next does.
    pub increment: u64,
    /// Bytes after which a copy ends, over all its passes.
    pub bytes: Option<u64>,
    /// Time after which a copy ends, without the warm-up.
    pub time: Option<Nanos>,
    /// Load before the measured time.
    pub warm_up: Nanos,
    /// Bytes per second of a copy, at most.
    pub rate: Option<f64>,
    /// I/Os outstanding per copy: as named, and as come about.
    pub depth: (u64, u64),
    /// Through which caches.
    pub way: Way,
    /// Copies draw the same random addresses.
    pub alike: bool,
    /// Each invocation draws the same random addresses.
    pub same_each_time: bool,
    /// When what was written is made durable.
    pub durable: Durable,
    /// Content of the writes.
    pub content: Content,
    /// A missing file is written before.
    pub laid_out: bool,
    /// Doubts from the reader of the command.
    pub doubts: Vec<Caveat>,
}

/// When what was written is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durable {
    /// Never, or after the time was taken.
    No,
    /// Each write is when it completes.
    Each,
    /// After this many writes, by a flush.
    Every(u64),
    /// Once, within the time that is taken.
    AtEnd,
}

/// Content of the writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Bytes that neither compress nor repeat.
    Random,
    /// Zeros.
    Zeros,
    /// The same few bytes, or the same buffer, over and over.
    Repeated,
    /// Shares that compress away and that repeat, in percent.
    Shares(u8, u8),
    /// Data from another source.
    Unknown,
}

impl Load {
    /// One thread that reads a target in order through the page cache until its end.
    pub(super) fn new(name: &str, block: u64) -> Load {
        Load {
            name: name.to_owned(),
            group: 0,
            targets: Vec::new(),
            files: 1,
            own_files: false,
            copies: 1,
            blocks: vec![(block, 100.0)],
            read_percent: 100,
            read_share: None,
            cursor_each: false,
            reads_back: false,
            order: Order::Sequential,
            span: None,
            offset: 0,
            short_end: false,
            cursors: 1,
            limit: None,
            increment: 0,
            bytes: None,
            time: None,
            warm_up: Nanos::ZERO,
            rate: None,
            depth: (1, 1),
            way: Way::PageCache,
            alike: false,
            same_each_time: false,
            durable: Durable::No,
            content: Content::Random,
            laid_out: false,
            doubts: Vec::new(),
        }
    }

    pub(super) fn block_min(&self) -> u64 {
        self.blocks.iter().map(|(block, _)| *block).min().unwrap_or(1).max(1)
    }

    pub(super) fn block_max(&self) -> u64 {
        self.blocks.iter().map(|(block, _)| *block).max().unwrap_or(1).max(1)
    }

    /// The one size of all transfers.
    pub(super) fn block(&self) -> Option<u64> {
        let (min, max) = (self.block_min(), self.block_max());
        (min == max).then_some(max)
    }

    pub(super) fn block_mean(&self) -> f64 {
        let share: f64 = self.blocks.iter().map(|(_, share)| share).sum();
        let sum: f64 = self.blocks.iter().map(|(block, share)| *block as f64 * share).sum();
        if share > 0.0 { (sum / share).max(1.0) } else { 1.0 }
    }

    /// Copies that go over the same file.
    pub(super) fn sharers(&self) -> u64 {
        if self.own_files { 1 } else { self.copies }
    }

    pub(super) fn reads(&self) -> bool {
        self.read_percent > 0
    }

    pub(super) fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// Bytes of one pass of a copy: whole blocks of each file that has a share in it.
    pub(super) fn pass(&self) -> Option<u64> {
        let span = self.span?;
        let per_file = match (self.order, self.block()) {
            (Order::SameBlock, _) => self.block_max(),
            (Order::Strided { step_bytes }, Some(block)) => {
                span.div_ceil(step_bytes.max(1)).saturating_mul(block)
            }
            (Order::RandomFree { align_bytes }, Some(block)) => {
                let slots =
                    span.saturating_sub(block) / align_bytes.max(1) + u64::from(span >= block);
                // Neighbours overlap where the alignment is finer than the block.
                slots.saturating_mul(block.min(align_bytes)).min(span)
            }
            (Order::Sequential, Some(_)) if self.short_end => span,
            (_, Some(block)) => span / block * block,
            (_, None) => span,
        };
        Some(per_file.saturating_mul(self.files))
    }

    /// Different bytes that all copies together may touch.
    pub(super) fn reach(&self) -> Option<u64> {
        let pass = self.pass()?;
        let sharers = self.sharers();
        let span = self.span.unwrap_or(0).max(1);
        let others =
            (sharers - 1).saturating_mul(self.increment.min(span).saturating_mul(self.files));
        // Copies that begin further on reach as much further; with gaps of the pattern in it, in their share.
        let others = (others as f64 * (pass as f64 / (span as f64 * self.files as f64))) as u64;
        let all = pass.saturating_add(others).min(self.limit.unwrap_or(u64::MAX));
        Some(if self.own_files { all.saturating_mul(self.copies) } else { all })
    }
}
