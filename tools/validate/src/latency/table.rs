//! From the trials to the page.

use super::{BLOCK, Case, DEPTHS, Place, SIZE, Setup, Spread, Tester, Trial};
use crate::middle::Middle;
use crate::sheet;

/// The whole page.
pub(super) fn text(places: &[Place], setup: &Setup) -> String {
    let mut text = format!("# Recorded latency against the kernel's\n\n{}\n", verdict(places));
    let rejected: u32 = places.iter().map(|place| place.rejected).sum();
    let more = [
        ("Beside", setup.fio.clone()),
        ("Rounds", setup.rounds.to_string()),
        (
            "Trials rejected, for lost events or I/Os that could not be matched",
            rejected.to_string(),
        ),
        ("Seed of the orders", setup.seed.to_string()),
        ("Load average at the start", setup.load.clone()),
    ];
    text += &sheet::provenance(&setup.commit, &setup.machine, "latency.csv", &more);
    text += &method(setup);
    for place in places {
        for depth in DEPTHS {
            text += &section(place, depth);
        }
    }
    text
}

/// I/Os of drivescope whose completion latency is shorter than Q2C, which it contains.
pub(super) fn shorter(trials: &[(Case, Trial)]) -> usize {
    let ours = trials.iter().filter(|(case, _)| case.tester == Tester::Drivescope);
    ours.map(|(_, trial)| trial.shorter).sum()
}

fn verdict(places: &[Place]) -> String {
    let ours = places.iter().flat_map(|place| &place.trials);
    let ours = ours.filter(|(case, _)| case.tester == Tester::Drivescope);
    let matched: usize = ours.map(|(_, trial)| trial.matched).sum();
    let shorter: usize = places.iter().map(|place| shorter(&place.trials)).sum();
    format!(
        "Of {matched} I/Os of drivescope, {shorter} have a completion latency that is shorter than the \
         kernel's own Q2C; there must be none.\n"
    )
}

fn section(place: &Place, depth: u16) -> String {
    let trials: Vec<&(Case, Trial)> =
        place.trials.iter().filter(|(case, _)| case.depth == depth).collect();
    let mut text = format!("\n## On {}, {depth} outstanding\n\n", place.loop_on);
    text += "The kernel's own latencies, µs:\n\n";
    text += &kernel(&trials);
    text += "\nCompletion latency less Q2C, µs:\n\n";
    text += &spreads(&trials, |trial| Some(trial.clat));
    text += "\nShare of I/Os whose completion latency is shorter than Q2C:\n\n";
    text += &shares(&trials);
    text += "\nTotal latency less Q2C, µs:\n\n";
    text += &spreads(&trials, |trial| Some(trial.total));
    text += "\nSubmission latency by the tester's own account, µs:\n\n";
    text += &spreads(&trials, |trial| trial.slat);
    text
}

fn method(setup: &Setup) -> String {
    format!(
        "{} random reads of {BLOCK} in a trial, with O_DIRECT, on {SIZE} of a loop device with direct I/O \
         over a file: on tmpfs, where a read is a copy of memory, which kernels of today do within the \
         submitting system call; and on another filesystem, where a device completes it later. Each round makes one trial of each tester, engine and depth, \
         in an order drawn at random; the next round goes backwards. Meanwhile the kernel's block events of \
         that device (`block_bio_queue`: Q, `block_rq_issue`: D, `block_rq_complete`: C) are stamped with \
         `CLOCK_MONOTONIC` into a trace of our own. I/Os are matched one to one by address; those of addresses \
         that occur twice are left out. What stands here is the median over the rounds, with its 95% \
         interval, of each trial's 10th percentile, median and 90th percentile over its I/Os; differences are \
         taken I/O by I/O. The three events cost each I/O some time of their own; that of recording C falls \
         between C and the reaping, and so into every difference.\n\n\
         *Completion latency*: ours runs from just before the system call that hands the request over to just \
         after the one that brings its completion; fio's is its `clat`. *Total latency*: ours begins when \
         the request's slot is free, that is when the completion before was reaped; fio's is its `lat`. \
         *Submission latency*, ours and fio's `slat`, is the difference of the two. What these mean and why \
         fio's differ: [latency](../method/latency.md).\n",
        setup.ios,
    )
}

/// Testers in the order in which [`Case::all`] has them, each with its trials.
fn by_case<'a>(trials: &[&'a (Case, Trial)]) -> Vec<(Case, Vec<&'a Trial>)> {
    let of = |case: &Case| -> Vec<&'a Trial> {
        trials.iter().filter(|(c, _)| c == case).map(|(_, trial)| trial).collect()
    };
    let cases = Case::all().into_iter().map(|case| (case, of(&case)));
    cases.filter(|(_, trials)| !trials.is_empty()).collect()
}

fn kernel(trials: &[&(Case, Trial)]) -> String {
    let row = |(case, trials): (Case, Vec<&Trial>)| {
        let matched: Vec<f64> = trials.iter().map(|trial| trial.matched as f64).collect();
        vec![
            case.name(),
            Middle::of(&matched).map_or("–".to_owned(), |m| format!("{:.0}", m.median)),
            over_rounds(&trials, |trial| Some(trial.q2c.median)),
            over_rounds(&trials, |trial| Some(trial.d2c.median)),
        ]
    };
    let rows: Vec<Vec<String>> = by_case(trials).into_iter().map(row).collect();
    sheet::table(1, &["tester", "I/Os matched", "median of Q2C", "median of D2C"], &rows)
}

fn shares(trials: &[&(Case, Trial)]) -> String {
    let row = |(case, trials): (Case, Vec<&Trial>)| {
        let shorter: usize = trials.iter().map(|trial| trial.shorter).sum();
        let matched: usize = trials.iter().map(|trial| trial.matched).sum();
        vec![case.name(), format!("{:.1}%", 100.0 * shorter as f64 / matched as f64)]
    };
    let rows: Vec<Vec<String>> = by_case(trials).into_iter().map(row).collect();
    sheet::table(1, &["tester", "shorter"], &rows)
}

fn spreads(trials: &[&(Case, Trial)], of: impl Fn(&Trial) -> Option<Spread>) -> String {
    let row = |(case, trials): (Case, Vec<&Trial>)| {
        let mut cells = vec![case.name()];
        let parts: [fn(Spread) -> i64; 3] = [|s| s.p10, |s| s.median, |s| s.p90];
        cells.extend(parts.map(|part| over_rounds(&trials, |trial| of(trial).map(part))));
        cells
    };
    let rows: Vec<Vec<String>> = by_case(trials).into_iter().map(row).collect();
    sheet::table(1, &["tester", "10th percentile", "median", "90th percentile"], &rows)
}

/// In microseconds.
fn over_rounds(trials: &[&Trial], of: impl Fn(&Trial) -> Option<i64>) -> String {
    let values: Vec<f64> =
        trials.iter().filter_map(|trial| of(trial)).map(|ns| ns as f64 / 1e3).collect();
    Middle::of(&values).map_or("–".to_owned(), |middle| middle.show(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Machine;

    fn trial(bias: i64) -> Trial {
        let spread = |median: i64| Spread { p10: median - 100, median, p90: median + 300 };
        Trial {
            matched: 2990,
            q2c: spread(9_000),
            d2c: spread(8_700),
            clat: spread(bias),
            slat: (bias > 0).then(|| spread(250)),
            total: spread(bias + 250),
            shorter: 299,
        }
    }

    // A figure under another tester's name would be worse than none.
    #[test]
    fn each_tester_has_its_own_figures_under_its_depth() {
        let mut trials = Vec::new();
        for round in 0..8i64 {
            for (index, case) in (1..).zip(Case::all()) {
                trials.push((case, trial(index * 1000 + round)));
            }
        }
        trials.reverse();
        let setup = Setup {
            rounds: 8,
            ios: 3000,
            seed: 1,
            fio: "fio-3.33".into(),
            commit: "0123456789ab".into(),
            machine: Machine::here(),
            load: "0.10".into(),
        };
        let places = [
            Place { loop_on: "tmpfs".into(), trials: trials.clone(), rejected: 2 },
            Place { loop_on: "ext4".into(), trials: Vec::new(), rejected: 1 },
        ];
        let text = text(&places, &setup);
        assert!(
            text.contains("| drivescope io_uring | 0.90 (0.90–0.91) | 1.00 (1.00–1.01) | 1.30")
        );
        assert!(text.contains("| fio io_uring | 1.90 (1.90–1.91) | 2.00 (2.00–2.01) | 2.30"));
        let (text, nothing) = text.split_once("## On ext4, 1 outstanding").unwrap();
        let (first, second) = text.split_once("## On tmpfs, 4 outstanding").unwrap();
        assert!(!nothing.contains("drivescope"), "no figures of another place");
        assert_eq!(first.matches("| drivescope psync |").count(), 5);
        assert!(first.contains("| drivescope psync | 10.0% |"));
        // Eight rounds of three engines at depth 1 and two at depth 4.
        assert!(first.contains("Of 119600 I/Os of drivescope, 11960 have"));
        assert_eq!(second.matches("psync").count(), 0);
        assert!(text.contains("could not be matched: 3\n"));
    }

    #[test]
    fn what_a_tester_does_not_record_has_no_figure() {
        let trials = [trial(-400), trial(-300)];
        let trials: Vec<&Trial> = trials.iter().collect();
        assert_eq!(over_rounds(&trials, |trial| trial.slat.map(|s| s.median)), "–");
        assert_eq!(over_rounds(&trials, |t| Some(t.clat.median)), "-0.35 (no interval)");
    }
}
