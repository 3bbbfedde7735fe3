use block::trace::DeviceNumber;
use block::{Bytes, Nanos};
use proptest::prelude::*;

use super::*;

const DISK: DeviceNumber = DeviceNumber::new(8, 0);

pub(super) fn event(
    time: u64,
    action: Action,
    traits: Traits,
    sector: u64,
    sectors: u32,
) -> TraceEvent {
    TraceEvent {
        time: Nanos(time),
        sector,
        bytes: sectors * 512,
        device: DISK,
        pid: 100,
        cpu: 0,
        sequence: 0,
        action,
        traits,
        error: 0,
        extra: Extra::None,
    }
}

fn pair(events: &[TraceEvent]) -> (Vec<Io>, Pairer) {
    let mut pairer = Pairer::new("test", Limits::default());
    let mut ios = Vec::new();
    pairer.events(events);
    pairer.drain(&mut ios);
    pairer.finish(&mut ios);
    (ios, pairer)
}

/// Reads as blkparse's text: `TIME ACTION RWBS SECTOR + SECTORS`.
fn told(lines: &str) -> Vec<TraceEvent> {
    lines.trim().lines().map(line).collect()
}

fn line(line: &str) -> TraceEvent {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| words.get(at).map_or(0, |word| word.parse::<u64>().unwrap());
    let action = match words[1] {
        "Q" => Action::Queue,
        "G" => Action::GetRequest,
        "I" => Action::Insert,
        "M" => Action::BackMerge,
        "F" => Action::FrontMerge,
        "D" => Action::Issue,
        "R" => Action::Requeue,
        "C" => Action::Complete,
        "X" => Action::Split,
        "A" => Action::Remap,
        other => panic!("{other}"),
    };
    let mut traits = Traits::NONE;
    for (nth, letter) in words[2].bytes().enumerate() {
        traits = traits
            | match letter {
                b'F' if nth == 0 => Traits::FLUSH,
                b'F' => Traits::FUA,
                b'R' => Traits::READ,
                // A flush of the kernel's own.
                b'N' => Traits::READ,
                b'W' => Traits::WRITE,
                b'D' => Traits::WRITE | Traits::DISCARD,
                b'S' => Traits::SYNC,
                b'P' => Traits::PASSTHROUGH,
                b'Z' => Traits::WRITE | Traits::ZONE_APPEND,
                other => panic!("{other}"),
            };
    }
    event(number(0), action, traits, number(3), number(4) as u32)
}

/// Formats an I/O as `offset+length q g i m d c`, in sectors and nanoseconds.
fn timeline(io: &Io) -> String {
    let stamp = |stamp: Stamp| stamp.get().map_or_else(|| "-".to_owned(), |at| at.0.to_string());
    format!(
        "{}+{} {} {} {} {} {} {}",
        io.offset.0 / 512,
        io.length.0 / 512,
        io.arrival.0,
        stamp(io.allocated),
        stamp(io.inserted),
        stamp(io.merged),
        stamp(io.issued),
        stamp(io.completed)
    )
}

fn timelines(lines: &str) -> Vec<String> {
    pair(&told(lines)).0.iter().map(timeline).collect()
}

/// Breaks when a merged bio has not the times of the request that it was merged into, or when the request is counted
/// twice, or has not its length.
#[test]
fn merged_bios_are_issued_and_completed_with_their_request() {
    let lines = "
        0 Q W 100 8
        1 G W 100 8
        2 Q W 108 8
        3 M W 108 8
        4 Q W 92 8
        5 F W 92 8
        6 I W 92 24
        9 D W 92 24
        19 C W 92 24";
    let expected = ["100+8 0 1 - - 9 19", "108+8 2 - - 3 9 19", "92+8 4 - 6 5 9 19"];
    assert_eq!(timelines(lines), expected);
    let (ios, _) = pair(&told(lines));
    let heads: Vec<u64> = ios.iter().map(|io| io.request_bytes.0 / 512).collect();
    assert_eq!(heads, [0, 0, 24], "the request begins with the bio merged at its front");
    assert_eq!(ios.iter().filter(|io| io.flags.has(Flags::HEAD)).count(), 1);
    assert!(ios[1].flags.has(Flags::MERGED_BACK) && ios[2].flags.has(Flags::MERGED_FRONT));
}

/// As a 2 MiB read of a loop device was recorded: cut twice, the last part joined by the bio behind. btt 1.2.0 finds
/// neither issue nor completion of the first bio.
#[test]
fn a_split_bio_is_issued_with_its_first_part_and_completes_with_its_last() {
    let lines = "
        0 Q R 2048 3160
        1 X R 2048 3160
        2 G R 2048 1408
        3 X R 3456 1752
        4 G R 3456 1744
        5 D R 2048 1408
        6 G R 5200 8
        7 D R 3456 1744
        8 Q R 5208 936
        9 M R 5208 936
        10 D R 5200 944
        20 C R 2048 1408
        22 C R 5200 944
        25 C R 3456 1744";
    assert_eq!(timelines(lines), ["2048+3160 0 2 - - 5 25", "5208+936 8 - - 9 10 22"]);
    let (ios, pairer) = pair(&told(lines));
    assert!(ios[0].flags.has(Flags::SPLIT) && !ios[1].flags.has(Flags::SPLIT));
    assert_eq!(
        ios[0].request_bytes,
        Bytes((1408 + 1744 + 944) * 512),
        "three requests, all headed"
    );
    assert_eq!(pairer.unpaired(), Unpaired::default());
}

/// As fsync and a write with RWF_DSYNC were recorded, on a drive without FUA: the flush is a request of its own, and
/// the bio is completed again, without bytes, when it is done.
#[test]
fn flushes_are_found_though_they_carry_no_sectors() {
    let lines = "
        0 Q FWS 0 0
        1 G FWS 0 0
        3 D FN 0 0
        9 C FN 0 0
        11 C WS 0 0
        20 Q WFS 128 16
        21 G WFS 128 16
        22 D WS 128 16
        30 C WS 128 16
        31 D FN 0 0
        38 C FN 0 0
        39 C WS 128 0
        50 Q FWS 0 0
        51 C FWS 0 0";
    let expected = ["0+0 0 1 - - 3 11", "128+16 20 21 - - 22 39", "0+0 50 - - - - 51"];
    assert_eq!(timelines(lines), expected);
    let (ios, _) = pair(&told(lines));
    assert_eq!(
        ios.iter().map(|io| io.kind).collect::<Vec<_>>(),
        [Kind::Flush, Kind::Write, Kind::Flush]
    );
    assert!(ios[1].flags.has(Flags::FUA.with(Flags::SYNC)));
}

/// One flush serves all that wait for it, and none that came after it was issued.
#[test]
fn one_flush_serves_all_that_wait() {
    let lines = "
        0 Q FWS 0 0
        1 Q FWS 0 0
        2 D FN 0 0
        3 Q FWS 0 0
        5 C FN 0 0
        6 C WS 0 0
        7 C WS 0 0
        8 D FN 0 0
        9 C FN 0 0";
    assert_eq!(timelines(lines), ["0+0 0 - - - 2 6", "0+0 1 - - - 2 7", "0+0 3 - - - 8 9"]);
}

/// A write that flushes before its data has the issue of its data, not that of the flush.
#[test]
fn a_flush_before_data_is_not_the_issue_of_the_data() {
    let lines = "
        0 Q FWS 64 8
        1 G FWS 64 8
        2 D FN 0 0
        7 C FN 0 0
        8 D WS 64 8
        12 C WS 64 8";
    assert_eq!(timelines(lines), ["64+8 0 1 - - 8 12"]);
    assert!(pair(&told(lines)).0[0].flags.has(Flags::PREFLUSH));
}

#[test]
fn what_is_requeued_counts_from_its_last_issue() {
    let lines = "
        0 Q R 8 8
        1 D R 8 8
        3 R R 8 8
        7 D R 8 8
        9 C R 8 8";
    assert_eq!(timelines(lines), ["8+8 0 - - - 7 9"]);
    let io = pair(&told(lines)).0[0];
    assert!(io.flags.has(Flags::REQUEUED.with(Flags::HEAD)));
    assert_eq!(io.request_bytes, Bytes(8 * 512), "the same request, not two");
}

/// btt ignores the second bio: its tree holds one at a sector.
#[test]
fn bios_at_the_same_sector_are_taken_in_their_order() {
    let lines = "
        0 Q R 8 8
        1 Q R 8 8
        2 Q W 8 8
        3 D W 8 8
        4 D R 8 8
        5 D R 8 8
        6 C R 8 8
        7 C W 8 8
        8 C R 8 8";
    assert_eq!(timelines(lines), ["8+8 0 - - - 4 6", "8+8 1 - - - 5 8", "8+8 2 - - - 3 7"]);
}

/// Drives that take several ranges in one command: the bios of a discard need not be neighbours.
#[test]
fn discards_of_one_request_lie_anywhere() {
    let lines = "
        0 Q D 1000 64
        1 G D 1000 64
        2 Q D 9000 32
        3 M D 9000 32
        4 Q D 40 16
        5 M D 40 16
        6 Q D 1064 8
        7 D D 1000 112
        9 C D 1000 112
        10 D D 1064 8
        12 C D 1064 8";
    let expected =
        ["1000+64 0 1 - - 7 9", "9000+32 2 - - 3 7 9", "40+16 4 - - 5 7 9", "1064+8 6 - - - 10 12"];
    assert_eq!(timelines(lines), expected);
}

/// An append is sent to a zone's beginning, and completes where it was written.
#[test]
fn an_append_completes_elsewhere() {
    let lines = "
        0 Q Z 4096 8
        1 Q Z 4096 16
        2 D Z 4096 8
        3 D Z 4096 16
        5 C Z 4608 16
        6 C Z 4624 8";
    assert_eq!(timelines(lines), ["4096+8 0 - - - 2 6", "4096+16 1 - - - 3 5"]);
}

/// Commands have no Q: they arrive with their first event.
#[test]
fn commands_passed_through_are_io_of_another_kind() {
    let lines = "
        0 Q W 8 8
        1 I RP 0 1
        2 D RP 0 1
        3 D P 0 0
        5 C RP 0 1
        8 C P 0 0
        9 C W 8 8";
    let (ios, _) = pair(&told(lines));
    assert_eq!(timelines(lines), ["8+8 0 - - - - 9", "0+1 1 - 1 - 2 5", "0+0 3 - - - 3 8"]);
    assert_eq!(ios[1].kind, Kind::Other);
}

/// A recording of issues and completions alone has no arrivals: each request is an I/O that arrives when issued.
#[test]
fn without_arrivals_a_request_is_an_io() {
    let lines = "
        0 D R 8 8
        1 D R 100 8
        4 C R 100 8
        9 C R 8 8";
    assert_eq!(timelines(lines), ["8+8 0 - - - 0 9", "100+8 1 - - - 1 4"]);
    let (ios, _) = pair(&told(lines));
    assert!(ios.iter().all(|io| io.flags.has(Flags::HEAD) && io.request_bytes.0 == 8 * 512));
}

/// With arrivals, an I/O issued without one was queued before the recording began, and does not belong to it.
#[test]
fn what_was_under_way_before_the_recording_is_left_out() {
    let lines = "
        0 D R 8 8
        1 Q R 100 8
        2 D R 100 8
        4 C R 100 8
        9 C R 8 8";
    let (ios, pairer) = pair(&told(lines));
    assert_eq!(ios.iter().map(timeline).collect::<Vec<_>>(), ["100+8 0 - - - 1 3"]);
    assert_eq!(pairer.unpaired().strays, 1);
    assert_eq!(pairer.info().ignored_rows, 1);
    assert_eq!(pairer.info().origin, Nanos(1), "the first I/O is the origin");
}

/// Clocks of two CPUs differ by a little: the completion is recorded before the issue, the issue before the arrival.
#[test]
fn completions_and_issues_may_come_a_little_early() {
    let mut events = told(
        "
        0 Q R 0 8
        1 D R 0 8
        2 C R 0 8
        1000 Q R 8 8
        1900 C R 8 8
        2000 D R 8 8
        3000 D R 64 8
        3100 Q R 64 8
        3200 C R 64 8",
    );
    events[4].cpu = 1;
    events[6].cpu = 1;
    let (ios, pairer) = pair(&events);
    let expected = ["0+8 0 - - - 1 2", "8+8 1000 - - - 2000 1900", "64+8 3100 - - - 3000 3200"];
    assert_eq!(ios.iter().map(timeline).collect::<Vec<_>>(), expected);
    assert_eq!(pairer.unpaired(), Unpaired::default());
}

/// dm: Q above, A below of the bio above, then Q, D and C below and C above. On a partition A comes first, without a Q
/// that it could belong to.
#[test]
fn a_remap_is_of_the_bio_above() {
    let above = DeviceNumber::new(253, 0);
    let mut events = told(
        "
        0 Q W 50 8
        1 A W 150 8
        2 Q W 150 8
        3 D W 150 8
        5 C W 150 8
        6 C W 50 8",
    );
    events[0].device = above;
    events[5].device = above;
    events[1].extra = Extra::From { device: above, sector: 50 };
    let (ios, pairer) = pair(&events);
    assert_eq!(ios[0].remapped, Stamp::at(Nanos(1)));
    assert_eq!((ios[0].completed, ios[1].completed), (Stamp::at(Nanos(6)), Stamp::at(Nanos(5))));
    assert_eq!(ios[1].remapped, Stamp::NONE);
    assert_eq!((ios[0].space, ios[1].space), (0, 1));
    let spaces: Vec<&str> = pairer.info().spaces.iter().map(|space| space.name.as_str()).collect();
    assert_eq!(spaces, ["253,0", "8,0"]);
    assert_eq!(pairer.info().spaces[1].tally.events["A"], 1);
}

/// Breaks when one I/O that never completes holds back all others, or is forgotten.
#[test]
fn an_io_that_never_completes_is_given_out_after_the_window() {
    let limits = Limits { window: 10, ..Limits::default() };
    let mut pairer = Pairer::new("test", limits);
    let mut ios = Vec::new();
    pairer.events(&[event(0, Action::Queue, Traits::READ, 0, 8)]);
    for nth in 1..=1000u64 {
        let time = nth * 2_000_000;
        pairer.events(&[
            event(time, Action::Queue, Traits::READ, nth * 8, 8),
            event(time + 1, Action::Complete, Traits::READ, nth * 8, 8),
        ]);
        pairer.drain(&mut ios);
        assert!(nth as usize - ios.len() <= 12, "{nth}: {} handed out", ios.len());
    }
    pairer.finish(&mut ios);
    assert_eq!(ios.len(), 1001);
    assert_eq!(ios[0].completed, Stamp::NONE);
    assert_eq!(pairer.unpaired().unfinished, 1);
}

#[test]
fn times_count_from_the_first_arrival_and_dates_follow() {
    let mut pairer = Pairer::new("test", Limits::default());
    pairer.note(TraceNote::Clock { time: Nanos(1_000), unix: block::UnixNanos(5_000_000_000) });
    pairer.note(TraceNote::Message { time: Nanos(4_000), text: "phase 2".to_owned() });
    pairer.note(TraceNote::Message { time: Nanos(2_000), text: "before".to_owned() });
    pairer.note(TraceNote::Process { pid: 7, name: "fio".to_owned() });
    pairer.note(TraceNote::Lost { cpu: None, events: 3 });
    pairer.events(&[event(3_000, Action::Queue, Traits::READ, 0, 8)]);
    let mut ios = Vec::new();
    pairer.finish(&mut ios);
    let info = pairer.info();
    assert_eq!((info.origin, info.origin_unix_ns), (Nanos(3_000), Some(5_000_002_000)));
    let marks: Vec<(u64, &str)> =
        info.marks.iter().map(|mark| (mark.at.0, mark.text.as_str())).collect();
    assert_eq!(marks, [(0, "before"), (1_000, "phase 2")]);
    assert_eq!((info.lost_events, info.processes[&7].as_str()), (3, "fio"));
    assert_eq!(ios[0].arrival, Nanos::ZERO);
}

/// As blkparse's dumps have it. Breaks when a date is some hours off, and marks lie behind the end.
#[test]
fn notes_on_another_clock_than_events_are_moved() {
    let mut pairer = Pairer::new("test", Limits::default());
    let start = 7_000_000_000_000;
    pairer.note(TraceNote::Clock { time: Nanos(start), unix: block::UnixNanos(1_000_000_000) });
    pairer.note(TraceNote::Message { time: Nanos(start + 500), text: "phase".to_owned() });
    pairer.events(&[
        event(0, Action::Plug, Traits::NONE, 0, 0),
        event(200, Action::Queue, Traits::READ, 0, 8),
    ]);
    let mut ios = Vec::new();
    pairer.finish(&mut ios);
    let info = pairer.info();
    assert_eq!(info.origin_unix_ns, Some(1_000_000_200));
    assert_eq!(info.marks[0].at, Nanos(300));
    assert_eq!(info.settled.len(), 1, "it is told that this is not exact");
}

fn any_event() -> impl Strategy<Value = TraceEvent> {
    let sector = prop_oneof![8 => 0u64..64, 1 => 0u64..100_000, 1 => any::<u64>()];
    let bytes = prop_oneof![8 => (0u32..32).prop_map(|n| n * 512), 1 => any::<u32>()];
    let extra = prop_oneof![
        3 => Just(Extra::None),
        1 => any::<u64>().prop_map(Extra::Requests),
        1 => (0u64..64).prop_map(Extra::SplitAt),
        1 => (0u32..3, 0u64..64).prop_map(|(minor, sector)| Extra::From {
            device: DeviceNumber::new(8, minor),
            sector
        }),
    ];
    let time = prop_oneof![8 => 0u64..5_000_000, 1 => any::<u64>()];
    let traits = prop_oneof![
        4 => prop::sample::select(vec![
            Traits::READ,
            Traits::WRITE,
            Traits::FLUSH | Traits::WRITE,
            Traits::FLUSH,
            Traits::WRITE | Traits::DISCARD,
            Traits::WRITE | Traits::ZONE_APPEND,
            Traits::PASSTHROUGH
        ]),
        1 => any::<u64>().prop_map(Traits),
    ];
    (
        time,
        sector,
        bytes,
        0u32..3,
        0u32..3,
        prop::sample::select(Action::ALL.to_vec()),
        traits,
        extra,
    )
        .prop_map(|(time, sector, bytes, minor, cpu, action, traits, extra)| TraceEvent {
            time: Nanos(time),
            sector,
            bytes,
            device: DeviceNumber::new(8, minor),
            pid: cpu,
            cpu,
            sequence: 0,
            action,
            traits,
            error: 0,
            extra,
        })
}

fn in_batches(events: &[TraceEvent], limits: Limits, sizes: &[usize]) -> (Vec<Io>, Pairer) {
    let mut pairer = Pairer::new("test", limits);
    let mut ios = Vec::new();
    let mut rest = events;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
        pairer.events(batch);
        pairer.drain(&mut ios);
        assert!(pairer.pending.held() <= rest.len() + events.len());
        rest = later;
    }
    pairer.finish(&mut ios);
    (ios, pairer)
}

proptest! {
    /// Breaks when an event that no kernel would record makes the pairer panic or forget an I/O, or when the result
    /// depends on how the events were batched.
    #[test]
    fn no_order_of_events_breaks_it(
        events in prop::collection::vec(any_event(), 0..400),
        sizes in prop::collection::vec(1usize..50, 1..8),
        window in 1usize..40,
    ) {
        let limits = Limits { window, ..Limits::default() };
        let (ios, pairer) = in_batches(&events, limits, &sizes);
        let (at_once, _) = in_batches(&events, limits, &[events.len().max(1)]);
        prop_assert_eq!(&ios, &at_once);
        prop_assert!(ios.is_sorted_by_key(|io| io.arrival));
        let arrivals = events.iter().filter(|event| event.action == Action::Queue).count();
        prop_assert!(ios.len() + pairer.info().ignored_rows as usize >= arrivals);
        prop_assert!(ios.len() <= events.len());
    }

    /// The same with events held back to be put in order.
    #[test]
    fn no_order_breaks_it_when_events_are_held_back(
        events in prop::collection::vec(any_event(), 0..400),
        sizes in prop::collection::vec(1usize..50, 1..8),
    ) {
        let limits = Limits { lateness: Nanos(1_000_000), ..Limits::default() };
        let (ios, _) = in_batches(&events, limits, &sizes);
        prop_assert!(ios.is_sorted_by_key(|io| io.arrival));
    }

    /// Breaks when more is held than the window and what came in one batch.
    #[test]
    fn memory_is_bounded_by_the_window(
        window in 1usize..100,
        gap in 1u64..100_000,
    ) {
        let limits = Limits { window, skew: Nanos(10), ..Limits::default() };
        let mut pairer = Pairer::new("test", limits);
        let mut ios = Vec::new();
        for nth in 0..2_000u64 {
            pairer.events(&[event(nth * 100, Action::Queue, Traits::READ, nth * gap, 8)]);
            pairer.drain(&mut ios);
            prop_assert!(pairer.pending.held() <= window + 1);
        }
    }
}
