//! Messages on stderr, and results on stdout.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result};
use block::text::escaped_json;
use record::Document;
use report::Styled;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;

use crate::exit::Stopped;

const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default().bold();
/// Least and most columns of a message: in fewer its words make a column of their own, more are hard to read.
const COLUMNS: (usize, usize) = (60, 200);

/// True when nothing but results and errors is printed.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Prints no notes from now on: only results, questions and errors.
pub fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// True when nothing but results, questions and errors is printed.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Says something that the user should know.
pub fn note(text: &str) {
    if !is_quiet() {
        say(&headed(YELLOW, "note:", text));
    }
}

/// Says why there is no result.
pub fn error(error: &anyhow::Error) {
    say(&headed(RED, "error:", &described(error)));
}

fn headed(style: Style, head: &str, text: &str) -> Styled {
    Styled::painted(style, head) + " " + Styled::of_lines(&format!("{text}\n"))
}

/// An error with its causes, each once, and what to do.
pub fn described(error: &anyhow::Error) -> String {
    let causes = causes(error);
    match advice(&causes) {
        Some(advice) => format!("{causes}; {advice}"),
        None => causes,
    }
}

/// Messages held back while something else has the screen.
static HELD: Mutex<Option<Styled>> = Mutex::new(None);

/// Holds messages back until [`release`], while something else has the screen.
pub fn hold() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Says what was kept, and keeps nothing any more.
pub fn release() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    say(&held.unwrap_or_default());
}

/// The last line that was kept, without its colours.
pub fn last_held() -> Option<String> {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    held.as_ref()?.plain().lines().last().map(str::to_owned)
}

/// Takes a line of progress from the terminal while it calls its argument.
pub type Suspend = Box<dyn Fn(&mut dyn FnMut()) + Send>;

/// Suspends the line of progress that is drawn, where one is.
static LINE: Mutex<Option<Suspend>> = Mutex::new(None);

/// Prints messages above a line of progress from now on, or with `None` where the cursor is.
pub fn print_above(line: Option<Suspend>) {
    *LINE.lock().unwrap_or_else(PoisonError::into_inner) = line;
}

/// Writes to stderr. If stderr cannot be written, the measurement is not lost.
pub fn say(text: &Styled) {
    if let Some(held) = HELD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        *held += text;
        return;
    }
    let mut write = || {
        let text = columns().map_or_else(|| text.clone(), |columns| text.wrapped(columns));
        let _ = anstream::stderr().lock().write_all(text.as_str().as_bytes());
    };
    match LINE.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
        Some(suspend) => suspend(&mut write),
        None => write(),
    }
}

/// Columns that a message may take; `None` where stderr is not a terminal of known size: programs read whole lines.
fn columns() -> Option<usize> {
    linux::terminal::size().map(|size| size.columns.clamp(COLUMNS.0, COLUMNS.1))
}

/// An error and its causes, each once: some errors say their cause themselves.
fn causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said {
        said if said.is_empty() => cause,
        said if said.contains(&cause) => said,
        said => match said.rsplit_once(": ") {
            _ if goes_on(&cause, &said) => cause,
            Some((before, last)) if goes_on(&cause, last) => format!("{before}: {cause}"),
            _ => format!("{said}: {cause}"),
        },
    })
}

/// True when `cause` begins with all that was `said`, such as a file's name.
fn goes_on(cause: &str, said: &str) -> bool {
    cause.strip_prefix(said).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Hint for an error that ends in the system's message, which names the problem only.
fn advice(causes: &str) -> Option<&'static str> {
    let (rest, code) = causes.strip_suffix(')')?.rsplit_once("(os error ")?;
    let is_of_the_kernel = ["/sys/", "/proc/"].iter().any(|place| rest.contains(place));
    let is_device = rest.starts_with("/dev/");
    Some(match Errno::from_raw_os_error(code.parse().ok()?) {
        Errno::NOENT if is_of_the_kernel => {
            "what lies there the kernel makes, and this it does not"
        }
        Errno::NOENT if is_device => "drivescope devices lists what is there",
        Errno::NOENT if rest.starts_with('/') => "is its name right?",
        Errno::NOENT => "is its name right? One that does not begin with / is looked for from here",
        Errno::ACCESS | Errno::PERM => "that takes other rights: as root (sudo), or as its owner",
        Errno::NOSPC | Errno::DQUOT => "make room, or take a place on another filesystem",
        Errno::FBIG => "allow larger files (ulimit -f), or take another filesystem",
        Errno::ROFS => "take a place on another filesystem, or mount this one for writing",
        Errno::NOTDIR => "a part of this path is a file and no directory",
        Errno::ISDIR => "name a file in it",
        Errno::LOOP => "symbolic links lead round in a circle",
        Errno::NAMETOOLONG => "take a shorter one",
        Errno::BUSY => "something else holds it: lsblk and fuser -v show what",
        Errno::IO => "the drive reported an error: dmesg and drivescope health may show more",
        Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM => {
            "it is gone, or without a medium: drivescope devices lists what is there"
        }
        Errno::MFILE | Errno::NFILE => "close some files, or raise their limit (ulimit -n)",
        Errno::NOMEM => "free some memory, or ask for less: fewer submitters, a smaller depth",
        _ => return None,
    })
}

/// Asks a question; any answer that does not begin with y means no.
///
/// # Errors
/// When standard input cannot be read.
pub fn ask(question: &str) -> Result<bool> {
    Ok(read_line(question)?.trim().to_ascii_lowercase().starts_with('y'))
}

/// Asks for a line of text.
///
/// # Errors
/// When standard input cannot be read; [`Stopped`] at the first signal.
pub fn read_line(question: &str) -> Result<String> {
    say(&Styled::of_lines(question));
    answer().map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// A line that somebody types. Read by the kernel's calls: what waits in a buffer would be taken for the next answer.
fn answer() -> Result<Vec<u8>> {
    let stdin = std::io::stdin();
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut ends = vec![PollFd::new(&stdin, PollFlags::IN)];
        let wake = linux::signals::wake();
        ends.extend(wake.as_ref().map(|wake| PollFd::new(wake, PollFlags::IN)));
        match poll(&mut ends, None) {
            Err(Errno::INTR) => continue,
            polled => polled.context("cannot wait for the answer")?,
        };
        if ends.get(1).is_some_and(|wake| !wake.revents().is_empty()) {
            // Not on the line of the question.
            say(&Styled::of_lines("\n"));
            return Err(Stopped.into());
        }
        let mut piece = [0; 512];
        match rustix::io::read(&stdin, &mut piece) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(0) => break,
            read => line.extend_from_slice(&piece[..read.context("cannot read the answer")?]),
        }
    }
    Ok(line)
}

/// Prints the result as JSON.
///
/// # Errors
/// As [`result`].
pub fn document<B: Serialize>(document: &Document<B>) -> Result<()> {
    json(&document.to_json().context("cannot write the result as JSON")?)
}

/// Prints a result that is JSON: as it is, but for characters that a terminal would obey, which are escaped.
///
/// # Errors
/// As [`result`].
pub fn json(text: &str) -> Result<()> {
    write(&escaped_json(text))
}

/// Prints a result that has no colours.
///
/// # Errors
/// As [`result`].
pub fn plain(text: &str) -> Result<()> {
    write(Styled::of_lines(text).as_str())
}

/// Prints the result. A reader that went away is not an error: it has seen what it wanted.
///
/// # Errors
/// When stdout cannot be written to.
pub fn result(text: &Styled) -> Result<()> {
    // In one piece: a stream that strips styles while it writes makes a system call of every line.
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => write(&text.plain()),
        _ => write(text.as_str()),
    }
}

fn write(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write the result"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when an error ends with what the system calls it, or one that says what to do says it twice.
    #[test]
    fn the_systems_words_are_not_the_last() {
        let of =
            |code: i32| format!("x: cannot be read: {}", std::io::Error::from_raw_os_error(code));
        for errno in [Errno::NOENT, Errno::ACCESS, Errno::NOSPC, Errno::ROFS, Errno::IO] {
            assert!(advice(&of(errno.raw_os_error())).is_some(), "{errno}");
        }
        assert_eq!(advice(&format!("{} (make room)", of(Errno::NOSPC.raw_os_error()))), None);
        assert_eq!(advice("x: line 3: no number"), None);
    }

    #[test]
    fn a_cause_is_not_said_twice() {
        let inner = anyhow::anyhow!("no space left");
        let outer =
            inner.context("x: cannot write: no space left (make room)").context("no record");
        assert_eq!(causes(&outer), "no record: x: cannot write: no space left (make room)");
        assert_eq!(causes(&anyhow::anyhow!("a").context("b")), "b: a");
        let of_file = anyhow::anyhow!("x.fio, line 3: no value").context("x.fio");
        assert_eq!(causes(&of_file), "x.fio, line 3: no value");
        let of_file = of_file.context("explain");
        assert_eq!(causes(&of_file), "explain: x.fio, line 3: no value");
        assert_eq!(causes(&anyhow::anyhow!("explained").context("explain")), "explain: explained");
    }
}
