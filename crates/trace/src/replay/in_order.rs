//! Replayed requests in the order of the plan.

use std::collections::BTreeMap;

use engine::replay::Replayed;

/// Most that is held back for one that has not completed. A request that hangs for half a minute at 30,000 a second is
/// that long; behind it, those that are done are let go and it comes late.
const HELD_MAX: usize = 1 << 20;

/// Puts requests, which come as they complete, in the order of the plan.
#[derive(Clone, Debug, Default)]
pub(super) struct InOrder {
    held: BTreeMap<u64, Replayed>,
    next: u64,
}

impl InOrder {
    /// Takes one.
    pub(super) fn take(&mut self, replayed: Replayed) {
        self.held.insert(replayed.seq, replayed);
    }

    /// The next in order, when it is there.
    pub(super) fn next(&mut self) -> Option<Replayed> {
        let entry = self.held.first_entry()?;
        if *entry.key() > self.next && self.held.len() <= HELD_MAX {
            return None;
        }
        self.pop()
    }

    /// The next of those that are there, when no more will come.
    pub(super) fn pop(&mut self) -> Option<Replayed> {
        let (seq, replayed) = self.held.pop_first()?;
        self.next = self.next.max(seq + 1);
        Some(replayed)
    }
}
