//! The probe for chunk and interleaving, on drives whose dies are known.

use crate::bench;
use block::Bytes;
use drivescope_probe::parallelism::{self, Evidence, infer};
use drivescope_probe::{Finding, Known, Verdict};

fn asked(spec: &str, may_write: bool) -> (Vec<Finding>, Evidence, Bytes) {
    bench::on_terms(
        spec,
        |terms| terms.may_write = may_write,
        |desk| {
            let outcome = parallelism::probe(desk, &Known::new()).unwrap();
            (outcome.findings, outcome.evidence, desk.spent().written_bytes)
        },
    )
}

fn truth(spec: &str) -> (u64, u64) {
    let shown = sim::show(spec).unwrap();
    let parameters = serde_json::to_value(&shown.parameters).unwrap();
    (parameters["layout"]["chunk_bytes"].as_u64().unwrap(), shown.truth.dies.unwrap().into())
}

// Breaks when channels are counted for dies, or the page register hides that two reads meet.
#[test]
fn chunk_and_dies_are_those_of_the_model() {
    for spec in [
        "sim:mlc-nvme",
        "sim:sata-a",
        "sim:enterprise-28op",
        "sim:enterprise-28op?state=steady",
        "sim:enterprise-28op?nand.channels=3&nand.dies_per_channel=3",
        "sim:tlc-pslc",
        "sim:qlc-pslc?layout.chunk_bytes=65536",
        "sim:mlc-nvme?memory.page_register=false",
    ] {
        let (found, evidence, written) = asked(spec, true);
        let value = |n: usize| found[n].value.unwrap_or_else(|| panic!("{spec}: {found:?}"));
        assert_eq!((value(0), value(1)), truth(spec), "{spec}: {found:?}");
        // Two stretches of 8 MiB, where what was there does not show it.
        assert!(written <= Bytes::mib(16), "{spec}: {written}");
        assert_eq!(infer(&evidence), found);
    }
}

// Breaks when a probe that may only read says nothing of a drive that holds data, or something of one that does not.
#[test]
fn reads_alone_tell_it_of_a_drive_that_holds_data() {
    let (found, _, written) = asked("sim:mlc-nvme?state=filled", false);
    assert_eq!((found[0].value, found[1].value, written.0), (Some(16384), Some(32), 0));
    let (found, _, written) = asked("sim:mlc-nvme", false);
    assert!(found.iter().all(|f| f.verdict == Verdict::Unknown), "{found:?}");
    assert_eq!(written.0, 0);
}

// Breaks when a drive that shows no dies is given some: a card that serves one command at a time, a disk, a medium
// whose reads wait for less than any page of flash takes.
#[test]
fn a_drive_that_shows_no_dies_is_given_none() {
    for spec in ["sim:usb-8m", "sim:card-3m", "sim:hdd-7200"] {
        let (found, ..) = asked(spec, true);
        assert!(found.iter().all(|f| f.verdict == Verdict::None), "{spec}: {found:?}");
    }
    for spec in ["sim:optane", "sim:random-ssd?seed=15", "sim:random-ssd?seed=139"] {
        let (found, ..) = asked(spec, true);
        assert!(found.iter().all(|f| f.verdict == Verdict::Unknown), "{spec}: {found:?}");
    }
}
