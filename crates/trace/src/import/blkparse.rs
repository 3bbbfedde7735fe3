//! Output of blkparse in its default form: a line for each event, and a summary at the end.
//!
//! ```text
//!   8,0    3       11     0.009507758   697  C   W 223490 + 8 [0]
//! ```
//!
//! Device, CPU, number, seconds since the first event, task, action, kind; then sectors and whatever the action has.
//! Lengths are printed in whole sectors, and dates not at all: a binary recording knows more.

use std::collections::HashMap;

use block::Nanos;
use block::trace::{Action, DeviceNumber, Extra, TraceEvent, TraceNote, TraceSink as _, Traits};

use super::compressed::{Input, LINE_MAX, LineError};
use super::records::{FAULTS_TOLD, quoted};
use crate::pair::{Limits, Pairer};
use crate::{BATCH, Io, Place, Source, TraceError, TraceInfo};

/// Most tasks whose names are followed.
const TASKS_MAX: usize = 1 << 17;

/// Lines between two looks at what is paired.
const LINES: usize = 4 << 10;

/// True for a line that reports an event or a message.
pub fn is_row(line: &[u8]) -> bool {
    matches!(Line::of(line), Ok(Line::Event(..) | Line::Message(_)))
}

/// True for a line that blkparse prints besides events, before them.
pub fn is_preamble(line: &[u8]) -> bool {
    matches!(Line::of(line), Ok(Line::Preamble))
}

/// Reads what blkparse printed.
pub fn open(input: Input, lenient: bool) -> Blkparse {
    let pairer = Pairer::new("blkparse text", Limits::default());
    Blkparse::new(input, lenient, pairer, Line::of)
}
/// Output of blkparse, or of another tool whose lines are events of the block layer, as I/Os.
pub struct Blkparse {
    input: Input,
    lenient: bool,
    line: fn(&[u8]) -> Result<Line, String>,
    pairer: Pairer,
    events: Vec<TraceEvent>,
    names: HashMap<u32, String>,
    /// Completions, and other events, end with a word in brackets, without which one is cut off; none before the first.
    closed: [Option<bool>; 2],
    /// The summary was reached.
    tail: bool,
    over: bool,
}

impl Source for Blkparse {
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        let before = batch.len();
        while !self.over && batch.len() - before < BATCH / 2 {
            let result = self.lines();
            self.pairer.events(&self.events);
            self.events.clear();
            match result {
                Ok(true) => self.pairer.drain(batch),
                Ok(false) | Err(_) => {
                    self.over = true;
                    self.pairer.finish(batch);
                    return result.map(|_| ());
                }
            }
        }
        Ok(())
    }

    fn info(&self) -> &TraceInfo {
        self.pairer.info()
    }
}

impl Blkparse {
    /// Reads `input`, each line by `line`, and makes I/Os of the events by `pairer`.
    pub(super) fn new(
        input: Input,
        lenient: bool,
        mut pairer: Pairer,
        line: fn(&[u8]) -> Result<Line, String>,
    ) -> Blkparse {
        pairer.info_mut().files.push(input.name().to_owned());
        Blkparse {
            input,
            lenient,
            line,
            pairer,
            events: Vec::new(),
            names: HashMap::new(),
            closed: [None; 2],
            tail: false,
            over: false,
        }
    }

    /// Reads some lines; false behind the last.
    fn lines(&mut self) -> Result<bool, TraceError> {
        for _ in 0..LINES {
            let line = match self.input.line() {
                Ok(None) => return Ok(false),
                Ok(Some(line)) => {
                    let closed = line.trim_ascii_end().ends_with(b"]");
                    match (self.line)(line) {
                        Ok(Line::Event(event, _)) if cut_off(&mut self.closed, &event, closed) => {
                            Err(format!("{} breaks off before the word in brackets", quoted(line)))
                        }
                        parsed => parsed,
                    }
                }
                Err(LineError::Broken(error)) => return Err(error),
                Err(LineError::TooLong) => {
                    Err(format!("is longer than {LINE_MAX} bytes, which no line of events is"))
                }
            };
            match line {
                Ok(Line::Tail { lost }) => {
                    self.tail = true;
                    self.pairer.info_mut().lost_events += lost;
                }
                Ok(Line::Preamble) => {}
                Ok(Line::Lost(lost)) => self.pairer.info_mut().lost_events += lost,
                _ if self.tail => {}
                Ok(Line::Event(event, name)) => {
                    self.events.push(event);
                    if let Some(name) = name {
                        self.name(event.pid, name);
                    }
                }
                Ok(Line::Message(note)) => self.pairer.note(note),
                Err(reason) => self.fault(reason)?,
            }
        }
        Ok(true)
    }

    fn name(&mut self, pid: u32, name: String) {
        let known = self.names.get(&pid);
        if known == Some(&name) || (known.is_none() && self.names.len() >= TASKS_MAX) {
            return;
        }
        self.names.insert(pid, name.clone());
        self.pairer.note(TraceNote::Process { pid, name });
    }

    fn fault(&mut self, reason: String) -> Result<(), TraceError> {
        let error = TraceError::Malformed {
            file: self.input.name().to_owned(),
            place: Place::Line(self.input.line_number()),
            reason,
        };
        if !self.lenient {
            return Err(error);
        }
        let info = self.pairer.info_mut();
        info.skipped_rows += 1;
        if info.faults.len() < FAULTS_TOLD {
            info.faults.push(error.to_string());
        }
        Ok(())
    }
}

/// True for an event whose line has no bracket at its end, `closed`, where the first of its kind had one.
fn cut_off(first: &mut [Option<bool>; 2], event: &TraceEvent, closed: bool) -> bool {
    let end = match event.action {
        Action::Remap | Action::Unplug | Action::UnplugTimer => return false,
        Action::Complete | Action::Requeue => &mut first[0],
        _ => &mut first[1],
    };
    *end.get_or_insert(closed) && !closed
}

/// Content of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// An event, and the name of its task.
    Event(TraceEvent, Option<String>),
    Message(TraceNote),
    /// The names of the files read and other text before the events, or an empty line.
    Preamble,
    /// This many events were lost.
    Lost(u64),
    /// The summary, which may say how many events were lost.
    Tail {
        lost: u64,
    },
}

impl Line {
    fn of(line: &[u8]) -> Result<Line, String> {
        let text = String::from_utf8_lossy(line);
        let trimmed = text.trim();
        let begins = |starts: &[&str]| starts.iter().any(|start| trimmed.starts_with(start));
        if trimmed.is_empty() || begins(&["Input file ", "discarded traces "]) {
            return Ok(Line::Preamble);
        }
        if let Some(skips) = trimmed.strip_prefix("Skips: ") {
            // How often, and in brackets how many.
            let lost = skips.split_once('(').and_then(|(_, n)| leading_number(n.trim_start()));
            return Ok(Line::Tail { lost: lost.map_or(0, |(lost, _)| lost) });
        }
        if begins(&["CPU", "Total (", "Throughput (", "Events ("]) {
            return Ok(Line::Tail { lost: 0 });
        }
        Self::row(trimmed).ok_or_else(|| {
            format!(
                "{} is not a line of blkparse's default output, such as `8,0 3 11 0.009507758 697 C W 223490 + 8 [0]`",
                quoted(trimmed.as_bytes())
            )
        })
    }

    fn row(line: &str) -> Option<Line> {
        let mut rest = line;
        let mut word = || {
            let (word, behind) = rest.split_once(|c: char| c.is_ascii_whitespace())?;
            rest = behind.trim_start();
            Some(word)
        };
        let (major, minor) = word()?.split_once(',')?;
        let device = DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?);
        let cpu = word()?.parse().ok()?;
        let sequence = word()?.parse().ok()?;
        let time = seconds(word()?)?;
        let pid = word()?.parse().ok()?;
        let letters = word()?;
        // The kind may be followed by nothing.
        let (kind, rest) = rest.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((rest, ""));
        if letters == "m" {
            let text = rest.to_owned();
            return Some(Line::Message(TraceNote::Message { time, text }));
        }
        let action = action(letters)?;
        let mut event = TraceEvent {
            time,
            sector: 0,
            bytes: 0,
            device,
            pid,
            cpu,
            sequence,
            action,
            traits: traits(kind)?,
            error: 0,
            extra: Extra::None,
        };
        let name = Tail { event: &mut event, rest: rest.trim() }.read()?;
        Some(Line::Event(event, name))
    }
}

/// Text after the kind.
pub(super) struct Tail<'a> {
    pub(super) event: &'a mut TraceEvent,
    pub(super) rest: &'a str,
}

impl Tail<'_> {
    /// Reads it into the event; gives the name of the task.
    pub(super) fn read(mut self) -> Option<Option<String>> {
        match self.event.action {
            Action::Remap => self.remap().map(|()| None),
            Action::Unplug | Action::UnplugTimer => {
                let (name, requests) = self.rest.rsplit_once(']')?;
                self.event.extra = match requests.trim() {
                    "" => Extra::None,
                    number => Extra::Requests(number.parse().ok()?),
                };
                Some(task(name.strip_prefix('[')?))
            }
            Action::Split => {
                let sector = self.number()?;
                self.event.sector = sector;
                let at = self.after("/")?.number()?;
                self.event.extra = Extra::SplitAt(at);
                self.bracket().map(task)
            }
            Action::Complete | Action::Requeue => {
                self.place()?;
                // Printed as a negative number, its low 16 bits or its 32.
                let error: i64 = match self.rest {
                    "" if self.event.bytes > 0 || self.event.traits.has(Traits::FLUSH) => 0,
                    _ => self.bracket()?.parse().ok()?,
                };
                self.event.error = (error as u16).cast_signed().unsigned_abs();
                Some(None)
            }
            Action::Plug => self.name(),
            _ => {
                self.place()?;
                self.name()
            }
        }
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = leading_number(self.rest)?;
        self.rest = rest.trim_start();
        Some(number)
    }

    fn after(&mut self, sign: &str) -> Option<&mut Self> {
        self.rest = self.rest.strip_prefix(sign)?.trim_start();
        Some(self)
    }

    /// `SECTOR + SECTORS`, `SECTOR` of what has no length, `BYTES (COMMAND)`, or nothing; then, when it was asked for,
    /// how long it took, in brackets.
    fn place(&mut self) -> Option<()> {
        let number = self.number();
        if self.rest.starts_with('+') {
            self.event.sector = number?;
            let sectors = self.after("+")?.number()?;
            self.event.bytes = u32::try_from(sectors.checked_mul(512)?).ok()?;
            if self.rest.starts_with('(') {
                self.rest = self.rest.split_once(')')?.1.trim_start();
            }
            return Some(());
        }
        let command = self.rest.starts_with('(');
        if command {
            self.rest = self.rest.split_once(')')?.1.trim_start();
        }
        let nothing_addressed = number.is_none() && self.event.traits == Traits::NONE;
        if command || nothing_addressed {
            self.event.traits = self.event.traits | Traits::PASSTHROUGH;
            self.event.bytes = u32::try_from(number.unwrap_or(0)).ok()?;
        } else {
            self.event.sector = number.unwrap_or(0);
        }
        Some(())
    }

    /// `SECTOR + SECTORS <- (MAJOR,MINOR) SECTOR`
    fn remap(&mut self) -> Option<()> {
        self.place_of_remap()?;
        let (device, sector) = self.after("<-")?.rest.strip_prefix('(')?.split_once(')')?;
        let (major, minor) = device.split_once(',')?;
        let device = DeviceNumber::new(major.trim().parse().ok()?, minor.trim().parse().ok()?);
        let (sector, _) = leading_number(sector.trim_start())?;
        self.event.extra = Extra::From { device, sector };
        Some(())
    }

    fn place_of_remap(&mut self) -> Option<()> {
        self.event.sector = self.number()?;
        let sectors = self.after("+")?.number()?;
        self.event.bytes = u32::try_from(sectors.checked_mul(512)?).ok()?;
        Some(())
    }

    /// The name of the task, which some leave out.
    fn name(&mut self) -> Option<Option<String>> {
        let placed = self.event.bytes > 0 || self.event.traits.has(Traits::FLUSH);
        match self.rest {
            "" if placed || self.event.action == Action::Plug => Some(None),
            _ => self.bracket().map(task),
        }
    }

    /// Returns the rest, without the square brackets around it: a name may have such brackets in it.
    fn bracket(&mut self) -> Option<&str> {
        self.rest.strip_prefix('[')?.strip_suffix(']')
    }
}

fn task(name: &str) -> Option<String> {
    (!name.is_empty() && name != "(null)").then(|| name.to_owned())
}

/// The number that a text begins with, and what is behind it.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Seconds with nine places behind the point.
fn seconds(text: &str) -> Option<Nanos> {
    let (whole, part) = text.split_once('.')?;
    let whole: u64 = whole.parse().ok()?;
    let nanos: u64 = part.parse().ok().filter(|_| part.len() == 9)?;
    whole.checked_mul(1_000_000_000)?.checked_add(nanos).map(Nanos)
}

fn action(letters: &str) -> Option<Action> {
    Some(match letters {
        "Q" => Action::Queue,
        "M" => Action::BackMerge,
        "F" => Action::FrontMerge,
        "G" => Action::GetRequest,
        "S" => Action::SleepRequest,
        "R" => Action::Requeue,
        "D" => Action::Issue,
        "C" => Action::Complete,
        "P" => Action::Plug,
        "U" => Action::Unplug,
        "UT" => Action::UnplugTimer,
        "I" => Action::Insert,
        "X" => Action::Split,
        "B" => Action::Bounce,
        "A" => Action::Remap,
        "ZP" => Action::ZonePlug,
        "ZU" => Action::ZoneUnplug,
        _ => return None,
    })
}

/// `F` flush, then one of `D W R N`, or `Z` and what is done to a zone, then `F` force unit access and `A S M`.
pub(super) fn traits(letters: &str) -> Option<Traits> {
    let mut traits = Traits::NONE;
    let mut rest = letters;
    if let Some(behind) = rest.strip_prefix('F') {
        traits = Traits::FLUSH;
        rest = behind;
    }
    // The first match counts: no word comes after a prefix of itself.
    const KINDS: [(&str, Traits); 12] = [
        ("DE", Traits(Traits::WRITE.0 | Traits::DISCARD.0)),
        ("D", Traits(Traits::WRITE.0 | Traits::DISCARD.0)),
        ("WZ", Traits(Traits::WRITE.0 | Traits::WRITE_ZEROES.0)),
        ("W", Traits::WRITE),
        ("R", Traits::READ),
        ("N", Traits::NONE),
        ("ZA", Traits(Traits::WRITE.0 | Traits::ZONE_APPEND.0)),
        ("ZRA", Traits(Traits::WRITE.0 | Traits::ZONE_RESET_ALL.0)),
        ("ZR", Traits(Traits::WRITE.0 | Traits::ZONE_RESET.0)),
        ("ZF", Traits(Traits::WRITE.0 | Traits::ZONE_FINISH.0)),
        ("ZO", Traits(Traits::WRITE.0 | Traits::ZONE_OPEN.0)),
        ("ZC", Traits(Traits::WRITE.0 | Traits::ZONE_CLOSE.0)),
    ];
    // The kernel writes a flush of its own as `F` with flags behind, or `FF`.
    let bare = || {
        traits
            .has(Traits::FLUSH)
            .then(|| if rest.starts_with('F') { ("F", Traits::NONE) } else { ("", Traits::NONE) })
    };
    let (word, kind) = KINDS.into_iter().find(|(word, _)| rest.starts_with(word)).or_else(bare)?;
    let mut flags = rest[word.len()..].bytes();
    flags.try_fold(traits | kind, |traits, flag| Some(traits | Traits::of_flag(flag)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> (TraceEvent, Option<String>) {
        match Line::of(line.as_bytes()) {
            Ok(Line::Event(event, name)) => (event, name),
            other => panic!("{other:?}"),
        }
    }

    /// As Debian's blkparse 1.2.0 prints each action. Breaks when a part of a line is taken for another.
    #[test]
    fn every_action_is_read_as_blkparse_prints_it() {
        let name = || Some("my app [x]".to_owned());
        let (q, task) =
            event("  8,3    0        1     0.000001500   100  Q RASM 8 + 16 [my app [x]]");
        let traits = Traits::READ | Traits::AHEAD | Traits::SYNC | Traits::META;
        assert_eq!((q.action, q.traits, q.sector, q.bytes), (Action::Queue, traits, 8, 8192));
        assert_eq!((q.device, q.cpu, q.sequence, q.pid), (DeviceNumber::new(8, 3), 0, 1, 100));
        assert_eq!((q.time, task), (Nanos(1_500), name()));
        let (c, task) = event("8,3 0 9 3999.999999000 0  C   R 8 + 8 (11424660) [65531]");
        assert_eq!((c.bytes, c.error, task), (4096, 5, None));
        assert_eq!(c.time, Nanos(3_999_999_999_000));
        let (r, _) = event("8,3    0        7     0.000001300   100  R   R 8 + 8 [0]");
        assert_eq!((r.action, r.bytes), (Action::Requeue, 4096));
        let (x, task) = event("8,3 0 11 0.000001700   100  X FWFS 8 / 12 [my app [x]]");
        assert_eq!((x.sector, x.extra, task), (8, Extra::SplitAt(12), name()));
        assert!(x.traits.has(Traits::FLUSH | Traits::WRITE | Traits::FUA | Traits::SYNC));
        let (a, _) = event("8,3    0       12     0.000001800   100  A   D 800 + 8 <- (253,1) 99");
        let from = Extra::From { device: DeviceNumber::new(253, 1), sector: 99 };
        assert_eq!((a.sector, a.bytes, a.extra), (800, 4096, from));
        let (p, task) = event("8,3    0       13     0.000001900   100  P   N [my app [x]]");
        assert_eq!((p.action, task), (Action::Plug, name()));
        let (ut, task) = event("8,3    0       15     0.000001900   100 UT   N [my app [x]] 7");
        assert_eq!((ut.action, ut.extra, task), (Action::UnplugTimer, Extra::Requests(7), name()));
    }

    /// A flush has no sectors, and a command has bytes and words instead. Breaks when one is taken for the other.
    #[test]
    fn flushes_and_commands_are_told_apart() {
        let (q, task) = event("8,3 0 24 0.000002300 100  Q FWS [fsync]");
        assert_eq!((q.sector, q.bytes, task.as_deref()), (0, 0, Some("fsync")));
        let (d, _) = event("8,3 0 24 0.000002300 100  D  FN [(null)]");
        assert_eq!((d.traits, d.bytes), (Traits::FLUSH, 0));
        let (c, _) = event("8,3 0 26 0.000002300   0  C  WS 77 [0]");
        assert_eq!((c.sector, c.bytes), (77, 0));
        let (d, task) = event("8,3 0 16 0.000002000 100  D   R 36 (12 00 00 00 24 00 ..) [smartd]");
        assert!(d.traits.has(Traits::PASSTHROUGH | Traits::READ));
        assert_eq!((d.sector, d.bytes, task.as_deref()), (0, 36, Some("smartd")));
        for line in [
            "8,3 0 17 0.000002001 0 C R (12 00 00 00 24 00 ..) [0]",
            "8,3 0 18 0.000002001 0 I N 0 (35 00 ..) [(null)]",
            "8,3 0 19 0.000002001 0 C N [0]",
        ] {
            let (event, task) = event(line);
            assert!(event.traits.has(Traits::PASSTHROUGH), "{line}");
            assert_eq!((event.bytes, task), (0, None), "{line}");
        }
    }

    #[test]
    fn what_is_no_event_is_known_too() {
        let line = |line: &str| Line::of(line.as_bytes());
        let text = "phase two begins".to_owned();
        let message = TraceNote::Message { time: Nanos(2_500), text };
        let read = line("8,3    0        0     0.000002500     0  m   N phase two begins");
        assert_eq!(read, Ok(Line::Message(message)));
        assert_eq!(line("Skips: 2 forward (1234 -   0.1%)"), Ok(Line::Tail { lost: 1234 }));
        assert_eq!(line("CPU0 (t):"), Ok(Line::Tail { lost: 0 }));
        assert_eq!(line("Input file t.blktrace.0 added"), Ok(Line::Preamble));
        for wrong in [
            "8,3 0 1 0.0000015 100 Q R 8 + 8 [x]",
            "8,3 0 1 0.000001500 100 Q K 8 + 8 [x]",
            "8,3 0 1 0.000001500 100 ? R 8 + 8 [x]",
            "8,3 0 1 0.000001500 100 Q R 8 + 8 [x",
            "8,3 0 1 0.000001500 100 Q R 8 + 99999999999999999999 [x]",
            "8 0 1 0.000001500 100 Q R 8 + 8 [x]",
            "8,3 0 1",
        ] {
            assert!(line(wrong).is_err(), "{wrong}");
        }
    }
}
