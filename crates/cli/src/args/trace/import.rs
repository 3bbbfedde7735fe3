//! Flags of `trace import`.

use std::path::PathBuf;

use clap::Args;

/// `trace import`.
#[derive(Debug, Args)]
pub struct TraceImportArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
}
