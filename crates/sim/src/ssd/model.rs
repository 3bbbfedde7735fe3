//! A solid-state drive's model as its TOML file states it.

use serde::{Deserialize, Serialize};

use crate::field::Setting;
use crate::identity::{Identity, WriteCacheModel};

/// A model of a drive of flash chips. Every field is required unless it says otherwise; durations are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SsdModel {
    pub(super) schema: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) identity: Identity,
    pub(super) layout: LayoutModel,
    pub(super) nand: NandModel,
    /// Cells written with one bit before all of their bits; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) slc: Option<SlcModel>,
    pub(super) memory: MemoryModel,
    pub(super) link: LinkModel,
}

/// Sizes and mapping of the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LayoutModel {
    pub(super) capacity_bytes: u64,
    pub(super) logical_block_bytes: u64,
    pub(super) physical_block_bytes: u64,
    /// Unit of mapping.
    pub(super) map_bytes: u64,
    pub(super) mapping: MappingModel,
    /// (physical - logical) / logical, net of the blocks that are being written and those kept free. Zero in place.
    pub(super) over_provisioning: f64,
    /// Bytes of consecutive addresses on one die before the next die follows.
    pub(super) chunk_bytes: u64,
    pub(super) collection: CollectionModel,
    /// How many are drawn for `collection = "choices"`; of no meaning otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) choices: Option<u32>,
    pub(super) state: StateModel,
}

/// How addresses find their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MappingModel {
    /// Through a table, into a log.
    Page,
    /// Always in the same cells, which need no erasing.
    InPlace,
}

/// Rule for the full block to collect next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CollectionModel {
    Greedy,
    Fifo,
    Choices,
}

/// State of the drive when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StateModel {
    Fresh,
    Filled,
    Steady,
}

impl StateModel {
    pub(super) fn word(self) -> &'static str {
        match self {
            StateModel::Fresh => "fresh",
            StateModel::Filled => "filled",
            StateModel::Steady => "steady",
        }
    }
}

/// The chips and what they are connected with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NandModel {
    pub(super) channels: u32,
    pub(super) dies_per_channel: u32,
    /// Planes of a die, which read and program at once.
    pub(super) planes: u32,
    /// A page of one plane.
    pub(super) page_bytes: u64,
    /// Pages of a block of one plane.
    pub(super) pages_per_block: u32,
    pub(super) bits_per_cell: u32,
    /// By type of page, of which there are as many as a cell has bits; types follow each other in a block.
    pub(super) read_ns: Vec<u64>,
    /// By type of page.
    pub(super) program_ns: Vec<u64>,
    pub(super) erase_ns: u64,
    /// Half width of the spread of these times, in thousandths of them.
    pub(super) jitter_permille: u64,
    /// Reads and programs of a die that take `spike_ns` longer, in a million.
    pub(super) spikes_per_million: u64,
    pub(super) spike_ns: u64,
    pub(super) channel_bytes_per_s: u64,
    /// Data that the collection moves stays inside the die.
    pub(super) copyback: bool,
    /// Most reads of the host that overtake a waiting program; then it takes its turn.
    pub(super) reads_before_program: u32,
}

/// Part of the cells, written with one bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlcModel {
    pub(super) area: AreaModel,
    /// Data that fits, rounded up to whole blocks of each die.
    pub(super) bytes: u64,
    pub(super) read_ns: u64,
    pub(super) program_ns: u64,
    /// Rate of moving on to cells with all bits while the host is idle.
    pub(super) fold_bytes_per_s: u64,
    /// Moving on begins when the host has been idle for so long.
    pub(super) idle_before_fold_ns: u64,
    pub(super) when_full: WhenFullModel,
}

/// Source of the blocks of the single-bit part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AreaModel {
    /// They are set aside.
    Static,
    /// From those that are free.
    Dynamic,
}

/// Treatment of the host's writes when the single-bit part is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WhenFullModel {
    /// They go to cells with all bits.
    Direct,
    /// They wait until some of it was moved on.
    Fold,
}

/// Memory of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryModel {
    /// For what was written and is not programmed yet.
    pub(super) write_bytes: u64,
    pub(super) write_cache: WriteCacheModel,
    /// Data in memory survives a power loss: flush and force unit access cost nothing.
    pub(super) power_loss_protection: bool,
    /// A die keeps the page that it read last, until it does something else.
    pub(super) page_register: bool,
}

/// The way to the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkModel {
    pub(super) protocol: ProtocolModel,
    /// Of data, in each direction.
    pub(super) bytes_per_s: u64,
    /// The controller is busy with a command for so long.
    pub(super) command_ns: u64,
    /// Spread of it, added.
    pub(super) command_jitter_ns: u64,
    /// Before that, on the way, while others are under way as well.
    pub(super) latency_ns: u64,
    /// Commands that the drive holds at once.
    pub(super) queue_depth: u64,
}

/// Protocol of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProtocolModel {
    /// Both directions at once; every command is queued.
    Nvme,
    /// One direction at a time; flush and trim have the drive to themselves.
    Sata,
}

impl SsdModel {
    /// True when completed writes are durable.
    pub(super) fn is_durable_at_once(&self) -> bool {
        self.memory.power_loss_protection
            || self.memory.write_cache == WriteCacheModel::WriteThrough
    }

    pub(super) fn is_log(&self) -> bool {
        self.layout.mapping == MappingModel::Page
    }

    pub(super) fn state(&self, value: &str) -> Result<Setting, String> {
        if self.is_log() {
            Ok(("layout.state", toml::Value::String(value.to_owned())))
        } else {
            Err("a drive that writes in place has no initial state; leave it out".to_owned())
        }
    }
}
