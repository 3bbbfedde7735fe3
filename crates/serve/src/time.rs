//! The clock that a served drive lives by.

use block::Time;

/// Real time, handed in: this room reads no clock itself, so that tests can drive it.
pub trait RealTime: Send + Sync {
    /// Time since this clock began. Never goes backwards, and never stops while the machine runs.
    fn now(&self) -> Time;
}
