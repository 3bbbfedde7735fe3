//! Logs of any length are judged and imported in the same memory, also out of a pipe, and what has no end is refused.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::common::{Ran, drivescope, run, scratch_dir};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Memory limit for a log, including the program itself.
const MOST_BYTES: u64 = 96 << 20;

/// A pipe into which lines of a latency log are written, `count` of them, as fio writes them without `log_avg_msec`.
fn log(dir: &Path, count: u64) -> (PathBuf, thread::JoinHandle<()>) {
    let path = dir.join(format!("x{count}_clat.1.log"));
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let to = path.clone();
    let writer = thread::spawn(move || {
        let mut out = BufWriter::new(File::create(to).unwrap());
        for number in 0..count {
            let (ms, ns) = (number / 50, 80_000 + number * 7919 % 100_000);
            writeln!(out, "{ms}, {ns}, {}, 4096, {}, 0", number % 2, number << 12).unwrap();
        }
        out.flush().unwrap();
    });
    (path, writer)
}

/// Runs `verb` on a log of `count` lines; what it said, and the most memory that it held, as proc_pid_status(5) has it.
fn most_memory(verb: &str, count: u64) -> (Ran, u64) {
    let dir = scratch_dir();
    let (path, writer) = log(dir.path(), count);
    let mut command = drivescope([verb, path.to_str().unwrap(), "--json"]);
    if verb == "import" {
        command.arg("--no-record");
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let read = thread::spawn(move || {
        let mut most = 0;
        while let Ok(text) = fs::read_to_string(&status) {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
            // A process that has ended has no memory.
            let Some(kib) = kib else { break };
            most = most.max(kib << 10);
            thread::sleep(Duration::from_millis(2));
        }
        most
    });
    let stdout = child.stdout.take().unwrap();
    let stdout = thread::spawn(move || std::io::read_to_string(stdout).unwrap());
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    let stdout = stdout.join().unwrap();
    let most = read.join().unwrap();
    let code = child.wait().unwrap().code();
    writer.join().unwrap();
    (Ran { code, stdout, stderr }, most)
}

/// A log of some hours would end in the kernel's killing of the program.
#[test]
fn memory_does_not_grow_with_a_log() {
    const COUNT: u64 = 800_000;
    for verb in ["judge", "import"] {
        let (_, small) = most_memory(verb, COUNT / 8);
        let (ran, large) = most_memory(verb, COUNT);
        let body = ran.body();
        if verb == "judge" {
            assert_eq!(ran.code, Some(1), "{}", ran.stderr);
            let written = body["results"][0]["recorded"]["written_bytes"].as_u64().unwrap();
            // Bytes after the last whole bin are not counted.
            let all = COUNT / 2 * 4096;
            assert!((all * 99 / 100..=all).contains(&written), "{written} of {all}");
        } else {
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            let text = body.to_string();
            assert!(text.contains(&(COUNT / 2).to_string()), "{text}");
        }
        let mib = |bytes: u64| bytes >> 20;
        assert!(large <= MOST_BYTES, "{verb}: {} MiB", mib(large));
        assert!(large <= small + (16 << 20), "{verb}: {} and {} MiB", mib(small), mib(large));
    }
}

/// Memory without end would be asked for, and the program aborted.
#[test]
fn what_has_no_end_is_refused() {
    for line in [
        &["judge", "/dev/zero"][..],
        &["import", "/dev/zero"],
        &["import", "/dev/zero", "--format=fio-hist-log"],
        &["import", "flashbench", "/dev/zero"],
        &["explain", "/dev/zero"],
    ] {
        run(line.iter().copied()).fails(2, &["/dev/zero", "long"]);
    }
    let dir = scratch_dir();
    let sparse = dir.path().join("sparse.json");
    File::create(&sparse).unwrap().set_len(1 << 33).unwrap();
    run([Path::new("show"), &sparse]).fails(2, &["sparse.json", "long"]);
}

/// If an impossible figure were ignored, the result would be another.
#[test]
fn figures_that_cannot_be_are_named_with_their_file() {
    let dir = scratch_dir();
    let document = |iops: &str, runtime: &str| {
        format!(
            "{{\"fio version\": \"fio-3.36\", \"jobs\": [{{\"jobname\": \"a\", \"read\": {{\"io_bytes\": 4096, \
             \"bw_bytes\": 4096, \"iops\": {iops}, \"runtime\": {runtime}, \"total_ios\": 1}}}}]}}\n"
        )
    };
    let path = dir.path().join("result.json");
    let name = path.to_str().unwrap();
    for verb in ["judge", "import"] {
        for (iops, runtime, field) in
            [("\"x\"", "1", "read.iops"), ("-1e300", "1", "read.iops"), ("1", "-5", "read.runtime")]
        {
            fs::write(&path, document(iops, runtime)).unwrap();
            run([verb, name]).fails(2, &["result.json", field]);
        }
    }
    fs::write(&path, document("1.0", "1000")).unwrap();
    run(["import", name, "--no-record"]).exits(0);
}
