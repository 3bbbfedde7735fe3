//! Commands that wait for the arm.

use block::{Op, Time};

use super::geometry::Spot;
use super::platters::Mode;
use crate::device::Command;

/// A command that waits for the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) command: Command,
    /// First byte that must come from or go to the platters.
    pub(super) from: u64,
    /// Location of that byte.
    pub(super) spot: Spot,
    pub(super) decoded: Time,
    /// When its access is planned.
    pub(super) ready: Time,
}

impl Pending {
    pub(super) fn mode(&self) -> Mode {
        if self.command.op == Op::Write { Mode::Write } else { Mode::Read }
    }
}
