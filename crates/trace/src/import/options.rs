//! User's choices for what a file does not state itself.

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
    /// Unit of times, in a format that has them in more than one.
    pub time_unit: Option<TimeUnit>,
    /// Number that means a read, 0 or 1, in a format that writes operations as numbers.
    pub read_flag: Option<ReadFlag>,
    /// Unit of addresses, in a format that has them in more than one.
    pub address_unit: Option<AddressUnit>,
    /// Rule for the trace's address spaces.
    pub spaces: Option<SpaceRule>,
    /// Contents of a table's columns.
    pub columns: Option<Columns>,
    /// Names of the operations of a table.
    pub ops: Option<Ops>,
    /// Put I/Os in the order of their arrival however far out of it they are, instead of within a window.
    pub sort: bool,
}
