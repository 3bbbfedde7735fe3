//! The model as a kind of device.

use block::{Bytes, DriveInfo, DriveKind};

use super::Hdd;
use super::model::{HddModel, PIECE_BYTES};
use crate::check::within;
use crate::device::Device;
use crate::device_model::DeviceModel;
use crate::field::{Fault, Setting};
use crate::identity::Identity;
use crate::spec;
use crate::truth::{HddTruth, Truth, ZoneTruth};

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
