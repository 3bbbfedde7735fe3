//! Pages of the sweeps that the specification does not have: by queue depth, and ezFIO's.

use super::parts::{Part, Shade, chart, table, verdicts_table};
use super::recovery::preconditioning;
use crate::pts::charts::{demand, time};
use crate::pts::tables;

/// Adds those of the sweep by queue depth.
pub fn depth(part: &mut Part<'_>) {
    let body = part.body;
    part.page(
        "Preconditioning: random writes until the drive is steady",
        vec![chart(time::curve(body)), verdicts_table(body)],
    );
    preconditioning(part, "RND 4 KiB writes");
    let sweep = part.table("qd_sweep");
    let rates = chart(sweep.and_then(|table| demand::by_depth(body, table)));
    let times = chart(sweep.and_then(|table| demand::response_by_depth(body, table)));
    part.page("RND 4 KiB writes by queue depth, steady state", vec![rates, times]);
    let drift = table(part.table("drift"), Shade::None);
    let sweep = sweep.map(tables::by_engine).unwrap_or_default();
    part.page(
        "The sweep in numbers",
        sweep.iter().map(|one| table(Some(one), Shade::None)).chain([drift]).collect(),
    );
}

/// Adds those of ezFIO's sequence.
pub fn ezfio(part: &mut Part<'_>) {
    let body = part.body;
    part.page(
        "Preconditioning: random writes until the drive is steady",
        vec![chart(time::curve(body)), verdicts_table(body)],
    );
    part.page(
        "Throughput by block size",
        vec![
            chart(demand::sizes(body)),
            table(part.table("seq_read"), Shade::None),
            table(part.table("rnd_read"), Shade::None),
        ],
    );
    part.page(
        "Writes by block size",
        vec![
            table(part.table("seq_write"), Shade::None),
            table(part.table("rnd_write"), Shade::None),
        ],
    );
    part.page(
        "RND 4 KiB by threads",
        vec![
            chart(demand::by_threads(body)),
            table(part.table("rnd_read_threads"), Shade::None),
            table(part.table("mixed_threads"), Shade::None),
            table(part.table("rnd_write_threads"), Shade::None),
        ],
    );
    part.page(
        "RND 4 KiB 70/30, 256 threads, twenty minutes",
        vec![chart(demand::long(body)), table(part.table("long_percentiles"), Shade::None)],
    );
}
