//! Durable writes, flushes and split requests as kernels recorded them, kept beside the repository; what is right was
//! computed by hand from the lines.

use std::path::PathBuf;

use block::Nanos;
use drivescope_trace as trace;
use trace::analyze::body::{Body, Device};
use trace::analyze::{Options, run};
use trace::import::Options as Import;
use trace::{InMemory, Io, Kind, TraceInfo};

use crate::common::{all, text};

/// A recording; `None`, and it says so, where there is none.
fn recorded(name: &str) -> Option<(Vec<Io>, TraceInfo)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/cases/public-2026-11/trace")
        .join(name);
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("skipped: this machine has no {}", path.display());
        return None;
    };
    Some(all(text(&lines, &Import::default()).unwrap()))
}

fn analyzed((ios, info): (Vec<Io>, TraceInfo)) -> Body {
    run(&Options::default(), &mut InMemory::new(info, ios)).unwrap()
}

fn only(body: &Body) -> &Device {
    assert_eq!(body.devices.len(), 1);
    &body.devices[0]
}

/// If it failed, a commit would seem to take as long as its data, and not as long as its submitter waited.
#[test]
fn a_durable_write_ends_with_the_kernels_last_flush() {
    let Some(recorded) = recorded("flush_fua_write.blkparse.txt") else { return };
    let took: Vec<u64> = recorded.0.iter().map(|io| io.q2c().unwrap().0).collect();
    assert_eq!(took, [24_000, 2_320_000]);
    let body = analyzed(recorded);
    assert!((body.phases.q2c.unwrap().mean_ns - 1_172_000.0).abs() < 1.0);
    let flushes = only(&body).drive_flushes.unwrap();
    assert_eq!((flushes.n, flushes.mean_ns, flushes.max_ns), (2, 1_094_000.0, 1_455_000));
    assert_eq!(body.counts.flushes, 0, "none of an application");
}

/// If it failed, a recording of requests would lose its flushes, or claim to know what was waited for before them.
#[test]
fn a_recording_of_requests_keeps_its_flushes() {
    let Some(recorded) = recorded("flush_issue_complete_only.blkparse.txt") else { return };
    let flushes: Vec<&Io> = recorded.0.iter().filter(|io| io.kind == Kind::Flush).collect();
    let took: Vec<u64> = flushes.iter().map(|io| io.d2c().unwrap().0).collect();
    assert_eq!(took, [1_300_130, 1_308_973]);
    let body = analyzed(recorded);
    assert_eq!((body.counts.writes, body.counts.flushes), (2, 2));
    assert!(body.phases.q2q.is_none() && body.phases.q2c.is_none() && body.q2c_sum_s.is_none());
    assert!(body.phases.d2c.is_some() && body.flush_phases.d2c.is_some());
    assert!(body.caveats.iter().any(|caveat| caveat.code == "no_arrivals"));
}

/// If it failed, a flush whose driver leaves the last sector in it would never complete.
#[test]
fn a_flush_completes_with_a_sector_too() {
    let Some((ios, _)) = recorded("flush_completion_sector.blkparse.txt") else { return };
    assert!(ios.iter().all(|io| io.completed.known()), "{ios:?}");
    let flush = ios.iter().find(|io| io.kind == Kind::Flush).unwrap();
    assert_eq!(flush.q2c(), Some(Nanos(20_009_777)));
}

/// If it failed, parts that an old kernel reports repeatedly would end a discard in its middle.
#[test]
fn completions_that_overlap_count_each_sector_once() {
    let Some((ios, _)) = recorded("split_discard_old_kernel.blkparse.txt") else { return };
    let [discard] = &ios[..] else { panic!("{ios:?}") };
    assert_eq!((discard.q2c(), discard.d2c()), (Some(Nanos(549_881)), Some(Nanos(453_300))));
}

/// If it failed, a drive would seem to be sent requests that are longer than it takes.
#[test]
fn parts_of_a_split_bio_are_requests_of_their_own_length() {
    let Some(recorded) = recorded("split_requests.blkparse.txt") else { return };
    let merges = only(&analyzed(recorded)).merges.unwrap();
    let kib = |n: u64| n << 10;
    assert_eq!((merges.queued, merges.issued), (1, 2));
    assert_eq!((merges.request_min_bytes, merges.request_max_bytes), (kib(292), kib(512)));
    assert_eq!(merges.request_mean_bytes, kib(402) as f64);
}

/// If it failed, the greatest second of a long trace would be the mean of several.
#[test]
fn the_greatest_second_is_one_second() {
    let Some(recorded) = recorded("peak_second.alibaba.csv") else { return };
    let rates = analyzed(recorded).rates.unwrap();
    assert!(rates.step_s > 1, "it is long enough for longer steps");
    assert!((500.0..=501.0).contains(&rates.iops_max), "{}", rates.iops_max);
    assert_eq!(rates.bytes_written_per_s_max, 2_048_000.0);
}
