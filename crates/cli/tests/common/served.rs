//! `sim serve` as its users start and end it: a virtual drive as a file, until the test ends.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::{Alive, Ran, drivescope, scratch_dir};

/// A drive in service by the binary.
pub struct Server {
    alive: Alive,
    pub dir: TempDir,
    /// JSON that it printed when the drive was up.
    pub beginning: Value,
}

impl Server {
    /// `None` where that is not possible; says so.
    pub fn start(arguments: &[&str]) -> Option<Server> {
        if !Path::new("/dev/fuse").exists() {
            println!("skipped: needs /dev/fuse");
            return None;
        }
        let dir = scratch_dir();
        let mut command = drivescope(["sim", "serve", "--json"]);
        command.args(arguments).arg(dir.path());
        let mut alive = Alive::start(&mut command);
        let Some(beginning) = first_document(alive.child()) else {
            let ran = alive.end();
            if ran.stderr.contains("cannot mount") && ran.stderr.contains("ermitted") {
                println!("skipped: FUSE mounts are not permitted");
                return None;
            }
            panic!("{}", ran.stderr);
        };
        Some(Server { alive, dir, beginning })
    }

    pub fn file(&self) -> PathBuf {
        self.dir.path().join("drive")
    }

    pub fn signal(&mut self, signal: Signal) {
        let pid = Pid::from_child(self.alive.child());
        kill_process(pid, signal).unwrap();
    }

    /// Ends it as its user would; one that is killed leaves its mount.
    pub fn stop(mut self) {
        self.signal(Signal::INT);
        self.end();
    }

    /// Waits for its end.
    pub fn end(self) -> (Ran, TempDir) {
        let Server { alive, dir, .. } = self;
        (alive.end(), dir)
    }
}

/// Reads the document that says that the drive is up; `None` when the server ends without.
fn first_document(child: &mut Child) -> Option<Value> {
    // One byte at a time: what comes later belongs to the end.
    let out = child.stdout.as_mut().unwrap();
    let mut text = String::new();
    let mut lines = BufReader::with_capacity(1, out);
    while lines.read_line(&mut text).unwrap() > 0 {
        if text.ends_with("\n}\n") {
            return Some(serde_json::from_str(&text).unwrap());
        }
    }
    None
}
