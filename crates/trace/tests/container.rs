//! Our own format: what is written is what is read, and what is not whole is never taken for it.

use std::fs;
use std::path::Path;

use block::{Bytes, Nanos};
use drivescope_trace::container::{self, Existing, GROUP, Reader, Writer};
use drivescope_trace::{
    BATCH, Flags, InMemory, Io, Kind, Mark, Place, Source, Space, Stamp, TraceError, TraceInfo,
};
use proptest::prelude::*;

fn all(mut source: impl Source) -> Result<(TraceInfo, Vec<Io>), TraceError> {
    let mut ios = Vec::new();
    loop {
        let before = ios.len();
        source.next(&mut ios)?;
        if ios.len() == before {
            return Ok((source.info().clone(), ios));
        }
        assert!(ios.len() - before <= 2 * BATCH, "a batch of {} I/Os", ios.len() - before);
    }
}

fn save(path: &Path, info: &TraceInfo, ios: &[Io]) -> container::Written {
    let mut source = InMemory::new(info.clone(), ios.to_vec());
    container::save(&mut source, path, Existing::Replace).unwrap()
}

fn read(path: &Path) -> Result<(TraceInfo, Vec<Io>), TraceError> {
    Reader::open(path).and_then(all)
}

/// Some I/Os as a drive would see them, `count` of them, 10 µs apart.
fn plain(count: u64) -> Vec<Io> {
    let io = |number: u64| {
        let arrival = Nanos(number * 10_000 + number * number % 997);
        let kind = if number.is_multiple_of(3) { Kind::Write } else { Kind::Read };
        let offset = Bytes(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24 & !0xfff);
        let mut io = Io::arriving(arrival, kind, offset, Bytes(4096));
        io.issued = Stamp::at(Nanos(arrival.0 + 2_000 + number % 500));
        io.completed = Stamp::at(Nanos(arrival.0 + 90_000 + number * 7_919 % 20_000));
        io.flags = Flags::HEAD;
        io.request_bytes = io.length;
        io
    };
    (0..count).map(io).collect()
}

fn stamp() -> impl Strategy<Value = Stamp> {
    prop_oneof![
        Just(Stamp::NONE),
        (0..u64::MAX).prop_map(|at| Stamp::at(Nanos(at))),
        (0..1_000_000_u64).prop_map(|at| Stamp::at(Nanos(at))),
    ]
}

prop_compose! {
    fn any_io()(
        stamps in prop::array::uniform7(stamp()),
        bytes in prop::array::uniform3(any::<u64>()),
        numbers in any::<(u32, u32, u16, u16)>(),
        kind in 0..Kind::ALL.len(),
        flags in 0_u16..1 << 11,
        arrival in prop_oneof![any::<u64>(), 0..1_000_u64],
    ) -> Io {
        let [remapped, allocated, slept, inserted, merged, issued, completed] = stamps;
        let (space, pid, cpu, error) = numbers;
        Io {
            arrival: Nanos(arrival),
            remapped, allocated, slept, inserted, merged, issued, completed,
            offset: Bytes(bytes[0]), length: Bytes(bytes[1]), request_bytes: Bytes(bytes[2]),
            space: if bytes[0].is_multiple_of(2) { space % 3 } else { space },
            pid, cpu, error, kind: Kind::ALL[kind], flags: Flags(flags),
        }
    }
}

prop_compose! {
    fn any_info()(
        source in ".*",
        files in prop::collection::vec(".*", 0..3),
        numbers in any::<(u64, Option<i64>, u64, u64, u64)>(),
        names in prop::collection::vec(".*", 0..4),
        tasks in prop::collection::btree_map(any::<u32>(), ".*", 0..4),
        marks in prop::collection::vec((any::<u64>(), ".*"), 0..3),
    ) -> TraceInfo {
        let (origin, origin_unix_ns, resolution, lost_events, skipped_rows) = numbers;
        let space = |name| Space { name, capacity_bytes: Some(Bytes(origin)), ..Space::default() };
        let mark = |(at, text)| Mark { at: Nanos(at), text };
        TraceInfo {
            source, files, origin_unix_ns, lost_events, skipped_rows,
            origin: Nanos(origin), resolution: Nanos(resolution),
            spaces: names.into_iter().map(space).collect(),
            processes: tasks,
            marks: marks.into_iter().map(mark).collect(),
            ignored_rows: lost_events / 2,
            faults: Vec::new(),
            settled: vec!["times are nanoseconds: 9 digits".to_owned()],
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every value that an I/O or the description of a trace can have comes back.
    #[test]
    fn what_is_written_is_read(info in any_info(), mut ios in prop::collection::vec(any_io(), 0..200)) {
        ios.sort_by_key(|io| io.arrival);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.parquet");
        let written = save(&path, &info, &ios);
        prop_assert_eq!(written.ios, ios.len() as u64);
        prop_assert_eq!(written.bytes, fs::metadata(&path).unwrap().len());
        let (info_read, read) = read(&path).unwrap();
        prop_assert_eq!(info_read, info);
        prop_assert_eq!(read, ios);
    }

    /// Wherever a bit of a file is turned, the reader says so, or reads what was written.
    #[test]
    fn a_damaged_file_is_not_believed(at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.parquet");
        let ios = plain(3_000);
        save(&path, &TraceInfo::default(), &ios);
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        match read(&path) {
            Ok((_, read)) => prop_assert!(read == ios, "byte {at}, bit {bit}: other I/Os"),
            Err(TraceError::Malformed { place: Place::Byte(place), .. }) => {
                prop_assert!(place <= at as u64, "byte {at} is wrong, {place} is named");
            }
            Err(other) => prop_assert!(false, "byte {at}, bit {bit}: {other}"),
        }
    }

    /// However much of a file is missing, the reader says where it ends.
    #[test]
    fn a_file_that_was_cut_short_says_where(at in any::<prop::sample::Index>()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trace.parquet");
        save(&path, &TraceInfo::default(), &plain(3_000));
        let bytes = fs::read(&path).unwrap();
        let length = at.index(bytes.len());
        fs::write(&path, &bytes[..length]).unwrap();
        let error = read(&path).unwrap_err();
        let TraceError::Malformed { place: Place::Byte(place), reason, .. } = &error else {
            return Err(TestCaseError::fail(format!("{length} bytes: {error}")));
        };
        if length >= 48 {
            prop_assert_eq!(*place, length as u64);
            let said = format!("{length} bytes, and were {}", bytes.len());
            prop_assert!(reason.contains(&said), "{}", reason);
        }
    }
}

/// More than one row group: order and number hold over their borders, and a span reads only what it needs.
#[test]
fn several_row_groups_and_a_span_of_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    let ios = plain(2 * GROUP as u64 + 4_321);
    save(&path, &TraceInfo::default(), &ios);
    assert_eq!(read(&path).unwrap().1, ios);

    let (from, until) = (ios[GROUP + 10].arrival, ios[2 * GROUP + 10].arrival);
    let part = all(Reader::open(&path).unwrap().between(from, Some(until))).unwrap().1;
    assert_eq!(part, ios[GROUP + 10..2 * GROUP + 10]);
    let none = all(Reader::open(&path).unwrap().between(Nanos(u64::MAX), None)).unwrap().1;
    assert_eq!(none, []);

    // The first group is not needed for the span, so that it is damaged is not noticed, and shows that it was not
    // read.
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let part = all(Reader::open(&path).unwrap().between(from, Some(until))).unwrap().1;
    assert_eq!(part, ios[GROUP + 10..2 * GROUP + 10]);
    assert!(read(&path).unwrap_err().to_string().contains("row group 0"));
}

/// A lenient reader leaves out the row group that is damaged, and counts what was in it; the others stand.
#[test]
fn what_is_damaged_can_be_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    let ios = plain(2 * GROUP as u64 + 5);
    save(&path, &TraceInfo::default(), &ios);
    let mut bytes = fs::read(&path).unwrap();
    bytes[1000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (info, left) = all(Reader::open(&path).unwrap().lenient()).unwrap();
    assert_eq!(info.skipped_rows, GROUP as u64);
    assert_eq!(left, ios[GROUP..]);
}

/// Columns with more different values than a dictionary takes, and with values of any width, come back.
#[test]
fn values_that_are_all_different_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    let mix = |number: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    let mut ios = plain(200_000);
    for (io, number) in ios.iter_mut().zip(0..) {
        let random = mix(number);
        io.length = Bytes(random);
        io.offset = Bytes(random.rotate_left(17));
        io.request_bytes = Bytes(random >> (number / 3_500));
        io.pid = random as u32;
        io.space = (random >> 32) as u32;
        (io.cpu, io.error) = (random as u16, (random >> 16) as u16);
        io.merged = if random % 5 < 2 { Stamp::at(Nanos(random >> 1)) } else { Stamp::NONE };
    }
    save(&path, &TraceInfo::default(), &ios);
    assert!(read(&path).unwrap().1 == ios);
}

/// A file that a writer began and did not finish gets no name, and an existing file stays.
#[test]
fn an_unfinished_file_has_no_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    save(&path, &TraceInfo::default(), &plain(10));
    let mut writer = Writer::create(&path, Existing::Replace).unwrap();
    writer.write(&plain(GROUP as u64 + 1), &[]).unwrap();
    drop(writer);
    assert_eq!(read(&path).unwrap().1, plain(10));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "a temporary file was left");

    let kept = Writer::create(&path, Existing::Keep).err().unwrap();
    assert!(
        matches!(&kept, TraceError::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists)
    );
    // A file that came while this one was written is kept too.
    let other = directory.path().join("other.parquet");
    let writer = Writer::create(&other, Existing::Keep).unwrap();
    fs::write(&other, "mine").unwrap();
    writer.finish(&TraceInfo::default()).unwrap_err();
    assert_eq!(fs::read(&other).unwrap(), b"mine");
}

/// I/Os that are not in order are refused, rather than kept in an order that readers would believe.
#[test]
fn disorder_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer =
        Writer::create(&directory.path().join("trace.parquet"), Existing::Keep).unwrap();
    let mut ios = plain(3);
    ios.swap(1, 2);
    let error = writer.write(&ios, &[]).unwrap_err().to_string();
    assert!(error.contains("10001 ns follows one that arrived at 20004 ns"), "{error}");
}

/// A file with another beginning, one of a newer version, and one that was never finished say what they are.
#[test]
fn files_that_are_not_ours_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.parquet");
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        read(&path).unwrap_err().to_string()
    };
    assert!(said(b"").contains("byte 0: does not begin as a Parquet file does"));
    assert!(
        said(b"PAR1\x15\x04\x15\x00\x15\x04 and more").contains("a Parquet file, but not a trace")
    );

    save(&path, &TraceInfo::default(), &plain(10));
    let whole = fs::read(&path).unwrap();
    assert!(container::is_container(&whole));
    let with_label = |change: fn(&mut [u8])| {
        let mut bytes = whole.clone();
        change(&mut bytes[4..44]);
        let crc32 = crc32fast::hash(&bytes[4..44]);
        bytes[44..48].copy_from_slice(&crc32.to_le_bytes());
        bytes
    };
    let newer = said(&with_label(|label| label[16] = 9));
    assert!(
        newer.contains("is of version 9 of this format, and this drivescope reads 1"),
        "{newer}"
    );
    let unfinished = said(&with_label(|label| label[20..28].fill(0)));
    assert!(unfinished.contains("was never finished"), "{unfinished}");
}

/// Some I/Os that have of everything something.
fn specimen(count: u64) -> (TraceInfo, Vec<Io>) {
    let io = |number: u64| {
        let arrival = number * 1_000;
        let at = |after: u64| Stamp::at(Nanos(arrival + after));
        let kind = Kind::ALL[number as usize % Kind::ALL.len()];
        let mut io =
            Io::arriving(Nanos(arrival), kind, Bytes(number << 12), Bytes((number % 9) << 9));
        if number.is_multiple_of(3) {
            (io.remapped, io.issued, io.completed) = (at(1), at(10), at(900));
        }
        if number.is_multiple_of(5) {
            (io.allocated, io.slept, io.inserted, io.merged) = (at(3), at(2), at(4), at(5));
        }
        io.flags = Flags((number as u16 * 37) & 0x7ff);
        (io.space, io.pid, io.cpu) = (number as u32 % 2, number as u32, number as u16 % 4);
        io.error = if number == 7 { 5 } else { 0 };
        io.request_bytes = Bytes(number % 4 * 4096);
        io
    };
    let space = |name: &str| Space { name: name.to_owned(), ..Space::default() };
    let info = TraceInfo {
        source: "MSR Cambridge".to_owned(),
        origin_unix_ns: Some(1),
        spaces: vec![space("hm_0"), space("hm_1")],
        ..TraceInfo::default()
    };
    (info, (0..count).map(io).collect())
}

/// Files of version 1 that were written once are read for ever. They are also where fuzzing begins. One that is
/// missing is made; a file that is there changes only by a new version, beside the old one.
#[test]
fn files_of_version_1_are_read() {
    for count in [0, 1, 40] {
        let (info, ios) = specimen(count);
        let path = format!("{}/corpus/drivescope/{count}.parquet", env!("CARGO_MANIFEST_DIR"));
        let path = Path::new(&path);
        if !path.exists() {
            save(path, &info, &ios);
        }
        assert_eq!(read(path).unwrap(), (info, ios), "{}", path.display());
    }
}
