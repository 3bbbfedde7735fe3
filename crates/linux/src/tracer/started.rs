//! A back end that is recording, and the least that it needs.

use std::sync::Weak;

use block::Bytes;

use super::feed::{Decode, Feed, Marker};

/// Smallest buffer of one CPU.
pub(super) const BUFFER_MIN: Bytes = Bytes::kib(64);

/// A back end that is recording.
pub(super) struct Started {
    pub feed: Box<dyn Feed>,
    pub decoder: Box<dyn Decode>,
    /// Belongs to the feed: while it is open, the kernel keeps what it leads to.
    pub marker: Option<Weak<dyn Marker>>,
    /// Buffer of each CPU.
    pub buffer: Bytes,
}
