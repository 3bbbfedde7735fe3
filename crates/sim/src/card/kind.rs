//! The model as a kind of device.

use block::{Bytes, DriveInfo, DriveKind, WriteCache};

use super::Card;
use super::model::{CardModel, MergeModel};
use crate::device::Device;
use crate::device_model::DeviceModel;
use crate::field::{Fault, Setting};
use crate::identity::Identity;
use crate::spec;
use crate::truth::{CardTruth, Truth};

impl DeviceModel for CardModel {
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
        super::check::check(self)
    }

    fn shorthands(&self) -> &'static [&'static str] {
        &["capacity", "state"]
    }

    fn shorthand(&self, key: &str, value: &str) -> Option<Result<Setting, String>> {
        match key {
            "capacity" => Some(spec::capacity(
                "geometry.capacity_bytes",
                value,
                self.geometry.erase_block_bytes,
                "erase block",
            )),
            "state" => Some(match value {
                "fresh" | "filled" => Ok(("geometry.state", toml::Value::String(value.to_owned()))),
                _ => Err(format!("`{value}` is not a state of a card; write fresh or filled")),
            }),
            "write_cache" => Some(Err("a card has no volatile write cache; leave it out".into())),
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
            // Size that such a device reports, whatever its pages are.
            physical_block_bytes: Bytes(self.geometry.logical_block_bytes),
            rotational: Some(false),
            write_cache: Some(WriteCache::WriteThrough),
            cache_bytes: None,
            link_bytes_per_s: Some(self.link.bytes_per_s),
        }
    }

    fn truth(&self) -> Truth {
        let (g, w) = (&self.geometry, &self.write);
        let count = |n: u64| u32::try_from(n).ok();
        Truth {
            erase_block_bytes: Some(Bytes(g.erase_block_bytes)),
            page_bytes: Some(Bytes(g.page_bytes)),
            planes: count(g.planes),
            open_au_linear: count(w.open_au_linear),
            open_au_random: count(w.open_au_random),
            fat_zone_bytes: self.fat.as_ref().map(|fat| Bytes(fat.bytes)),
            cell_levels: Some(self.cells.levels),
            slc_cache_bytes: self.log.as_ref().map(|log| Bytes(log.bytes)),
            // Groups that are read at once lie on dies of their own.
            dies: count(self.read.parallel_groups),
            real_capacity_bytes: Some(Bytes(g.capacity_bytes)),
            initial_state: Some(g.state.word().to_owned()),
            card: Some(CardTruth {
                merge: match w.merge {
                    MergeModel::Copy => "copy",
                    MergeModel::Switch => "switch",
                }
                .to_owned(),
                reads_show_boundaries: self.shows_boundaries(),
                reads_show_cells: self.cells.read_ns.windows(2).any(|pair| pair[0] != pair[1]),
                small_write_bytes_max: self.log.as_ref().map(|log| Bytes(log.write_bytes_max)),
                read_ahead_bytes: Bytes(self.read.read_ahead_groups * self.group_bytes()),
            }),
            ..Truth::default()
        }
    }

    fn device(&self, seed: u64) -> Result<Box<dyn Device>, Fault> {
        self.check()?;
        Ok(Box::new(Card::new(self, seed)))
    }
}
