#![expect(
    unsafe_code,
    reason = "buffers that the kernel writes to live outside Rust's borrow rules"
)]
//! The buffers of one drive, and who holds each of them.

use std::io;
use std::ptr::NonNull;

use block::{Bytes, Time};
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::drive::shelf::{Block, Shelf};

/// The slot is free.
const FREE: u64 = u64::MAX;
/// A request for the slot was taken; its buffer is still ours to fill.
const CLAIMED: u64 = u64::MAX - 1;
/// The buffer is the kernel's, since a moment not yet stamped.
const LENT: u64 = u64::MAX - 2;

/// A request that a drive must not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// The slot is not below the depth that was set up.
    NoSuchSlot,
    /// The slot's earlier request has not completed.
    Outstanding,
    /// The transfer does not fit the buffer that was set up.
    TooLong,
    /// A write, where the step said that it would not write.
    NoPayload,
    /// There is no memory for it before another has completed.
    NoRoom,
}

/// A buffer that is the kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent {
    /// Address of its first byte.
    pub address: *mut u8,
    /// Index into [`Slots::iovecs`].
    pub index: u16,
}

/// One buffer a slot, in a single mapping, and the state of each; and on request one buffer more, which is
/// always ours, to fill while all others are the kernel's, and is then exchanged for a slot's.
///
/// Where that would be more memory than may be had, the slots have a shelf in common: a slot has a buffer, as long as
/// its transfer asks for, from its claim until its end.
///
/// A slot is free, claimed (taken, its buffer still ours), or lent (the kernel may read or write its
/// buffer at any moment). Only [`Slots::take_back`] ends a loan, so safe code cannot reach a buffer
/// in flight. Dropping it unmaps the buffers: the owner must not do so while one is lent and the
/// kernel has really been entered with it.
pub(crate) struct Slots {
    mapping: NonNull<u8>,
    mapping_len: usize,
    first: NonNull<u8>,
    /// The longest transfer.
    stride: usize,
    /// Length of a unit of places.
    unit: usize,
    /// Place of each slot's buffer.
    places: Box<[Place]>,
    /// Place of the spare buffer, which belongs to no slot.
    spare: Option<Place>,
    /// Allocator of places, when slots do not own theirs permanently.
    shelf: Option<Shelf>,
    /// Length of one buffer as it is registered with the kernel, and of all.
    registered: usize,
    total: usize,
    /// [`FREE`], [`CLAIMED`], [`LENT`], or the instant that the loan began. One word a slot, so that
    /// the loop touches one cache line where a state and a stamp would be two.
    state: Box<[u64]>,
}

/// A stretch of the mapping: 2^order units.
type Place = Block;

/// The place of a slot that has none.
const NOWHERE: Place = Place { start: 0, order: u8::MAX };

// SAFETY: the mapping is owned by this value alone; no thread-local state is attached to it.
unsafe impl Send for Slots {}

impl Slots {
    /// Maps `depth` buffers of `len` bytes, and one more if `spare` is set, each aligned to `align` and to
    /// a page; or, where they were longer than `most` together, what fits that, but never less than two of the longest.
    ///
    /// The pages are not touched yet: that is [`Slots::touch`]'s work, on the thread that will use
    /// them, so that they come from its memory node.
    pub fn new(
        depth: u16,
        spare: bool,
        (len, most): (Bytes, Bytes),
        align: Bytes,
    ) -> io::Result<Slots> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let len = usize::try_from(len.0).map_err(|_| too_large())?;
        let page = rustix::param::page_size().max(4096);
        let align = usize::try_from(align.0).map_err(|_| too_large())?.max(page);
        if !align.is_power_of_two() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let stride = len.max(1).checked_next_multiple_of(align).ok_or_else(too_large)?;
        let count = usize::from(depth).max(1) + usize::from(spare);
        let whole = stride.checked_mul(count);
        if whole.is_some_and(|whole| whole as u64 <= most.0) {
            let places = (0..).map(|start| Place { start, order: 0 });
            let mut slots = Slots::map(depth, (stride, stride, count), align)?;
            slots.places = places.take(usize::from(depth)).collect();
            slots.spare = spare.then_some(Place { start: u32::from(depth), order: 0 });
            return Ok(slots);
        }
        // The kernel transfers less than 2 GiB at once.
        let units = Some(stride / align).filter(|units| *units <= 1 << 20).ok_or_else(too_large)?;
        let order = Shelf::order(units);
        let longest = align.checked_mul(1 << order).ok_or_else(too_large)?;
        let count = usize::try_from(most.0).unwrap_or(usize::MAX) / longest;
        let count = u32::try_from(count.max(2)).map_err(|_| too_large())?;
        count.checked_mul(1 << order).ok_or_else(too_large)?;
        let mut slots = Slots::map(depth, (stride, longest, count as usize), align)?;
        slots.unit = align;
        slots.shelf = Some(Shelf::new(order, count));
        Ok(slots)
    }

    /// Maps `count` buffers of `registered` bytes, for transfers of up to `stride`.
    fn map(
        depth: u16,
        (stride, registered, count): (usize, usize, usize),
        align: usize,
    ) -> io::Result<Slots> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let total = registered.checked_mul(count).ok_or_else(too_large)?;
        let mapping_len = total.checked_add(align).ok_or_else(too_large)?;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice aliases nothing.
        let address = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                mapping_len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let mapping = NonNull::new(address.cast::<u8>()).ok_or_else(too_large)?;
        // SAFETY: the offset is below `align`, and the mapping is that much longer than `total`.
        let first = unsafe { mapping.add(mapping.as_ptr().align_offset(align)) };
        let state = vec![FREE; usize::from(depth)].into_boxed_slice();
        let places = vec![NOWHERE; usize::from(depth)].into_boxed_slice();
        let (unit, spare, shelf) = (registered, None, None);
        let slots = Slots {
            mapping,
            mapping_len,
            first,
            stride,
            unit,
            places,
            spare,
            shelf,
            registered,
            total,
            state,
        };
        // A child process (smartctl, nvme) must not share pages that the kernel writes to.
        // SAFETY: advice on our own mapping, whose content it does not change here.
        let _ = unsafe { rustix::mm::madvise(address, mapping_len, Advice::LinuxDontFork) };
        // Small pages always, as most programs have: a device takes a transfer in as many requests as
        // its limit of segments asks for, a huge page is one segment, and buffers that fill one at
        // depth 8 and not at depth 1 would make a difference that no drive has.
        // SAFETY: advice on our own mapping, whose content it does not change.
        let _ = unsafe { rustix::mm::madvise(address, mapping_len, Advice::LinuxNoHugepage) };
        Ok(slots)
    }

    /// Makes every page present, so that no page fault falls into a measurement; a direct read into
    /// a page that is not yet there has been seen to go through the page cache on Btrfs.
    pub fn touch(&mut self) {
        if self.state.iter().any(|&state| state != FREE) {
            return;
        }
        for at in (0..self.total).step_by(4096) {
            // SAFETY: `at` is inside the buffers, and no slot is lent, so nothing else accesses them. Volatile, or the
            // compiler may drop a write that is never read.
            unsafe { self.first.add(at).write_volatile(0) };
        }
        // Locking is often beyond an ordinary user's limit. Pages just touched stay unless memory is
        // short, so a refusal is not worth a word.
        // SAFETY: the range lies in our mapping; locking does not change its content.
        let _ = unsafe { rustix::mm::mlock(self.first.as_ptr().cast(), self.total) };
    }

    /// Count of slots.
    pub fn depth(&self) -> u16 {
        self.state.len() as u16
    }

    /// True when there is memory for a transfer of `len`; also when it is too long in any case, which [`Slots::claim`]
    /// reports.
    #[inline]
    pub fn has_room(&self, len: Bytes) -> bool {
        let order = || Shelf::order((len.0 as usize).div_ceil(self.unit));
        let fits = |shelf: &Shelf| shelf.has(order());
        len == Bytes::ZERO || len.0 > self.stride as u64 || self.shelf.as_ref().is_none_or(fits)
    }

    /// Takes a place for `len` bytes from the shelf, if there is one.
    #[inline]
    fn place(&mut self, len: Bytes) -> Option<Place> {
        if len == Bytes::ZERO {
            return Some(NOWHERE);
        }
        let order = Shelf::order((len.0 as usize).div_ceil(self.unit));
        self.shelf.as_mut()?.take(order)
    }

    /// Gives a place back to the shelf, if there is one.
    #[inline]
    fn put_back(&mut self, place: Place) {
        if let Some(shelf) = self.shelf.as_mut().filter(|_| place != NOWHERE) {
            shelf.give(place);
        }
    }

    /// Takes a free slot for a transfer of `len` bytes (0 for a request without a buffer).
    #[inline]
    pub fn claim(&mut self, slot: u16, len: Bytes) -> Result<(), Misuse> {
        let stride = self.stride as u64;
        let state = self.state.get_mut(usize::from(slot)).ok_or(Misuse::NoSuchSlot)?;
        if *state != FREE {
            return Err(Misuse::Outstanding);
        }
        if len.0 > stride {
            return Err(Misuse::TooLong);
        }
        *state = CLAIMED;
        if self.shelf.is_some() {
            return self.furnish(slot, len);
        }
        Ok(())
    }

    /// Gives a claimed slot a place.
    fn furnish(&mut self, slot: u16, len: Bytes) -> Result<(), Misuse> {
        let place = self.place(len);
        self.places[usize::from(slot)] = place.unwrap_or(NOWHERE);
        if place.is_none() {
            self.state[usize::from(slot)] = FREE;
        }
        place.map(drop).ok_or(Misuse::NoRoom)
    }

    /// The first `len` bytes of a slot's buffer; empty while the slot is the kernel's.
    #[inline]
    pub fn buffer_mut(&mut self, slot: u16, len: Bytes) -> &mut [u8] {
        match self.state.get(usize::from(slot)) {
            Some(&(FREE | CLAIMED)) => {}
            _ => return &mut [],
        }
        let place = self.places[usize::from(slot)];
        let len = (len.0 as usize).min(self.len(place));
        // SAFETY: the slot exists and is not lent, its place is its own and at least `len` long, the pages are mapped
        // and initialised (anonymous memory is zero), and `&mut self` excludes other borrows.
        unsafe { std::slice::from_raw_parts_mut(self.start(place), len) }
    }

    /// A slot's whole buffer, as the last transfer left it; `None` while the kernel holds it, and when it has none.
    pub fn buffer(&self, slot: u16) -> Option<&[u8]> {
        let place = *self.places.get(usize::from(slot)).filter(|&&place| place != NOWHERE)?;
        match self.state.get(usize::from(slot)) {
            // SAFETY: as in `buffer_mut`, with a shared borrow.
            Some(&(FREE | CLAIMED)) => {
                Some(unsafe { std::slice::from_raw_parts(self.start(place), self.len(place)) })
            }
            _ => None,
        }
    }

    /// Sees to it that the spare buffer holds `len`, unless the buffers are the slots' for good: then it is as long as
    /// any. What it held is lost. Without memory for it there is none.
    pub fn prepare_spare(&mut self, len: Bytes) {
        let units = (len.0 as usize).div_ceil(self.unit);
        let fits = |spare: Place| spare.order == Shelf::order(units);
        if self.shelf.is_none() || self.spare.is_some_and(fits) || len == Bytes::ZERO {
            return;
        }
        if let Some(old) = self.spare.take() {
            self.put_back(old);
        }
        self.spare = self.place(len);
    }

    /// Bytes `from..to` of the spare buffer; empty without one, or beyond its end.
    pub fn spare_mut(&mut self, from: usize, to: usize) -> &mut [u8] {
        let to = to.min(self.spare.map_or(0, |spare| self.len(spare)));
        match self.spare {
            // SAFETY: the spare buffer belongs to no slot, so that it is never lent; the range is within it, the pages
            // are mapped and initialised, and `&mut self` excludes other borrows.
            Some(spare) if from < to => unsafe {
                std::slice::from_raw_parts_mut(self.start(spare).add(from), to - from)
            },
            _ => &mut [],
        }
    }

    /// Makes the spare buffer the slot's, and the slot's the spare one, unless the kernel has it or they differ in
    /// length. False when nothing was exchanged.
    #[inline]
    pub fn exchange(&mut self, slot: u16) -> bool {
        let index = usize::from(slot);
        match (self.state.get(index), &mut self.spare) {
            (Some(&(FREE | CLAIMED)), Some(spare)) if self.places[index].order == spare.order => {
                std::mem::swap(&mut self.places[index], spare);
                true
            }
            _ => false,
        }
    }

    /// Gives a claimed slot's buffer to the kernel: from here on only the kernel uses it.
    ///
    /// # Panics
    /// When the slot is not claimed. In release builds too: that a buffer is the kernel's once, and not
    /// ours meanwhile, is what the callers' `unsafe` rests on. It costs a comparison with what is
    /// overwritten next.
    #[inline]
    pub fn lend(&mut self, slot: u16) -> Lent {
        let state = &mut self.state[usize::from(slot)];
        assert!(*state == CLAIMED, "slot {slot} was lent without a claim");
        *state = LENT;
        let place = self.places[usize::from(slot)];
        let index = place.start as usize * self.unit / self.registered;
        Lent { address: self.start(place), index: index as u16 }
    }

    /// Notes when a lent slot was handed to the kernel.
    #[inline]
    pub fn stamp(&mut self, slot: u16, issued: Time) {
        if let Some(state) = self.state.get_mut(usize::from(slot))
            && *state < CLAIMED
        {
            *state = issued.0.min(LENT);
        }
    }

    /// Ends a loan, or a claim that led to none, and returns when it began; `None` when the slot was not in use. Must
    /// be called for a lent slot only when the kernel has said that it is done.
    #[inline]
    pub fn take_back(&mut self, slot: u16) -> Option<Time> {
        let state = self.state.get_mut(usize::from(slot))?;
        let before = std::mem::replace(state, FREE);
        if self.shelf.is_some() && before != FREE {
            let place = std::mem::replace(&mut self.places[usize::from(slot)], NOWHERE);
            self.put_back(place);
        }
        (before != FREE).then_some(Time(before))
    }

    /// Returns the memory of the buffers, for registering it with the kernel.
    pub fn iovecs(&self) -> Vec<libc::iovec> {
        let starts = (0..self.total).step_by(self.registered);
        // SAFETY: each start is within the mapping.
        let iovec = |at| libc::iovec {
            iov_base: unsafe { self.first.add(at) }.as_ptr().cast(),
            iov_len: self.registered,
        };
        starts.map(iovec).collect()
    }

    /// Length of a place.
    #[inline]
    fn len(&self, place: Place) -> usize {
        if place == NOWHERE { 0 } else { self.unit << place.order }
    }

    #[inline]
    fn start(&self, place: Place) -> *mut u8 {
        let at = self.unit * place.start as usize;
        debug_assert!(at + self.len(place) <= self.total);
        // SAFETY: places are the units below `total`, or blocks of a shelf that has as many; one that is nowhere begins
        // where the first does, and is zero bytes long.
        unsafe { self.first.add(at) }.as_ptr()
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no borrow of it survives `self`; the owner has drained the
        // kernel, see the type's comment. A failure to unmap leaks, and nothing can be done about it.
        let _ = unsafe { rustix::mm::munmap(self.mapping.as_ptr().cast(), self.mapping_len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Bytes = Bytes(u64::MAX);

    // Each of these, were it let through, would let the kernel and us write to one buffer at once.
    #[test]
    fn a_slot_is_lent_once_and_out_of_reach_meanwhile() {
        let mut slots = Slots::new(2, false, (Bytes(5000), ALL), Bytes(512)).unwrap();
        slots.touch();
        assert_eq!(slots.claim(2, Bytes(1)), Err(Misuse::NoSuchSlot));
        assert_eq!(slots.claim(0, Bytes(8193)), Err(Misuse::TooLong));
        assert_eq!(slots.claim(0, Bytes(5000)), Ok(()));
        assert_eq!(slots.claim(0, Bytes(5000)), Err(Misuse::Outstanding));
        slots.buffer_mut(0, Bytes(5000)).fill(7);
        slots.lend(0);
        assert!(slots.buffer(0).is_none());
        assert!(slots.buffer_mut(0, Bytes(1)).is_empty());
        assert_eq!(slots.claim(0, Bytes(1)), Err(Misuse::Outstanding));
        slots.stamp(0, Time(42));
        assert!(slots.buffer(0).is_none(), "a stamp must not end the loan");
        assert_eq!(slots.take_back(0), Some(Time(42)));
        assert_eq!(slots.take_back(0), None);
        assert_eq!(slots.buffer(0).unwrap()[4999], 7);
        assert_eq!(slots.buffer(1).unwrap()[0], 0, "neighbours do not overlap");
    }

    // Lent twice, it would be given back by the first of two completions while the kernel still has it.
    #[test]
    fn what_is_not_claimed_is_not_lent() {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        let mut slots = Slots::new(1, false, (Bytes(512), ALL), Bytes(512)).unwrap();
        let lend = |slots: &mut Slots| catch_unwind(AssertUnwindSafe(|| slots.lend(0))).is_ok();
        assert!(!lend(&mut slots), "a free slot");
        slots.claim(0, Bytes(512)).unwrap();
        assert!(lend(&mut slots));
        assert!(!lend(&mut slots), "one that is the kernel's");
    }

    #[test]
    fn buffers_are_aligned_as_asked_and_to_a_page_at_least() {
        for (depth, len, align) in [(1, 512, 512), (32, 4096, 8192), (8, 1 << 20, 4096)] {
            let slots = Slots::new(depth, true, (Bytes(len), ALL), Bytes(align)).unwrap();
            assert_eq!(slots.iovecs().len(), usize::from(depth) + 1);
            let wanted = (align as usize).max(4096);
            for iovec in slots.iovecs() {
                assert_eq!(iovec.iov_base as usize % wanted, 0);
                assert!(iovec.iov_len >= len as usize);
            }
        }
        assert!(Slots::new(1, false, (Bytes(1), ALL), Bytes(5000)).is_err());
        assert!(Slots::new(u16::MAX, false, (Bytes(u64::MAX / 2), ALL), Bytes(1)).is_err());
    }

    // Were the spare buffer to become one that the kernel holds, what is being written would be
    // overwritten with what is to be written next.
    #[test]
    fn the_spare_buffer_is_never_one_that_the_kernel_holds() {
        let mut slots = Slots::new(2, true, (Bytes(4096), ALL), Bytes(512)).unwrap();
        slots.touch();
        slots.spare_mut(0, 4096).fill(1);
        slots.claim(0, Bytes(4096)).unwrap();
        assert!(slots.exchange(0));
        let lent = slots.lend(0);
        let at = slots.iovecs()[usize::from(lent.index)].iov_base;
        assert_eq!(at, lent.address.cast(), "the registered buffer is not the one that was lent");
        assert!(!slots.exchange(0), "the kernel's buffer was taken from it");
        slots.spare_mut(0, 4096).fill(2);
        slots.claim(1, Bytes(4096)).unwrap();
        assert!(slots.exchange(1));
        slots.take_back(0);
        let (first, second) = (slots.buffer(0).unwrap(), slots.buffer(1).unwrap());
        assert!(first.iter().all(|&byte| byte == 1) && second.iter().all(|&byte| byte == 2));
        assert!(slots.spare_mut(4096, 5000).is_empty() && !slots.exchange(2));
    }

    // A thousand slots of a mebibyte each must not be a gibibyte; and what is out must not share memory.
    #[test]
    fn slots_that_share_memory_keep_to_it_and_apart() {
        let sizes = (Bytes::mib(1), Bytes::mib(4));
        let mut slots = Slots::new(1024, true, sizes, Bytes(512)).unwrap();
        assert_eq!(slots.total, 4 << 20);
        assert!(slots.iovecs().iter().all(|v| v.iov_len == 1 << 20));
        slots.touch();
        let mut out: Vec<(u16, *mut u8, u64)> = Vec::new();
        for slot in 0..1024 {
            let len = [4096, 512, 100_000, 4096, 1 << 20][usize::from(slot) % 5];
            if !slots.has_room(Bytes(len)) {
                assert_eq!(slots.claim(slot, Bytes(len)), Err(Misuse::NoRoom));
                continue;
            }
            slots.claim(slot, Bytes(len)).unwrap();
            assert_eq!(slots.buffer_mut(slot, Bytes(len)).len() as u64, len);
            let lent = slots.lend(slot);
            let registered = slots.iovecs()[usize::from(lent.index)];
            let offset = lent.address as usize - registered.iov_base as usize;
            assert!(offset + len as usize <= registered.iov_len, "not in the buffer it names");
            out.push((slot, lent.address, len));
        }
        assert!(out.len() > 20, "{} of which most are small", out.len());
        out.sort_by_key(|(_, address, _)| *address);
        for pair in out.windows(2) {
            assert!(pair[0].1 as u64 + pair[0].2 <= pair[1].1 as u64, "{pair:?} overlap");
        }
        for (slot, ..) in out {
            slots.take_back(slot).unwrap();
            assert!(slots.buffer(slot).is_none(), "it may be another's by now");
        }
        for slot in 0..4 {
            slots.claim(slot, Bytes::mib(1)).unwrap();
        }
        assert!(!slots.has_room(Bytes(1)) && slots.has_room(Bytes::ZERO));
        slots.claim(9, Bytes::ZERO).unwrap();
        slots.lend(9);
        assert_eq!(slots.claim(10, Bytes(1 << 21)), Err(Misuse::TooLong));
        assert!(slots.has_room(Bytes(1 << 21)), "or nobody would ever be told");
    }

    // The spare buffer must not be what keeps a request waiting when nothing else is out.
    #[test]
    fn a_spare_buffer_from_shared_memory_is_as_long_as_the_write() {
        let mut slots = Slots::new(64, true, (Bytes::mib(1), Bytes(1)), Bytes(512)).unwrap();
        assert_eq!(slots.total, 2 << 20, "two of the longest at least");
        for len in [4096, 1 << 20, 700_000, 5000, 4096].map(Bytes) {
            slots.prepare_spare(len);
            slots.spare_mut(0, len.0 as usize).fill(7);
            assert!(slots.has_room(Bytes::mib(1)));
            slots.claim(3, len).unwrap();
            assert!(slots.exchange(3));
            assert!(slots.buffer_mut(3, len).iter().all(|&byte| byte == 7), "{len}");
            slots.lend(3);
            slots.take_back(3);
        }
        slots.claim(3, Bytes(4096)).unwrap();
        slots.prepare_spare(Bytes::mib(1));
        assert!(!slots.exchange(3), "of another length");
    }

    #[test]
    fn without_a_spare_buffer_nothing_is_exchanged() {
        let mut slots = Slots::new(1, false, (Bytes(512), ALL), Bytes(512)).unwrap();
        assert!(slots.spare_mut(0, 512).is_empty());
        assert!(!slots.exchange(0));
        assert_eq!(slots.iovecs().len(), 1);
    }
}
