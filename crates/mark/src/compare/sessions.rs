//! A side that was measured in several sessions: each session is one observation.

use stats::{Unit, median};

use super::comparison::Side;
use crate::body::{Body, Latency, Run, Test};
use crate::findings::spread;

/// The body of a side whose runs are sessions: each is the median of its runs, with the I/Os of all of them. Latencies of
/// several sessions are not known together, and are 0. `None` of no bodies.
///
/// Runs of one session share whatever was particular to it, so that they count as one observation of the drive.
pub fn of_sessions(bodies: &[Body]) -> Option<Body> {
    let mut merged = bodies.first()?.clone();
    let is_same = |a: &Test, b: &Test| (&a.name, &a.op) == (&b.name, &b.op);
    for test in &mut merged.tests {
        let each = bodies.iter().filter_map(|body| body.tests.iter().find(|t| is_same(t, test)));
        let each: Vec<&Test> = each.collect();
        let runs: Vec<Run> = each.iter().filter_map(|test| of_runs(&test.runs)).collect();
        // A number that one session withdrew is withdrawn, with the proofs of that session.
        if let Some(withdrawn) = each.iter().find(|test| !test.headline) {
            test.headline = false;
            test.proofs = withdrawn.proofs.clone();
        }
        let over = |of: fn(&Run) -> f64, unit| {
            spread(&runs.iter().map(of).collect::<Vec<f64>>(), unit, None)
        };
        test.mb_s = over(|run| run.mb_s, Unit::MbPerS);
        test.iops = over(|run| run.iops, Unit::Iops);
        test.latency_ns = Latency::default();
        test.runs = runs;
    }
    merged.interrupted = bodies.iter().any(|body| body.interrupted);
    Some(merged)
}

/// One session as a run.
fn of_runs(runs: &[Run]) -> Option<Run> {
    let middle = |of: fn(&Run) -> f64| {
        median(&runs.iter().map(of).collect::<Vec<f64>>()).unwrap_or_default()
    };
    let mut whole = runs.first()?.clone();
    whole.bytes = runs.iter().map(|run| run.bytes).sum();
    whole.ios = runs.iter().map(|run| run.ios).sum();
    whole.duration_ns = runs.iter().map(|run| run.duration_ns).sum();
    whole.mb_s = middle(|run| run.mb_s);
    whole.iops = middle(|run| run.iops);
    whole.latency_ns = Latency::default();
    Some(whole)
}

/// True when both sides were measured in several sessions that took turns: in the order of their dates the side changes
/// at least as often as the smaller side has sessions. Sessions of one side that all came before those of the other share
/// whatever changed in between.
pub(super) fn take_turns(a: &Side, b: &Side) -> bool {
    let fewer = a.sessions.len().min(b.sessions.len());
    let dates = |side: &Side, which: bool| {
        let dates = side.sessions.iter().map(move |session| (session.date.clone(), which));
        dates.collect::<Vec<_>>()
    };
    let mut order = dates(a, false);
    order.extend(dates(b, true));
    order.sort();
    let changes = order.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    let are_dated = order.iter().all(|(date, _)| date.is_some());
    fewer > 1 && are_dated && changes >= fewer
}
