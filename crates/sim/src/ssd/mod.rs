//! A drive of flash chips with a page-mapped translation layer.
//!
//! This file takes commands from the host to completion. `reads` finds what a read needs, `writes` takes data into
//! memory and gives it its place, `nand` makes the dies work, `idle` uses the host's pauses; `ftl` is the log of a
//! die, which knows no time.

mod agenda;
mod check;
mod crossings;
mod die;
mod epochs;
mod ftl;
mod idle;
mod kind;
mod model;
mod nand;
mod random;
mod reads;
mod shape;
mod times;
mod writes;

use std::collections::VecDeque;

use block::{Op, Time};

use self::agenda::{Event, Heap, Line};
use self::crossings::{Crossing, Incoming, Transfer};
use self::die::{Die, Keeping};
use self::epochs::Epochs;
use self::ftl::{Collection, Ftl, InitialState};
use self::model::MappingModel;
pub(crate) use self::model::SsdModel;
use self::shape::Shape;
use self::times::Figures;
use crate::device::{Command, Device, Finished, MediaCounters};
use crate::noise::Noise;

/// A command inside the drive.
#[derive(Clone, Copy, Debug)]
struct Held {
    command: Command,
    /// Parts that are still to come: pieces of data, programs that it waits for.
    parts: u32,
}

/// Commands inside the drive, each at a place of its own, which is used again.
#[derive(Debug, Default)]
struct Holding {
    held: Vec<Held>,
    free: Vec<u32>,
}

impl Holding {
    fn add(&mut self, command: Command) -> u32 {
        let held = Held { command, parts: 0 };
        match self.free.pop() {
            Some(place) => {
                self.held[place as usize] = held;
                place
            }
            None => {
                self.held.push(held);
                self.held.len() as u32 - 1
            }
        }
    }

    fn count(&self) -> usize {
        self.held.len() - self.free.len()
    }

    fn get(&mut self, place: u32) -> &mut Held {
        &mut self.held[place as usize]
    }
}

/// The drive.
#[derive(Debug)]
pub(crate) struct Ssd {
    figures: Figures,
    shape: Shape,
    noise: Noise,
    beginning: (Collection, InitialState),
    /// No command was taken so far.
    is_untouched: bool,
    holding: Holding,
    /// The command that has the drive to itself, or nothing.
    alone: bool,
    /// Commands that are being understood.
    decoder: Line<u32>,
    /// To the drive; both directions on a link that carries one at a time.
    link_in: Line<Crossing>,
    link_out: Line<Crossing>,
    channels: Vec<Line<Transfer>>,
    dies: Vec<Die>,
    heap: Heap,
    /// Writes whose data is not all in the buffer or on its way there.
    incoming: VecDeque<Incoming>,
    /// Room in the write buffer, in units.
    room: u64,
    /// Pieces that are on the link with their room.
    pieces: u32,
    /// Programs of the host's data that are still to end.
    programs: u32,
    epochs: Epochs,
    /// When the drive next does something for itself; [`Time::NEVER`] while the host wants something.
    idle_at: Time,
    /// The die that folds next.
    idle_die: u32,
    media: MediaCounters,
    /// Room for one step's work, kept so that nothing is allocated.
    rows: Vec<u64>,
    moves: Vec<(u32, u32)>,
    done: Vec<Finished>,
}

/// Seed of what a die draws for itself.
fn seed_of(die: u32, seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(die))
}

impl Ssd {
    /// Makes the drive of a model that was checked.
    pub(crate) fn new(model: &SsdModel, seed: u64) -> Ssd {
        let (figures, shape) = (Figures::of(model), Shape::of(model));
        let keeping = |die| match model.layout.mapping {
            MappingModel::Page => {
                let (policy, state) = (shape::collection(model), shape::initial(model));
                let seed = seed_of(die, seed);
                Keeping::Log(Box::new(Ftl::new(shape.log, policy, state, seed)))
            }
            MappingModel::InPlace => Keeping::InPlace,
        };
        Ssd {
            beginning: (shape::collection(model), shape::initial(model)),
            is_untouched: true,
            noise: Noise::new(seed),
            holding: Holding::default(),
            alone: false,
            decoder: Line::new(),
            link_in: Line::new(),
            link_out: Line::new(),
            channels: (0..shape.channels).map(|_| Line::new()).collect(),
            dies: (0..shape.dies).map(|die| Die::new(keeping(die))).collect(),
            heap: Heap::default(),
            incoming: VecDeque::new(),
            room: figures.write_units,
            pieces: 0,
            programs: 0,
            epochs: Epochs::default(),
            idle_at: Time::NEVER,
            idle_die: 0,
            media: MediaCounters::default(),
            rows: Vec::new(),
            moves: Vec::new(),
            done: Vec::new(),
            figures,
            shape,
        }
    }

    /// Time of the next event, and which of the sources it comes from. Of one instant, commands are understood first
    /// and what the drive does for itself comes last.
    #[inline]
    fn next(&self) -> (Time, u8) {
        let mut first = (self.decoder.next_at(), 0);
        for (at, source) in [
            (self.link_in.next_at(), 1),
            (self.link_out.next_at(), 2),
            (self.heap.next_at(), 3),
            (self.idle_at, 4),
        ] {
            if at < first.0 {
                first = (at, source);
            }
        }
        first
    }

    fn handle(&mut self, now: Time, source: u8) {
        match source {
            0 => {
                if let Some(place) = self.decoder.pop() {
                    self.decoded(place, now);
                }
            }
            1 => {
                let crossing = self.link_in.pop();
                self.crossed(crossing, now);
            }
            2 => {
                let crossing = self.link_out.pop();
                self.crossed(crossing, now);
            }
            3 => match self.heap.pop() {
                Some(Event::Die(die)) => self.die_ended(die, now),
                Some(Event::Channel(channel)) => self.transferred(channel, now),
                None => {}
            },
            _ => self.use_pause(now),
        }
    }

    fn decoded(&mut self, place: u32, now: Time) {
        let command = self.holding.get(place).command;
        match command.op {
            Op::Read => self.read(place, &command, now),
            Op::Write => self.write(place, &command, now),
            Op::Flush => self.flush(place, now),
            Op::Discard => {
                self.trim(&command);
                self.finish(place, now);
            }
        }
    }

    fn crossed(&mut self, crossing: Option<Crossing>, now: Time) {
        match crossing {
            Some(Crossing::In(piece)) => self.received(piece, now),
            Some(Crossing::Out(place)) => self.part_done(place, now),
            None => {}
        }
    }

    /// Puts data of a read on the link.
    #[inline]
    fn send(&mut self, place: u32, bytes: u64, now: Time) {
        let span = self.figures.on_link(bytes);
        let link = if self.figures.sata { &mut self.link_in } else { &mut self.link_out };
        link.push(now, span, Crossing::Out(place));
    }

    /// A part of a command is done; the last one finishes it.
    #[inline]
    fn part_done(&mut self, place: u32, now: Time) {
        let held = self.holding.get(place);
        held.parts -= 1;
        if held.parts == 0 {
            self.finish(place, now);
        }
    }

    fn finish(&mut self, place: u32, now: Time) {
        let command = self.holding.get(place).command;
        self.holding.free.push(place);
        if self.holding.count() == 0 {
            self.alone = false;
            self.begin_pause(now);
        }
        let (tag, outcome) = (command.tag, command.success());
        self.done.push(Finished { tag, at: now, outcome });
    }

    /// Hands over what is done. Lists are swapped rather than copied: a copy would wait for all that is still under way
    /// in the processor.
    #[inline]
    fn hand_over(&mut self, finished: &mut Vec<Finished>) {
        if finished.is_empty() {
            std::mem::swap(finished, &mut self.done);
        } else {
            finished.append(&mut self.done);
        }
    }

    /// Lets everything up to and including `to` happen.
    #[inline]
    fn run(&mut self, to: Time) {
        loop {
            let (at, source) = self.next();
            if at > to || at == Time::NEVER {
                return;
            }
            self.handle(at, source);
        }
    }
}

impl Device for Ssd {
    fn supports(&self, _: Op) -> bool {
        true
    }

    /// On SATA, FLUSH CACHE and DATA SET MANAGEMENT are not queued commands: the host lets the queue drain before
    /// them, and issues nothing beside them (ACS-3, and libata's handling of non-NCQ commands).
    fn admits(&self, command: &Command) -> bool {
        let held = self.holding.count();
        let queued = matches!(command.op, Op::Read | Op::Write) || !self.figures.sata;
        if queued { held < self.figures.queue_depth as usize && !self.alone } else { held == 0 }
    }

    fn accept(&mut self, command: Command, now: Time) {
        let queued = matches!(command.op, Op::Read | Op::Write) || !self.figures.sata;
        self.alone = !queued;
        self.is_untouched = false;
        self.idle_at = Time::NEVER;
        let span = self.figures.command(&mut self.noise);
        if command.op != Op::Flush {
            let at = self.shape.place(command.offset >> self.shape.map_shift);
            if let Keeping::Log(ftl) = &self.dies[at.die as usize].keeping {
                ftl.touch(at.unit);
            }
        }
        let place = self.holding.add(command);
        self.decoder.push(now + self.figures.latency, span, place);
    }

    fn next_event(&self) -> Option<Time> {
        let (at, _) = self.next();
        (at < Time::NEVER).then_some(at)
    }

    fn advance(&mut self, to: Time, finished: &mut Vec<Finished>) {
        self.run(to);
        self.hand_over(finished);
    }

    fn advance_to_first(&mut self, until: Time, finished: &mut Vec<Finished>) -> Time {
        loop {
            let (at, source) = self.next();
            if at > until || at == Time::NEVER {
                return until;
            }
            self.handle(at, source);
            if !self.done.is_empty() {
                self.run(at);
                self.hand_over(finished);
                return at;
            }
        }
    }

    fn tells_endurance(&self) -> bool {
        true
    }

    fn reseed(&mut self, seed: u64) {
        self.noise = Noise::new(seed);
        if !self.is_untouched {
            return;
        }
        // The initial state is drawn again: a drive that was never used is then as if opened with the seed.
        let (policy, state) = self.beginning;
        for (at, die) in (0..).zip(&mut self.dies) {
            if let Keeping::Log(ftl) = &mut die.keeping {
                **ftl = Ftl::new(self.shape.log, policy, state, seed_of(at, seed));
            }
        }
    }

    fn media(&self) -> MediaCounters {
        self.media
    }
}
