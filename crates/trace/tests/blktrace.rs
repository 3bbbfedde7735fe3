//! blktrace's binary recordings, read and written.

use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use crate::story::{Story, by_device, fate, sorted};
use block::trace::record::ByteOrder;
use block::trace::{Action, Extra, TraceEvent};
use block::{Bytes, Nanos};
use drivescope_trace::export::blktrace::{Files, write};
use drivescope_trace::import::blktrace::{begins, open, siblings};
use drivescope_trace::import::compressed::Input;
use drivescope_trace::import::{self, Options};
use drivescope_trace::{
    Existing, Flags, InMemory, Io, Kind, Mark, Source, Space, Stamp, TraceError, TraceInfo,
};
use proptest::prelude::*;

/// The record of an event, as a kernel of that version and byte order writes it.
fn record(event: &TraceEvent, version: u8, order: ByteOrder) -> Vec<u8> {
    let (number, category) = match event.action {
        Action::Queue => (1, 4),
        Action::BackMerge => (2, 4),
        Action::FrontMerge => (3, 4),
        Action::GetRequest => (4, 4),
        Action::Requeue => (6, 5),
        Action::Issue => (7, 6),
        Action::Complete => (8, 7),
        Action::Insert => (12, 4),
        other => panic!("{other:?}"),
    };
    let pdu: &[u8] = match event.extra {
        Extra::None => &[],
        other => panic!("{other:?}"),
    };
    let action = number | (event.traits.0 | 1 << category) << 16;
    raw(event, action, version, order, pdu)
}

fn raw(event: &TraceEvent, action: u64, version: u8, order: ByteOrder, pdu: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |number: u64, width: usize| match order {
        ByteOrder::Little => bytes.extend(&number.to_le_bytes()[..width]),
        ByteOrder::Big => bytes.extend(&number.to_be_bytes()[8 - width..]),
    };
    put(0x6561_7406 + u64::from(version), 4);
    put(u64::from(event.sequence), 4);
    put(event.time.0, 8);
    put(event.sector, 8);
    put(u64::from(event.bytes), 4);
    if version == 1 {
        put(action, 4);
        put(u64::from(event.pid), 4);
    } else {
        put(u64::from(event.pid), 4);
        put(action, 8);
    }
    put(u64::from(event.device.0), 4);
    put(u64::from(event.cpu), 4);
    put(u64::from(event.error.wrapping_neg()), 2);
    put(pdu.len() as u64, 2);
    bytes.resize(if version == 1 { 48 } else { 64 }, 0);
    bytes.extend(pdu);
    bytes
}

fn input(bytes: Vec<u8>) -> Input {
    Input::new(Box::new(Cursor::new(bytes)), "recording").unwrap()
}

fn all(mut source: impl Source) -> Result<(Vec<Io>, TraceInfo), (TraceError, Vec<Io>)> {
    let mut ios = Vec::new();
    loop {
        let before = ios.len();
        match source.next(&mut ios) {
            Err(error) => return Err((error, ios)),
            Ok(()) if ios.len() == before => return Ok((ios, source.info().clone())),
            Ok(()) => {}
        }
    }
}

fn read(files: Vec<Vec<u8>>, lenient: bool) -> Result<(Vec<Io>, TraceInfo), (TraceError, Vec<Io>)> {
    all(open(files.into_iter().map(input).collect(), lenient).unwrap())
}

/// As a kernel numbers them: by device and CPU, in the order of their time.
fn numbered(mut story: Story, cpus: u32) -> Story {
    let mut counters = HashMap::new();
    for (nth, event) in story.events.iter_mut().enumerate() {
        event.cpu = nth as u32 * 5 % cpus;
        let counter = counters.entry((event.device, event.cpu)).or_insert(0);
        *counter += 1;
        event.sequence = *counter;
    }
    story
}

fn without_cpus(mut ios: Vec<Io>) -> Vec<Io> {
    ios.iter_mut().for_each(|io| io.cpu = 0);
    ios
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    })]

    /// Breaks when a field of either version is read from another's place, or files of CPUs are not read in the order
    /// of time.
    #[test]
    fn both_versions_and_byte_orders_tell_the_same(
        fates in prop::collection::vec(fate(), 1..60),
        cpus in 1u32..5,
        version in 1u8..3,
        big in any::<bool>(),
    ) {
        let story = numbered(Story::of(&fates), cpus);
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let mut files = vec![Vec::new(); cpus as usize];
        for event in &story.events {
            files[event.cpu as usize].extend(record(event, version, order));
        }
        prop_assert!(begins(&files[0]));
        let (ios, info) = read(files, false).unwrap();
        prop_assert_eq!(info.source, format!("blktrace v{version}"));
        prop_assert_eq!(info.lost_events, 0);
        prop_assert_eq!(sorted(without_cpus(by_device(ios, &info.spaces))), sorted(story.ios));
    }

    /// Breaks when an event is not written, or written where it means another I/O. Where requests were split, a
    /// recording of ours has one request, since the I/Os record no more.
    #[test]
    fn what_is_written_is_read_as_it_was(
        fates in prop::collection::vec(fate(), 1..100),
        each_cpu in any::<bool>(),
    ) {
        let story = Story::of(&fates);
        let ios = story.ios.clone();
        let spaces: Vec<_> = (0..2).map(|minor| Space {
            device: Some(block::trace::DeviceNumber::new(8, minor)),
            ..Space::default()
        }).collect();
        let info = TraceInfo { spaces, ..TraceInfo::default() };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("made");
        let files = if each_cpu { Files::EachCpu } else { Files::One };
        let wrote = write(&mut InMemory::new(info, ios), &path, Existing::Keep, files).unwrap();
        prop_assert_eq!((wrote.ios, wrote.left_out), (story.ios.len() as u64, 0));
        let paths = siblings(&path).unwrap();
        let inputs = paths.iter().map(|path| Input::open(path).unwrap()).collect();
        let (again, info) = all(open(inputs, false).unwrap()).unwrap();
        prop_assert_eq!(info.lost_events, 0);
        prop_assert_eq!(sorted(by_device(again, &info.spaces)), sorted(story.ios));
    }

    /// Breaks when a file that is cut off or has a byte changed makes the reader panic, read on for ever, or say
    /// something else than where it is.
    #[test]
    fn what_is_broken_is_told_or_passed_over(
        fates in prop::collection::vec(fate(), 1..20),
        cut in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let story = numbered(Story::of(&fates), 1);
        let whole: Vec<u8> =
            story.events.iter().flat_map(|event| record(event, 1, ByteOrder::Little)).collect();
        let cut = cut.index(whole.len());
        match read(vec![whole[..cut].to_vec()], false) {
            Ok(_) => prop_assert_eq!(cut % 48, 0),
            Err((error, _)) => {
                let place = cut / 48 * 48;
                let start = format!("recording, byte {place}: the file ends within a record");
                let start2 = format!("recording, byte {place}: no record of blktrace begins here");
                let said = error.to_string();
                prop_assert!(said.starts_with(&start) || said.starts_with(&start2), "{}", said);
            }
        }
        let (kept, info) = read(vec![whole[..cut].to_vec()], true).unwrap();
        prop_assert_eq!(info.skipped_rows, u64::from(cut % 48 != 0));
        prop_assert!(kept.len() <= story.ios.len());
        let mut changed = whole;
        let at = at.index(changed.len());
        changed[at] ^= 1 << bit;
        let (kept, info) = read(vec![changed], true).unwrap();
        prop_assert!(kept.len() <= story.events.len());
        prop_assert!(info.skipped_rows <= 2);
    }

    /// Breaks when bytes that are not a recording make it panic, or never end.
    #[test]
    fn any_bytes_are_read_to_their_end(
        mut bytes in prop::collection::vec(any::<u8>(), 0..4000),
        magics in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        lenient in any::<bool>(),
    ) {
        for magic in magics {
            let at = magic.index(bytes.len().max(1));
            if at + 4 <= bytes.len() {
                bytes[at..at + 4].copy_from_slice(&[0x07 + (at as u8 & 1), 0x74, 0x61, 0x65]);
            }
        }
        let _any = read(vec![bytes], lenient);
    }
}

fn one_io(arrival: u64) -> Io {
    let mut io = Io::arriving(Nanos(arrival), Kind::Write, Bytes(8 * 512), Bytes(4096));
    io.issued = Stamp::at(Nanos(arrival + 10));
    io.completed = Stamp::at(Nanos(arrival + 20));
    io.request_bytes = io.length;
    io.flags = Flags::HEAD;
    io.pid = 7;
    io
}

/// Breaks when a gap in a CPU's numbers is not counted, or what an interrupt records first is taken for one.
#[test]
fn missing_numbers_are_lost_events() {
    let event = |sequence: u32, cpu: u32| TraceEvent {
        time: Nanos(u64::from(sequence) * 100),
        sector: u64::from(sequence) * 8,
        bytes: 4096,
        device: block::trace::DeviceNumber::new(8, 0),
        pid: 1,
        cpu,
        sequence,
        action: Action::Queue,
        traits: block::trace::Traits::READ,
        error: 0,
        extra: Extra::None,
    };
    let lost = |numbers: &[(u32, u32)]| {
        let bytes = numbers
            .iter()
            .flat_map(|&(sequence, cpu)| record(&event(sequence, cpu), 1, ByteOrder::Little))
            .collect();
        let (_, info) = read(vec![bytes], false).unwrap();
        assert_eq!(info.settled.is_empty(), info.lost_events == 0);
        info.lost_events
    };
    assert_eq!(lost(&[(1, 0), (2, 0), (1, 1), (3, 0), (2, 1)]), 0);
    assert_eq!(lost(&[(1, 0), (2, 0), (1, 1), (9, 0), (5, 1)]), 6 + 3);
    assert_eq!(lost(&[(1, 0), (3, 0), (2, 0), (4, 0)]), 0, "one that was recorded within another");
    assert_eq!(lost(&[(1000, 0), (1001, 0), (1, 0), (2, 0)]), 0, "a recording begun anew");
    assert_eq!(lost(&[(0, 0), (0, 0), (0, 0)]), 0, "the kernel's tracer does not count");
}

/// Breaks when lenient reading loses the records behind a hole, or takes the hole for one.
#[test]
fn a_hole_is_passed_over() {
    let info = TraceInfo::default();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made");
    let ios = (0..100).map(|nth| one_io(nth * 1_000)).collect();
    write(&mut InMemory::new(info, ios), &path, Existing::Keep, Files::One).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 300 * 48);
    bytes.splice(30 * 48..30 * 48, [0xff; 1000]);
    let (error, before) = read(vec![bytes.clone()], false).unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("recording, byte 1440: no record of blktrace begins here"), "{said}");
    assert_eq!(before.len(), 10, "what came before stands");
    let (kept, info) = read(vec![bytes], true).unwrap();
    assert_eq!((kept.len(), info.skipped_rows), (100, 1));
    assert!(info.faults[0].contains("byte 1440"), "{:?}", info.faults);
}

/// As the kernel's tracer writes where its memory ran over. Breaks when such a line is taken for damage.
#[test]
fn lines_of_the_kernel_about_lost_events_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made");
    let ios: Vec<Io> = (0..10).map(|nth| one_io(nth * 1_000)).collect();
    write(&mut InMemory::new(TraceInfo::default(), ios.clone()), &path, Existing::Keep, Files::One)
        .unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.splice(96..96, *b"CPU:1 [LOST 42 EVENTS]\n");
    bytes.splice(0..0, *b"CPU:0 [LOST EVENTS]\n");
    let (again, info) = read(vec![bytes.clone()], false).unwrap();
    assert_eq!((again, info.lost_events, info.skipped_rows), (ios, 43, 0));
    bytes.splice(0..0, *b"CPU:0 [FOUND]\n");
    assert!(read(vec![bytes], false).is_err());
}

/// Breaks when a truncated packed file is reported as a truncated record.
#[test]
fn a_packed_file_that_is_cut_off_says_so() {
    use std::io::Write as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made");
    let ios: Vec<Io> = (0..20_000).map(|nth| one_io(nth * 1_000 + nth % 13)).collect();
    write(&mut InMemory::new(TraceInfo::default(), ios.clone()), &path, Existing::Keep, Files::One)
        .unwrap();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&std::fs::read(&path).unwrap()).unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(read(vec![packed.clone()], false).unwrap().0, ios);
    let (error, before) = read(vec![packed[..packed.len() / 2].to_vec()], false).unwrap_err();
    assert!(error.to_string().contains("gzip"), "{error}");
    assert!(before.len() > 1_000 && before[..1_000] == ios[..1_000], "what came before stands");
}

/// Breaks when names, dates and marks are not written, or read as something else.
#[test]
fn names_dates_and_marks_are_kept() {
    let info = TraceInfo {
        origin_unix_ns: Some(1_700_000_000_000_000_042),
        processes: [(7, "postgres".to_owned())].into(),
        marks: vec![Mark { at: Nanos(15), text: "phase two".to_owned() }],
        ..TraceInfo::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made");
    let mut flush = Io::arriving(Nanos(100), Kind::Flush, Bytes(0), Bytes(0));
    flush.issued = Stamp::at(Nanos(130));
    flush.completed = Stamp::at(Nanos(190));
    flush.flags = Flags::SYNC.with(Flags::HEAD);
    let mut failed = one_io(200);
    failed.error = 5;
    let mut command = Io::arriving(Nanos(300), Kind::Other, Bytes(0), Bytes(36));
    command.issued = Stamp::at(Nanos(300));
    command.completed = Stamp::at(Nanos(390));
    command.request_bytes = Bytes(36);
    command.flags = Flags::HEAD;
    let mut above = one_io(400);
    above.remapped = Stamp::at(Nanos(405));
    above.issued = Stamp::NONE;
    above.flags = Flags::NONE;
    above.request_bytes = Bytes(0);
    above.space = 1;
    let ios = vec![one_io(0), flush, failed, command, above];
    write(&mut InMemory::new(info.clone(), ios.clone()), &path, Existing::Keep, Files::One)
        .unwrap();
    let (again, told) = all(open(vec![Input::open(&path).unwrap()], false).unwrap()).unwrap();
    assert_eq!(again, ios);
    assert_eq!(told.origin_unix_ns, info.origin_unix_ns);
    assert_eq!((told.processes, told.marks), (info.processes, info.marks));
}

/// Breaks when what the format has no word for is left out without a word.
#[test]
fn what_cannot_be_written_is_told() {
    let zone = Io::arriving(Nanos(0), Kind::Zone, Bytes(0), Bytes(4096));
    let long = Io::arriving(Nanos(1), Kind::Discard, Bytes(0), Bytes(1 << 33));
    let within = Io::arriving(Nanos(2), Kind::Read, Bytes(100), Bytes(200));
    let zeroing = Io::arriving(Nanos(3), Kind::WriteZeroes, Bytes(0), Bytes(4096));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made");
    let mut source = InMemory::new(TraceInfo::default(), vec![zone, long, within, zeroing]);
    let wrote = write(&mut source, &path, Existing::Keep, Files::One).unwrap();
    assert_eq!((wrote.ios, wrote.left_out), (2, 2));
    assert_eq!(wrote.lost.len(), 4, "{:?}", wrote.lost);
    let refused = write(&mut source, &path, Existing::Keep, Files::One).unwrap_err();
    assert!(refused.to_string().contains("made"), "{refused}");
}

/// `Some` of what a tool prints; `None`, and a word, when it is not installed.
fn tool(name: &str, arguments: &[&str], directory: &Path) -> Option<String> {
    match Command::new(name).args(arguments).current_dir(directory).output() {
        Ok(output) => {
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(_) => {
            println!("skipped: {name} is not installed");
            None
        }
    }
}

fn made_for_tools(directory: &Path) -> (Vec<Io>, u64) {
    let mut ios = Vec::new();
    for nth in 0..2_000u64 {
        let mut io = one_io(nth * 5_000 + nth % 7);
        io.kind = if nth % 3 == 0 { Kind::Read } else { Kind::Write };
        io.offset = Bytes((nth * 7_919 % 100_000) * 4096);
        io.allocated = Stamp::at(Nanos(io.arrival.0 + 3));
        io.cpu = (nth % 3) as u16;
        ios.push(io);
    }
    let info = TraceInfo { processes: [(7, "writer".to_owned())].into(), ..TraceInfo::default() };
    let path = directory.join("made");
    for files in [Files::One, Files::EachCpu] {
        write(&mut InMemory::new(info.clone(), ios.clone()), &path, Existing::Keep, files).unwrap();
    }
    let reads = ios.iter().filter(|io| io.kind == Kind::Read).count() as u64;
    (ios, reads)
}

/// Breaks when Debian's blkparse does not take our files, or counts in them what we did not write.
#[test]
fn blkparse_counts_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let (ios, reads) = made_for_tools(dir.path());
    let Some(text) = tool("blkparse", &["-i", "made"], dir.path()) else { return };
    let number = |label: &str| -> u64 {
        // Of several CPUs the last block is the sum.
        let at = text.rfind(label).unwrap_or_else(|| panic!("no {label} in {text}"));
        let rest = &text[at + label.len()..];
        rest.split(',').next().unwrap().trim().parse().unwrap()
    };
    assert_eq!(number("Reads Queued:"), reads);
    assert_eq!(number("Writes Queued:"), ios.len() as u64 - reads);
    assert_eq!(number("Read Dispatches:"), reads);
    assert_eq!(number("Writes Completed:"), ios.len() as u64 - reads);
    assert!(text.contains(" [writer]"), "names of tasks come before their events");
    assert!(text.contains("Skips: 0 forward"));
    // Its output is read as the same I/Os.
    let input = Input::new(Box::new(Cursor::new(text.into_bytes())), "text").unwrap();
    let (again, info) = all(import::blkparse::open(input, false)).unwrap();
    assert_eq!(again, ios);
    assert_eq!(info.processes[&7], "writer");
    // And what it dumps as well.
    tool("blkparse", &["-i", "made", "-d", "dumped", "-O"], dir.path()).unwrap();
    let dump = Input::open(&dir.path().join("dumped")).unwrap();
    assert_eq!(all(open(vec![dump], false).unwrap()).unwrap().0, ios);
}

/// Breaks when what several CPUs recorded in one instant is taken in another order than blkparse has it: seeks from one
/// arrival to the next would differ from btt's.
#[test]
fn in_one_instant_blkparses_order_is_ours() {
    let dir = tempfile::tempdir().unwrap();
    let mut numbers = [0; 3];
    let mut files = vec![Vec::new(); 3];
    for nth in 0..600_u64 {
        // CPUs do not record equally much, and half of the instants are three times the same.
        let cpu = [0, 2, 0, 1, 2, 0, 0, 1][(nth * 5 % 8) as usize];
        numbers[cpu] += 1;
        let event = TraceEvent {
            time: Nanos(1_000 + nth / 3 * 10 + if nth % 6 < 3 { 0 } else { nth % 3 }),
            sector: nth * 8,
            bytes: 4096,
            device: block::trace::DeviceNumber::new(8, (nth % 7 / 6) as u32 * 16),
            pid: 1,
            cpu: cpu as u32,
            sequence: numbers[cpu],
            action: Action::Queue,
            traits: block::trace::Traits::READ,
            error: 0,
            extra: Extra::None,
        };
        files[cpu].extend(record(&event, 1, ByteOrder::Little));
    }
    for (cpu, bytes) in files.iter().enumerate() {
        std::fs::write(dir.path().join(format!("tied.blktrace.{cpu}")), bytes).unwrap();
    }
    if tool("blkparse", &["-i", "tied", "-d", "dumped", "-O"], dir.path()).is_none() {
        return;
    }
    let dump = Input::open(&dir.path().join("dumped")).unwrap();
    let offsets = |inputs: Vec<Input>| -> Vec<Bytes> {
        let (ios, _) = all(open(inputs, false).unwrap()).unwrap();
        ios.iter().map(|io| io.offset).collect()
    };
    let (ours, theirs) = (offsets(files.into_iter().map(input).collect()), offsets(vec![dump]));
    assert_eq!((ours.len(), theirs.len()), (600, 600));
    for (nth, pair) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(pair.0, pair.1, "place {nth}");
    }
}

/// Breaks when btt finds other I/Os in our file than are in it.
#[test]
fn btt_counts_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let (ios, _) = made_for_tools(dir.path());
    let Some(text) = tool("btt", &["-i", "made"], dir.path()) else { return };
    for (phase, minimum) in [("Q2G", "0.000000003"), ("D2C", "0.000000010"), ("Q2C", "0.000000020")]
    {
        let line = text.lines().find(|line| line.starts_with(phase)).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[1], words[4]), (minimum, ios.len().to_string().as_str()), "{line}");
    }
}

/// Breaks when a recording, or what blkparse makes of one, is not known by what is in it.
#[test]
fn recordings_are_known_by_what_is_in_them() {
    let dir = tempfile::tempdir().unwrap();
    let (ios, _) = made_for_tools(dir.path());
    let read = |name: &str| {
        let files = [dir.path().join(name)];
        let mut source = import::open(&files, &Options::default()).unwrap();
        let mut ios = Vec::new();
        let mut before = usize::MAX;
        while before != ios.len() {
            before = ios.len();
            source.next(&mut ios).unwrap();
        }
        (ios, source.info().clone())
    };
    let (one, info) = read("made");
    assert_eq!((one, info.files.len()), (ios.clone(), 1));
    let (all, info) = read("made.blktrace.2");
    assert_eq!((all, info.files.len()), (ios.clone(), 3), "with the files of the other CPUs");
    let Some(text) = tool("blkparse", &["-i", "made"], dir.path()) else { return };
    std::fs::write(dir.path().join("text"), text).unwrap();
    assert_eq!(read("text").0, ios);
}
