//! DiskSim, SSDSim and MQSim: the same rows, and what they mean is settled or asked.

use std::path::PathBuf;

use crate::common::{all, text};
use block::{Bytes, Nanos};
use drivescope_trace::import::{AddressUnit, Format, Options, ReadFlag, SpaceRule, TimeUnit, open};
use drivescope_trace::{Kind, TraceError};

/// Traces that others published, beside the repository.
const TRACES: &str = "../shared/cases/traces";

fn published(name: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(TRACES).is_dir() {
        println!("skipped: this machine has no {TRACES}");
        return None;
    }
    Some(root.join(TRACES).join(name))
}

fn mqsim() -> Options {
    Options { format: Some(Format::MqSim), ..Options::default() }
}

/// The two workloads of the comparison of drives: their counts are facts of the files, found with awk.
#[test]
fn published_traces_have_their_counts_spans_and_spaces() {
    let cases = [
        ("tpcc-small.trace", 6_999, 4_381, 136_489_000, 16),
        ("wsrch-small.trace", 24_783, 24_779, 60_055_212_000, 6),
    ];
    for (name, count, reads, span, spaces) in cases {
        let Some(path) = published(name) else { return };
        let (ios, info) = all(open(&[path], &mqsim()).unwrap());
        assert_eq!(ios.len(), count, "{name}");
        assert_eq!(ios.iter().filter(|io| io.kind == Kind::Read).count(), reads, "{name}");
        assert_eq!(ios.last().unwrap().arrival, Nanos(span), "{name}");
        assert_eq!(info.spaces.len(), spaces, "{name}");
        assert_eq!(ios[0].arrival, Nanos::ZERO);
    }
    let Some(path) = published("tpcc-small.trace") else { return };
    let (ios, info) = all(open(&[path], &mqsim()).unwrap());
    // `938513000 4 264719034 16 0`
    let first = ios[0];
    assert_eq!(
        (first.offset, first.length, first.kind),
        (Bytes(264_719_034 * 512), Bytes(8192), Kind::Write)
    );
    assert_eq!(info.spaces[first.space as usize].name, "device 4");
    assert_eq!(info.origin, Nanos(938_513_000));
}

/// Nothing in them says which number is a read: a guess would turn a load of reads into one of writes.
#[test]
fn published_traces_are_refused_without_a_word_on_reads() {
    for name in ["tpcc-small.trace", "wsrch-small.trace"] {
        let Some(path) = published(name) else { return };
        match open(&[path], &Options::default()).err().unwrap() {
            TraceError::Ambiguous { flag, .. } => assert!(flag.contains("--read-flag"), "{flag}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn the_flag_turns_reads_into_writes() {
    let rows = "1000 0 8 8 1\n2000 0 24 8 0\n3000 1 40 16 1\n";
    for (flag, first) in [(ReadFlag::One, Kind::Read), (ReadFlag::Zero, Kind::Write)] {
        let options = Options { read_flag: Some(flag), ..Options::default() };
        let (ios, info) = all(text(rows, &options).unwrap());
        assert_eq!(ios[0].kind, first);
        assert_ne!(ios[1].kind, first);
        assert!(info.settled.iter().any(|said| said.contains("--read-flag")), "{:?}", info.settled);
    }
}

#[test]
fn a_point_in_its_times_shows_disksim() {
    let rows = "0.5 0 8 8 1\n1.250125 0 24 8 0\n3 1 40 16 9\n";
    let (ios, info) = all(text(rows, &Options::default()).unwrap());
    assert_eq!(info.source, "DiskSim");
    let arrivals: Vec<u64> = ios.iter().map(|io| io.arrival.0).collect();
    assert_eq!(arrivals, [0, 750_125, 2_500_000]);
    // Bit 0 is the read, bit 3 something else.
    assert_eq!(
        ios.iter().map(|io| io.kind).collect::<Vec<_>>(),
        [Kind::Read, Kind::Write, Kind::Read]
    );
    assert_eq!(info.resolution, Nanos(1));
}

/// A thousand I/Os in a microsecond: the times are not nanoseconds, whatever the family has.
#[test]
fn times_beyond_all_machines_are_asked_for() {
    let rows: String = (0..1000).map(|n| format!("{n} 0 {} 8 1\n", n * 8 + 1)).collect();
    let options = Options { read_flag: Some(ReadFlag::One), ..Options::default() };
    match text(&rows, &options).err().unwrap() {
        TraceError::Ambiguous { flag, .. } => assert!(flag.contains("--time-unit"), "{flag}"),
        other => panic!("{other}"),
    }
    let options = Options { time_unit: Some(TimeUnit::Millis), ..options };
    assert_eq!(all(text(&rows, &options).unwrap()).0[999].arrival, Nanos::millis(999));
}

#[test]
fn addresses_that_could_be_bytes_are_asked_for() {
    let rows: String =
        (0..100).map(|n| format!("{} 0 {} 4096 1\n", n * 100_000, n * 4096)).collect();
    let options = Options { read_flag: Some(ReadFlag::One), ..Options::default() };
    match text(&rows, &options).err().unwrap() {
        TraceError::Ambiguous { flag, .. } => assert!(flag.contains("--address-unit"), "{flag}"),
        other => panic!("{other}"),
    }
    for (unit, length) in [(AddressUnit::Bytes, 4096), (AddressUnit::Sectors, 4096 * 512)] {
        let options = Options { address_unit: Some(unit), ..options.clone() };
        assert_eq!(all(text(&rows, &options).unwrap()).0[1].length, Bytes(length));
    }
}

/// Device 0 of two files: one device or two is for the user to say.
#[test]
fn devices_of_several_files_are_one_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], "0.0 0 8 8 1\n9.0 0 8 8 1\n").unwrap();
    std::fs::write(&paths[1], "4.0 0 8 8 1\n5.0 0 8 8 1\n").unwrap();
    match open(&paths, &Options::default()).err().unwrap() {
        TraceError::Ambiguous { flag, .. } => assert!(flag.contains("--spaces"), "{flag}"),
        other => panic!("{other}"),
    }
    for (rule, spaces) in [(SpaceRule::Shared, 1), (SpaceRule::PerFile, 2), (SpaceRule::One, 1)] {
        let options = Options { spaces: Some(rule), ..Options::default() };
        let (ios, info) = all(open(&paths, &options).unwrap());
        assert_eq!(info.spaces.len(), spaces, "{rule}");
        let arrivals: Vec<u64> = ios.iter().map(|io| io.arrival.0 / 1_000_000).collect();
        assert_eq!(arrivals, [0, 4, 5, 9]);
    }
}
