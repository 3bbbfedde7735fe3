//! Flags of `trace record`.

use std::path::PathBuf;

use clap::Args;

/// `trace record`.
#[derive(Debug, Args)]
pub struct TraceRecordArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
}
