//! Reads of growing size on virtual drives.

use crate::reading::{Limits, at_desk};
use block::Nanos;
use drivescope_probe::Known;
use drivescope_probe::interval::{self, Evidence, Options};

fn interval(spec: &str, limits: Limits) -> Evidence {
    let work = |desk: &mut drivescope_probe::Desk<'_>| {
        interval::probe(desk, &Known::new(), &Options::default()).unwrap()
    };
    at_desk(spec, limits, work).0.evidence
}

// Breaks when access time or rate of a card is not found within what its model says. With nothing pipelined, a read of
// this card takes 601 µs, an array read of about 65 and 50 for the slower plane a group, 5 µs a codeword, 74 a further
// group, 18 for its second page, and 80 ns a byte on the link: 16 KiB more take 207 + 80 + 1,311 µs.
#[test]
fn a_card_has_its_access_time_and_rate() {
    let evidence = interval("sim:sdcard-4m", Limits::default());
    let line = evidence.line.unwrap();
    let rate = line.bytes_per_s.unwrap();
    let expected = 16384.0 / 1_598e-6;
    assert!((rate / expected - 1.0).abs() < 0.05, "{line:?}, expected {expected}");
    assert!(line.bytes_per_s_low.unwrap() <= rate && rate <= line.bytes_per_s_high.unwrap());
    assert!((500_000.0..900_000.0).contains(&line.access_ns), "{line:?}");
    assert!(line.access_low_ns <= line.access_ns && line.access_ns <= line.access_high_ns);
    assert_eq!(evidence.sizes.first().map(|size| size.bytes), Some(512));
    assert!(evidence.sizes.iter().all(|size| size.times_ns.len() == 32));
}

// Breaks when one read in a hundred that takes ten times as long moves the line.
#[test]
fn spikes_do_not_move_the_line() {
    let spiky = "sim:sdcard-4m?link.spike_ppm=20000&link.spike_ns=60000000";
    let (quiet, loud) =
        (interval("sim:sdcard-4m", Limits::default()), interval(spiky, Limits::default()));
    let rate = |evidence: &Evidence| evidence.line.unwrap().bytes_per_s.unwrap();
    assert!((rate(&loud) / rate(&quiet) - 1.0).abs() < 0.03, "{:?}", loud.line);
}

// Breaks when a change of the rate with size is not seen, or is seen where there is none.
#[test]
fn a_knee_is_where_the_rate_changes() {
    let times = |bytes: u64, rate: &dyn Fn(u64) -> u64| {
        (bytes, (0..16_u64).map(|n| 100_000 + rate(bytes) + n * 10).collect::<Vec<_>>())
    };
    let sizes: Vec<u64> = (12..22).map(|power| 1 << power).collect();
    let bent = |bytes: u64| bytes.min(128 << 10) + bytes.saturating_sub(128 << 10) * 4;
    let evidence = interval::infer(&sizes.iter().map(|b| times(*b, &bent)).collect::<Vec<_>>());
    let knees: Vec<u64> = evidence.knees.iter().map(|knee| knee.bytes).collect();
    assert_eq!(knees, [128 << 10]);
    let straight = |bytes: u64| bytes * 2;
    let evidence = interval::infer(&sizes.iter().map(|b| times(*b, &straight)).collect::<Vec<_>>());
    assert!(evidence.knees.is_empty(), "{:?}", evidence.knees);
    let line = evidence.line.unwrap();
    assert!((line.access_ns - 100_075.0).abs() < 1.0, "{line:?}");
    assert!((line.bytes_per_s.unwrap() - 0.5e9).abs() < 1e3, "{line:?}");
}

// Breaks when too little time is a failure, or when a line is drawn through two sizes.
#[test]
fn a_short_time_gives_no_line() {
    let limits = Limits { time: Nanos(1), ..Limits::default() };
    let evidence = interval("sim:sdcard-4m", limits);
    assert_eq!(evidence.line, None);
    assert!(evidence.sizes.iter().all(|size| size.times_ns.len() == 1 && size.low_ns.is_none()));
}
