//! A stretch of I/O as a test asks for it.

use block::{Bytes, Op};
use workload::address::BlockShare;
use workload::plan::{Address, Arrival, Gaps, OpShare, Phase, Step, Stop};

use crate::window::Role;

/// A stretch that a test asks for.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Its purpose.
    pub role: Role,
    /// Its round.
    pub round: Option<u32>,
    /// Submitters.
    pub threads: u16,
    /// Requests outstanding per submitter.
    pub depth: u16,
    /// Size of the transfers, the largest in a mix.
    pub block: Bytes,
    /// Sizes by share.
    pub blocks: Vec<BlockShare>,
    /// Share of reads, in percent.
    pub read_percent: u8,
    /// Its addresses.
    pub address: Address,
    /// How long.
    pub stop: Stop,
    /// Requests a second, of all submitters together, at times that do not wait for completions; none for one after the
    /// other.
    pub arrivals_per_s: Option<f64>,
}

impl Ask {
    /// Its load in words: `RND 4KiB 65/35`, reads first.
    pub fn load(&self) -> String {
        let pattern = if self.address.is_random() { "RND" } else { "SEQ" };
        let size = match self.blocks.is_empty() {
            true => self.block.to_string(),
            false => "composite".to_owned(),
        };
        let (reads, writes) = (self.read_percent, 100 - self.read_percent);
        let load = format!("{pattern} {size} {reads}/{writes}");
        match self.arrivals_per_s {
            Some(rate) => format!("{load}, {rate:.0} arrivals a second"),
            None => load,
        }
    }

    /// A request of each submitter.
    pub(crate) fn least(&self) -> Bytes {
        Bytes(self.block.0 * u64::from(self.threads))
    }

    /// The step that issues it.
    pub(crate) fn step(&self) -> Step {
        let share = |op, percent| OpShare { op, fua: false, percent };
        let mut ops = Vec::new();
        if self.read_percent > 0 {
            ops.push(share(Op::Read, self.read_percent));
        }
        if self.read_percent < 100 {
            ops.push(share(Op::Write, 100 - self.read_percent));
        }
        let arrival = match self.arrivals_per_s {
            Some(rate) => Arrival::Timed {
                depth: self.depth,
                per_s: rate / f64::from(self.threads.max(1)),
                gaps: Gaps::Exponential,
            },
            None => Arrival::ClosedLoop { depth: self.depth },
        };
        let phase = Phase {
            name: self.load(),
            measured: true,
            block: self.block,
            blocks: self.blocks.clone(),
            address: self.address,
            stop: self.stop,
            arrival,
            ops,
            region: None,
        };
        Step {
            name: self.load(),
            submitters: self.threads,
            order: None,
            engine: None,
            phases: vec![phase],
        }
    }
}
