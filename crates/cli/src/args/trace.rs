//! Flags of `trace`.

mod analyze;
mod compare;
mod export;
mod import;
mod playing;
mod reading;
mod record;
mod replay;

use clap::{Args, Subcommand};

pub use analyze::TraceAnalyzeArgs;
pub use compare::TraceCompareArgs;
pub use export::{ExportFormat, TraceExportArgs};
pub use import::TraceImportArgs;
pub use playing::{MapName, ModeName, PlayArgs, RunRecordArgs};
pub use reading::ReadingArgs;
pub use record::TraceRecordArgs;
pub use replay::TraceReplayArgs;

/// `trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trace record /dev/sdb -o app.parquet -- ./application
  drivescope trace analyze app.parquet
  drivescope trace replay app.parquet sim:sata-a --mode timed
  drivescope trace compare app.parquet sim:sata-a sim:sata-b")]
pub struct TraceArgs {
    /// Subcommand of trace.
    #[command(subcommand)]
    pub verb: TraceVerb,
}

/// The verbs under `trace`.
#[derive(Debug, Subcommand)]
pub enum TraceVerb {
    /// Record what a device is asked to do, by the kernel's own tracer
    Record(TraceRecordArgs),
    /// Read a trace of another tool's into a file of ours
    Import(TraceImportArgs),
    /// Describe a trace: phases, load, sizes, addresses, reuse
    Analyze(TraceAnalyzeArgs),
    /// Issue a trace to a drive, and say how faithfully
    Replay(TraceReplayArgs),
    /// Compare two drives under a trace
    Compare(TraceCompareArgs),
    /// Write a trace as blktrace, fio or MSR Cambridge have it
    Export(TraceExportArgs),
}
