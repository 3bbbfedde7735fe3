//! Flags of `sim`.

use std::path::PathBuf;

use block::Bytes;
use clap::{Args, Subcommand};
use drives::VirtualSpec;
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
    #[command(after_help = "\
Examples:
  drivescope sim list
  drivescope sim list --json")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a model is, with what stands around it
    #[command(after_help = "\
Examples:
  drivescope sim show hdd-7200
  drivescope sim show 'usb-8m?seed=7&state=fresh' --json
  drivescope sim show 'random-card?seed=7'           one drawn from the seed
  drivescope sim show ./own.toml
  drivescope sim show 'hdd-7200?capacity=500GB&geometry.rpm=5400'
  drivescope sim show 'hdd-7200?faults.vanish_at_ns=5000000000'
  drivescope sim show 'hdd-7200?neighbour.ios_per_s=40&heat.ambient_c=45'

After the ? stand seed, capacity, state and write_cache, as far as the kind of
drive knows them, and any field of the model with its table, & between them.
The tables host, faults, heat, neighbour and aftermath are there for every kind.")]
    Show {
        /// Model, with or without sim: in front
        model: VirtualSpec,
        /// Print as JSON, with null for what the model has not
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
block device of it. A request takes as long as on the drive, and some tens of
microseconds that FUSE takes. Ctrl-C, or unmounting it, ends the service, and
what was written is then gone.")]
pub struct ServeArgs {
    /// Model, with or without sim: in front
    pub model: VirtualSpec,
    /// An empty directory
    pub mountpoint: PathBuf,
    /// Most memory for what is written; zeros, repeated bytes and f3's patterns take little
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1GiB")]
    pub memory: Bytes,
    /// Keep what is written in this directory instead, in a file without a name
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    pub store: Option<PathBuf>,
    /// Print what is served, and at the end what was, as JSON documents
    #[arg(long)]
    pub json: bool,
}
