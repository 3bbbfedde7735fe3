#![expect(
    unsafe_code,
    reason = "buffers that the kernel writes to live outside Rust's borrow rules"
)]
//! The buffers of one drive, and who holds each of them.

use std::io;
use std::ptr::NonNull;

use block::{Bytes, Time};
use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Nobody uses the slot.
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
}

/// A buffer that is the kernel's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent {
    /// Where it begins.
    pub address: *mut u8,
    /// Which of [`Slots::iovecs`] it is.
    pub index: u16,
}

/// One buffer a slot, in a single mapping, and the state of each; and on request one buffer more, which is
/// always ours, to fill while all others are the kernel's, and is then exchanged for a slot's.
///
/// A slot is free, claimed (taken, its buffer still ours), or lent (the kernel may read or write its
/// buffer at any moment). Only [`Slots::take_back`] ends a loan, so safe code cannot reach a buffer
/// in flight. Dropping it unmaps the buffers: the owner must not do so while one is lent and the
/// kernel has really been entered with it.
pub(crate) struct Slots {
    mapping: NonNull<u8>,
    mapping_len: usize,
    first: NonNull<u8>,
    stride: usize,
    /// Which buffer is the slot's.
    buffers: Box<[u16]>,
    /// Which buffer is no slot's.
    spare: Option<u16>,
    /// [`FREE`], [`CLAIMED`], [`LENT`], or the instant that the loan began. One word a slot, so that
    /// the loop touches one cache line where a state and a stamp would be two.
    state: Box<[u64]>,
}

// SAFETY: the mapping is owned by this value alone; no thread-local state is attached to it.
unsafe impl Send for Slots {}

impl Slots {
    /// Maps `depth` buffers of `len` bytes, and one more if `spare` is set, each aligned to `align` and to
    /// a page.
    ///
    /// The pages are not touched yet: that is [`Slots::touch`]'s work, on the thread that will use
    /// them, so that they come from its memory node.
    pub fn new(depth: u16, spare: bool, len: Bytes, align: Bytes) -> io::Result<Slots> {
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let len = usize::try_from(len.0).map_err(|_| too_large())?;
        let page = rustix::param::page_size().max(4096);
        let align = usize::try_from(align.0).map_err(|_| too_large())?.max(page);
        if !align.is_power_of_two() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let stride = len.max(1).checked_next_multiple_of(align).ok_or_else(too_large)?;
        let count = usize::from(depth).max(1) + usize::from(spare);
        let total = stride.checked_mul(count).ok_or_else(too_large)?;
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
        let (buffers, spare) = ((0..depth).collect(), spare.then_some(depth));
        let slots = Slots { mapping, mapping_len, first, stride, buffers, spare, state };
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
        let total = self.stride * self.buffer_count();
        for at in (0..total).step_by(4096) {
            // SAFETY: `at` is inside the buffers, and no slot is lent, so nobody else looks at them.
            // Volatile, or the compiler may drop a write that nobody reads.
            unsafe { self.first.add(at).write_volatile(0) };
        }
        // Locking is often beyond an ordinary user's limit. Pages just touched stay unless memory is
        // short, so a refusal is not worth a word.
        // SAFETY: the range lies in our mapping; locking does not change its content.
        let _ = unsafe { rustix::mm::mlock(self.first.as_ptr().cast(), total) };
    }

    /// Count of slots.
    pub fn depth(&self) -> u16 {
        self.state.len() as u16
    }

    fn buffer_count(&self) -> usize {
        self.state.len() + usize::from(self.spare.is_some())
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
        Ok(())
    }

    /// The first `len` bytes of a slot's buffer; empty while the slot is the kernel's.
    #[inline]
    pub fn buffer_mut(&mut self, slot: u16, len: Bytes) -> &mut [u8] {
        match self.state.get(usize::from(slot)) {
            Some(&(FREE | CLAIMED)) => {}
            _ => return &mut [],
        }
        let len = (len.0 as usize).min(self.stride);
        // SAFETY: the slot exists and is not lent, `len` is within its stride, the pages are mapped
        // and initialised (anonymous memory is zero), and `&mut self` excludes other borrows.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), len) }
    }

    /// A slot's whole buffer, as the last transfer left it; `None` while the kernel holds it.
    pub fn buffer(&self, slot: u16) -> Option<&[u8]> {
        match self.state.get(usize::from(slot)) {
            // SAFETY: as in `buffer_mut`, with a shared borrow.
            Some(&(FREE | CLAIMED)) => {
                Some(unsafe { std::slice::from_raw_parts(self.address(slot), self.stride) })
            }
            _ => None,
        }
    }

    /// Bytes `from..to` of the spare buffer; empty without one, or beyond its end.
    pub fn spare_mut(&mut self, from: usize, to: usize) -> &mut [u8] {
        let to = to.min(self.stride);
        match self.spare {
            // SAFETY: the spare buffer is no slot's, so that it is never lent; the range is within its
            // stride, the pages are mapped and initialised, and `&mut self` excludes other borrows.
            Some(spare) if from < to => unsafe {
                std::slice::from_raw_parts_mut(self.start(spare).add(from), to - from)
            },
            _ => &mut [],
        }
    }

    /// Makes the spare buffer the slot's, and the slot's the spare one, unless the kernel has it. False
    /// when nothing was exchanged.
    #[inline]
    pub fn exchange(&mut self, slot: u16) -> bool {
        let index = usize::from(slot);
        match (self.state.get(index), &mut self.spare) {
            (Some(&(FREE | CLAIMED)), Some(spare)) => {
                std::mem::swap(&mut self.buffers[index], spare);
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
        let index = self.buffers[usize::from(slot)];
        Lent { address: self.start(index), index }
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

    /// Ends a loan, or a claim that led to none, and tells when it began; `None` when the slot was
    /// not in use. Must be called for a lent slot only when the kernel has said that it is done.
    #[inline]
    pub fn take_back(&mut self, slot: u16) -> Option<Time> {
        let state = self.state.get_mut(usize::from(slot))?;
        let before = std::mem::replace(state, FREE);
        (before != FREE).then_some(Time(before))
    }

    /// Where the buffers are, for registering them with the kernel.
    pub fn iovecs(&self) -> Vec<libc::iovec> {
        let iovec =
            |buffer| libc::iovec { iov_base: self.start(buffer).cast(), iov_len: self.stride };
        (0..=u16::MAX).take(self.buffer_count()).map(iovec).collect()
    }

    #[inline]
    fn address(&self, slot: u16) -> *mut u8 {
        self.start(self.buffers[usize::from(slot)])
    }

    #[inline]
    fn start(&self, buffer: u16) -> *mut u8 {
        debug_assert!(usize::from(buffer) < self.buffer_count());
        // SAFETY: `buffers` and `spare` hold the numbers below the count of buffers, each once, and the
        // mapping holds that many strides from `first` on.
        unsafe { self.first.add(self.stride * usize::from(buffer)) }.as_ptr()
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

    // Each of these, were it let through, would let the kernel and us write to one buffer at once.
    #[test]
    fn a_slot_is_lent_once_and_out_of_reach_meanwhile() {
        let mut slots = Slots::new(2, false, Bytes(5000), Bytes(512)).unwrap();
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
        let mut slots = Slots::new(1, false, Bytes(512), Bytes(512)).unwrap();
        let lend = |slots: &mut Slots| catch_unwind(AssertUnwindSafe(|| slots.lend(0))).is_ok();
        assert!(!lend(&mut slots), "a free slot");
        slots.claim(0, Bytes(512)).unwrap();
        assert!(lend(&mut slots));
        assert!(!lend(&mut slots), "one that is the kernel's");
    }

    #[test]
    fn buffers_are_aligned_as_asked_and_to_a_page_at_least() {
        for (depth, len, align) in [(1, 512, 512), (32, 4096, 8192), (8, 1 << 20, 4096)] {
            let slots = Slots::new(depth, true, Bytes(len), Bytes(align)).unwrap();
            assert_eq!(slots.iovecs().len(), usize::from(depth) + 1);
            let wanted = (align as usize).max(4096);
            for iovec in slots.iovecs() {
                assert_eq!(iovec.iov_base as usize % wanted, 0);
                assert!(iovec.iov_len >= len as usize);
            }
        }
        assert!(Slots::new(1, false, Bytes(1), Bytes(5000)).is_err());
        assert!(Slots::new(u16::MAX, false, Bytes(u64::MAX / 2), Bytes(1)).is_err());
    }

    // Were the spare buffer to become one that the kernel holds, what is being written would be
    // overwritten with what is to be written next.
    #[test]
    fn the_spare_buffer_is_never_one_that_the_kernel_holds() {
        let mut slots = Slots::new(2, true, Bytes(4096), Bytes(512)).unwrap();
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

    #[test]
    fn without_a_spare_buffer_nothing_is_exchanged() {
        let mut slots = Slots::new(1, false, Bytes(512), Bytes(512)).unwrap();
        assert!(slots.spare_mut(0, 512).is_empty());
        assert!(!slots.exchange(0));
        assert_eq!(slots.iovecs().len(), 1);
    }
}
