//! Transfers across the link and the channels.

/// A write whose data is still with the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) place: u32,
    pub(super) next: u64,
    pub(super) end: u64,
}

/// Data that crosses the link; its room is kept for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) place: u32,
    pub(super) first: u64,
    pub(super) count: u32,
    pub(super) is_last: bool,
}

/// Transfer across the link.
#[derive(Clone, Copy, Debug)]
pub(super) enum Crossing {
    /// Data of a write, into the buffer.
    In(Piece),
    /// A part of a read's data.
    Out(u32),
}

/// Transfer across a channel, for the end of which somebody waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transfer {
    /// Data of the host's request, out of a die.
    Out { request: u32, bytes: u32 },
    /// Data of a program, into this die.
    In { die: u32 },
}
