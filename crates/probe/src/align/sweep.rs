//! Block sizes: all are tried a little, the one that speaks is asked until it has decided, and another one must not
//! contradict it.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use workload::rng::Rng;

use super::class::GROUP_LOG2_MAX;
use super::erase::Hypothesis;
use super::family::{self, Family};
use super::next;
use super::options::Options;
use super::row::{Row, Source};
use super::sampler::{Ground, Sampler};
use super::verdict::{self, Judgement, infer};
use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Verdict};

/// Results with one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockEvidence {
    /// Bytes of each read.
    pub block_bytes: Bytes,
    /// Reads made.
    pub reads: u64,
    /// Rows in ascending order of factor and class.
    pub rows: Vec<Row>,
    /// Judgement of the rows.
    pub judgement: Judgement,
}

/// Triples of each class in the pass over all block sizes, and the most that it may take of the time.
const COARSE: usize = 6;
const COARSE_SHARE: f64 = 0.1;
/// Triples of each class before an answer is thought of.
const FIRST: usize = 24;
/// Largest share of the time left that the first block size may use before another one is tried.
const MAIN_SHARE: f64 = 0.7;
/// Most reads with one block size: if these do not decide, the places differ, and more reads do not help.
const READS_MAX: usize = 150_000;
/// Single boundaries asked about in the first round, and the most rounds.
const NAMED: u64 = 16;
const ROUNDS: u32 = 7;
/// Sizes less probable than this are not asked about for long.
const HOPE: f64 = 0.01;
/// A script is to take about so long: time is looked at between two.
const SCRIPT: Nanos = Nanos::millis(500);

/// All block sizes with what they said.
pub(super) struct Sweep {
    voices: Vec<Voice>,
    given: Option<u64>,
    enough: f64,
    time: Nanos,
}

/// One block size.
struct Voice {
    sampler: Sampler,
    rng: Option<Rng>,
    per_read: Nanos,
    /// Inference from single boundaries, once they were tested.
    family: Option<Family>,
    /// Last judgement, and the number of reads it was made from.
    judged: Option<(usize, Judgement)>,
}

impl Sweep {
    pub(super) fn new(
        blocks: &[u64],
        ground: &Ground,
        given: Option<u64>,
        options: &Options,
    ) -> Sweep {
        let voice = |&block: &u64| {
            let sampler = Sampler::new(block, ground);
            Voice { sampler, rng: None, per_read: Nanos::millis(2), family: None, judged: None }
        };
        let voices = blocks.iter().map(voice).collect();
        Sweep { voices, given, enough: options.enough, time: options.time }
    }

    /// The answers, what each block size said, and the one that the answers are of.
    pub(super) fn run(
        mut self,
        desk: &mut Desk<'_>,
    ) -> Result<(Vec<Finding>, Vec<BlockEvidence>, u64), Halt> {
        let spoke = match desk.within(self.time, |desk| self.ask(desk)) {
            Ok(spoke) => spoke,
            Err(halt) if halt.is_limit() => 0,
            Err(halt) => return Err(halt),
        };
        let span = Nanos(self.time.0 / 2);
        limited(desk.within(span, |desk| self.name_sizes(spoke, desk)))?;
        let mut findings = self.findings(spoke);
        self.contradict(spoke, &mut findings);
        let block = self.voices[spoke].sampler.block;
        let all = 0..self.voices.len();
        let mut blocks: Vec<BlockEvidence> = all.map(|at| self.evidence(at)).collect();
        blocks.retain(|evidence| evidence.reads > 0);
        blocks.sort_by_key(|evidence| evidence.block_bytes);
        Ok((findings, blocks, block))
    }

    /// Asks, and says which voice to listen to.
    fn ask(&mut self, desk: &mut Desk<'_>) -> Result<usize, Halt> {
        let coarse = share(desk.time_left(), COARSE_SHARE);
        limited(desk.within(coarse, |desk| self.coarse(desk)))?;
        let order = self.order();
        let mut spoke = order[0];
        for (turn, &at) in order.iter().take(3).enumerate() {
            let part = if turn == 0 { MAIN_SHARE } else { 0.5 };
            let span = share(desk.time_left(), part);
            limited(desk.within(span, |desk| self.refine(at, desk)))?;
            if self.verdict(at) == Verdict::Found {
                spoke = at;
                break;
            }
        }
        // The block size that gives the answers gets the time that is left.
        limited(self.refine(spoke, desk))?;
        Ok(spoke)
    }

    /// A few triples of every class with every block size.
    fn coarse(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        self.voices.iter_mut().try_for_each(|voice| voice.ask_all(desk, COARSE))
    }

    /// The voices in the order in which they are asked: the first, then those whose step is clearest in the coarse
    /// pass. Rejected: to ask the loudest first. A small block nearly always shows the erase blocks that a large one
    /// shows, and a large one cannot show boundaries within itself.
    fn order(&mut self) -> Vec<usize> {
        let odds: Vec<f64> = (0..self.voices.len()).map(|at| odds(&self.judge(at))).collect();
        let mut order: Vec<usize> = (1..self.voices.len()).collect();
        order.sort_by(|a, b| odds[*b].total_cmp(&odds[*a]));
        order.insert(0, 0);
        order
    }

    /// Asks one voice until nothing is gained by more.
    fn refine(&mut self, at: usize, desk: &mut Desk<'_>) -> Result<(), Halt> {
        let least = self.voices[at].sampler.least();
        self.voices[at].ask_all(desk, FIRST.saturating_sub(least))?;
        loop {
            let judgement = self.judge(at);
            let voice = &mut self.voices[at];
            let wanted = next::wanted(&voice.sampler, &judgement);
            let enough = judgement.is_settled(self.enough) || voice.sampler.reads() >= READS_MAX;
            if enough || wanted.is_empty() {
                return Ok(());
            }
            voice.ask(desk, &wanted)?;
        }
    }

    /// Asks about single boundaries which size of all that may be it is, in ever larger rounds.
    fn name_sizes(&mut self, at: usize, desk: &mut Desk<'_>) -> Result<(), Halt> {
        // If the drive caches reads, boundaries cannot be tested again: the rows alone decide.
        if self.given.is_some() || !self.voices[at].sampler.forgets() {
            return Ok(());
        }
        for round in 0..ROUNDS {
            let judgement = self.judge(at);
            let voice = &mut self.voices[at];
            let now = judgement.family(&voice.sampler);
            let range = voice.sampler.range();
            let block = voice.sampler.block;
            let rng = voice.rng.get_or_insert_with(|| desk.rng(&[0x616c_6967, block]));
            let hope = now.sizes.first().is_some_and(|size| size.probability > HOPE);
            voice.family = Some(now.clone());
            if round > 0 && now.decided().is_some() || round > 2 && !hope {
                break;
            }
            let named = family::next(&now, range, (NAMED << round, round == 0), rng);
            voice.sampler.ask_named(desk, rng, named)?;
        }
        let judgement = self.judge(at);
        let voice = &mut self.voices[at];
        voice.family = Some(judgement.family(&voice.sampler));
        voice.judged = None;
        Ok(())
    }

    fn judge(&mut self, at: usize) -> Judgement {
        let given = self.given;
        let voice = &mut self.voices[at];
        let reads = voice.sampler.reads();
        if voice.judged.as_ref().is_none_or(|(of, _)| *of != reads) {
            let judgement = match &voice.family {
                Some(family) => verdict::infer_named(&voice.sampler.rows(), given, family),
                None => infer(&voice.sampler.rows(), Source::Measured, given),
            };
            voice.judged = Some((reads, judgement));
        }
        voice.judged.as_ref().map(|(_, judgement)| judgement.clone()).unwrap_or_default()
    }

    fn verdict(&mut self, at: usize) -> Verdict {
        let judgement = self.judge(at);
        judgement.findings.first().map_or(Verdict::Unknown, |finding| finding.verdict)
    }

    /// The findings of one voice; if it leaves pages undecided, those about pages come from the first voice.
    fn findings(&mut self, spoke: usize) -> Vec<Finding> {
        let mut findings = self.judge(spoke).findings;
        let (Some(block), first) = (findings.first().and_then(|finding| finding.value), 0) else {
            return findings;
        };
        if spoke != first
            && findings.iter().skip(1).any(|finding| finding.verdict == Verdict::Unknown)
        {
            let rows = self.voices[first].sampler.rows();
            let of_first = infer(&rows, Source::Measured, Some(block)).findings;
            findings.splice(1.., of_first.into_iter().skip(1));
        }
        findings
    }

    /// Takes an answer back that another voice contradicts.
    fn contradict(&mut self, spoke: usize, findings: &mut [Finding]) {
        let Some(value) = findings.first().and_then(|finding| finding.value) else { return };
        // Rows see the power of two in a size, and none below those of pages.
        let power = |bytes: u64| bytes.trailing_zeros().max(GROUP_LOG2_MAX);
        // If single boundaries have named the size, rows of another block size that step at a line of groups which are
        // read at once only repeat what the boundaries have shown.
        let named = self.voices[spoke].family.as_ref().filter(|family| family.decided().is_some());
        let line = named.map_or(0, |family| family.line);
        for at in (0..self.voices.len()).filter(|&at| at != spoke) {
            let judgement = self.judge(at);
            let Some(other) = judgement.findings.first() else { continue };
            let sure = judgement.erase_block.first().is_some_and(|best| {
                best.probability > 0.999 && best.step_ns > 6.0 * best.step_error_ns
            });
            let contradicts = |other: &u64| sure && power(*other) != power(value) && *other != line;
            let Some(different) = other.value.filter(contradicts) else {
                continue;
            };
            let reason = format!(
                "reads of {} bytes say {value} bytes, and reads of {} bytes say {different}",
                self.voices[spoke].sampler.block, self.voices[at].sampler.block
            );
            for finding in findings.iter_mut() {
                *finding = Finding::unknown(finding.name, reason.clone());
            }
            return;
        }
    }

    fn evidence(&mut self, at: usize) -> BlockEvidence {
        let judgement = self.judge(at);
        let sampler = &self.voices[at].sampler;
        BlockEvidence {
            block_bytes: Bytes(sampler.block),
            reads: sampler.reads() as u64,
            rows: sampler.rows(),
            judgement,
        }
    }
}

impl Voice {
    /// Asks `count` triples of each class.
    fn ask_all(&mut self, desk: &mut Desk<'_>, count: usize) -> Result<(), Halt> {
        let all: Vec<(usize, usize)> =
            (0..self.sampler.bins.len()).map(|bin| (bin, count)).collect();
        self.ask(desk, &all)
    }

    fn ask(&mut self, desk: &mut Desk<'_>, wanted: &[(usize, usize)]) -> Result<(), Halt> {
        let block = self.sampler.block;
        let rng = self.rng.get_or_insert_with(|| desk.rng(&[0x616c_6967, block]));
        for part in portions(wanted, SCRIPT, self.per_read) {
            let (before, reads) = (desk.now(), self.sampler.reads());
            self.sampler.ask(desk, rng, &part)?;
            let made = (self.sampler.reads() - reads).max(1) as u64;
            self.per_read = Nanos(((desk.now().0 - before.0) / made).max(1));
        }
        Ok(())
    }
}

/// A limit ends a part of the work and no more.
fn limited(result: Result<(), Halt>) -> Result<(), Halt> {
    match result {
        Err(halt) if !halt.is_limit() => Err(halt),
        _ => Ok(()),
    }
}

fn share(span: Nanos, share: f64) -> Nanos {
    Nanos((span.0 as f64 * share) as u64)
}

/// How much the likeliest erase block is ahead of none, as a logarithm.
fn odds(judgement: &Judgement) -> f64 {
    let Some(best) = judgement.erase_block.first() else { return f64::NEG_INFINITY };
    if !matches!(best.hypothesis, Hypothesis::Block(_)) {
        return f64::NEG_INFINITY;
    }
    let others = (1.0 - best.probability).max(1e-12);
    (best.probability / others).ln()
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
