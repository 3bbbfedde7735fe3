//! The life of a drive after a purge, and the riddle of the drive that was flat to the end.

use anyhow::Result;

use super::claims::Claims;
use super::drive::{Drive, SPANS_PER_S, mean};
use super::oracles::addresses::Permutation;
use super::oracles::theory;

const MODEL: &str = "sim:mlc-nvme";
/// Fills after the purge that are written at random.
const FILLS: f64 = 3.0;

pub(super) fn check(capacity: Option<&str>, claims: &mut Claims) -> Result<()> {
    let with = |more: &str| {
        let capacity = capacity.map(|capacity| format!("capacity={capacity}&")).unwrap_or_default();
        format!("{MODEL}?{capacity}{more}").trim_end_matches(['?', '&']).to_owned()
    };
    claims.section(
        "Purge, plateau, cliff, steady state",
        format!(
            "`{}`: {FILLS} fills of uniform random 4 KiB writes at depth, from a purge on. The plateau is the mean rate \
             until half a fill is written, without the first second, in which the drive's memory fills. The cliff is the \
             first tenth of a second below 0.7 of it. The steady \
             rate is that of the same drive with `state=steady`, over the second quarter of a fill. Prediction: with \
             amplification w, for each row of pages that the host fills a die programs w rows, reads w (1 − w^−n) of n \
             units to move what is valid, and spends w rows' share of an erase; the rates are as the programs alone to \
             all of that, at the model's mean times. Replay: two passes of one permutation from a purge on.",
            with("")
        ),
    );
    let plateau = purged(&with(""), capacity.is_none(), claims)?;
    steady(&with("state=steady"), plateau, claims)?;
    replayed(&with(""), claims)
}

/// Returns the plateau.
fn purged(spec: &str, whole: bool, claims: &mut Claims) -> Result<f64> {
    let mut drive = Drive::open(spec)?;
    let units = drive.units() as f64;
    let mut stretches = Vec::new();
    for stretch in 1..=(FILLS * 4.0) as u32 {
        let written = drive.write_random(0.25)?;
        let fills = f64::from(stretch) / 4.0;
        let (iops, amplification) = (written.iops, written.amplification);
        eprintln!("  {fills:.2} fills: {iops:.0} IOPS, amplification {amplification:.2}");
        stretches.push(format!("{:.0}", iops / 1000.0));
    }
    let rates = drive.written.rates();
    let mut fills = 0.0;
    let early = rates.iter().take_while(|rate| {
        fills += **rate / SPANS_PER_S / units;
        fills < 0.5
    });
    let early = early.count();
    // The drive's memory fills.
    let plateau = mean(&rates[(early / 2).min(SPANS_PER_S as usize)..early]);
    if whole {
        claims.within(spec, "plateau, IOPS", (plateau, 0), (600e3, 700e3));
    } else {
        claims.told(spec, "plateau, IOPS", format!("{plateau:.0}"));
    }
    let dies = drive.parameters.dies() as f64;
    let by_times = drive.parameters.write_times().plateau(dies);
    claims.near(
        spec,
        "plateau, IOPS, of what the dies can program",
        (plateau, 0),
        (by_times, 0.05),
    );
    let at = rates.iter().position(|rate| *rate < 0.7 * plateau).unwrap_or(rates.len());
    let seconds = at as f64 / SPANS_PER_S;
    let fills = rates[..at].iter().sum::<f64>() / SPANS_PER_S / units;
    let expected = 1.0 + drive.truth("over_provisioning")?;
    claims.near(spec, "cliff, fills", (fills, 3), (expected, 0.05));
    if whole {
        claims.within(spec, "cliff, seconds", (seconds, 0), (0.0, 500.0));
    }
    claims.told(spec, "thousand IOPS by quarter of a fill", stretches.join(", "));
    Ok(plateau)
}

fn steady(spec: &str, plateau: f64, claims: &mut Claims) -> Result<()> {
    let mut drive = Drive::open(spec)?;
    drive.write_random(0.25)?;
    let written = drive.write_random(0.25)?;
    let (a, n) = (1.0 + drive.truth("over_provisioning")?, drive.parameters.block_units());
    let range = (0.98 * theory::greedy(a, n as f64), 1.02 * theory::fifo(a));
    claims.within(spec, "steady write amplification", (written.amplification, 3), range);
    claims.told(spec, "steady, IOPS", format!("{:.0}", written.iops));
    let expected = drive.parameters.write_times().share(written.amplification);
    let share = written.iops / plateau;
    claims.near(spec, "steady rate, of the plateau", (share, 4), (expected, 0.10));
    Ok(())
}

fn replayed(spec: &str, claims: &mut Claims) -> Result<()> {
    let mut drive = Drive::open(spec)?;
    let units = drive.units();
    let order = Permutation::new(units, 1);
    let mut places = 0..2 * units;
    let written = drive.write(|| Some(order.at(places.next()? % units)))?;
    let rates = drive.written.rates();
    let seconds: Vec<f64> = rates.chunks_exact(SPANS_PER_S as usize).map(mean).collect();
    let (first, rest) = seconds.split_at(seconds.len() / 4);
    let least = rest.iter().copied().fold(f64::INFINITY, f64::min);
    let amplification = (written.amplification, 3);
    claims.within(spec, "one permutation twice: write amplification", amplification, (0.0, 1.01));
    let what = "one permutation twice: slowest second, of the plateau";
    claims.within(spec, what, (least / mean(&first[1..]), 3), (0.93, f64::INFINITY));
    claims.told(spec, "one permutation twice: seconds", seconds.len().to_string());
    Ok(())
}
