//! Announces a run before it begins: target, plan, time, bytes, and what is known against the result.

use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use block::Bounds;
use record::Announced;
use report::Styled;
use report::number::{bytes, digits, nanoseconds};

use crate::messages;

const HEAD: Style = AnsiColor::Cyan.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default();
/// Columns of a line.
const WIDTH: usize = 80;

/// True once a run was announced: those that are parts of it are not.
static IS_SAID: AtomicBool = AtomicBool::new(false);

/// Announces a run on stderr, unless nothing but results is wanted or it is a part of one that was announced.
pub fn say(announced: &Announced) {
    if !IS_SAID.swap(true, Ordering::Relaxed) && !messages::is_quiet() {
        messages::say(&text(announced));
    }
}

/// The announcement in lines.
pub fn text(announced: &Announced) -> Styled {
    let Announced { target, drive, work, warnings, .. } = announced;
    let of =
        if drive.is_empty() || drive == target { String::new() } else { format!(" ({drive})") };
    let besides = announced.time_besides.iter().map(|work| format!(", and {work}"));
    let besides: String = besides.collect();
    let own = if announced.is_virtual { ", on the drive's own clock" } else { "" };
    let lines = [
        ("target:", format!("{target}{of}")),
        ("plan:", work.clone()),
        ("time:", words(announced.time_ns, "not known", duration) + own + &besides),
        ("I/O:", traffic(announced)),
    ];
    let lines = lines.iter().map(|(head, text)| (HEAD, *head, text));
    let warnings = warnings.iter().map(|text| (WARNING, "warning:", text));
    lines.chain(warnings).fold(Styled::default(), |all, (style, head, text)| {
        let wrapped = wrapped(&format!("{head:7} {text}"));
        let rest = wrapped.strip_prefix(head).unwrap_or_default();
        all + Styled::painted(style, head) + Styled::of_lines(rest)
    })
}

/// Bytes read and written.
fn traffic(announced: &Announced) -> String {
    let Announced { read_bytes, written_bytes, drive_bytes, .. } = announced;
    let size = |value: u64| bytes(value as f64);
    let unbounded = "what the drive moves in that time";
    let reads =
        (!read_bytes.is_zero()).then(|| format!("reads {}", words(*read_bytes, unbounded, size)));
    let writes = (!written_bytes.is_zero()).then(|| {
        // A share of the least would be taken for that of all.
        let most = written_bytes.most.filter(|most| *most > 0);
        let share = drive_bytes.filter(|drive| *drive > 0).zip(most).map(|(drive, most)| {
            let is_ceiling = most > written_bytes.least;
            let most_words = if is_ceiling { "at most " } else { "" };
            let writes = most as f64 / drive as f64;
            let writes = if writes < 0.001 { "under 0.001".to_owned() } else { digits(writes) };
            format!(" ({most_words}{writes} drive writes)")
        });
        format!("writes {}{}", words(*written_bytes, unbounded, size), share.unwrap_or_default())
    });
    let both = reads.into_iter().chain(writes).collect::<Vec<_>>();
    if both.is_empty() { "nothing".to_owned() } else { both.join("; ") }
}

/// A figure between its bounds; `unknown` where there is none.
fn words(bounds: Bounds, unknown: &str, show: impl Fn(u64) -> String) -> String {
    let least = show(bounds.least);
    match (bounds.least, bounds.most.map(|most| (most, show(most)))) {
        (0, None) => unknown.to_owned(),
        (_, None) => format!("{least} or more"),
        (_, Some((_, most))) if most == least => format!("about {most}"),
        (0, Some((_, most))) => format!("at most {most}"),
        (_, Some((_, most))) => format!("about {least}, at most {most}"),
    }
}

/// A time as people say it.
fn duration(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match (seconds / 60, seconds % 60) {
        _ if ns < 10_000_000_000 => nanoseconds(ns as f64),
        (..2, _) => format!("{seconds} s"),
        (minutes, _) if minutes >= 120 => format!("{} h {} min", minutes / 60, minutes % 60),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// `text` in lines of [`WIDTH`], each with a line feed, indented from the second on.
fn wrapped(text: &str) -> String {
    report::wrap::hanging(text, WIDTH, 8) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced() -> Announced {
        Announced {
            target: "sim:hdd-7200".to_owned(),
            drive: "virtual drive, 1 TB".to_owned(),
            work: "8 tests, 6 runs each".to_owned(),
            time_ns: Bounds { least: 202_000_000_000, most: Some(7_260_000_000_000) },
            time_besides: vec!["flushes".to_owned()],
            is_virtual: false,
            read_bytes: Bounds::of(12 << 30),
            written_bytes: Bounds { least: 1 << 30, most: Some(500_000_000_000) },
            drive_bytes: Some(1_000_000_000_000),
            warnings: vec!["fewer than 6 runs: no 95% interval of the median".to_owned()],
        }
    }

    // Breaks when a ceiling is taken for an estimate, or lines grow beyond a terminal.
    #[test]
    fn ceilings_are_called_so() {
        let plain = text(&announced()).plain();
        assert!(
            plain.contains("time:   about 3 min 22 s, at most 2 h 1 min, and flushes\n"),
            "{plain}"
        );
        let io = "reads about 12 GiB; writes about 1 GiB, at most 466 GiB (at most 0.500";
        assert!(plain.contains(io), "{plain}");
        assert!(plain.lines().all(|line| line.chars().count() <= WIDTH), "{plain}");
        assert!(plain.contains("\nwarning: fewer than 6 runs"), "{plain}");
        let unknown = Announced {
            read_bytes: Bounds::up_to(None),
            written_bytes: Bounds::of(0),
            ..announced()
        };
        let plain = text(&unknown).plain();
        assert!(plain.contains("I/O:    reads what the drive moves in that time\n"), "{plain}");
    }

    #[test]
    fn long_words_stay_whole() {
        let long = "x".repeat(100);
        assert_eq!(wrapped(&long), long.clone() + "\n");
        let two = wrapped(&format!("target: {long} (a drive)"));
        assert_eq!(two, format!("target: {long}\n        (a drive)\n"));
    }
}
