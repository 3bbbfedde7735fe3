//! Flags of `report` and `show`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, PathBufValueParser, TypedValueParser as _};

use super::{PlaceArgs, page_file};

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope report last                    drivescope-RUN.html, written here
  drivescope report last -o stick.html      under another name
  drivescope report 20261121T2335 last      several runs, with an index
  drivescope report last --svg figures --csv tables
  drivescope report last --markdown=-       for a wiki or an issue
  drivescope report analysis.json           what `trace analyze --json` printed

A RUN is a run's id, the beginning of it, last, or a document that --json
printed: of survey, mark, probe, purge, pts and trace. The page needs no
network, follows the reader's choice of light or dark, prints, and is read
aloud; its script sorts tables and zooms charts, and nothing is missing without
it. With another form and no --output, no page is written.")]
pub struct ReportArgs {
    /// The runs [default: last]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// The page, in one file [default: drivescope-RUN.html]
    #[arg(long, short, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page_file))]
    pub output: Option<PathBuf>,
    /// Every chart as a PNG in this directory, which is made
    #[arg(long, value_name = "DIR")]
    pub png: Option<PathBuf>,
    /// Every chart as an SVG in this directory, which is made
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Tables and values of charts as CSV in this directory, which is made
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// The same as Markdown; - for standard output [default: drivescope-RUN.md]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = "", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub markdown: Option<PathBuf>,
    /// Pictures on a dark ground
    #[arg(long)]
    pub dark: bool,
    /// Write over files that exist
    #[arg(long)]
    pub force: bool,
    /// Print what was written as JSON
    #[arg(long)]
    pub json: bool,
    /// Show throughput in MiB/s (2^20) instead of MB/s (10^6); --csv keeps MB/s in charts
    #[arg(long)]
    pub mib: bool,
}

/// `show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope show last                      the result, and all its plots
  drivescope show last --plot latency       only plots that are named so
  drivescope show last --plot latency --width 120 --height 40
  drivescope show analysis.json             what `trace analyze --json` printed

Plots fit 80 × 24; without colour, each layer has glyphs of its own. A RUN
is a run's id, the beginning of it, last, or a document that --json printed:
of survey, mark, probe, purge, pts and trace.")]
pub struct ShowArgs {
    /// The run [default: last]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Only the plots whose name has this in it, and no table
    #[arg(long, value_name = "NAME")]
    pub plot: Option<String>,
    /// Columns
    #[arg(long, value_name = "N", default_value_t = 80,
          value_parser = clap::value_parser!(u16).range(60..=1000))]
    pub width: u16,
    /// Most lines of a plot
    #[arg(long, value_name = "N", default_value_t = 23,
          value_parser = clap::value_parser!(u16).range(12..=400))]
    pub height: u16,
    /// Print the names of the plots and their values as JSON
    #[arg(long)]
    pub json: bool,
    /// Show throughput in MiB/s (2^20) instead of MB/s (10^6)
    #[arg(long)]
    pub mib: bool,
}
