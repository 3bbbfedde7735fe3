//! Published results of two workloads on two drives, reproduced on two virtual ones.
//!
//! The document: Yee and others, "Analysis on I/O Trace Replayer for SSD performance evaluation". Its traces are
//! known in excerpts only, with arrivals and nothing else; docs/method/replay.md says what was chosen and why.

use std::path::PathBuf;

use crate::kit;
use crate::kit::Case;
use drivescope_trace::import::{self, Format, ReadFlag};
use drivescope_trace::replay::{Count, Fit, Limit, Mode, Options, Scale, Score, Writes};

/// Traces that others published, beside the repository.
const TRACES: &str = "../shared/cases/traces";

fn published(name: &str, options: Options) -> Option<Case> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(TRACES).join(name);
    if !path.exists() {
        println!("skipped: this machine has no {TRACES}");
        return None;
    }
    let how = import::Options {
        format: Some(Format::MqSim),
        read_flag: Some(ReadFlag::One),
        ..import::Options::default()
    };
    let mut source = import::open(&[path], &how).unwrap();
    let mut ios = Vec::new();
    loop {
        let before = ios.len();
        source.next(&mut ios).unwrap();
        if ios.len() == before {
            break;
        }
    }
    let mut case = Case::new(ios).options(Options { writes: Writes::Issue, ..options });
    case.info = source.info().clone();
    // As many slots as there can be, so that the drive alone bounds what is outstanding.
    case.setup.slots = u16::MAX;
    Some(case)
}

/// Scores and verdicts by mode (timed, outstanding) and drive (A, B).
fn scores(mut case: Case, factor: f64) -> [[(Score, Limit); 2]; 2] {
    let drive = |name: &str| format!("sim:{name}?state=filled&seed=11");
    let drives = ["sata-a", "sata-b"];
    let of = |done: kit::Done| (Score::of(&done.body).unwrap(), done.body.fidelity.verdict);
    case.options.mode = Mode::Scaled(Scale::by(factor));
    let reference = case.run(&drive("sata-a")).reference;
    let timed = drives.map(|name| of(case.run(&drive(name))));
    case.options.mode = Mode::Outstanding(Count::Blocks);
    let outstanding = drives.map(|name| of(case.run_with(&drive(name), Some(reference.clone()))));
    [timed, outstanding]
}

#[test]
fn under_a_light_load_only_the_sum_of_q2c_tells_the_drives_apart() {
    let options = Options { fit: Fit::Hash { seed: 0 }, ..Options::default() };
    let Some(case) = published("tpcc-small.trace", options) else { return };
    let [[(a, faithful), (b, _)], [(free_a, _), (free_b, _)]] = scores(case, 30.0);
    assert_eq!(faithful, Limit::Faithful);
    assert!((b.completion_s / a.completion_s - 1.0).abs() < 0.005, "{a:?} {b:?}");
    assert!(b.q2c_sum_s > 1.25 * a.q2c_sum_s, "{a:?} {b:?}");
    // Without its idle times it is another load, and ends long before the original.
    assert!(
        free_a.completion_s < 0.5 * a.completion_s && free_b.completion_s < 0.5 * a.completion_s
    );
    assert!(free_b.completion_s > 1.1 * free_a.completion_s, "{free_a:?} {free_b:?}");
}

#[test]
fn under_overload_both_replayers_agree_and_say_that_the_drive_is_the_limit() {
    let Some(case) = published("wsrch-small.trace", Options::default()) else { return };
    let [[(a, limit), (b, _)], [(free_a, _), (free_b, _)]] = scores(case, 0.002);
    assert_eq!(limit, Limit::DriveLimited);
    for (a, b) in [(a, b), (free_a, free_b)] {
        assert!(b.completion_s < a.completion_s && b.q2c_sum_s < a.q2c_sum_s, "{a:?} {b:?}");
        assert!(a.mean_depth > 100.0 && b.mean_depth > 100.0);
    }
    for (timed, free) in [(a, free_a), (b, free_b)] {
        assert!((timed.completion_s / free.completion_s - 1.0).abs() < 0.05);
        assert!((timed.q2c_sum_s / free.q2c_sum_s - 1.0).abs() < 0.05);
    }
}
