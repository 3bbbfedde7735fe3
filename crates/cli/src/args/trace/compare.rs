//! Flags of `trace compare`.

use std::path::PathBuf;

use clap::Args;

/// `trace compare`.
#[derive(Debug, Args)]
pub struct TraceCompareArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
}
