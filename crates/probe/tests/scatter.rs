//! Scatter on the shipped virtual drives, of which it is known what they are.

use crate::reading::{DrawnCard, Limits, at_desk, finding, group};
use block::Nanos;
use drivescope_probe::scatter::{self, Evidence, Options, Part, Point};
use drivescope_probe::{Known, Name, Outcome, Verdict};

const MIB: u64 = 1 << 20;

fn scatter_at(spec: &str, known: &Known, limits: Limits) -> Outcome<Evidence> {
    let work = |desk: &mut drivescope_probe::Desk<'_>| {
        scatter::probe(desk, known, &Options::default()).unwrap()
    };
    at_desk(spec, limits, work).0
}

fn scatter(spec: &str, known: &Known) -> Outcome<Evidence> {
    scatter_at(spec, known, Limits::default())
}

fn value(outcome: &Outcome<Evidence>, name: Name) -> Option<u64> {
    finding(outcome, name).value
}

// Breaks when the stick of the published plot no longer gives what is read off that plot: two bands, and a zone of
// 4 MiB that is slower; with and without knowledge of its pages.
#[test]
fn a_stick_with_a_slow_zone_and_two_bands() {
    for known in [Known::new(), group(16 << 10)] {
        let outcome = scatter("sim:usb-8m", &known);
        assert_eq!(value(&outcome, Name::CellBands), Some(2), "{:?}", outcome.findings);
        assert_eq!(value(&outcome, Name::SlowZone), Some(4 * MIB), "{:?}", outcome.findings);
        assert_eq!(value(&outcome, Name::FatZone), Some(4 * MIB), "{:?}", outcome.findings);
        let evidence = &outcome.evidence;
        assert_eq!(evidence.hypothesis.as_deref(), Some("MLC"));
        // Look-up 150 µs, array read 25 instead of 47.5 on average: 127.5 µs slower.
        let zone = &evidence.zones[0];
        assert_eq!((zone.offset, zone.length, zone.bands), (0, 4 * MIB, Some(1)));
        assert!((zone.slower_ns - 127_500.0).abs() < 4_000.0, "{zone:?}");
        let apart = evidence.bands[1].center_ns - evidence.bands[0].center_ns;
        assert!((apart - 45_000.0).abs() < 3_000.0, "{:?}", evidence.bands);
        let inside = |p: &&Point| p.part == Part::Beginning && p.offset < 4 * MIB;
        assert!(evidence.points.iter().filter(inside).all(|point| point.zone == Some(0)));
        // Places beyond the zone have bands, in turns of two groups, whatever the unit begins with.
        let beyond = |p: &&Point| p.part == Part::Window && p.zone.is_none() && p.band.is_some();
        assert!(evidence.points.iter().filter(beyond).count() > 80);
    }
}

// Breaks when the end of a zone is rounded to where such ends mostly lie, or any zone passes for one for file
// allocation tables.
#[test]
fn zones_of_any_length() {
    let of = |bytes: u64| scatter(&format!("sim:usb-8m?fat.bytes={bytes}"), &group(16 << 10));
    let twenty = of(20 * MIB);
    assert_eq!(value(&twenty, Name::FatZone), Some(20 * MIB), "{:?}", twenty.findings);
    for odd in [4 * MIB + (16 << 10), 512 * MIB] {
        let outcome = of(odd);
        assert_eq!(value(&outcome, Name::SlowZone), Some(odd), "{:?}", outcome.findings);
        assert_eq!(finding(&outcome, Name::FatZone).verdict, Verdict::Unknown);
    }
    // Four groups: less than the first MiB that is compared.
    let tiny = of(64 << 10);
    for name in [Name::SlowZone, Name::FatZone] {
        assert_eq!(finding(&tiny, name).verdict, Verdict::Unknown, "{:?}", tiny.findings);
    }
}

// Breaks when three bands pass for two, or when the report does not say where they appear.
#[test]
fn a_stick_with_three_bands() {
    let outcome = scatter("sim:usb-tlc", &group(16 << 10));
    assert_eq!(value(&outcome, Name::CellBands), Some(3), "{:?}", outcome.findings);
    // Reads alone deny no zone that only writes show.
    assert_eq!(
        finding(&outcome, Name::FatZone).verdict,
        Verdict::Unknown,
        "{:?}",
        outcome.findings
    );
    assert_eq!(finding(&outcome, Name::SlowZone).verdict, Verdict::None);
    let three = outcome.evidence.stretches.iter().filter(|stretch| stretch.count == 3);
    let bytes: u64 = three.map(|stretch| stretch.to - stretch.from).sum();
    assert!(bytes > 8 * MIB, "of 16 MiB: {:?}", outcome.evidence.stretches);
    // Three kinds, two groups of 16 KiB each in a row.
    assert_eq!(outcome.evidence.periods.first().map(|p| p.bytes), Some(96 << 10));
}

// Breaks when bands that lie closer than the spread of single reads are lost: 10 µs apart, reads within 40 µs.
#[test]
fn bands_below_the_noise_of_a_read() {
    let outcome = scatter("sim:sdcard-4m", &group(16 << 10));
    assert_eq!(value(&outcome, Name::CellBands), Some(2), "{:?}", outcome.findings);
    let outcome = scatter("sim:card-3m", &group(16 << 10));
    assert_eq!(value(&outcome, Name::CellBands), Some(3), "{:?}", outcome.findings);
}

// Breaks when a drawn card gets a wrong number, or when what little noise there is leaves more than one in ten open.
// The example score_scatter does the same for as many cards as one likes.
#[test]
fn drawn_cards_get_no_wrong_number() {
    let mut open = Vec::new();
    for seed in 0..12 {
        for level in [0.1, 0.5] {
            let card = DrawnCard::new(seed, level);
            // Bands are denied of what is known to hold data, so it may write.
            let limits = Limits { writes: true, ..Limits::default() };
            let outcome = scatter_at(&card.spec, &card.known, limits);
            for (name, truth) in [(Name::CellBands, card.bands), (Name::FatZone, card.fat)] {
                let said = finding(&outcome, name);
                // Reads alone deny no zone.
                let deniable = name != Name::FatZone || truth.is_some();
                if said.verdict == Verdict::Unknown && deniable {
                    open.push(format!("{}: {truth:?}, {said:?}", card.spec));
                }
                let right = said.verdict == Verdict::Unknown || said.value == truth;
                assert!(right, "{}: {truth:?}, {said:?}", card.spec);
            }
        }
    }
    assert!(open.len() <= 5, "{} of 48 answers open: {open:#?}", open.len());
}

// Breaks when a drive that has no such structure gets a number.
#[test]
fn drives_without_structure_get_no_number() {
    let drives = ["optane", "hdd-7200", "enterprise-28op", "mlc-nvme", "sata-a", "hdd-wd"];
    for drive in drives {
        let outcome = scatter(&format!("sim:{drive}"), &Known::new());
        for said in &outcome.findings {
            assert_ne!(said.verdict, Verdict::Found, "{drive}: {said:?}");
        }
    }
    // A disk whose memory holds a part of what is read: some places are answered from it and some are not.
    let outcome = scatter("sim:hdd-7200?memory.segments=4", &Known::new());
    assert!(outcome.findings.iter().all(|said| said.verdict == Verdict::Unknown), "{outcome:?}");
    // Written once from end to end, the same kind of page lasts for longer than a window.
    let outcome = scatter("sim:enterprise-28op?state=filled", &Known::new());
    assert!(outcome.findings.iter().all(|said| said.verdict != Verdict::Found), "{outcome:?}");
}

// Breaks when a card that was never written, whose reads never touch a cell, is said to have one-bit cells with no
// doubt left, or to have a zone.
#[test]
fn a_fresh_card_has_one_band_and_no_zone() {
    let outcome = scatter("sim:usb-8m?state=fresh", &group(16 << 10));
    assert!(value(&outcome, Name::CellBands).is_none());
    assert!(value(&outcome, Name::SlowZone).is_none());
    let why = &finding(&outcome, Name::CellBands).reason;
    assert!(why.contains("do not show"), "{why}");
}

// Breaks when a limit is taken for a failure, when something is read outside the region, or when a short time gives a
// number that a longer one would not.
#[test]
fn limits_leave_it_unknown() {
    let short = Limits { time: Nanos::millis(200), ..Limits::default() };
    let outcome = scatter_at("sim:usb-8m", &group(16 << 10), short);
    assert!(outcome.findings.iter().all(|said| said.verdict == Verdict::Unknown), "{outcome:?}");
    let small = Limits { offset: 8 * MIB, length: 64 << 10, ..Limits::default() };
    let outcome = scatter_at("sim:usb-8m", &group(16 << 10), small);
    assert!(outcome.findings.iter().all(|said| said.verdict == Verdict::Unknown), "{outcome:?}");
    let part = Limits { offset: 64 * MIB, length: 256 * MIB, ..Limits::default() };
    let outcome = scatter_at("sim:usb-8m", &group(16 << 10), part);
    assert_eq!(value(&outcome, Name::CellBands), Some(2), "{:?}", outcome.findings);
    assert!(value(&outcome, Name::FatZone).is_none(), "the region begins beyond it");
    let inside = |point: &Point| (64 * MIB..320 * MIB).contains(&point.offset);
    assert!(outcome.evidence.points.iter().all(inside));
}

// Breaks when the same place is read twice in a row, or as fast as the link can: memory would answer.
#[test]
fn a_card_that_keeps_and_reads_ahead_hides_nothing() {
    let memory = "read.page_buffer=true&read.read_ahead_groups=8";
    let outcome = scatter(&format!("sim:usb-8m?{memory}"), &group(16 << 10));
    assert_eq!(value(&outcome, Name::CellBands), Some(2), "{:?}", outcome.findings);
    assert_eq!(value(&outcome, Name::FatZone), Some(4 * MIB), "{:?}", outcome.findings);
}

// Breaks when what is written to a record is not what is read back, or when a seed no longer gives the same answer.
#[test]
fn evidence_survives_its_record_and_one_seed_gives_one_answer() {
    let outcome = scatter("sim:card-3m", &group(16 << 10));
    let text = serde_json::to_string(&outcome.evidence).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), outcome.evidence);
    assert_eq!(scatter("sim:card-3m", &group(16 << 10)), outcome);
}

/// Points as `flashbench -s` prints them: 2^order reads of `len` at distance `block` in random order, `count` times,
/// and the least time of each place.
fn as_published(spec: &str, order: u32, block: u64, len: u64, count: u64) -> Vec<Point> {
    let reads = |desk: &mut drivescope_probe::Desk<'_>| {
        let places = 1_usize << order;
        let mut min = vec![u64::MAX; places];
        for round in 0..count {
            let mut numbers: Vec<usize> = (0..places).collect();
            desk.rng(&[round]).shuffle(&mut numbers);
            let at: Vec<(u64, u64)> = numbers.iter().map(|n| (*n as u64 * block, len)).collect();
            let samples = desk.read("plot", &at).unwrap();
            for (number, sample) in numbers.iter().zip(samples) {
                min[*number] = min[*number].min(sample.completed.0 - sample.issued.0);
            }
        }
        min
    };
    let (min, _) = at_desk(spec, Limits::default(), reads);
    let point = |(at, ns): (usize, u64)| Point {
        part: Part::Beginning,
        offset: at as u64 * block,
        len,
        n: 1,
        min_ns: ns,
        median_ns: ns,
        mean_ns: ns as f64,
        band: None,
        zone: None,
    };
    min.into_iter().enumerate().map(point).collect()
}

// Breaks when plots that others made, one time a place, are no longer judged: reads of 32 KiB at every 8, and of 16.
#[test]
fn a_published_plot_gives_bands_and_zone() {
    let outcome = scatter::infer(&as_published("sim:usb-8m", 12, 8 << 10, 32 << 10, 8));
    assert_eq!(value(&outcome, Name::CellBands), Some(2), "{:?}", outcome.findings);
    let zone = finding(&outcome, Name::SlowZone);
    assert!(zone.low.unwrap() <= 4 * MIB && zone.high.unwrap() >= 4 * MIB, "{zone:?}");
    let outcome = scatter::infer(&as_published("sim:usb-tlc", 11, 16384, 16384, 8));
    assert_eq!(value(&outcome, Name::CellBands), Some(3), "{:?}", outcome.findings);
    assert_eq!(finding(&outcome, Name::SlowZone).verdict, Verdict::None, "{:?}", outcome.findings);
}

// Breaks when noise without repeats is taken for bands.
#[test]
fn a_published_plot_of_noise_gives_none() {
    for drive in ["sim:optane", "sim:hdd-7200", "sim:usb-8m?state=fresh"] {
        let outcome = scatter::infer(&as_published(drive, 10, 16384, 16384, 8));
        assert!(value(&outcome, Name::CellBands).is_none(), "{drive}: {:?}", outcome.findings);
    }
    assert!(scatter::infer(&[]).findings.iter().all(|said| said.verdict == Verdict::Unknown));
}
