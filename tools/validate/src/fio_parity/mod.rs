//! `fio-parity`: drivescope beside fio on one direct-I/O loop device, with the same engine and settings.
//!
//! The rounds of all cases are interleaved, so that whatever the machine does in the course of an
//! hour touches all of them alike. A round of a case holds each [`Arm`] once; every second round runs
//! its arms backwards ([`order::abba`]). The two programs are compared within rounds only, and fio is
//! compared with itself the same way, as the yardstick: no comparison of two programs can be finer
//! than that of one with itself.

mod case;
mod round;
mod table;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use clap::Args;
use stats::{Proof, Verdict};

use crate::binary::{Binary, number};
use crate::loop_device::{self, LoopDevice};
use crate::provenance::{self, Machine};
use crate::stop::stop_flag;
use crate::{fio, order, sheet};
use case::{Arm, Case};
use round::{Journal, Row, Setup};

/// Rounds that the table promises at least.
const ROUNDS_MIN: u32 = 15;
/// Size of the device: what `mark` takes by default.
const SIZE: Bytes = Bytes::gib(1);

/// Options of `fio-parity`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rounds of each case; an even count closes the last ABBA
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Load before them, in milliseconds
    #[arg(long, default_value_t = 500)]
    ramp_ms: u32,
    /// Only cases whose name contains one of these, such as RND4K-Q1 or SEQ1M-Q8-libaio
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Go on with the rounds that an earlier, interrupted run left
    #[arg(long)]
    resume: bool,
    /// Seed of the orders [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for trials: under 15 rounds
    /// or with --only]
    #[arg(long)]
    out: Option<std::path::PathBuf>,
}

/// Runs the rounds and writes the table; false when some case differs.
///
/// # Errors
/// When something is missing or fails.
pub fn run(options: &Options) -> Result<bool> {
    let cases = chosen(&options.only)?;
    let trial = options.rounds < ROUNDS_MIN || !options.only.is_empty();
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let path = dir.join("fio-parity.csv");
    let setup = Setup {
        seed: options.seed.unwrap_or_else(provenance::fresh_seed),
        seconds: options.seconds,
        ramp_ms: options.ramp_ms,
        size_bytes: SIZE.0,
        fio: fio::version()?,
        commit: provenance::commit()?,
        machine: Machine::here(),
    };
    let mut journal = if options.resume {
        Journal::resume(&path, setup, options.seed.is_some())?
    } else {
        Journal::create(&path, setup)?
    };
    let load = provenance::load();
    let stop = stop_flag()?;
    measure(options.rounds, &cases, &mut journal, &stop)?;
    let findings = table::findings(&cases, &journal.rows);
    let text = table::text(&findings, &journal, &load);
    sheet::write(&dir.join("fio-parity.md"), &text)?;
    Ok(!findings.iter().any(table::Finding::differs))
}

/// The cases that `only` leaves; dashes in it match the spaces in names.
fn chosen(only: &[String]) -> Result<Vec<Case>> {
    let fits = |case: &Case| {
        let name = case.slug();
        only.is_empty()
            || only.iter().any(|o| format!("{name}-").contains(&format!("{}-", o.trim())))
    };
    let cases: Vec<Case> = Case::all().into_iter().filter(fits).collect();
    if cases.is_empty() {
        let all: Vec<String> = Case::all().iter().map(Case::slug).collect();
        bail!("--only {} leaves no case of: {}", only.join(","), all.join(", "));
    }
    Ok(cases)
}

/// Makes the rounds that the journal lacks.
fn measure(rounds: u32, cases: &[Case], journal: &mut Journal, stop: &AtomicBool) -> Result<()> {
    let missing = |journal: &Journal, round| {
        let mut cases: Vec<Case> =
            cases.iter().filter(|case| !journal.has(case, round)).copied().collect();
        order::shuffle(&mut cases, &[journal.setup.seed, u64::from(round)]);
        cases
    };
    let total: usize = (0..rounds).map(|round| missing(journal, round).len()).sum();
    if total == 0 {
        return Ok(());
    }
    let binary = Binary::find()?;
    let backing = sheet::work_dir()?.join("loop.img");
    loop_device::prepare(&backing, SIZE, stop)?;
    let device = LoopDevice::attach(&backing)?;
    let mut done = 0;
    for round in 0..rounds {
        for case in missing(journal, round) {
            let rows = one_round(&case, round, journal, &device, &binary, stop)?;
            done += 1;
            let rates: Vec<String> =
                rows.iter().map(|r| format!("{} {:.1}", r.arm, r.mb_s())).collect();
            eprintln!(
                "[{done}/{total}] round {}, {}: {} MB/s",
                round + 1,
                case.slug(),
                rates.join(", ")
            );
            journal.append(rows)?;
        }
    }
    Ok(())
}

/// One round of one case: each arm once.
fn one_round(
    case: &Case,
    round: u32,
    journal: &Journal,
    device: &LoopDevice,
    binary: &Binary,
    stop: &AtomicBool,
) -> Result<Vec<Row>> {
    let setup = &journal.setup;
    let arms = order::abba(case.arms(), &case.slug(), setup.seed, round);
    let mut rows = Vec::with_capacity(arms.len());
    for (position, arm) in arms.into_iter().enumerate() {
        let before = device.counters()?;
        let ran = match arm {
            Arm::Drivescope => drivescope(case, setup, device.path(), binary),
            Arm::Fio | Arm::FioAgain => beside(case, setup, device.path(), true),
            Arm::FioDefaults => beside(case, setup, device.path(), false),
        };
        if stop.load(Ordering::Relaxed) {
            bail!("stopped; --resume goes on with the round that was cut short");
        }
        let mut figures = ran.with_context(|| format!("{} of {}", arm, case.slug()))?;
        let after = device.counters()?;
        figures.request_bytes =
            (after.read_bytes - before.read_bytes) as f64 / (after.reads - before.reads) as f64;
        rows.push(Row { case: *case, round, position: position as u32, arm, figures });
    }
    Ok(rows)
}

/// Figures of one run of one program.
#[derive(Clone, Debug, PartialEq)]
struct Figures {
    /// Bytes read in the measured window.
    bytes: u64,
    /// Its length.
    duration_ns: u64,
    /// I/Os completed in it.
    ios: u64,
    /// Mean time from submission to completion.
    latency_ns: f64,
    /// CPU time of the program, user and kernel, per I/O.
    cpu_ns_per_io: f64,
    /// Mean size of the requests that the kernel made of them, on the loop device; filled in by the round,
    /// since neither program reports it.
    request_bytes: f64,
}

/// One run of drivescope.
fn drivescope(case: &Case, setup: &Setup, device: &Path, binary: &Binary) -> Result<Figures> {
    let body = binary.body(&case.drivescope_arguments(setup, device))?;
    let reached =
        body.pointer("/tests/0/proofs/reached").context("no proof that it was reached")?;
    let reached: Proof = serde_json::from_value(reached.clone())?;
    if reached.verdict == Verdict::Refuted {
        bail!("the device was not reached: {}", reached.reason);
    }
    let run = body.pointer("/tests/0/runs/0").context("no run was made")?;
    Ok(Figures {
        bytes: number(run, "/bytes")? as u64,
        duration_ns: number(run, "/duration_ns")? as u64,
        ios: number(run, "/ios")? as u64,
        latency_ns: number(run, "/clat_ns")?,
        cpu_ns_per_io: number(&body, "/tests/0/proofs/unhindered/evidence/cpu_ns_per_io")?,
        request_bytes: 0.0,
    })
}

/// One run of fio, with the settings that match drivescope's, or as it comes.
fn beside(case: &Case, setup: &Setup, device: &Path, matching: bool) -> Result<Figures> {
    let mut arguments = case.fio_arguments(setup, device);
    if matching {
        arguments.extend(case.fio_matching());
    }
    let job = fio::run(&arguments)?;
    Ok(Figures {
        bytes: job.bytes,
        duration_ns: job.duration_ns,
        ios: job.ios,
        latency_ns: job.latency_ns,
        cpu_ns_per_io: (job.user_ns + job.system_ns) / job.ios as f64,
        request_bytes: 0.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // `--only RND4K-Q1` must not also take hours for Q16 or leave out an engine.
    #[test]
    fn only_takes_whole_words_of_a_case_name() {
        let names = |only: &[&str]| -> Vec<String> {
            let only: Vec<String> = only.iter().map(|s| (*s).to_owned()).collect();
            chosen(&only).unwrap().iter().map(Case::slug).collect()
        };
        assert_eq!(
            names(&["RND4K-Q1"]),
            ["RND4K-Q1-io_uring", "RND4K-Q1-libaio", "RND4K-Q1-psync"]
        );
        assert_eq!(names(&["SEQ1M-Q8-libaio", "psync"]).len(), 3);
        assert_eq!(names(&[]).len(), Case::all().len());
        assert!(chosen(&["RND4K-Q3".to_owned()]).is_err());
    }
}
