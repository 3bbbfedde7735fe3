//! Flags of `trace analyze`.

use std::path::PathBuf;

use block::Nanos;
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use trace::analyze::{Lens, Options};

use super::ReadingArgs;
use crate::args::{parse_nanos, picture};

/// `trace analyze`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trace analyze app.parquet
  drivescope trace analyze sda.blktrace.*          as blktrace wrote them
  drivescope trace analyze app.parquet --from 10s --until 20s --device sda
  drivescope trace analyze app.parquet --json | jq .body.phases.d2c.p99_ns
  drivescope trace analyze sda.blktrace.* --btt    as btt prints it

Phases are those of btt: Q queued, G request allocated, I inserted into the
scheduler, M merged, D issued to the driver, C completed. Q2C is what an
application waits, D2C what the drive takes.")]
pub struct TraceAnalyzeArgs {
    /// The trace: one file, or all files of one recording
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Leave out I/Os that arrive earlier, since the beginning of the trace
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub from: Option<Nanos>,
    /// Leave out I/Os that arrive at this or later, since the beginning of the trace
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub until: Option<Nanos>,
    /// Only these devices, by name or number (major,minor); may be repeated
    #[arg(long, value_name = "DEVICE")]
    pub device: Vec<String>,
    /// Only counts, phases and these; every one that is left out saves time
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub only: Vec<Lens>,
    /// Draw all there is to see into a file, as its name ends (.svg or .png)
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(picture))]
    pub plot: Option<PathBuf>,
    /// Write over files that exist
    #[arg(long)]
    pub force: bool,
    /// Draw it on a dark page
    #[arg(long, requires = "plot")]
    pub dark: bool,
    /// Print as btt does
    #[arg(long, conflicts_with = "json")]
    pub btt: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

impl TraceAnalyzeArgs {
    /// Options of the analysis.
    pub fn options(&self) -> Options {
        Options {
            from: self.from,
            until: self.until,
            devices: self.device.clone(),
            only: self.only.clone(),
        }
    }
}
