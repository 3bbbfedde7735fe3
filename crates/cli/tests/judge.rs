//! `judge` as its users call it: on files that fio made, and on a served drive that fio writes to.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::served::Server;
use common::{run, scratch_dir};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pts/tests/data").join(name)
}

// Breaks when logs beside a JSON are not found, or a script cannot distinguish an answer from an error.
#[test]
fn a_result_is_judged_with_the_logs_beside_it() {
    let ran = run([Path::new("judge"), &data("group/g.json"), Path::new("--json")]).exits(1);
    assert_eq!(ran.json()["envelope"]["schema"], "drivescope.judge/1");
    let results = ran.body()["results"].take();
    assert_eq!(results[0]["recorded"]["files"].as_array().unwrap().len(), 4);
    assert_eq!(results[1]["steady"]["verdict"], "unprovable");
    run([Path::new("judge"), &data("steadystate")]).exits(1).prints(&["fio says attained", "→"]);
}

// Breaks when the verb does not put rounds together, or takes logs of another run that lie beside a JSON for results.
#[test]
fn public_results_are_rounds_and_have_no_logs_of_others() {
    let cases =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/public-2026-11/ssd");
    if !cases.is_dir() {
        let path = cases.display();
        println!("skipped: this machine has no {path}");
        return;
    }
    let rounds = cases.join("12-pts-harness-rounds");
    let body = run([Path::new("judge"), &rounds, Path::new("--json")]).exits(1).body();
    let results = body["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let cell = results.iter().find(|result| result["recorded"]["name"] == "wdpc").unwrap();
    assert_eq!(cell["recorded"]["rounds"]["values"].as_array().unwrap().len(), 7);
    assert_eq!(cell["rules"][0]["says"]["verdict"], "proven");
    assert_eq!(cell["recorded"]["caveats"][0]["code"], "each_round_the_same");
    for json in ["randread-1-1.json", "randwrite-1-1.json"] {
        let json = cases.join("10-logs-of-another-run").join(json);
        let ran = run([Path::new("judge"), &json, Path::new("--json")]).exits(1);
        let results = ran.body()["results"].take();
        assert_eq!(results.as_array().unwrap().len(), 1);
        assert!(results[0]["recorded"]["series"].is_null());
        let ran = run([Path::new("import"), &json, Path::new("--json"), Path::new("--no-record")]);
        assert_eq!(ran.exits(0).stdout.matches("random-read-depth-1_slat.1.log").count(), 1);
    }
}

// Breaks when an error does not lead to the place.
#[test]
fn a_bad_file_is_named_with_its_line() {
    let dir = scratch_dir();
    let log = dir.path().join("x_bw.1.log");
    fs::write(&log, "500, 1, 1, 0, 0\n1000, 1, 1, 0, 0\nnothing\n").unwrap();
    run([Path::new("judge"), &log]).fails(2, &["x_bw.1.log, line 3", "nothing"]);
    let nobodys = dir.path().join("x.md");
    fs::write(&nobodys, "text").unwrap();
    run([Path::new("judge"), &nobodys]).fails(2, &["x.md", "--output-format=json"]);
    run([Path::new("judge"), dir.path()]).fails(2, &["x_bw.1.log, line 3"]);
    fs::remove_file(&log).unwrap();
    run([Path::new("judge"), dir.path()]).fails(2, &["holds no result"]);
    run(["judge", "x", "--capacity=1GB", "--whole-drive"]).fails(2, &["--whole-drive"]);
    run(["judge", "x", "--over-provisioning=-1"]).fails(2, &["2% or 0.02"]);
    run(["judge", "x", "--over-provisioning=7"]).fails(2, &["7%", "write 7%"]);
}

// The point of the verb, with fio itself: breaks when a fresh plateau passes for a steady state. The long way to a
// steady one is gone by `scripts/validate judge`.
#[test]
fn a_fresh_plateau_that_fio_calls_steady_is_not() {
    let spec = "enterprise-28op?seed=7&capacity=33554432&state=fresh&memory.write_bytes=1048576\
                &nand.channels=1&nand.dies_per_channel=1&nand.pages_per_block=8";
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: needs fio");
        return;
    }
    let Some(server) = Server::start(&[spec]) else { return };
    let dir = scratch_dir();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let status = Command::new("fio")
        .args(["--name=x", "--rw=randwrite", "--bs=4k", "--direct=1", "--ioengine=psync"])
        .args(["--randrepeat=0", "--norandommap=1", "--size=32m", "--io_size=28m", "--thread=1"])
        .args(["--ss=iops:90%", "--ss_dur=1", "--log_avg_msec=100", "--output-format=json"])
        .arg(format!("--filename={}", server.file().display()))
        .arg(format!("--write_bw_log={}", at("x")))
        .arg(format!("--output={}", at("x.json")))
        .status()
        .unwrap();
    server.stop();
    assert!(status.success());
    let json = at("x.json");
    let told = ["judge", &json, "--capacity=32MiB", "--purged", "--json"];
    let steady = run(told).exits(1).body()["results"][0]["steady"].take();
    assert_eq!(steady["verdict"], "refuted", "{steady}");
    assert!(steady["reason"].as_str().unwrap().contains("fresh"), "{steady}");
    let untold = run(["judge", &json, "--json"]).exits(1).body()["results"][0]["steady"].take();
    assert_eq!(untold["verdict"], "unprovable", "{untold}");
}
