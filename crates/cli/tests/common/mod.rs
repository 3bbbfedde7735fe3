//! Shared parts of acceptance tests: the binary, its JSON, and storage to run it on.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

pub mod kills;
pub mod recorded;
pub mod served;
pub mod storage;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Short settings: what is checked are counts, bytes and verdicts, never how fast this machine is.
pub const SHORT: [&str; 8] = [
    "--duration=100ms",
    "--warm-up=20ms",
    "--pause=1ms",
    "--settle=0s",
    "--runs=2",
    "--no-progress",
    "--seed=7",
    "--json",
];

/// Exit code and output of a run of the binary.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The JSON that stdout holds, and nothing else.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("stdout is no JSON: {e}\n{}\n{}", self.stdout, self.stderr))
    }

    pub fn body(&self) -> Value {
        self.json()["body"].take()
    }

    /// Asserts the exit code, showing what was said.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts that stderr holds each of `words`.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Ran {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing on stderr: {}", self.stderr);
        }
        self
    }

    /// The lines that announce the run.
    pub fn announced(&self) -> String {
        let lines = self.stderr.lines().filter(|line| is_of_announcement(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Stderr without the announcement and the place of the record, which every run has.
    pub fn said(&self) -> String {
        let of_record = |line: &&str| {
            line.starts_with("note: report: drivescope report last")
                || line.starts_with("note: recording to the drive that is measured")
        };
        let lines = self.stderr.lines();
        let others = lines.filter(|line| !of_record(line) && !is_of_announcement(line));
        others.collect::<Vec<_>>().join("\n")
    }

    /// Asserts that stdout holds each of `words`.
    #[track_caller]
    pub fn prints(self, words: &[&str]) -> Ran {
        for word in words {
            assert!(self.stdout.contains(word), "{word:?} is missing on stdout: {}", self.stdout);
        }
        self
    }

    /// Asserts that this is an error that names `words`: exit code, no result, nothing but `error:`.
    #[track_caller]
    pub fn fails(self, code: i32, words: &[&str]) -> Ran {
        let ran = self.exits(code).says(&["error:"]).says(words);
        assert!(ran.stdout.is_empty(), "an error came with a result: {}", ran.stdout);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        ran
    }
}

/// True of a line of an announcement: one of its heads, or what goes on below it.
fn is_of_announcement(line: &str) -> bool {
    let heads = ["target: ", "plan:   ", "time:   ", "I/O:    ", "warning: ", "        "];
    heads.iter().any(|head| line.starts_with(head))
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

thread_local! {
    /// Directory of this test's runs. It belongs to the thread, as each test has a thread of its own,
    /// and is removed with it.
    static RUNS: TempDir = scratch_dir();
}

/// Directory of this test's runs unless the test names another: never the user's own data directory.
/// Not the same for threads that a test starts.
pub fn runs_dir() -> PathBuf {
    RUNS.with(|dir| dir.path().to_owned())
}

/// A running program, which goes with the test that started it: one that a failed test left running
/// would disturb every measurement after it.
#[derive(Debug)]
pub struct Alive(Option<Child>);

impl Alive {
    pub fn start(command: &mut Command) -> Alive {
        Alive(Some(command.spawn().unwrap()))
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    /// Waits until it has ended.
    pub fn end(mut self) -> Ran {
        self.0.take().unwrap().wait_with_output().unwrap().into()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The binary, without a terminal.
pub fn drivescope<I: IntoIterator<Item: AsRef<OsStr>>>(args: I) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drivescope"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.env("DRIVESCOPE_RUNS_DIR", runs_dir());
    command
}

pub fn run<I: IntoIterator<Item: AsRef<OsStr>>>(args: I) -> Ran {
    drivescope(args).output().unwrap().into()
}

/// `mark` with short settings, which `args` override.
pub fn mark(target: impl AsRef<OsStr>, args: &[&str]) -> Ran {
    let target = target.as_ref();
    let name = |arg: &str| arg.split('=').next().unwrap_or_default().to_owned();
    finishing(|longer| {
        if !longer.is_empty() {
            forget_last(args);
        }
        let is_other = |arg: &&&str| !longer.iter().any(|long| name(long) == name(arg));
        let others: Vec<&str> = args.iter().filter(is_other).copied().collect();
        mark_command(target, &[&others[..], longer].concat())
    })
}

/// Removes the record of the last run of a command with these arguments: it is made again.
fn forget_last(args: &[&str]) {
    let at = args.iter().position(|arg| arg.starts_with("--runs-dir"));
    let Some(at) = at.filter(|_| !args.contains(&"--no-record")) else { return };
    let dir = args[at].strip_prefix("--runs-dir=").or(args.get(at + 1).copied());
    let dir = dir.expect("a runs directory is named");
    let ran: Ran =
        drivescope(["runs", "rm", "last", "--yes", "--runs-dir", dir]).output().unwrap().into();
    ran.exits(0);
}

/// Output of a mark's command, which is repeated with a longer window if nothing finished in the short
/// one because the disk was busy. `make` gets the flags that lengthen it.
pub fn finishing(make: impl Fn(&[&str]) -> Command) -> Ran {
    let mut ran: Ran = make(&[]).output().unwrap().into();
    for longer in ["--duration=1s", "--duration=5s"] {
        if !ran.stdout.contains("\"nothing_finished\"") {
            break;
        }
        ran = make(&[longer]).output().unwrap().into();
    }
    ran
}

/// The command of [`mark`].
pub fn mark_command(target: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let name = |arg: &&str| arg.split('=').next().unwrap_or_default().to_owned();
    let given: Vec<String> = args.iter().map(name).collect();
    let mut command = drivescope(["mark"]);
    command.arg(target).args(SHORT.iter().filter(|arg| !given.contains(&name(arg))));
    command.args(args);
    command
}

/// The tests of a body.
pub fn tests(body: &Value) -> &Vec<Value> {
    body["tests"].as_array().expect("a body has tests")
}

pub fn verdict<'a>(test: &'a Value, proof: &str) -> &'a str {
    test["proofs"][proof]["verdict"].as_str().unwrap_or_else(|| panic!("no {proof} in {test}"))
}

/// Asserts exit code 1: *reached* refuted, no headline, and why.
#[track_caller]
pub fn assert_not_reached(ran: Ran, why: &str) {
    let ran = ran.exits(1);
    let body = ran.body();
    assert!(!tests(&body).is_empty());
    for test in tests(&body) {
        let reached = &test["proofs"]["reached"];
        assert_eq!(reached["verdict"], "refuted", "{test}");
        assert_eq!(test["headline"], false, "{test}");
        let reason = reached["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{reason:?} does not say {why:?}");
    }
}

/// Asserts that every test of the body is confirmed and reached the device.
#[track_caller]
pub fn assert_reached(body: &Value) {
    assert!(!tests(body).is_empty());
    for test in tests(body) {
        let reached = &test["proofs"]["reached"];
        assert_eq!(reached["verdict"], "proven", "{test}");
        assert_eq!(test["headline"], true, "{test}");
        let mut moved = 0;
        for run in test["runs"].as_array().unwrap() {
            let (bytes, ios) = (run["bytes"].as_u64().unwrap(), run["ios"].as_u64().unwrap());
            assert_eq!(bytes, ios * test["block_bytes"].as_u64().unwrap());
            moved += bytes;
        }
        // Not in each run: a busy disk may keep one I/O for longer than these short runs last.
        assert!(moved > 0, "{test}");
    }
}

/// A fresh directory below the build's own, which is on the disk that the repository is on.
pub fn scratch_dir() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Names in a directory.
pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Waits until `ready` gives something; a test that waits for what never comes fails here.
#[track_caller]
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "60 s without {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The test file that a run has in `dir`, once it is at least `bytes` long.
#[track_caller]
pub fn wait_for_test_file(dir: &Path, bytes: u64) -> PathBuf {
    wait_for("a test file", || {
        let entries = std::fs::read_dir(dir).ok()?;
        entries.filter_map(Result::ok).map(|entry| entry.path()).find(|path| {
            path.extension().is_some_and(|e| e == "scratch")
                && path.metadata().is_ok_and(|m| m.len() >= bytes)
        })
    })
}

/// A file fully written with data that no filesystem can shrink.
pub fn written_file(path: &Path, bytes: u64) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut chunk = vec![0u8; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        for word in chunk.chunks_exact_mut(8) {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_ne_bytes());
        }
        let length = left.min(chunk.len() as u64);
        file.write_all(&chunk[..length as usize]).unwrap();
        left -= length;
    }
    file.sync_all().unwrap();
}
