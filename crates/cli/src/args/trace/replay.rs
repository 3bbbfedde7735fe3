//! Flags of `trace replay`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use drives::TargetSpec;

use crate::args::{FilesArgs, LiveArgs, trace_file};

use super::{PlayArgs, ReadingArgs, RunRecordArgs};

/// `trace replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trace replay app.parquet sim:sata-a
  drivescope trace replay app.parquet /dev/sdb --mode outstanding --reads-only
  drivescope trace replay app.parquet /dev/sdb --write --consent SERIAL
  drivescope trace replay websearch.spc sim:sata-b --mode scaled --factor 0.5

The verdict says whether the replay was faithful, or whether the drive or the
replayer was the limit. Exit code 1: the replayer was.")]
pub struct TraceReplayArgs {
    /// The trace, of any format that `trace import` reads
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Block device, file, or virtual drive (sim:sata-a, null:)
    #[arg(value_name = "TARGET")]
    pub target: TargetSpec,
    #[command(flatten)]
    pub play: PlayArgs,
    /// Check the times of issue against the kernel's own tracepoints
    #[arg(long, help_heading = "Output")]
    pub verify: bool,
    /// Keep what was replayed as a trace, which `trace analyze` reads
    #[arg(long, value_name = "FILE.parquet", value_parser = PathBufValueParser::new().try_map(trace_file), help_heading = "Output")]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub record: RunRecordArgs,
}
