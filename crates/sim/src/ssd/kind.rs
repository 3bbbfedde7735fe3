//! The model as a kind of device.

use block::{Bytes, DriveInfo, DriveKind, WriteCache};

use super::Ssd;
use super::model::SsdModel;
use super::shape::{self, Shape};
use crate::device::Device;
use crate::device_model::DeviceModel;
use crate::field::{Fault, Setting};
use crate::identity::Identity;
use crate::spec;
use crate::truth::Truth;

impl DeviceModel for SsdModel {
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

    fn shorthand(&self, key: &str, value: &str) -> Option<Result<Setting, String>> {
        match key {
            "capacity" => Some(spec::capacity(
                "layout.capacity_bytes",
                value,
                self.layout.map_bytes,
                "unit of mapping",
            )),
            "state" => Some(self.state(value)),
            "write_cache" => {
                Some(Ok(("memory.write_cache", toml::Value::String(value.to_owned()))))
            }
            _ => None,
        }
    }

    fn info(&self, name: &str) -> DriveInfo {
        DriveInfo {
            name: name.to_owned(),
            kind: DriveKind::Virtual,
            model: Some(self.identity.model.clone()),
            serial: self.identity.serial.clone(),
            capacity_bytes: Bytes(self.layout.capacity_bytes),
            logical_block_bytes: Bytes(self.layout.logical_block_bytes),
            physical_block_bytes: Bytes(self.layout.physical_block_bytes),
            rotational: Some(false),
            write_cache: Some(if self.is_durable_at_once() {
                WriteCache::WriteThrough
            } else {
                WriteCache::WriteBack
            }),
            cache_bytes: Some(Bytes(self.memory.write_bytes)),
            link_bytes_per_s: Some(self.link.bytes_per_s),
        }
    }

    fn truth(&self) -> Truth {
        let shape = Shape::of(self);
        let (nand, log) = (&self.nand, self.is_log());
        let program = nand.page_bytes * u64::from(nand.planes);
        Truth {
            erase_block_bytes: log.then(|| Bytes(program * u64::from(nand.pages_per_block))),
            page_bytes: Some(Bytes(nand.page_bytes)),
            planes: Some(nand.planes),
            cell_levels: log.then(|| 1 << nand.bits_per_cell),
            write_buffer_bytes: Some(Bytes(self.memory.write_bytes)),
            slc_cache_bytes: shape.slc_bytes(shape::initial(self)).map(Bytes),
            over_provisioning: log.then(|| shape.over_provisioning()),
            dies: Some(shape.dies),
            real_capacity_bytes: Some(Bytes(self.layout.capacity_bytes)),
            initial_state: log.then(|| self.layout.state.word().to_owned()),
            ..Truth::default()
        }
    }

    fn device(&self, seed: u64) -> Result<Box<dyn Device>, Fault> {
        Ok(Box::new(Ssd::new(self, seed)))
    }
}
