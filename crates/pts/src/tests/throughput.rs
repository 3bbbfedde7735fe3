//! The throughput test: sequential I/O of large blocks, in rounds until the writes are steady.

use block::Bytes;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::{Profile, Test};
use crate::precondition::wipc;
use crate::table::Table;
use crate::tests::sequential;
use crate::tracker::{Figure, Tracker};
use crate::window::Window;

/// Runs it, for each block size from a purge on.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    // Each block size has a preconditioning of its own.
    let blocks: &[Bytes] = match desk.options.profile {
        Profile::Enterprise => &[Bytes::mib(1), Bytes::kib(128)],
        Profile::Client => &[Bytes::mib(1)],
    };
    let mut all = Table::new(
        "Throughput, mean of the last five rounds",
        "block size",
        &["write, MB/s", "read, MB/s"],
    );
    for block in blocks {
        body.purge = desk.begin(Test::Throughput)?;
        wipc(desk, body, *block)?;
        let means = of_block(desk, body, *block)?;
        all.push(format!("{} KiB", block.0 / 1024), means.to_vec());
        body.tables.insert("throughput".to_owned(), all.clone());
    }
    Ok(())
}

/// Mean of the last five rounds, writes and reads.
fn of_block(desk: &mut Desk<'_>, body: &mut Body, block: Bytes) -> Result<[Option<f64>; 2], Halt> {
    let kib = block.0 / 1024;
    let mut tracker = Tracker::new(desk, body, (Figure::MbPerS, &format!("SEQ {kib}KiB 0/100")));
    let names = ["read, MB/s", "write, MB/s"];
    let title = format!("Steady-state convergence: SEQ {kib} KiB by round");
    let mut table = Table::new(&title, "round", &names);
    // Reads and writes each continue where their last round ended: rounds that all started at the same place would stay
    // in one part of the drive.
    let (mut read, mut written) = (0, 0);
    for round in 1..=tracker.rounds_max() {
        let ask = sequential(desk.options, block, 100, read, desk.minutes(1.0));
        let reads = desk.stretch(&Ask { round: Some(round), ..ask })?.window;
        let ask = sequential(desk.options, block, 0, written, desk.minutes(1.0));
        let made = desk.stretch(&Ask { round: Some(round), ..ask })?;
        tracker.see(&made, true);
        let next = |from: u64, window: &Window| {
            (from + (window.bytes_read + window.bytes_written) / block.0)
                % (desk.region().length.0 / block.0).max(1)
        };
        (read, written) = (next(read, &reads), next(written, &made.window));
        table.push(round.to_string(), vec![Some(reads.mb_s), Some(made.window.mb_s)]);
        body.tables.insert(format!("convergence_{kib}k"), table.clone());
        tracker.round(desk, round, made.window);
        desk.whole(&format!("round {round} of throughput, {kib} KiB"))?;
        tracker.tell(body);
        if tracker.is_over() {
            break;
        }
    }
    let mean = |name: &str| {
        let values: Vec<f64> = table.column(name)?.into_iter().flatten().collect();
        let last = &values[values.len().saturating_sub(5)..];
        (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
    };
    Ok([mean("write, MB/s"), mean("read, MB/s")])
}
