//! fio's JSON: `json` and `json+` of version 3, and what version 2 wrote.

use std::collections::BTreeMap;

use drivescope_pts::judge::Format;
use drivescope_pts::judge::measured::{Measured, Way, joined};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{cut, cut_is_no_part, ended, near, read_one, shares};

/// One direction, in units that both generations of fio can write: whole KiB and microseconds.
#[derive(Clone, Debug)]
struct Side {
    ios: u64,
    kib: u64,
    kib_per_s: u64,
    iops_milli: u64,
    runtime_ms: u64,
    slat_us: u64,
    clat_us: [u64; 3],
    percentiles: BTreeMap<u32, u64>,
    bins: BTreeMap<usize, u64>,
}

fn sides() -> impl Strategy<Value = Side> {
    let counts = (1..1_u64 << 40, 1..1_u64 << 40, 1..1_u64 << 30, 1..1_u64 << 40, 1..1_u64 << 32);
    let times = (0..1_000_u64, 1..1_000_u64, 0..1_000_000_u64, 0..1_000_000_u64);
    // Percentiles in thousandths: fio writes six decimal places and takes any list.
    let percentiles = prop::collection::btree_map(1_u32..100_000, 1..10_000_000_u64, 0..20);
    let bins = prop::collection::btree_map(1_usize..stats::fio_bins::COUNT, 1..1_000_u64, 1..20);
    (counts, times, percentiles, bins).prop_map(|(counts, times, percentiles, bins)| Side {
        ios: counts.0,
        kib: counts.1,
        kib_per_s: counts.2,
        iops_milli: counts.3,
        runtime_ms: counts.4,
        slat_us: times.0,
        clat_us: [times.1, times.1 + times.2 / 2, times.1 + times.2 + times.3],
        percentiles,
        bins,
    })
}

impl Side {
    fn written(&self, is_old: bool, has_bins: bool) -> Value {
        let (ns, name) = if is_old { (1, "") } else { (1000, "_ns") };
        let [min, mean, max] = self.clat_us.map(|us| us * ns);
        let percentile = |(thousandths, us): (&u32, &u64)| {
            (format!("{:.6}", f64::from(*thousandths) / 1e3), json!(us * ns))
        };
        let percentiles: Map<String, Value> = self.percentiles.iter().map(percentile).collect();
        let mut clat = json!({ "min": min, "max": max, "mean": mean as f64, "stddev": 1.5, "N": self.ios,
            "percentile": percentiles });
        if has_bins {
            let bin = |(at, count): (&usize, &u64)| {
                (stats::fio_bins::middle_ns(*at).to_string(), json!(count))
            };
            clat["bins"] = Value::Object(self.bins.iter().map(bin).collect());
        }
        let mut side = json!({ "iops": self.iops_milli as f64 / 1e3, "runtime": self.runtime_ms,
            "total_ios": self.ios, "short_ios": 0, "bw": self.kib_per_s, "bw_min": 1, "bw_agg": 100.0 });
        let slat =
            json!({ "min": 0, "max": self.slat_us * ns, "mean": (self.slat_us * ns) as f64 });
        side[format!("slat{name}")] = slat;
        side[format!("clat{name}")] = clat;
        side[format!("lat{name}")] = json!({ "min": min, "max": max * 2, "mean": (mean * 2) as f64,
            "percentile": { "50.000000": mean * 2 } });
        if is_old {
            side["io_bytes"] = json!(self.kib);
        } else {
            side["io_bytes"] = json!(self.kib * 1024);
            side["io_kbytes"] = json!(self.kib);
            side["bw_bytes"] = json!(self.kib_per_s * 1024);
        }
        side
    }

    fn check(&self, way: Way, found: &Measured, has_bins: bool) -> Result<(), TestCaseError> {
        prop_assert_eq!(found.way, way);
        prop_assert_eq!((found.bytes, found.ios), (Some(self.kib * 1024), Some(self.ios)));
        prop_assert_eq!(found.duration_ns, Some(self.runtime_ms * 1_000_000));
        prop_assert!(near(found.bytes_per_s, self.kib_per_s as f64 * 1024.0));
        prop_assert!(near(found.iops.unwrap(), self.iops_milli as f64 / 1e3));
        prop_assert!(near(found.submission_ns.unwrap(), self.slat_us as f64 * 1e3));
        let latency = &found.latency;
        let [min, mean, max] = self.clat_us.map(|us| us * 1000);
        prop_assert_eq!((latency.min_ns, latency.max_ns), (Some(min), Some(max)));
        prop_assert!(near(latency.mean_ns.unwrap(), mean as f64));
        let expected: Vec<u64> = self.percentiles.values().map(|us| us * 1000).collect();
        let values: Vec<u64> = latency.percentiles.iter().map(|(_, ns)| *ns).collect();
        prop_assert_eq!(values, expected);
        for (thousandths, us) in &self.percentiles {
            let value = latency.percentile(f64::from(*thousandths) / 1e3);
            prop_assert_eq!(value, Some(us * 1000));
        }
        let count = latency.histogram.as_ref().map(|all| all.count());
        prop_assert_eq!(count, has_bins.then(|| self.bins.values().sum()));
        Ok(())
    }
}

/// A job of one load, with all of its threads in one.
#[derive(Clone, Debug)]
struct Job {
    rw: &'static str,
    block: (&'static str, u64),
    depth: u16,
    threads: u16,
    mix: u8,
    is_mix_of_writes: bool,
    runtime: (&'static str, u64),
    direct: bool,
    is_global: bool,
    read: Side,
    write: Side,
}

const WAYS: [&str; 6] = ["read", "write", "randread", "randwrite", "rw", "randrw"];
const BLOCKS: [(&str, u64); 8] = [
    ("512", 512),
    ("4k", 4096),
    ("4K", 4096),
    ("4kb", 4096),
    ("8ki", 8192),
    ("131072", 131_072),
    ("1M", 1 << 20),
    ("4kib", 4000),
];
const TIMES: [(&str, u64); 5] = [("30", 30), ("7s", 7), ("2m", 120), ("1h", 3600), ("1500ms", 0)];

fn jobs() -> impl Strategy<Value = Job> {
    let load = (
        prop::sample::select(&WAYS),
        prop::sample::select(&BLOCKS),
        1..4096_u16,
        1..64_u16,
        1..100_u8,
        any::<bool>(),
    );
    let rest = (prop::sample::select(&TIMES), any::<bool>(), any::<bool>(), sides(), sides());
    (load, rest).prop_map(|(load, rest)| Job {
        rw: load.0,
        block: load.1,
        depth: load.2,
        threads: load.3,
        mix: load.4,
        is_mix_of_writes: load.5,
        runtime: rest.0,
        direct: rest.1,
        is_global: rest.2,
        read: rest.3,
        write: rest.4,
    })
}

impl Job {
    fn has(&self, way: Way) -> bool {
        let other = if way == Way::Read { "write" } else { "read" };
        !self.rw.ends_with(other)
    }

    fn is_mix(&self) -> bool {
        self.has(Way::Read) && self.has(Way::Write)
    }

    fn options(&self) -> Value {
        let mut options = json!({ "rw": self.rw, "bs": self.block.0, "iodepth": self.depth.to_string(),
            "numjobs": self.threads.to_string(), "runtime": self.runtime.0, "ioengine": "libaio",
            "direct": u8::from(self.direct).to_string(), "filename": "/dev/sdz" });
        if self.is_mix() {
            let (name, share) = match self.is_mix_of_writes {
                true => ("rwmixwrite", 100 - self.mix),
                false => ("rwmixread", self.mix),
            };
            options[name] = json!(share.to_string());
        }
        options
    }

    /// The job as fio lists it, whatever it was called.
    fn written(&self, name: &str, is_old: bool, has_bins: bool) -> Value {
        let mut job = json!({ "jobname": name, "groupid": 0, "error": 0, "elapsed": 31 });
        for (way, word, side) in
            [(Way::Read, "read", &self.read), (Way::Write, "write", &self.write)]
        {
            job[word] = match self.has(way) {
                true => side.written(is_old, has_bins),
                false => {
                    json!({ "io_bytes": 0, "total_ios": 0, "runtime": 0, "bw": 0, "bw_bytes": 0, "iops": 0.0 })
                }
            };
        }
        job["job options"] = if self.is_global { json!({ "name": name }) } else { self.options() };
        job
    }
}

/// Adds fields that no version of fio has, at every level.
fn with_more(value: &mut Value, name: &str) {
    if let Value::Object(table) = value {
        table.values_mut().for_each(|inner| with_more(inner, name));
        // Among percentiles, bins and options a new name would be a percentile, a bin and an option.
        let first = table.keys().next().cloned().unwrap_or_default();
        if first.parse::<f64>().is_err() && !table.contains_key("name") && !table.contains_key("rw")
        {
            table.insert(format!("zz_{name}"), json!({ "bins": [1, "x", null] }));
        }
    } else if let Value::Array(list) = value {
        list.iter_mut().for_each(|inner| with_more(inner, name));
    }
}

fn document(jobs: Vec<Value>, global: &Value) -> Value {
    json!({ "fio version": "fio-3.38", "timestamp": 1_700_000_000, "time": "Tue Nov 14 2023",
        "global options": global, "jobs": jobs, "disk_util": [{ "name": "sdz", "read_ios": 1 }] })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // A figure of another job, direction, unit or size of block is a result that was never measured.
    #[test]
    fn a_document_is_read_as_it_was_written(
        job in jobs(),
        is_old in any::<bool>(),
        has_bins in any::<bool>(),
        is_windows in any::<bool>(),
        is_compact in any::<bool>(),
        around in prop::sample::select(&["", "fio: file /dev/sdz {0} is busy\n\n", "note: both iodepth >= 1\n"]),
        more in prop::option::of("[a-z]{1,8}"),
    ) {
        let has_bins = has_bins && !is_old;
        let global = if job.is_global { job.options() } else { json!({ "size": "1g" }) };
        let mut document = document(vec![job.written("a job", is_old, has_bins)], &global);
        if let Some(name) = &more {
            with_more(&mut document, name);
        }
        let text = match is_compact {
            true => document.to_string(),
            false => serde_json::to_string_pretty(&document).unwrap(),
        };
        let text = ended(&format!("{around}{text}\n{around}"), is_windows);
        let results = read_one("f.json", &text).unwrap();
        prop_assert_eq!(results.len(), 1);
        let (result, asked) = (&results[0], &results[0].asked);
        prop_assert_eq!(&result.name, "a job");
        prop_assert_eq!(result.load.block_bytes, Some(job.block.1));
        prop_assert_eq!((asked.depth, asked.threads), (Some(job.depth), Some(job.threads)));
        prop_assert_eq!(asked.random, Some(job.rw.starts_with("rand")));
        prop_assert_eq!(asked.reads_percent, job.is_mix().then_some(job.mix));
        prop_assert_eq!((asked.direct, asked.engine.as_deref()), (Some(job.direct), Some("libaio")));
        prop_assert_eq!(asked.target.as_deref(), Some("/dev/sdz"));
        let seconds = if job.runtime.1 > 0 { job.runtime.1 as f64 } else { 1.5 };
        prop_assert_eq!(asked.duration.map(|time| time.as_secs_f64()), Some(seconds));
        let ways: Vec<(Way, &Side)> = [(Way::Read, &job.read), (Way::Write, &job.write)]
            .into_iter()
            .filter(|(way, _)| job.has(*way))
            .collect();
        prop_assert_eq!(result.measured.len(), ways.len());
        for ((way, side), found) in ways.into_iter().zip(&result.measured) {
            side.check(way, found, has_bins)?;
        }
    }

    // Jobs that take each other's figures or options would exchange two tests by the order of a job file.
    #[test]
    fn the_order_of_jobs_does_not_matter(
        (jobs, order) in prop::collection::vec(jobs(), 2..5).prop_flat_map(|jobs| {
            let order: Vec<usize> = (0..jobs.len()).collect();
            (Just(jobs), Just(order).prop_shuffle())
        }),
    ) {
        let jobs: Vec<Value> = jobs
            .iter()
            .enumerate()
            .map(|(at, job)| Job { is_global: false, ..job.clone() }.written(&format!("job{at}"), false, true))
            .collect();
        let read = |jobs: Vec<Value>| read_one("f.json", &document(jobs, &json!({})).to_string()).unwrap();
        let as_written = read(jobs.clone());
        let shuffled = read(order.iter().map(|at| jobs[*at].clone()).collect());
        for (place, at) in order.iter().enumerate() {
            prop_assert_eq!(&shuffled[place], &as_written[*at]);
        }
    }

    // A thread too few is a slower drive, and means that weigh each thread alike are those of none.
    #[test]
    fn threads_that_are_listed_one_by_one_are_one_run(
        job in jobs(),
        (threads, order) in prop::collection::vec(sides(), 2..7).prop_flat_map(|sides| {
            let order: Vec<usize> = (0..sides.len()).collect();
            (Just(sides), Just(order).prop_shuffle())
        }),
    ) {
        let of = |side: &Side| Job {
            rw: "randread",
            threads: threads.len() as u16,
            is_global: false,
            read: side.clone(),
            ..job.clone()
        };
        let listed = order.iter().map(|at| of(&threads[*at]).written("t", false, true)).collect();
        let text = document(listed, &json!({})).to_string();
        let results = joined(read_one("f.json", &text).unwrap());
        prop_assert_eq!(results.len(), 1);
        prop_assert_eq!(results[0].asked.threads, Some(threads.len() as u16));
        let [found] = results[0].measured.as_slice() else { panic!("{results:?}") };
        let sum = |of: fn(&Side) -> u64| threads.iter().map(of).sum::<u64>();
        prop_assert_eq!(found.ios, Some(sum(|side| side.ios)));
        prop_assert_eq!(found.bytes, Some(sum(|side| side.kib * 1024)));
        prop_assert!(near(found.bytes_per_s, sum(|side| side.kib_per_s) as f64 * 1024.0));
        prop_assert!(near(found.iops.unwrap(), sum(|side| side.iops_milli) as f64 / 1e3));
        let longest = threads.iter().map(|side| side.runtime_ms).max().unwrap();
        prop_assert_eq!(found.duration_ns, Some(longest * 1_000_000));
        let mean = |of: fn(&Side) -> u64| {
            let weighed: f64 = threads.iter().map(|side| side.ios as f64 * of(side) as f64).sum();
            1e3 * weighed / sum(|side| side.ios) as f64
        };
        prop_assert!(near(found.latency.mean_ns.unwrap(), mean(|side| side.clat_us[1])));
        prop_assert!(near(found.submission_ns.unwrap(), mean(|side| side.slat_us)));
        let count = found.latency.histogram.as_ref().unwrap().count();
        prop_assert_eq!(count, sum(|side| side.bins.values().sum()));
        prop_assert!(found.latency.percentiles.is_empty());
    }

    // A document without its end has lost jobs; with --status-interval the one before it is of a part of the run.
    #[test]
    fn a_document_that_was_cut_off_is_refused_with_its_line(
        jobs in prop::collection::vec(jobs(), 1..4),
        has_earlier in any::<bool>(),
        share in shares(),
    ) {
        let jobs = (0..).zip(&jobs).map(|(at, job): (u8, &Job)| job.written(&format!("job{at}"), false, false));
        let text = serde_json::to_string_pretty(&document(jobs.collect(), &json!({}))).unwrap();
        if cut(&text, share).is_empty() {
            return Ok(());
        }
        let whole = if has_earlier { format!("{text}\n{text}") } else { text.clone() };
        let at = whole.len() - text.len() + cut(&text, share).len();
        let line = cut_is_no_part("f.json", Format::FioJson, &whole, (at as f64 + 0.5) / whole.len() as f64)?;
        let cut_line = whole[..at].lines().count() as u64;
        prop_assert!(line.is_some_and(|line| line == cut_line || line == cut_line + 1), "{line:?} {cut_line}");
    }
}
