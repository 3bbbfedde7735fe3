//! `replay`: the two tables of the source that `trace replay` and `trace compare` come from, made again on two virtual
//! drives (Yee and others, "Analysis on I/O Trace Replayer for SSD performance evaluation").
//!
//! The document replayed two workloads on two SSDs, timed and outstanding, and found that a light load is served in
//! the same time by both, that the sum of Q2C distinguishes the SSDs all the same, and that an outstanding replay of a
//! light load is another load. Its traces are not published whole, only in excerpts that know arrivals alone. So time is
//! stretched by one factor a trace, the same in both modes and on both drives, and what was outstanding comes from a
//! timed replay on drive A, on which the document recorded too.

pub(crate) mod drive;
mod table;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ::trace::InMemory;
use ::trace::import::{self, Format, ReadFlag};
use ::trace::replay::compare::{Suits, Tells, compare};
use ::trace::replay::{CompareBody, Count, Fit, Limit, Mode, Options as How, Scale, Score, Writes};
use anyhow::{Context as _, Result};
use clap::Args;

use crate::middle::Middle;
use crate::provenance::{self, Machine};
use crate::sheet;

/// Rounds: the fewest whose ratios have an interval of 95%.
const ROUNDS: u64 = 6;

/// The drives, A first, which also is the reference. Filled: a drive that was never written reads nothing.
const DRIVES: [&str; 2] = ["sata-a", "sata-b"];

/// Options of `replay`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Directory of tpcc-small.trace and wsrch-small.trace (MQSim's)
    #[arg(long, default_value = "../shared/cases/traces")]
    traces: PathBuf,
    /// Rounds, each with its own seed
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Output directory of the table [default: docs/validation; target/validate for trials of fewer rounds]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A workload, and what the document says of it.
pub(super) struct Workload {
    pub name: &'static str,
    file: &'static str,
    /// Factor by which times are multiplied.
    pub factor: f64,
    /// How addresses go to a drive of 120 GB.
    fit: Fit,
    /// Why this factor and these addresses.
    pub why: &'static str,
    /// The document's: by mode and drive, sum of Q2C and completion time, in seconds.
    pub document: [[(f64, f64); 2]; 2],
    /// The document's original, completion time in seconds.
    pub original_s: f64,
}

pub(super) const WORKLOADS: [Workload; 2] = [
    Workload {
        name: "WebSearch",
        file: "wsrch-small.trace",
        factor: 0.002,
        fit: Fit::Identity,
        why: "compressed until it is about six times what the drives can serve, as it was for the document's (128 s of \
              load took 711 s); its six address spaces, 80 GB, lie one behind the other",
        document: [
            [(158_118.0, 711.0), (155_705.0, 704.0)],
            [(160_181.0, 707.0), (152_211.0, 704.0)],
        ],
        original_s: 128.0,
    },
    Workload {
        name: "TPC-C",
        file: "tpcc-small.trace",
        factor: 30.0,
        fit: Fit::Hash { seed: 0 },
        why: "stretched until the drives are idle most of the time; its sixteen address spaces, 2.9 TB, are laid one \
              behind the other and hashed over the drive",
        document: [[(1029.0, 396.0), (1481.0, 396.0)], [(1259.0, 54.0), (1747.0, 146.0)]],
        original_s: 396.0,
    },
];

/// The two replayers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replayer {
    Timed,
    Outstanding,
}

impl Replayer {
    pub const ALL: [Replayer; 2] = [Replayer::Timed, Replayer::Outstanding];

    pub const fn word(self) -> &'static str {
        match self {
            Replayer::Timed => "timed",
            Replayer::Outstanding => "outstanding",
        }
    }
}

/// Results of a workload with one replayer.
pub(super) struct Outcome {
    pub workload: &'static Workload,
    pub replayer: Replayer,
    /// By drive, by round.
    pub scores: [Vec<Score>; 2],
    pub compared: CompareBody,
    /// The original's completion time, median of the rounds: for an outstanding replay the reference's.
    pub original_s: f64,
}

impl Outcome {
    /// The median of `of` on a drive.
    pub fn middle(&self, drive: usize, of: fn(&Score) -> f64) -> Result<f64> {
        let values: Vec<f64> = self.scores[drive].iter().map(of).collect();
        Ok(Middle::of(&values).context("no rounds")?.median)
    }
}

/// Makes the tables; false when one of the claims does not come out.
///
/// # Errors
/// When a trace cannot be read or replayed, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let dir = sheet::table_dir(options.out.as_deref(), options.rounds < ROUNDS)?;
    let (commit, mut outcomes) = (provenance::commit()?, Vec::new());
    let mut raw =
        "trace,factor,mode,drive,seed,requests,original_s,completion_s,q2c_sum_s,mean_depth,verdict\n".to_owned();
    for workload in &WORKLOADS {
        let source = load(&options.traces.join(workload.file))?;
        outcomes.extend(replayed(workload, &source, options.rounds, &mut raw)?);
    }
    let faults = faults(&outcomes)?;
    let path = dir.join("replay.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(
        &commit,
        &Machine::here(),
        "replay.csv",
        &[("Rounds", format!("{}, with seeds from 1", options.rounds))],
    );
    sheet::write(&dir.join("replay.md"), &table::text(&head, &outcomes, &faults)?)?;
    faults.iter().for_each(|fault| eprintln!("not as it should be: {fault}"));
    Ok(faults.is_empty())
}

fn load(path: &Path) -> Result<InMemory> {
    // MQSim writes 1 for a read (its source); the file itself does not say so.
    let how = import::Options {
        format: Some(Format::MqSim),
        read_flag: Some(ReadFlag::One),
        ..import::Options::default()
    };
    let mut source = import::open(&[path.to_owned()], &how)?;
    let mut ios = Vec::new();
    trace::each_batch(&mut *source, |batch, _| {
        ios.extend_from_slice(batch);
        Ok(())
    })?;
    Ok(InMemory::new(source.info().clone(), ios))
}

/// Both replayers on both drives, in rounds.
fn replayed(
    workload: &'static Workload,
    source: &InMemory,
    rounds: u64,
    raw: &mut String,
) -> Result<Vec<Outcome>> {
    let how = |mode| How { mode, fit: workload.fit, writes: Writes::Issue, ..How::default() };
    let timed = how(Mode::Scaled(Scale::by(workload.factor)));
    let outstanding = how(Mode::Outstanding(Count::Blocks));
    let spec = |drive: usize, seed: u64| format!("sim:{}?state=filled&seed={seed}", DRIVES[drive]);
    let (mut scores, mut originals) = ([[vec![], vec![]], [vec![], vec![]]], [vec![], vec![]]);
    for seed in 1..=rounds {
        let mut reference = Vec::new();
        for (replayer, how) in Replayer::ALL.into_iter().zip([&timed, &outstanding]) {
            for drive in 0..DRIVES.len() {
                eprintln!("{}, {}, {}, seed {seed}", workload.name, replayer.word(), DRIVES[drive]);
                let given = (replayer == Replayer::Outstanding).then(|| reference.clone());
                let done = drive::run(source, &spec(drive, seed), how, given)?;
                if replayer == Replayer::Timed && drive == 0 {
                    reference = done.reference;
                }
                let score = Score::of(&done.body).context("the trace is empty")?;
                let original_s = match replayer {
                    Replayer::Timed => done.body.original.completion_s * workload.factor,
                    Replayer::Outstanding => done.body.original.completion_s,
                };
                let _ = writeln!(
                    raw,
                    "{},{},{},{},{seed},{},{original_s},{},{},{},{}",
                    workload.name,
                    workload.factor,
                    replayer.word(),
                    DRIVES[drive],
                    score.requests,
                    score.completion_s,
                    score.q2c_sum_s,
                    score.mean_depth,
                    score.verdict.word()
                );
                scores[replayer as usize][drive].push(score);
                originals[replayer as usize].push(original_s);
            }
        }
    }
    let outcome = |replayer: Replayer| {
        let scores = std::mem::take(&mut scores[replayer as usize]);
        let original_s = Middle::of(&originals[replayer as usize]).context("no rounds")?.median;
        let (mode, schedule) = match replayer {
            Replayer::Timed => (timed.mode, Some(original_s)),
            Replayer::Outstanding => (outstanding.mode, None),
        };
        let compared = compare(DRIVES, &scores[0], &scores[1], mode, schedule);
        Ok(Outcome { workload, replayer, scores, compared, original_s })
    };
    Replayer::ALL.map(outcome).into_iter().collect()
}

/// Lists the claims of the document that do not hold.
fn faults(outcomes: &[Outcome]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut claim = |holds: bool, what: &str| {
        if !holds {
            faults.push(what.to_owned());
        }
    };
    let completion = |o: &Outcome, drive| o.middle(drive, |score| score.completion_s);
    let q2c = |o: &Outcome, drive| o.middle(drive, |score| score.q2c_sum_s);
    let [web_timed, web_outstanding, tpcc_timed, tpcc_outstanding] = outcomes else {
        anyhow::bail!("four outcomes were expected, and {} came", outcomes.len());
    };
    let apart = completion(tpcc_timed, 1)? / completion(tpcc_timed, 0)?;
    claim((apart - 1.0).abs() <= 0.005, "TPC-C timed: completion times are equal within 0.5%");
    let apart = q2c(tpcc_timed, 1)? / q2c(tpcc_timed, 0)?;
    claim(apart > 1.25, "TPC-C timed: the sum of Q2C is more than 25% greater on B");
    let said = &tpcc_timed.compared;
    let light = said.verdict == Suits::A && said.completion_tells == Tells::TooLight;
    claim(light, "TPC-C timed: A is named, and completion is said not to tell");
    let faithful = tpcc_timed.scores.iter().flatten().all(|score| score.verdict == Limit::Faithful);
    claim(faithful, "TPC-C timed: the replay is faithful");
    let parts =
        [0, 1].map(|drive| Ok(completion(tpcc_outstanding, drive)? / tpcc_outstanding.original_s));
    let [a, b]: [Result<f64>; 2] = parts;
    let (a, b) = (a?, b?);
    claim(
        a < 0.5 && b < 0.5,
        "TPC-C outstanding: completion is under half of the original's on both",
    );
    claim(b / a > 1.1, "TPC-C outstanding: completion times differ, with A ahead");
    for drive in 0..DRIVES.len() {
        let like = |a: f64, b: f64| (a / b - 1.0).abs() < 0.05;
        let alike = like(completion(web_timed, drive)?, completion(web_outstanding, drive)?)
            && like(q2c(web_timed, drive)?, q2c(web_outstanding, drive)?);
        claim(alike, "WebSearch: both replayers give the same within 5%");
        for outcome in [web_timed, web_outstanding] {
            let depth = outcome.middle(drive, |score| score.mean_depth)?;
            claim(depth > 100.0, "WebSearch: the mean depth is over 100");
        }
    }
    for outcome in [web_timed, web_outstanding] {
        let ahead = completion(outcome, 1)? < completion(outcome, 0)?
            && q2c(outcome, 1)? < q2c(outcome, 0)?;
        claim(
            ahead && outcome.compared.verdict == Suits::B,
            "WebSearch: B is ahead by both metrics, and is named",
        );
    }
    let limited =
        web_timed.scores.iter().flatten().all(|score| score.verdict == Limit::DriveLimited);
    claim(limited, "WebSearch timed: the drives are said to be the limit");
    Ok(faults)
}
