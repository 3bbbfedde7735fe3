//! The kernel's events of the block layer as text: the `trace` file of ftrace, `trace-cmd report`, and `perf script`.
//!
//! ```text
//!              dd-306069 [007] .... 19654.923315: block_bio_queue: 8,0 WS 2048 + 8 [dd]
//!              dd 25337  [001] 543348.165050:   block:block_rq_issue: 259,0 R 131072 () 3191272 + 256 [dd]
//! ```
//!
//! Task, process, CPU, seconds, event; then the fields that the kernel prints (`include/trace/events/block.h`). Other
//! events may come between them, and are left out.

use block::Nanos;
use block::trace::{Action, DeviceNumber, Extra, TraceEvent, Traits};

use super::blkparse::{Blkparse, Line, Tail, traits};
use super::compressed::Input;
use super::fields::{decimal, digits_behind_point};
use super::records::quoted;
use super::sample::Sample;
use crate::pair::{Limits, Pairer};

/// The events that are read.
const EVENTS: [(&str, Action); 14] = [
    ("bio_queue", Action::Queue),
    ("bio_backmerge", Action::BackMerge),
    ("bio_frontmerge", Action::FrontMerge),
    ("bio_bounce", Action::Bounce),
    ("bio_remap", Action::Remap),
    ("bio_complete", Action::Complete),
    ("getrq", Action::GetRequest),
    ("sleeprq", Action::SleepRequest),
    ("rq_insert", Action::Insert),
    ("rq_issue", Action::Issue),
    ("rq_requeue", Action::Requeue),
    ("rq_complete", Action::Complete),
    ("split", Action::Split),
    ("plug", Action::Plug),
];

/// True for the beginning of such a recording: one event of the block layer is in it.
pub fn is_recording(sample: &Sample) -> bool {
    !sample.is_binary() && sample.lines().any(|one| matches!(line(one), Ok(Line::Event(..))))
}

/// Reads such a recording.
pub fn open(input: Input, lenient: bool) -> Blkparse {
    let mut pairer = Pairer::new("ftrace text", Limits::default());
    pairer.info_mut().resolution = Nanos::micros(1);
    Blkparse::new(input, lenient, pairer, line)
}

/// The event of a line; [`Line::Preamble`] for events outside the block layer.
fn line(line: &[u8]) -> Result<Line, String> {
    let text = String::from_utf8_lossy(line);
    if text.starts_with('#') {
        return Ok(Line::Preamble);
    }
    if let Some((_, lost)) = text.split_once("[LOST ") {
        let count = lost.split_once(" EVENTS]").and_then(|(count, _)| count.parse().ok());
        return Ok(count.map_or(Line::Preamble, Line::Lost));
    }
    let Some((before, action, rest)) = named(&text) else { return Ok(Line::Preamble) };
    event(before, action, rest).ok_or_else(|| {
        format!(
            "{} is not an event as the kernel prints it, such as `dd-12 [001] .... 9.165050: block_rq_issue: 8,0 R 4096 () \
             2048 + 8 [dd]`",
            quoted(line)
        )
    })
}

/// Splits a line at the name of an event that is read: the text before it, the action, and the fields after it.
fn named(text: &str) -> Option<(&str, Action, &str)> {
    text.match_indices("block_").find_map(|(at, _)| {
        let before = text[..at].trim_end();
        let before =
            before.strip_suffix("block:").unwrap_or(before).trim_end().strip_suffix(':')?;
        let (name, rest) = text[at + "block_".len()..].split_once(':')?;
        let (_, action) = EVENTS.iter().find(|(event, _)| *event == name)?;
        Some((before, *action, rest.trim()))
    })
}

fn event(before: &str, action: Action, rest: &str) -> Option<Line> {
    let (before, time) = before.rsplit_once(|c: char| c.is_ascii_whitespace())?;
    let time = time.as_bytes();
    let time = decimal(time, 1_000_000_000).filter(|_| digits_behind_point(time) > 0)?;
    let (task, cpu) = match before.rsplit_once('[').and_then(|(task, behind)| {
        let (cpu, _flags) = behind.split_once(']')?;
        Some((task, cpu.trim().parse().ok()?))
    }) {
        Some(found) => found,
        None => (before, 0),
    };
    let mut event = TraceEvent {
        time: Nanos(time),
        sector: 0,
        bytes: 0,
        device: DeviceNumber::new(0, 0),
        pid: process(task.trim())?,
        cpu,
        sequence: 0,
        action,
        traits: Traits::NONE,
        error: 0,
        extra: Extra::None,
    };
    if action == Action::Plug {
        return Some(Line::Preamble);
    }
    if action != Action::Remap && !rest.ends_with(']') {
        return None;
    }
    let (device, rest) = rest.split_once(' ')?;
    let (major, minor) = device.split_once(',')?;
    event.device = DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?);
    let (kind, rest) = rest.trim_start().split_once(' ')?;
    event.traits = traits(kind)?;
    let rest = without_command(rest.trim_start(), &mut event);
    let rest = without_priority(rest);
    // Events without an offset, such as flushes, have the greatest sector.
    let rest = match rest.strip_prefix("18446744073709551615") {
        Some(behind) => format!("0{behind}"),
        None => rest,
    };
    let name = Tail { event: &mut event, rest: rest.trim() }.read()?;
    Some(Line::Event(event, name))
}

/// The number of a process: of `name-12`, `name-12 (34)`, `name 12` or `name 12/13`, of which the second is a thread's.
fn process(task: &str) -> Option<u32> {
    let task = match task.strip_suffix(')').and_then(|task| task.rsplit_once('(')) {
        Some((task, _)) => task.trim_end(),
        None => task,
    };
    let last = task.rsplit(|c: char| c.is_ascii_whitespace()).next()?;
    let last = last.split_once('/').filter(|(pid, _)| is_number(pid)).map_or(last, |(_, tid)| tid);
    let number = if is_number(last) { last } else { last.rsplit_once('-')?.1 };
    number.parse().ok()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `rest` without the bytes and the command of a request, `4096 ()`, before its place. A command passed through has a
/// word in the brackets, and no place.
fn without_command<'a>(rest: &'a str, event: &mut TraceEvent) -> &'a str {
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let Some((command, behind)) = digits.strip_prefix('(').and_then(|rest| rest.split_once(')'))
    else {
        return rest;
    };
    if !command.trim().is_empty() {
        event.traits = event.traits | Traits::PASSTHROUGH;
    }
    behind.trim_start()
}

/// `rest` without the priority that newer kernels print behind the length: `2048 + 8 none,0,0 [dd]`.
fn without_priority(rest: &str) -> String {
    let Some((place, behind)) = rest.split_once('[') else { return rest.to_owned() };
    match place.trim_end().rsplit_once(' ') {
        Some((place, word)) if word.matches(',').count() == 2 => format!("{place} [{behind}"),
        _ => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line_: &str) -> (TraceEvent, Option<String>) {
        match line(line_.as_bytes()) {
            Ok(Line::Event(event, name)) => (event, name),
            other => panic!("{line_}: {other:?}"),
        }
    }

    /// Breaks when a form of the columns before the event is taken for another.
    #[test]
    fn tasks_are_found_in_every_form() {
        let what = "block_bio_queue: 8,16 RA 2048 + 8 [my app [x]]";
        for (before, pid, cpu) in [
            ("  my app-12  [003] .... 9.000015:", 12, 3),
            ("my-app-12 (  7) [003] d.s2. 9.000015:", 12, 3),
            ("my app-12 (-----) [003] 9.000015:", 12, 3),
            ("my app    12 [003]  9.000015:   block:", 12, 3),
            ("my app 7/12 [003] 9.000015: block:", 12, 3),
            ("kworker/3:1H-12 [003] .... 9.000015:", 12, 3),
            ("dd 12 9.000015000: block:", 12, 0),
        ] {
            let (event, name) =
                read(&format!("{before} {}", what).replace("block: block_", "block:block_"));
            assert_eq!(
                (event.pid, event.cpu, event.time),
                (pid, cpu, Nanos(9_000_015_000)),
                "{before}"
            );
            assert_eq!(
                (event.sector, event.bytes, event.device),
                (2048, 4096, DeviceNumber::new(8, 16))
            );
            assert_eq!(name.as_deref(), Some("my app [x]"));
        }
    }

    #[test]
    fn requests_have_bytes_commands_priorities_and_errors() {
        let of = |what: &str| read(&format!("dd-1 [000] .... 9.000015: {what}")).0;
        let issue = of("block_rq_issue: 8,0 WFS 4096 () 2048 + 8 none,0,0 [dd]");
        assert_eq!((issue.action, issue.sector, issue.bytes), (Action::Issue, 2048, 4096));
        assert_eq!(issue.traits, Traits::WRITE | Traits::FUA | Traits::SYNC);
        let complete = of("block_rq_complete: 8,0 FF () 18446744073709551615 + 0 none,0,0 [-5]");
        assert_eq!((complete.action, complete.sector, complete.error), (Action::Complete, 0, 5));
        assert_eq!(complete.traits, Traits::FLUSH);
        let command = of("block_rq_issue: 8,0 N 36 (12 00 00 00 24 00) 0 + 0 [dd]");
        assert!(command.traits.has(Traits::PASSTHROUGH));
        let remap = of("block_bio_remap: 253,0 R 4096 + 8 <- (8,1) 2048");
        let from = Extra::From { device: DeviceNumber::new(8, 1), sector: 2048 };
        assert_eq!((remap.sector, remap.extra), (4096, from));
        assert_eq!(of("block_split: 8,0 W 0 / 128 [dd]").extra, Extra::SplitAt(128));
    }

    #[test]
    fn other_lines_are_left_out_and_broken_ones_are_faults() {
        for other in [
            "# tracer: nop",
            "",
            "dd-1 [000] .... 9.000015: sched_switch: prev_comm=dd",
            "\tffffffff8113 blk_mq_start_request ([kernel.kallsyms])",
            "dd-1 [000] .... 9.000015: block_plug: [dd]",
        ] {
            assert_eq!(line(other.as_bytes()), Ok(Line::Preamble), "{other}");
        }
        assert_eq!(line(b"CPU:3 [LOST 17 EVENTS]"), Ok(Line::Lost(17)));
        for broken in [
            "dd-1 [000] .... 9.000015: block_rq_issue: 8,0 R 4096 () 20",
            "9.5: block_getrq: 8,0 R 8 + 8 [dd]",
        ] {
            assert!(line(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
