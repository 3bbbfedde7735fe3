//! ezFIO's sequence, so that its results can be compared: sequential fill, sequential and random reads, sequential
//! writes, random fill, then mixes and writes by threads and block size.
//!
//! Differences from ezFIO: the range is written to its last byte; random writes go on until the drive is steady, not
//! for two capacities, of which a seventh of the blocks is never reached; the drive is brought back to that state after
//! sequential writes; megabytes are 10^6 bytes; reads and writes have response times of their own; and columns are
//! named for what they hold.

use block::Bytes;
use workload::plan::Stop;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::Test;
use crate::precondition::{fill, wipc};
use crate::table::Table;
use crate::tests::qd_sweep::to_steady;
use crate::tests::{Samples, percentiles, random, sequential};

/// Block sizes in bytes.
const BLOCKS: [u64; 9] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];
/// Threads with one request each.
const THREADS: [u16; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Minutes of each point, and of the long run.
const POINT_MINUTES: f64 = 2.0;
const LONG_MINUTES: u32 = 20;

/// Load of one measuring point.
struct Point {
    block: Bytes,
    read_percent: u8,
    is_random: bool,
    threads: u16,
    depth: u16,
}

/// Runs it.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    body.purge = desk.begin(Test::Ezfio)?;
    wipc(desk, body, Bytes::kib(128))?;
    let by_block = |reads, is_random, threads, depth| {
        move |block| Point { block, read_percent: reads, is_random, threads, depth }
    };
    by_blocks(
        desk,
        body,
        "seq_read",
        "SEQ reads, 1 thread, depth 256",
        &by_block(100, false, 1, 256),
    )?;
    by_blocks(
        desk,
        body,
        "rnd_read",
        "RND reads, 16 threads, depth 16",
        &by_block(100, true, 16, 16),
    )?;
    by_blocks(desk, body, "seq_write", "SEQ writes, 1 thread, depth 1", &by_block(0, false, 1, 1))?;
    // Small sequential writes may have left another order than a fill's.
    fill(desk, body, Bytes::kib(128), 1)?;
    to_steady(desk, body)?;
    by_threads(desk, body, "rnd_read_threads", "RND 4 KiB reads by threads, depth 1", 100)?;
    by_threads(desk, body, "mixed_threads", "RND 4 KiB 70/30 by threads, depth 1", 70)?;
    long(desk, body)?;
    by_threads(desk, body, "rnd_write_threads", "RND 4 KiB writes by threads, depth 1", 0)?;
    by_blocks(
        desk,
        body,
        "rnd_write",
        "RND writes, 16 threads, depth 16",
        &by_block(0, true, 16, 16),
    )
}

const COLUMNS: [&str; 6] = ["IOPS", "MB/s", "ART, us", "p99, us", "p99.99, us", "MRT, us"];

fn by_blocks(
    desk: &mut Desk<'_>,
    body: &mut Body,
    key: &str,
    title: &str,
    point: &dyn Fn(Bytes) -> Point,
) -> Result<(), Halt> {
    let mut table = Table::new(title, "block size, B", &COLUMNS);
    let smallest = desk.block_min().0;
    for block in BLOCKS.into_iter().filter(|block| block % smallest == 0) {
        let values = measure(desk, &point(Bytes(block)))?;
        table.push(block.to_string(), values);
        body.tables.insert(key.to_owned(), table.clone());
    }
    desk.whole(&format!("{key} of ezfio"))
}

fn by_threads(
    desk: &mut Desk<'_>,
    body: &mut Body,
    key: &str,
    title: &str,
    read_percent: u8,
) -> Result<(), Halt> {
    let mut table = Table::new(title, "threads", &COLUMNS);
    for threads in THREADS {
        let block = Bytes::kib(4).max(desk.block_min());
        let point = Point { block, read_percent, is_random: true, threads, depth: 1 };
        let values = measure(desk, &point)?;
        table.push(threads.to_string(), values);
        body.tables.insert(key.to_owned(), table.clone());
    }
    desk.whole(&format!("{key} of ezfio"))
}

fn ask(desk: &Desk<'_>, point: &Point, stop: Stop) -> Ask {
    let Point { block, read_percent, is_random, threads, depth } = *point;
    let ask = match is_random {
        true => random(desk.options, block, read_percent, stop),
        false => sequential(desk.options, block, read_percent, 0, stop),
    };
    Ask { threads, depth, ..ask }
}

fn measure(desk: &mut Desk<'_>, point: &Point) -> Result<Vec<Option<f64>>, Halt> {
    let window = desk.stretch(&ask(desk, point, desk.minutes(POINT_MINUTES)))?.window;
    let us = |ns: u64| ns as f64 / 1e3;
    let latency = window.latency_ns;
    Ok(vec![
        Some(window.iops),
        Some(window.mb_s),
        Some(latency.mean / 1e3),
        latency.p99.map(us),
        latency.p9999.map(us),
        Some(us(latency.max)),
    ])
}

/// Twenty minutes of the mix, minute by minute, with all response times.
fn long(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    let title = "RND 4 KiB 70/30, 256 threads, twenty minutes";
    let mut samples = Samples::new(title, desk.region().length);
    let mut all = stats::LatencyHistogram::new();
    for minute in 1..=LONG_MINUTES {
        let block = Bytes::kib(4).max(desk.block_min());
        let point = Point { block, read_percent: 70, is_random: true, threads: 256, depth: 1 };
        let made = desk.stretch(&ask(desk, &point, desk.minutes(1.0)))?;
        samples.push(minute.to_string(), &made.window);
        all.merge(&made.latencies);
    }
    body.tables.insert("long".to_owned(), samples.table());
    body.tables.insert("long_percentiles".to_owned(), percentiles(title, &all));
    desk.whole("the long run of ezfio")
}
