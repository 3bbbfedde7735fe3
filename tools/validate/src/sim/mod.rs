//! `sim`: virtual drives of flash beside what is known of such drives from elsewhere: theory, small programs that share
//! no line with them, and their own figures. All of it through the public face of the room `sim`, at the sizes that the
//! tests are too short for.

mod amplification;
mod claims;
mod drive;
mod golden;
mod life;
mod reads;
mod single_bit;
mod speed;

/// Oracles with which virtual drives are compared.
#[path = "../../../../crates/sim/oracles/mod.rs"]
pub(crate) mod oracles;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::provenance::{self, Machine};
use crate::sheet;
use claims::Claims;

/// Options of `sim`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Capacity of the drive whose life is followed, such as 64GiB [default: the model's own, 1 TB, which takes
    /// 3 GiB of memory and 20 minutes]
    #[arg(long)]
    capacity: Option<String>,
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of less than everything]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Part of the validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// I/Os a second of one core, and memory; first, since memory that others gave back would not be seen to grow
    Speed,
    /// Write amplification against theory
    Amplification,
    /// A terabyte's life after a purge: plateau, cliff, steady state; and a replayed permutation
    Life,
    /// Random reads by depth against a closed network of queues
    Reads,
    /// Caches of single-bit cells: size and recovery
    SingleBit,
    /// One seed, one history
    Golden,
}

impl Part {
    fn check(self, options: &Options, claims: &mut Claims) -> Result<()> {
        match self {
            Part::Amplification => amplification::check(claims),
            Part::Life => life::check(options.capacity.as_deref(), claims),
            Part::Reads => reads::check(claims),
            Part::SingleBit => single_bit::check(claims),
            Part::Speed => speed::check(claims),
            Part::Golden => golden::check(claims),
        }
    }
}

/// Checks all claims and writes the table; false when one does not hold.
///
/// # Errors
/// When a virtual drive cannot be opened, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let trial = options.capacity.is_some() || !options.only.is_empty();
    let out = sheet::table_dir(options.out.as_deref(), trial)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let mut claims = Claims::default();
    for part in Part::value_variants() {
        if options.only.is_empty() || options.only.contains(part) {
            part.check(options, &mut claims)?;
        }
    }
    claims.write_raw(&out.join("sim.csv"))?;
    let more = [("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "sim.csv", &more);
    sheet::write(&out.join("sim.md"), &claims.text(&head))?;
    Ok(claims.broken() == 0)
}
