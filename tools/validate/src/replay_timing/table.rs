//! The table and what is claimed of it.

use std::fmt::Write as _;

use block::Waiting;
use stats::median;

use super::arms::Arm;
use super::figures::{self, Errors};
use super::schedule::Schedule;
use super::{BLOCK, PAIRS, Run, SIZE, Setting};
use crate::engine::Engine;
use crate::middle::Middle;
use crate::sheet;

/// Most that a replay may be beside the bare loop.
const RATIO_MAX: f64 = 1.5;
/// By how much the median must be below fio's.
const BELOW_FIO: f64 = 1000.0;

/// Something that is wanted, and whether it is so.
pub(super) struct Claim {
    pub text: String,
    pub found: String,
    pub met: bool,
}

fn of(runs: &[Run], arm: Arm) -> Vec<Errors> {
    runs.iter().filter(|run| run.arm == arm).map(|run| run.errors.clone()).collect()
}

/// Over the rounds of `arm`, the median of the percentile `percent`.
fn percentile(runs: &[Run], arm: Arm, percent: f64) -> Option<f64> {
    let each: Option<Vec<f64>> =
        of(runs, arm).iter().map(|errors| Some(errors.percentiles([percent])?[0])).collect();
    median(&each?)
}

/// Ours beside the bare loop's in each round.
fn ratios(runs: &[Run], waiting: Waiting, percent: f64) -> Option<Vec<f64>> {
    let [ours, bare] = [Arm::Drivescope(waiting), Arm::Bare(waiting)].map(|arm| of(runs, arm));
    let of_round = |(ours, bare): (&Errors, &Errors)| {
        Some(ours.percentiles([percent])?[0] / bare.percentiles([percent])?[0])
    };
    ours.iter().zip(&bare).map(of_round).collect()
}

/// Checks the claims about this measurement.
pub(super) fn claims(runs: &[Run]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (waiting, name) in PAIRS {
        for percent in [50.0, 99.0] {
            let ours = percentile(runs, Arm::Drivescope(waiting), percent);
            let bare = percentile(runs, Arm::Bare(waiting), percent);
            let ratio = ours.zip(bare).map(|(ours, bare)| ours / bare);
            let each = ratios(runs, waiting, percent).and_then(|ratios| Middle::of(&ratios));
            let found = ratio
                .zip(each)
                .map(|(ratio, each)| format!("{ratio:.2} ×; round by round {}", each.show(2)));
            claims.push(Claim {
                text: format!("{name}: p{percent} at most {RATIO_MAX} × the bare loop's"),
                found: found.unwrap_or("nothing".to_owned()),
                met: ratio.is_some_and(|ratio| ratio <= RATIO_MAX),
            });
        }
        let drift = figures::drift_ppm(&of(runs, Arm::Drivescope(waiting)));
        claims.push(Claim {
            text: format!("{name}: the drift slope's interval holds 0"),
            found: drift.map_or("no interval".to_owned(), show_drift),
            met: drift
                .and_then(|drift| drift.interval)
                .is_some_and(|(low, high)| low <= 0.0 && 0.0 <= high),
        });
        let fio = [Engine::IoUring, Engine::Libaio].map(|e| percentile(runs, Arm::Fio(e), 50.0));
        let fio = fio.into_iter().flatten().reduce(f64::min);
        if let Some((fio, ours)) = fio.zip(percentile(runs, Arm::Drivescope(waiting), 50.0)) {
            claims.push(Claim {
                text: format!("{name}: p50 at least {BELOW_FIO} × below the better of fio's"),
                found: format!("{:.0} ×", fio / ours),
                met: fio / ours >= BELOW_FIO,
            });
        }
    }
    claims
}

fn show_drift(drift: Middle) -> String {
    format!("{} ppm", drift.show(3))
}

/// Microseconds, with as many digits as say something.
fn us(ns: f64) -> String {
    let us = ns / 1e3;
    let digits = if us < 100.0 { 2 } else { 0 };
    format!("{us:.digits$}")
}

fn rows(runs: &[Run], schedule: &Schedule) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for arm in Arm::ALL {
        let errors = of(runs, arm);
        if errors.is_empty() {
            continue;
        }
        let cell = |percent| percentile(runs, arm, percent).map_or("–".to_owned(), us);
        let middle = |f: &dyn Fn(&Errors) -> usize| {
            let counts: Vec<f64> = errors.iter().map(|e| f(e) as f64).collect();
            format!("{:.0}", median(&counts).unwrap_or(f64::NAN))
        };
        let of_arm = || runs.iter().filter(move |run| run.arm == arm);
        let delays: Vec<f64> =
            of_arm().filter_map(|run| run.told.run_delay_ns).map(|ns| ns as f64 / 1e6).collect();
        let ended = of_arm().filter(|run| run.told.ended).count();
        let name = if ended > 0 { format!("{} ({ended} ended)", arm.name()) } else { arm.name() };
        rows.push(vec![
            name,
            middle(&Errors::count),
            cell(50.0),
            cell(90.0),
            cell(99.0),
            cell(99.9),
            cell(100.0),
            figures::drift_ppm(&errors).map_or("–".to_owned(), show_drift),
            middle(&Errors::early),
            middle(&|e| e.reordered(schedule)),
            median(&delays).map_or("–".to_owned(), |ms| format!("{ms:.1}")),
        ]);
    }
    rows
}

/// The page.
pub(super) fn text(
    runs: &[Run],
    claims: &[Claim],
    schedule: &Schedule,
    setting: &Setting,
) -> String {
    let Setting { options, seed, fio, commit, machine, load, loop_on } = setting;
    let mut text = "# When replayed requests reach the block layer\n\n".to_owned();
    let missed = claims.iter().filter(|claim| !claim.met).count();
    let _ = writeln!(text, "{} of {} claims are met.\n", claims.len() - missed, claims.len());
    let more = [
        ("Beside", format!("{fio}, btreplay of the package blktrace")),
        ("Rounds", options.rounds.to_string()),
        ("Seed of schedule and orders", seed.to_string()),
        ("Load average at the start", load.clone()),
    ];
    text += &sheet::provenance(commit, machine, "replay-timing.csv", &more);
    let seconds = schedule.reads.last().map_or(0.0, |read| read.at_ns as f64 / 1e9);
    let _ = writeln!(
        text,
        "{} reads of {BLOCK} at random times (Poisson), {} a second in the mean, {seconds:.2} s in all, each of a \
         place of its own on {SIZE} of a loop device with direct I/O over a file on {loop_on}. Everybody has the same \
         schedule, one after the other, in an order drawn at random for each round; the next round goes backwards. The \
         kernel's event `block_bio_queue` (Q) of that device, stamped with `CLOCK_MONOTONIC` into a trace of our own, \
         says when each read came to the block layer. The error is that instant less the scheduled one, and its amount is \
         what the percentiles are of; drivescope and the bare loops tell the instant from which the schedule counts, the \
         others are given that their first read was on time. Each figure is the median over the rounds. The drift of a \
         round is Theil and Sen's slope through the medians of 40 spans; told is its median over the rounds with the \
         95% interval, as it is of ratios taken round by round.\n",
        schedule.reads.len(),
        options.per_s,
    );
    let wanted: Vec<Vec<String>> = claims
        .iter()
        .map(|c| {
            vec![c.text.clone(), c.found.clone(), if c.met { "met" } else { "not met" }.into()]
        })
        .collect();
    text += &sheet::table(1, &["claim", "found", "verdict"], &wanted);
    text += "\nErrors in µs; how many reads came before their time, and how many behind one of a later time; how long \
             the submitter was ready to run and had no CPU:\n\n";
    let head = [
        "replayer",
        "reads",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "drift",
        "early",
        "reordered",
        "waited for a CPU, ms",
    ];
    text += &sheet::table(1, &head, &rows(runs, schedule));
    text
}

/// A line for each run.
pub(super) fn raw(runs: &[Run], schedule: &Schedule) -> String {
    let mut text = "replayer,reads,early,reordered,p50_ns,p90_ns,p99_ns,p99_9_ns,max_ns,drift_ppm,\
                    run_delay_ns,ended\n"
        .to_owned();
    for Run { arm, errors, told } in runs {
        let [p50, p90, p99, p999, max] =
            errors.percentiles([50.0, 90.0, 99.0, 99.9, 100.0]).unwrap_or([f64::NAN; 5]);
        let drift = errors.drift_ppm().map_or(String::new(), |ppm| format!("{ppm:.4}"));
        let delay = told.run_delay_ns.map_or(String::new(), |ns| ns.to_string());
        let _ = writeln!(
            text,
            "\"{}\",{},{},{},{p50},{p90},{p99},{p999},{max},{drift},{delay},{}",
            arm.name(),
            errors.count(),
            errors.early(),
            errors.reordered(schedule),
            told.ended,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Waiting};

    use super::super::arms::Told;
    use super::*;
    use crate::latency::tracefs::{Event, Step};

    fn run(schedule: &Schedule, arm: Arm, late: impl Fn(usize) -> u64) -> Run {
        let reads = schedule.reads.iter().enumerate();
        let events: Vec<Event> = reads
            .map(|(i, read)| Event {
                step: Step::Queued,
                at_ns: read.at_ns + late(i),
                sector: read.offset / 512,
                sectors: 8,
            })
            .collect();
        Run { arm, errors: Errors::of(schedule, &events, Some(0)), told: Told::default() }
    }

    // A claim that is met whatever was measured is none.
    #[test]
    fn claims_are_met_by_what_is_wanted_and_by_nothing_less() {
        let schedule =
            Schedule::poisson(4_000, 5_000.0, (Bytes::mib(64), Bytes::kib(4)), 1).unwrap();
        let runs = |ours: u64, drift: f64, fio: u64| {
            let noise = |round: u64, i: usize| {
                let mixed = (round << 32 | i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (mixed ^ mixed >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 54
            };
            let drifted = |i: usize| (schedule.reads[i].at_ns as f64 * drift) as u64;
            let mut runs = Vec::new();
            for ((waiting, _), round) in PAIRS.into_iter().flat_map(|p| (0..6).map(move |r| (p, r)))
            {
                let late = |i: usize| ours + noise(round, i) + drifted(i);
                runs.push(run(&schedule, Arm::Drivescope(waiting), late));
                runs.push(run(&schedule, Arm::Bare(waiting), |i| 2_000 + noise(round, i)));
            }
            runs.push(run(&schedule, Arm::Fio(Engine::IoUring), |_| fio));
            runs
        };
        let met = |runs: &[Run]| -> Vec<bool> { claims(runs).iter().map(|c| c.met).collect() };
        assert_eq!(met(&runs(2_500, 0.0, 100_000_000)), [true; 8]);
        let slow = [false, false, true, true, false, false, true, true];
        assert_eq!(met(&runs(6_000, 0.0, 100_000_000)), slow);
        let drifting = met(&runs(2_000, 1e-3, 100_000_000_000));
        assert_eq!([drifting[2], drifting[6]], [false, false]);
        assert!(!met(&runs(2_500, 0.0, 1_000_000))[3]);
    }

    #[test]
    fn a_line_has_a_cell_for_every_column() {
        let schedule = Schedule::poisson(99, 9.0, (Bytes::mib(1), Bytes::kib(4)), 1).unwrap();
        let text = raw(&[run(&schedule, Arm::Drivescope(Waiting::Spin), |_| 1)], &schedule);
        // The quoted name contains a comma.
        let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells[1], cells[0] + 1);
    }
}
