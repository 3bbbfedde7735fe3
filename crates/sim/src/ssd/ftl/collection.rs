//! Rules of garbage collection.

/// Rule for the full block to collect next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collection {
    /// The one with the fewest valid units; of several the one that has been so for longest.
    Greedy,
    /// The one that was filled first.
    Fifo,
    /// The best of this many drawn at random.
    Choices(u32),
}
