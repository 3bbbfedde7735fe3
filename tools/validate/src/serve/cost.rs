//! Overhead of FUSE: random reads of 4 KiB, one at a time, on a served drive and in virtual time.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::server::Server;
use crate::binary::{Binary, number};
use crate::fio;
use crate::middle::Middle;

/// How far fio on the served drive may lie from our mark in virtual time.
pub const WITHIN: f64 = 0.25;

/// Least latency to which the limit applies: below it, the time that FUSE adds is a large part.
pub const LATENCY_MIN_NS: f64 = 1e6;

/// A model and the part of it that is read.
#[derive(Debug)]
pub struct Case {
    pub model: &'static str,
    pub span: &'static str,
}

/// All of them: far above the least latency, just above it, and below it.
pub const CASES: [Case; 3] = [
    Case { model: "hdd-7200", span: "1GiB" },
    Case { model: "sdcard-4m", span: "256MiB" },
    Case { model: "usb-8m", span: "1GiB" },
];

/// One round on one model.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Mean latency that fio saw.
    pub fio_ns: f64,
    /// Mean latency that our mark saw on the served file.
    pub mark_ns: f64,
}

/// All rounds on one model.
#[derive(Debug)]
pub struct Cost {
    pub case: &'static Case,
    /// Mean latency that our mark sees in virtual time.
    pub virtual_ns: f64,
    pub rounds: Vec<Round>,
    /// Lateness that the server reports, over all rounds: p50, p99 and greatest.
    pub late_ns: [f64; 3],
}

impl Cost {
    /// fio's rate of reads as a share of the mark's in virtual time: at depth 1, the inverse of latency.
    pub fn fio_share(&self) -> Option<Middle> {
        let shares: Vec<f64> = self.rounds.iter().map(|r| self.virtual_ns / r.fio_ns).collect();
        Middle::of(&shares)
    }

    /// Nanoseconds that a read takes longer than in virtual time.
    pub fn added_ns(&self, seen: impl Fn(&Round) -> f64) -> Option<Middle> {
        let added: Vec<f64> = self.rounds.iter().map(|r| seen(r) - self.virtual_ns).collect();
        Middle::of(&added)
    }

    /// True when this model is one that fio has to agree on.
    pub fn is_bound(&self) -> bool {
        self.virtual_ns >= LATENCY_MIN_NS
    }

    /// True when fio agrees, or need not.
    pub fn is_right(&self) -> bool {
        let share = self.fio_share().map_or(f64::NAN, |share| share.median);
        !self.is_bound() || (share - 1.0).abs() <= WITHIN
    }
}

/// Measures in virtual time once, which is always the same, and on the served drive in rounds.
///
/// # Errors
/// When a program is missing or fails.
pub fn measure(
    case: &'static Case,
    rounds: u32,
    binary: &Binary,
    stop: &AtomicBool,
) -> Result<Cost> {
    eprintln!("RND4K Q1 on {}: in virtual time, and {rounds} rounds served", case.model);
    let spec = format!("sim:{}", case.model);
    let body = binary.body(&mark(&spec, "--size", case.span, "30s"))?;
    let virtual_ns = mean(&body)?;
    let server = Server::start(binary, case.model)?;
    let file = server.file().to_string_lossy().into_owned();
    let mut made = Vec::new();
    for round in 0..rounds {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        // Each goes first in every other round.
        let fio = || fio::run(&fio_arguments(server.file(), case.span)).map(|job| job.latency_ns);
        let ours = || mean(&binary.body(&mark(&file, "--span", case.span, "3s"))?);
        let (fio_ns, mark_ns) = if round % 2 == 0 {
            let first = fio()?;
            (first, ours()?)
        } else {
            let first = ours()?;
            (fio()?, first)
        };
        made.push(Round { fio_ns, mark_ns });
    }
    let end = server.stop()?;
    let late = |name: &str| number(&end, &format!("/late_{name}_ns"));
    let late_ns = [late("p50")?, late("p99")?, late("max")?];
    Ok(Cost { case, virtual_ns, rounds: made, late_ns })
}

fn mark(target: &str, part: &str, span: &str, duration: &str) -> Vec<String> {
    let fixed = ["--tests", "RND4KQ1T1", "--read-only", "--runs", "1", "--seed", "7"];
    let chosen = [part, span, "--duration", duration, "--warm-up", "500ms"];
    ["mark", target].iter().chain(&fixed).chain(&chosen).map(|word| (*word).to_owned()).collect()
}

fn mean(body: &Value) -> Result<f64> {
    number(body, "/tests/0/runs/0/latency_ns/mean")
}

fn fio_arguments(file: &Path, span: &str) -> Vec<String> {
    let fixed = ["--name=round", "--rw=randread", "--bs=4096", "--direct=1", "--iodepth=1"];
    let more = ["--ioengine=io_uring", "--time_based", "--runtime=3s", "--ramp_time=500ms"];
    let mut arguments: Vec<String> =
        fixed.iter().chain(&more).map(|word| (*word).to_owned()).collect();
    arguments.push(format!("--filename={}", file.display()));
    arguments.push(format!("--size={span}"));
    // A block may come again, as in our mark; without, fio would go through the whole span once.
    arguments
        .extend(["--norandommap", "--randrepeat=0", "--output-format=json"].map(str::to_owned));
    arguments
}

/// Every round.
pub fn csv(costs: &[Cost]) -> String {
    let mut text = "model,round,virtual_ns,fio_ns,mark_ns\n".to_owned();
    for cost in costs {
        for (number, Round { fio_ns, mark_ns }) in cost.rounds.iter().enumerate() {
            let Cost { case, virtual_ns, .. } = cost;
            let _ =
                writeln!(text, "{},{number},{virtual_ns:.0},{fio_ns:.0},{mark_ns:.0}", case.model);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(virtual_ns: f64, fio_ns: f64) -> Cost {
        let rounds = vec![Round { fio_ns, mark_ns: fio_ns }; 6];
        Cost { case: &CASES[0], virtual_ns, rounds, late_ns: [0.0; 3] }
    }

    // Breaks when a drive that is served at half its speed passes, or a fast one is held to a bound that
    // FUSE cannot keep.
    #[test]
    fn a_served_drive_is_as_fast_as_the_model_from_a_millisecond_on() {
        assert!(cost(2e6, 2.2e6).is_right());
        assert!(!cost(2e6, 4e6).is_right());
        assert!(!cost(2e6, 1e6).is_right());
        assert!(cost(1e4, 1e5).is_right());
        let added = cost(2e6, 2.2e6).added_ns(|round| round.fio_ns).unwrap();
        assert!((added.median - 2e5).abs() < 1.0);
    }
}
