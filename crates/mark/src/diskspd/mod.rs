//! diskspd: its command line, what its options mean, and the plans that do it.
//!
//! The behaviour is that of diskspd for Linux (github.com/microsoft/diskspd-for-linux, read), with those options of
//! diskspd for Windows that mean something here too. [`Options`] is what a command line asks for, [`Options::plan`] how
//! it is done, [`run()`] does it.

mod options;
mod plan;
mod run;
mod usage;
mod words;

pub use options::{
    Buffers, Caching, Engine, Fill, HELP, Options, Random, ResultFormat, Seed, Stride, Threads,
};
pub use plan::Manner;
pub use run::{Figures, How, Look, Outcome, Thread, run};
pub use usage::UsageError;
