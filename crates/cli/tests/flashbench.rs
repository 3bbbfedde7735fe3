//! flashbench's face, and the import of what flashbench printed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::{Ran, drivescope, run, scratch_dir, written_file};
use serde_json::Value;

/// A table of a card with erase blocks of 4 MiB and pages of 16 KiB, with whatever people's mails do to it.
const MAIL: &str = "\
> # device: a card
> $ flashbench -a /dev/mmcblk0 --blocksize=1024
> align 134217728 pre 735us on 1.08ms post 731us diff 347us
> align 67108864  pre 736us on 1.08ms post 733us diff 346us
> align 33554432  pre 735us on 1.08ms post 736us diff 345us
> align 16777216  pre 734us on 1.08ms post 735us diff 346us
> align 8388608   pre 735us on 1.08ms post 734us diff 346us
> align 4194304   pre 736us on 1.08ms post 735us diff 345us
> align 2097152   pre 735us on 935us post 736us diff 200us
> align 1048576   pre 734us on 935us post 735us diff 201us
> align 524288    pre 735us on 936us post 735us diff 201us
> align 262144    pre 736us on 935us post 734us diff 200us
> align 131072    pre 735us on 935us post 735us diff 200us
> align 65536     pre 735us on 936us post 735us diff 201us
> align 32768     pre 734us on 935us post 735us diff 201us
> align 16384     pre 735us on 935us post 735us diff 200us
> align 8192      pre 735us on 740us post 735us diff 5.02us
> align 4096      pre 735us on 739us post 735us diff 4.9us
> align 2048      pre 735us on 740us post 735us diff 5.1us
";

fn finding<'a>(body: &'a Value, name: &str) -> &'a Value {
    let findings = body["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The face, called by flashbench's own name.
fn face(args: &[&str], dir: &Path) -> Ran {
    let name = dir.join("flashbench");
    if !name.exists() {
        symlink(env!("CARGO_BIN_EXE_drivescope"), &name).unwrap();
    }
    Command::new(name).args(args).current_dir(dir).output().unwrap().into()
}

// Breaks when what people share is no longer read, or judged otherwise than a drive's own rows.
#[test]
fn a_published_table_gives_the_findings_of_a_drive() {
    let dir = scratch_dir();
    let file = dir.path().join("mail.txt");
    fs::write(&file, MAIL).unwrap();
    let body = run(&["import", "flashbench", file.to_str().unwrap(), "--json"]).exits(0).body();
    assert_eq!(finding(&body, "erase_block")["value"], 4 << 20);
    assert_eq!(finding(&body, "multi_plane_page")["value"], 16 << 10);
    let mut child = drivescope(["import", "flashbench", "-", "--json"]);
    let child = child.stdin(fs::File::open(&file).unwrap()).output().unwrap();
    let ran: Ran = child.into();
    assert_eq!(ran.exits(0).body()["findings"], body["findings"]);
    let given =
        run(&["import", "flashbench", file.to_str().unwrap(), "--erase-block=8MiB", "--json"]);
    assert_ne!(finding(&given.body(), "erase_block")["value"], 4 << 20);
}

#[test]
fn what_cannot_be_imported_is_named() {
    let dir = scratch_dir();
    let file = dir.path().join("poem.txt");
    fs::write(&file, "shall I compare thee\n").unwrap();
    run(&["import", "flashbench", file.to_str().unwrap()]).fails(2, &["poem.txt"]);
    run(&["import", "flashbench", "/nonexistent"]).fails(2, &["/nonexistent"]);
}

// Breaks when a guide for flashbench no longer works: each command line of a well-known one, as it is printed there but
// for the device.
#[test]
fn command_lines_of_old_guides_run() {
    let dir = scratch_dir();
    let ran = face(&["-o", "result", "-a", "sim:usb-8m", "--blocksize=1024"], dir.path()).exits(0);
    assert_eq!(ran.stdout.lines().count(), 21);
    assert!(ran.stdout.starts_with("align 2147483648\tpre "), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("µs\n"), "{}", ran.stdout);
    let ran = ran.says(&["verdict: erase block 8 MiB"]);
    assert!(!ran.stdout.contains("verdict"), "scripts read stdout: {}", ran.stdout);

    let scatter = "-s sim:usb-8m --scatter-span=4 --blocksize=8192 --scatter-order=12 -o points";
    let ran = face(&scatter.split(' ').collect::<Vec<_>>(), dir.path()).exits(0);
    assert_eq!(ran.stdout, "");
    let points = fs::read_to_string(dir.path().join("points")).unwrap();
    assert_eq!(points.lines().count(), 4096);
    assert!(points.starts_with("0.000000\t"), "{}", &points[..80]);

    for line in [
        "-o openau -O --erasesize=8388608 --blocksize=8192 sim:usb-8m --open-au-nr=1",
        "-o openau -O --erasesize=8388608 --blocksize=8192 -f sim:usb-8m --open-au-nr=2",
        "-o openau -O --erasesize=8388608 --blocksize=8192 sim:usb-8m --open-au-nr=3",
    ] {
        let ran = face(&line.split(' ').collect::<Vec<_>>(), dir.path()).exits(0);
        let tables = if line.contains(" -f ") { 2 } else { 1 };
        assert_eq!(ran.stdout.lines().count(), 11 * tables, "{}", ran.stdout);
        assert!(ran.stdout.starts_with("8MiB    "), "{}", ran.stdout);
    }
}

// Breaks when the imitation writes to a drive without consent to lose its data: flashbench itself does.
#[test]
fn destructive_tests_pass_the_safety_gate() {
    let dir = scratch_dir();
    let file = dir.path().join("image");
    written_file(&file, 64 << 20);
    let before = fs::read(&file).unwrap();
    let small = ["--erasesize=1048576", "--blocksize=65536", "--open-au-nr=2", "-O"];
    let name = file.to_str().unwrap();
    let with = |more: &[&str]| face(&[&small[..], &[name], more].concat(), dir.path());
    with(&[]).fails(3, &[name, "image"]);
    assert!(fs::read(&file).unwrap() == before, "written to without consent");
    with(&["--consent", "image"]).exits(0);
    assert!(fs::read(&file).unwrap() != before, "consent was given");
}

#[test]
fn wrong_use_is_one_clear_error() {
    let dir = scratch_dir();
    face(&["-a"], dir.path()).fails(2, &["no device"]);
    face(&["sim:usb-8m"], dir.path()).fails(2, &["no test", "-a"]);
    face(&["-a", "--blocksize=4M", "sim:usb-8m"], dir.path()).fails(2, &["blocksize", "4M"]);
    face(&["--frobnicate", "sim:usb-8m"], dir.path()).fails(2, &["--frobnicate"]);
    let help = face(&["--help"], dir.path()).exits(0);
    assert!(help.stdout.contains("--open-au-nr"), "{}", help.stdout);
    let version = face(&["--version"], dir.path()).exits(0).stdout;
    assert_eq!(version, concat!("flashbench (drivescope ", env!("CARGO_PKG_VERSION"), ")\n"));
}
