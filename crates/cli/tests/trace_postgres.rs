//! A real application's I/O: PostgreSQL under pgbench, recorded, analysed, and replayed on two drives to find which suits
//! it. The small brother of `scripts/validate postgres`.
//!
//! In a program of its own: which drive is the faster one is found by the clock.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::served;
use common::storage::{Loop, has_means, skip, tool};
use common::{run, scratch_dir};
use tempfile::TempDir;

const USER: &str = "postgres";

/// A server of our own on a device of its own. Stopped and taken down when dropped.
struct Server {
    programs: PathBuf,
    point: TempDir,
    device: Loop,
}

impl Server {
    /// `None` where there is no PostgreSQL; says so.
    fn start() -> Option<Server> {
        if !has_means(&["losetup", "mkfs.ext4", "mount", "runuser", "dd"]) {
            return None;
        }
        let versions = fs::read_dir("/usr/lib/postgresql").ok();
        let Some(version) = versions.and_then(|mut all| all.find_map(Result::ok)) else {
            skip("needs /usr/lib/postgresql");
            return None;
        };
        // A place to which its user has access: the build's own directory may be root's alone.
        let point = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(point.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let device = Loop::new(160 << 20, true);
        // Nothing is left to be zeroed in the background, which the kernel would count as written.
        let whole = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        tool("mkfs.ext4", &["-q", "-F", "-E", whole, device.dev()]);
        let server = Server { programs: version.path().join("bin"), point, device };
        tool("mount", &[server.device.dev(), server.point.path().to_str().unwrap()]);
        let data = server.data();
        fs::create_dir(&data).unwrap();
        tool("chown", &[USER, &data]);
        server.run("initdb", &["-D", &data, "-A", "trust", "--wal-segsize=1", "--no-sync"]);
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={data} -c shared_buffers=2MB -c max_wal_size=32MB"
        );
        let log = format!("{data}/log.txt");
        server.run("pg_ctl", &["-D", &data, "-l", &log, "-w", "-o", &options, "start"]);
        server.run("pgbench", &["-h", &data, "-q", "-i", "-s", "1", "postgres"]);
        Some(server)
    }

    fn data(&self) -> String {
        self.point.path().join("data").to_str().unwrap().to_owned()
    }

    fn program(&self, name: &str) -> String {
        self.programs.join(name).to_str().unwrap().to_owned()
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        tool("runuser", &[&["-u", USER, "--", &self.program(program)], arguments].concat())
    }

    /// Sectors that the kernel has counted as written.
    fn written(&self) -> u64 {
        let stat = Path::new("/sys/block").join(self.device.name()).join("stat");
        let stat = fs::read_to_string(stat).unwrap();
        stat.split_ascii_whitespace().nth(6).unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        let program = self.program("pg_ctl");
        let stop = ["-u", USER, "--", &program, "-D", &data, "-w", "-m", "immediate", "stop"];
        let _ = Command::new("runuser").args(stop).output();
        let _ = Command::new("umount").arg(self.point.path()).status();
    }
}

// Breaks when what a database makes durable is not in its recording, when the analysis of it counts something else, or
// when replays of it do not distinguish a solid-state drive from a disk.
#[test]
fn what_a_database_writes_is_what_the_kernel_counted_and_tells_drives_apart() {
    if !Path::new("/sys/kernel/tracing/instances").is_dir() {
        return skip("needs /sys/kernel/tracing/instances");
    }
    let Some(server) = Server::start() else { return };
    tool("sync", &["-f", &server.data()]);
    let dir = scratch_dir();
    let file = dir.path().join("postgres.parquet");
    let path = file.to_str().unwrap();
    let before = server.written();
    let (bench, data) = (server.program("pgbench"), server.data());
    // A certain count of transactions: how long they take is this machine's affair.
    let words =
        ["runuser", "-u", USER, "--", &bench, "-h", &data, "-c", "4", "-t", "50", "postgres"];
    let args =
        ["trace", "record", "--json", server.point.path().to_str().unwrap(), "-o", path, "--"];
    let ran = run([&args[..], &words].concat())
        .exits(0)
        .says(&["lies on ext4 on", "number of transactions"]);
    let counted = (server.written() - before) * 512;
    let recorded = ran.body();
    assert_eq!(recorded["recorder"]["lost"].as_u64(), Some(0));
    let body = run(["trace", "analyze", "--json", path]).exits(0).body();
    let written = body["bytes_written"].as_u64().unwrap();
    // Each transaction is made durable by a write to the log of 8 KiB at least; several may share one.
    assert!(written > 50 * 8192, "{written} bytes are less than 50 commits");
    assert!(
        written <= counted && counted - written < 4 << 20,
        "{written} recorded, {counted} counted"
    );
    assert!(body["writes"].as_u64().unwrap() >= 50);
    assert!(body["q2c_sum_s"].as_f64().unwrap() > 0.0);
    drop(server);
    for mode in ["timed", "outstanding"] {
        compare_by(path, mode);
    }
}

/// Of the drives served, the first is known to answer sooner, whatever the machine does beside.
fn compare_by(trace: &str, mode: &str) {
    let Some(better) = served::Server::start(&["sata-a?seed=7"]) else { return };
    let Some(worse) = served::Server::start(&["hdd-7200?seed=7"]) else { return };
    let files = [better.file(), worse.file()].map(|file| file.to_str().unwrap().to_owned());
    let mode = format!("--mode={mode}");
    let how = [
        "--until=300ms",
        "--rounds=6",
        "--seed=7",
        "--write",
        "--consent=drive",
        "--consent=drive",
        "--json",
    ];
    let args = ["trace", "compare", trace, &files[0], &files[1], &mode];
    let ran = run([&args[..], &how].concat());
    let body = ran.exits(0).body();
    assert_eq!(body["verdict"], "a", "{mode}: {}", body["reason"]);
    // Each round did all of it on both.
    for drive in body["drives"].as_array().unwrap() {
        assert_eq!(drive["rounds"].as_array().unwrap().len(), 6);
    }
    better.stop();
    worse.stop();
}
