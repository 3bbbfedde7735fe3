//! Units of time and of addresses that nothing names: they are settled by evidence, which is reported, or asked for.

use std::path::Path;

use crate::common::{all, bytes, text};
use block::{Bytes, Nanos};
use drivescope_trace::import::{Columns, Format, Options};
use drivescope_trace::{TraceError, TraceInfo};

fn table(map: &str) -> Options {
    Options { columns: Some(map.parse().unwrap()), ..Options::default() }
}

/// The flag that an ambiguity asks for.
fn asked(rows: &str, options: &Options) -> String {
    match text(rows, options).err().expect("it was guessed") {
        TraceError::Ambiguous { flag, .. } => flag,
        other => panic!("{other}"),
    }
}

fn told(rows: &str, options: &Options) -> (Vec<u64>, TraceInfo) {
    let (ios, info) = all(text(rows, options).unwrap_or_else(|error| panic!("{error}")));
    (ios.iter().map(|io| io.arrival.0).collect(), info)
}

/// `count` rows whose times are `first` and then `step` apart, at places that are settled.
fn timed(first: u64, step: u64, count: u64) -> String {
    (0..count).map(|n| format!("{},R,{},8\n", first + n * step, n * 8 + 1)).collect()
}

const TIMED: &str = "time,op,offset:sectors,size:sectors";

/// A quarter of an hour between rows in nanoseconds; in ticks of 100 ns it would be more than a day: not a load.
#[test]
fn large_steps_can_only_be_fine_ones() {
    let (arrivals, info) = told(&timed(5, 1_000_000_000_000, 30), &table(TIMED));
    assert_eq!(arrivals[1], 1_000_000_000_000);
    assert!(info.settled[0].contains("times are in ns"), "{:?}", info.settled);
}

#[test]
fn times_that_could_be_two_units_are_asked_about_with_both() {
    // A millisecond in us, or a microsecond in ns: 1,000 or 1,000,000 I/Os a second.
    let flag = asked(&timed(0, 1_000, 100), &table(TIMED));
    assert!(flag.contains("us") && flag.contains("ns"), "{flag}");
}

/// Seven days since 1970 in microseconds are not a date, but a counter that has run since the machine started.
#[test]
fn whole_dates_are_dates_and_counters_are_not() {
    let (_, info) = told(
        &timed(1_577_836_800_000_000, 1_000, 100),
        &table("time:us,op,offset:sectors,size:sectors"),
    );
    assert_eq!(info.origin_unix_ns, Some(1_577_836_800_000_000_000));
    let (_, info) =
        told(&timed(604_800_000_000, 1_000, 100), &table("time:us,op,offset:sectors,size:sectors"));
    assert_eq!(info.origin_unix_ns, None);
    assert_eq!(info.origin, Nanos(604_800_000_000_000));
}

#[test]
fn a_finer_unit_than_any_machine_is_not_believed_even_from_a_map() {
    let flag = asked(&timed(0, 1, 100), &table("time:ns,op,offset:sectors,size:sectors"));
    assert!(flag.starts_with("--time-unit"), "{flag}");
}

const PLACED: &str = "time:us,op,offset,size";

fn placed(rows: impl Iterator<Item = (u64, u64)>) -> String {
    rows.enumerate().map(|(n, (offset, size))| format!("{},R,{offset},{size}\n", n * 100)).collect()
}

#[test]
fn odd_lengths_are_sectors_and_long_round_ones_are_bytes() {
    let sectors = placed((0..40).map(|n| (n * 1_001, 8 + n % 3)));
    let (ios, info) = all(text(&sectors, &table(PLACED)).unwrap());
    assert_eq!((ios[1].offset, ios[1].length), (Bytes(1_001 * 512), Bytes(9 * 512)));
    assert!(
        info.settled.iter().any(|said| said.contains("no multiples of 512")),
        "{:?}",
        info.settled
    );

    let bytes = placed((0..40).map(|n| (n * 4_096, if n == 7 { 131_072 } else { 4_096 })));
    let (ios, info) = all(text(&bytes, &table(PLACED)).unwrap());
    assert_eq!((ios[1].offset, ios[1].length), (Bytes(4_096), Bytes(4_096)));
    assert!(info.settled.iter().any(|said| said.contains("131072 sectors")), "{:?}", info.settled);
}

/// 2 MiB in sectors, or 4 KiB in bytes: a factor of 512, and no evidence for either.
#[test]
fn what_is_round_and_short_may_be_either() {
    let either = placed((0..40).map(|n| (n * 4_096, 4_096)));
    assert!(asked(&either, &table(PLACED)).starts_with("--address-unit"));
    let few = placed((0..5).map(|n| (n * 1_001, 9)));
    assert!(asked(&few, &table(PLACED)).starts_with("--address-unit"), "five rows decided");
}

/// Lengths of one unit and addresses of the other happen: one that is said leaves the other open.
#[test]
fn a_unit_that_is_said_stays_said() {
    let rows = placed((0..40).map(|n| (n * 1_001, 4_096)));
    let (ios, _) = all(text(&rows, &table("time:us,op,offset:sectors,size:bytes")).unwrap());
    assert_eq!((ios[1].offset, ios[1].length), (Bytes(1_001 * 512), Bytes(4_096)));
}

#[test]
fn numbers_for_operations_need_a_word_and_words_do_not() {
    let rows = timed(0, 100, 20).replace(",R,", ",1,");
    assert!(
        asked(&rows, &table("time:us,op,offset:sectors,size:sectors")).starts_with("--read-flag")
    );
}

#[test]
fn maps_that_are_none_say_what_is_missing() {
    for (map, word) in [
        ("time:us,op,offset", "size"),
        ("time:us,op,offset,size,size", "two columns"),
        ("time:hours,op,offset,size", "`hours`"),
        ("time,op:2-reads,offset,size", "op:1-reads"),
        ("zeit,op,offset,size", "`zeit`"),
        ("time=1,op=2,offset=0,size=4", "from 1"),
        ("time=1,op=2,offset=99999999,size=4", "no table"),
        ("time=1,op=rw,offset=3,size=4", "not both"),
        ("time=a,op,offset=b,size=c", "every entry"),
        ("", "``"),
    ] {
        let said = map.parse::<Columns>().unwrap_err().to_string();
        assert!(said.contains(word), "{map}: {said}");
    }
}

#[test]
fn columns_are_found_by_number_too() {
    let rows: String = (0..5).map(|n| format!("x|{}|R|{}|{n}00\n", n * 8, 8 + n)).collect();
    let (arrivals, _) = told(&rows, &table("time:ms=5,op=3,offset:sectors=2,size:sectors=4"));
    assert_eq!(arrivals[4], 400_000_000);
}

/// fio and its manual differ on the meaning of a wait; the waits show which is meant.
#[test]
fn waits_of_fio_are_told_apart() {
    let log = |waits: &[u64]| {
        let lines: Vec<String> =
            waits.iter().map(|wait| format!("a wait {wait} 0\na read 0 4096\n")).collect();
        format!("fio version 2 iolog\na add\na open\n{}", lines.concat())
    };
    // Since the wait before, in us.
    assert_eq!(told(&log(&[500, 200, 300]), &Options::default()).0, [0, 200_000, 500_000]);
    assert_eq!(told(&log(&[100, 100, 100]), &Options::default()).0, [0, 100_000, 200_000]);
    // Since the start, in ms.
    let rising: Vec<u64> = (1..=20).map(|n| n * n).collect();
    let (arrivals, info) = told(&log(&rising), &Options::default());
    assert_eq!((arrivals[1], arrivals[19]), (3_000_000, 399_000_000));
    assert_eq!(info.resolution, Nanos::millis(1));
    // Either.
    assert!(asked(&log(&[100, 200, 300]), &Options::default()).contains("--time-unit us"));
}

/// All at 0 means no arrival times, and the trace says so.
#[test]
fn a_log_without_times_says_that_it_has_none() {
    let (arrivals, info) =
        told("fio version 2 iolog\na read 0 4096\na read 4096 4096\n", &Options::default());
    assert_eq!(arrivals, [0, 0]);
    assert!(info.settled.iter().any(|said| said.contains("no times")), "{:?}", info.settled);
}

/// A head with names of its own makes rows another table's, whatever published format they look like.
#[test]
fn rows_like_alibabas_under_another_head_are_not_alibabas() {
    let rows: String = (0..30)
        .map(|n| {
            format!(
                "{},R,{},4096,{}\n",
                1_577_836_800_000_000u64 + n,
                n * 4096,
                1_577_836_800_000_000u64 + n
            )
        })
        .collect();
    let headed = format!("issued_us,op,offset_bytes,size_bytes,time_us\n{rows}");
    assert_eq!(told(&headed, &Options::default()).1.source, "table");
}

/// A format that is said against the evidence is not reported as if the evidence supported it.
#[test]
fn a_format_that_is_said_does_not_make_odd_lengths_even() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/vscsi/bad-odd-lengths.vscsi");
    let options = Options { format: Some(Format::Vscsi), ..Options::default() };
    let (ios, info) = all(bytes(&std::fs::read(path).unwrap(), &options).unwrap());
    assert!(ios.iter().all(|io| io.length.0 % 512 != 0), "{ios:?}");
    let told = |words: &str| info.settled.iter().any(|said| said.contains(words));
    assert!(told("5 of the first 5 are no multiples of 512"), "{:?}", info.settled);
    assert!(!told("all looked at are multiples"), "{:?}", info.settled);
}
