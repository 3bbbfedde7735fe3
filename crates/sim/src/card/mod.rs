//! A memory card or a stick: one command at a time, a block-mapped medium.
//!
//! This file takes commands from acceptance to completion; `reading` and `writing` say how long one
//! takes and change the card's state; `medium` knows what holds data and how fast its cells are;
//! `layout` where bytes lie. A card serves its commands in order, so the time of one is computed when
//! it begins, and its end is the only event, beside merging while the host is quiet.

mod check;
mod kind;
mod layout;
mod medium;
mod model;
#[allow(dead_code, reason = "a spec that asks for a drawn card is read elsewhere")]
mod random;
mod reading;
mod smalllog;
#[cfg(test)]
mod tests;
mod writing;

use std::collections::VecDeque;

use block::{Bytes, Nanos, Op, Time};

use self::layout::Piece;
use self::medium::Medium;
pub(crate) use self::model::CardModel;
use self::model::LinkModel;
use self::reading::Reader;
use self::smalllog::SmallLog;
use self::writing::{Partial, Work, Writer};
use crate::device::{Command, Device, Finished, MediaCounters};
use crate::events::EventQueue;
use crate::noise::Noise;

/// How long a flush takes. To a drive without a volatile cache the kernel sends none: it answers itself.
const FLUSH: Nanos = Nanos(5_000);

/// Future event inside the card.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The command is done.
    Done(Command),
    /// A unit's small writes are merged.
    Merged,
    /// The host has been quiet since the command of this number.
    Quiet(u64),
}

/// The card.
#[derive(Debug)]
pub(crate) struct Card {
    link: LinkModel,
    write_command: u64,
    noise: Noise,
    events: EventQueue<Event>,
    medium: Medium,
    reader: Reader,
    writer: Writer,
    small: Option<SmallLog>,
    /// The group of the zone at the beginning that is filled in part, and groups programmed there.
    fat_partial: Option<Partial>,
    fat_appended: u64,
    /// Commands that wait for the one being served.
    waiting: VecDeque<Command>,
    /// Commands accepted and not finished.
    held: u64,
    /// A command is being served, or a unit merged.
    busy: bool,
    /// Commands accepted so far.
    accepted: u64,
}

impl Card {
    /// Makes the card of a checked model.
    pub(crate) fn new(model: &CardModel, seed: u64) -> Card {
        Card {
            link: model.link.clone(),
            write_command: model.write.command_ns,
            noise: Noise::new(seed),
            events: EventQueue::new(),
            medium: Medium::new(model),
            reader: Reader::new(model),
            writer: Writer::new(model),
            small: SmallLog::new(model),
            fat_partial: None,
            fat_appended: 0,
            waiting: VecDeque::new(),
            held: 0,
            busy: false,
            accepted: 0,
        }
    }

    /// Begins the next command, or the wait for a quiet time.
    fn begin(&mut self, now: Time) {
        if self.busy {
            return;
        }
        let Some(command) = self.waiting.pop_front() else {
            if let Some(small) = self.small.as_ref().filter(|small| small.holds_data()) {
                let at = now + Nanos(small.idle_ns());
                self.events.push(at, Event::Quiet(self.accepted));
            }
            return;
        };
        self.busy = true;
        let time = match command.op {
            Op::Read => self.read(&command, now),
            Op::Write => self.write(&command),
            Op::Flush => return self.events.push(now + FLUSH, Event::Done(command)),
            Op::Discard => self.discard(&command),
        };
        let end = now + Nanos(self.disturbed(time));
        self.events.push(end, Event::Done(command));
    }

    /// A time with its noise; never zero.
    fn disturbed(&mut self, time: u64) -> u64 {
        let jitter = self.noise.bell(self.link.jitter_ns);
        let spike = self.noise.below(1_000_000) < self.link.spike_ppm;
        let more = if spike {
            self.link.spike_ns / 2 + self.noise.below(self.link.spike_ns / 2 + 1)
        } else {
            0
        };
        time.saturating_add(more).saturating_add_signed(jitter).max(1)
    }

    /// Time that `bytes` take on the link.
    fn transfer(&self, bytes: u64) -> u64 {
        bytes * 1_000_000_000 / self.link.bytes_per_s
    }

    fn read(&mut self, command: &Command, now: Time) -> u64 {
        let stream = self.reader.read(&mut self.medium, command, now);
        let link = self.transfer(command.len);
        let cells = if self.link.pipelined {
            // Two stages: the slower one sets the pace, the other adds its first or last step.
            (stream.all + self.transfer(stream.last_bytes)).max(stream.first + link)
        } else {
            stream.all + link
        };
        stream.command + cells
    }

    fn write(&mut self, command: &Command) -> u64 {
        self.reader.forget();
        self.medium.counters.medium_served_write_bytes += Bytes(command.len);
        let fat = self.medium.layout.fat.clamp(command.offset, command.end());
        let mut work = self.write_fat(command.offset, fat);
        let small = self.small.as_ref().is_some_and(|small| small.takes(command.len));
        let (unit_bytes, mut from) = (self.medium.layout.unit, fat);
        while from < command.end() {
            let unit = from / unit_bytes;
            let to = command.end().min((unit + 1) * unit_bytes);
            work += if small {
                self.write_small(unit, from, to)
            } else {
                let pieces = self.medium.layout.pieces(from, to);
                self.writer.write(&mut self.medium, unit, pieces)
            };
            from = to;
        }
        let link = self.transfer(command.len);
        let stream = if self.link.pipelined { link.max(work.program) } else { link + work.program };
        self.write_command + stream + work.beside
    }

    /// Writes to the zone at the beginning: page by page wherever it is, with one group being filled.
    fn write_fat(&mut self, from: u64, to: u64) -> Work {
        let mut work = Work::default();
        if from == to {
            return work;
        }
        for piece in self.medium.layout.pieces(from, to) {
            let (more, begun) = writing::put(&mut self.fat_partial, &mut self.medium, piece, false);
            work += more;
            self.medium.fill(piece.group);
            self.fat_appended += u64::from(begun);
            if self.fat_appended * self.medium.layout.group >= self.medium.layout.unit {
                self.fat_appended = 0;
                work.beside += self.medium.erase_ns();
            }
        }
        work
    }

    fn write_small(&mut self, unit: u64, from: u64, to: u64) -> Work {
        let Some(small) = &mut self.small else { return Work::default() };
        let (program, beside) = small.put(&mut self.medium, &mut self.writer, unit, to - from);
        for Piece { group, .. } in self.medium.layout.pieces(from, to) {
            self.medium.fill(group);
        }
        Work { program, beside }
    }

    /// Empties the units that the range covers entirely; the rest keeps its data.
    fn discard(&mut self, command: &Command) -> u64 {
        let size = self.medium.layout.unit;
        for unit in command.offset.div_ceil(size)..command.end() / size {
            self.medium.empty(unit);
            self.writer.drop_log(unit);
            if let Some(small) = &mut self.small {
                small.forget(unit);
            }
            let layout = self.medium.layout;
            self.fat_partial = self.fat_partial.filter(|p| layout.unit_of(p.group()) != unit);
        }
        self.reader.forget();
        self.write_command
    }

    fn merge_small(&mut self, now: Time) {
        let Some(small) = &mut self.small else { return };
        let time = small.merge_oldest(&mut self.medium, &mut self.writer);
        self.busy = true;
        self.events.push(now + Nanos(time.max(1)), Event::Merged);
    }

    fn handle(&mut self, now: Time, event: Event, finished: &mut Vec<Finished>) {
        match event {
            Event::Done(command) => {
                self.busy = false;
                self.held -= 1;
                finished.push(Finished { tag: command.tag, at: now, outcome: command.success() });
                self.begin(now);
            }
            Event::Merged => {
                self.busy = false;
                let more = self.small.as_ref().is_some_and(SmallLog::holds_data);
                // The host is still quiet: the next unit's turn, without another wait.
                if more && self.waiting.is_empty() {
                    self.merge_small(now)
                } else {
                    self.begin(now)
                }
            }
            Event::Quiet(accepted) if accepted == self.accepted && !self.busy => {
                self.merge_small(now);
            }
            Event::Quiet(_) => {}
        }
    }
}

impl Device for Card {
    fn supports(&self, op: Op) -> bool {
        op != Op::Discard || self.link.discard
    }

    fn admits(&self, _: &Command) -> bool {
        self.held < self.link.queue_depth
    }

    fn holds(&self, offset: u64) -> bool {
        self.medium.holds(offset / self.medium.layout.group)
    }

    fn accept(&mut self, command: Command, now: Time) {
        self.held += 1;
        self.accepted += 1;
        self.waiting.push_back(command);
        self.begin(now);
    }

    fn next_event(&self) -> Option<Time> {
        self.events.next_at()
    }

    fn advance(&mut self, to: Time, finished: &mut Vec<Finished>) {
        while let Some((now, event)) = self.events.pop_until(to) {
            self.handle(now, event, finished);
        }
    }

    fn reseed(&mut self, seed: u64) {
        self.noise = Noise::new(seed);
    }

    fn media(&self) -> MediaCounters {
        self.medium.counters
    }
}
