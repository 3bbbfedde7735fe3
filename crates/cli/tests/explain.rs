//! `explain` as its users call it, its lines through the program's own definitions, and fio beside it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::args;
use clap::Parser as _;
use common::{run, scratch_dir};

const COMMANDS: [&str; 12] = [
    "fio --name=x --filename=/mnt/a/f --rw=read --bs=1m --iodepth=8 --numjobs=4 --size=1g --runtime=30",
    "fio --name=x --filename=/dev/sdb --rw=randwrite --bs=4k --size=10g --time_based --runtime=60 --ramp_time=5",
    "fio --name=x --rw=randrw --rwmixread=70 --size=1g",
    "fio --name=x --rw=write --size=1g --fsync=1 --dedupe_percentage=30",
    "fio --name=x --rw=read --bssplit=4k/60:64k/40 --size=1g --filename='/mnt/a b/f'",
    "diskspd -b1M -o8 -t1 -d10 -W5 -Sd -w0 -c1G /mnt/a/f",
    "diskspd -b4K -o32 -t16 -r -w100 -c1G f",
    "dd if=/dev/zero of=/mnt/a/f bs=1M count=1024 conv=fdatasync",
    "dd if=/dev/sda of=/dev/null bs=1M count=1000 iflag=direct",
    "hdparm -t --direct /dev/sda",
    "kdiskmark SEQ1MQ8T1 SEQ1MQ1T1 RND4KQ32T1 1GiB",
    "RND4KQ32T16 64GiB mix",
];

// A line that is shown and does not run is worse than none: each goes through the definitions, and so does each plan.
#[test]
fn what_to_run_instead_can_be_run() {
    let dir = scratch_dir();
    let mut lines = 0;
    for command in COMMANDS {
        let body = run(["explain", command, "--json"]).exits(0).body();
        for line in body["equivalent"]["commands"].as_array().unwrap() {
            let words = mark::explain::split(line.as_str().unwrap()).unwrap();
            args::Cli::try_parse_from(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
            lines += 1;
        }
        let plan = run(["explain", command, "--plan"]).exits(0).stdout;
        let path = dir.path().join("plan.toml");
        fs::write(&path, &plan).unwrap();
        workload::plan::Plan::from_toml(&plan).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    assert!(lines >= COMMANDS.len(), "{lines}");
    // One of them as a whole, on a drive that shows what was issued: nothing comes twice.
    let plan = dir.path().join("x.toml");
    let shared = "fio --name=x --filename=f --rw=read --bs=64k --numjobs=4 --size=8m";
    fs::write(&plan, run(["explain", shared, "--plan"]).exits(0).stdout).unwrap();
    let plan = plan.to_str().unwrap();
    let ran = run(["run", plan, "sim:hdd-7200", "--seed=7", "--no-progress", "--json"]).exits(0);
    let evidence = ran.body()["tests"][0]["proofs"]["pattern"]["evidence"].take();
    assert_eq!(evidence["total_bytes"], evidence["unique_bytes_within_runs"], "{evidence}");
    assert_eq!(evidence["total_bytes"], 6 * (32 << 20), "{evidence}");
}

// Breaks when a command can no longer be given in one of the ways that help shows.
#[test]
fn a_command_is_taken_from_words_quotes_a_file_and_standard_input() {
    let dir = scratch_dir();
    let words = ["explain", "--json", "--", "fio", "--name=x", "--rw=read", "--size=1g"];
    let of_words = run(words).exits(0).body();
    let of_quotes =
        run(["explain", "sudo fio --name=x --rw=read --size=1g", "--json"]).exits(0).body();
    assert_eq!(of_words["jobs"], of_quotes["jobs"]);
    let job = dir.path().join("x.fio");
    fs::write(&job, "[x]\nrw=read\nsize=1g\n").unwrap();
    let job = job.to_str().unwrap();
    let of_file = run(["explain", job, "--json"]).exits(0).json();
    assert_eq!(of_file["envelope"]["schema"], "drivescope.explain/1");
    assert_eq!(of_file["body"]["jobs"], of_words["jobs"]);
    let named = run(["explain", "--json", "--", "fio", job]).exits(0).body();
    assert_eq!(named["jobs"], of_words["jobs"]);
    let text = run(["explain", job]).exits(0).prints(&[
        "What would mislead",
        "Instead",
        "drivescope mark",
    ]);
    let widest = text.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{}", text.stdout);
    run(["explain", "nowhere.fio"]).fails(2, &["nowhere.fio", "cannot be read"]);
    run(["explain", "fio --name=x --size=1.5g"]).fails(2, &["--size", "1536m"]);
    // The known part of a shell's line is explained, and the rest is named.
    let part = run(["explain", "fio --name=x --rw=read --size=1g | cat", "--json"]).exits(0).body();
    assert_eq!(part["jobs"], of_words["jobs"]);
    assert!(part["caveats"].to_string().contains("not_all_of_the_line"), "{}", part["caveats"]);
    run(["explain", "cat x | wc"]).fails(2, &["`|`"]);
    fs::write(dir.path().join("x.fio"), "[x]\nbs=4k\nrw=raed\nsize=1m\n").unwrap();
    run(["explain", job]).fails(2, &["x.fio, line 3", "raed"]);
}

// The predictions against fio itself, of which `scripts/validate explain` has more: breaks when one says what fio does
// not do.
#[test]
fn fio_does_what_was_predicted() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: needs fio");
        return;
    }
    for options in [
        "--rw=read --bs=64k --size=4m",
        "--rw=randread --bs=4k --size=1m --io_size=2m",
        "--rw=randwrite --bs=4k --size=2m --norandommap",
        "--rw=rw --rwmixread=70 --bs=4k --size=2m",
        "--rw=read:4k --bs=4k --size=1m",
        "--rw=read --bs=64k --size=3m --nrfiles=4 --loops=2",
        "--rw=write --bs=4k --size=512k --verify=crc32c",
        "--rw=read --bs=4KiB --size=1MiB",
    ] {
        let dir = scratch_dir();
        let line = format!("fio --name=x {options}");
        let told = run(["explain", &line, "--json"]).exits(0).body();
        let done = Command::new("fio")
            .arg("--name=x")
            .args(options.split(' '))
            .args(["--write_iolog=log", "--output=out"])
            .current_dir(dir.path())
            .status();
        assert!(done.unwrap().success(), "{line}");
        let log = fs::read_to_string(dir.path().join("log")).unwrap();
        let (mut reads, mut writes, mut ios) = (0, 0, 0);
        let mut touched = BTreeSet::new();
        for line in log.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [.., file, action @ ("read" | "write"), offset, length] = words[..] else {
                continue;
            };
            let (offset, length): (u64, u64) = (offset.parse().unwrap(), length.parse().unwrap());
            if action == "read" {
                reads += length
            } else {
                writes += length
            }
            ios += 1;
            // All blocks here consist of pieces of 32 bytes.
            touched.extend(
                (offset / 32..(offset + length) / 32).map(|piece| (file.to_owned(), piece)),
            );
        }
        let unique = 32 * touched.len() as u64;
        let job = &told["jobs"][0];
        for (field, count) in
            [("read_bytes", reads), ("write_bytes", writes), ("ios", ios), ("unique_bytes", unique)]
        {
            let bound = |name: &str| job[field][name].as_u64();
            let holds = bound("min") <= Some(count) && bound("max").is_none_or(|max| count <= max);
            assert!(holds, "{line}: {field} is {count}, and {} was told", job[field]);
        }
    }
}
