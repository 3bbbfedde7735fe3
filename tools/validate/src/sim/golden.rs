//! One seed, one history.

use anyhow::Result;
use block::{Completion, Op, Target as _};

use super::claims::Claims;
use super::oracles::addresses::Addresses;
use super::oracles::load::{Load, issue};

/// I/Os of each kind.
const COUNT: u64 = 4000;

pub(super) fn check(claims: &mut Claims) -> Result<()> {
    claims.section(
        "One seed, one history",
        format!(
            "Of every built-in model: {COUNT} random writes of 16 KiB at depth 8 and as many reads, and FNV-1a over the \
             times of issue and completion of each, in nanoseconds. The same seed must give the same hash, here and on \
             every machine; another seed another one."
        ),
    );
    for model in ::sim::list() {
        let once = hash(&format!("sim:{}?seed=7", model.name))?;
        let again = hash(&format!("sim:{}?seed=7", model.name))?;
        let other = hash(&format!("sim:{}?seed=8", model.name))?;
        let found = format!("{once:016x}");
        claims.must(&model.name, "seed 7 twice", found, once == again);
        claims.must(&model.name, "seed 8", format!("{other:016x}"), once != other);
    }
    Ok(())
}

fn hash(spec: &str) -> Result<u64> {
    let mut target = ::sim::open(spec)?;
    let block = 16_384;
    let blocks = target.info().capacity_bytes.0 / block;
    let mut addresses = Addresses(3);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for op in [Op::Write, Op::Read] {
        let mut left = COUNT;
        let next = || {
            left = left.checked_sub(1)?;
            Some(addresses.below(blocks) * block)
        };
        let each = |completion: &Completion| {
            for time in [completion.issued, completion.completed] {
                for byte in time.0.to_le_bytes() {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        };
        issue(&mut target, Load { op, block, depth: 8 }, next, each)?;
    }
    Ok(hash)
}
