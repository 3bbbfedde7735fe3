//! Flags of `trace record`.

use std::ffi::OsString;
use std::path::PathBuf;

use block::{Bytes, Nanos};
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use linux::tracer::Backend;
use workload::units::parse_bytes;

use crate::args::values::{Choice, one_of};
use crate::args::{lasting, trace_file};

/// `trace record`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trace record /dev/sdb --duration 30s
  drivescope trace record /dev/sdb -o app.parquet -- ./application
  drivescope trace record /srv/database /dev/sdc -- pgbench -c 8 -T 60
  drivescope trace record /dev/nvme0n1p2 --backend blktrace

A directory or a file stands for the device that it lies on. The kernel's own
tracer is read; nothing else has to be installed. It takes root. The recording
goes on until COMMAND or the time has ended, or until Ctrl-C, which keeps what
was recorded. Events that the kernel loses are counted and reported.")]
pub struct TraceRecordArgs {
    /// Devices to record, disks or partitions; or directories or files on them
    #[arg(value_name = "DEVICE", required = true)]
    pub devices: Vec<PathBuf>,
    /// Output file; otherwise in this directory, under the device's name and the date
    #[arg(long, short, value_name = "FILE.parquet", value_parser = PathBufValueParser::new().try_map(trace_file))]
    pub output: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
    /// Record for this long
    #[arg(long, value_name = "TIME", value_parser = lasting)]
    pub duration: Option<Nanos>,
    /// How to record, instead of the first way that can be had
    #[arg(long, value_name = "BACKEND", value_parser = one_of(&BACKENDS))]
    pub backend: Option<Backend>,
    /// The kernel's buffer for each CPU: more when events are lost
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub buffer: Option<Bytes>,
    /// Print JSON; what COMMAND prints goes to stderr then
    #[arg(long)]
    pub json: bool,
    /// Print what would be recorded, and end
    #[arg(long)]
    pub dry_run: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
    /// Command to record: the recording begins before it and ends with it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Ways to record.
const BACKENDS: [Choice<Backend>; 3] = [
    ("tracepoints", "Block tracepoints in a tracefs instance of our own", Backend::Tracepoints),
    ("blktrace", "The relay of blktrace, by ioctl and debugfs", Backend::Blktrace),
    ("blk-tracer", "The tracer blk of ftrace, of which the machine has one", Backend::BlkTracer),
];
