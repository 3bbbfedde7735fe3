//! Effects of signals on a process: each signal, at each kind of work.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use block::{Bytes, Payload};
use drivescope_linux::scratch::ScratchFile;
use drivescope_linux::signals;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Environment variables with the work of a test's child process and its directory.
const WORK: &str = "DRIVESCOPE_TEST_SIGNALS_WORK";
const DIR: &str = "DRIVESCOPE_TEST_SIGNALS_DIR";

/// Signals that end a program unless it catches them (`signal(7)`), by their numbers on x86 and ARM: HUP, INT, QUIT, TRAP,
/// ABRT, USR1, USR2, ALRM, TERM, STKFLT, XCPU, VTALRM, PROF, IO, PWR, and some of those for real-time use.
const ENDING: [i32; 19] = [1, 2, 3, 5, 6, 10, 12, 14, 15, 16, 24, 26, 27, 29, 30, 34, 37, 50, 64];

/// How the child ends when it winds up on its own.
const WOUND_UP: i32 = 7;

struct Zeros;

impl Payload for Zeros {
    fn fill(&mut self, _: Bytes, buffer: &mut [u8]) {
        buffer.fill(0);
    }
}

/// Not a test of its own: what the tests below start and send signals to.
#[test]
fn child_that_is_sent_signals() {
    let (Some(work), Some(dir)) = (std::env::var_os(WORK), std::env::var_os(DIR)) else { return };
    let dir = Path::new(&dir);
    signals::start().unwrap();
    let calm = AtomicBool::new(false);
    let made = ScratchFile::create(dir, Bytes(4096), "work", &mut Zeros, &mut |_, _| {}, &calm);
    let scratch = made.unwrap();
    let cancel = Arc::new(AtomicBool::new(false));
    match work.to_str().unwrap() {
        "waits" => {
            println!("ready");
            loop {
                thread::park();
            }
        }
        "winds up" => {
            let _orderly = signals::orderly(&cancel);
            println!("ready");
            while !cancel.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(2));
            }
            // A timer that goes on does not end what winds up.
            let until = Instant::now() + Duration::from_secs(60);
            while dir.join("stay").exists() && Instant::now() < until {
                thread::sleep(Duration::from_millis(2));
            }
        }
        "puts back" => {
            let orderly = signals::orderly(&cancel);
            let protected = signals::protect("putting the original data back");
            println!("ready");
            while dir.join("stay").exists() {
                thread::sleep(Duration::from_millis(2));
            }
            drop((protected, orderly));
        }
        "writes" => {
            let limit = Rlimit { current: Some(8192), maximum: None };
            setrlimit(Resource::Fsize, limit).unwrap();
            let mut file = fs::File::create(dir.join("large")).unwrap();
            let error = file.write_all(&[1; 1 << 20]).unwrap_err();
            println!("ready {:?}", error.raw_os_error());
        }
        other => panic!("{other}"),
    }
    drop(scratch);
    std::process::exit(WOUND_UP);
}

/// A child at `work`, and the line that it said when it was ready. It is killed when the test fails.
struct Working {
    child: Child,
    said: String,
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the child by way of a shell that does `first` before it becomes the child.
fn working(first: &str, work: &str, dir: &Path) -> Working {
    let mut child = Command::new("sh")
        .args(["-c", &format!("{first}; exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "signals::child_that_is_sent_signals", "--nocapture"])
        .env(WORK, work)
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find(|line| line.contains("ready"));
    Working { child, said: said.expect("the child got ready") }
}

impl Working {
    fn is_sent(&self, signal: i32) {
        let kill = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    /// Waits for the end; the exit status, and what it said on stderr.
    fn ends(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let said = std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap();
        (status.code(), said)
    }
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.collect()
}

// Breaks when some signal ends the process on the spot, so that its files stay or the signal is not reported; or when
// one does not end a process that waits for a file or a person.
#[test]
fn each_signal_ends_a_process_that_waits_and_leaves_nothing() {
    for signal in ENDING {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let working = working(":", "waits", dir.path());
        assert_eq!(names(dir.path()), [".drivescope-work.scratch"]);
        working.is_sent(signal);
        let (code, said) = working.ends();
        assert_eq!(code, Some(130), "signal {signal}: {said}");
        assert!(said.contains("stopped by SIG"), "signal {signal}: {said}");
        assert!(names(dir.path()).is_empty(), "signal {signal}");
    }
}

// Breaks when some signal ends a measurement on the spot instead of asking it to wind up.
#[test]
fn each_signal_asks_a_process_that_measures_to_wind_up() {
    for signal in ENDING {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let working = working(":", "winds up", dir.path());
        working.is_sent(signal);
        let (code, said) = working.ends();
        assert_eq!(code, Some(WOUND_UP), "signal {signal}: {said}");
        assert!(names(dir.path()).is_empty(), "signal {signal}");
    }
}

/// SIGXCPU comes each second from the limit of CPU time on.
#[test]
fn a_timer_that_goes_on_does_not_end_what_winds_up() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(dir.path().join("stay"), "").unwrap();
    let mut working = working(":", "winds up", dir.path());
    for _ in 0..3 {
        working.is_sent(24);
        thread::sleep(signals::SAME_WISH + Duration::from_millis(100));
        assert!(working.child.try_wait().unwrap().is_none(), "a timer ended it");
    }
    fs::remove_file(dir.path().join("stay")).unwrap();
    assert_eq!(working.ends().0, Some(WOUND_UP));
}

// Breaks when a second Ctrl-C leaves half of the user's data overwritten.
#[test]
fn nothing_that_can_be_caught_ends_a_process_that_puts_data_back() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(dir.path().join("stay"), "").unwrap();
    let mut working = working(":", "puts back", dir.path());
    for signal in [2, 15, 3, 1, 2] {
        working.is_sent(signal);
        thread::sleep(signals::SAME_WISH + Duration::from_millis(100));
        assert!(working.child.try_wait().unwrap().is_none(), "signal {signal} ended it");
    }
    fs::remove_file(dir.path().join("stay")).unwrap();
    let (code, said) = working.ends();
    assert_eq!(code, Some(WOUND_UP), "{said}");
    assert!(said.contains("putting the original data back; please wait"), "{said}");
    assert!(names(dir.path()).is_empty());
}

// Breaks when `nohup` does not keep a measurement from ending with its terminal.
#[test]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let working = working("trap '' HUP USR1", "waits", dir.path());
    working.is_sent(1);
    working.is_sent(10);
    working.is_sent(15);
    let (code, said) = working.ends();
    assert_eq!(code, Some(130));
    assert!(said.contains("stopped by SIGTERM"), "{said}");
}

// Breaks when a limit of file sizes kills the process instead of failing the write.
#[test]
fn a_file_that_grows_too_large_is_an_error_and_no_end() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let working = working(":", "writes", dir.path());
    assert!(working.said.ends_with("ready Some(27)"), "{}", working.said);
    assert_eq!(working.ends().0, Some(WOUND_UP));
}
