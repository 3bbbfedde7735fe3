//! The default benchmark answers: numbers are confirmed, or their states named, in the time that people wait.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use common::run;
use serde_json::Value;

/// A mark with the usual settings, but for `more`.
fn mark(target: &str, more: &[&str]) -> Value {
    run([&["mark", target, "--json", "--no-record", "--no-progress"], more].concat()).body()
}

fn runs(test: &Value) -> &Vec<Value> {
    test["runs"].as_array().unwrap()
}

fn is_confirmed(test: &Value) -> bool {
    let proofs = test["proofs"].as_object().unwrap();
    test["headline"] == true && proofs.values().all(|proof| proof["verdict"] == "proven")
}

// Breaks when the default settings leave open what a drive in a single state does, or take longer than five minutes for it.
#[test]
fn nine_of_ten_default_numbers_are_confirmed() {
    let (mut confirmed, mut all) = (0, 0);
    for drive in
        ["hdd-7200", "sata-a", "mlc-nvme", "tlc-pslc", "enterprise-28op", "optane", "usb-8m"]
    {
        let body = mark(&format!("sim:{drive}?seed=8700001000"), &["--seed=8700001000"]);
        let tests = common::tests(&body);
        all += tests.len();
        confirmed += tests.iter().filter(|test| is_confirmed(test)).count();
        let took = body["elapsed_ns"].as_u64().unwrap();
        assert!(took <= 300_000_000_000, "{drive}: {took} ns");
    }
    assert!(10 * confirmed >= 9 * all, "{confirmed} of {all}");
}

// Breaks when a cache that is used up makes one number of two states, or the number is that of the state that went by.
#[test]
fn a_cache_that_is_used_up_makes_two_states() {
    let body = mark("sim:tlc-pslc?seed=7", &["--write-only", "--tests=SEQ1MQ8T1", "--seed=7"]);
    let test = &common::tests(&body)[0];
    let states = &test["states"];
    assert_eq!(states["cause"], "write_cache", "{states}");
    let rate = |index: usize| states["states"][index]["mb_s"].as_f64().unwrap();
    assert!(rate(0) > 1.25 * rate(1), "{states}");
    let answer = states["answer"].as_u64().unwrap() as usize;
    let of_state = states["states"][answer]["runs"].as_array().unwrap().len();
    assert_eq!(answer, 1);
    assert_eq!(test["mb_s"]["median"].as_f64().unwrap(), rate(1));
    assert_eq!(test["mb_s"]["n"].as_u64().unwrap() as usize, of_state);
    assert!(of_state >= 6 && of_state < runs(test).len(), "{states}");
    assert!(is_confirmed(test), "{test}");
}

// Breaks when a window holds so few I/Os that one more or less decides, although there was time for more.
#[test]
fn windows_of_slow_drives_last_longer() {
    let short = ["--write-only", "--tests=SEQ1MQ1T1", "--runs=2", "--seed=7"];
    let body = mark("sim:sdcard-4m", &short);
    for run in runs(&common::tests(&body)[0]) {
        let (ios, ns) = (run["ios"].as_u64().unwrap(), run["duration_ns"].as_u64().unwrap());
        assert!(ios >= 64 || ns == 12_000_000_000, "{run}");
        assert!(ns > 3_000_000_000, "{run}");
    }
    let body = mark("sim:sata-a", &short);
    assert!(
        runs(&common::tests(&body)[0]).iter().all(|run| run["duration_ns"] == 3_000_000_000_u64)
    );
}

// Breaks when a count of runs that was asked for is not kept, or a test is repeated without an end.
#[test]
fn tests_are_repeated_only_while_they_are_undecided() {
    let with = |more: &[&str]| {
        let args = ["--read-only", "--tests=RND4KQ1T1,RND4KQ32T1", "--seed=11"];
        let body = mark("sim:hdd-7200", &[&args, more].concat());
        common::tests(&body).iter().map(|test| runs(test).len()).collect::<Vec<usize>>()
    };
    assert_eq!(with(&["--runs=6"]), [6, 6]);
    assert_eq!(with(&["--decide-within=0s"]), [6, 6]);
    let long = with(&["--decide-within=1h"]);
    assert!(long.iter().all(|count| (6..=18).contains(count)), "{long:?}");
    // Windows too short to decide anything.
    let short = with(&["--decide-within=1h", "--duration=50ms", "--warm-up=10ms"]);
    assert!(short.contains(&18), "{short:?}");
}

// Breaks when the next run does not wait until a drive has recovered, or waits although no run writes.
#[test]
fn runs_after_writes_wait_for_the_drive() {
    let waited = |more: &[&str]| {
        let args = ["--tests=SEQ1MQ8T1", "--seed=7", "--runs=6"];
        let body = mark("sim:tlc-pslc?seed=7", &[&args, more].concat());
        body["settle_ns"].as_u64()
    };
    let usual = waited(&["--write-only"]).unwrap();
    assert!((1..30_000_000_000).contains(&usual), "{usual} ns before five runs");
    assert_eq!(waited(&["--write-only", "--settle=0s"]), None);
    assert_eq!(waited(&["--read-only"]), None);
}

// Breaks when a drive that works for 20 s on what was written passes for one that reads so slowly: its numbers were confirmed, eight
// times too low.
#[test]
fn reads_in_the_wake_of_writes_are_named_and_not_confirmed() {
    let marked = |query: &str| {
        let spec = format!("sim:mlc-nvme?seed=7{query}");
        let load = ["--order=interleaved", "--tests=RND4KQ1T1", "--runs=6", "--duration=1s"];
        mark(&spec, &[&load[..], &["--size=4GiB", "--seed=7"]].concat())
    };
    let left = "&aftermath.work_per_mib_ns=1250000000&aftermath.most_ns=20000000000";
    let body = marked(&format!("{left}&aftermath.read_added_ns=500000"));
    let read = &common::tests(&body)[0];
    assert_eq!(read["op"], "read");
    let is_named = |caveat: &&Value| {
        caveat["code"] == "not_settled"
            && caveat["subject"].as_str().unwrap().contains("RND4K Q1T1 read")
    };
    assert!(body["caveats"].as_array().unwrap().iter().any(|caveat| is_named(&caveat)), "{body}");
    assert_ne!(read["proofs"]["steady"]["verdict"], "proven", "{read}");
    let calm = marked("");
    let rate = |body: &Value| common::tests(body)[0]["mb_s"]["median"].as_f64().unwrap();
    assert!(rate(&body) < 0.5 * rate(&calm), "the planted work makes no difference");
}
