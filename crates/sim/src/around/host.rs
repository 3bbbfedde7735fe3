//! Limits of the host between the engine and the drive: a bridge, a port, a driver.

use block::{Bytes, Nanos, Op, Time};
use serde::{Deserialize, Serialize};

use super::inbox::{Inbox, earlier};
use super::shell::Shell;
use crate::device::{Command, Device, Finished};
use crate::events::EventQueue;
use crate::field::Fault;

/// Limits of the host on the commands that it sends to the drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostLimits {
    /// Commands under way at once, 1 to 65535; as many as the drive takes when absent.
    pub queue_depth: Option<u64>,
    /// Rate of the host's link, 1 kB/s and more; both directions share it. The drive's own when absent.
    pub link_bytes_per_s: Option<u64>,
}

impl HostLimits {
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.queue_depth.is_some_and(|depth| !(1..=65_535).contains(&depth)) {
            return Err(("host.queue_depth", "a queue holds 1 to 65535 commands".to_owned()));
        }
        if self.link_bytes_per_s.is_some_and(|rate| !(1_000..=1 << 40).contains(&rate)) {
            let what = format!("a link moves 1000 to {} bytes per second", 1_u64 << 40);
            return Err(("host.link_bytes_per_s", what));
        }
        Ok(())
    }
}

/// A drive behind a host's limits.
///
/// The link is half duplex and stores and forwards, as USB's bulk-only transport does: a write reaches the
/// drive when all of it has crossed, and a read's data cross when the drive has all of them.
pub(super) struct Host {
    inner: Box<dyn Device>,
    depth: usize,
    link_bytes_per_s: Option<u64>,
    /// Commands accepted and not yet seen finished by the host, with what each reads.
    held: Vec<(u64, Op)>,
    link_free: Time,
    inbox: Inbox,
    outbox: EventQueue<Finished>,
    results: Vec<Finished>,
    now: Time,
}

impl Host {
    pub(super) fn new(limits: &HostLimits, inner: Box<dyn Device>) -> Host {
        let depth = limits.queue_depth.unwrap_or(u64::MAX);
        Host {
            inner,
            depth: usize::try_from(depth).unwrap_or(usize::MAX),
            link_bytes_per_s: limits.link_bytes_per_s,
            held: Vec::new(),
            link_free: Time::ZERO,
            inbox: Inbox::default(),
            outbox: EventQueue::new(),
            results: Vec::new(),
            now: Time::ZERO,
        }
    }

    /// When `bytes` have crossed the link, if they may from `from` on.
    fn cross(&mut self, bytes: Bytes, from: Time) -> Time {
        let Some(rate) = self.link_bytes_per_s else { return from };
        let ns = u128::from(bytes.0) * 1_000_000_000 / u128::from(rate);
        let span = Nanos(u64::try_from(ns).unwrap_or(u64::MAX));
        self.link_free = self.link_free.max(from) + span;
        self.link_free
    }
}

impl Shell for Host {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn admits(&self, command: &Command) -> bool {
        self.held.len() < self.depth && (!self.inbox.is_empty() || self.inner.admits(command))
    }

    fn accept(&mut self, command: Command, now: Time) {
        self.now = now;
        self.held.push((command.tag, command.op));
        let from = match command.op {
            Op::Write => self.cross(Bytes(command.len), now),
            _ => now,
        };
        self.inbox.push(from, command);
        self.inbox.hand_over(self.inner.as_mut(), now);
    }

    fn next_event(&self) -> Option<Time> {
        let own = earlier(self.inbox.next_event(self.now), self.outbox.next_at());
        earlier(own, self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.now = at;
        self.inner.advance(at, &mut self.results);
        let mut results = std::mem::take(&mut self.results);
        for result in results.drain(..) {
            let reads = self.held.contains(&(result.tag, Op::Read));
            let bytes = result.outcome.bytes().unwrap_or(Bytes::ZERO);
            let seen = if reads { self.cross(bytes, result.at) } else { result.at };
            self.outbox.push(seen, Finished { at: seen, ..result });
        }
        self.results = results;
        while let Some((_, result)) = self.outbox.pop_until(at) {
            self.held.retain(|(tag, _)| *tag != result.tag);
            finished.push(result);
        }
        self.inbox.hand_over(self.inner.as_mut(), at);
    }
}
