//! Write saturation: random writes from a purge on, minute by minute, until the drive is through with its first life.

use block::Bytes;
use stats::LatencyHistogram;
use workload::address::BlockShare;

use crate::ask::Ask;
use crate::body::{Body, StageKind};
use crate::desk::{Desk, Halt, Made};
use crate::options::{Addresses, Load, Options, Rule, Test};
use crate::precondition::{add, stage_of, until_steady};
use crate::tests::enterprise::{COMPOSITE_ZONES, composite_blocks};
use crate::tests::{
    Curve, Samples, addresses, histogram, open_loop, percentiles, random, sequential,
};
use crate::tracker::{Figure, Tracker};

/// The specification ends after this many fills, or this many minutes.
const FILLS_MAX: f64 = 4.0;
const MINUTES_MAX: u32 = 24 * 60;
/// Ours ends when the drive is steady, but after this many fills at the latest.
const FILLS_MAX_BYTES: f64 = 60.0;
/// Minutes of the run whose response times are all kept.
const LOGGED_MINUTES: f64 = 20.0;

/// Runs it.
///
/// # Errors
/// [`Halt`].
pub fn run(desk: &mut Desk<'_>, body: &mut Body) -> Result<(), Halt> {
    body.purge = desk.begin(Test::Wsat)?;
    let load = desk.options.wsat;
    let range = desk.region().length;
    let mut tracker = Tracker::new(desk, body, (Figure::Iops, &words(load)));
    if desk.options.until == Rule::Pts {
        tracker.ends_after(FILLS_MAX);
    }
    let mut samples = Samples::new("Samples of a minute", range);
    let mut curve = Curve::default();
    let mut stage = None;
    let (mut taken, mut unique, mut minute) = (0, 0, 0);
    let ended = loop {
        minute += 1;
        let stop = desk.minutes(1.0);
        let ask = ask(desk, load, taken, stop, &composite_blocks(desk.block_min()));
        let made = match desk.stretch(&Ask { round: Some(minute), ..ask }) {
            Ok(made) => made,
            Err(halt) => break Err(halt),
        };
        taken += made.window.ios_issued;
        unique += made.window.unique_bytes;
        samples.push(minute.to_string(), &made.window);
        curve.push(&made.window);
        add(stage.get_or_insert_with(|| stage_of(StageKind::Wdpc, &made.window)), &made, range);
        tracker.see(&made, true);
        tracker.round(desk, minute, made.window);
        if let Err(halt) = desk.whole(&format!("minute {minute} of wsat")) {
            break Err(halt);
        }
        let fills = stage.as_ref().map_or(0.0, |stage| stage.fills);
        let is_over = match desk.options.until {
            Rule::Pts => fills >= FILLS_MAX || minute >= MINUTES_MAX,
            Rule::Bytes => tracker.is_over() || fills >= FILLS_MAX_BYTES,
            Rule::Fills(wanted) => fills >= wanted,
        };
        if is_over {
            break Ok(());
        }
    };
    if let Some(mut stage) = stage {
        finish_stage(&mut stage, desk.options, (unique, range), tracker.is_steady());
        body.preconditioning.push(stage);
    }
    body.tables.insert("samples".to_owned(), samples.table());
    body.tables.insert("curve".to_owned(), curve.table("IOPS over time"));
    tracker.tell(body);
    ended?;
    let stop = desk.minutes(LOGGED_MINUTES);
    let blocks = composite_blocks(desk.block_min());
    let made = desk.stretch(&ask(desk, load, taken, stop, &blocks))?;
    // Later measurements may void an acceptance.
    tracker.see(&made, true);
    tracker.tell(body);
    logged(body, &made, load);
    desk.whole("the response times of wsat")?;
    let onward = ask(desk, load, taken + made.window.ios_issued, stop, &blocks);
    open_loop(desk, body, &onward, made.window.iops)
}

fn logged(body: &mut Body, made: &Made, load: Load) {
    let title = format!("Response times of {} after saturation", words(load));
    let latencies: &LatencyHistogram = &made.latencies;
    body.tables.insert("histogram".to_owned(), histogram(&title, latencies));
    body.tables.insert("percentiles".to_owned(), percentiles(&title, latencies));
}

/// Rates the writes as preconditioning: coverage, acceptance and the reason for it.
fn finish_stage(
    stage: &mut crate::body::Preconditioning,
    options: &Options,
    (unique, range): (u64, Bytes),
    is_steady: bool,
) {
    let range = range.0.max(1) as f64;
    // Of independent draws a share of e^-fills is never reached; an order reaches all in its first pass.
    let expected = match options.addresses {
        Addresses::Fresh | Addresses::Replayed => stage.fills.min(1.0),
        Addresses::Uniform | Addresses::HotCold => 1.0 - (-stage.fills).exp(),
    };
    stage.coverage = expected.min(unique as f64 / range);
    let is_replayed = options.addresses == Addresses::Replayed;
    if matches!(options.addresses, Addresses::Fresh | Addresses::Replayed) {
        stage.overwrite_distance_bytes = is_replayed.then_some(range as u64);
    }
    stage.is_accepted = is_steady && !is_replayed;
    stage.reason = match is_replayed {
        true => "every pass wrote the blocks in the order of the first, which a drive that writes out of place \
                      takes for sequential: nothing is ever moved, and the drive stays as fast as when it was empty"
            .to_owned(),
        false => until_steady(stage.fills, is_steady),
    };
}

/// A load in words.
pub(crate) fn words(load: Load) -> String {
    if load.is_composite {
        return format!("composite {}/{}", load.read_percent, 100 - load.read_percent);
    }
    let pattern = if load.is_random { "RND" } else { "SEQ" };
    format!("{pattern} {} {}/{}", load.block, load.read_percent, 100 - load.read_percent)
}

/// A stretch of `load`, after `taken` I/Os of it.
pub(crate) fn ask(
    desk: &Desk<'_>,
    load: Load,
    taken: u64,
    stop: workload::plan::Stop,
    composite: &[BlockShare],
) -> Ask {
    let options = desk.options;
    if load.is_composite {
        let block = composite.iter().map(|share| share.block).max().unwrap_or(load.block);
        let address = COMPOSITE_ZONES;
        let ask = random(options, block, load.read_percent, stop);
        return Ask { blocks: composite.to_vec(), address, ..ask };
    }
    if !load.is_random {
        let blocks = (desk.region().length.0 / load.block.0).max(1);
        return sequential(options, load.block, load.read_percent, taken % blocks, stop);
    }
    Ask {
        address: addresses(options, taken),
        ..random(options, load.block, load.read_percent, stop)
    }
}
