//! Least cost of a host's write at steady state: the reference for the speed of virtual drives of flash, printed
//! with its write amplification.
//!
//! `cargo bench -p drivescope-sim` takes drives of 1 to 256 GiB; `-- 64` takes one of 64 GiB. Over-provisioning is
//! that of `enterprise-28op`. Figures are for people, and nothing is asserted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

#[path = "../oracles/mod.rs"]
mod oracles;

use std::time::Instant;

use oracles::addresses::Addresses;
use oracles::bare_ftl::BareFtl;

const OVER_PROVISIONING: f64 = 0.28;
const UNIT_BYTES: usize = 4096;
/// Blocks of all dies together, as a drive opens and collects them.
const BLOCKS: usize = 1200;

fn main() {
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![1, 16, 256] } else { asked };
    println!("{:>6} {:>16} {:>20}", "GiB", "ns a host write", "write amplification");
    for gib in sizes {
        let (ns, amplification) = measure(gib);
        println!("{gib:>6} {ns:>16.1} {amplification:>20.3}");
    }
}

/// Nanoseconds a host write, and write amplification, after 2 fills of uniform random writes on top of one in order.
fn measure(gib: usize) -> (f64, f64) {
    let units = (gib << 30) / UNIT_BYTES;
    let slots = units as f64 * (1.0 + OVER_PROVISIONING);
    let mut log = BareFtl::filled(units, BLOCKS, (slots / BLOCKS as f64) as usize);
    let mut addresses = Addresses(7);
    for _ in 0..2 * units {
        log.write(addresses.below(units as u64) as u32);
    }
    let (moved, writes) = (log.moved, units.min(20_000_000));
    let begun = Instant::now();
    for _ in 0..writes {
        log.write(addresses.below(units as u64) as u32);
    }
    let ns = begun.elapsed().as_nanos() as f64 / writes as f64;
    (ns, 1.0 + (log.moved - moved) as f64 / writes as f64)
}
