//! Waiting for a person or for a file ends with the first signal.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;
use crate::live::Terminal;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;

use common::{Alive, drivescope, names, scratch_dir, wait_for, written_file};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};

// Breaks when somebody who does not want to consent cannot leave the question by the first Ctrl-C, or a script cannot end
// what waits for an answer that never comes.
#[test]
fn the_question_for_consent_ends_with_the_first_signal() {
    let dir = scratch_dir();
    let file = dir.path().join("image");
    written_file(&file, 160 << 20);
    let before = std::fs::read(&file).unwrap();
    let name = file.display();
    for verb in ["mark", "probe capacity", "trace replay docs/examples/shop.spc"] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
            let line = format!(
                "trap : INT; cd {root}; sh -c 'echo \"pid $$.\"; exec $D {verb} {name} --write'; echo \"code $?.\""
            );
            let Some(mut terminal) = Terminal::begin((100, 30), &line) else { return };
            let asked = terminal.sees("to consent, or nothing to stop: ", 0);
            if signal == Signal::INT {
                terminal.types("\u{3}");
            } else {
                let shown = terminal.shown();
                let at = shown.find("pid ").unwrap() + 4;
                let pid = shown[at..].split('.').next().unwrap().parse().unwrap();
                kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
            }
            terminal.sees("code 130.", asked);
            assert!(terminal.end().contains("stopped before anything was changed"), "{verb}");
        }
    }
    assert!(std::fs::read(&file).unwrap() == before);
    assert_eq!(names(dir.path()), ["image"]);
}

// Breaks when a command that waits for a pipe without a writer ignores a request to stop.
#[test]
fn reading_a_pipe_that_nobody_writes_to_ends_with_the_first_signal() {
    for line in [
        "judge PIPE",
        "show PIPE",
        "report PIPE -o OUT",
        "import PIPE --no-record",
        "import flashbench PIPE",
        "runs import PIPE",
        "run PIPE sim:hdd-7200 --no-record",
        "explain PIPE",
        "rows merge PIPE",
        "trace analyze PIPE",
        "trace import PIPE -o OUT",
        "trace export PIPE --to=fio -o OUT",
        "trace replay PIPE sim:sata-a --no-record",
        "health sim:mlc-nvme --since PIPE",
        "health commands:PIPE",
        "mark PIPE --read-only",
        "probe PIPE",
        "pts iops PIPE --write",
        "purge PIPE",
        "flashbench -a PIPE",
        "diskspd -d1 PIPE",
    ] {
        for signal in [Signal::TERM, Signal::QUIT] {
            let dir = scratch_dir();
            let pipe = dir.path().join("pipe");
            mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
            let out = dir.path().join("out.parquet");
            let words = line.split(' ').map(|word| match word {
                "PIPE" => pipe.display().to_string(),
                "OUT" => out.display().to_string(),
                _ => word.replace("commands:PIPE", &format!("commands:{}", pipe.display())),
            });
            let mut alive = Alive::start(&mut drivescope(words));
            // A writer finds a pipe only when somebody reads it, or waits to.
            let mut options = OpenOptions::new();
            options.write(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
            let writer = wait_for("a reader, or an error", || match options.open(&pipe) {
                Ok(writer) => Some(Some(writer)),
                Err(_) => alive.child().try_wait().unwrap().map(|_| None),
            });
            if writer.is_some() {
                kill_process(Pid::from_child(alive.child()), signal).unwrap();
            }
            wait_for(line, || alive.child().try_wait().unwrap());
            drop(writer);
            let ran = alive.end();
            assert!([Some(2), Some(3), Some(130)].contains(&ran.code), "{line}: {ran:?}");
            assert_eq!(names(dir.path()), ["pipe"], "{line}");
        }
    }
}
