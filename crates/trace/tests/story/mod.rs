//! Requests whose fate is known, and the events that a tracer records of them.

use block::trace::{Action, DeviceNumber, Extra, TraceEvent, Traits};
use block::{Bytes, Nanos};
use drivescope_trace::{Flags, Io, Kind, Stamp};
use proptest::prelude::*;

/// Course of one request.
#[derive(Clone, Debug)]
pub struct Fate {
    pub device: u32,
    pub kind: Kind,
    /// Requests of one region and kind come one after another; of different kinds they lie over one another.
    pub region: u64,
    pub start: u64,
    /// Lengths in sectors, and whether each (but the first) is merged at the front.
    pub bios: Vec<(u64, bool)>,
    /// Into how many parts the first is cut, when it is alone.
    pub parts: u64,
    pub inserted: bool,
    pub requeued: bool,
    /// How far it comes: 0 queued, 1 allocated, 2 issued, 3 completed.
    pub end: u8,
    pub error: u16,
    pub delays: [u64; 8],
}

pub fn fate() -> impl Strategy<Value = Fate> {
    let kind = prop::sample::select(vec![Kind::Read, Kind::Write, Kind::Discard]);
    let bios = prop::collection::vec((1u64..64, any::<bool>()), 1..5);
    let end = prop_oneof![30 => Just(3u8), 1 => 0u8..3];
    let error = prop_oneof![9 => Just(0u16), 1 => Just(5u16)];
    (
        (0u32..2, kind, 0u64..6, 0u64..2_000_000, bios, 1u64..5),
        (any::<bool>(), prop::bool::weighted(0.1), end, error),
        prop::array::uniform8(1u64..200_000),
    )
        .prop_map(
            |(
                (device, kind, region, start, bios, parts),
                (inserted, requeued, end, error),
                delays,
            )| Fate {
                device,
                kind,
                region,
                start,
                parts: if bios.len() == 1 { parts.min(bios[0].0) } else { 1 },
                bios,
                inserted,
                requeued,
                end,
                error,
                delays,
            },
        )
}

/// Events of all requests, and the I/Os that they amount to.
#[derive(Default)]
pub struct Story {
    pub events: Vec<TraceEvent>,
    pub ios: Vec<Io>,
}

impl Story {
    pub fn of(fates: &[Fate]) -> Story {
        let mut story = Story::default();
        let mut free = std::collections::HashMap::new();
        for (nth, fate) in fates.iter().enumerate() {
            let place = (fate.device, fate.kind, fate.region);
            let begin = fate.start.max(*free.get(&place).unwrap_or(&0));
            // One that does not end keeps its place for itself.
            let region = if fate.end < 3 { 1_000 + nth as u64 } else { fate.region };
            let ended = story.tell(fate, begin, region * 8_192 + 4_096);
            if fate.end == 3 {
                free.insert(place, ended + 1);
            }
        }
        story.events.sort_by_key(|event| event.time);
        story.ios.sort_by_key(|io| io.arrival);
        let origin = story.ios.first().map_or(0, |io| io.arrival.0);
        for io in &mut story.ios {
            io.arrival.0 -= origin;
            let Io { allocated, inserted, merged, issued, completed, .. } = io;
            for stamp in [allocated, inserted, merged, issued, completed] {
                *stamp = stamp.get().map_or(Stamp::NONE, |at| Stamp::at(Nanos(at.0 - origin)));
            }
        }
        story
    }

    fn say(&mut self, fate: &Fate, time: u64, action: Action, sector: u64, sectors: u64) {
        let traits = match fate.kind {
            Kind::Read => Traits::READ,
            Kind::Write => Traits::WRITE,
            _ => Traits::WRITE | Traits::DISCARD,
        };
        self.events.push(TraceEvent {
            time: Nanos(time),
            sector,
            bytes: (sectors * 512) as u32,
            device: DeviceNumber::new(8, fate.device),
            pid: 10,
            cpu: 0,
            sequence: 0,
            action,
            traits,
            error: if action == Action::Complete { fate.error } else { 0 },
            extra: Extra::None,
        });
    }

    /// Records the events of one request; returns when it was over.
    fn tell(&mut self, fate: &Fate, begin: u64, base: u64) -> u64 {
        let mut delays = fate.delays.iter().cycle();
        let mut time = begin;
        let mut later = || {
            time += delays.next().unwrap();
            time
        };
        let first_io = self.ios.len();
        let (mut from, mut to) = (base, base);
        for (nth, &(sectors, front)) in fate.bios.iter().enumerate() {
            let front = nth > 0 && front;
            let sector = if front { from - sectors } else { to };
            (from, to) = (from.min(sector), to.max(sector + sectors));
            let mut io =
                Io::arriving(Nanos(later()), fate.kind, Bytes(sector * 512), Bytes(sectors * 512));
            io.space = fate.device;
            io.pid = 10;
            self.say(fate, io.arrival.0, Action::Queue, sector, sectors);
            if fate.end >= 1 && nth == 0 {
                io.allocated = Stamp::at(Nanos(later()));
                io.flags = Flags::HEAD;
                if fate.parts == 1 {
                    self.say(
                        fate,
                        io.allocated.get().unwrap().0,
                        Action::GetRequest,
                        sector,
                        sectors,
                    );
                }
            } else if fate.end >= 1 {
                io.merged = Stamp::at(Nanos(later()));
                let (action, flag) = if front {
                    (Action::FrontMerge, Flags::MERGED_FRONT)
                } else {
                    (Action::BackMerge, Flags::MERGED_BACK)
                };
                io.flags = flag;
                self.say(fate, io.merged.get().unwrap().0, action, sector, sectors);
            }
            self.ios.push(io);
        }
        let spans = spans(from, to, fate.parts);
        if fate.parts > 1 && fate.end >= 1 {
            let allocated = self.ios[first_io].allocated.get().unwrap().0;
            for &(sector, sectors) in &spans {
                self.say(fate, allocated, Action::GetRequest, sector, sectors);
            }
            self.ios[first_io].flags = Flags::HEAD.with(Flags::SPLIT);
        }
        self.issue(fate, first_io, &spans, &mut later);
        time
    }

    fn issue(
        &mut self,
        fate: &Fate,
        first_io: usize,
        spans: &[(u64, u64)],
        later: &mut impl FnMut() -> u64,
    ) {
        if fate.end < 2 {
            return;
        }
        let head = (first_io..self.ios.len()).min_by_key(|&at| self.ios[at].offset).unwrap();
        if fate.inserted && fate.parts == 1 {
            let at = later();
            self.say(fate, at, Action::Insert, spans[0].0, spans[0].1);
            self.ios[head].inserted = Stamp::at(Nanos(at));
        }
        let mut issued = later();
        for (nth, &(sector, sectors)) in spans.iter().enumerate() {
            let at = if nth == 0 { issued } else { later() };
            self.say(fate, at, Action::Issue, sector, sectors);
        }
        let mut again = Flags::NONE;
        if fate.requeued && fate.parts == 1 {
            let (sector, sectors) = spans[0];
            let at = later();
            self.say(fate, at, Action::Requeue, sector, sectors);
            issued = later();
            self.say(fate, issued, Action::Issue, sector, sectors);
            again = Flags::REQUEUED;
        }
        let mut completed = Stamp::NONE;
        for &(sector, sectors) in spans.iter().rev().filter(|_| fate.end == 3) {
            let at = later();
            self.say(fate, at, Action::Complete, sector, sectors);
            completed = Stamp::at(Nanos(at));
        }
        for io in &mut self.ios[first_io..] {
            io.issued = Stamp::at(Nanos(issued));
            io.completed = completed;
            io.error = if completed.known() { fate.error } else { 0 };
            io.flags = Flags(io.flags.0 & !Flags::HEAD.0).with(again);
        }
        self.ios[head].flags = self.ios[head].flags.with(Flags::HEAD);
        self.ios[head].request_bytes = Bytes(spans.iter().map(|span| span.1 * 512).sum());
    }
}

/// `from` to `to` in `parts` parts.
fn spans(from: u64, to: u64, parts: u64) -> Vec<(u64, u64)> {
    let cut = |nth: u64| from + (to - from) * nth / parts;
    (0..parts).map(|nth| (cut(nth), cut(nth + 1) - cut(nth))).collect()
}

/// In an order that does not depend on which of two at one instant came first.
pub fn sorted(mut ios: Vec<Io>) -> Vec<Io> {
    ios.sort_by_key(|io| (io.arrival, io.space, io.kind, io.offset));
    ios
}

/// With spaces numbered like the devices, and not in the order of their first events.
pub fn by_device(mut ios: Vec<Io>, spaces: &[drivescope_trace::Space]) -> Vec<Io> {
    for io in &mut ios {
        io.space = spaces[io.space as usize].device.unwrap().minor();
    }
    ios
}
