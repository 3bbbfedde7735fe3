//! Everything of this room's drives that needs `unsafe`, behind interfaces that do not.
//!
//! One invariant carries all of it: **a buffer that was handed to the kernel is neither touched nor
//! freed before the kernel has given it back.** [`slots::Slots`] knows for each buffer who holds it,
//! refuses to lend one out twice, and is freed only by an owner that has first made sure that
//! nothing is in flight ([`ring::Ring`] and [`aio::Aio`] do so when dropped).

pub(crate) mod aio;
pub(crate) mod command;
pub(crate) mod ioctl;
pub(crate) mod ring;
pub(crate) mod setup;
pub(crate) mod slots;
