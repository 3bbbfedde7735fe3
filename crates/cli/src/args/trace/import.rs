//! Flags of `trace import`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};

use super::ReadingArgs;
use crate::args::trace_file;

/// `trace import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trace import websearch1.spc.gz
  drivescope trace import src1_0.csv.gz src1_1.csv.gz -o src1.parquet
  drivescope trace import tpcc.trace --format mqsim -o tpcc.parquet
  drivescope trace import io.csv --columns time:us,op,offset:bytes,size:bytes
  zcat part-*.gz | drivescope trace import - -o all.parquet

The format is found by what is in the files, packed with gzip or zstd or not.
What it leaves open (units, which number is a read, address spaces) is settled
by evidence, which is printed; or refused, with the flag that settles it.")]
pub struct TraceImportArgs {
    /// The files of one trace, of one format; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write the trace to this file; without it, only describe the trace
    #[arg(long, short, value_name = "OUT.parquet", value_parser = PathBufValueParser::new().try_map(trace_file))]
    pub output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// How to read it.
    #[command(flatten)]
    pub reading: ReadingArgs,
}
