//! A disk model as its TOML file states it.

use serde::{Deserialize, Serialize};

use super::geometry::{Geometry, Shape};
use super::seek::SeekCurve;
use crate::check::{powers_of_two, within};
use crate::field::Fault;
use crate::identity::{Identity, WriteCacheModel};

/// Largest piece in which a write crosses the link; the write cache holds at least one.
pub(super) const PIECE_BYTES: u64 = 256 << 10;

/// A disk model. Every field is required unless it says otherwise; durations are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HddModel {
    schema: String,
    kind: String,
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) identity: Identity,
    pub(super) geometry: GeometryModel,
    pub(super) seek: SeekModel,
    pub(super) memory: MemoryModel,
    pub(super) schedule: ScheduleModel,
    pub(super) link: LinkModel,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GeometryModel {
    pub(super) capacity_bytes: u64,
    pub(super) logical_block_bytes: u64,
    pub(super) physical_block_bytes: u64,
    /// Turns per minute.
    pub(super) rpm: u64,
    /// Recording surfaces.
    pub(super) heads: u64,
    /// Zones of equally many cylinders, from the outer edge inwards.
    pub(super) zones: u64,
    /// Physical sectors of a track in the outermost zone.
    pub(super) outer_sectors_per_track: u64,
    /// Physical sectors of a track in the innermost zone.
    pub(super) inner_sectors_per_track: u64,
    /// From a track to the one under the next head; also the skew between them.
    pub(super) head_switch_ns: u64,
    /// From the last head of a cylinder to the first of the next, planned; also the skew.
    pub(super) cylinder_switch_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeekModel {
    /// Unplanned seek to a neighbouring cylinder, with the settling that it takes.
    pub(super) track_to_track_ns: u64,
    /// Over a third of the stroke.
    pub(super) average_ns: u64,
    pub(super) full_stroke_ns: u64,
    /// More settling before a write.
    pub(super) write_settle_ns: u64,
    /// Half width of the spread of settling.
    pub(super) settle_jitter_ns: u64,
    /// The scheduler expects to catch a sector only when the arm arrives this much before it.
    pub(super) guard_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryModel {
    /// Memory for what was read.
    pub(super) read_bytes: u64,
    /// Most segments.
    pub(super) segments: u64,
    /// Most bytes of one segment.
    pub(super) segment_bytes: u64,
    /// How far reading goes on beyond what the host asked for.
    pub(super) read_ahead_bytes: u64,
    /// Memory for what was written.
    pub(super) write_bytes: u64,
    /// Most runs of dirty bytes.
    pub(super) write_runs: u64,
    pub(super) write_cache: WriteCacheModel,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleModel {
    /// Commands that the drive holds at once.
    pub(super) queue_depth: u64,
    /// A request older than this goes first, wherever it lies.
    pub(super) age_limit_ns: u64,
    /// Oldest dirty runs among which destaging chooses.
    pub(super) destage_window: u64,
    /// Most bytes written between two choices.
    pub(super) destage_chunk_bytes: u64,
    /// Destaging without need begins this long after the last read from the platters.
    pub(super) destage_quiet_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkModel {
    pub(super) bytes_per_s: u64,
    /// Decoding a command and sending its status.
    pub(super) command_ns: u64,
    /// Spread of it, added.
    pub(super) command_jitter_ns: u64,
    /// Planning an access to the platters; hidden behind other work when there is any.
    pub(super) access_ns: u64,
    /// When data that is in memory crosses the link; `in_turn` where it is not stated.
    #[serde(default)]
    pub(super) hits: HitsModel,
}

/// Order in which several reads get the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HitsModel {
    /// Whichever was ready first.
    #[default]
    InTurn,
    /// Data from the platters goes before data from memory.
    Yield,
}

impl HddModel {
    /// Duration of a turn, in nanoseconds.
    pub(super) fn turn_ns(&self) -> u64 {
        60_000_000_000 / self.geometry.rpm
    }

    pub(super) fn shape(&self) -> Shape {
        let g = &self.geometry;
        Shape {
            sectors: g.capacity_bytes / g.physical_block_bytes,
            turn: self.turn_ns(),
            heads: g.heads,
            zones: g.zones,
            outer: g.outer_sectors_per_track,
            inner: g.inner_sectors_per_track,
            head_skew: g.head_switch_ns,
            cylinder_skew: g.cylinder_switch_ns,
        }
    }

    pub(super) fn layout(&self) -> Geometry {
        Geometry::new(self.shape())
    }

    pub(super) fn seek_curve(&self, cylinders: u64) -> Result<SeekCurve, Fault> {
        let s = &self.seek;
        SeekCurve::fit(cylinders, s.track_to_track_ns, s.average_ns, s.full_stroke_ns)
            .map_err(|what| ("seek.average_ns", what))
    }

    /// A turn, where `rpm` may not have been checked yet.
    pub(super) fn turn_ns_checked(&self) -> u64 {
        60_000_000_000 / self.geometry.rpm.max(1)
    }

    pub(super) fn check_blocks(&self) -> Result<(), Fault> {
        let g = &self.geometry;
        powers_of_two(&[
            ("geometry.logical_block_bytes", g.logical_block_bytes, 512, 65_536),
            ("geometry.physical_block_bytes", g.physical_block_bytes, 512, 65_536),
        ])?;
        if g.physical_block_bytes < g.logical_block_bytes {
            return Err((
                "geometry.physical_block_bytes",
                format!("{} is below the logical block", g.physical_block_bytes),
            ));
        }
        if !g.capacity_bytes.is_multiple_of(g.physical_block_bytes) {
            return Err((
                "geometry.capacity_bytes",
                format!(
                    "{} is not a multiple of the physical block, {}",
                    g.capacity_bytes, g.physical_block_bytes
                ),
            ));
        }
        // Above a pebibyte, positions and times would leave 64 bits.
        within(&[("geometry.capacity_bytes", g.capacity_bytes, 1 << 20, 1 << 50)])
    }
}
