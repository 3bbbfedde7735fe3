//! Speed and access time over the range, on virtual drives.

use crate::reading::{Limits, at_desk};
use block::{Bytes, Nanos};
use drivescope_probe::Known;
use drivescope_probe::surface::{self, Evidence, Options, Transfer};

fn surface(spec: &str, options: &Options, limits: Limits) -> (Evidence, drivescope_probe::Spent) {
    let work = |desk: &mut drivescope_probe::Desk<'_>| {
        surface::probe(desk, &Known::new(), options).unwrap()
    };
    let (outcome, spent) = at_desk(spec, limits, work);
    (outcome.evidence, spent)
}

// Breaks when a disk's zones do not show: its outer tracks stream faster than its inner ones, and it takes a seek and
// half a turn to reach a place.
#[test]
fn a_disk_is_faster_at_its_beginning() {
    let truth = sim::show("sim:hdd-7200").unwrap().truth.hdd.unwrap();
    let rate = |zone: Option<&sim::ZoneTruth>| zone.unwrap().streaming_bytes_per_s as f64;
    let expected = rate(truth.zones.last()) / rate(truth.zones.first());
    let (evidence, spent) = surface("sim:hdd-7200", &Options::default(), Limits::default());
    assert!(evidence.complete);
    assert_eq!((evidence.transfers.len(), evidence.accesses.len()), (100, 1000));
    assert_eq!(spent.written_bytes, Bytes(0));
    let trend = evidence.trend.unwrap();
    assert!(trend.moves && trend.end_over_begin < 0.8, "{trend:?}, zones {expected}");
    // A line through steps, with the way to the place in each transfer: not the zones' own ratio, but near it.
    assert!((trend.end_over_begin / expected - 1.0).abs() < 0.25, "{trend:?}, zones {expected}");
    assert!(evidence.slow_spots.is_empty(), "{:?}", evidence.slow_spots);
    let access = evidence.access_ns.unwrap();
    let half_turn = truth.rotation_ns as f64 / 2.0;
    assert!(access.mean > half_turn && access.mean < 4.0 * half_turn, "{access:?}");
}

// Breaks when a drive of flash seems to have zones.
#[test]
fn flash_is_as_fast_everywhere() {
    let (evidence, _) = surface("sim:usb-tlc", &Options::default(), Limits::default());
    let trend = evidence.trend.unwrap();
    assert!((trend.end_over_begin - 1.0).abs() < 0.02, "{trend:?}");
    let speed = evidence.speed_bytes_per_s.unwrap();
    assert!(speed.min <= speed.median && speed.median <= speed.max && speed.n == 100, "{speed:?}");
}

// Breaks when a slow place is lost among the zones of a disk, or a zone's step is a slow place.
#[test]
fn a_slow_spot_is_slower_than_its_neighbours() {
    let rate = |at: u64| match at {
        70 => 60e6,
        0..40 => 200e6 + (at % 3) as f64 * 1e6,
        _ => 130e6 + (at % 3) as f64 * 1e6,
    };
    let transfer = |at: u64| Transfer {
        offset: at << 30,
        bytes: 10 << 20,
        ns: (1e16 / rate(at)) as u64,
        bytes_per_s: rate(at),
    };
    let evidence = surface::infer((0..100).rev().map(transfer).collect(), Vec::new());
    let spots: Vec<u64> = evidence.slow_spots.iter().map(|spot| spot.offset >> 30).collect();
    assert_eq!(spots, [70]);
    assert!(evidence.access_ns.is_none());
}

// Breaks when time or bytes are not kept to, or random reads lose their turn to a slow sequence.
#[test]
fn bounds_hold() {
    let options = Options { limit: Nanos::secs(10), ..Options::default() };
    let (evidence, spent) = surface("sim:sdcard-4m", &options, Limits::default());
    assert!(!evidence.complete && !evidence.accesses.is_empty());
    assert!(spent.elapsed_ns < Nanos::secs(12), "{spent:?}");
    let small = Limits { offset: 1 << 20, length: 1 << 20, ..Limits::default() };
    let (evidence, spent) = surface("sim:sdcard-4m", &Options::default(), small);
    assert!(spent.read_bytes <= Bytes::mib(6), "{spent:?}");
    let inside = |offset: u64, bytes: u64| offset >= 1 << 20 && offset + bytes <= 2 << 20;
    assert!(evidence.transfers.iter().all(|t| inside(t.offset, t.bytes)));
    assert!(evidence.accesses.iter().all(|access| inside(access.offset, access.bytes)));
}
