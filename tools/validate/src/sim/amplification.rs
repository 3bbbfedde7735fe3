//! Write amplification of whole drives against theory.

use anyhow::Result;

use super::claims::Claims;
use super::drive::Drive;
use super::oracles::addresses::Permutation;
use super::oracles::theory;

/// Net over-provisioning.
const OVER_PROVISIONING: [f64; 4] = [0.07, 0.15, 0.28, 0.50];
/// Units of a block in the mean field: more change its value by less than 1%, and cost as much time.
const LEVELS: u32 = 256;
/// Two dies of `enterprise-28op`, with at least 1,000 blocks each.
const SHAPE: &str = "nand.channels=2&nand.dies_per_channel=1&capacity=8GiB";

pub(super) fn check(claims: &mut Claims) -> Result<()> {
    claims.section(
        "Write amplification",
        format!(
            "`sim:enterprise-28op?{SHAPE}` and over-provisioning and policy as told, purged, then 12 fills of uniform \
             random 4 KiB writes; the last 2 count, by the drive's own counters of host and media bytes. FIFO: \
             a/(a + W(−a e^−a)), ± 3%. Greedy: from 0.98 × its value by Desnoyers (2012) for blocks of 1,024 units \
             to 1.02 × FIFO. Best of so many drawn: the mean field of Van Houdt (2013) for {LEVELS} units a block, ± 3%; \
             with large blocks FIFO is better than either, since under uniform writes age tells all."
        ),
    );
    for op in OVER_PROVISIONING {
        for (policy, choices) in
            [("fifo", None), ("greedy", None), ("choices", Some(10)), ("choices", Some(3))]
        {
            uniform(op, policy, choices, claims)?;
        }
    }
    permutations(claims)
}

fn open(op: f64, policy: &str, choices: Option<i32>) -> Result<Drive> {
    let choices = choices.map(|choices| format!("&layout.choices={choices}")).unwrap_or_default();
    Drive::open(&format!(
        "sim:enterprise-28op?{SHAPE}&layout.over_provisioning={op}\
         &layout.collection={policy}{choices}"
    ))
}

fn uniform(op: f64, policy: &str, choices: Option<i32>, claims: &mut Claims) -> Result<()> {
    let mut drive = open(op, policy, choices)?;
    let (a, n) = (1.0 + drive.truth("over_provisioning")?, drive.parameters.block_units());
    let of = choices.map(|choices| format!(" of {choices}")).unwrap_or_default();
    let case = format!("OP {op:.2}, {policy}{of}");
    drive.write_random(10.0)?;
    let found = (drive.write_random(2.0)?.amplification, 3);
    let (fifo, greedy) = (theory::fifo(a), theory::greedy(a, n as f64));
    let what = "write amplification";
    match (policy, choices) {
        (_, Some(choices)) => {
            claims.near(&case, what, found, (theory::choices(a, LEVELS, choices), 0.03));
        }
        ("fifo", _) => claims.near(&case, what, found, (fifo, 0.03)),
        _ => claims.within(&case, what, found, (0.98 * greedy, 1.02 * fifo)),
    }
    Ok(())
}

/// One permutation again and again, and another one each time.
fn permutations(claims: &mut Claims) -> Result<()> {
    let mut drive = open(0.07, "greedy", None)?;
    let units = drive.units();
    let case = "OP 0.07, greedy";
    let same = Permutation::new(units, 1);
    for _ in 0..3 {
        let mut places = 0..units;
        drive.write(|| Some(same.at(places.next()?)))?;
    }
    let mut places = 0..units;
    let found = drive.write(|| Some(same.at(places.next()?)))?.amplification;
    claims.within(case, "one permutation, 4th pass", (found, 3), (1.0, 1.01));

    let uniform = theory::greedy(1.07, drive.parameters.block_units() as f64);
    let mut quarters = Vec::new();
    for pass in 2..8 {
        let order = Permutation::new(units, pass);
        quarters.clear();
        for quarter in 0..4 {
            let mut places = units * quarter / 4..units * (quarter + 1) / 4;
            quarters.push(drive.write(|| Some(order.at(places.next()?)))?.amplification);
        }
    }
    let teeth: Vec<String> = quarters.iter().map(|tooth| format!("{tooth:.2}")).collect();
    claims.told(case, "a new permutation each pass, by quarter of the 6th", teeth.join(", "));
    let what = "last quarter, as a share of uniform random";
    claims.within(case, what, (quarters[3] / uniform, 2), (0.1, 0.35));
    let what = "whole pass, as a share of uniform random";
    let whole = quarters.iter().sum::<f64>() / 4.0 / uniform;
    claims.within(case, what, (whole, 2), (0.35, 0.75));
    Ok(())
}
