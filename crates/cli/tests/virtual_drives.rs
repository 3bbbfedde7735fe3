//! Verbs on virtual drives with simulated surroundings: the proofs' verdicts on them, and the output of `sim`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use common::{Ran, run, tests};
use serde_json::Value;

fn marked(test: &str, query: &str) -> Ran {
    let spec = format!("sim:hdd-7200?seed=7{query}");
    let test = format!("--tests={test}");
    let short = ["--seed=7", "--size=1GiB", "--read-only", "--duration=2s", "--json"];
    run([&["mark", spec.as_str(), test.as_str()][..], &short].concat())
}

fn undisturbed(body: &Value) -> &Value {
    &tests(body)[0]["proofs"]["undisturbed"]
}

/// Breaks when somebody else's I/O on the drive goes unnoticed, or is seen where there is none.
#[test]
fn a_neighbour_refutes_undisturbed() {
    let alone = marked("RND4KQ1T1", "").exits(0).body();
    assert_eq!(undisturbed(&alone)["verdict"], "proven");
    assert_eq!(undisturbed(&alone)["evidence"]["foreign_bytes"], 0);
    let shared = marked("RND4KQ1T1", "&neighbour.ios_per_s=20").body();
    let proof = undisturbed(&shared);
    assert_eq!(proof["verdict"], "refuted", "{proof}");
    assert!(proof["reason"].as_str().unwrap().contains("others moved"), "{proof}");
    assert!(proof["evidence"]["foreign_share"].as_f64().unwrap() > 0.05, "{proof}");
    let caveats = shared["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|caveat| caveat["code"] == "disturbed"), "{caveats:?}");
}

/// Breaks when a drive that slows down because of heat passes for one that was left alone.
#[test]
fn a_drive_that_throttles_refutes_undisturbed() {
    let heat = "&heat.read_nj_per_4kib=163840&heat.time_constant_ns=1000000000\
        &heat.throttled_bytes_per_s=20000000";
    let cool = marked("SEQ1MQ8T1", &format!("{heat}&heat.throttle_above_c=500")).exits(0).body();
    assert_eq!(undisturbed(&cool)["verdict"], "proven");
    let warmest = undisturbed(&cool)["evidence"]["temperature_c_max"].as_f64().unwrap();
    assert!((60.0..200.0).contains(&warmest), "{warmest}");
    let body = marked("SEQ1MQ8T1", heat).body();
    let proof = undisturbed(&body);
    assert_eq!(proof["verdict"], "refuted", "{proof}");
    assert!(proof["reason"].as_str().unwrap().contains("throttled"), "{proof}");
    assert!(proof["evidence"]["throttle_events"].as_u64().unwrap() > 0);
    let rate = |body: &Value| tests(body)[0]["mb_s"]["median"].as_f64().unwrap();
    assert!(rate(&body) < 0.8 * rate(&cool), "{} and {} MB/s", rate(&body), rate(&cool));
}

#[test]
fn a_drive_that_vanishes_ends_the_run_with_the_reason() {
    let ran = marked("SEQ1MQ8T1", "&faults.vanish_at_ns=9000000000");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.said().contains("Input/output error"), "{}", ran.said());
}

/// The fields that every instrument's scoring counts on, in every model.
const TRUTH: [&str; 13] = [
    "erase_block_bytes",
    "page_bytes",
    "planes",
    "open_au_linear",
    "open_au_random",
    "fat_zone_bytes",
    "cell_levels",
    "write_buffer_bytes",
    "slc_cache_bytes",
    "over_provisioning",
    "dies",
    "real_capacity_bytes",
    "initial_state",
];

#[test]
fn every_model_listed_tells_all_of_its_truth() {
    let list = run(["sim", "list", "--json"]).exits(0).json();
    assert_eq!(list["envelope"]["schema"], "drivescope.sim.list/1");
    let models = list["body"].as_array().unwrap();
    let page = run(["sim", "list"]).exits(0).stdout;
    for model in models {
        let [name, kind, summary] = ["name", "kind", "summary"].map(|f| model[f].as_str().unwrap());
        assert!(page.contains(&format!("sim:{name}")), "{page}");
        let shown = run(["sim", "show", name, "--json"]).exits(0).json();
        let body = &shown["body"];
        assert_eq!([&body["name"], &body["kind"], &body["summary"]], [name, kind, summary]);
        let truth = body["truth"].as_object().unwrap();
        for field in TRUTH.into_iter().chain(["host", "faults", "heat", "neighbour"]) {
            assert!(truth.contains_key(field), "{name}: {field} is missing");
        }
        assert!(truth["real_capacity_bytes"].is_u64(), "{name}");
        assert_eq!(body["parameters"]["kind"], kind);
        let text = run(["sim", "show", name]).exits(0).stdout;
        for line in text.lines() {
            assert!(textwrap::core::display_width(line) <= 80, "{name}: {line}");
        }
    }
    assert!(models.iter().any(|model| model["name"] == "hdd-7200"));
}

#[test]
fn what_stands_around_a_model_is_told_with_its_defaults() {
    let spec = "hdd-7200?neighbour.ios_per_s=40&faults.lost=1GiB+4KiB&heat.ambient_c=30";
    let body = run(["sim", "show", spec, "--json"]).exits(0).body();
    let truth = &body["truth"];
    assert_eq!(truth["neighbour"]["ios_per_s"], 40);
    assert_eq!(truth["neighbour"]["block_bytes"], 65_536);
    assert_eq!(truth["faults"]["lost"][0]["offset_bytes"], 1 << 30);
    assert_eq!(truth["faults"]["beyond"], "wrap");
    assert_eq!(truth["heat_limits"]["idle_temperature_c"], 39.6);
    assert!(truth["host"].is_null());
    assert_eq!(body["parameters"]["heat"]["ambient_c"], 30);
    assert!(body["parameters"].get("host").is_none(), "as a file would have it");
}

/// Breaks when a disk that keeps the size of its cache to itself, as real ones do, is believed the speed of that cache; or
/// when asking it costs a number that its platters made.
#[test]
fn a_disk_that_does_not_tell_its_cache_is_asked() {
    let marked = |more: &str, size: &str| {
        let spec = format!("sim:hdd-7200?seed=7{more}");
        let test = [
            "--tests=SEQ1MQ1T1",
            "--seed=7",
            "--read-only",
            "--duration=500ms",
            "--cache-probe=2s",
            "--json",
            size,
        ];
        run([&["mark", spec.as_str()][..], &test].concat())
    };
    let withheld = "&identity.withholds_cache=true";
    let pattern = |body: &Value| tests(body)[0]["proofs"]["pattern"].clone();
    let within = marked(withheld, "--size=8MiB").exits(1).body();
    let proof = pattern(&within);
    assert_eq!(proof["verdict"], "refuted", "{proof}");
    assert_eq!(proof["evidence"]["cache_probe"], "seen", "{proof}");
    // Its segments are of 16 MiB.
    assert_eq!(within["cache"]["in_sequence"]["served_bytes"], 16 << 20);
    assert_eq!(within["cache"]["in_sequence"]["not_served_bytes"], 32 << 20);
    // It has 16 of them.
    assert_eq!(within["cache"]["scattered"]["served_bytes"], 16 * 4096);
    assert_eq!(within["cache"]["scattered"]["not_served_bytes"], 32 * 4096);
    assert!(within["cache"]["took_ns"].as_u64().unwrap() < 2_200_000_000, "{}", within["cache"]);

    let beyond = marked(withheld, "--size=512MiB").exits(0).body();
    assert_eq!(pattern(&beyond)["verdict"], "proven");
    let none = "&memory.read_bytes=4096&memory.segments=1&memory.segment_bytes=4096&memory.read_ahead_bytes=0";
    let bare = marked(&format!("{withheld}{none}"), "--size=8MiB").exits(0).body();
    assert_eq!(bare["cache"]["answer"], "none_seen");
    assert_eq!(pattern(&bare)["verdict"], "proven");

    let told = marked("", "--size=8MiB").exits(1).body();
    assert!(told["cache"].is_null(), "it tells, and need not be asked");
    let spec = format!("sim:hdd-7200?seed=7{withheld}");
    let never = ["--size=8MiB", "--tests=SEQ1MQ1T1", "--read-only", "--cache-probe=0s", "--json"];
    let never = run([&["mark", spec.as_str()][..], &never].concat()).exits(0).body();
    assert!(never["cache"].is_null());
    assert_eq!(pattern(&never)["verdict"], "unprovable", "a disk may have any cache");
}

// Breaks when a drive gets another capacity than was asked for and nothing says so.
#[test]
fn a_capacity_that_is_rounded_is_said() {
    let said =
        ["usb-tlc?capacity=16012804096: has 16009658368 bytes", "16012804096 were asked for"];
    run(["sim", "show", "usb-tlc?capacity=16012804096", "--json"]).exits(0).says(&said);
    let probed = "sim:usb-8m?capacity=70MB&state=fresh";
    let ran = run(["probe", "interval", probed, "--time-budget=1s", "--no-record"]);
    ran.says(&["has 67108864 bytes", "70000000 were asked for"]);
    let whole = run(["sim", "show", "usb-tlc?capacity=16009658368"]).exits(0);
    assert!(!whole.stderr.contains("asked for"), "{}", whole.stderr);
}
