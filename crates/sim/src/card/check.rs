//! Checks for parameters that no card can have.

use super::model::{CardModel, CrossingModel};
use crate::check::{powers_of_two, within};
use crate::field::Fault;

/// Longest time that a model may state for anything.
const NS: u64 = 60_000_000_000;

/// Finds the first value that no card can have.
pub(super) fn check(model: &CardModel) -> Result<(), Fault> {
    geometry(model)?;
    cells(model)?;
    times(model)?;
    fat(model)?;
    log(model)
}

fn geometry(model: &CardModel) -> Result<(), Fault> {
    let g = &model.geometry;
    within(&[
        ("geometry.page_bytes", g.page_bytes, 512, 65_536),
        ("geometry.planes", g.planes, 1, 4),
        ("geometry.erase_block_bytes", g.erase_block_bytes, 65_536, 1 << 28),
        // The map of what holds data has a bit for each group, and is kept in memory.
        ("geometry.capacity_bytes", g.capacity_bytes, g.erase_block_bytes, 1 << 41),
    ])?;
    powers_of_two(&[
        ("geometry.logical_block_bytes", g.logical_block_bytes, 512, 4096),
        ("geometry.page_bytes", g.page_bytes, g.logical_block_bytes, 65_536),
    ])?;
    let group = g.page_bytes * g.planes;
    if !g.erase_block_bytes.is_multiple_of(group) {
        let what = format!(
            "{} is not a multiple of {group}, the pages of all planes",
            g.erase_block_bytes
        );
        return Err(("geometry.erase_block_bytes", what));
    }
    if !g.capacity_bytes.is_multiple_of(g.erase_block_bytes) {
        let what = format!(
            "{} is not a multiple of the erase block, {}",
            g.capacity_bytes, g.erase_block_bytes
        );
        return Err(("geometry.capacity_bytes", what));
    }
    Ok(())
}

fn cells(model: &CardModel) -> Result<(), Fault> {
    let (g, c) = (&model.geometry, &model.cells);
    if ![2, 4, 8, 16].contains(&c.levels) {
        return Err(("cells.levels", format!("{} is not 2, 4, 8 or 16", c.levels)));
    }
    let bits = c.levels.trailing_zeros() as usize;
    let lists = [
        ("cells.read_ns", &c.read_ns, 1_000),
        ("cells.program_ns", &c.program_ns, 1_000),
        ("cells.plane_ns", &c.plane_ns, 0),
    ];
    for (key, list, low) in lists {
        let (needed, of) = match key {
            "cells.plane_ns" if list.is_empty() => continue,
            "cells.plane_ns" => (g.planes as usize, "planes"),
            _ => (bits, "bits of a cell"),
        };
        if list.len() != needed {
            let what = format!("it has {} values, and there are {needed} {of}", list.len());
            return Err((key, what));
        }
        for &value in list {
            within(&[(key, value, low, NS)])?;
        }
    }
    if !c.codeword_bytes.is_power_of_two() || !(512..=g.page_bytes).contains(&c.codeword_bytes) {
        let what = format!("{} is not a power of two from 512 to the page", c.codeword_bytes);
        return Err(("cells.codeword_bytes", what));
    }
    within(&[
        ("cells.run_groups", c.run_groups, 1, 1024),
        ("cells.erase_ns", c.erase_ns, 0, NS),
        ("cells.codeword_ns", c.codeword_ns, 0, NS),
    ])
}

fn times(model: &CardModel) -> Result<(), Fault> {
    let (l, r, w) = (&model.link, &model.read, &model.write);
    within(&[
        ("link.queue_depth", l.queue_depth, 1, 256),
        ("link.bytes_per_s", l.bytes_per_s, 100_000, 1 << 40),
        ("link.jitter_ns", l.jitter_ns, 0, NS),
        ("link.spike_ppm", l.spike_ppm, 0, 1_000_000),
        ("link.spike_ns", l.spike_ns, 0, NS),
        ("read.command_ns", r.command_ns, 1, NS),
        ("read.lookup_ns", r.lookup_ns, 0, NS),
        ("read.group_ns", r.group_ns, 0, NS),
        ("read.page_ns", r.page_ns, 0, NS),
        ("read.parallel_groups", r.parallel_groups, 1, 1024),
        ("read.read_ahead_groups", r.read_ahead_groups, 0, 1024),
        ("write.command_ns", w.command_ns, 1, NS),
        ("write.open_au_linear", w.open_au_linear, 1, 1024),
        ("write.open_au_random", w.open_au_random, 0, w.open_au_linear),
        ("write.merge_ns", w.merge_ns, 0, NS),
    ])?;
    let (page, codeword) = (model.geometry.page_bytes, model.cells.codeword_bytes);
    for &CrossingModel { bytes, ns } in &r.crossings {
        let fits = bytes.is_power_of_two() && bytes >= codeword && bytes < page;
        if !fits {
            let what = format!(
                "{bytes} is not a power of two from the codeword, {codeword}, to below the page, {page}"
            );
            return Err(("read.crossings", what));
        }
        within(&[("read.crossings", ns, 0, NS)])?;
    }
    Ok(())
}

fn fat(model: &CardModel) -> Result<(), Fault> {
    let (g, Some(fat)) = (&model.geometry, &model.fat) else { return Ok(()) };
    let group = g.page_bytes * g.planes;
    within(&[
        ("fat.bytes", fat.bytes, group, g.capacity_bytes),
        ("fat.lookup_ns", fat.lookup_ns, 0, NS),
        ("fat.read_ns", fat.read_ns, 1_000, NS),
        ("fat.program_ns", fat.program_ns, 1_000, NS),
    ])?;
    if !fat.bytes.is_multiple_of(group) {
        let what = format!("{} is not a multiple of {group}, the pages of all planes", fat.bytes);
        return Err(("fat.bytes", what));
    }
    Ok(())
}

fn log(model: &CardModel) -> Result<(), Fault> {
    let (g, Some(log)) = (&model.geometry, &model.log) else { return Ok(()) };
    within(&[
        ("log.write_bytes_max", log.write_bytes_max, g.logical_block_bytes, g.erase_block_bytes),
        // One write may fill the last page of the log only in part.
        ("log.bytes", log.bytes, log.write_bytes_max + g.page_bytes, g.capacity_bytes),
        ("log.program_ns", log.program_ns, 1_000, NS),
        ("log.idle_ns", log.idle_ns, 1, NS),
    ])
}
