//! The lenses on what was asked for, whatever became of it: they need arrivals only.

use serde::{Deserialize, Serialize};

use crate::analyze::bursts::{Bursts, BurstsBody};
use crate::analyze::heat::{Heat, HeatBody};
use crate::analyze::mix::{Mix, MixBody};
use crate::analyze::regions::{Regions, RegionsBody};
use crate::analyze::reuse::{Reuse, ReuseBody};
use crate::analyze::sequential::{Sequential, SequentialBody};
use crate::analyze::sizes::{Sizes, SizesBody};
use crate::analyze::timeline::{Timeline, TimelineBody};
use crate::analyze::working_set::{WorkingSet, WorkingSetBody};
use crate::analyze::{Lens, Options};
use crate::{Io, TraceInfo};

/// Collectors; each where it is wanted.
#[derive(Debug)]
pub(super) struct Load {
    mix: Option<Mix>,
    sizes: Option<Sizes>,
    sequential: Option<Sequential>,
    bursts: Option<Bursts>,
    working_set: Option<WorkingSet>,
    reuse: Option<Reuse>,
    regions: Option<Regions>,
    heat: Option<Heat>,
    timeline: Option<Timeline>,
}

/// Results; each where it was wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadBody {
    /// Operations, flags, address spaces, alignment.
    pub mix: Option<MixBody>,
    /// Lengths.
    pub sizes: Option<SizesBody>,
    /// How sequential it is.
    pub sequential: Option<SequentialBody>,
    /// How unevenly I/Os arrive.
    pub bursts: Option<BurstsBody>,
    /// How much of the addresses is used.
    pub working_set: Option<WorkingSetBody>,
    /// How soon an address is used again, and what a cache would do.
    pub reuse: Option<ReuseBody>,
    /// Parts of the address space that get the most I/Os.
    pub regions: Option<RegionsBody>,
    /// Address by time.
    pub heat: Option<HeatBody>,
    /// Load over time.
    pub timeline: Option<TimelineBody>,
}

impl Load {
    /// `None` where none of them is wanted.
    pub(super) fn new(options: &Options) -> Option<Load> {
        let wants = |lens| options.wants(lens);
        let load = Load {
            mix: wants(Lens::Mix).then(Mix::new),
            sizes: wants(Lens::Sizes).then(Sizes::new),
            sequential: wants(Lens::Sequential).then(Sequential::new),
            bursts: wants(Lens::Bursts).then(Bursts::new),
            working_set: wants(Lens::WorkingSet).then(WorkingSet::new),
            reuse: wants(Lens::Reuse).then(Reuse::new),
            regions: wants(Lens::Regions).then(Regions::new),
            heat: wants(Lens::Heat).then(Heat::new),
            timeline: wants(Lens::Timeline).then(Timeline::new),
        };
        Lens::on_load().any(wants).then_some(load)
    }

    /// Takes I/Os: a whole batch for one lens after the other, so that each has the caches to itself.
    pub(super) fn see(&mut self, batch: &[Io]) {
        fn each<L>(lens: &mut Option<L>, batch: &[Io], see: impl Fn(&mut L, &Io)) {
            if let Some(lens) = lens {
                batch.iter().for_each(|io| see(lens, io));
            }
        }
        each(&mut self.mix, batch, Mix::see);
        each(&mut self.sizes, batch, Sizes::see);
        each(&mut self.sequential, batch, Sequential::see);
        each(&mut self.bursts, batch, Bursts::see);
        each(&mut self.working_set, batch, WorkingSet::see);
        each(&mut self.reuse, batch, Reuse::see);
        each(&mut self.regions, batch, Regions::see);
        each(&mut self.heat, batch, Heat::see);
        each(&mut self.timeline, batch, Timeline::see);
    }

    /// Returns the results.
    pub(super) fn finish(self, info: &TraceInfo) -> LoadBody {
        LoadBody {
            mix: self.mix.map(|lens| lens.finish()),
            sizes: self.sizes.map(|lens| lens.finish()),
            sequential: self.sequential.map(|lens| lens.finish()),
            bursts: self.bursts.map(|lens| lens.finish(info.resolution)),
            working_set: self.working_set.map(|lens| lens.finish()),
            reuse: self.reuse.map(|lens| lens.finish()),
            regions: self.regions.map(|lens| lens.finish()),
            heat: self.heat.map(|lens| lens.finish()),
            timeline: self.timeline.map(Timeline::finish),
        }
    }
}
