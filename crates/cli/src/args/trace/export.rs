//! Flags of `trace export`.

use std::path::PathBuf;

use clap::Args;

/// `trace export`.
#[derive(Debug, Args)]
pub struct TraceExportArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
}
