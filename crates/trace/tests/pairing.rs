//! Events of I/Os whose fate is known are paired to just those I/Os.

use block::trace::{Action, DeviceNumber, Extra, TraceEvent, TraceSink as _, Traits};
use block::{Bytes, Nanos};
use drivescope_trace::pair::{Limits, Pairer, Unpaired};
use drivescope_trace::{Flags, Io, Kind, Stamp};
use proptest::prelude::*;

/// What becomes of one request.
#[derive(Clone, Debug)]
struct Fate {
    device: u32,
    kind: Kind,
    /// Requests of one region and kind come one after another; of different kinds they lie over one another.
    region: u64,
    start: u64,
    /// Lengths in sectors, and whether each (but the first) is merged at the front.
    bios: Vec<(u64, bool)>,
    /// Into how many parts the first is cut, when it is alone.
    parts: u64,
    inserted: bool,
    requeued: bool,
    /// How far it comes: 0 queued, 1 allocated, 2 issued, 3 completed.
    end: u8,
    error: u16,
    delays: [u64; 8],
}

fn fate() -> impl Strategy<Value = Fate> {
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

/// What is told of all requests, and the I/Os that come of it.
#[derive(Default)]
struct Story {
    events: Vec<TraceEvent>,
    ios: Vec<Io>,
}

impl Story {
    fn of(fates: &[Fate]) -> Story {
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

    /// Tells of one request; returns when it was over.
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

fn pair(events: &[TraceEvent], limits: Limits, batch: usize) -> (Vec<Io>, Pairer) {
    let mut pairer = Pairer::new("told", limits);
    let mut ios = Vec::new();
    for events in events.chunks(batch) {
        pairer.events(events);
        pairer.drain(&mut ios);
    }
    pairer.finish(&mut ios);
    (ios, pairer)
}

/// The numbers that spaces have depend on which device was told of first.
fn by_device(mut ios: Vec<Io>, pairer: &Pairer) -> Vec<Io> {
    for io in &mut ios {
        io.space = pairer.info().spaces[io.space as usize].device.unwrap().minor();
    }
    ios
}

fn sorted(mut ios: Vec<Io>) -> Vec<Io> {
    ios.sort_by_key(|io| (io.arrival, io.space, io.kind, io.offset));
    ios
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Breaks when an event is given to the wrong bio of many that are under way, or to none.
    #[test]
    fn events_are_paired_to_the_ios_that_they_were_told_of(
        fates in prop::collection::vec(fate(), 1..120),
        batch in 1usize..300,
    ) {
        let story = Story::of(&fates);
        let (ios, pairer) = pair(&story.events, Limits::default(), batch);
        prop_assert!(ios.is_sorted_by_key(|io| io.arrival));
        let unfinished = fates.iter().filter(|fate| fate.end < 3).map(|fate| fate.bios.len() as u64).sum();
        prop_assert_eq!(pairer.unpaired(), Unpaired { unfinished, ..Unpaired::default() });
        let counted: u64 =
            pairer.info().spaces.iter().flat_map(|space| space.tally.events.values()).sum();
        prop_assert_eq!(counted, story.events.len() as u64);
        prop_assert_eq!(sorted(by_device(ios, &pairer)), sorted(story.ios));
    }

    /// The same when each CPU's events come by themselves, as a recorder reads them: CPU by CPU, each time what came
    /// in the last while. Breaks when events are let go before those that were earlier have come.
    #[test]
    fn events_of_several_cpus_are_put_in_order(
        fates in prop::collection::vec(fate(), 1..120),
        cpus in 1u32..5,
        every in 10_000u64..500_000,
    ) {
        let mut story = Story::of(&fates);
        for (nth, event) in story.events.iter_mut().enumerate() {
            event.cpu = nth as u32 * 7 % cpus;
        }
        for io in &mut story.ios {
            io.cpu = 0;
        }
        let mut read = story.events.clone();
        read.sort_by_key(|event| (event.time.0 / every, event.cpu));
        let limits = Limits { lateness: Nanos(every + 1), ..Limits::default() };
        let (mut ios, pairer) = pair(&read, limits, 64);
        for io in &mut ios {
            io.cpu = 0;
        }
        prop_assert_eq!(pairer.unpaired().disordered, 0);
        prop_assert_eq!(sorted(by_device(ios, &pairer)), sorted(story.ios));
    }
}

/// Breaks when bios of the same place under way at once, of which btt keeps one, are mixed up.
#[test]
fn many_reads_of_one_sector_complete_in_their_order() {
    let event = |time: u64, action: Action| TraceEvent {
        time: Nanos(time),
        sector: 8,
        bytes: 4096,
        device: DeviceNumber::new(8, 0),
        pid: 1,
        cpu: 0,
        sequence: 0,
        action,
        traits: Traits::READ,
        error: 0,
        extra: Extra::None,
    };
    let mut events = Vec::new();
    for (step, action) in
        [Action::Queue, Action::GetRequest, Action::Issue, Action::Complete].into_iter().enumerate()
    {
        events.extend((0..500).map(|nth| event(step as u64 * 1_000 + nth, action)));
    }
    let (ios, pairer) = pair(&events, Limits::default(), 100);
    assert_eq!(pairer.unpaired(), Unpaired::default());
    for (nth, io) in ios.iter().enumerate() {
        let at = |step: u64| Stamp::at(Nanos(step * 1_000 + nth as u64));
        assert_eq!(Stamp::at(io.arrival), at(0));
        assert_eq!((io.allocated, io.issued, io.completed), (at(1), at(2), at(3)));
    }
}
