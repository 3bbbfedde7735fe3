//! Real drives on Linux: engines, environment, identity, storage stack and the safety gate.

pub mod drive;
pub mod target;
