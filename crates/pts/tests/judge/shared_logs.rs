//! Logs of other worlds whose right answers are known, where the folder of cases is there.

use std::path::Path;

use drivescope_pts::judge::{Judged, Known, Start, Text, judge, read};
use stats::Verdict;
use stats::verdict::Evidence;

const CASES: &str = "../../../shared/cases/truth-2026-11";

fn judged(name: &str, known: &Known) -> Option<Judged> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CASES).join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: this machine has no {}", path.display());
        return None;
    };
    let result = read(&[Text { file: name.to_owned(), text }]).unwrap().remove(0);
    Some(judge(result, known))
}

fn filled(bytes: u64, over_provisioning: f64) -> Known {
    Known {
        drive_bytes: Some(bytes),
        start: Start::Filled,
        over_provisioning: Some(over_provisioning),
        is_uniform: true,
        ..Known::default()
    }
}

fn state(judged: &Judged) -> String {
    match judged.steady.evidence.get("state") {
        Some(Evidence::Text(state)) => state.clone(),
        other => panic!("{other:?}"),
    }
}

fn range(judged: &Judged, name: &str) -> [f64; 2] {
    match judged.steady.evidence.get(name) {
        Some(Evidence::Range(range)) => *range,
        other => panic!("{name}: {other:?}"),
    }
}

// The file's own end is at 30% of what came before.
#[test]
fn a_wave_that_falls_is_not_steady() {
    let Some(judged) = judged("wavefall_bw.1.log", &filled(20_000_000_000, 0.28)) else { return };
    assert_eq!(judged.steady.verdict, Verdict::Refuted, "{}", judged.steady.reason);
}

// The value is that of the end, 8% below the plateau before, which is reported as history.
#[test]
fn a_late_step_gives_the_state_of_the_end() {
    let known = filled(500_000_000_000, 0.5);
    let Some(judged) = judged("late-step-8-percent_bw.1.log", &known) else { return };
    assert_eq!(judged.steady.verdict, Verdict::Proven, "{}", judged.steady.reason);
    let [low, high] = range(&judged, "level_last_fill_bounds");
    let mean = judged.transient.steady_mean.unwrap();
    assert!(low <= mean && mean <= high && high / low < 1.04);
    let Some(Evidence::Value(earlier)) = judged.steady.evidence.get("earlier_level") else {
        panic!("{:?}", judged.steady.evidence)
    };
    assert!((earlier / mean * 0.92 - 1.0).abs() < 0.01, "{earlier} {mean}");
    let [_, until] = range(&judged, "earlier_fills");
    assert!((8.0..9.5).contains(&until), "{until}");
}

#[test]
fn what_goes_up_and_down_is_periodic_and_not_steady() {
    let known = filled(500_000_000_000, 0.07);
    let Some(judged) = judged("periodic-called-steady_bw.1.log", &known) else { return };
    assert_eq!(judged.steady.verdict, Verdict::Refuted, "{}", judged.steady.reason);
    assert_eq!(state(&judged), "periodic");
    let [low, high] = range(&judged, "level_range");
    assert!(high / low > 1.5, "{low} {high}");
}

#[test]
fn six_equal_lines_are_inconclusive() {
    let known = filled(200_000_000, 0.07);
    for known in [known, Known::default()] {
        let Some(judged) = judged("six-equal-lines_bw.1.log", &known) else { return };
        assert_eq!(judged.steady.verdict, Verdict::Unprovable, "{}", judged.steady.reason);
        assert!(judged.remedy.is_some());
    }
}
