//! Faults of a drive: their table in a model's file, and a wrapper for each fault that takes time. Faults of
//! content take none, and are described by [`ContentMap`].

mod bad;
mod cache;
mod content;
mod deaf;
mod fake;
mod storm;
mod table;
mod vanish;

use std::sync::Arc;

use block::{Op, Time};

pub use cache::{CacheRule, FakeCache};
pub use content::{ContentMap, Stored};
pub use table::{Beyond, Faults, Storm};

use crate::around::gauges::Gauges;
use crate::device::Device;

impl Faults {
    /// Puts around `device` what of this takes time. `real` is what the device inside really holds.
    pub(super) fn wrap(
        &self,
        mut device: Box<dyn Device>,
        real: u64,
        gauges: &Arc<Gauges>,
    ) -> Box<dyn Device> {
        if self.ignores_discard && device.supports(Op::Discard) {
            device = Box::new(deaf::Deaf::new(Op::Discard, device));
        }
        if self.ignores_flush && device.supports(Op::Flush) {
            device = Box::new(deaf::Deaf::new(Op::Flush, device));
        }
        if self.real_capacity_bytes.is_some() {
            device = Box::new(fake::Fake::new(real, device));
        }
        let end =
            (self.beyond == Beyond::Fail && self.real_capacity_bytes.is_some()).then_some(real);
        if !(self.unreadable.is_empty() && self.unwritable.is_empty() && end.is_none()) {
            device = Box::new(bad::Bad::new(self, end, device));
        }
        if let Some(storm) = &self.storm {
            device = Box::new(storm::Stormy::new(storm, device));
        }
        if let Some(at) = self.vanish_at_ns {
            device = Box::new(vanish::Vanishing::new(Time(at), Arc::clone(gauges), device));
        }
        device
    }
}
