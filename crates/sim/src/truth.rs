//! Truth about virtual drives, hidden from hosts.

use block::Bytes;
use serde::Serialize;

use crate::around::{Aftermath, Faults, Heat, HeatTruth, HostLimits, Neighbour};

/// Truth about a virtual drive. `None` means that the drive has no such thing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Truth {
    /// Unit of erasing.
    pub erase_block_bytes: Option<Bytes>,
    /// Unit of programming.
    pub page_bytes: Option<Bytes>,
    /// Planes of a die.
    pub planes: Option<u32>,
    /// Allocation units that may be open at once when each is written linearly.
    pub open_au_linear: Option<u32>,
    /// Allocation units that may be open at once when each is written randomly.
    pub open_au_random: Option<u32>,
    /// Zone at the beginning that is kept in another way, for file allocation tables.
    pub fat_zone_bytes: Option<Bytes>,
    /// Levels of charge in a cell: 2, 4, 8 or 16.
    pub cell_levels: Option<u8>,
    /// Memory that takes writes before the medium does.
    pub write_buffer_bytes: Option<Bytes>,
    /// Capacity, as the drive begins, of the part of the medium that is written with one bit a cell. Where that
    /// part is lent from free blocks, it is smaller the more the drive holds.
    pub slc_cache_bytes: Option<Bytes>,
    /// Spare share of the medium: (physical - logical) / logical.
    pub over_provisioning: Option<f64>,
    /// Dies that work at once.
    pub dies: Option<u32>,
    /// Real capacity of the medium.
    pub real_capacity_bytes: Option<Bytes>,
    /// State in which the drive begins: `fresh`, `filled` or `steady`.
    pub initial_state: Option<String>,
    /// Facts of a disk that turns.
    pub hdd: Option<HddTruth>,
    /// Facts of a card or a stick.
    pub card: Option<CardTruth>,
    /// Limits of the host before the drive.
    pub host: Option<HostLimits>,
    /// Faults of the drive.
    pub faults: Option<Faults>,
    /// How it warms.
    pub heat: Option<Heat>,
    /// Limits that follow from the figures of `heat`.
    pub heat_limits: Option<HeatTruth>,
    /// Other load on the drive.
    pub neighbour: Option<Neighbour>,
    /// Work that it continues by itself after writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aftermath: Option<Aftermath>,
}

/// Truth about a virtual disk.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HddTruth {
    /// Turns per minute.
    pub rpm: u64,
    /// Duration of a turn, in nanoseconds.
    pub rotation_ns: u64,
    /// Recording surfaces.
    pub heads: u64,
    /// Cylinders.
    pub cylinders: u64,
    /// Memory for what was read.
    pub read_cache_bytes: Bytes,
    /// Most bytes in one segment of it.
    pub segment_bytes: Bytes,
    /// How far reading goes on beyond what was asked for.
    pub read_ahead_bytes: Bytes,
    /// Commands that the drive holds at once.
    pub queue_depth: u64,
    /// Zones from the outer edge inwards.
    pub zones: Vec<ZoneTruth>,
}

/// Truth about a virtual card or stick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CardTruth {
    /// Treatment of an allocation unit that is closed before it is complete: `copy`, the rest of it is copied, or
    /// `switch`, its map is put away.
    pub merge: String,
    /// True when reads take longer across some boundary, so that probing by reads can show geometry.
    pub reads_show_boundaries: bool,
    /// True when pages of different kinds are read in different times.
    pub reads_show_cells: bool,
    /// Largest write that goes to the log for small writes, whose size is [`Truth::slc_cache_bytes`].
    pub small_write_bytes_max: Option<Bytes>,
    /// How far reading goes on beyond reads in sequence.
    pub read_ahead_bytes: Bytes,
}

/// A zone of a virtual disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ZoneTruth {
    /// Offset of its beginning.
    pub offset_bytes: Bytes,
    /// Length.
    pub length_bytes: Bytes,
    /// One track.
    pub track_bytes: Bytes,
    /// Rate of reading on and on, switches included, in bytes per second.
    pub streaming_bytes_per_s: u64,
}
