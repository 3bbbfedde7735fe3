//! Commands between a wrapper and the device inside it.

use std::collections::VecDeque;

use block::Time;

use crate::device::{Command, Device};

/// Commands that a wrapper has taken and the device inside has not yet. They are handed over in order,
/// each at its own time at the earliest and as soon as the device admits it.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: VecDeque<(Time, Command)>,
}

impl Inbox {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a command that may be handed over from `from` on.
    pub(super) fn push(&mut self, from: Time, command: Command) {
        self.waiting.push_back((from, command));
    }

    /// When time alone lets a command go, after `now`. One whose time has come and that the device turned
    /// away waits for an event of the device.
    pub(super) fn next_event(&self, now: Time) -> Option<Time> {
        self.waiting.front().map(|(from, _)| *from).filter(|from| *from > now)
    }

    /// Hands over what may go at `now`.
    pub(super) fn hand_over(&mut self, device: &mut dyn Device, now: Time) {
        while let Some((from, command)) = self.waiting.front().copied() {
            if from > now || !device.admits(&command) {
                break;
            }
            self.waiting.pop_front();
            device.accept(command, now);
        }
    }
}

/// The earlier of two instants that may never come.
pub(super) fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
