//! *Unhindered*: the tester was not the limit.

use block::DriveKind;
use stats::{Proof, Verdict, median};
use workload::plan::Arrival;

use super::{Case, growth, percent};
use crate::TestRuns;

/// Share of the meant depth that must have been outstanding.
const DEPTH: (f64, f64) = (0.90, 0.75);
/// Share of an I/O's time that may be the tester's own.
const LAG: (f64, f64) = (0.05, 0.15);
/// Share of the submitters' time that was CPU time, or was waited for a CPU: above it, a thread has
/// nothing left to give.
const CPU: (f64, f64) = (0.85, 0.97);
/// Share of waiting for a CPU above which the reason mentions it.
const WORTH_TELLING: f64 = 0.01;
/// Share of what the tester can do at most (on a device that costs nothing) that the drive may have asked of
/// it.
const LOAD: (f64, f64) = (0.50, 0.80);

pub(super) fn judge(case: &Case<'_>) -> Proof {
    let runs = case.runs();
    if !runs.is_empty() && !case.test.tells_rate() {
        let reason =
            "in most runs no I/O finished in the measured time, so whose time it was is not known";
        return Proof::new(Verdict::Unprovable, reason.to_owned());
    }
    let of = |f: &dyn Fn(&crate::RunFigures) -> f64| {
        median(&runs.iter().map(f).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let meant = f64::from(case.step.submitters) * f64::from(case.phase.arrival.depth());
    let depth = of(&|r| r.achieved_depth) / meant;
    let lag = of(&|r| share_of(r.run.slat_ns, r.run.slat_ns + r.run.clat_ns));
    let load = case.test.load();
    let virtual_time = case.info.kind == DriveKind::Virtual;
    let closed = matches!(case.phase.arrival, Arrival::ClosedLoop { .. });
    // An engine that polls computes all the time on purpose.
    let cpu_time = cpu_time(case);
    let cpu = cpu_time.filter(|_| !case.polling).map(|cpu| share_of(cpu, elapsed(case)));
    let alive = elapsed_of_submitters(case);
    let delay = growth(case, |s| s.run_delay_ns.map(|n| n.0)).map(|ns| share_of(ns as f64, alive));
    // Of the CPUs that there are, or of the submitters' own time when others take the CPUs from them.
    let busy = cpu
        .zip(cpu_time)
        .map(|(cpu, ns)| cpu.max(share_of(ns, alive) + delay.unwrap_or(0.0)).min(1.0));
    let checks = [
        closed.then(|| {
            (
                Check::depth(depth),
                format!("only {} of the queue depth was outstanding", percent(depth)),
            )
        }),
        Some((
            Check::most(lag, LAG),
            format!("{} of each I/O's time was the tester's own", percent(lag)),
        )),
        busy.map(|busy| {
            let or = match delay {
                Some(delay) if delay > WORTH_TELLING => " or waiting for a CPU",
                _ => "",
            };
            let reason =
                format!("the tester's threads spent {} of the time computing{or}", percent(busy));
            (Check::most(busy, CPU), reason)
        }),
        load.map(|load| {
            (
                Check::most(load, LOAD),
                format!(
                    "the drive was driven at {} of what this tester can do at most",
                    percent(load)
                ),
            )
        }),
    ];
    let worst = checks.into_iter().flatten().min_by_key(|(check, _)| *check);
    let proof = match worst {
        Some((Check::Fails, reason)) => Proof::new(Verdict::Refuted, reason),
        Some((Check::Doubtful, reason)) => Proof::new(Verdict::Unprovable, reason),
        _ if virtual_time => {
            Proof::new(Verdict::Proven, "virtual time passes only inside the drive")
        }
        _ if load.is_none() => {
            Proof::new(Verdict::Unprovable, "the tester's own limit was not measured")
        }
        _ => Proof::new(
            Verdict::Proven,
            if closed {
                format!("the tester added {} to each I/O and kept the queue full", percent(lag))
            } else {
                format!("the tester added {} to each I/O and was on time", percent(lag))
            },
        ),
    };
    let mut proof = proof.with("achieved_depth_share", depth).with("lag_share", lag);
    let longest = runs.iter().map(|r| r.lag_max_ns).max().unwrap_or(0);
    proof = proof.with("lag_ns_max", longest);
    if let (Some(load), Some(ceiling)) = (load, case.test.ceiling) {
        proof = proof
            .with("null_iops", ceiling.iops)
            .with("null_through_kernel", ceiling.through_kernel)
            .with("load_share_of_null", load);
    }
    let ios: u64 = runs.iter().map(|r| r.totals.ios).sum();
    if let Some(ns) = cpu_time.filter(|_| ios > 0) {
        proof = proof.with("cpu_ns_per_io", ns / ios as f64);
    }
    if let Some(delay) = delay {
        proof = proof.with("run_delay_share", delay);
    }
    match cpu {
        Some(share) => proof.with("cpu_share", share),
        None => proof,
    }
}

/// How far one check is met; worse orders first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Check {
    Fails,
    Doubtful,
    Holds,
}

impl Check {
    fn depth(share: f64) -> Check {
        let (holds, fails) = DEPTH;
        if share >= holds {
            Check::Holds
        } else if share < fails {
            Check::Fails
        } else {
            Check::Doubtful
        }
    }

    fn most(share: f64, (holds, fails): (f64, f64)) -> Check {
        if share <= holds {
            Check::Holds
        } else if share > fails {
            Check::Fails
        } else {
            Check::Doubtful
        }
    }
}

/// True where the tester's own limit decides what is found: it is worth a second look then.
pub(crate) fn is_near(test: &TestRuns) -> bool {
    test.load().is_some_and(|load| load > LOAD.0)
}

fn share_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// CPU time of this process, user and system, from idle to idle, over all counted runs.
fn cpu_time(case: &Case<'_>) -> Option<f64> {
    growth(case, |s| s.process_cpu.map(|c| c.user_ns.0 + c.system_ns.0)).map(|ns| ns as f64)
}

/// Time of all submitters, over all counted runs.
fn elapsed_of_submitters(case: &Case<'_>) -> f64 {
    let once: u64 = case.runs().iter().map(|r| r.elapsed_ns).sum();
    once as f64 * f64::from(case.step.submitters)
}

/// Time of all CPUs that the submitters could use, over all counted runs: more submitters than CPUs
/// share them.
fn elapsed(case: &Case<'_>) -> f64 {
    let once: u64 = case.runs().iter().map(|r| r.elapsed_ns).sum();
    once as f64 * usize::from(case.step.submitters).min(case.cpus.max(1)) as f64
}
