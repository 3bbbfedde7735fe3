//! Flags of `sim`.

use clap::{Args, Subcommand};

/// `sim`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope sim list
  drivescope sim show hdd-7200
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
The tables host, faults, heat and neighbour are there for every kind.")]
    Show {
        /// Model, with or without sim: in front
        model: String,
        /// Print as JSON, with null for what the model has not
        #[arg(long)]
        json: bool,
    },
}
