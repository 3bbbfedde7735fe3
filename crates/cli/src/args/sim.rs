//! Flags of `sim`.

use std::path::PathBuf;

use block::Bytes;
use clap::{Args, Subcommand};
use workload::units::parse_bytes;

/// `sim`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope sim list
  drivescope sim show hdd-7200
  drivescope sim serve hdd-7200 /mnt/virtual
  drivescope mark 'sim:hdd-7200?seed=7'")]
pub struct SimArgs {
    #[command(subcommand)]
    pub verb: SimVerb,
}

/// Verbs of `sim`.
#[derive(Debug, Subcommand)]
pub enum SimVerb {
    /// List the models
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a model is
    Show {
        /// Model, with or without sim: in front
        model: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Serve a virtual drive to other programs, as a file and in real time
    Serve(ServeArgs),
}

/// `sim serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope sim serve hdd-7200 /mnt/virtual
  drivescope sim serve 'hdd-7200?seed=7' /mnt/virtual --store /var/tmp
  fio --name=x --filename=/mnt/virtual/drive --rw=randread --bs=4k --direct=1
  losetup --find --show --direct-io=on /mnt/virtual/drive

The drive is the file MOUNTPOINT/drive, as long as the drive; losetup makes a
block device of it. A request takes as long as on the drive, and the few
microseconds that FUSE takes. Ctrl-C, or unmounting it, ends the service, and
what was written is then gone.")]
pub struct ServeArgs {
    /// Model, with or without sim: in front
    pub model: String,
    /// An empty directory
    pub mountpoint: PathBuf,
    /// Most memory for what is written; zeros and repeated bytes take none
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1GiB")]
    pub memory: Bytes,
    /// Keep what is written in this directory instead, in a file without a name
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    pub store: Option<PathBuf>,
    /// Print what is served, and at the end what was, as JSON documents
    #[arg(long)]
    pub json: bool,
}
