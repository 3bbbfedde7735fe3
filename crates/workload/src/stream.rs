//! Sequence of accesses: offsets and operations of one submitter.
//!
//! A submitter has one cursor, whatever its queue depth: the next access depends on the one issued
//! before, never on the one that has completed. (With a cursor per outstanding operation each block
//! is transferred as often as the queue is deep, and what is measured is the drive's cache. Some testers have that
//! defect; [`Cursors::Slot`] is there to show it.)

mod draw;
mod stride;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{Bytes, Op};

use crate::permutation::Permutation;
use crate::plan::{Address, Cursors, OpShare, Phase, Region, Share, Step};
use crate::rng::{Rng, purpose};
use draw::Draw;
use stride::Stride;

/// One access to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The operation.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
    /// Offset in bytes from the target's beginning; zero for a flush.
    pub offset: Bytes,
    /// Length; zero for a flush.
    pub len: Bytes,
}

impl Default for Access {
    /// A flush, which touches no data: what a buffer of accesses holds before it is filled.
    fn default() -> Access {
        Access { op: Op::Flush, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO }
    }
}

/// State shared by the submitters of one run of a step: the cursors of phases with [`Share::Cursor`].
#[derive(Debug)]
pub struct SharedCursors {
    /// One per phase; a phase that continues another uses that one's.
    cursors: Vec<SharedCursor>,
}

/// Alone in its cache line, with the neighbour that prefetchers bring along: every submitter writes it.
#[repr(align(128))]
#[derive(Debug)]
struct SharedCursor {
    /// Block that the cursor began at.
    start: u64,
    /// Blocks taken since.
    taken: AtomicU64,
}

impl SharedCursor {
    /// Takes the next `blocks`; returns how many were taken before.
    fn take(&self, blocks: u64) -> u64 {
        self.taken.fetch_add(blocks, Ordering::Relaxed)
    }
}

impl SharedCursors {
    /// The shared cursors of a run of `step` in `region`, which is absolute: what
    /// [`Plan::fit`](crate::plan::Plan::fit) returned. `run_seed` is [`Slot::seed`](crate::schedule::Slot::seed).
    pub fn new(step: &Step, region: Region, run_seed: u64) -> SharedCursors {
        let cursors = step.phases.iter().enumerate().map(|(index, phase)| {
            let slots = blocks_of(phase, region).1;
            let (start, taken) = match phase.address {
                Address::Onward { from } => (from.checked_rem(slots).unwrap_or(0), 0),
                Address::Permutation { from, .. } => (0, from),
                Address::Strided { .. } => (0, 0),
                _ => {
                    let path = [purpose::START, index as u64, u64::MAX];
                    (Rng::for_path(run_seed, &path).below(slots), 0)
                }
            };
            SharedCursor { start, taken: AtomicU64::new(taken) }
        });
        SharedCursors { cursors: cursors.collect() }
    }
}

/// The order of a pass over `slots` blocks.
fn order_of(slots: u64, seed: u64, pass: u64, replayed: bool) -> Permutation {
    let pass = if replayed { 0 } else { pass };
    Permutation::new(slots, Rng::for_path(seed, &[purpose::PASS, pass]))
}

/// Offset of `phase` on the target, and its count of whole blocks.
fn blocks_of(phase: &Phase, region: Region) -> (u64, u64) {
    let (offset, length) = match phase.region {
        Some(part) => (region.offset + part.offset, part.length),
        None => (region.offset, region.length),
    };
    (offset.0, length.0.checked_div(phase.block.0).unwrap_or(0))
}

/// The blocks of submitter `n` of `count` among `slots`: `[begin, end)`. Parts differ by at most one
/// block and cover all of them.
fn partition(slots: u64, n: u16, count: u16) -> (u64, u64) {
    let cut = |n: u64| (u128::from(slots) * u128::from(n) / u128::from(count.max(1))) as u64;
    let n = u64::from(n);
    (cut(n).min(slots), cut(n + 1).min(slots))
}

/// Accesses of a phase, with everything that does not change worked out.
#[derive(Debug)]
struct Form {
    /// The phase whose cursors and streams this one uses: itself, or the first of those it continues.
    origin: usize,
    block: Bytes,
    /// Offset of block 0 on the target, in bytes.
    base: u64,
    slots: u64,
    /// Places of a distance of their own.
    places: u64,
    /// Last place at which a block fits, in bytes on the target.
    last: u64,
    address: Address,
    /// How addresses are drawn, where zones or sizes are too.
    draw: Option<Draw>,
    mix: Mix,
}

#[derive(Debug)]
enum Mix {
    One(Op, bool),
    /// The operation for each hundredth.
    Many(Box<[(Op, bool); 100]>),
}

impl Mix {
    fn new(ops: &[OpShare]) -> Mix {
        if let [only] = ops {
            return Mix::One(only.op, only.fua);
        }
        let mut table = [(Op::Flush, false); 100];
        let shares = ops.iter().flat_map(|o| std::iter::repeat_n(*o, usize::from(o.percent)));
        for (entry, share) in table.iter_mut().zip(shares) {
            *entry = (share.op, share.fua);
        }
        Mix::Many(Box::new(table))
    }
}

/// Source of the next address.
#[derive(Debug)]
enum Cursor {
    /// Goes around `begin..end`.
    Own { begin: u64, end: u64, next: u64 },
    /// Takes from the shared cursor of this phase.
    Shared { origin: usize },
    /// Takes places in orders from the shared cursor of this phase.
    Permuted { origin: usize, pass: u64, order: Permutation },
    /// Draws.
    Random(Rng),
    /// Draws in zones, or sizes too.
    Drawn { rng: Rng, draw: Box<Draw> },
    /// Draws multiples of a distance.
    Aligned { rng: Rng, align: u64 },
    /// Goes on by a distance.
    Strided(Stride),
    /// Takes places at a distance from the shared cursor of this phase.
    StridedShared { origin: usize, stride: u64 },
    /// Goes on by a distance from what completed at the same place in the queue.
    BySlot(Box<[Stride]>),
}

/// The accesses of one submitter in one run of a step. Endless, and the same for the same arguments;
/// only with [`Share::Cursor`] do they depend on what the other submitters took.
#[derive(Debug)]
pub struct Stream {
    forms: Box<[Form]>,
    phase: usize,
    submitter: u16,
    submitters: u16,
    depth: u16,
    run_seed: u64,
    cursor: Cursor,
    ops: Rng,
    shared: Arc<SharedCursors>,
}

impl Stream {
    /// The accesses of `submitter` (below `step.submitters`), at the beginning of the step's first
    /// phase. `region`, `run_seed` and `shared` are those of [`SharedCursors::new`].
    ///
    /// The step is one that [`Plan::check`](crate::plan::Plan::check) and
    /// [`Plan::fit`](crate::plan::Plan::fit) have passed. Of one that they refuse no access leaves
    /// the region either: a phase without a whole block per submitter has accesses of length zero.
    ///
    /// # Panics
    /// When the step has no phase.
    pub fn new(
        step: &Step,
        region: Region,
        submitter: u16,
        run_seed: u64,
        shared: Arc<SharedCursors>,
    ) -> Stream {
        let mut forms: Vec<Form> = Vec::with_capacity(step.phases.len());
        for (index, phase) in step.phases.iter().enumerate() {
            let (base, slots) = blocks_of(phase, region);
            let length = phase.region.map_or(region.length, |part| part.length);
            let origin = match index.checked_sub(1) {
                Some(before) if phase.continues(&step.phases[before]) => forms[before].origin,
                _ => index,
            };
            forms.push(Form {
                origin,
                block: phase.block,
                base,
                slots,
                places: phase.address.places(length, phase.block).unwrap_or(0),
                last: base + length.0.saturating_sub(phase.block.0),
                address: phase.address,
                draw: Draw::new(phase, (base, slots * phase.block.0)),
                mix: Mix::new(&phase.ops),
            });
        }
        let mut stream = Stream {
            forms: forms.into_boxed_slice(),
            phase: 0,
            submitter,
            submitters: step.submitters,
            depth: step.depth_max(),
            run_seed,
            cursor: Cursor::Shared { origin: 0 },
            ops: Rng::for_path(run_seed, &[]),
            shared,
        };
        stream.begin(0);
        stream
    }

    /// Goes to the phase of this index. Where it continues the phase before
    /// ([`Phase::continues`]), so do cursor and random streams, with no block skipped or repeated:
    /// accesses that [`Stream::fill`] gave and that were not issued yet are still to be issued.
    /// Otherwise everything begins afresh. Entering the current phase again changes nothing.
    ///
    /// # Panics
    /// When the step has no such phase.
    pub fn enter(&mut self, phase_index: usize) {
        if self.forms[phase_index].origin != self.forms[self.phase].origin {
            self.begin(phase_index);
        }
        self.phase = phase_index;
    }

    fn begin(&mut self, index: usize) {
        let form = &self.forms[index];
        let path = |purpose| [purpose, form.origin as u64, u64::from(self.submitter)];
        let rng = |purpose| Rng::for_path(self.run_seed, &path(purpose));
        self.cursor = match form.address {
            Address::Random | Address::Zoned { .. } => match &form.draw {
                None => Cursor::Random(rng(purpose::ADDRESS)),
                Some(draw) => {
                    Cursor::Drawn { rng: rng(purpose::ADDRESS), draw: Box::new(draw.clone()) }
                }
            },
            Address::Sequential { share: Share::Cursor } | Address::Onward { .. } => {
                Cursor::Shared { origin: form.origin }
            }
            Address::Aligned { align, alike } => {
                let whose = if alike { 0 } else { self.submitter };
                let path = [purpose::ADDRESS, form.origin as u64, u64::from(whose)];
                Cursor::Aligned { rng: Rng::for_path(self.run_seed, &path), align: align.0 }
            }
            Address::Strided { stride, cursors: Cursors::Shared, .. } => {
                Cursor::StridedShared { origin: form.origin, stride: stride.0 }
            }
            Address::Strided { stride, apart, cursors } => {
                let begin = form.base + u64::from(self.submitter).saturating_mul(apart.0);
                let mut first = Stride::new(begin, stride.0, form.last);
                match cursors {
                    Cursors::Slot => {
                        let slots = (0..self.depth).map(|_| first.split());
                        Cursor::BySlot(slots.collect())
                    }
                    _ => Cursor::Strided(first),
                }
            }
            Address::Permutation { seed, from, replayed } => {
                let pass = from.checked_div(form.slots).unwrap_or(0);
                let order = order_of(form.slots, seed, pass, replayed);
                Cursor::Permuted { origin: form.origin, pass, order }
            }
            Address::Sequential { share: Share::Partition } => {
                let (begin, end) = partition(form.slots, self.submitter, self.submitters);
                let next = begin + rng(purpose::START).below(end.saturating_sub(begin));
                Cursor::Own { begin, end, next }
            }
        };
        self.ops = rng(purpose::OPS);
    }

    /// Writes the next accesses, one for each element of `out`. Nothing is allocated.
    ///
    /// Of a shared cursor, one call takes neighbouring blocks for all of `out` at once: the fewer
    /// accesses a call asks for, the finer the submitters' accesses interleave.
    pub fn fill(&mut self, out: &mut [Access]) {
        self.fill_for(0, out);
    }

    /// As [`Stream::fill`], for this place in the queue: it matters where [`Address::is_by_slot`].
    pub fn fill_for(&mut self, slot: u16, out: &mut [Access]) {
        let form = &self.forms[self.phase];
        let transfers = match &form.mix {
            Mix::One(op, fua) => {
                let access = blank(*op, *fua, form);
                out.fill(access);
                if *op == Op::Flush { 0 } else { out.len() as u64 }
            }
            Mix::Many(table) => {
                let mut transfers = 0;
                for access in out.iter_mut() {
                    let (op, fua) = table[self.ops.below(100) as usize];
                    *access = blank(op, fua, form);
                    transfers += u64::from(op != Op::Flush);
                }
                transfers
            }
        };
        let bytes = |index: u64| Bytes(form.base + index * form.block.0);
        let addressed = out.iter_mut().filter(|a| a.op != Op::Flush);
        match &mut self.cursor {
            Cursor::Random(rng) if form.slots > 0 => {
                addressed.for_each(|a| a.offset = bytes(rng.below(form.slots)));
            }
            Cursor::Own { begin, end, next } if *begin < *end => {
                addressed.for_each(|a| {
                    a.offset = bytes(*next);
                    *next = if *next + 1 == *end { *begin } else { *next + 1 };
                });
            }
            Cursor::Shared { origin } if form.slots > 0 => {
                let cursor = &self.shared.cursors[*origin];
                let taken = cursor.take(transfers) % form.slots;
                let to_end = form.slots - cursor.start;
                let mut next = if taken < to_end { cursor.start + taken } else { taken - to_end };
                addressed.for_each(|a| {
                    a.offset = bytes(next);
                    next = if next + 1 == form.slots { 0 } else { next + 1 };
                });
            }
            Cursor::Permuted { origin, pass, order } if form.slots > 0 => {
                let taken = self.shared.cursors[*origin].take(transfers);
                addressed.zip(taken..).for_each(|(a, place)| {
                    if place / form.slots != *pass {
                        *pass = place / form.slots;
                        if let Address::Permutation { seed, replayed, .. } = form.address {
                            *order = order_of(form.slots, seed, *pass, replayed);
                        }
                    }
                    a.offset = bytes(order.at(place % form.slots));
                });
            }
            Cursor::Drawn { rng, draw } if form.slots > 0 => {
                addressed.for_each(|a| (a.offset, a.len) = draw.next(rng));
            }
            Cursor::Aligned { rng, align } if form.places > 0 => {
                addressed
                    .for_each(|a| a.offset = Bytes(form.base + rng.below(form.places) * *align));
            }
            Cursor::Strided(cursor) if form.places > 0 && cursor.fits() => {
                addressed.for_each(|a| a.offset = Bytes(cursor.next()));
            }
            Cursor::StridedShared { origin, stride } if form.places > 0 => {
                let taken = self.shared.cursors[*origin].take(transfers);
                addressed.zip(taken..).for_each(|(a, place)| {
                    a.offset = Bytes(form.base + place % form.places * *stride);
                });
            }
            Cursor::BySlot(cursors) if form.places > 0 && cursors.iter().all(Stride::fits) => {
                let slot = usize::from(slot).min(cursors.len().saturating_sub(1));
                addressed.for_each(|a| a.offset = Bytes(cursors[slot].next()));
            }
            _ => addressed.for_each(|a| (a.offset, a.len) = (Bytes(form.base), Bytes::ZERO)),
        }
    }
}

fn blank(op: Op, fua: bool, form: &Form) -> Access {
    let len = if op == Op::Flush { Bytes::ZERO } else { form.block };
    Access { op, fua, offset: Bytes::ZERO, len }
}
