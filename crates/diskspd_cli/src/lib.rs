//! The compatibility mode `diskspd`: its command line carried out on whatever drives it names, its report printed.
//!
//! diskspd's own options are parsed by [`mark::diskspd`], and its report is written by [`formats::diskspd`].
//!
//! - [`own_options`] takes drivescope's options out of a command line, [`command_line`] is what remains to be carried out.
//! - [`run`](mod@run) carries it out: it asks for permissions, prepares files ([`create`]), and loads all targets at once from the
//!   moment when all are ready ([`start`]).
//! - [`observer`] watches progress and processors while a target is loaded.
//! - [`report`] fills in diskspd's report, and says on stderr what its numbers are worth.

pub mod command_line;
pub mod create;
pub mod observer;
pub mod own_options;
pub mod report;
pub mod run;
pub mod start;

pub use command_line::CommandLine;
pub use own_options::OwnOptions;
