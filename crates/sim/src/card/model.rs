//! A card or stick as its TOML file states it.

use serde::{Deserialize, Serialize};

use crate::identity::Identity;

/// A model of a card or a stick. Every field is required unless it says otherwise; durations are
/// nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardModel {
    pub(super) schema: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) identity: Identity,
    pub(super) geometry: GeometryModel,
    pub(super) link: LinkModel,
    pub(super) cells: CellModel,
    pub(super) read: ReadModel,
    pub(super) write: WriteModel,
    /// Zone at the beginning that is kept in another way; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fat: Option<FatModel>,
    /// Log for small writes; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<LogModel>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GeometryModel {
    pub(super) capacity_bytes: u64,
    pub(super) logical_block_bytes: u64,
    /// The allocation unit: what is mapped, merged and erased as a whole.
    pub(super) erase_block_bytes: u64,
    pub(super) page_bytes: u64,
    /// Planes; the pages of all planes that are read or programmed at once are a group.
    pub(super) planes: u64,
    pub(super) state: InitialState,
}

/// Content of the medium when the drive is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InitialState {
    /// Nothing was ever written.
    Fresh,
    /// Everything was written once, in order.
    Filled,
}

impl InitialState {
    pub(super) fn word(self) -> &'static str {
        match self {
            InitialState::Fresh => "fresh",
            InitialState::Filled => "filled",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkModel {
    /// Commands that the card holds at once; it serves them one by one, in order.
    pub(super) queue_depth: u64,
    /// Rate of the link.
    pub(super) bytes_per_s: u64,
    /// True when data crosses the link while the cells are busy with other data of the same command.
    pub(super) pipelined: bool,
    /// Half width of the spread of each command's time.
    pub(super) jitter_ns: u64,
    /// Of a million commands, how many take much longer.
    pub(super) spike_ppm: u64,
    /// The most that such a command takes longer; half of it is the least.
    pub(super) spike_ns: u64,
    /// True when a discard makes whole allocation units empty; false when there is no discard.
    pub(super) discard: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CellModel {
    /// Levels of charge: 2 (SLC), 4 (MLC), 8 (TLC) or 16 (QLC).
    pub(super) levels: u8,
    /// Groups of one kind that follow each other, before those of the next kind.
    pub(super) run_groups: u64,
    /// Array read of a group, for each kind of page: one for each bit of a cell.
    pub(super) read_ns: Vec<u64>,
    /// Programming a group, likewise.
    pub(super) program_ns: Vec<u64>,
    /// Erasing an allocation unit.
    pub(super) erase_ns: u64,
    /// Additional time of reading from each plane; none when the list is empty.
    #[serde(default)]
    pub(super) plane_ns: Vec<u64>,
    /// Unit of error correction.
    pub(super) codeword_bytes: u64,
    /// Getting one codeword out of the page register and checking it.
    pub(super) codeword_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadModel {
    /// From a command to the first array read, the first allocation unit looked up.
    pub(super) command_ns: u64,
    /// Looking up each further allocation unit.
    pub(super) lookup_ns: u64,
    /// Starting each further array read of a command.
    pub(super) group_ns: u64,
    /// Each further page of a group.
    pub(super) page_ns: u64,
    /// Groups of one command, one after the other on the card, that are read at once.
    pub(super) parallel_groups: u64,
    /// Boundaries inside a page that cost time when a read crosses them; none when absent.
    #[serde(default)]
    pub(super) crossings: Vec<CrossingModel>,
    /// True when the group read last is kept and serves the next read.
    pub(super) page_buffer: bool,
    /// Groups read on after reads in sequence.
    pub(super) read_ahead_groups: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrossingModel {
    /// Distance of the boundaries.
    pub(super) bytes: u64,
    /// Time of crossing one.
    pub(super) ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteModel {
    /// From a command to the first byte; also the time of a discard.
    pub(super) command_ns: u64,
    /// Allocation units that may be open at once.
    pub(super) open_au_linear: u64,
    /// How many of them may have been written out of order. Zero: none, the logs take writes in order only.
    pub(super) open_au_random: u64,
    pub(super) merge: MergeModel,
    /// Closing an allocation unit that is not complete, beside what copying takes.
    pub(super) merge_ns: u64,
    /// True when planes are programmed together too after returning to an open allocation unit from
    /// another; false when they are programmed one after the other then.
    pub(super) multi_plane_on_return: bool,
}

/// Treatment of an allocation unit that is closed before it was written entirely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MergeModel {
    /// The groups that were not rewritten are copied.
    Copy,
    /// Nothing is copied; the map of the unit is put away.
    Switch,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FatModel {
    pub(super) bytes: u64,
    /// Looking up its map, for a read that touches it.
    pub(super) lookup_ns: u64,
    /// Array read of a group.
    pub(super) read_ns: u64,
    /// Programming a group.
    pub(super) program_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogModel {
    /// Writes up to this size go to the log.
    pub(super) write_bytes_max: u64,
    /// Capacity of the log.
    pub(super) bytes: u64,
    /// Programming a page of it.
    pub(super) program_ns: u64,
    /// Without commands for so long, the log is merged into its allocation units.
    pub(super) idle_ns: u64,
}

impl CardModel {
    /// Bytes of a group.
    pub(super) fn group_bytes(&self) -> u64 {
        self.geometry.page_bytes.saturating_mul(self.geometry.planes)
    }

    /// True when some boundary costs a read time, so that probing by reads can show something.
    pub(super) fn shows_boundaries(&self) -> bool {
        let r = &self.read;
        let costs = [r.lookup_ns, r.group_ns, r.page_ns, r.crossings.len() as u64];
        r.parallel_groups == 1 || costs.iter().any(|cost| *cost > 0)
    }
}
