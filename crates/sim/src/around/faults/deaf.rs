//! A drive that does not hear discards, or flushes.

use std::collections::VecDeque;

use block::{Nanos, Op, Time};

use crate::around::inbox::earlier;
use crate::around::shell::Shell;
use crate::device::{Command, Device, Finished};

/// How long it takes to say that it has done what it has not.
const ANSWER: Nanos = Nanos(20_000);

/// A drive that answers a discard with "done" and does nothing: what it held is still there, and its own bookkeeping goes
/// on with it. One that does so with flushes takes what has to be durable as it takes any write.
pub(super) struct Deaf {
    inner: Box<dyn Device>,
    to: Op,
    /// Answers on their way; in order of time, since each takes the same span.
    answers: VecDeque<Finished>,
}

impl Deaf {
    /// `to` is a discard or a flush.
    pub(super) fn new(to: Op, inner: Box<dyn Device>) -> Deaf {
        Deaf { inner, to, answers: VecDeque::new() }
    }
}

impl Shell for Deaf {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn admits(&self, command: &Command) -> bool {
        command.op == self.to || self.inner.admits(command)
    }

    fn accept(&mut self, command: Command, now: Time) {
        if command.op != self.to {
            let fua = command.fua && self.to != Op::Flush;
            return self.inner.accept(Command { fua, ..command }, now);
        }
        let (tag, outcome) = (command.tag, command.success());
        self.answers.push_back(Finished { tag, at: now + ANSWER, outcome });
    }

    fn next_event(&self) -> Option<Time> {
        earlier(self.answers.front().map(|answer| answer.at), self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.inner.advance(at, finished);
        while let Some(answer) = self.answers.front().filter(|answer| answer.at <= at) {
            finished.push(*answer);
            self.answers.pop_front();
        }
    }
}
