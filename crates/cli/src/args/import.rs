//! Flags of `import`.

use std::path::PathBuf;

use block::Bytes;
use clap::{Args, Subcommand};
use pts::judge::Format;
use workload::units::parse_bytes;

use super::PlaceArgs;
use super::values::{Choice, one_of};

/// `import`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  drivescope import result.json                 fio, json or json+
  drivescope import run1.json run2.json run3.json
                                                three runs of one test
  drivescope import cdm.txt                     CrystalDiskMark's copied text
  drivescope import result.xml --json           diskspd -Rxml
  drivescope compare last sim:sata-a            what was imported, and ours
  drivescope import flashbench align.txt        flashbench's tables, judged

Files of one program become one recorded run; equal loads are runs of one test.
Imported results have no proofs, and what a file does not contain is unknown.
The format is detected from a file's content, that of fio's logs from the name
(x_bw.1.log). Logs that a JSON names, or that are called after its jobs, are
found beside it; drivescope lists the latter.")]
pub struct ImportArgs {
    /// Tables of flashbench instead
    #[command(subcommand)]
    pub verb: Option<ImportVerb>,
    /// Results of fio, diskspd or CrystalDiskMark, or directories of them; - for
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The form of all files, when it is not found
    #[arg(long, value_name = "FORM", value_parser = one_of(&FORMS))]
    pub format: Option<Format>,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Only show it
    #[arg(long, help_heading = "Record")]
    pub no_record: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Show throughput in MiB/s (2^20) instead of MB/s (10^6)
    #[arg(long)]
    pub mib: bool,
}

/// Forms of results of other programs.
const FORMS: [Choice<Format>; 6] = [
    ("fio-json", "fio --output-format=json or json+", Format::FioJson),
    ("fio-log", "fio's logs of bandwidth, IOPS and latency", Format::FioLog),
    ("fio-hist-log", "fio's write_hist_log", Format::FioHistLog),
    ("diskspd", "diskspd's report, of Windows or Linux", Format::Diskspd),
    ("diskspd-xml", "diskspd -Rxml", Format::DiskspdXml),
    ("crystaldiskmark", "The text that CrystalDiskMark copies", Format::CrystalDiskMark),
];

/// Kinds of files that have verbs of their own.
#[derive(Debug, Subcommand)]
pub enum ImportVerb {
    /// Output of flashbench: the same verdicts as of a drive
    #[command(after_help = "\
Examples:
  drivescope import flashbench align.txt
  drivescope import flashbench nr1.txt nr2.txt nr3.txt --erase-block 4MiB
  flashbench -a /dev/sdb | drivescope import flashbench - --json

How many units were open (--open-au-nr) is taken from the command in the file,
a comment, the file's name (nr3.txt), or else from the order of the files.")]
    Flashbench(ImportFlashbenchArgs),
}

/// `import flashbench`.
#[derive(Debug, Args)]
pub struct ImportFlashbenchArgs {
    /// Files of one device, with one or more tables each; - for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Take this for the erase block
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub erase_block: Option<Bytes>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
