//! Bytes that a transfer touches.

use crate::Io;

/// Longest stretch of one transfer that lenses on addresses look at: 256 MiB, far beyond what a block layer takes at
/// once. What a broken line claims beyond is not looked at, so that it costs neither time nor memory.
pub const LONGEST: u64 = 256 << 20;

/// Reads and writes of a part of the addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Touches {
    /// I/Os that begin in it: reads, writes.
    pub(super) ios: [u64; 2],
    /// Bytes of it that they transfer. Sums stop at the greatest number.
    pub(super) bytes: [u64; 2],
}

impl Touches {
    #[inline]
    pub(super) fn add_bytes(&mut self, direction: usize, bytes: u64) {
        self.bytes[direction] = self.bytes[direction].saturating_add(bytes);
    }

    pub(super) fn merge(&mut self, other: &Touches) {
        self.ios.iter_mut().zip(other.ios).for_each(|(mine, theirs)| *mine += theirs);
        (0..).zip(other.bytes).for_each(|(direction, bytes)| self.add_bytes(direction, bytes));
    }
}

/// First and last byte of a transfer, as far as it is looked at; `None` of what transfers nothing.
#[inline]
pub(super) fn reach(io: &Io) -> Option<(u64, u64)> {
    let length = io.length.0.min(LONGEST);
    let last = io.offset.0.saturating_add(length.saturating_sub(1));
    (io.kind.transfers() && length > 0).then_some((io.offset.0, last))
}
