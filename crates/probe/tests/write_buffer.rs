//! The probe for memory that takes writes, on drives whose memory is known.

use crate::bench;
use block::{Bytes, WriteCache};
use drivescope_probe::write_buffer::{self, Evidence, infer};
use drivescope_probe::{Finding, Known, Verdict};

fn asked(spec: &str) -> (Finding, Evidence) {
    bench::at(spec, |desk| {
        let mut outcome = write_buffer::probe(desk, &Known::new()).unwrap();
        (outcome.findings.remove(0), outcome.evidence)
    })
}

// Breaks when what the medium takes meanwhile is counted as memory, or what is lost at the start is not allowed for.
#[test]
fn memory_lies_within_the_range_told() {
    for spec in [
        "sim:mlc-nvme",
        "sim:sata-a",
        "sim:tlc-pslc",
        "sim:enterprise-28op",
        "sim:hdd-7200",
        "sim:hdd-wd",
        "sim:mlc-nvme?memory.write_bytes=25165824",
    ] {
        let (found, evidence) = asked(spec);
        let truth = sim::show(spec).unwrap().truth.write_buffer_bytes.unwrap().0;
        assert_eq!(found.verdict, Verdict::Found, "{spec}: {found:?}");
        assert!((found.low.unwrap()..=found.high.unwrap()).contains(&truth), "{spec}: {found:?}");
        assert!(found.high.unwrap() as f64 <= 1.6 * found.low.unwrap() as f64);
        assert_eq!(infer(&evidence), found);
    }
}

// Breaks when a write that waits for its cells is taken for one that memory took.
#[test]
fn a_drive_that_writes_through_has_none() {
    for spec in ["sim:usb-8m", "sim:card-3m", "sim:sdcard-4m", "sim:usb-tlc"] {
        let (found, _) = asked(spec);
        assert_eq!(found.verdict, Verdict::None, "{spec}: {found:?}");
    }
    let (found, _) = asked("sim:optane");
    assert_eq!(found.value, None, "{found:?}");
}

// Breaks when a cache of single-bit cells is reported as memory: it too takes a burst, and has room again after a
// pause.
#[test]
fn no_range_of_a_drawn_drive_misses_its_memory() {
    let mut told = 0;
    for seed in 0..60 {
        let spec = format!("sim:random-ssd?seed={seed}");
        let shown = sim::show(&spec).unwrap();
        let truth = shown.truth.write_buffer_bytes.unwrap().0;
        let (found, _) = asked(&spec);
        match found.verdict {
            Verdict::Found => {
                told += 1;
                let range = found.low.unwrap()..=found.high.unwrap();
                assert!(range.contains(&truth), "{spec}: {truth} {found:?}");
            }
            Verdict::None => {
                assert_ne!(shown.info.write_cache, Some(WriteCache::WriteBack), "{spec}")
            }
            Verdict::Unknown => {}
        }
    }
    assert!(told >= 20, "{told} of 60");
}

// Breaks when a burst is written that the budget does not hold, or half of the evidence is taken for all.
#[test]
fn a_small_budget_leaves_it_unknown() {
    let (found, written) = bench::on_terms(
        "sim:mlc-nvme",
        |terms| terms.write_budget = Bytes::mib(100),
        |desk| {
            let mut outcome = write_buffer::probe(desk, &Known::new()).unwrap();
            (outcome.findings.remove(0), desk.spent().written_bytes)
        },
    );
    assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
    assert!(written <= Bytes::mib(100));
}
