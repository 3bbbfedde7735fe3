//! Pages of the IOPS test: P1 to P5 of the specification.

use report::chart::{Axis, Scale};
use stats::Unit;

use super::parts::{Part, Shade, chart, table, words};
use crate::pts::charts::demand;
use crate::pts::charts::rounds::{Tracked, convergence};

/// Adds them.
pub fn pages(part: &mut Part<'_>) {
    let axis = || Axis::new("Random writes", Unit::Iops);
    let ends = part.body.steady.as_ref().and_then(|steady| steady.pts.window);
    let picture = part.table("convergence").and_then(|table| {
        convergence(part.body, table, axis().scaled(Scale::Log10), ends.as_ref())
    });
    let numbers = table(part.table("convergence"), Shade::None);
    part.page("P1: steady-state convergence, all block sizes", vec![chart(picture), numbers]);
    let tracked = Tracked::of_body(part.body, axis(), |round| round.iops);
    part.steady("P2 and P3, RND 4 KiB writes", tracked, true);
    let picture = part.table("iops").and_then(|table| demand::by_block(part.body, table));
    let numbers = table(part.table("iops"), Shade::None);
    part.page("P4: IOPS by block size and read/write mix", vec![chart(picture), numbers]);
    let shaded = table(part.table("iops"), Shade::Log);
    part.page(
        "P5: IOPS by block size and read/write mix, shaded",
        vec![
            words(
                "In place of the specification's columns in three dimensions, of which those in front hide those behind: the \
                 same grid as shades on a logarithmic scale, each with its number.",
            ).filter(|_| shaded.is_some()),
            shaded,
        ],
    );
}
