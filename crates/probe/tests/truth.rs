//! Drives that verdicts were wrong about and sure of it, each with what is right. The cards that others drew are kept
//! beside the repository.

use std::path::PathBuf;

use drivescope_probe::{Finding, Known, Name, Outcome, Verdict, align, open_au, write_buffer};

use crate::bench;

/// Cards of sizes and planes that our own simulator does not draw.
const CASES: &str = "../../../shared/cases/truth-2026-11";

/// The spec of a card among them; `None`, and it says so, where they are not there.
fn card(name: &str) -> Option<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(CASES).join(name);
    if !path.exists() {
        println!("skipped: this machine has no {}", path.display());
        return None;
    }
    Some(format!("sim:{}", path.display()))
}

fn boundaries(spec: &str) -> Outcome<align::Evidence> {
    bench::at(spec, |desk| align::probe(desk, &Known::new(), &align::Options::default()).unwrap())
}

fn told(findings: &[Finding], name: Name) -> &Finding {
    findings.iter().find(|finding| finding.name == name).unwrap()
}

// Breaks when a fraction of the boundaries of a grid passes for all of them: 4 MiB for 20, 12 for 36, 384 KiB for 192.
#[test]
fn sizes_that_are_no_power_of_two() {
    for (name, truth) in [
        ("card-20MiB.toml", 20 << 20),
        ("card-36MiB.toml", 36 << 20),
        ("card-192KiB.toml", 192 << 10),
    ] {
        let Some(spec) = card(name) else { return };
        let outcome = boundaries(&spec);
        let block = told(&outcome.findings, Name::EraseBlock);
        assert!(block.value.is_none_or(|value| value == truth), "{name}: {block:?}");
        assert_ne!(block.verdict, Verdict::None, "{name}: {block:?}");
    }
}

// Breaks when four planes are taken for two of half the size.
#[test]
fn four_planes() {
    let Some(spec) = card("card-four-planes.toml") else { return };
    let outcome = boundaries(&spec);
    for (name, truth) in [(Name::Page, 4 << 10), (Name::MultiPlanePage, 16 << 10)] {
        let finding = told(&outcome.findings, name);
        let fits = finding.value.is_none_or(|value| value == truth);
        let holds = finding.one_of.is_empty() || finding.one_of.contains(&truth);
        assert!(fits && holds && finding.verdict != Verdict::None, "{finding:?}");
    }
}

// Breaks when blocks that hold nothing, and cost nothing to close, say that no erase blocks meet in them.
#[test]
fn cards_that_were_never_written() {
    for seed in [5_610_026, 5_610_037, 5_620_042, 5_620_112] {
        let spec = format!("sim:random-card?seed={seed}&state=fresh");
        let truth = sim::show(&spec).unwrap().truth.erase_block_bytes.unwrap().0;
        let found = bench::at(&spec, |desk| open_au::boundary(desk, &Known::new()).unwrap());
        let block = told(&found.findings, Name::EraseBlock);
        assert!(block.value.is_none_or(|value| value == truth), "{spec}: {truth}, {block:?}");
    }
}

// Breaks when the stripe of a solid-state drive over its dies passes for an erase block.
#[test]
fn solid_state_drives_have_no_erase_block() {
    for seed in [5_450_076, 5_400_021, 5_400_039] {
        let outcome = boundaries(&format!("sim:random-ssd?seed={seed}&state=filled"));
        let claims: Vec<&Finding> =
            outcome.findings.iter().filter(|finding| finding.value.is_some()).collect();
        assert!(claims.is_empty(), "{seed}: {claims:?}");
    }
}

// Breaks when a slow link makes memory pass for cells that are waited for.
#[test]
fn memory_behind_a_slow_link() {
    let spec =
        "sim:random-ssd?seed=5300016&state=steady&nand.jitter_permille=10&link.latency_ns=200000";
    let outcome = bench::at(spec, |desk| write_buffer::probe(desk, &Known::new()).unwrap());
    assert_ne!(outcome.findings[0].verdict, Verdict::None, "{:?}", outcome.findings[0]);
}
