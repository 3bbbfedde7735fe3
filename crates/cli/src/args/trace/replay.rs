//! Flags of `trace replay`.

use std::path::PathBuf;

use clap::Args;

/// `trace replay`.
#[derive(Debug, Args)]
pub struct TraceReplayArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
}
