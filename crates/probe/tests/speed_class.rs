//! Speed classes, on drives whose speeds follow from their models.

use crate::bench;
use block::Bytes;
use drivescope_probe::speed_class::{self, Evidence, Reached};
use drivescope_probe::{Known, Name};

fn asked(spec: &str, unit: Option<u64>) -> Evidence {
    let mut known = Known::new();
    if let Some(unit) = unit {
        known.give(Name::EraseBlock, unit);
    }
    bench::at(spec, |desk| {
        let outcome = speed_class::probe(desk, &known).unwrap();
        assert!(outcome.findings.is_empty());
        outcome.evidence
    })
}

fn reached(evidence: &Evidence, name: &str) -> Reached {
    evidence.classes.iter().find(|class| class.name == name).unwrap().reached
}

// Breaks when a class is promised by an average over units rather than by the slowest, or at a speed that a decimal
// megabyte does not have. The speeds of writing in order are those of virtual-card.md.
#[test]
fn recording_classes_follow_from_the_speed_of_writing_in_order() {
    for (spec, unit, met, not_met) in [
        ("sim:usb-8m", 8 << 20, ["C10", "V10"], ["U3", "V30"]),
        ("sim:sdcard-4m", 4 << 20, ["C6", "V6"], ["C10", "V10"]),
    ] {
        let evidence = asked(spec, Some(unit));
        for name in met {
            assert_eq!(reached(&evidence, name), Reached::Met, "{spec} {name}: {evidence:?}");
        }
        for name in not_met {
            assert_eq!(reached(&evidence, name), Reached::NotMet, "{spec} {name}: {evidence:?}");
        }
    }
}

// Breaks when random writes that merge whole units are taken for fast, or a drive that is a hundred times as fast as
// the class fails it.
#[test]
fn application_classes_follow_from_random_accesses() {
    for spec in ["sim:sdcard-4m", "sim:usb-8m", "sim:card-3m"] {
        let evidence = asked(spec, Some(12 << 20));
        assert_eq!(reached(&evidence, "A1"), Reached::NotMet, "{spec}");
    }
    let evidence = asked("sim:mlc-nvme", Some(16 << 20));
    assert_eq!((reached(&evidence, "A1"), reached(&evidence, "A2")), (Reached::Met, Reached::Met));
    assert_eq!(reached(&evidence, "V90"), Reached::Met);
    // Its reads come 14,500 a second, one at a time.
    assert!((13_000.0..16_000.0).contains(&evidence.reads.unwrap().per_s), "{evidence:?}");
    assert!(evidence.not_kept.iter().any(|text| text.contains("command queue")));
}

// Breaks when the allocation unit is not given and not found, or a usual one passes for what was found.
#[test]
fn the_allocation_unit_is_found() {
    let evidence = asked("sim:usb-8m", None);
    assert_eq!(evidence.unit_bytes, Some(8 << 20));
    let from = evidence.unit_from.as_ref().unwrap();
    assert!(
        from.contains("found by reads, 9") && !from.contains("99%"),
        "no more than calibration bears out: {from}"
    );
    assert_eq!(reached(&evidence, "C10"), Reached::Met);
    let evidence = asked("sim:sdcard-4m?state=fresh", None);
    assert_eq!(evidence.unit_bytes, Some(4 << 20));
    assert!(evidence.unit_from.as_ref().unwrap().starts_with("the usual size"), "{evidence:?}");
    assert_eq!(asked("sim:usb-8m", Some(8 << 20)).unit_from.unwrap(), "as given");
}

// Breaks when what was not measured counts as met.
#[test]
fn without_consent_classes_stay_undecided() {
    let (evidence, written) = bench::on_terms(
        "sim:mlc-nvme",
        |terms| terms.may_write = false,
        |desk| {
            let outcome = speed_class::probe(desk, &Known::new()).unwrap();
            (outcome.evidence, desk.spent().written_bytes)
        },
    );
    assert_eq!((reached(&evidence, "A1"), written), (Reached::Undecided, Bytes::ZERO));
    assert!(evidence.reads.is_some() && evidence.writes.is_none());
}
