//! Wrong use and wrong surroundings: each is one clear error that names the path or the flag.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::storage::{Loop, has_means, has_tools, is_root, skip};
use common::{Ran, drivescope, mark, names, run, scratch_dir, written_file};

#[test]
fn flags_that_make_no_sense_are_named() {
    let dir = scratch_dir();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--tests=nonsense"], &["--tests", "nonsense"]),
        (&["--tests=RND4KQ0T1"], &["--tests", "RND4KQ0T1", "queue depth"]),
        (&["--tests=RND4KQ1T1,RND4KQ1T1"], &["RND4K Q1T1", "twice"]),
        (&["--tests=RND4KQ1T1", "--profile=peak"], &["--tests", "--profile"]),
        (&["--profile=fast"], &["--profile", "fast"]),
        (&["--until=0"], &["--until", "'0'"]),
        (&["--until=101%"], &["--until", "101%"]),
        (&["--mix=100"], &["--mix", "100"]),
        (&["--mix=0"], &["--mix", "'0'"]),
        (&["--read-only", "--write-only"], &["--read-only", "--write-only"]),
        (&["--seed=18446744073709551616"], &["--seed", "18446744073709551616"]),
        (&["--seed=-1"], &["--seed"]),
        (&["--size=10"], &["--size", "unit"]),
        (&["--size=0"], &["--size"]),
        (&["--size=1GiB", "--span=1GiB"], &["--size", "--span"]),
        (&["--span=0"], &["--span"]),
        (&["--span=1GiB"], &["--span", "directory"]),
        (&["--duration=0"], &["--duration"]),
        (&["--duration=5"], &["--duration", "unit"]),
        (&["--budget=0"], &["--budget"]),
        (&["--runs=0"], &["--runs", "'0'"]),
        (&["--engine=aio"], &["--engine", "io_uring, libaio or psync"]),
        (&["--compressible=101"], &["--compressible", "101"]),
        (&["--size=8EiB"], &["--size"]),
        (&["--size=15TiB"], &["does not fit", "--size"]),
        (&["--cpus=x"], &["--cpus"]),
        (&["--samples=/nonexistent/io.csv"], &["/nonexistent/io.csv", "cannot be written"]),
        (&["--frobnicate"], &["--frobnicate"]),
    ];
    for (args, words) in cases {
        // Not with the short settings of the other tests: they would clash with some flags.
        let mut command = drivescope(["mark", "--no-progress", "--json"]);
        let ran: Ran = command.arg(dir.path()).args(*args).output().unwrap().into();
        println!("{args:?}");
        ran.fails(2, words);
        assert!(names(dir.path()).is_empty(), "{args:?}");
    }
}

#[test]
fn paths_that_are_no_storage_are_named() {
    let dir = scratch_dir();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("empty"), "").unwrap();
    fs::write(at("small"), vec![7; 1000]).unwrap();
    fs::write(at("file"), vec![7; 65536]).unwrap();
    let fifo = at("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &*fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    std::os::unix::fs::symlink(at("gone"), at("dangling")).unwrap();
    let none = "No such file";
    for (target, words) in [
        (at("gone"), &[&*at("gone"), none][..]),
        (at("dangling"), &[&*at("dangling"), none]),
        (at("file") + "/below", &[&*at("file/below")]),
        (at("empty"), &[&*at("empty"), "no content"]),
        (at("small"), &[&*at("small"), "too small", "4 KiB"]),
        (fifo.clone(), &[&*fifo, "pipe"]),
        ("/dev/null".to_owned(), &["/dev/null", "character device"]),
        ("sim:nope".to_owned(), &["nope", "drivescope sim list"]),
        ("sim:".to_owned(), &["sim:MODEL"]),
        ("sim:hdd-7200?bogus=1".to_owned(), &["bogus"]),
        ("sim:hdd-7200?seed=x".to_owned(), &["seed", "x"]),
    ] {
        println!("{target}");
        mark(&target, &["--tests=RND4KQ1T1"]).fails(2, words);
    }
    for span in ["--span=64KiB+4KiB", "--span=1GiB", "--span=16EiB", "--size=1GiB"] {
        println!("{span}");
        mark(at("file"), &["--tests=RND4KQ1T1", span]).exits(2).says(&["error:"]);
    }
    mark(at("file"), &["--tests=RND4KQ1T1", "--span=1GiB"]).fails(2, &[&at("file"), "beyond"]);
}

#[test]
fn a_block_that_is_not_made_of_sectors_is_refused() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::with(16 << 20, &["--direct-io=on", "--sector-size=4096"]);
    let words = [device.dev(), "512B", "not a multiple", "4KiB"];
    mark(&device.path, &["--tests=RND512BQ1T1"]).fails(2, &words);
    mark(&device.path, &["--tests=RND4KQ1T1"]).exits(0);
    mark(&device.path, &["--tests=RND4KQ1T1", "--span=512B+1MiB"]).exits(2).says(&[device.dev()]);
}

/// The binary as a user who may do nothing, from where that user can reach it.
fn run_as_nobody(binary: &Path, args: &[&str]) -> Ran {
    let ids = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let short = ["--tests=RND4KQ1T1", "--duration=50ms", "--runs=1", "--size=4MiB", "--json"];
    let mut command = Command::new("setpriv");
    command.args(ids).arg(binary).arg("mark").args(args).args(short).arg("--no-record");
    command.output().unwrap().into()
}

#[test]
fn missing_permission_is_named_with_the_way_out() {
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    if !has_tools(&["setpriv"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { dir.path().join(name) };
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_drivescope"), at("drivescope")).unwrap();
    written_file(&at("secret"), 1 << 20);
    written_file(&at("readable"), 4 << 20);
    fs::set_permissions(at("secret"), Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(at("readable"), Permissions::from_mode(0o444)).unwrap();
    fs::create_dir(at("locked")).unwrap();
    fs::set_permissions(at("locked"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(at("open")).unwrap();
    fs::set_permissions(at("open"), Permissions::from_mode(0o777)).unwrap();
    let as_nobody = |name: &str, more: &[&str]| {
        let path = at(name);
        run_as_nobody(&at("drivescope"), &[&[path.to_str().unwrap()], more].concat())
    };
    as_nobody("secret", &[]).fails(2, &["secret", "ermission"]);
    as_nobody("locked", &[])
        .fails(2, &["locked", "no test file can be made there", "ermission denied"]);
    as_nobody("readable", &["--write", "--consent=readable"]).fails(2, &["readable", "ermission"]);
    let read = as_nobody("readable", &[]);
    assert_ne!(read.code, Some(2), "reading needs no more than read permission: {}", read.stderr);
    let made = as_nobody("open", &[]);
    assert_ne!(made.code, Some(2), "an ordinary user can measure a directory: {}", made.stderr);
    assert!(names(&at("open")).is_empty());
    if has_means(&["losetup"]) {
        let device = Loop::new(4 << 20, true);
        let ran = run_as_nobody(&at("drivescope"), &[device.dev()]);
        ran.fails(2, &[device.dev(), "ermission", "root"]);
    }
}

#[test]
fn a_bad_plan_is_told_by_line_and_field() {
    let dir = scratch_dir();
    let good = run(["plan", "--tests=RND4KQ1T1", "--seed=7"]).exits(0).stdout;
    let plan = dir.path().join("bad.toml");
    let name = plan.to_str().unwrap();
    for (from, to, words) in [
        ("block = \"4KiB\"", "block = \"4Kib\"", &["line", "4Kib"][..]),
        ("block = \"4KiB\"", "block = 4096", &["line"]),
        ("block = \"4KiB\"", "blcok = \"4KiB\"", &["line", "blcok"]),
        ("seed = 7", "seed = -7", &["line"]),
        ("seed = 7", "seed = ", &["line 2"]),
        ("submitters = 1", "submitters = 0", &["submitters", "RND4K Q1T1 read"]),
        ("percent = 100", "percent = 99", &["ops", "99 percent", "RND4K Q1T1 read"]),
        ("depth = 1", "depth = 0", &["depth", "RND4K Q1T1 read"]),
        ("runs = 6", "runs = 0", &["runs"]),
        ("plan/1", "plan/2", &["schema", "plan/2"]),
        ("after = \"1s\"", "after = \"0s\"", &["stop", "warm-up"]),
    ] {
        assert!(good.contains(from), "{from}");
        fs::write(&plan, good.replacen(from, to, 1)).unwrap();
        println!("{to}");
        let ran = run(["run", name, "sim:hdd-7200", "--no-progress"]);
        ran.fails(2, &[&[name], words].concat());
    }
    run(["run", "/nonexistent.toml"]).fails(2, &["/nonexistent.toml"]);
    fs::write(&plan, "").unwrap();
    run(["run", name]).fails(2, &[name]);
}
