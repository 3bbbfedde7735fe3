//! Programs between one flush and the next.

use std::collections::VecDeque;

/// Programs between one flush and the next: a flush waits for all of those before it.
#[derive(Debug)]
pub(super) struct Epochs {
    /// The oldest that is not over.
    first: u64,
    /// Of each, programs that are still to end, and the flush that closed it.
    open: VecDeque<(u32, Option<u32>)>,
}

impl Default for Epochs {
    fn default() -> Epochs {
        Epochs { first: 0, open: VecDeque::from([(0, None)]) }
    }
}

impl Epochs {
    /// A program begins; says in which epoch.
    #[inline]
    pub(super) fn begin(&mut self) -> u64 {
        if let Some((programs, _)) = self.open.back_mut() {
            *programs += 1;
        }
        self.first + self.open.len() as u64 - 1
    }

    /// A program of `epoch` has ended.
    #[inline]
    pub(super) fn end(&mut self, epoch: u64) {
        if let Some((programs, _)) = self.open.get_mut((epoch - self.first) as usize) {
            *programs -= 1;
        }
    }

    /// A flush waits for what has begun so far.
    pub(super) fn close(&mut self, flush: u32) {
        if let Some((_, waiting)) = self.open.back_mut() {
            *waiting = Some(flush);
        }
        self.open.push_back((0, None));
    }

    /// The next flush that has waited long enough.
    #[inline]
    pub(super) fn settled(&mut self) -> Option<u32> {
        let &(0, Some(flush)) = self.open.front()? else { return None };
        self.open.pop_front();
        self.first += 1;
        Some(flush)
    }
}
