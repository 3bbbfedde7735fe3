//! How the files of a trace are to be read: the same for every verb that reads one.

use clap::Args;
use trace::import::Options;

/// How the files of a trace are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading the trace")]
pub struct ReadingArgs {
    /// Leave out what cannot be read, and count it
    #[arg(long)]
    pub lenient: bool,
}

impl ReadingArgs {
    /// As the readers have it.
    pub fn options(&self) -> Options {
        Options { lenient: self.lenient, ..Options::default() }
    }
}
