//! A drive that claims more than it holds.

use block::{Op, Time};

use crate::around::inbox::{Inbox, earlier};
use crate::around::shell::Shell;
use crate::device::{Command, Device, Finished};

/// A smaller drive behind a larger number: an address is served by the one that it wraps to. A command
/// across the end of the real drive is served in pieces, one after the other.
pub(super) struct Fake {
    inner: Box<dyn Device>,
    real: u64,
    /// Commands of which a piece is under way, with where the next piece begins; in host addresses.
    split: Vec<(Command, u64)>,
    inbox: Inbox,
    results: Vec<Finished>,
    now: Time,
}

impl Fake {
    pub(super) fn new(real: u64, inner: Box<dyn Device>) -> Fake {
        let (split, results) = (Vec::new(), Vec::new());
        Fake { inner, real, split, inbox: Inbox::default(), results, now: Time::ZERO }
    }

    /// The piece of `command` that begins at `from`, as the drive inside sees it.
    fn piece(&self, command: &Command, from: u64) -> Command {
        if command.op == Op::Flush {
            return *command;
        }
        let offset = from % self.real;
        Command { offset, len: (command.end() - from).min(self.real - offset), ..*command }
    }

    /// A piece is done: the next one goes on its way, or the whole command is finished.
    fn done(&mut self, mut result: Finished, finished: &mut Vec<Finished>) {
        let index = self.split.iter().position(|(command, _)| command.tag == result.tag);
        if let Some(index) = index {
            let (command, next) = self.split[index];
            if result.outcome.bytes().is_ok() && next < command.end() {
                let piece = self.piece(&command, next);
                self.split[index].1 = next + piece.len;
                self.inbox.push(result.at, piece);
                return;
            }
            self.split.swap_remove(index);
            if result.outcome.bytes().is_ok() {
                result.outcome = command.success();
            }
        }
        finished.push(result);
    }
}

impl Shell for Fake {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn admits(&self, command: &Command) -> bool {
        // Commands already begun go on first: a flush must not come between two pieces of a write.
        self.inbox.is_empty() && self.inner.admits(&self.piece(command, command.offset))
    }

    fn accept(&mut self, command: Command, now: Time) {
        self.now = now;
        let piece = self.piece(&command, command.offset);
        if piece.len < command.len {
            self.split.push((command, command.offset + piece.len));
        }
        self.inner.accept(piece, now);
    }

    fn next_event(&self) -> Option<Time> {
        earlier(self.inbox.next_event(self.now), self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.now = at;
        self.inner.advance(at, &mut self.results);
        let mut results = std::mem::take(&mut self.results);
        for result in results.drain(..) {
            self.done(result, finished);
        }
        self.results = results;
        self.inbox.hand_over(self.inner.as_mut(), at);
    }
}
