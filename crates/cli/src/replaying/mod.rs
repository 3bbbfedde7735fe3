//! Replays from their flags to their exit codes: what `trace replay` and `trace compare` share.

pub mod ask;
mod play;

pub use play::{Begun, Job, Listener, On, Played, Reference, Trace};
