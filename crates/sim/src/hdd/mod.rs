//! A disk that turns: one arm, some memory, a queue.
//!
//! This file takes commands from the link to completion; `schedule` decides what the arm does next;
//! `platters`, `geometry` and `seek` know how long that takes; `readcache` and `writecache` know what
//! is in memory.

mod geometry;
mod kind;
mod model;
mod pending;
mod platters;
mod readcache;
mod schedule;
mod seek;
mod writecache;

use std::collections::VecDeque;

use block::{Bytes, Nanos, Op, Time};

use self::geometry::Spot;
pub(crate) use self::model::HddModel;
use self::model::{HitsModel, PIECE_BYTES};
use self::pending::Pending;
use self::platters::{Mode, Platters, Trail};
use self::readcache::{ReadCache, SegmentId};
use self::writecache::WriteCache;
use crate::device::{Command, Device, Finished, MediaCounters};
use crate::events::EventQueue;
use crate::field::Fault;
use crate::identity::WriteCacheModel;
use crate::noise::Noise;

/// Future event inside the drive.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A command is understood.
    Decoded(Command),
    /// The arm may have something to do.
    Consider,
    /// The stream of this generation has passed a sector that something waits for.
    Passed(u64),
    /// The run being written is on the platters.
    Written,
    /// A piece of the first incoming write is in memory.
    Received,
    /// All of a write that must reach the platters is in memory; it was decoded at the given time.
    Staged(Command, Time),
    /// The link may be free for what waits behind the platters' data.
    Link,
    /// The host has seen the command's status.
    Done(Command),
}

/// Current activity of the arm.
#[derive(Clone, Copy, Debug)]
enum Activity {
    Idle,
    /// Reading on and on, for those in `waiters` or ahead of the host.
    Reading(Stream),
    /// Writing a run.
    Writing {
        from: u64,
        to: u64,
        command: Option<Command>,
    },
}

/// A stretch of sectors that is being read without a pause.
#[derive(Clone, Copy, Debug)]
struct Stream {
    segment: SegmentId,
    /// First sector that has not passed entirely.
    at: Spot,
    /// When that began or will begin to pass.
    begins: Time,
}

/// A read that the stream will serve.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    command: Command,
    decoded: Time,
    /// One beyond its last sector.
    end: u64,
}

/// A write whose data is crossing the link into the write cache.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    command: Command,
    /// First byte that is not in memory yet.
    next: u64,
}

/// The figures of the model that this file and `schedule` need.
#[derive(Clone, Copy, Debug)]
struct Figures {
    block: u64,
    write_back: bool,
    queue_depth: usize,
    age_limit: Nanos,
    destage_window: usize,
    destage_chunk: u64,
    destage_quiet: Nanos,
    read_ahead: u64,
    write_bytes: u64,
    write_runs: usize,
    link_bytes_per_s: u64,
    command: Nanos,
    command_jitter: u64,
    access: Nanos,
    hits: HitsModel,
}

/// The disk.
#[derive(Debug)]
pub(crate) struct Hdd {
    figures: Figures,
    platters: Platters,
    noise: Noise,
    events: EventQueue<Event>,
    /// Commands inside, from acceptance to status.
    held: usize,
    /// A flush has the drive to itself.
    flushing: Option<Command>,
    /// The flush is decoded and waits for the platters.
    flush_waits: bool,
    decoder_free: Time,
    link_free: Time,
    reads: ReadCache,
    /// Reads that memory serves and that wait for the link.
    hits: VecDeque<Command>,
    /// The last [`Event::Link`] is for then.
    link_looked_at: Time,
    dirty: WriteCache<Spot>,
    incoming: VecDeque<Incoming>,
    /// The first incoming write has a piece on the link.
    receiving: bool,
    /// The first incoming write finds no room since then.
    stalled_since: Option<Time>,
    pending: Vec<Pending>,
    activity: Activity,
    waiters: Vec<Waiter>,
    generation: u64,
    /// End of the last write; `None` once the arm did something else.
    write_trail: Option<Trail>,
    /// The segment that reading ahead would lengthen.
    ahead: Option<SegmentId>,
    /// When the platters last served a read.
    last_read: Time,
    /// An [`Event::Consider`] for the end of the quiet time is already scheduled for then.
    quiet_end: Time,
    media: MediaCounters,
}

impl Hdd {
    /// Makes the disk of a model.
    ///
    /// # Errors
    /// The field that makes it impossible; none for a model that was checked.
    pub(crate) fn new(model: &HddModel, seed: u64) -> Result<Hdd, Fault> {
        let (memory, schedule, link) = (&model.memory, &model.schedule, &model.link);
        let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let figures = Figures {
            block: model.geometry.physical_block_bytes,
            write_back: memory.write_cache == WriteCacheModel::WriteBack,
            queue_depth: count(schedule.queue_depth),
            age_limit: Nanos(schedule.age_limit_ns),
            destage_window: count(schedule.destage_window),
            destage_chunk: schedule.destage_chunk_bytes,
            destage_quiet: Nanos(schedule.destage_quiet_ns),
            read_ahead: memory.read_ahead_bytes,
            write_bytes: memory.write_bytes,
            write_runs: count(memory.write_runs),
            link_bytes_per_s: link.bytes_per_s,
            command: Nanos(link.command_ns),
            command_jitter: link.command_jitter_ns,
            access: Nanos(link.access_ns),
            hits: link.hits,
        };
        let mut hdd = Hdd {
            figures,
            platters: Platters::new(model)?,
            noise: Noise::new(seed),
            events: EventQueue::new(),
            held: 0,
            flushing: None,
            flush_waits: false,
            decoder_free: Time::ZERO,
            link_free: Time::ZERO,
            reads: ReadCache::new(count(memory.segments), memory.segment_bytes, memory.read_bytes),
            hits: VecDeque::new(),
            link_looked_at: Time::ZERO,
            dirty: WriteCache::new(),
            incoming: VecDeque::new(),
            receiving: false,
            stalled_since: None,
            pending: Vec::new(),
            activity: Activity::Idle,
            waiters: Vec::new(),
            generation: 0,
            write_trail: None,
            ahead: None,
            last_read: Time::ZERO,
            quiet_end: Time::ZERO,
            media: MediaCounters::default(),
        };
        hdd.reseed(seed);
        Ok(hdd)
    }

    fn handle(&mut self, now: Time, event: Event, finished: &mut Vec<Finished>) {
        match event {
            Event::Decoded(command) => match command.op {
                Op::Read => self.read(command, now),
                Op::Write => self.write(command, now),
                Op::Flush | Op::Discard => {
                    self.flush_waits = true;
                    self.finish_flush(now);
                    self.consider(now);
                }
            },
            Event::Consider => self.consider(now),
            Event::Passed(generation) if generation == self.generation => self.passed(now),
            Event::Passed(_) => {}
            Event::Written => self.written(now),
            Event::Received => self.received(now),
            Event::Staged(command, decoded) => self.stage(command, decoded, now),
            Event::Link => self.send_hits(now),
            Event::Done(command) => {
                self.held -= 1;
                if command.op == Op::Flush {
                    self.flushing = None;
                    self.flush_waits = false;
                }
                let outcome = command.success();
                finished.push(Finished { tag: command.tag, at: now, outcome });
            }
        }
    }

    /// Time that `bytes` take on the link.
    fn transfer(&self, bytes: u64) -> Nanos {
        Nanos(bytes * 1_000_000_000 / self.figures.link_bytes_per_s)
    }

    fn done(&mut self, command: Command, at: Time) {
        let jitter = self.noise.below(self.figures.command_jitter + 1);
        self.events.push(at + Nanos(jitter), Event::Done(command));
    }

    /// First sector that holds a byte.
    fn sector(&self, byte: u64) -> u64 {
        byte / self.figures.block
    }

    /// One beyond the last sector that holds a byte before `end`.
    fn sector_end(&self, end: u64) -> u64 {
        end.div_ceil(self.figures.block)
    }

    // ---- reads

    /// One beyond the last byte that is in memory without a gap from `start`, up to `end`.
    fn held_until(&self, start: u64, end: u64) -> u64 {
        let mut at = start;
        while at < end {
            let mut next = self.reads.held_until(at).max(self.dirty.held_until(at));
            if let Activity::Writing { from, to, .. } = self.activity
                && (from..to).contains(&at)
            {
                next = next.max(to);
            }
            if next == at {
                break;
            }
            at = next;
        }
        at.min(end)
    }

    fn read(&mut self, command: Command, now: Time) {
        self.catch_up(now);
        let mut from = command.offset;
        if !command.fua {
            from = self.held_until(command.offset, command.end());
            self.reads.touch(command.offset, command.end());
        }
        if from == command.end() {
            self.media.cache_served_read_bytes += Bytes(command.len);
            match self.figures.hits {
                HitsModel::InTurn => self.send(command, now, now),
                HitsModel::Yield => {
                    self.hits.push_back(command);
                    self.send_hits(now);
                }
            }
            // Data that the host takes from memory makes room for reading further ahead.
            self.consider(now);
            return;
        }
        self.media.medium_served_read_bytes += Bytes(command.len);
        if self.join(command, from, now) {
            return;
        }
        let spot = self.platters.geometry.spot(self.sector(from));
        let ready = now + self.figures.access;
        self.pending.push(Pending { command, from, spot, decoded: now, ready });
        self.events.push(ready, Event::Consider);
    }

    /// Sends a read's data, all of which is in memory at `ready`. What was there earlier has crossed
    /// the link while the rest was awaited, so only the last block is still to go, unless the link
    /// was busy with others.
    fn send(&mut self, command: Command, decoded: Time, ready: Time) {
        let whole = self.transfer(command.len);
        let tail = self.transfer(command.len.min(self.figures.block));
        let earliest = Time(ready.0.saturating_sub(whole.0));
        let begins = self.link_free.max(decoded).max(earliest);
        let ends = (begins + whole).max(ready + tail);
        self.link_free = ends;
        self.done(command, ends);
    }

    /// Sends what waits behind the data of the platters, one after the other whenever the link has nothing else to do. The
    /// platters bring no more than is waited for, so this comes.
    fn send_hits(&mut self, now: Time) {
        while self.link_free <= now
            && let Some(command) = self.hits.pop_front()
        {
            self.send(command, now, now);
        }
        if !self.hits.is_empty() && self.link_looked_at < self.link_free {
            self.link_looked_at = self.link_free;
            self.events.push(self.link_free, Event::Link);
        }
    }

    // ---- writes

    fn write(&mut self, command: Command, now: Time) {
        if self.figures.write_back && !command.fua {
            self.incoming.push_back(Incoming { command, next: command.offset });
            self.receive(now);
            return;
        }
        let staged = self.link_free.max(now) + self.transfer(command.len);
        self.link_free = staged;
        self.events.push(staged, Event::Staged(command, now));
    }

    /// Bytes and runs of the write cache that are taken, the run under the head included.
    fn taken(&self) -> (u64, usize) {
        match self.activity {
            Activity::Writing { from, to, command: None } => {
                (self.dirty.bytes() + (to - from), self.dirty.runs() + 1)
            }
            _ => (self.dirty.bytes(), self.dirty.runs()),
        }
    }

    /// Lets the next piece of the first incoming write cross the link, when there is room for it.
    fn receive(&mut self, now: Time) {
        if self.receiving {
            return;
        }
        let Some(first) = self.incoming.front() else {
            self.stalled_since = None;
            return;
        };
        let piece = PIECE_BYTES.min(first.command.end() - first.next);
        let (bytes, runs) = self.taken();
        if bytes + piece > self.figures.write_bytes || runs >= self.figures.write_runs {
            self.stalled_since.get_or_insert(now);
            return;
        }
        self.stalled_since = None;
        self.receiving = true;
        let received = self.link_free.max(now) + self.transfer(piece);
        self.link_free = received;
        self.events.push(received, Event::Received);
    }

    fn received(&mut self, now: Time) {
        self.receiving = false;
        let Some(first) = self.incoming.front_mut() else { return };
        let (from, command) = (first.next, first.command);
        let to = command.end().min(from + PIECE_BYTES);
        first.next = to;
        if to == command.end() {
            self.incoming.pop_front();
        }
        let (geometry, block) = (&self.platters.geometry, self.figures.block);
        self.dirty.insert(from, to, |byte| geometry.spot(byte / block));
        self.media.cache_taken_write_bytes += Bytes(to - from);
        if to == command.end() {
            self.done(command, now);
        }
        self.receive(now);
        self.consider(now);
    }

    /// A write that must reach the platters is in memory, and joins those that wait for the arm.
    fn stage(&mut self, command: Command, decoded: Time, now: Time) {
        self.media.medium_served_write_bytes += Bytes(command.len);
        let spot = self.platters.geometry.spot(self.sector(command.offset));
        let ready = now.max(decoded + self.figures.access);
        self.pending.push(Pending { command, from: command.offset, spot, decoded, ready });
        self.events.push(ready, Event::Consider);
    }

    /// The run under the head is on the platters.
    fn written(&mut self, now: Time) {
        let Activity::Writing { from, to, command } = self.activity else { return };
        self.activity = Activity::Idle;
        self.media.medium_write_bytes += Bytes(to - from);
        let end = self.sector_end(to);
        let last = self.platters.geometry.spot(end - 1);
        self.platters.rest_at(last, Mode::Write);
        self.write_trail = (end < self.platters.geometry.sectors()).then(|| {
            let spot = self.platters.geometry.spot(end);
            let gap = spot.position - self.platters.geometry.position_after(end);
            Trail { mode: Mode::Write, spot, begins: now + Nanos(gap) }
        });
        if let Some(command) = command {
            self.done(command, now);
        }
        self.receive(now);
        self.finish_flush(now);
        self.consider(now);
    }

    /// Answers the flush when nothing is dirty any more.
    fn finish_flush(&mut self, now: Time) {
        if let Some(command) = self.flushing
            && self.flush_waits
            && self.taken().0 == 0
        {
            self.flush_waits = false;
            self.done(command, now);
        }
    }
}

impl Device for Hdd {
    fn supports(&self, op: Op) -> bool {
        op != Op::Discard
    }

    /// ATA's FLUSH CACHE is not a queued command: the host lets the queue drain before it, and
    /// issues nothing beside it (ACS-3, and libata's handling of non-NCQ commands).
    fn admits(&self, command: &Command) -> bool {
        match command.op {
            Op::Flush => self.held == 0,
            _ => self.held < self.figures.queue_depth && self.flushing.is_none(),
        }
    }

    fn accept(&mut self, command: Command, now: Time) {
        self.held += 1;
        if command.op == Op::Flush {
            self.flushing = Some(command);
        }
        let jitter = Nanos(self.noise.below(self.figures.command_jitter + 1));
        let decoded = self.decoder_free.max(now) + self.figures.command + jitter;
        self.decoder_free = decoded;
        self.events.push(decoded, Event::Decoded(command));
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
        self.platters.spin_up(&mut self.noise);
    }

    fn media(&self) -> MediaCounters {
        self.media
    }
}
