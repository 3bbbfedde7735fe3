//! Figures of each direction from fio's JSON, from which a run can be made.
//!
//! Since version 3 `io_bytes` and `bw_bytes` count bytes, `bw` KiB a second and latencies nanoseconds (`clat_ns`); before, there
//! was no `bw_bytes`, `io_bytes` counted KiB and latencies were in microseconds (`clat`).

use serde_json::Value;

use super::fio_number::{count, float};
use super::measured::{Measured, ToldLatency, Way, histogram};

/// The directions of `job` that had I/Os.
pub(super) fn of(job: &Value) -> Vec<Measured> {
    let ways = [(Way::Read, "read"), (Way::Write, "write")];
    let of_way = |(way, name): (Way, &str)| Some(one(way, job.get(name)?));
    ways.into_iter().filter_map(of_way).filter(|one| one.ios > Some(0)).collect()
}

fn one(way: Way, side: &Value) -> Measured {
    let is_old = side.get("bw_bytes").is_none();
    let kib = if is_old { 1024 } else { 1 };
    // Versions from 3.0 on have `io_kbytes` beside bytes, those up to 3.1 no `bw_bytes`.
    let is_kib = is_old && side.get("io_kbytes").is_none();
    let rate = if is_old { "/bw" } else { "/bw_bytes" };
    let slat = nanoseconds(side, "slat");
    Measured {
        way,
        bytes: Some(count(side, "/io_bytes").saturating_mul(if is_kib { 1024 } else { 1 })),
        ios: Some(count(side, "/total_ios")),
        duration_ns: Some(count(side, "/runtime").saturating_mul(1_000_000)),
        bytes_per_s: float(side, rate).unwrap_or(0.0) * kib as f64,
        iops: float(side, "/iops"),
        submission_ns: slat.and_then(|(slat, scale)| Some(float(slat, "/mean")? * scale)),
        latency: latency(side),
    }
}

/// The table of a latency, and what its figures are to be multiplied by.
fn nanoseconds<'a>(side: &'a Value, name: &str) -> Option<(&'a Value, f64)> {
    let new = side.get(format!("{name}_ns")).map(|table| (table, 1.0));
    new.or_else(|| side.get(name).map(|table| (table, 1e3)))
}

/// From issue to completion, which is `clat`. With `lat_percentiles` alone the percentiles are those of `lat`, which includes
/// the time of the submission; then mean and ends are those of `lat` too.
fn latency(side: &Value) -> ToldLatency {
    let has_more = |(table, _): &(&Value, f64)| {
        table.get("percentile").is_some() || table.get("bins").is_some()
    };
    let clat = nanoseconds(side, "clat").filter(|clat| count(clat.0, "/max") > 0);
    let lat = nanoseconds(side, "lat").filter(has_more);
    let Some((table, scale)) = clat.filter(has_more).or(lat).or(clat) else {
        return ToldLatency::default();
    };
    let scaled = |x: f64| (x * scale) as u64;
    let entries = |name: &str| table.get(name).and_then(Value::as_object).into_iter().flatten();
    let mut percentiles: Vec<(f64, u64)> = entries("percentile")
        .filter_map(|(name, value)| Some((name.parse().ok()?, scaled(value.as_f64()?))))
        .filter(|(percent, _)| (0.0..=100.0).contains(percent))
        .collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ends = ["/min", "/max"].map(|end| float(table, end).map(scaled));
    let bins = entries("bins").filter_map(|(name, count)| {
        Some((scaled(name.parse::<u64>().ok()? as f64), count.as_u64()?))
    });
    ToldLatency {
        mean_ns: float(table, "/mean").map(|mean| mean * scale),
        min_ns: ends[0],
        max_ns: ends[1],
        percentiles,
        histogram: histogram(bins, ends[0], ends[1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // KiB taken for bytes, or microseconds for nanoseconds, would be off by a thousand.
    #[test]
    fn units_are_those_of_the_version() {
        let new = json!({ "read": {
            "io_bytes": 4096, "io_kbytes": 4, "bw_bytes": 8192, "bw": 8, "iops": 2.0, "runtime": 500, "total_ios": 1,
            "slat_ns": { "min": 1, "max": 1, "mean": 1.0 },
            "clat_ns": { "min": 90, "max": 100, "mean": 95.5, "percentile": { "99.000000": 99, "1.000000": 91 },
                         "bins": { "90": 1, "100": 1 } },
        }});
        let found = &of(&new)[0];
        assert_eq!(
            (found.bytes, found.ios, found.duration_ns),
            (Some(4096), Some(1), Some(500_000_000))
        );
        assert_eq!((found.bytes_per_s, found.iops), (8192.0, Some(2.0)));
        assert_eq!(found.latency.percentiles, [(1.0, 91), (99.0, 99)]);
        assert_eq!(found.latency.histogram.as_ref().unwrap().count(), 2);
        let between = json!({ "write": { "io_bytes": 4096, "io_kbytes": 4, "bw": 8, "iops": 2.0, "total_ios": 1 } });
        assert_eq!((of(&between)[0].bytes, of(&between)[0].bytes_per_s), (Some(4096), 8192.0));
        let old = json!({ "write": { "io_bytes": 4, "bw": 8, "iops": 2.0, "runtime": 500, "total_ios": 1,
            "clat": { "min": 9, "max": 10, "mean": 9.5 } } });
        let found = &of(&old)[0];
        assert_eq!((found.way, found.bytes, found.bytes_per_s), (Way::Write, Some(4096), 8192.0));
        assert_eq!((found.latency.mean_ns, found.latency.max_ns), (Some(9500.0), Some(10_000)));
        assert!(found.latency.histogram.is_none());
    }
}
