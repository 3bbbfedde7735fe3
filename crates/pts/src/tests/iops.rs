//! The IOPS test: random I/O by share of reads and block size, in rounds until the writes of 4 KiB are steady.

use block::Bytes;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::Test;
use crate::precondition::wipc;
use crate::table::Table;
use crate::tests::random;
use crate::tracker::{Figure, Tracker};
use crate::window::Window;

/// Shares of reads, outer loop, in the specification's order.
const READS: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Block sizes, inner loop, in its order.
const BLOCKS: [Bytes; 8] = [
    Bytes::kib(1024),
    Bytes::kib(128),
    Bytes::kib(64),
    Bytes::kib(32),
    Bytes::kib(16),
    Bytes::kib(8),
    Bytes::kib(4),
    Bytes(512),
];
/// Reads in percent and block size of the load by which steady state is judged.
const TRACKED: (u8, Bytes) = (0, Bytes::kib(4));

/// Runs it.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    body.purge = desk.begin(Test::Iops)?;
    wipc(desk, body, Bytes::kib(128))?;
    let mut tracker = Tracker::new(desk, body, (Figure::Iops, "RND 4KiB 0/100"));
    let smallest = desk.block_min();
    let blocks: Vec<Bytes> = BLOCKS.into_iter().filter(|block| *block >= smallest).collect();
    if blocks.len() < BLOCKS.len() {
        body.deviations
            .push(format!("blocks below the drive's own of {} are left out", smallest.human()));
    }
    let mut rounds: Vec<Vec<Window>> = Vec::new();
    for round in 1..=tracker.rounds_max() {
        let made = one_round(desk, round, &blocks, &mut tracker, &mut rounds)?;
        tracker.round(desk, round, made);
        desk.whole(&format!("round {round} of iops"))?;
        tabulate(body, &blocks, &rounds);
        tracker.tell(body);
        if tracker.is_over() {
            break;
        }
    }
    Ok(())
}

/// Returns the tracked window with the bytes of the whole round.
fn one_round(
    desk: &mut Desk<'_>,
    round: u32,
    blocks: &[Bytes],
    tracker: &mut Tracker,
    rounds: &mut Vec<Vec<Window>>,
) -> Result<Window, Halt> {
    let mut windows = Vec::new();
    let mut tracked = None;
    for reads in READS {
        for block in blocks {
            let ask = random(desk.options, *block, reads, desk.minutes(1.0));
            let made = desk.stretch(&Ask { round: Some(round), ..ask })?;
            tracker.see(&made, (reads, *block) == TRACKED);
            if (reads, *block) == TRACKED {
                tracked = Some(made.window.clone());
            }
            windows.push(made.window);
        }
    }
    let last = windows.last().cloned();
    rounds.push(windows);
    tracked.or(last).ok_or(Halt::Interrupted)
}

fn label(block: Bytes) -> String {
    if block.0 < 1024 { "0.5 KiB".to_owned() } else { format!("{} KiB", block.0 / 1024) }
}

/// The last five rounds' mean by block size and share of reads, and the writes of each block size by round.
fn tabulate(body: &mut Body, blocks: &[Bytes], rounds: &[Vec<Window>]) {
    let last = &rounds[rounds.len().saturating_sub(5)..];
    let mean = |reads: usize, block: usize| {
        let cells = last.iter().filter_map(|round| round.get(reads * blocks.len() + block));
        let (sum, n) = cells.fold((0.0, 0.0), |(sum, n), window| (sum + window.iops, n + 1.0));
        (n > 0.0).then(|| sum / n)
    };
    let names: Vec<String> = READS.iter().map(|r| format!("{r}/{}, IOPS", 100 - r)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new("IOPS, mean of the last five rounds", "block size", &names);
    // The specification's tables begin with the smallest block.
    for (at, block) in blocks.iter().enumerate().rev() {
        table.push(label(*block), (0..READS.len()).map(|reads| mean(reads, at)).collect());
    }
    body.tables.insert("iops".to_owned(), table);
    let names: Vec<String> = blocks.iter().map(|b| format!("{}, IOPS", label(*b))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new("Steady-state convergence: RND writes by round", "round", &names);
    for (at, round) in rounds.iter().enumerate() {
        let writes = round.iter().skip((READS.len() - 1) * blocks.len());
        table.push((at + 1).to_string(), writes.map(|window| Some(window.iops)).collect());
    }
    body.tables.insert("convergence".to_owned(), table);
}
