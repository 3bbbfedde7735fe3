//! A virtual drive that is written and read in a closed loop.

use ::sim::VirtualTarget;
use anyhow::{Context as _, Result};
use block::{Endurance, Environment as _, Op, Target as _};
use serde_json::Value;

use super::oracles::addresses::Addresses;
use super::oracles::load::{Load, Series, issue};
use super::oracles::model::SsdParameters;

/// Size of the transfers of most parts, and of the drives' mapping.
pub(super) const UNIT: u64 = 4096;
/// "At depth": more than any of the drives takes to be busy with writes.
const DEPTH: u16 = 128;
/// Spans in which writes are counted: a tenth of a second.
pub(super) const SPANS_PER_S: f64 = 10.0;
const SPAN_NS: u64 = 100_000_000;

/// The drive.
pub(super) struct Drive {
    pub(super) target: VirtualTarget,
    pub(super) parameters: SsdParameters,
    pub(super) truth: Value,
    /// Writes of [`Drive::write`], from the drive's first instant on.
    pub(super) written: Series,
    addresses: Addresses,
}

/// Figures of a stretch of writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Bytes of the medium for each byte of the host, by the drive's own counters.
    pub(super) amplification: f64,
    pub(super) iops: f64,
}

impl Drive {
    pub(super) fn open(spec: &str) -> Result<Drive> {
        let shown = ::sim::show(spec)?;
        let target = ::sim::open(spec)?;
        Ok(Drive {
            written: Series::new(target.now(), SPAN_NS),
            target,
            parameters: SsdParameters(serde_json::to_value(shown.parameters)?),
            truth: serde_json::to_value(shown.truth)?,
            addresses: Addresses(1),
        })
    }

    /// Units that can be addressed.
    pub(super) fn units(&self) -> u64 {
        self.parameters.capacity() / UNIT
    }

    /// A number of what is true of the drive.
    pub(super) fn truth(&self, key: &str) -> Result<f64> {
        self.truth[key].as_f64().with_context(|| format!("the drive's truth has no {key}"))
    }

    /// The drive's own counts.
    fn endurance(&self) -> Result<Endurance> {
        let snapshot = self.target.environment().snapshot();
        snapshot.endurance.context("the drive does not tell what it wrote")
    }

    /// Writes `fills` of the drive to uniform random units.
    pub(super) fn write_random(&mut self, fills: f64) -> Result<Written> {
        let units = self.units();
        let mut addresses = self.addresses;
        let mut left = (units as f64 * fills) as u64;
        let written = self.write(|| {
            left = left.checked_sub(1)?;
            Some(addresses.below(units))
        })?;
        self.addresses = addresses;
        Ok(written)
    }

    /// Writes the units that `next` gives.
    pub(super) fn write(&mut self, mut next: impl FnMut() -> Option<u64>) -> Result<Written> {
        let (before, begun) = (self.endurance()?, self.target.now());
        let load = Load { op: Op::Write, block: UNIT, depth: DEPTH };
        let (mut count, series) = (0_u64, &mut self.written);
        let offset = || Some(next()? * UNIT);
        issue(&mut self.target, load, offset, |completion| {
            series.add(completion);
            count += 1;
        })?;
        let after = self.endurance()?;
        let host = after.host_write_bytes.0 - before.host_write_bytes.0;
        let media = after.media_write_bytes.0 - before.media_write_bytes.0;
        let span = self.target.now().since(begun).as_secs_f64();
        Ok(Written { amplification: media as f64 / host as f64, iops: count as f64 / span })
    }

    /// Reads random units at a depth; reads a second, without the first tenth.
    pub(super) fn read_random(&mut self, depth: u16, count: u64) -> Result<f64> {
        let (units, mut left) = (self.units(), count);
        let mut addresses = self.addresses;
        let next = || {
            left = left.checked_sub(1)?;
            Some(addresses.below(units) * UNIT)
        };
        let series = self.issue(Load { op: Op::Read, block: UNIT, depth }, SPAN_NS / 100, next)?;
        self.addresses = addresses;
        let rates = series.rates();
        Ok(mean(&rates[rates.len() / 10..]))
    }

    /// Issues a load; completions by spans of `span_ns`.
    pub(super) fn issue(
        &mut self,
        load: Load,
        span_ns: u64,
        next: impl FnMut() -> Option<u64>,
    ) -> Result<Series> {
        let mut series = Series::new(self.target.now(), span_ns);
        issue(&mut self.target, load, next, |completion| series.add(completion))?;
        Ok(series)
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
