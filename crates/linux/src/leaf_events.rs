//! Block events at the leaves around a measurement, where they say more than the leaves' counters do.

use std::fs::File;
use std::ops::Range;

use block::{LeafEvents, Stack};

use crate::stack;
use crate::stored::{self, OnLeaf};
use crate::sysfs::{BlockNode, Roots};
use crate::tracer::{PlaceWatch, Places, Ranges, Subject, TracerRoots};

/// Events in the places of a part of the target.
#[derive(Debug)]
pub(crate) struct Watched {
    watch: PlaceWatch,
    part: Range<u64>,
}

impl Watched {
    /// Begins to add up events in these places of a part of the target. `None` where they are not to be had, which takes
    /// root and tracefs, or would say nothing more: when every layer passes requests on as they are and counts them
    /// (`are_counted`), or the places are not known.
    pub(crate) fn start(
        roots: &Roots,
        stack: &Stack,
        on_leaves: &[OnLeaf],
        part: Range<u64>,
        are_counted: bool,
    ) -> Option<Watched> {
        let passes_on = |layer: &block::Layer| {
            matches!(layer.kind.as_str(), "file" | "directory" | "partition" | "disk")
                && layer.page_cache.is_none()
                || stack::keeps_addresses(layer)
        };
        let is_plain = stack.layers.iter().all(passes_on)
            && stack.layers.iter().skip(1).all(|layer| layer.kind != "file");
        let is_here = *roots == Roots::default() && rustix::process::geteuid().is_root();
        if !is_here || are_counted && is_plain {
            return None;
        }
        let disks = disks(roots, on_leaves)?;
        let is_known = on_leaves.iter().all(|leaf| !leaf.parts.is_anywhere());
        if are_counted && !is_known {
            return None;
        }
        let is_mapped = on_leaves.iter().all(|leaf| leaf.parts.is_mapped);
        let places = places(&disks, on_leaves);
        let watch = PlaceWatch::start(&TracerRoots::default(), &disks, places, is_mapped).ok()?;
        Some(Watched { watch, part })
    }

    /// The sums so far. The last thing that a snapshot does, since the kernel may write when places are looked up.
    pub(crate) fn read(
        &self,
        roots: &Roots,
        stack: &Stack,
        target: Option<&File>,
    ) -> Option<LeafEvents> {
        self.watch.read(|| {
            let on_leaves = stored::places(roots, stack, target, self.part.clone());
            Some(places(&disks(roots, &on_leaves)?, &on_leaves))
        })
    }
}

/// The disks among the leaves, each once; `None` when one of them is not a disk of this machine.
fn disks(roots: &Roots, on_leaves: &[OnLeaf]) -> Option<Vec<Subject>> {
    let mut disks: Vec<Subject> = Vec::new();
    for leaf in on_leaves {
        let disk = Subject::of(roots, &BlockNode::by_name(roots, &leaf.name)?)?;
        if disk.sectors.is_some() {
            return None;
        }
        if disks.iter().all(|known| known.number != disk.number) {
            disks.push(disk);
        }
    }
    (!disks.is_empty()).then_some(disks)
}

fn places(disks: &[Subject], on_leaves: &[OnLeaf]) -> Vec<Places> {
    let of = |disk: &Subject| {
        let own = on_leaves.iter().filter(|leaf| leaf.name == disk.name);
        let ranges = own.flat_map(|leaf| leaf.parts.ranges.clone()).collect();
        Places { disk: disk.number, ranges: Ranges::new(ranges) }
    };
    disks.iter().map(of).collect()
}
