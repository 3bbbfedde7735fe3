//! A disk model as its TOML file states it.

use block::{Bytes, DriveInfo, DriveKind};
use serde::{Deserialize, Serialize};

use super::Hdd;
use super::geometry::{Geometry, Shape};
use super::seek::SeekCurve;
use crate::check::{powers_of_two, within};
use crate::describe::{HddTruth, Truth, ZoneTruth};
use crate::device::Device;
use crate::kind::{DeviceModel, Fault, Setting};
use crate::model::{Identity, WriteCacheModel};
use crate::spec;

/// Largest piece in which a write crosses the link; the write cache holds at least one.
pub(super) const PIECE_BYTES: u64 = 256 << 10;

/// A disk model. Every field is required unless it says otherwise; durations are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HddModel {
    schema: String,
    kind: String,
    name: String,
    summary: String,
    identity: Identity,
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

/// Which of several reads has the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HitsModel {
    /// Whichever was ready first.
    #[default]
    InTurn,
    /// What the platters bring goes before what memory holds.
    Yield,
}

impl HddModel {
    /// Duration of a turn, in nanoseconds.
    pub(super) fn turn_ns(&self) -> u64 {
        60_000_000_000 / self.geometry.rpm
    }

    fn shape(&self) -> Shape {
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
    fn turn_ns_checked(&self) -> u64 {
        60_000_000_000 / self.geometry.rpm.max(1)
    }

    fn check_blocks(&self) -> Result<(), Fault> {
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

impl DeviceModel for HddModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn summary(&self) -> &str {
        &self.summary
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn check(&self) -> Result<(), Fault> {
        const NS: u64 = 60_000_000_000;
        let (g, s, m) = (&self.geometry, &self.seek, &self.memory);
        let (c, l) = (&self.schedule, &self.link);
        let ranges = [
            ("geometry.rpm", g.rpm, 600, 60_000),
            ("geometry.heads", g.heads, 1, 64),
            ("geometry.zones", g.zones, 1, 256),
            ("geometry.outer_sectors_per_track", g.outer_sectors_per_track, 8, 100_000),
            (
                "geometry.inner_sectors_per_track",
                g.inner_sectors_per_track,
                8,
                g.outer_sectors_per_track,
            ),
            ("geometry.head_switch_ns", g.head_switch_ns, 0, self.turn_ns_checked()),
            ("geometry.cylinder_switch_ns", g.cylinder_switch_ns, 0, self.turn_ns_checked()),
            ("seek.track_to_track_ns", s.track_to_track_ns, 1, NS),
            ("seek.average_ns", s.average_ns, 1, NS),
            ("seek.full_stroke_ns", s.full_stroke_ns, 1, NS),
            ("seek.write_settle_ns", s.write_settle_ns, 0, NS),
            ("seek.settle_jitter_ns", s.settle_jitter_ns, 0, s.track_to_track_ns),
            ("seek.guard_ns", s.guard_ns, 0, self.turn_ns_checked()),
            ("memory.segments", m.segments, 1, 65_536),
            ("memory.segment_bytes", m.segment_bytes, g.physical_block_bytes, 1 << 40),
            ("memory.read_bytes", m.read_bytes, m.segment_bytes, 1 << 40),
            ("memory.read_ahead_bytes", m.read_ahead_bytes, 0, m.segment_bytes),
            ("memory.write_bytes", m.write_bytes, PIECE_BYTES, 1 << 40),
            ("memory.write_runs", m.write_runs, 1, 1 << 24),
            ("schedule.queue_depth", c.queue_depth, 1, 65_535),
            ("schedule.age_limit_ns", c.age_limit_ns, 1, NS),
            ("schedule.destage_window", c.destage_window, 1, 65_535),
            ("schedule.destage_quiet_ns", c.destage_quiet_ns, 0, NS),
            ("link.command_ns", l.command_ns, 1, NS),
        ];
        within(&ranges)?;
        self.check_blocks()?;
        let more = [
            (
                "schedule.destage_chunk_bytes",
                c.destage_chunk_bytes,
                g.physical_block_bytes,
                m.write_bytes,
            ),
            ("link.bytes_per_s", l.bytes_per_s, 1_000_000, 1 << 40),
            ("link.command_jitter_ns", l.command_jitter_ns, 0, NS),
            ("link.access_ns", l.access_ns, 0, NS),
        ];
        within(&more)?;
        if self.shape().reading_time() > i64::MAX as u128 {
            return Err((
                "geometry.capacity_bytes",
                format!(
                    "reading {} bytes at so few a turn would take longer than 292 years, and its \
                     nanoseconds could not be counted",
                    g.capacity_bytes
                ),
            ));
        }
        self.seek_curve(self.layout().cylinders()).map(|_| ())
    }

    fn shorthands(&self) -> &'static [&'static str] {
        &["capacity", "write_cache"]
    }

    fn shorthand(&self, key: &str, value: &str) -> Option<Result<Setting, String>> {
        match key {
            "capacity" => Some(spec::capacity(
                "geometry.capacity_bytes",
                value,
                self.geometry.physical_block_bytes,
                "physical block",
            )),
            "write_cache" => {
                Some(Ok(("memory.write_cache", toml::Value::String(value.to_owned()))))
            }
            "state" => Some(Err("a disk has no initial state; leave it out".to_owned())),
            _ => None,
        }
    }

    fn info(&self, name: &str) -> DriveInfo {
        DriveInfo {
            name: name.to_owned(),
            kind: DriveKind::Virtual,
            model: Some(self.identity.model.clone()),
            serial: self.identity.serial.clone(),
            capacity_bytes: Bytes(self.geometry.capacity_bytes),
            logical_block_bytes: Bytes(self.geometry.logical_block_bytes),
            physical_block_bytes: Bytes(self.geometry.physical_block_bytes),
            rotational: Some(true),
            write_cache: Some(self.memory.write_cache.into()),
            cache_bytes: Some(Bytes(self.memory.read_bytes + self.memory.write_bytes)),
            link_bytes_per_s: Some(self.link.bytes_per_s),
        }
    }

    fn truth(&self) -> Truth {
        let layout = self.layout();
        let block = self.geometry.physical_block_bytes;
        let starts: Vec<u64> = layout.zones().iter().map(|z| z.first).collect();
        let zones = layout.zones().iter().enumerate().map(|(index, zone)| {
            let end = starts.get(index + 1).copied().unwrap_or(u64::MAX);
            let sectors = end.min(layout.sectors()).saturating_sub(zone.first);
            let (per_cylinder, cylinder_ns) = layout.cylinder_rate(zone);
            let rate = u128::from(per_cylinder * block) * 1_000_000_000 / u128::from(cylinder_ns);
            ZoneTruth {
                offset_bytes: Bytes(zone.first * block),
                length_bytes: Bytes(sectors * block),
                track_bytes: Bytes(zone.per_track * block),
                streaming_bytes_per_s: rate as u64,
            }
        });
        Truth {
            page_bytes: None,
            write_buffer_bytes: Some(Bytes(self.memory.write_bytes)),
            real_capacity_bytes: Some(Bytes(self.geometry.capacity_bytes)),
            hdd: Some(HddTruth {
                rpm: self.geometry.rpm,
                rotation_ns: self.turn_ns(),
                heads: self.geometry.heads,
                cylinders: layout.cylinders(),
                read_cache_bytes: Bytes(self.memory.read_bytes),
                segment_bytes: Bytes(self.memory.segment_bytes),
                read_ahead_bytes: Bytes(self.memory.read_ahead_bytes),
                queue_depth: self.schedule.queue_depth,
                zones: zones.filter(|z| z.length_bytes > Bytes::ZERO).collect(),
            }),
            ..Truth::default()
        }
    }

    fn device(&self, seed: u64) -> Result<Box<dyn Device>, Fault> {
        Ok(Box::new(Hdd::new(self, seed)?))
    }
}
