//! Files that are damaged, cut off, in disorder, packed, or something else: what is said, and what is kept.

use std::io::{Cursor, Read, Write};

use crate::common::{all, bytes, rest, text};
use block::Nanos;
use drivescope_trace::import::{Format, Options, open, read};
use drivescope_trace::{Place, TraceError};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

fn lenient() -> Options {
    Options { lenient: true, ..Options::default() }
}

/// SPC rows that arrive a millisecond after each other.
fn rows(count: u64) -> String {
    (0..count)
        .map(|n| format!("0,{},4096,r,{}.{:03}000\n", n * 8 + 1, n / 1000, n % 1000))
        .collect()
}

/// The error of a trace that opens, or does not.
fn fault(content: &[u8], options: &Options) -> TraceError {
    match bytes(content, options) {
        Err(error) => error,
        Ok(mut source) => rest(source.as_mut()).expect_err("it was read without an error"),
    }
}

#[test]
fn a_damaged_row_is_told_with_its_line_and_what_would_be_right() {
    let damaged = rows(10).replace("0,33,4096,r", "0,33,4096,q");
    match fault(damaged.as_bytes(), &Options::default()) {
        TraceError::Malformed { file, place, reason } => {
            assert_eq!((file.as_str(), place), ("trace", Place::Line(5)));
            assert!(reason.contains("`q`") && reason.contains("write R or W"), "{reason}");
        }
        other => panic!("{other}"),
    }
    let (ios, info) = all(text(&damaged, &lenient()).unwrap());
    assert_eq!((ios.len(), info.skipped_rows), (9, 1));
    assert!(info.faults[0].starts_with("trace, line 5: `q`"), "{:?}", info.faults);
}

#[test]
fn a_row_with_a_field_too_few_or_too_many_is_counted_out() {
    let short = "128166372003061629,usr,0,Read,7014609920,24576,41286\n".repeat(4)
        + "128166372003061629,usr,0,Read\n";
    match fault(short.as_bytes(), &Options::default()) {
        TraceError::Malformed { place, reason, .. } => {
            assert_eq!(place, Place::Line(5));
            assert!(reason.contains("has 4 fields; a row has 7"), "{reason}");
        }
        other => panic!("{other}"),
    }
}

/// Otherwise a file of another kind would come out as a short trace.
#[test]
fn a_file_that_is_mostly_damage_is_refused_even_leniently() {
    let mostly = rows(10_000) + &"what is this\n".repeat(10_001);
    match fault(mostly.as_bytes(), &lenient()) {
        TraceError::Malformed { place: Place::Whole, reason, .. } => {
            assert!(reason.contains("10001 of 20001 rows"), "{reason}");
        }
        other => panic!("{other}"),
    }
    let barely = rows(10_000) + &"what is this\n".repeat(10_000);
    assert_eq!(all(text(&barely, &lenient()).unwrap()).1.skipped_rows, 10_000);
}

/// Memory must not grow with what a file calls a line.
#[test]
fn endless_lines_are_passed_over_not_held() {
    let line = "7".repeat(3 << 20);
    let long = format!("{}{line}\n{}", rows(3), rows(6).split_off(rows(3).len()));
    match fault(long.as_bytes(), &Options::default()) {
        TraceError::Malformed { place: Place::Line(4), reason, .. } => {
            assert!(reason.contains("longer than"), "{reason}");
        }
        other => panic!("{other}"),
    }
    let (ios, info) = all(text(&long, &lenient()).unwrap());
    assert_eq!((ios.len(), info.skipped_rows), (6, 1));
}

#[test]
fn packed_files_are_unpacked_member_after_member() {
    let (first, second) = (rows(2_000), rows(3_000).split_off(rows(2_000).len()));
    let gz = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let zst = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    for packed in [[gz(&first), gz(&second)].concat(), [zst(&first), zst(&second)].concat()] {
        assert_eq!(all(bytes(&packed, &Options::default()).unwrap()).0.len(), 3_000);
        let cut = &packed[..packed.len() - 20];
        match fault(cut, &Options::default()) {
            TraceError::Malformed { place: Place::Byte(_), reason, .. } => {
                assert!(reason.contains("cut off") || reason.contains("unpacked"), "{reason}");
            }
            other => panic!("{other}"),
        }
        let (ios, info) = all(bytes(cut, &lenient()).unwrap());
        assert!((2_000..3_000).contains(&ios.len()), "{}", ios.len());
        assert_eq!(info.skipped_rows, 1);
    }
}

#[test]
fn foreign_packings_and_archives_are_named() {
    let mut tar = vec![b'a'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (content, word) in
        [(&b"BZh91AY&SY"[..], "bzip2"), (b"\xfd7zXZ\0\0", "xz"), (&tar, "tar"), (b"", "empty")]
    {
        let said = fault(content, &Options::default()).to_string();
        assert!(said.contains(word), "{said}");
    }
}

/// A reader that breaks in the middle.
struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("the cable was pulled")),
            n => Ok(n),
        }
    }
}

/// Errors of the system are not faults of the file: leniency does not hide them.
#[test]
fn errors_of_the_system_are_never_skipped() {
    let broken = Broken(Cursor::new(rows(20_000).into_bytes()));
    let mut source = read(Box::new(broken), "far", &lenient()).unwrap();
    match rest(source.as_mut()).expect_err("it broke") {
        TraceError::Io { file, source } => {
            assert_eq!(
                (file.as_str(), source.to_string().as_str()),
                ("far", "the cable was pulled")
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn slight_disorder_is_put_right_and_told() {
    let mut lines: Vec<String> = rows(20_000).lines().map(str::to_owned).collect();
    for block in lines.chunks_mut(1_000) {
        block.reverse();
    }
    let (ios, info) = all(text(&lines.join("\n"), &Options::default()).unwrap());
    assert_eq!((ios.len(), ios[19_999].arrival), (20_000, Nanos::millis(19_999)));
    assert!(
        info.settled.iter().any(|said| said.contains("put in order within a window")),
        "{:?}",
        info.settled
    );
}

#[test]
fn great_disorder_is_refused_and_sorted_when_asked() {
    let mut lines: Vec<String> = rows(300_000).lines().map(str::to_owned).collect();
    lines.reverse();
    let reversed = lines.join("\n");
    match fault(reversed.as_bytes(), &Options::default()) {
        TraceError::Malformed { place: Place::Line(_), reason, .. } => {
            assert!(reason.contains("--sort"), "{reason}")
        }
        other => panic!("{other}"),
    }
    let options = Options { sort: true, ..Options::default() };
    let (ios, info) = all(text(&reversed, &options).unwrap());
    assert_eq!(
        (ios.len(), ios[0].arrival, ios[299_999].arrival),
        (300_000, Nanos::ZERO, Nanos::millis(299_999))
    );
    assert_eq!(info.origin, Nanos::ZERO);
}

/// Seconds are spread after sorting; before, each part of a second would be spread over all of it.
#[test]
fn sorted_seconds_are_spread_as_others_are() {
    let row = |second: u64, n: u64| format!("{},{},8,1,7\n", 1_538_323_200 + second, n * 8);
    let mixed: String = (0..10).map(|n| row(n % 2, n)).collect();
    let (ios, _) = all(text(&mixed, &Options { sort: true, ..Options::default() }).unwrap());
    let arrivals: Vec<u64> = ios.iter().map(|io| io.arrival.0 / 1_000_000).collect();
    assert_eq!(arrivals, [0, 200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800]);
}

#[test]
fn files_of_several_hours_follow_each_other_by_their_times_not_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let hour = |name: &str, first: u64, lun: u32| {
        let path = folder.path().join(name);
        let rows: String = (0..2_000)
            .map(|n| {
                format!(
                    "{}.{:06}000,0.000500000,{},{lun},{},4096\n",
                    1_456_095_145 + first + n,
                    n,
                    if n % 50 == 7 { "" } else { "R" },
                    n * 4096
                )
            })
            .collect();
        std::fs::write(&path, format!("Timestamp,Response,IOType,LUN,Offset,Size\n{rows}"))
            .unwrap();
        path
    };
    let files = [hour("a", 4_000, 0), hour("b", 0, 0), hour("c", 2_000, 0), hour("d", 1_000, 1)];
    let (ios, info) = all(open(&files, &Options::default()).unwrap());
    assert_eq!((ios.len(), info.ignored_rows, info.spaces.len()), (4 * 1_960, 4 * 40, 2));
    // Two LUNs in the same seconds, one behind the other in the list.
    assert!(ios.windows(2).any(|pair| pair[0].space != pair[1].space));
    assert!(ios.iter().all(|io| io.completed.known()));
}

/// The recorder of SYSTOR '17 saw replies out of their time; the I/O was there nevertheless.
#[test]
fn latencies_below_zero_are_unknown_and_told() {
    let row = |n: u64, latency: &str| format!("1456095145.{n:06}000,{latency},R,0,4096,4096\n");
    let rows: String =
        (0..20).map(|n| row(n, if n == 3 { "-0.000400000" } else { "0.000400000" })).collect();
    let (ios, info) = all(text(&rows, &Options::default()).unwrap());
    assert_eq!(ios.iter().filter(|io| !io.completed.known()).count(), 1);
    assert!(info.settled.iter().any(|said| said.starts_with("1 latencies")), "{:?}", info.settled);
}

/// A busy second of a trace of whole seconds, and a coarse clock written in fine digits, are not a wrong unit.
#[test]
fn many_at_one_tick_of_a_coarse_clock_are_believed() {
    let second: String = (0..9_000).map(|n| format!("1538323200,{n},8,1,7\n")).collect();
    assert_eq!(all(text(&second, &Options::default()).unwrap()).0.len(), 9_000);
    let tick = |n: u64| 89_000_000_000 + n / 900 * 15_625_000;
    let rows: String = (0..9_000).map(|n| format!("{} 7 a {n} 8 W 6 0 0f\n", tick(n))).collect();
    assert_eq!(all(text(&rows, &Options::default()).unwrap()).0.len(), 9_000);
}

/// A shell's `<(zcat …)` names a pipe that can be opened twice, but gives its bytes once.
#[test]
fn pipes_are_read_once() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let content = rows(3_000);
    let writing = std::thread::spawn(move || writer.write_all(content.as_bytes()));
    let path = std::path::PathBuf::from(format!(
        "/proc/self/fd/{}",
        std::os::fd::AsRawFd::as_raw_fd(&reader)
    ));
    let (ios, _) = all(open(&[path], &Options::default()).unwrap());
    drop(reader);
    writing.join().unwrap().unwrap();
    assert_eq!(ios.len(), 3_000);
}

#[test]
fn files_of_two_formats_are_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], rows(5)).unwrap();
    std::fs::write(&paths[1], "0.5 0 9 8 1\n".repeat(5)).unwrap();
    let said = open(&paths, &Options::default()).err().unwrap().to_string();
    assert!(said.contains("one by one"), "{said}");
}

#[test]
fn a_word_that_the_format_says_itself_is_refused() {
    let options = Options { read_flag: Some("1".parse().unwrap()), ..Options::default() };
    let said = fault(rows(5).as_bytes(), &options).to_string();
    assert!(said.contains("--read-flag"), "{said}");
}

#[test]
fn a_table_of_numbers_is_asked_about_not_guessed() {
    let plain = "1,2,3,4\n5,6,7,8\n9,10,11,12\n";
    let said = fault(plain.as_bytes(), &Options::default()).to_string();
    assert!(said.contains("--columns"), "{said}");
}

/// The published form of a time, taken for another unit, would be a factor of a million.
#[test]
fn times_that_are_no_dates_are_asked_about() {
    let rows: String = (0..20).map(|n| format!("3,R,{},4096,{n}\n", n * 4096)).collect();
    let said = fault(rows.as_bytes(), &Options::default()).to_string();
    assert!(said.contains("--time-unit"), "{said}");
    let options = Options { time_unit: Some("ms".parse().unwrap()), ..Options::default() };
    assert_eq!(all(text(&rows, &options).unwrap()).0[19].arrival, Nanos::millis(19));
}

fn every_format() -> impl Strategy<Value = Option<Format>> {
    let readable = Format::ALL.into_iter().filter(|format| *format != Format::Container);
    prop::option::of(prop::sample::select(readable.collect::<Vec<_>>()))
}

/// Pattern of a row of any format.
const ROW: &str = "[0-9]{1,21}(\\.[0-9]{0,9})?([, ;\t]([0-9RWrw.-]{0,21}|\"[^\"]*\"?)){0,9}";

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    /// Whatever the bytes are, they are read or refused; and what is handed out is in order.
    #[test]
    fn no_bytes_make_a_reader_fall(
        content in prop::collection::vec(any::<u8>(), 0..600),
        format in every_format(),
        lenient in any::<bool>(),
        sort in any::<bool>(),
    ) {
        let options = Options { format, lenient, sort, ..Options::default() };
        if let Ok(mut source) = bytes(&content, &options) {
            let mut ios = Vec::new();
            while let Ok(()) = source.next(&mut ios) {
                let before = ios.len();
                if source.next(&mut ios).is_err() || ios.len() == before {
                    break;
                }
            }
            prop_assert!(ios.is_sorted_by_key(|io| io.arrival));
        }
    }

    /// The same for what looks like rows.
    #[test]
    fn no_rows_make_a_reader_fall(
        rows in prop::collection::vec(ROW, 0..12),
        format in every_format(),
        lenient in any::<bool>(),
        map in prop::option::of(prop::sample::select(vec![
            "time:s,op,offset:sectors,size:bytes", "time,space,space,offset,size,op:1-reads,latency:100ns",
        ])),
    ) {
        let columns = map.map(|map| map.parse().unwrap());
        let options = Options { format, lenient, columns, ..Options::default() };
        if let Ok(mut source) = text(&rows.join("\n"), &options) {
            let _read_or_refused = rest(source.as_mut());
        }
    }
}
