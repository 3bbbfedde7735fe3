//! A directory with one good file of each kind that is read, and what becomes of it when the program runs there.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::common::{drivescope, run, scratch_dir};

/// Longest time that an answer to nonsense may take on a machine that does other things too: it guards against
/// waiting for ever, as on a pipe.
const PATIENCE: Duration = Duration::from_secs(60);

/// How the program ended.
#[derive(Debug)]
pub struct Ended {
    /// None when a signal ended it, ours when it did not end by itself.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The directory.
pub struct Fixture {
    dir: TempDir,
    before: Vec<(PathBuf, u64)>,
}

impl Fixture {
    /// Made by the program itself.
    pub fn new() -> Fixture {
        let dir = scratch_dir();
        let at = |name: &str| dir.path().join(name);
        let plan = run(["plan", "--tests=RND4KQ1T1", "--seed=7", "--runs=1", "--duration=5ms"]);
        fs::write(at("plan.toml"), plan.exits(0).stdout).unwrap();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
        for name in ["shop.spc", "align.txt", "worn-nvme.commands", "cdm.txt"] {
            fs::copy(examples.join(name), at(name)).unwrap();
        }
        fs::write(at("garbage"), [0x7f, 0, 0xff, b'\n', b'{', 0xfe]).unwrap();
        fs::write(at("x_bw.1.log"), "500, 1609, 1, 0, 0\n1000, 1596, 1, 0, 0\n").unwrap();
        fs::write(at("image"), vec![7; 1 << 20]).unwrap();
        fs::create_dir(at("directory")).unwrap();
        fs::create_dir(at("mountpoint")).unwrap();
        let pipe = at("pipe");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let mut fixture = Fixture { dir, before: Vec::new() };
        fixture.by_program();
        fixture.before = fixture.listing();
        fixture
    }

    /// Makes the files that only the program can write.
    fn by_program(&self) {
        for (line, to) in [
            ("mark sim:hdd-7200 --tests=RND4KQ1T1 --runs=1 --duration=5ms --json", "document.json"),
            ("probe sim:usb-8m --row --no-record", "rows.txt"),
            ("health commands:worn-nvme.commands --json", "health.json"),
            ("trace import shop.spc -o shop.parquet", ""),
            ("runs export -o runs.tar.gz", ""),
        ] {
            let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let ended = self.run(&line);
            assert!(matches!(ended.code, Some(0 | 1)), "{line:?}: {ended:?}");
            if !to.is_empty() {
                fs::write(self.path(to), ended.stdout).unwrap();
            }
        }
    }

    /// The same once more, for what changes it or runs beside it.
    pub fn copy(&self) -> Fixture {
        let dir = scratch_dir();
        let status = Command::new("cp")
            .arg("-a")
            .arg(self.dir.path().join("."))
            .arg(dir.path())
            .status()
            .unwrap();
        assert!(status.success());
        let mut copy = Fixture { dir, before: Vec::new() };
        copy.before = copy.listing();
        copy
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the program in it.
    pub fn run(&self, line: &[OsString]) -> Ended {
        let mut command = drivescope(line);
        command.current_dir(self.dir.path()).env("DRIVESCOPE_RUNS_DIR", self.path("runs"));
        end(&mut command)
    }

    /// Paths that are new, or changed in length.
    pub fn made(&self) -> Vec<PathBuf> {
        let now = self.listing();
        now.into_iter().filter(|entry| !self.before.contains(entry)).map(|(path, _)| path).collect()
    }

    fn listing(&self) -> Vec<(PathBuf, u64)> {
        let mut found = Vec::new();
        list(self.dir.path(), &mut found);
        found
    }
}

fn list(dir: &Path, found: &mut Vec<(PathBuf, u64)>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        // Any command may rebuild the index, which is not a run.
        if path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("index.")) {
            continue;
        }
        if meta.is_dir() {
            list(&path, found);
        }
        found.push((path, if meta.is_file() { meta.len() } else { 0 }));
    }
}

/// Runs a command to its end, or ends it.
pub fn end(command: &mut Command) -> Ended {
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    let [stdout, stderr] =
        [collect(child.stdout.take().unwrap()), collect(child.stderr.take().unwrap())];
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Ended { code: status.code(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

fn collect(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
