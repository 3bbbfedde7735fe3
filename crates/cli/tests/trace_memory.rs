//! A trace of any length is read in the same memory. `scripts/validate trace-formats` shows it on 50 million rows.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Memory limit of an import: batches of rows, a window, one row group of the file that is written (some 45 MB
/// with its columns), and the program itself.
const MOST_BYTES: u64 = 96 << 20;

/// Rows as Alibaba's traces have them, a little out of order.
fn rows(count: u64, path: &Path) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let mut dice = 1_u64;
    for number in 0..count {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let op = if dice & 3 == 0 { 'W' } else { 'R' };
        let us = 1_577_808_000_000_000 + number * 100 + dice % 150;
        writeln!(
            out,
            "{},{op},{},{},{us}",
            dice >> 60,
            (dice >> 20 & 0xff_ffff) << 12,
            4096 << (dice >> 8 & 3)
        )
        .unwrap();
    }
    out.flush().unwrap();
}

/// Imports and returns the peak memory use, as in proc_pid_status(5).
fn import(from: &Path, to: &Path, count: u64) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_drivescope"))
        .args(["trace", "import", "--json", "--force"])
        .arg(from)
        .arg("-o")
        .arg(to)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) << 10);
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["body"]["requests"], count);
    most
}

/// If it failed, a trace of some hours would end in the kernel's killing of the program.
#[test]
fn memory_does_not_grow_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("io.csv"), dir.path().join("io.parquet"));
    // Both fill a row group.
    let [small, large] = [400_000, 2_000_000].map(|count| {
        rows(count, &from);
        import(&from, &to, count)
    });
    let mib = |bytes: u64| bytes >> 20;
    assert!(large <= MOST_BYTES, "{} MiB", mib(large));
    assert!(
        large <= small + small / 8 + (8 << 20),
        "{} MiB, and then {} MiB",
        mib(small),
        mib(large)
    );
}
