//! The latency test: one request at a time, in rounds until the mean of the writes of 4 KiB is steady; then twenty
//! minutes of them with every response time.

use block::Bytes;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::Test;
use crate::precondition::wipc;
use crate::table::Table;
use crate::tests::{histogram, open_loop, percentiles, random};
use crate::tracker::{Figure, Tracker};
use crate::window::Window;

const READS: [u8; 3] = [100, 65, 0];
const BLOCKS: [Bytes; 3] = [Bytes::kib(8), Bytes::kib(4), Bytes(512)];
const TRACKED: (u8, Bytes) = (0, Bytes::kib(4));
/// Minutes of the run whose response times are all kept.
const LOGGED_MINUTES: f64 = 20.0;

/// Runs it.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    body.purge = desk.begin(Test::Latency)?;
    wipc(desk, body, Bytes::kib(128))?;
    let smallest = desk.block_min();
    let blocks: Vec<Bytes> = BLOCKS.into_iter().filter(|block| *block >= smallest).collect();
    if blocks.len() < BLOCKS.len() {
        body.deviations
            .push(format!("blocks below the drive's own of {} are left out", smallest.human()));
    }
    let mut tracker = Tracker::new(desk, body, (Figure::MeanLatency, "RND 4KiB 0/100"));
    let mut rounds: Vec<Vec<Window>> = Vec::new();
    for round in 1..=tracker.rounds_max() {
        let (mut windows, mut tracked) = (Vec::new(), None);
        for reads in READS {
            for block in &blocks {
                let ask = random(desk.options, *block, reads, desk.minutes(1.0));
                let ask = Ask { round: Some(round), threads: 1, depth: 1, ..ask };
                let made = desk.stretch(&ask)?;
                tracker.see(&made, (reads, *block) == TRACKED);
                if (reads, *block) == TRACKED {
                    tracked = Some(made.window.clone());
                }
                windows.push(made.window);
            }
        }
        rounds.push(windows);
        tabulate(body, &blocks, &rounds);
        if let Some(tracked) = tracked {
            tracker.round(desk, round, tracked);
        }
        desk.whole(&format!("round {round} of latency"))?;
        tracker.tell(body);
        if tracker.is_over() {
            break;
        }
    }
    let ask = random(desk.options, Bytes::kib(4), 0, desk.minutes(LOGGED_MINUTES));
    let ask = Ask { threads: 1, depth: 1, ..ask };
    let made = desk.stretch(&ask)?;
    let title = "Response times of RND 4 KiB writes, one at a time";
    body.tables.insert("histogram".to_owned(), histogram(title, &made.latencies));
    body.tables.insert("percentiles".to_owned(), percentiles(title, &made.latencies));
    desk.whole("the response times of latency")?;
    open_loop(desk, body, &ask, made.window.iops)
}

fn label(block: Bytes) -> String {
    if block.0 < 1024 { "0.5 KiB".to_owned() } else { format!("{} KiB", block.0 / 1024) }
}

/// The specification's tables: mean, greatest and five nines by block size and share of reads; and the writes by round.
fn tabulate(body: &mut Body, blocks: &[Bytes], rounds: &[Vec<Window>]) {
    let last = &rounds[rounds.len().saturating_sub(5)..];
    let names: Vec<String> = READS.iter().map(|r| format!("{r}/{}, us", 100 - r)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut of =
        |key: &str, title: &str, figure: &dyn Fn(&Window) -> Option<f64>, is_mean: bool| {
            let mut table = Table::new(title, "block size", &names);
            for (at, block) in blocks.iter().enumerate() {
                let value = |reads: usize| {
                    let cells =
                        last.iter().filter_map(|round| round.get(reads * blocks.len() + at));
                    let values: Vec<f64> = cells.filter_map(figure).collect();
                    let sum = values.iter().sum::<f64>() / values.len() as f64;
                    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    (!values.is_empty()).then_some(if is_mean { sum } else { most })
                };
                table.push(label(*block), (0..READS.len()).map(value).collect());
            }
            body.tables.insert(key.to_owned(), table);
        };
    of("mean", "Mean response time, last five rounds", &|w| Some(w.latency_ns.mean / 1e3), true);
    of(
        "five_nines",
        "99.999% of response times, greatest of the last five rounds",
        &|w| w.latency_ns.p99999.map(|ns| ns as f64 / 1e3),
        false,
    );
    of(
        "max",
        "Greatest response time, last five rounds",
        &|w| Some(w.latency_ns.max as f64 / 1e3),
        false,
    );
    for (key, title, is_mean) in [
        ("convergence_mean", "Steady-state convergence: mean response time by round", true),
        ("convergence_max", "Steady-state convergence: greatest response time by round", false),
    ] {
        let names: Vec<String> =
            blocks.iter().map(|b| format!("{} 0/100, us", label(*b))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut table = Table::new(title, "round", &names);
        for (at, round) in rounds.iter().enumerate() {
            let writes = round.iter().skip((READS.len() - 1) * blocks.len());
            let figure = |w: &Window| match is_mean {
                true => w.latency_ns.mean / 1e3,
                false => w.latency_ns.max as f64 / 1e3,
            };
            table.push((at + 1).to_string(), writes.map(|w| Some(figure(w))).collect());
        }
        body.tables.insert(key.to_owned(), table);
    }
}
