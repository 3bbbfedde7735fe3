//! Next action of the arm: the request that can be reached soonest, and otherwise destaging, reading
//! ahead, or nothing.

use block::{Bytes, Nanos, Op, Time};

use super::geometry::Spot;
use super::pending::Pending;
use super::platters::{Mode, Trail};
use super::writecache::Dirty;
use super::{Activity, Event, Hdd, Stream, Waiter};
use crate::device::Command;

/// Next action of the arm.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Serve(usize),
    Destage(Dirty<Spot>),
}

impl Hdd {
    /// Brings the stream's progress up to `now`: what has passed is in its segment.
    pub(super) fn catch_up(&mut self, now: Time) {
        let Activity::Reading(stream) = &mut self.activity else { return };
        let geometry = &self.platters.geometry;
        let position = stream.at.position + now.since(stream.begins).0;
        let passed = geometry.passed_at(position).min(geometry.sectors());
        if now <= stream.begins || passed <= stream.at.sector {
            return;
        }
        let block = self.figures.block;
        self.media.medium_read_bytes += Bytes((passed - stream.at.sector) * block);
        let last = geometry.spot(passed - 1);
        let next = if passed < geometry.sectors() {
            geometry.spot(passed)
        } else {
            let position = geometry.position_after(passed);
            Spot { sector: passed, position, ..last }
        };
        stream.begins = stream.begins + Nanos(next.position - stream.at.position);
        stream.at = next;
        self.reads.grow(stream.segment, passed * block);
        self.platters.rest_at(last, Mode::Read);
    }

    /// Lets a read be served by the stream that is under way, when that will pass it: behind what is
    /// already awaited at most, or at most a track ahead of reading ahead. Not when another request
    /// is overdue, or a write finds no room, since a sequential reader could hold the arm for ever.
    pub(super) fn join(&mut self, command: Command, from: u64, now: Time) -> bool {
        let Activity::Reading(stream) = self.activity else { return false };
        if command.fua || self.overdue(now).is_some() || self.starved(now) {
            return false;
        }
        let sector = self.sector(from);
        let awaited = self.waiters.iter().map(|w| w.end).max();
        let reach = awaited.unwrap_or_else(|| {
            stream.at.sector + self.platters.geometry.per_track(stream.at.sector.min(sector))
        });
        if !(stream.at.sector..=reach).contains(&sector) {
            return false;
        }
        self.reads.want(stream.segment, command.end());
        self.waiters.push(Waiter { command, decoded: now, end: self.sector_end(command.end()) });
        self.schedule_stream(now);
        true
    }

    /// Schedules the instant at which the stream has passed what is awaited first, or as far as it
    /// reads ahead.
    fn schedule_stream(&mut self, now: Time) {
        let Activity::Reading(stream) = self.activity else { return };
        let end = match self.waiters.iter().map(|w| w.end).min() {
            Some(end) => end,
            None => self.ahead_limit(stream.segment),
        };
        let position = self.platters.geometry.position_after(end.max(1));
        let passes = stream.begins + Nanos(position.saturating_sub(stream.at.position));
        self.generation += 1;
        self.events.push(passes.max(now), Event::Passed(self.generation));
    }

    /// One beyond the last sector up to which a segment is read ahead.
    fn ahead_limit(&self, segment: super::SegmentId) -> u64 {
        let wanted = self.reads.get(segment).map_or(0, |s| s.wanted);
        let limit = self.sector(wanted.saturating_add(self.figures.read_ahead));
        limit.min(self.platters.geometry.sectors())
    }

    /// The stream has passed something that is awaited.
    pub(super) fn passed(&mut self, now: Time) {
        self.catch_up(now);
        let Activity::Reading(stream) = self.activity else { return };
        let mut index = 0;
        while index < self.waiters.len() {
            let waiter = self.waiters[index];
            if waiter.end <= stream.at.sector {
                self.waiters.remove(index);
                self.last_read = now;
                self.send(waiter.command, waiter.decoded, now);
            } else {
                index += 1;
            }
        }
        if self.waiters.is_empty() {
            self.consider(now);
        } else {
            // Readers who keep the stream going leave the arm no time to consider others, but what
            // it brought for them is there.
            self.serve_from_stream(now);
            self.schedule_stream(now);
        }
    }

    /// Decides what the arm does, unless it is doing what must not be interrupted. Reading ahead is
    /// given up for anything else.
    pub(super) fn consider(&mut self, now: Time) {
        if matches!(self.activity, Activity::Writing { .. }) || !self.waiters.is_empty() {
            return;
        }
        self.catch_up(now);
        self.serve_from_stream(now);
        let trail = match self.activity {
            Activity::Reading(s) => Some(Trail { mode: Mode::Read, spot: s.at, begins: s.begins }),
            _ => self.write_trail,
        };
        match self.choose(trail.as_ref(), now) {
            Some(Choice::Serve(index)) => {
                let pending = self.pending.remove(index);
                match pending.mode() {
                    Mode::Read => self.begin_read(&pending, trail.as_ref(), now),
                    Mode::Write => {
                        let (from, to) = (pending.from, pending.command.end());
                        let command = Some(pending.command);
                        self.begin_write(from, to, &pending.spot, command, trail.as_ref(), now);
                    }
                }
            }
            Some(Choice::Destage(run)) => {
                // Cut between two blocks, since part of one costs a turn.
                let cut = run.start + self.figures.destage_chunk;
                let to = run.end.min(cut - cut % self.figures.block);
                self.begin_write(run.start, to, &run.spot, None, trail.as_ref(), now);
            }
            None => self.read_ahead(now),
        }
    }

    /// Pending reads that the stream has meanwhile brought into memory need no arm.
    fn serve_from_stream(&mut self, now: Time) {
        let Activity::Reading(stream) = self.activity else { return };
        let Some(segment) = self.reads.get(stream.segment).copied() else { return };
        let mut index = 0;
        while index < self.pending.len() {
            let Pending { command, from, decoded, .. } = self.pending[index];
            let inside = (segment.start..segment.end).contains(&from);
            index += 1;
            if command.op != Op::Read || command.fua || !inside {
                continue;
            }
            let held = self.held_until(from, command.end());
            if held == command.end() {
                index -= 1;
                self.pending.remove(index);
                self.send(command, decoded, now);
            } else {
                let spot = self.platters.geometry.spot(self.sector(held));
                let pending = &mut self.pending[index - 1];
                (pending.from, pending.spot) = (held, spot);
            }
        }
    }

    /// True when a pending request may be served now. A read with force unit access waits until
    /// what is dirty in its range has been written.
    fn eligible(&self, pending: &Pending, now: Time) -> bool {
        pending.ready <= now && self.awaited_run(&pending.command).is_none()
    }

    /// The dirty run that must be on the platters before `command` can be carried out.
    fn awaited_run(&self, command: &Command) -> Option<Dirty<Spot>> {
        let forced_read = command.fua && command.op == Op::Read;
        forced_read.then(|| self.dirty.overlapping(command.offset, command.end())).flatten()
    }

    /// Returns the action due for the oldest request that is planned and older than the limit.
    fn overdue(&self, now: Time) -> Option<Choice> {
        let old = |p: &Pending| p.ready <= now && now.since(p.decoded) > self.figures.age_limit;
        let index = self.pending.iter().position(old)?;
        let first = self.awaited_run(&self.pending[index].command);
        Some(first.map_or(Choice::Serve(index), Choice::Destage))
    }

    /// A write has found no room in memory for longer than the limit.
    fn starved(&self, now: Time) -> bool {
        self.stalled_since.is_some_and(|since| now.since(since) > self.figures.age_limit)
    }

    /// Shortest access time first among what the host waits for, directly or since a forced read
    /// waits for a dirty run, and, when memory runs short or the host has been quiet, the oldest
    /// dirty runs.
    fn choose(&mut self, trail: Option<&Trail>, now: Time) -> Option<Choice> {
        if let Some(choice) = self.overdue(now) {
            return Some(choice);
        }
        let starved = self.starved(now);
        let mut best: Option<(Nanos, Choice)> = None;
        let mut offer = |time: Nanos, choice: Choice| {
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, choice));
            }
        };
        if !starved {
            for (index, pending) in self.pending.iter().enumerate() {
                if pending.ready > now {
                    continue;
                }
                if let Some(run) = self.awaited_run(&pending.command) {
                    let time = self.platters.expected(trail, &run.spot, Mode::Write, now);
                    offer(time, Choice::Destage(run));
                } else if !self.continues_another(pending, now) {
                    let time = self.platters.expected(trail, &pending.spot, pending.mode(), now);
                    offer(time, Choice::Serve(index));
                }
            }
        }
        if self.may_destage(now) {
            for run in self.dirty.oldest().take(self.figures.destage_window) {
                let time = self.platters.expected(trail, &run.spot, Mode::Write, now);
                offer(time, Choice::Destage(run));
            }
        }
        best.map(|(_, choice)| choice)
    }

    /// True when a waiting request of the same kind ends where this one begins. A run of neighbours is
    /// entered at its beginning: entered in the middle because that passes first, its first part
    /// would be left behind for as long as neighbours keep arriving at the other end.
    fn continues_another(&self, pending: &Pending, now: Time) -> bool {
        self.pending.iter().any(|other| {
            other.command.op == pending.command.op
                && other.command.end() == pending.from
                && self.eligible(other, now)
        })
    }

    fn may_destage(&mut self, now: Time) -> bool {
        let (bytes, runs) = self.taken();
        if self.dirty.bytes() == 0 {
            return false;
        }
        let pressed = bytes >= self.figures.write_bytes / 2
            || runs >= self.figures.write_runs / 2
            || self.stalled_since.is_some()
            || self.flush_waits;
        if pressed {
            return true;
        }
        if !self.pending.is_empty() {
            return false;
        }
        let quiet_end = self.last_read + self.figures.destage_quiet;
        if now >= quiet_end || self.last_read == Time::ZERO {
            return true;
        }
        if self.quiet_end < quiet_end {
            self.quiet_end = quiet_end;
            self.events.push(quiet_end, Event::Consider);
        }
        false
    }

    fn begin_read(&mut self, pending: &Pending, trail: Option<&Trail>, now: Time) {
        let Pending { command, spot, decoded, .. } = *pending;
        let begins = self.access(&spot, Mode::Read, trail, now);
        let segment = self.reads.open(spot.sector * self.figures.block, command.end());
        self.ahead = Some(segment);
        self.activity = Activity::Reading(Stream { segment, at: spot, begins });
        self.waiters.push(Waiter { command, decoded, end: self.sector_end(command.end()) });
        self.schedule_stream(now);
    }

    /// Writes a run. One that does not fill its first or last block takes a turn more, in which the
    /// rest of that block is read.
    fn begin_write(
        &mut self,
        from: u64,
        to: u64,
        spot: &Spot,
        command: Option<Command>,
        trail: Option<&Trail>,
        now: Time,
    ) {
        let block = self.figures.block;
        let whole = from.is_multiple_of(block) && to.is_multiple_of(block);
        let extra = if whole { Nanos::ZERO } else { self.platters.turn() };
        let begins = self.access(spot, Mode::Write, trail, now);
        let geometry = &self.platters.geometry;
        self.dirty.clear(from, to, |byte| geometry.spot(byte / block));
        let passing = geometry.position_after(to.div_ceil(block)) - spot.position;
        self.activity = Activity::Writing { from, to, command };
        self.events.push(begins + Nanos(passing) + extra, Event::Written);
    }

    fn access(&mut self, spot: &Spot, mode: Mode, trail: Option<&Trail>, now: Time) -> Time {
        self.write_trail = None;
        let access = self.platters.reach(trail, spot, mode, now, &mut self.noise);
        self.media.seeks += u64::from(access.sought);
        self.media.lost_turns += u64::from(access.lost_turn);
        access.begins
    }

    /// With nothing else to do, the last segment read is lengthened.
    fn read_ahead(&mut self, now: Time) {
        if let Activity::Reading(stream) = self.activity {
            if stream.at.sector < self.ahead_limit(stream.segment) {
                self.schedule_stream(now);
                return;
            }
            self.activity = Activity::Idle;
        }
        if !self.pending.is_empty() {
            return;
        }
        let Some(id) = self.ahead else { return };
        let Some(end) = self.reads.get(id).map(|s| self.sector(s.end)) else { return };
        if end < self.ahead_limit(id) {
            let spot = self.platters.geometry.spot(end);
            let begins = self.access(&spot, Mode::Read, None, now);
            self.activity = Activity::Reading(Stream { segment: id, at: spot, begins });
            self.schedule_stream(now);
        }
    }
}
