//! From the rounds to the table.

use stats::{Agreement, RatioInterval, equivalence, median, paired_ratio};

use super::case::{Arm, Case};
use super::round::{Journal, Row};
use crate::sheet;

/// Ratios within this of one agree.
const MARGIN: f64 = 0.07;
/// Confidence of the intervals: with 90%, *agrees* errs in at most 5% of comparisons.
const CONFIDENCE: f64 = 0.90;

/// Results of all rounds of one case.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    case: Case,
    /// drivescope / fio.
    ratio: Option<RatioInterval>,
    /// fio again / fio.
    yardstick: Option<RatioInterval>,
    /// fio at its defaults / fio.
    defaults: Option<RatioInterval>,
    /// Medians over the rounds of MB/s, latency in µs, CPU per I/O in µs, and KiB a request: drivescope,
    /// fio, fio as it comes.
    medians: [Option<[f64; 4]>; 3],
}

impl Finding {
    /// True when the two programs do not measure the same.
    pub(super) fn differs(&self) -> bool {
        self.ratio.is_some_and(|ratio| equivalence(&ratio, MARGIN) == Agreement::Differs)
    }
}

/// Judges each case.
pub(super) fn findings(cases: &[Case], rows: &[Row]) -> Vec<Finding> {
    cases.iter().map(|case| finding(*case, rows)).collect()
}

fn finding(case: Case, rows: &[Row]) -> Finding {
    let of = |arm: Arm| {
        let mut runs: Vec<&Row> = rows.iter().filter(|r| r.case == case && r.arm == arm).collect();
        runs.sort_by_key(|r| r.round);
        runs
    };
    let rates = |arm| of(arm).iter().map(|r| r.mb_s()).collect::<Vec<f64>>();
    let against_fio = |arm| paired_ratio(&rates(arm), &rates(Arm::Fio), CONFIDENCE);
    let medians = |arm| {
        let runs = of(arm);
        let middle =
            |f: &dyn Fn(&Row) -> f64| median(&runs.iter().map(|r| f(r)).collect::<Vec<f64>>());
        Some([
            middle(&|r| r.mb_s())?,
            middle(&|r| r.figures.latency_ns / 1e3)?,
            middle(&|r| r.figures.cpu_ns_per_io / 1e3)?,
            middle(&|r| r.figures.request_bytes / 1024.0)?,
        ])
    };
    Finding {
        case,
        ratio: against_fio(Arm::Drivescope),
        yardstick: against_fio(Arm::FioAgain),
        defaults: against_fio(Arm::FioDefaults),
        medians: [Arm::Drivescope, Arm::Fio, Arm::FioDefaults].map(medians),
    }
}

/// The whole page.
pub(super) fn text(findings: &[Finding], journal: &Journal, load: &str) -> String {
    let setup = &journal.setup;
    let counts = |wanted| {
        let is = |f: &&Finding| f.ratio.is_some_and(|r| equivalence(&r, MARGIN) == wanted);
        findings.iter().filter(is).count()
    };
    let mut text = "# Beside fio\n\n".to_owned();
    text += &format!(
        "Of {} cases, {} agree, {} differ and {} are undecided at ± {:.0}%.\n\n",
        findings.len(),
        counts(Agreement::Agrees),
        counts(Agreement::Differs),
        findings.len() - counts(Agreement::Agrees) - counts(Agreement::Differs),
        MARGIN * 100.0,
    );
    let more = [
        ("Beside", setup.fio.clone()),
        ("Seed of the orders", setup.seed.to_string()),
        ("Load average at the start", load.to_owned()),
    ];
    text += &sheet::provenance(&setup.commit, &setup.machine, &journal.file_name(), &more);
    text += &format!(
        "One loop device with direct I/O over a fully written file of {}, read by both programs with \
         O_DIRECT: {} s measured after {} ms of the same load. Each round runs drivescope, fio, fio \
         again and, where its defaults differ, fio as it comes, in an order drawn at random; the \
         next round runs them backwards (ABBA). Rounds of all cases are interleaved. A ratio is the \
         median of the rounds' ratios of throughput, with its {:.0}% interval; *agrees*: the \
         interval lies within {:.3} to {:.3}; *differs*: outside; *undecided*: neither.\n\n\
         fio runs with the settings that match drivescope's: file and buffers registered with \
         io_uring; above depth 1, all that was reaped replaced in one system call \
         (`iodepth_batch_submit`, `iodepth_batch_complete_max`). fio as it comes has none of \
         these.\n\n",
        block::Bytes(setup.size_bytes),
        setup.seconds,
        setup.ramp_ms,
        CONFIDENCE * 100.0,
        1.0 / (1.0 + MARGIN),
        1.0 + MARGIN,
    );
    text += &sheet::table(
        2,
        &[
            "test",
            "engine",
            "rounds",
            "drivescope / fio",
            "verdict",
            "fio / fio (yardstick)",
            "its verdict",
            "fio as it comes / fio",
        ],
        &findings.iter().map(ratios).collect::<Vec<_>>(),
    );
    text += "\nMedians over the rounds: drivescope / fio / fio as it comes. Latency runs from submission to \
             completion. CPU is the program's own, user and kernel, per I/O; the loop device's \
             threads are not in it. A request is what the kernel made of the I/Os, on the loop \
             device.\n\n";
    text += &sheet::table(
        2,
        &["test", "engine", "MB/s", "latency µs", "CPU µs", "request KiB"],
        &findings.iter().map(medians).collect::<Vec<_>>(),
    );
    text
}

fn ratios(finding: &Finding) -> Vec<String> {
    let case = finding.case;
    vec![
        case.test(),
        case.engine.name().to_owned(),
        finding.ratio.map_or(0, |r| r.n).to_string(),
        interval(finding.ratio),
        verdict(finding.ratio),
        interval(finding.yardstick),
        verdict(finding.yardstick),
        interval(finding.defaults),
    ]
}

fn medians(finding: &Finding) -> Vec<String> {
    let case = finding.case;
    let mut cells = vec![case.test(), case.engine.name().to_owned()];
    for (index, digits) in [1, 1, 2, 0].into_iter().enumerate() {
        let side = |m: &Option<[f64; 4]>| m.map(|m| format!("{:.digits$}", m[index]));
        cells.push(finding.medians.iter().filter_map(side).collect::<Vec<_>>().join(" / "));
    }
    cells
}

fn interval(ratio: Option<RatioInterval>) -> String {
    match ratio {
        None => "–".to_owned(),
        Some(RatioInterval { ratio, low: Some(low), high: Some(high), .. }) => {
            format!("{ratio:.3} ({low:.3}–{high:.3})")
        }
        Some(RatioInterval { ratio, .. }) => format!("{ratio:.3} (no interval)"),
    }
}

fn verdict(ratio: Option<RatioInterval>) -> String {
    match ratio.map(|ratio| equivalence(&ratio, MARGIN)) {
        Some(Agreement::Agrees) => "agrees",
        Some(Agreement::Differs) => "**differs**",
        Some(Agreement::Undecided) => "undecided",
        None => "–",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio_parity::Figures;

    fn rows(case: Case, rounds: u32, rate: impl Fn(Arm, u32) -> f64) -> Vec<Row> {
        let mut rows = Vec::new();
        for round in 0..rounds {
            for (position, arm) in case.arms().into_iter().enumerate() {
                let figures = Figures {
                    bytes: (rate(arm, round) * 1e6) as u64,
                    duration_ns: 1_000_000_000,
                    ios: 1000,
                    latency_ns: 1e5,
                    cpu_ns_per_io: 2e3,
                    request_bytes: 4096.0,
                };
                rows.push(Row { case, round, position: position as u32, arm, figures });
            }
        }
        rows
    }

    // Rounds differ tenfold here; only pairing within rounds can see 10%. And a resumed run may have
    // its rounds on disk in any order.
    #[test]
    fn programs_are_compared_within_rounds_whatever_their_order_on_disk() {
        let case = Case::all()[0];
        let rate = |factor: f64| {
            move |arm, round: u32| {
                let base = 100.0 * f64::from(1 + round % 10);
                if arm == Arm::Drivescope { base * factor } else { base }
            }
        };
        let verdict_of = |factor: f64| {
            let mut rows = rows(case, 16, rate(factor));
            rows.reverse();
            let finding = finding(case, &rows);
            assert!((finding.ratio.unwrap().ratio - factor).abs() < 1e-6);
            assert_eq!(verdict(finding.yardstick), "agrees");
            (verdict(finding.ratio), finding.differs())
        };
        assert_eq!(verdict_of(1.1), ("**differs**".to_owned(), true));
        assert_eq!(verdict_of(0.9), ("**differs**".to_owned(), true));
        assert_eq!(verdict_of(1.05), ("agrees".to_owned(), false));
    }

    #[test]
    fn too_few_rounds_decide_nothing() {
        let case = Case::all()[0];
        let finding = finding(case, &rows(case, 3, |_, _| 100.0));
        assert_eq!(verdict(finding.ratio), "undecided");
        assert_eq!(interval(finding.ratio), "1.000 (no interval)");
        assert!(!finding.differs());
    }
}
