//! Erase blocks and pages that are found by writing.

use crate::cards::{Score, at_desk, drawn};
use block::Bytes;
use drivescope_probe::open_au::{BoundaryEvidence, boundary};
use drivescope_probe::{Known, Name, Outcome, Terms, Verdict};

fn ask(spec: &str, known: &Known, change: impl FnOnce(&mut Terms)) -> Outcome<BoundaryEvidence> {
    at_desk(spec, change, |desk| boundary(desk, known).unwrap()).0
}

/// Erase block and group of pages.
fn truths(truth: &sim::Truth) -> [Option<u64>; 2] {
    let page = truth.page_bytes.zip(truth.planes);
    [truth.erase_block_bytes.map(|n| n.0), page.map(|(page, planes)| page.0 * u64::from(planes))]
}

// Breaks when writes no longer find what reads cannot: one drawn card in ten reads the same everywhere.
#[test]
fn cards_whose_reads_show_nothing() {
    let mut scores = [Score::default(); 2];
    for seed in 0..500 {
        let (spec, truth) = drawn(seed, [0.1, 0.5, 1.0][seed as usize % 3]);
        if truth.card.as_ref().unwrap().reads_show_boundaries {
            continue;
        }
        let outcome = ask(&spec, &Known::new(), |terms| terms.seed = seed);
        for ((finding, truth), score) in
            outcome.findings.iter().zip(truths(&truth)).zip(&mut scores)
        {
            score.count(&spec, finding, truth);
        }
    }
    assert!(scores.iter().all(|score| score.wrong == 0), "{scores:?}");
    assert!(scores.iter().all(|score| score.right > 40 && score.unknown <= 2), "{scores:?}");
}

// Breaks when 3 x 2^k is taken for a power of two or the other way round, or a zone at the beginning for blocks.
#[test]
fn shipped_cards() {
    for model in ["sdcard-4m", "usb-8m", "usb-tlc", "card-3m"] {
        let spec = format!("sim:{model}?seed=2");
        let outcome = ask(&spec, &Known::new(), |_| {});
        let values: Vec<_> = outcome.findings.iter().map(|finding| finding.value).collect();
        assert_eq!(values, truths(&sim::show(&spec).unwrap().truth), "{model}: {outcome:?}");
    }
}

// Breaks when something that was known is asked again, and written for.
#[test]
fn only_what_is_not_known_is_asked() {
    let mut known = Known::new();
    known.give(Name::EraseBlock, 4 << 20);
    let outcome = ask("sim:usb-tlc", &known, |_| {});
    assert_eq!(outcome.findings.len(), 1);
    assert_eq!(outcome.findings[0].value, Some(16 << 10), "{:?}", outcome.findings);
    assert!(outcome.evidence.classes.is_empty() && !outcome.evidence.shifts.is_empty());
    known.give(Name::MultiPlanePage, 16 << 10);
    let nothing = ask("sim:usb-tlc", &known, |_| {});
    assert_eq!((nothing.findings.len(), nothing.evidence.written_bytes), (0, 0));
}

// Breaks when a drive without erase blocks to be seen gets one: turns of an arm, a buffer, a page-mapped medium.
#[test]
fn drives_without_boundaries() {
    for model in ["optane", "enterprise-28op", "mlc-nvme", "tlc-pslc", "sata-a", "hdd-7200"] {
        let outcome = ask(&format!("sim:{model}?seed=5"), &Known::new(), |_| {});
        for finding in &outcome.findings {
            assert_eq!(finding.verdict, Verdict::Unknown, "{model}: {finding:?}");
        }
    }
    let arm = ask("sim:hdd-7200?write_cache=write_through", &Known::new(), |_| {});
    assert!(arm.findings.iter().all(|finding| finding.verdict == Verdict::Unknown), "{arm:?}");
}

// Breaks when a limit is a failure, or ends in a number.
#[test]
fn limits_end_in_unknown() {
    let verdicts = |change: fn(&mut Terms)| {
        let outcome = ask("sim:usb-tlc", &Known::new(), change);
        outcome.findings.iter().map(|finding| finding.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(|terms| terms.may_write = false), [Verdict::Unknown; 2]);
    assert_eq!(verdicts(|terms| terms.write_budget = Bytes(2 << 20)), [Verdict::Unknown; 2]);
    assert_eq!(verdicts(|terms| terms.region.length = Bytes(3 << 20)), [Verdict::Unknown; 2]);
    assert_eq!(verdicts(|terms| terms.region.length = Bytes(64 << 10)), [Verdict::Unknown; 2]);
}
