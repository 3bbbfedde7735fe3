//! Burst and sustained rate of writes, on virtual drives whose single-bit cache is known.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use common::{mark, run};
use serde_json::Value;

/// Writes in order, and what they say of the burst.
fn writes(target: &str, more: &[&str]) -> Value {
    let args = ["--write-only", "--tests=SEQ1MQ8T1", "--seed=3"];
    let body = mark(target, &[&args, more].concat()).body();
    common::tests(&body)[0]["writes"].clone()
}

/// The truth about a virtual drive: bytes that its single-bit cache holds, if it has one, and its memory.
fn truth(target: &str) -> (Option<f64>, f64) {
    let shown = run(["sim", "show", target, "--json"]).body();
    let of = |name: &str| shown["truth"][name].as_f64();
    (of("slc_cache_bytes"), of("write_buffer_bytes").unwrap_or(0.0))
}

/// Bytes until the knee, least and greatest.
fn knee(writes: &Value) -> Option<(f64, f64)> {
    let knee = &writes["until_knee_bytes"];
    Some((knee["low"].as_f64()?, knee["high"].as_f64()?))
}

// Breaks when a burst is reported as the sustained rate, or the knee elsewhere than where the drive's cache is full: the
// host has then written the size of the cache and the memory, and at most a seventh that was moved on meanwhile.
#[test]
fn the_knee_is_where_the_single_bit_cache_of_a_drawn_drive_is_full() {
    let (mut cached, mut found) = (0, 0);
    for seed in 6_000..6_012 {
        let target = format!("sim:random-ssd?seed={seed}&state=fresh");
        let (Some(cache), memory) = truth(&target) else { continue };
        cached += 1;
        let said = writes(&target, &["--span=all", "--runs=6", "--duration=3s", "--warm-up=0s"]);
        let Some((low, high)) = knee(&said) else {
            assert!(said["reason"].is_string(), "{target}: nothing without a reason: {said}");
            continue;
        };
        found += 1;
        let most = 1.15 * (cache + memory);
        assert!(high >= cache && low <= most, "{target}: {low}–{high}, truth {cache} + {memory}");
        let rate = |name: &str| said[name]["value"].as_f64().unwrap();
        assert!(rate("burst_mb_s") > 1.25 * rate("sustained_mb_s"), "{target}: {said}");
    }
    assert!(cached >= 3 && 2 * found >= cached, "{found} of {cached} caches were seen to be full");
}

// Breaks when a knee is reported although the rate does not fall, or one not reached without how much was written.
#[test]
fn a_drive_whose_rate_does_not_fall_has_no_knee() {
    for target in ["sim:mlc-nvme", "sim:hdd-wd", "sim:enterprise-28op"] {
        let said = writes(target, &["--runs=6", "--duration=1s", "--warm-up=1s"]);
        assert!(said["until_knee_bytes"].is_null() && said["sustained_mb_s"].is_null(), "{said}");
        assert!(said["burst_mb_s"]["value"].as_f64().unwrap() > 0.0, "{said}");
        let reason = said["reason"].as_str().unwrap();
        assert!(reason.starts_with("not reached within "), "{reason}");
    }
}

// Breaks when the inner tracks of a disk are taken for a cache that is full.
#[test]
fn the_zones_of_a_disk_are_no_knee() {
    let said = writes("sim:hdd-wd", &["--span=all", "--runs=6", "--duration=1s"]);
    assert!(said["until_knee_bytes"].is_null(), "{said}");
    assert!(said["reason"].as_str().unwrap().contains("zones"), "{said}");
}

// Breaks when durable writes are shown as cached ones, or a user of the terminal does not learn of the fall.
#[test]
fn cached_and_durable_writes_are_told_apart_and_the_fall_is_shown() {
    let cached =
        ["mark", "sim:qlc-pslc", "--write-only", "--tests=SEQ1MQ8T1", "--seed=3", "--span=all"];
    let shown = run([&cached[..], &["--no-record", "--no-progress"]].concat()).stdout;
    assert!(shown.contains("cached: burst 1800, sustained 17"), "{shown}");
    assert!(
        shown.contains("volatile cache") && !shown.contains("burst speed"),
        "a fall was seen: {shown}"
    );
    let durable = writes("sim:qlc-pslc", &["--dsync", "--duration=1s"]);
    assert_eq!(durable["safety"], "durable");
    let reads = mark("sim:qlc-pslc", &["--read-only", "--tests=SEQ1MQ8T1", "--duration=1s"]).body();
    assert!(common::tests(&reads)[0].get("writes").is_none());
}

// Breaks when first writes of a fresh drive pass for what it keeps up, or when what a full cache leaves is called a burst.
#[test]
fn a_rate_is_called_sustained_only_where_more_was_written_than_what_takes_it() {
    let of = |drive: &str, test: &str, more: &[&str]| {
        let line = ["--write-only", "--seed=3", "--no-record", "--no-progress", "--json"];
        run([&["mark", drive, "--tests", test][..], &line, more].concat()).body()
    };
    let codes = |body: &Value| -> Vec<String> {
        let caveats = body["caveats"].as_array().unwrap().iter();
        caveats.map(|caveat| caveat["remedy_code"].as_str().unwrap().to_owned()).collect()
    };
    let shown = |body: &Value| common::tests(body)[0]["writes"]["shown"].clone();
    let fresh = of("sim:enterprise-28op", "RND4KQ128T1", &["--span=all"]);
    assert_eq!(shown(&fresh), "burst");
    assert!(codes(&fresh).contains(&"sustained_rate".to_owned()), "{fresh}");
    let filled = of("sim:tlc-pslc", "SEQ1MQ8T1", &[]);
    assert_eq!(shown(&filled), "sustained");
    assert!(!codes(&filled).contains(&"sustained_rate".to_owned()), "{filled}");
    let platters = of("sim:hdd-7200", "SEQ1MQ8T1,RND4KQ1T1", &["--quick", "--duration=2s"]);
    let rates = common::tests(&platters);
    assert_eq!(rates[0]["writes"]["shown"], "sustained", "2 s at 177 MB/s, into 64 MiB");
    assert_eq!(rates[1]["writes"]["shown"], "burst", "{}", rates[1]);
}
