//! Surroundings for any kind of drive: the host's limits, faults, heat, work after writes, a neighbour.
//!
//! Each is an optional table of a model's file and a wrapper that is itself a device. Which of them there
//! are is settled when the drive is opened; one that is absent costs nothing. From the outside in: the
//! neighbour beside the task, the host's limits on both, faults, work after writes, heat, the drive.

mod aftermath;
mod faults;
mod gauges;
mod heat;
mod host;
mod inbox;
mod late;
mod neighbour;
mod ranges;
mod shell;

use std::sync::Arc;

use block::DriveInfo;
use serde::{Deserialize, Serialize};

pub use aftermath::Aftermath;
pub use faults::{Beyond, CacheRule, ContentMap, FakeCache, Faults, Stored, Storm};
pub(crate) use gauges::Gauges;
pub use heat::{Heat, HeatTruth};
pub use host::HostLimits;
pub use neighbour::{Neighbour, Order};
pub use ranges::{Range, Ranges};

use crate::device::Device;
use crate::field::Fault;

/// The tables that the file of any model may have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Around {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<HostLimits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) faults: Option<Faults>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) heat: Option<Heat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) neighbour: Option<Neighbour>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aftermath: Option<Aftermath>,
}

/// Names of those tables.
pub(crate) const TABLES: [&str; 5] = ["host", "faults", "heat", "neighbour", "aftermath"];

impl Around {
    /// Finds the first value that is impossible for a drive that reports `info`.
    pub(crate) fn check(&self, info: &DriveInfo) -> Result<(), Fault> {
        self.host.as_ref().map_or(Ok(()), HostLimits::check)?;
        self.faults.as_ref().map_or(Ok(()), |faults| faults.check(info))?;
        self.heat.as_ref().map_or(Ok(()), Heat::check)?;
        self.aftermath.as_ref().map_or(Ok(()), Aftermath::check)?;
        self.neighbour.as_ref().map_or(Ok(()), |neighbour| neighbour.check(info))
    }

    /// Real capacity of the drive, when it is not the claimed one.
    pub(crate) fn real_capacity_bytes(&self) -> Option<u64> {
        self.faults.as_ref()?.real_capacity_bytes
    }

    /// Changes what a host can ask the drive about itself.
    pub(crate) fn tell(&self, info: &mut DriveInfo) {
        if let Some(rate) = self.host.as_ref().and_then(|host| host.link_bytes_per_s) {
            let own = info.link_bytes_per_s.unwrap_or(rate);
            info.link_bytes_per_s = Some(own.min(rate));
        }
    }

    /// Puts the configured wrappers around `device`. It reports `info`, and really holds `real` bytes.
    pub(crate) fn wrap(
        &self,
        mut device: Box<dyn Device>,
        info: &DriveInfo,
        (real, seed): (u64, u64),
        gauges: &Arc<Gauges>,
    ) -> Box<dyn Device> {
        if let Some(heat) = &self.heat {
            device = Box::new(heat::Warm::new(heat, Arc::clone(gauges), device));
        }
        if let Some(plan) = &self.aftermath {
            device = Box::new(aftermath::Busy::new(plan, seed, device));
        }
        if let Some(faults) = &self.faults {
            device = faults.wrap(device, real, gauges);
        }
        if let Some(limits) = &self.host {
            device = Box::new(host::Host::new(limits, device));
        }
        if let Some(plan) = &self.neighbour {
            let place = (info.capacity_bytes, seed);
            device = Box::new(neighbour::Shared::new(plan, place, Arc::clone(gauges), device));
        }
        device
    }
}
