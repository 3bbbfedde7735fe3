//! Pages of the throughput test: for each block size convergence and window; then the means.

use report::chart::Axis;
use stats::Unit;

use super::parts::{Part, Shade, chart, table};
use crate::pts::charts::demand;
use crate::pts::charts::rounds::{Tracked, convergence};

/// Column of the writes in tables of rounds.
const WRITES: usize = 1;

/// Adds them.
pub fn pages(part: &mut Part<'_>) {
    let axis = || Axis::new("Throughput", Unit::MbPerS);
    // The larger block comes first, as it is measured.
    let mut keys: Vec<(u64, &String)> = part
        .body
        .tables
        .keys()
        .filter_map(|key| {
            let kib = key.strip_prefix("convergence_")?.strip_suffix('k')?;
            Some((kib.parse().ok()?, key))
        })
        .collect();
    keys.sort_by(|a, b| b.cmp(a));
    let last = keys.last().map(|(kib, _)| *kib);
    for (kib, key) in keys {
        let Some(rounds) = part.table(key) else { continue };
        let name = format!("SEQ {kib} KiB 0/100");
        let tracked = Tracked::of_column(rounds, WRITES, &name, axis());
        let ends = tracked.as_ref().map(|tracked| tracked.window);
        let picture = convergence(part.body, rounds, axis(), ends.as_ref());
        let numbers = table(Some(rounds), Shade::None);
        let title = format!("Steady-state convergence, SEQ {kib} KiB reads and writes");
        part.page(&title, vec![chart(picture), numbers]);
        // The verdicts that a test keeps are those of its last block size.
        part.steady(&format!("{name}, MB/s"), tracked, last == Some(kib));
    }
    let means = part.table("throughput").and_then(|table| demand::throughput(part.body, table));
    let numbers = table(part.table("throughput"), Shade::None);
    part.page("Throughput by block size", vec![chart(means), numbers]);
}
