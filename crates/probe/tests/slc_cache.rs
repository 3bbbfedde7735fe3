//! The probe for cells written with one bit, on drives whose cache is known.

use crate::bench;
use block::{Bytes, Nanos};
use drivescope_probe::slc_cache::{self, Evidence, Facts, Options, infer};
use drivescope_probe::{Finding, Known, Name, Outcome, Verdict};

fn asked(spec: &str, known: &Known) -> Finding {
    bench::at(spec, |desk| {
        let mut outcome = slc_cache::probe(desk, known, &Options::default()).unwrap();
        outcome.findings.remove(0)
    })
}

fn truth(spec: &str) -> Option<u64> {
    sim::show(spec).unwrap().truth.slc_cache_bytes.map(|bytes| bytes.0)
}

/// As the chain knows a drive before this probe.
fn known_of(spec: &str) -> Known {
    let truth = sim::show(spec).unwrap().truth;
    let mut known = Known::new();
    if let Some(page) = truth.page_bytes {
        known.give(Name::Page, page.0);
    }
    if let Some(buffer) = truth.write_buffer_bytes {
        known.give(Name::WriteBuffer, buffer.0);
    }
    known
}

// Breaks when the end of a card's log for small writes is taken from the wrong write, or its page is not counted.
#[test]
fn a_log_for_small_writes_is_measured_to_the_byte() {
    for spec in ["sim:card-3m", "sim:card-3m?seed=9", "sim:card-3m?log.bytes=12582912"] {
        let found = asked(spec, &known_of(spec));
        assert_eq!(found.verdict, Verdict::Found, "{spec}: {found:?}");
        assert_eq!(found.value, truth(spec), "{spec}: {found:?}");
    }
}

// Breaks when a write that takes a whole page is counted as what the host sent: a log that takes writes of 4 KiB, each
// to a page of 16, would be reported at a quarter of its size.
#[test]
fn without_the_page_a_log_of_short_writes_has_no_size() {
    let spec = "sim:card-3m?log.write_bytes_max=4096";
    let found = asked(spec, &Known::new());
    assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
    assert_eq!(asked(spec, &known_of(spec)).value, truth(spec));
}

// Breaks when what memory holds is added to what cells hold, or the end is missed by more than a block of each die.
#[test]
fn a_cache_of_single_bit_cells_lies_within_the_range_told() {
    for spec in ["sim:tlc-pslc", "sim:qlc-pslc", "sim:tlc-pslc?state=filled"] {
        let found = asked(spec, &known_of(spec));
        let (low, high, truth) = (found.low.unwrap(), found.high.unwrap(), truth(spec).unwrap());
        assert!((low..=high).contains(&truth), "{spec}: {truth} in {found:?}");
        assert!((high - low) as f64 <= 0.12 * truth as f64, "{spec}: {found:?}");
    }
}

// Breaks when a drive without such a cache is given a size: for its memory, for the zone at its beginning, or for
// where it begins to collect garbage.
#[test]
fn a_drive_without_a_cache_is_given_none() {
    for spec in ["sim:usb-8m", "sim:hdd-7200", "sim:sdcard-4m", "sim:usb-tlc"] {
        let found = asked(spec, &Known::new());
        assert_eq!(found.verdict, Verdict::None, "{spec}: {found:?}");
    }
    for spec in [
        "sim:optane?capacity=4GiB",
        "sim:enterprise-28op?capacity=16GiB",
        "sim:enterprise-28op?state=steady&capacity=4GiB",
        "sim:tlc-pslc?state=steady&capacity=16GB&slc.bytes=1000000000",
        "sim:sata-a?capacity=8GiB",
    ] {
        for known in [Known::new(), known_of(spec)] {
            let found = asked(spec, &known);
            assert_eq!(found.value, None, "{spec}: {found:?}");
        }
    }
}

// Breaks when less than the cache was written and the probe takes the silence for an answer.
#[test]
fn a_budget_that_ends_first_leaves_it_unknown() {
    let outcome: Outcome<Evidence> = bench::on_terms(
        "sim:tlc-pslc",
        |terms| terms.write_budget = Bytes::gib(4),
        |desk| slc_cache::probe(desk, &known_of("sim:tlc-pslc"), &Options::default()).unwrap(),
    );
    let found = &outcome.findings[0];
    assert_eq!(found.verdict, Verdict::Unknown);
    assert!(found.reason.contains("at least"), "{}", found.reason);
    assert!(outcome.evidence.fill.bytes() > 3 << 30);
    let refused: Outcome<Evidence> = bench::on_terms(
        "sim:card-3m",
        |terms| terms.may_write = false,
        |desk| slc_cache::probe(desk, &Known::new(), &Options::default()).unwrap(),
    );
    assert_eq!(refused.findings[0].verdict, Verdict::Unknown);
    assert!(refused.findings[0].reason.contains("consent"), "{}", refused.findings[0].reason);
}

// Breaks when a drive that slows down for heat is said to have a cache as large as what it wrote while it was cool.
#[test]
fn a_drive_that_throttles_is_given_no_cache() {
    let heat = "heat.throttle_above_c=50&heat.resume_below_c=45&heat.time_constant_ns=3000000000";
    let found = asked(&format!("sim:mlc-nvme?capacity=32GB&{heat}"), &Known::new());
    assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
}

// Breaks when the answer depends on anything but what was seen: a recorded run must be judged alike.
#[test]
fn evidence_read_back_gives_the_same_answer() {
    let spec = "sim:card-3m";
    let known = known_of(spec);
    let outcome =
        bench::at(spec, |desk| slc_cache::probe(desk, &known, &Options::default()).unwrap());
    let text = serde_json::to_string(&outcome.evidence).unwrap();
    let read: Evidence = serde_json::from_str(&text).unwrap();
    let facts =
        Facts { capacity_bytes: 7_942_963_200, page_bytes: Some(16_384), ..Facts::default() };
    assert_eq!(infer(&read, &facts), outcome.findings[0]);
    assert!(read.rings.iter().any(|run| run.idle_ns >= Nanos::secs(4).0));
}
