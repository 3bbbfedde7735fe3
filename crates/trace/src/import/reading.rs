//! How files of one format are read, once everything about it is settled.

use block::Nanos;

use super::compressed::Input;
use super::join::Opener;
use super::options::SpaceRule;
use super::records::{Lines, Records, Row};

/// How files of one format are read.
pub struct Reading {
    /// Name of the format.
    pub source: String,
    /// How each ambiguity was settled.
    pub settled: Vec<String>,
    /// The finest step of its times.
    pub resolution: Nanos,
    /// Rule for address spaces.
    pub rule: SpaceRule,
    /// Offset from its clock to nanoseconds since 1970.
    pub unix_offset: Option<i128>,
    /// Over how long the I/Os of one instant are spread.
    pub spread: Option<Nanos>,
    /// Makes the records of a file.
    pub opener: Opener,
}

impl Reading {
    /// Files of lines, parsed by what `row` makes, in nanoseconds without a date.
    pub fn of_rows<R: Row + 'static>(row: impl Fn() -> R + Send + 'static) -> Reading {
        Reading::of_records(move |input| Box::new(Lines::new(input, row())))
    }

    /// Files of the records that `records` makes, in nanoseconds without a date.
    pub fn of_records(records: impl Fn(Input) -> Box<dyn Records> + Send + 'static) -> Reading {
        Reading {
            source: String::new(),
            settled: Vec::new(),
            resolution: Nanos(1),
            rule: SpaceRule::Shared,
            unix_offset: None,
            spread: None,
            opener: Box::new(move |input| Ok(records(input))),
        }
    }
}
