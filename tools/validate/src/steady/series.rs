//! One drive's life under random writes, in spans so fine that every rule's rounds can be made of them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ::sim::VirtualTarget;
use anyhow::{Context as _, Result};
use block::{Environment as _, Op, Target as _};
use serde_json::Value;

use crate::sim::oracles::addresses::{Addresses, Permutation};
use crate::sim::oracles::load::{Load, issue};

/// Size of the writes, and of the drives' mapping.
const UNIT: u64 = 4096;
/// More than any of the drives takes to be busy with writes.
const DEPTH: u16 = 64;
/// Capacity of every drive: what is inferred hangs on ratios, and a fill takes a fraction of a second.
const CAPACITY: u64 = 1 << 30;
/// Spans of a fill.
pub(super) const SPANS_PER_FILL: usize = 200;
/// Fewest blocks of a die, so that one more or less is not a drive of its own.
const BLOCKS_MIN: u64 = 40;

/// Order of the addresses that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load4k {
    /// Each drawn independently.
    Uniform,
    /// All of them once in each pass, each pass in an order of its own.
    Passes,
}

/// Preparation of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Purge,
    SequentialFill,
}

/// A drive that is to be written, all of it a function of the seed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) before: Before,
    pub(super) load: Load4k,
    /// Planted: each fill takes longer than the one before by this exponent. Zero for most.
    pub(super) slowing_per_fill: f64,
    /// Fills of a round of the rules that have rounds.
    pub(super) round_fills: f64,
}

impl Case {
    /// Half of the drives begin purged; one in eight is written in passes, and one in eight becomes slower without
    /// end, by 8 to 25% a fill. Rounds are 0.02 to 1 fill long, on a logarithmic scale.
    pub(super) fn of(seed: u64) -> Case {
        let mut draw = Addresses(seed ^ 0x7374_6561_6479);
        let before = if draw.below(2) == 0 { Before::Purge } else { Before::SequentialFill };
        let kind = draw.below(8);
        let load = if kind == 0 { Load4k::Passes } else { Load4k::Uniform };
        let slowing = (8 + draw.below(18)) as f64 / 100.0;
        let place = draw.below(1_001) as f64 / 1_000.0;
        Case {
            seed,
            before,
            load,
            slowing_per_fill: if kind == 1 { slowing } else { 0.0 },
            round_fills: 0.02 * 50.0_f64.powf(place),
        }
    }

    /// The drive's text: drawn from the seed, but of this capacity, with over-provisioning of 5 to 40%, with as many
    /// dies as leave each of them its blocks, and a single-bit cache of the share of the capacity that was drawn.
    fn spec(&self) -> Result<String> {
        let drawn = format!("sim:random-ssd?seed={}", self.seed);
        let shown = serde_json::to_value(::sim::show(&drawn)?.parameters)?;
        let number = |pointer: &str| {
            shown.pointer(pointer).and_then(Value::as_u64).with_context(|| format!("no {pointer}"))
        };
        let block = number("/nand/page_bytes")?
            * number("/nand/planes")?
            * number("/nand/pages_per_block")?;
        let most = (CAPACITY / (BLOCKS_MIN * block)).max(1);
        let channels = number("/nand/channels")?.min(power_of_two_below(most));
        let dies = number("/nand/dies_per_channel")?.min(power_of_two_below(most / channels));
        let op = 50 + Addresses(self.seed ^ 0x6f70).below(351);
        let state = match self.before {
            Before::Purge => "fresh",
            Before::SequentialFill => "filled",
        };
        let mut spec = format!(
            "{drawn}&capacity=1GiB&state={state}&layout.over_provisioning={}&nand.channels={channels}\
             &nand.dies_per_channel={dies}",
            op as f64 / 1000.0
        );
        if shown.pointer("/slc/bytes").is_some() {
            let bytes = number("/slc/bytes")? as f64 / number("/layout/capacity_bytes")? as f64;
            let _ = write!(spec, "&slc.bytes={}", (bytes * CAPACITY as f64) as u64);
        }
        Ok(spec)
    }

    /// Writes the drive `fills` times.
    ///
    /// # Errors
    /// When the drive cannot be opened.
    fn simulate(&self, fills: usize) -> Result<Series> {
        let spec = self.spec()?;
        let truth = serde_json::to_value(::sim::show(&spec)?.truth)?;
        let mut target = ::sim::open(&spec)?;
        let over_provisioning = truth["over_provisioning"].as_f64().context("no truth")?;
        let spans = self.write(&mut target, fills)?;
        Ok(Series { over_provisioning, spans })
    }

    fn write(&self, target: &mut VirtualTarget, fills: usize) -> Result<Vec<Span>> {
        let units = target.info().capacity_bytes.0 / UNIT;
        let mut addresses = Addresses(self.seed);
        let mut order = Permutation::new(units, self.seed);
        let (mut issued, all) = (0, units * fills as u64);
        let next = || {
            if issued == all {
                return None;
            }
            let (pass, place) = (issued / units, issued % units);
            issued += 1;
            if self.load == Load4k::Uniform {
                return Some(addresses.below(units) * UNIT);
            }
            if place == 0 {
                order = Permutation::new(units, self.seed.wrapping_add(pass << 32));
            }
            Some(order.at(place) * UNIT)
        };
        let mut environment = target.environment();
        let (mut spans, mut done, mut begun) = (Vec::new(), 0, target.now());
        let mut media_before = 0;
        let load = Load { op: Op::Write, block: UNIT, depth: DEPTH };
        issue(target, load, next, |completion| {
            done += 1;
            let ended = units * (spans.len() as u64 + 1) / SPANS_PER_FILL as u64;
            if done < ended {
                return;
            }
            let bytes = (ended - units * spans.len() as u64 / SPANS_PER_FILL as u64) * UNIT;
            let media = environment.snapshot().endurance.map_or(0, |e| e.media_write_bytes.0);
            let duration_ns = completion.completed.since(begun).0;
            spans.push(Span { bytes, duration_ns, media_bytes: media - media_before });
            (begun, media_before) = (completion.completed, media);
        })?;
        Ok(spans)
    }

    /// As [`Case::simulate`], from the file that an earlier run kept in `dir`, or kept there now.
    ///
    /// # Errors
    /// As there, or when the file cannot be written.
    fn kept(&self, fills: usize, dir: Option<&Path>) -> Result<Series> {
        let Some(dir) = dir else { return self.simulate(fills) };
        let path = dir.join(format!("{}-{fills}.csv", self.seed));
        if let Ok(text) = fs::read_to_string(&path) {
            return Series::read(&text).with_context(|| path.display().to_string());
        }
        let series = self.simulate(fills)?;
        fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        fs::write(&path, series.text()).with_context(|| path.display().to_string())?;
        Ok(series)
    }

    /// As [`Case::kept`], with what is planted.
    ///
    /// # Errors
    /// As there.
    pub(super) fn life(&self, fills: usize, dir: Option<&Path>) -> Result<Series> {
        let mut series = self.kept(fills, dir)?;
        for (at, span) in series.spans.iter_mut().enumerate() {
            let slower = (self.slowing_per_fill * at as f64 / SPANS_PER_FILL as f64).exp();
            span.duration_ns = (span.duration_ns as f64 * slower) as u64;
        }
        Ok(series)
    }
}

fn power_of_two_below(most: u64) -> u64 {
    1 << most.max(1).ilog2()
}

/// A two-hundredth of a fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) bytes: u64,
    pub(super) duration_ns: u64,
    /// Bytes written to the medium, as the drive reports them.
    pub(super) media_bytes: u64,
}

/// A life.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    pub(super) over_provisioning: f64,
    pub(super) spans: Vec<Span>,
}

impl Series {
    /// Bytes a second of spans `from` to `to`.
    pub(super) fn rate(&self, from: usize, to: usize) -> f64 {
        let spans = self.spans.get(from..to).unwrap_or(&[]);
        let bytes: u64 = spans.iter().map(|span| span.bytes).sum();
        let duration_ns: u64 = spans.iter().map(|span| span.duration_ns).sum();
        bytes as f64 * 1e9 / duration_ns as f64
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.over_provisioning);
        for Span { bytes, duration_ns, media_bytes } in &self.spans {
            let _ = writeln!(text, "{bytes},{duration_ns},{media_bytes}");
        }
        text
    }

    fn read(text: &str) -> Result<Series> {
        let mut lines = text.lines();
        let over_provisioning = lines.next().context("empty")?.parse()?;
        let span = |line: &str| {
            let mut numbers = line.split(',').map(str::parse);
            let mut next = || anyhow::Ok(numbers.next().context("a line is too short")??);
            Ok(Span { bytes: next()?, duration_ns: next()?, media_bytes: next()? })
        };
        Ok(Series { over_provisioning, spans: lines.map(span).collect::<Result<_>>()? })
    }
}
