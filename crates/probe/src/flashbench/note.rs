//! Notes for the reader of a table on how it was parsed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::other::{Other, OtherKind};

/// A remark on a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The line that it is about, from 1.
    pub line: u32,
    /// Content of the note.
    pub kind: NoteKind,
}

/// Content of a [`Note`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The last row is not whole and was left out.
    CutRow {
        /// Remaining text of the row.
        text: String,
    },
    /// The last figure of a row is cut short, and was read all the same.
    DiffUnitCut {
        /// As printed.
        text: String,
    },
    /// The last figure of a row is cut short or missing, and was computed from the others.
    DiffComputed {
        /// As printed.
        text: String,
    },
    /// The last figure of a row is not what the other three make.
    DiffDisagrees {
        /// As printed, in nanoseconds.
        printed_ns: f64,
        /// From the other three.
        computed_ns: f64,
    },
    /// Figures that end in a bare `s` were read as microseconds.
    LostMicro {
        /// How many.
        figures: u32,
        /// True when no figure of the table has a micro sign; false when only their rows' differences decide.
        all_lost: bool,
    },
    /// Figures have a comma for the point.
    DecimalComma,
    /// A time of 0.
    ZeroTime,
    /// A table like it came before and was taken; this one was left out.
    RepeatLeftOut {
        /// First line of the one that was left out.
        line: u32,
    },
    /// The largest writes are of another size than the command says.
    EraseBlockDiffers {
        /// `--erasesize`.
        told_bytes: u64,
        /// The first row's size.
        first_bytes: u64,
    },
    /// Comment and command give different numbers of units; the command's was taken.
    NumbersDiffer {
        /// The command's.
        command: u32,
        /// The comment's.
        heading: u32,
    },
    /// Offsets beyond 2 GiB had wrapped around and were put right.
    OffsetsWrapped,
    /// The table is of a kind from which nothing is inferred.
    Skipped {
        /// Kind of the table.
        kind: OtherKind,
    },
}

impl Note {
    pub(super) fn new(line: u32, kind: NoteKind) -> Note {
        Note { line, kind }
    }

    pub(super) fn skipped(line: u32, other: &Other) -> Note {
        Note::new(line, NoteKind::Skipped { kind: other.kind })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteKind::CutRow { text } => {
                write!(f, "the row is cut short and was left out: {text:?}")
            }
            NoteKind::DiffUnitCut { text } => {
                write!(f, "{text:?} has lost its unit; the other figures say nanoseconds")
            }
            NoteKind::DiffComputed { text } => {
                write!(f, "diff {text:?} is cut short; it was computed from the other figures")
            }
            NoteKind::DiffDisagrees { printed_ns, computed_ns } => {
                write!(f, "diff is {printed_ns} ns, but the other figures make {computed_ns} ns")
            }
            NoteKind::LostMicro { figures, all_lost: true } => write!(
                f,
                "{figures} figures end in a bare s and were read as microseconds: no figure here \
                 has a micro sign, so it was lost on the way"
            ),
            NoteKind::LostMicro { figures, all_lost: false } => write!(
                f,
                "{figures} figures end in a bare s and were read as microseconds: as seconds they \
                 would not agree with the other figures of their rows"
            ),
            NoteKind::DecimalComma => write!(f, "commas were read as decimal points"),
            NoteKind::ZeroTime => {
                write!(f, "a time of 0: flashbench prints it for an access that failed")
            }
            NoteKind::RepeatLeftOut { line } => {
                write!(f, "the table is repeated in line {line}; the repetition was left out")
            }
            NoteKind::EraseBlockDiffers { told_bytes, first_bytes } => write!(
                f,
                "the first row is of {first_bytes} bytes, but --erasesize is {told_bytes}"
            ),
            NoteKind::NumbersDiffer { command, heading } => write!(
                f,
                "the command says {command} open units, a comment {heading}; the command's was taken"
            ),
            NoteKind::OffsetsWrapped => {
                write!(f, "offsets beyond 2 GiB had wrapped around and were put right")
            }
            NoteKind::Skipped { kind } => {
                let what = match kind {
                    OtherKind::Interval => "times by size (--interval)",
                    OtherKind::Program => "rates of eight ways of access (-p)",
                    OtherKind::Unaligned => "aligned against unaligned reads, as of 2010",
                };
                write!(f, "{what} were recognised and left out: nothing is inferred from them")
            }
        }
    }
}
