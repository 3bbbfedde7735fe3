//! Pages of the latency test: convergence of means and maxima, window, the three tables, and the response times of
//! twenty minutes.

use report::chart::{Axis, Scale};
use stats::Unit;

use super::parts::{Part, Shade, chart, open_loop, response_times, table, words};
use crate::pts::charts::rounds::{Tracked, convergence};

/// Adds them.
pub fn pages(part: &mut Part<'_>) {
    let axis = |name: &str| Axis::new(name, Unit::Ns);
    let ends = part.body.steady.as_ref().and_then(|steady| steady.pts.window);
    for (key, title, name) in [
        ("convergence_mean", "Steady-state convergence: mean response time", "Mean response time"),
        (
            "convergence_max",
            "Steady-state convergence: greatest response time",
            "Greatest response time",
        ),
    ] {
        let picture = part.table(key).and_then(|table| {
            convergence(part.body, table, axis(name).scaled(Scale::Log10), ends.as_ref())
        });
        let numbers = table(part.table(key), Shade::None);
        part.page(title, vec![chart(picture), numbers]);
    }
    let tracked =
        Tracked::of_body(part.body, axis("Mean response time"), |round| round.latency_ns.mean);
    part.steady("mean response time of RND 4 KiB writes", tracked, true);
    let shaded = |key: &str| table(part.table(key), Shade::Log);
    let tables = [shaded("mean"), shaded("five_nines"), shaded("max")];
    let some = tables.iter().any(Option::is_some);
    let mut blocks: Vec<_> = tables.into_iter().collect();
    blocks.push(
        words(
            "In place of the specification's columns in three dimensions the tables are shaded, on a logarithmic scale. A \
             percentile for which there are too few requests has no value.",
        )
        .filter(|_| some),
    );
    part.page("Response times by block size and read/write mix: mean, 99.999%, greatest", blocks);
    response_times(
        part,
        "Histogram and confidence levels, RND 4 KiB writes, T1 Q1, 20 min",
        ("histogram", "percentiles"),
    );
    open_loop(part);
}
