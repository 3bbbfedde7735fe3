//! Programs that are killed at moments that are drawn.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "these are tests; no test program uses all of it"
)]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};

use super::Ran;
use super::recorded::lines_in;

/// Numbers for moments; a failed test prints its seed with its output.
pub struct Dice(u64);

impl Dice {
    /// Of this moment.
    pub fn new() -> Dice {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        println!("seed {now}");
        Dice(now | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// This long after its start.
    At(Duration),
    /// This long after the journal has this many lines.
    Lines(u64, Duration),
}

impl Moment {
    /// Half of them anywhere in a life of `life`, half of them shortly after one of `lines` lines.
    pub fn draw(dice: &mut Dice, life: Duration, lines: u64) -> Moment {
        if dice.below(2) == 0 {
            Moment::At(Duration::from_micros(dice.below(life.as_micros() as u64)))
        } else {
            Moment::Lines(1 + dice.below(lines), Duration::from_micros(dice.below(3000)))
        }
    }

    /// Waits for it.
    pub fn wait(self, child: &mut Child, runs: &Path) {
        match self {
            Moment::At(after) => std::thread::sleep(after),
            Moment::Lines(lines, after) => {
                while lines_in(runs) < lines && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_micros(200));
                }
                std::thread::sleep(after);
            }
        }
    }
}

/// Sends `signal`, if the process is still there.
pub fn kill(child: &mut Child, signal: Signal) {
    if child.try_wait().unwrap().is_none() {
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        // It may have ended meanwhile; not yet waited for, its number is still its own.
        kill_process(pid, signal).unwrap();
    }
}

/// Starts `command`, ends it with `signal` at `moment`, and returns how it ended.
pub fn killed(mut command: Command, runs: &Path, moment: Moment, signal: Signal) -> Ran {
    let mut child = command.env("DRIVESCOPE_RUNS_DIR", runs).spawn().unwrap();
    // Read as it comes: a result may be larger than a pipe, and its writer would wait.
    let (out, err) = (read(child.stdout.take()), read(child.stderr.take()));
    moment.wait(&mut child, runs);
    kill(&mut child, signal);
    let status = child.wait().unwrap();
    let (stdout, stderr) = (out.join().unwrap(), err.join().unwrap());
    let ran = Ran::from(Output { status, stdout, stderr });
    assert!(!ran.stderr.contains("panicked"), "{moment:?}: {}", ran.stderr);
    // Killed, interrupted, or done before; a number may be refuted on a busy disk.
    assert!(matches!(ran.code, None | Some(0 | 1 | 130)), "{moment:?}: {}", ran.stderr);
    ran
}

fn read(from: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        from.into_iter().for_each(|mut from| drop(from.read_to_end(&mut all)));
        all
    })
}
