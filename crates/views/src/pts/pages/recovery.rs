//! Pages of the two tests of recovery: host idle, and cross stimulus.

use pts::body::Body;
use report::chart::Axis;
use stats::Unit;

use super::parts::{Part, Shade, chart, table};
use crate::pts::charts::rounds::Tracked;
use crate::pts::charts::time::{self, Along};

/// Adds those of host idle recovery.
pub fn idle(part: &mut Part<'_>) {
    let body: &Body = part.body;
    preconditioning(part, "RND 4 KiB writes");
    part.steady(
        "preconditioning",
        Tracked::of_body(body, Axis::new("Random writes", Unit::Iops), |round| round.iops),
        true,
    );
    let gains = table(part.table("recovery"), Shade::None);
    part.page(
        "IOPS by time, all pauses, beside the baseline",
        vec![chart(time::recovery(body)), gains],
    );
}

/// Adds that of a preconditioning whose samples are kept.
pub fn preconditioning(part: &mut Part<'_>, load: &str) {
    let samples = part.table("preconditioning");
    let rates = samples.and_then(|table| time::rates(part.body, table, Along::Time));
    let fills = samples.and_then(|table| time::rates(part.body, table, Along::Fills));
    part.page(&format!("Preconditioning: IOPS of {load}"), vec![chart(rates), chart(fills)]);
}

/// Adds those of cross stimulus recovery.
pub fn stimuli(part: &mut Part<'_>) {
    let body = part.body;
    let groups = table(part.table("groups"), Shade::None);
    part.page("Throughput by time, all groups", vec![chart(time::stimuli(body, None)), groups]);
    part.page(
        "The changes of stimulus: G1 to G2, and G2 to G3",
        vec![chart(time::stimuli(body, Some(0))), chart(time::stimuli(body, Some(1)))],
    );
    let times = part.table("series");
    let times = times.and_then(|table| time::response_times(body, table, Along::Time));
    part.page("Response times by time: mean, 99.999%, greatest", vec![chart(times)]);
}
