//! Load that a trace requests, whatever its outcome, as a table and a few sentences.

use report::Table;
use report::number::{bytes, digits, nanoseconds, share};
use trace::analyze::body::Body;
use trace::analyze::bursts::BurstsBody;
use trace::analyze::mix::{Aligned, MixBody};
use trace::analyze::regions::RegionsBody;
use trace::analyze::reuse::ReuseBody;
use trace::analyze::sequential::SequentialBody;
use trace::analyze::sizes::SizeTable;
use trace::analyze::working_set::WorkingSetBody;

use super::{heads, maybe};

/// Number of caches whose miss ratio is shown.
const CACHES: usize = 3;

/// Sizes of reads and writes, and under them how they come and where they go.
pub fn table(body: &Body) -> Option<Table> {
    let load = &body.load;
    let sizes = load.sizes.as_ref()?;
    let notes = [
        load.mix.as_ref().and_then(aligned),
        load.sequential.as_ref().and_then(sequential),
        load.bursts.as_ref().and_then(bursts),
        load.working_set.as_ref().and_then(working_set),
        load.reuse.as_ref().and_then(reuse),
        load.regions.as_ref().and_then(regions),
    ];
    let rows = [("reads", &sizes.reads), ("writes", &sizes.writes), ("discards", &sizes.discards)];
    Some(Table {
        title: "Sizes".to_owned(),
        columns: heads(&["I/Os", "mean", "p50", "p99", "max", "most common"]),
        rows: rows.into_iter().filter_map(|(name, table)| row(name, table)).collect(),
        notes: notes.into_iter().flatten().collect(),
    })
}

fn row(name: &str, table: &SizeTable) -> Option<(String, Vec<String>)> {
    let of = |size: Option<u64>| maybe(size, |size| bytes(size as f64));
    let common = maybe(table.common.first(), |common| {
        format!("{} ({})", bytes(common.bytes as f64), share(common.share))
    });
    let fields = vec![
        table.ios.to_string(),
        bytes(table.mean_bytes?.round()),
        of(table.p50_bytes),
        of(table.p99_bytes),
        of(table.max_bytes),
        common,
    ];
    Some((name.to_owned(), fields))
}

/// The largest unit that nearly all I/Os keep to.
fn aligned(mix: &MixBody) -> Option<String> {
    let unit = |aligned: &Aligned| {
        let most = |whole: u64| whole as f64 >= 0.99 * aligned.ios as f64;
        let units = aligned.units.iter().filter(|unit| most(unit.whole));
        units.map(|unit| unit.unit_bytes).max()
    };
    let words = [("reads", &mix.reads), ("writes", &mix.writes)];
    let words = words.into_iter().filter(|(_, aligned)| aligned.ios > 0).map(|(name, aligned)| {
        let to = unit(aligned).map_or_else(|| "nothing".to_owned(), |unit| bytes(unit as f64));
        format!("{name} to {to}")
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("aligned: {}", words.join(", ")))
}

fn sequential(body: &SequentialBody) -> Option<String> {
    let of = |share_of: Option<f64>| maybe(share_of, share);
    body.transfers.share?;
    Some(format!(
        "sequential: {} of reads and {} of writes go on with one of the last {} streams",
        of(body.reads.share),
        of(body.writes.share),
        body.streams
    ))
}

fn bursts(body: &BurstsBody) -> Option<String> {
    let cv = body.gaps.cv?;
    let mut words = format!(
        "bursts: gaps of {} on average, CV {}",
        nanoseconds(body.gaps.mean_ns?),
        digits(cv)
    );
    // The window in which the load is least even, of those that have a mean worth the name.
    let peak = body.windows.iter().filter(|w| w.mean_ios.is_some_and(|mean| mean >= 1.0));
    let peak = peak.filter_map(|w| Some((w.window_ns, w.peak_to_mean?)));
    if let Some((window, ratio)) = peak.max_by(|a, b| a.1.total_cmp(&b.1)) {
        words +=
            &format!("; {} times the mean within {}", digits(ratio), nanoseconds(window as f64));
    }
    if let Some(idle) = body.idle.share {
        words += &format!("; idle {} of the time", share(idle));
    }
    Some(words)
}

fn working_set(body: &WorkingSetBody) -> Option<String> {
    let of = |size: u64| bytes(size as f64);
    let distinct = &body.distinct;
    let about = if body.exact { "" } else { "about " };
    let mut words = format!(
        "working set: {about}{} ({} read, {} written)",
        of(distinct.total_bytes),
        of(distinct.read_bytes),
        of(distinct.written_bytes)
    );
    if let (Some(again), Some(distance)) = (body.updates.overwrites, body.updates.p50_bytes)
        && body.updates.block_writes > 0
    {
        let part = again as f64 / body.updates.block_writes as f64;
        words += &format!(
            "; {} of writes are overwrites, after {} of others (median)",
            share(part),
            of(distance)
        );
    }
    (distinct.total_bytes > 0).then_some(words)
}

fn reuse(body: &ReuseBody) -> Option<String> {
    let curve = &body.curve;
    let usable: Vec<_> =
        curve.iter().filter(|point| point.cache_bytes >= body.least_bytes).collect();
    let last = usable.len().checked_sub(1)?;
    // From the smallest cache to the one that holds all, evenly.
    let mut told: Vec<_> = (0..CACHES).map(|i| usable[last * i / (CACHES - 1)]).collect();
    told.dedup_by_key(|point| point.cache_bytes);
    let told = told.into_iter().map(|point| {
        format!("{} would miss {}", bytes(point.cache_bytes as f64), share(point.miss_ratio))
    });
    Some(format!("reuse: a cache of {}", told.collect::<Vec<_>>().join(", of ")))
}

fn regions(body: &RegionsBody) -> Option<String> {
    let hottest = body.all.hottest.iter().find(|hottest| hottest.percent == 10)?;
    Some(format!(
        "hot regions: {} of I/Os go to the hottest {} of {} regions of {}",
        share(hottest.ios_share),
        hottest.regions,
        body.all.regions,
        bytes(body.region_bytes as f64)
    ))
}
