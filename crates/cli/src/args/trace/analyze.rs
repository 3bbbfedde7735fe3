//! Flags of `trace analyze`.

use std::path::PathBuf;

use clap::Args;

/// `trace analyze`.
#[derive(Debug, Args)]
pub struct TraceAnalyzeArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
}
