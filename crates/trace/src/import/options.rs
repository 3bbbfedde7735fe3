//! What a user may say of a file that does not say it itself.

pub use super::choices::{AddressUnit, Format, ReadFlag, SpaceRule, TimeUnit};
use super::columns::Columns;
use super::ops::Ops;

/// How files are to be read. What is left open is settled by evidence, or refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Leave out what cannot be read, and count it, instead of stopping there.
    pub lenient: bool,
    /// The format; found in the file when none.
    pub format: Option<Format>,
    /// What a time counts, in a format that has it in more than one unit.
    pub time_unit: Option<TimeUnit>,
    /// Which of 0 and 1 is a read, in a format that writes operations as numbers.
    pub read_flag: Option<ReadFlag>,
    /// What an address counts, in a format that has it in more than one unit.
    pub address_unit: Option<AddressUnit>,
    /// What an address space of the trace is.
    pub spaces: Option<SpaceRule>,
    /// What the columns of a table hold.
    pub columns: Option<Columns>,
    /// Names of the operations of a table.
    pub ops: Option<Ops>,
    /// Put I/Os in the order of their arrival however far out of it they are, instead of within a window.
    pub sort: bool,
}
