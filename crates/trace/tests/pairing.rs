//! Events of I/Os whose fate is known are paired to just those I/Os.

use crate::story::{Story, by_device, fate, sorted};
use block::Nanos;
use block::trace::{Action, DeviceNumber, Extra, TraceEvent, TraceSink as _, Traits};
use drivescope_trace::pair::{Limits, Pairer, Unpaired};
use drivescope_trace::{Io, Stamp};
use proptest::prelude::*;

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
        prop_assert_eq!(sorted(by_device(ios, &pairer.info().spaces)), sorted(story.ios));
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
        prop_assert_eq!(sorted(by_device(ios, &pairer.info().spaces)), sorted(story.ios));
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
