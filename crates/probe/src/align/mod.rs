//! Where boundaries are: erase block, page and multi-plane page from what it costs to read across them.

mod class;
mod erase;
mod estimate;
mod model;
mod next;
mod page;
mod row;
mod sampler;
mod verdict;

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use self::class::Class;
pub use self::erase::{Candidate, Hypothesis};
pub use self::estimate::Estimate;
pub use self::page::Layout;
pub use self::row::{Row, Source};
use self::sampler::Sampler;
pub use self::verdict::{Judgement, infer};
use crate::desk::{Desk, Halt};
use crate::finding::{Name, Outcome};
use crate::known::Known;

/// What the probe may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The longest that it may take, on the drive's clock.
    pub time: Nanos,
    /// Probability at which an answer is taken as decided and no more is asked about it.
    pub enough: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { time: Nanos::secs(45), enough: 0.999 }
    }
}

/// What one block size said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockEvidence {
    /// Bytes of each read.
    pub block_bytes: Bytes,
    /// Reads made.
    pub reads: u64,
    /// Rows in ascending order of class.
    pub rows: Vec<Row>,
    /// What they say.
    pub judgement: Judgement,
}

/// What the answers were drawn from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// By block size, in ascending order.
    pub blocks: Vec<BlockEvidence>,
    /// The block size that the answers are of.
    pub spoke_bytes: Option<Bytes>,
}

/// Triples of each class before anything is judged.
const FIRST: usize = 24;
/// No block size is asked about with more reads than this: what so many do not tell, places differ in.
const READS_MAX: usize = 200_000;
/// A script is to take about so long: time is looked at between two.
const SCRIPT: Nanos = Nanos::millis(500);

/// Reads before, across and after boundaries of all classes, until the answers are decided or time is over.
///
/// # Errors
/// [`Halt`] where it is no limit.
pub fn probe(
    desk: &mut Desk<'_>,
    known: &Known,
    options: &Options,
) -> Result<Outcome<Evidence>, Halt> {
    desk.within(options.time, |desk| ask(desk, known, options))
}

fn ask(desk: &mut Desk<'_>, known: &Known, options: &Options) -> Result<Outcome<Evidence>, Halt> {
    let region = desk.region();
    let (from, to) = (region.offset.0, region.offset.0 + region.length.0);
    let block = (2 * desk.info().logical_block_bytes.0).max(1024);
    let mut sampler = Sampler::new(block, (from, to), true);
    let given = known.given(Name::EraseBlock);
    let judgement = match refine(desk, &mut sampler, given, options) {
        Err(halt) if !halt.is_limit() => return Err(halt),
        _ => infer(&sampler.rows(), Source::Measured, given),
    };
    let evidence = BlockEvidence {
        block_bytes: Bytes(block),
        reads: sampler.reads() as u64,
        rows: sampler.rows(),
        judgement: judgement.clone(),
    };
    let evidence = Evidence { blocks: vec![evidence], spoke_bytes: Some(Bytes(block)) };
    Ok(Outcome { findings: judgement.findings, evidence, caveats: Vec::new() })
}

/// Asks until all is decided.
fn refine(
    desk: &mut Desk<'_>,
    sampler: &mut Sampler,
    given: Option<u64>,
    options: &Options,
) -> Result<(), Halt> {
    let mut rng = desk.rng(&[0x616c_6967, sampler.block]);
    let mut wanted: Vec<(usize, usize)> = (0..sampler.bins.len()).map(|bin| (bin, FIRST)).collect();
    let mut per_read = Nanos::millis(2);
    loop {
        for part in portions(&wanted, SCRIPT, per_read) {
            let (before, reads) = (desk.now(), sampler.reads());
            sampler.ask(desk, &mut rng, &part)?;
            let made = (sampler.reads() - reads).max(1) as u64;
            per_read = Nanos(((desk.now().0 - before.0) / made).max(1));
        }
        let judgement = infer(&sampler.rows(), Source::Measured, given);
        if judgement.is_settled(options.enough) || sampler.reads() >= READS_MAX {
            return Ok(());
        }
        wanted = next::wanted(sampler, &judgement);
        if wanted.is_empty() {
            return Ok(());
        }
    }
}

/// Splits what is wanted into scripts that take about `span` each.
fn portions(wanted: &[(usize, usize)], span: Nanos, per_read: Nanos) -> Vec<Vec<(usize, usize)>> {
    let total: usize = wanted.iter().map(|(_, count)| count).sum();
    let fit = (span.0 / (3 * per_read.0)).clamp(16, 400) as usize;
    let parts = total.div_ceil(fit).max(1);
    // Every script asks for all classes alike, so that what drifts drifts in all of them.
    (0..parts)
        .map(|part| {
            let share = |&(bin, count): &(usize, usize)| {
                (bin, count * (part + 1) / parts - count * part / parts)
            };
            wanted.iter().map(share).filter(|(_, count)| *count > 0).collect()
        })
        .collect()
}
