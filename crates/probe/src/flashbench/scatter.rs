//! The file that `--scatter` writes: offset and time, a line each, without a head.

use super::figure::{self, Number};
use super::note::{Note, NoteKind};
use super::tables::{Cut, Point, Scatter};

/// Fewer lines of two numbers are not a table: `--scatter` has 256 at least, and people show parts of it.
pub(super) const POINTS_MIN: usize = 8;

/// Twice as many as `--scatter` can have.
pub(super) const POINTS_MAX: usize = 1 << 17;

/// A line of two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RawPoint {
    pub line: u32,
    offset: Number,
    time: Number,
}

/// Reads a line that is two numbers and nothing else.
pub(super) fn point(text: &str, line: u32) -> Option<RawPoint> {
    let (offset, rest) = figure::number(text)?;
    let gap = rest.trim_start();
    let (time, end) = figure::number(gap).filter(|_| gap.len() < rest.len())?;
    (end.is_empty() && time.value() >= 0.0).then_some(RawPoint { line, offset, time })
}

impl RawPoint {
    /// True when it begins a table: reads start at the beginning of the device.
    pub(super) fn is_first(&self) -> bool {
        self.offset.value() == 0.0
    }

    /// True beyond 2 GiB, where offsets have wrapped around.
    pub(super) fn is_negative(&self) -> bool {
        self.offset.value() < 0.0
    }

    /// In MiB and milliseconds with six places; in 2010 it was bytes and nanoseconds.
    fn is_mib(&self) -> bool {
        self.offset.last_place < 0
    }
}

/// Error in a series of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub line: u32,
    pub expected: &'static str,
}

/// Makes a table of a series; `None` when it is not one of `--scatter`.
pub(super) fn build(raw: &[RawPoint]) -> Option<Result<(Scatter, Vec<Note>), Wrong>> {
    let first = raw.first().filter(|_| raw.len() >= POINTS_MIN)?;
    let mib = first.is_mib();
    let places = |point: &RawPoint| (point.offset.last_place, point.time.last_place);
    if mib && (first.offset.last_place, first.time.last_place) != (-6, -6) {
        return None;
    }
    // Any list of whole numbers may begin like the old form: only the other is known by its look.
    let is_sure = mib && first.is_first();
    let mut table = Scatter::default();
    let mut notes = Vec::new();
    let mut wrapped = 0.0;
    let mut negative = false;
    let mut last = f64::NEG_INFINITY;
    for (at, point) in raw.iter().enumerate() {
        if places(point) != places(first) {
            if at + 1 == raw.len() {
                let text = format!("{} {}", point.offset.value(), point.time.value());
                notes.push(Note::new(point.line, NoteKind::CutRow { text: text.clone() }));
                table.cut = Some(Cut { line: point.line, text });
                break;
            }
            let wrong = Wrong { line: point.line, expected: "as many decimals as above" };
            return is_sure.then_some(Err(wrong));
        }
        let scale = if mib { 1_048_576.0 } else { 1.0 };
        // Offsets are products of 32-bit numbers: they turn negative beyond 2 GiB, and begin again at 4.
        if point.is_negative() && !negative {
            wrapped += 4_294_967_296.0;
            notes.push(Note::new(point.line, NoteKind::OffsetsWrapped));
        }
        negative = point.is_negative();
        let offset = point.offset.value() * scale + wrapped;
        let sector = (offset / 512.0).round() * 512.0;
        // Six places of a MiB are half a byte.
        if offset < 0.0 || (sector - offset).abs() > 1.0 {
            let wrong = Wrong { line: point.line, expected: "an offset in whole sectors" };
            return is_sure.then_some(Err(wrong));
        }
        if sector <= last {
            let wrong = Wrong { line: point.line, expected: "an offset beyond the one above" };
            return is_sure.then_some(Err(wrong));
        }
        last = sector;
        let ns = if mib { point.time.times(6) } else { point.time.value() };
        if ns == 0.0 {
            notes.push(Note::new(point.line, NoteKind::ZeroTime));
        }
        table.points.push(Point { offset_bytes: sector as u64, ns });
    }
    Some(Ok((table, notes)))
}
