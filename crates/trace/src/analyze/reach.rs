//! Which bytes a transfer touches.

use crate::Io;

/// Longest stretch of one transfer that lenses on addresses look at: 256 MiB, far beyond what a block layer takes at
/// once. What a broken line claims beyond is not looked at, so that it costs neither time nor memory.
pub const LONGEST: u64 = 256 << 20;

/// First and last byte of a transfer, as far as it is looked at; `None` of what transfers nothing.
#[inline]
pub(super) fn reach(io: &Io) -> Option<(u64, u64)> {
    let length = io.length.0.min(LONGEST);
    let last = io.offset.0.saturating_add(length.saturating_sub(1));
    (io.kind.transfers() && length > 0).then_some((io.offset.0, last))
}
