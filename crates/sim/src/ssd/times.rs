//! How long things take.

use block::Nanos;

use super::die::Page;
use super::model::{ProtocolModel, SsdModel, WhenFullModel};
use crate::identity::WriteCacheModel;
use crate::noise::Noise;

/// The figures of a model that the running drive needs.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    /// By bit of a cell; the last is that of cells with one bit.
    read: [u64; 5],
    program: [u64; 5],
    erase: u64,
    jitter_permille: u64,
    spikes_per_million: u64,
    spike: u64,
    channel_bytes_per_s: u64,
    link_bytes_per_s: u64,
    pub(super) copyback: bool,
    pub(super) reads_before_program: u32,
    pub(super) page_register: bool,
    pub(super) write_units: u64,
    /// A write is complete when memory has it.
    pub(super) write_back: bool,
    /// Data in memory is durable.
    pub(super) protected: bool,
    pub(super) command: u64,
    pub(super) command_jitter: u64,
    pub(super) latency: Nanos,
    pub(super) queue_depth: u32,
    /// Flush and trim have the drive to themselves, and the link carries one direction at a time.
    pub(super) sata: bool,
    pub(super) folding: Option<Folding>,
}

/// Figures for moving data out of the single-bit part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folding {
    pub(super) bytes_per_s: u64,
    pub(super) idle: Nanos,
    pub(super) writes_wait: bool,
}

/// Place of [`Page::Single`] among the times.
const SINGLE: usize = 4;

impl Figures {
    pub(super) fn of(model: &SsdModel) -> Figures {
        let (nand, memory, link) = (&model.nand, &model.memory, &model.link);
        let slc = model.slc.as_ref();
        let times = |by_bit: &[u64], single: Option<u64>| {
            let mut times = [0; SINGLE + 1];
            times[..by_bit.len()].copy_from_slice(by_bit);
            times[SINGLE] = single.unwrap_or(0);
            times
        };
        Figures {
            read: times(&nand.read_ns, slc.map(|s| s.read_ns)),
            program: times(&nand.program_ns, slc.map(|s| s.program_ns)),
            erase: nand.erase_ns,
            jitter_permille: nand.jitter_permille,
            spikes_per_million: nand.spikes_per_million,
            spike: nand.spike_ns,
            channel_bytes_per_s: nand.channel_bytes_per_s,
            link_bytes_per_s: link.bytes_per_s,
            copyback: nand.copyback,
            reads_before_program: nand.reads_before_program,
            page_register: memory.page_register,
            write_units: memory.write_bytes / model.layout.map_bytes,
            write_back: memory.write_cache == WriteCacheModel::WriteBack,
            protected: memory.power_loss_protection,
            command: link.command_ns,
            command_jitter: link.command_jitter_ns,
            latency: Nanos(link.latency_ns),
            queue_depth: u32::try_from(link.queue_depth).unwrap_or(u32::MAX),
            sata: link.protocol == ProtocolModel::Sata,
            folding: slc.map(|s| Folding {
                bytes_per_s: s.fold_bytes_per_s,
                idle: Nanos(s.idle_before_fold_ns),
                writes_wait: s.when_full == WhenFullModel::Fold,
            }),
        }
    }

    pub(super) fn read(&self, page: Page, noise: &mut Noise) -> Nanos {
        self.spread(self.read[index(page)], noise)
    }

    pub(super) fn program(&self, page: Page, noise: &mut Noise) -> Nanos {
        self.spread(self.program[index(page)], noise)
    }

    pub(super) fn erase(&self, noise: &mut Noise) -> Nanos {
        self.spread(self.erase, noise)
    }

    /// A time with its jitter, and now and then much more.
    fn spread(&self, mean: u64, noise: &mut Noise) -> Nanos {
        let mut span = mean;
        if self.jitter_permille > 0 {
            span = span.saturating_add_signed(noise.bell(mean * self.jitter_permille / 1000));
        }
        if self.spikes_per_million > 0 && noise.below(1_000_000) < self.spikes_per_million {
            span += self.spike;
        }
        Nanos(span)
    }

    /// Time of a command in the controller.
    pub(super) fn command(&self, noise: &mut Noise) -> Nanos {
        match self.command_jitter {
            0 => Nanos(self.command),
            jitter => Nanos(self.command + noise.below(jitter + 1)),
        }
    }

    /// Time that `bytes` take on a channel.
    #[inline]
    pub(super) fn on_channel(&self, bytes: u64) -> Nanos {
        Nanos(bytes * 1_000_000_000 / self.channel_bytes_per_s)
    }

    /// Time that `bytes` take on the link.
    #[inline]
    pub(super) fn on_link(&self, bytes: u64) -> Nanos {
        Nanos(bytes * 1_000_000_000 / self.link_bytes_per_s)
    }
}

fn index(page: Page) -> usize {
    match page {
        Page::Bit(bit) => usize::from(bit),
        Page::Single => SINGLE,
    }
}
