//! The live view in a real terminal: what is seen, how it ends, and what the terminal is like afterwards.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use common::{Alive, run, wait_for};

/// The alternate screen and back.
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

/// A test that goes on for long enough to be looked at and ended.
const LONG: &str = "$D pts wsat 'sim:enterprise-28op?capacity=8GiB' --minute=2% --seed=7";
/// A mark that is over at once.
const SHORT: &str =
    "$D mark sim:hdd-7200 --tests=RND4KQ1T1 --runs=1 --duration=5ms --warm-up=0 --pause=0";

/// A shell on a terminal of its own.
pub struct Terminal {
    script: Alive,
    shown: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Runs `line` in a terminal of `size` (columns, rows); `$D` is the program. `None` when there is no `script`.
    pub fn begin(size: (u32, u32), line: &str) -> Option<Terminal> {
        if Command::new("script").arg("--version").output().is_err() {
            println!("skipped: script is not installed");
            return None;
        }
        let (columns, rows) = size;
        let line = format!("stty rows {rows} cols {columns}; {line}");
        let mut command = Command::new("script");
        command.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
        command.env("D", env!("CARGO_BIN_EXE_drivescope"));
        command.env("DRIVESCOPE_RUNS_DIR", common::runs_dir());
        let mut script = Alive::start(&mut command);
        let mut end = script.child().stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let all = Arc::clone(&shown);
        let reader = thread::spawn(move || {
            let mut piece = [0; 4096];
            let mut bytes = Vec::new();
            while let Ok(count @ 1..) = end.read(&mut piece) {
                bytes.extend_from_slice(&piece[..count]);
                *all.lock().unwrap() = String::from_utf8_lossy(&bytes).into_owned();
            }
        });
        Some(Terminal { script, shown, reader: Some(reader) })
    }

    /// All that the terminal was sent.
    pub fn shown(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    /// Waits until `words` were sent after the first `from` bytes; where they end.
    #[track_caller]
    pub fn sees(&self, words: &str, from: usize) -> usize {
        wait_for(words, || {
            let shown = self.shown();
            shown.get(from..)?.find(words).map(|at| from + at + words.len())
        })
    }

    pub fn types(&mut self, keys: &str) {
        self.script.child().stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end; all that the terminal was sent.
    pub fn end(mut self) -> String {
        self.script.child().wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        self.shown()
    }
}

/// Output after the screen was left for the last time, when the terminal has to be restored.
#[track_caller]
fn after(shown: &str) -> &str {
    let entered = shown.rfind(ENTER).expect("there was a screen");
    let left = shown.rfind(LEAVE).expect("the screen was left");
    assert!(left > entered, "the screen was entered again: {shown}");
    let cursor = shown.rfind(SHOW_CURSOR).expect("the cursor was shown");
    assert!(cursor > entered && !shown[cursor..].contains("\u{1b}[?25l"), "no cursor: {shown}");
    &shown[left..]
}

#[track_caller]
fn has_all(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing:\n{text}");
    }
}

// Breaks when a message on a terminal is broken within a word, or scripts get broken lines.
#[test]
fn messages_break_at_word_ends_on_a_terminal() {
    let Some(terminal) = Terminal::begin((80, 24), "NO_COLOR=1 $D probe capcity sim:usb-8m") else {
        return;
    };
    let shown = terminal.end().replace('\r', "");
    let lines: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 2 && lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(
        lines[1].starts_with("       ") && lines.contains(&"hint: did you mean capacity?"),
        "{shown}"
    );
    let whole = run(["probe", "capcity", "sim:usb-8m"]);
    assert_eq!(whole.stderr.lines().count(), 2, "{}", whole.stderr);
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&shown), words(&whole.stderr));
}

// Breaks when a long test on a usual terminal shows nothing to look at, when q does not end it as Ctrl-C does, with a record
// that can be gone on with, or when the shell afterwards has no echo, no cursor, or keys in front of its prompt.
#[test]
fn a_test_is_seen_and_ended_by_a_key() {
    let Some(mut terminal) = Terminal::begin(
        (80, 24),
        &format!("{LONG}; echo \"code $?\"; stty -a; read -t 0.1 K; echo \"[$K]\""),
    ) else {
        return;
    };
    terminal.sees("IOPS of RND 4KiB 0/100", 0);
    terminal.types("qqq");
    terminal.sees("ending: the I/O that is outstanding is waited for", 0);
    let shown = terminal.end();
    has_all(
        &shown,
        &[
            "drivescope pts wsat sim:enterprise-28op",
            "q or Ctrl-C ends it cleanly",
            "by PTS",
            " left",
        ],
    );
    let rest = after(&shown);
    // Three keys are one wish: the second Ctrl-C would have ended it at once, and without its result.
    has_all(
        rest,
        &[
            "Write saturation (WSAT)",
            "resume it: drivescope pts --resume",
            "code 130",
            " icanon",
            " echo ",
        ],
    );
    assert!(!rest.contains("-icanon") && !rest.contains("-echo "), "{rest}");
}

// Breaks when JSON is mixed with what is drawn, when colours come although the user wants none, or when Ctrl-C is a key
// that somebody has to read.
#[test]
fn json_and_the_wish_for_no_colours_are_kept() {
    let dir = common::scratch_dir();
    let file = dir.path().join("result.json");
    // The shell gets the signal, too.
    let line =
        format!("trap : INT; NO_COLOR=1 {LONG} --json > {}; echo \"code $?\"", file.display());
    let Some(mut terminal) = Terminal::begin((100, 30), &line) else { return };
    terminal.sees("IOPS of RND 4KiB 0/100", 0);
    terminal.types("\u{3}");
    let shown = terminal.end();
    has_all(after(&shown), &["code 130"]);
    let orders = shown.split("\u{1b}[").skip(1);
    let ends = orders.filter_map(|order| {
        order.split_once(|c: char| c.is_ascii_alphabetic()).map(|(of, _)| (of, order))
    });
    for (of, order) in ends {
        assert!(order.as_bytes()[of.len()] != b'm' || of == "0", "a colour: {order:?}");
    }
    let text = std::fs::read_to_string(file).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["envelope"]["schema"], "drivescope.pts/1");
}

// Breaks when a run that is stopped leaves the shell in the screen, or has none when it goes on.
#[test]
fn a_stopped_run_gives_the_terminal_back_and_takes_it_again() {
    let line = format!("set -m; {LONG}; echo stopped; stty -a; fg; echo \"code $?\"");
    let Some(mut terminal) = Terminal::begin((80, 24), &line) else { return };
    terminal.sees("IOPS of RND 4KiB 0/100", 0);
    terminal.types("\u{1a}");
    let stopped = terminal.sees("stopped", 0);
    let before = terminal.shown()[..stopped].to_owned();
    has_all(after(&before), &["stopped"]);
    let again = terminal.sees(ENTER, stopped);
    assert!(terminal.shown()[stopped..again].contains(" echo "), "the shell had no echo");
    terminal.sees("q or Ctrl-C ends it cleanly", again);
    terminal.types("q");
    has_all(after(&terminal.end()), &["resume it: drivescope pts --resume", "code 130"]);
}

// Breaks when a run that is ended by a signal leaves its screen behind.
#[test]
fn a_run_that_is_told_to_end_gives_the_terminal_back() {
    let line = format!("timeout --foreground --preserve-status -s TERM 3 {LONG}; echo \"code $?\"");
    let Some(terminal) = Terminal::begin((80, 24), &line) else { return };
    has_all(after(&terminal.end()), &["resume it: drivescope pts --resume", "code 130"]);
}

// Breaks when a terminal that cannot show a screen is sent one unasked, or one that is asked for is silently left out.
#[test]
fn no_screen_where_none_is_wanted_or_possible() {
    let ended = |line: &str| format!("timeout --foreground -s INT 2 {line}; echo done");
    let cases = [
        ((79, 24), ended(LONG)),
        ((80, 23), ended(LONG)),
        ((80, 24), ended(&format!("env TERM=dumb {LONG}"))),
        ((80, 24), ended(&format!("{LONG} --no-live"))),
        ((80, 24), ended(&format!("{LONG} --no-progress"))),
        ((80, 24), format!("{SHORT}; echo done")),
    ];
    let begun = cases.map(|(size, line)| Terminal::begin(size, &line));
    for terminal in begun.into_iter().flatten() {
        let shown = terminal.end();
        assert!(shown.contains("done") && !shown.contains(ENTER), "{shown}");
    }
    let asked = [
        ((79, 24), format!("{SHORT} --live"), "--live: the terminal has 79 × 24 cells"),
        ((80, 24), format!("TERM=dumb {SHORT} --live"), "--live: the terminal (TERM=dumb)"),
    ];
    for (size, line, why) in asked {
        let Some(terminal) = Terminal::begin(size, &format!("{line}; echo \"code $?\"")) else {
            return;
        };
        has_all(&terminal.end(), &[why, "code 2"]);
    }
    let short: Vec<&str> = SHORT.split(' ').skip(1).chain(["--live"]).collect();
    run(short).fails(2, &["--live: stderr is not a terminal"]);
}

// Breaks when a run that draws a line cannot be looked at, or the other way round; when a key is seen on the terminal or left to
// the shell; or when the terminal is not given back by whichever was shown last.
#[test]
fn a_key_changes_between_line_and_view() {
    let mark =
        "$D mark sim:hdd-7200 --tests=RND4KQ1T1 --runs=500 --duration=60s --settle=0s --seed=7";
    let line =
        format!("trap : INT; {mark}; echo \"code $?\"; stty -a; read -t 0.1 K; echo \"[$K]\"");
    let Some(mut terminal) = Terminal::begin((80, 24), &line) else { return };
    let line = terminal.sees("l: live view", 0);
    assert!(!terminal.shown().contains(ENTER));
    terminal.types("xl");
    let view = terminal.sees(ENTER, line);
    let view = terminal.sees("q or Ctrl-C ends it cleanly", view);
    terminal.types("l");
    let back = terminal.sees(LEAVE, view);
    terminal.sees("l: live view", back);
    terminal.types("\u{3}");
    let shown = terminal.end();
    has_all(after(&shown), &["code 130", " icanon", " echo ", "[]"]);
    assert_eq!(shown.matches(ENTER).count(), 1, "{shown}");
}

// Breaks when keys are taken from a program that has them, or where no live view is wanted.
#[test]
fn no_key_is_taken_where_none_is_wanted() {
    let mark =
        "$D mark sim:hdd-7200 --tests=RND4KQ1T1 --runs=20 --duration=60s --settle=0s --seed=7";
    for of in ["</dev/null", "--no-live", "--no-progress", "2>/dev/null"] {
        let line = format!("{mark} {of}; echo \"code $?\"");
        let Some(mut terminal) = Terminal::begin((80, 24), &line) else { return };
        terminal.types("l");
        let shown = terminal.end();
        assert!(!shown.contains(ENTER) && !shown.contains("l: live view"), "{of}: {shown}");
    }
}
