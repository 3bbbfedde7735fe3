//! Flags of `trace export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ReadingArgs;

/// `trace export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trace export app.parquet --to fio -o app.log
  fio --name=replay --read_iolog=app.log --replay_redirect=/dev/sdX

Data that the format cannot hold is reported, with counts where possible.")]
pub struct TraceExportArgs {
    /// The trace, in any format that is known; several files of one trace
    #[arg(value_name = "TRACE", required = true)]
    pub trace: Vec<PathBuf>,

    /// The format to write
    #[arg(long, value_name = "FORM")]
    pub to: ExportFormat,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,

    /// Say as JSON what was written
    #[arg(long)]
    pub json: bool,

    /// How to read it.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// The formats that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// blktrace's binary recording, version 1, in one file, as `blkparse -d` makes it
    Blktrace,
    /// The same as a file for each CPU: FILE.blktrace.0 and so on
    BlktraceCpus,
    /// fio's iolog, version 3: for fio 3.31 and later
    Fio,
    /// fio's iolog, version 2: for any fio, in steps of a millisecond
    FioV2,
    /// CSV as the traces of MSR Cambridge have it
    Msr,
}

impl ExportFormat {
    /// As it is called in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            ExportFormat::Blktrace => "blktrace's recording",
            ExportFormat::BlktraceCpus => "blktrace's recording, a file for each CPU",
            ExportFormat::Fio => "fio's iolog, version 3",
            ExportFormat::FioV2 => "fio's iolog, version 2",
            ExportFormat::Msr => "MSR Cambridge CSV",
        }
    }
}
