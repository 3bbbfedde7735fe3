//! Values that no solid-state drive can have.

use block::Bytes;

use super::model::{CollectionModel, MappingModel, SlcModel, SsdModel};
use super::shape::{self, Shape};
use crate::check::{powers_of_two, within};
use crate::field::Fault;

/// A minute.
const NS: u64 = 60_000_000_000;
/// Most dies; an event can name this many.
const DIES_MAX: u64 = 1 << 16;
/// Fewer data blocks than this on a die leave no log to speak of.
const BLOCKS_MIN: u32 = 8;
/// Most memory that a drive may take up before anything is written to it: a steady one of 4 TiB does with it. What is
/// written costs as much again, but that comes bit by bit, and with time.
const BYTES_AT_FIRST_MAX: u64 = 10 << 30;

/// Finds the first value that no such device can have.
pub(super) fn check(model: &SsdModel) -> Result<(), Fault> {
    ranges(model)?;
    layout(model)?;
    times(model)?;
    if let Some(slc) = &model.slc {
        single_bit(model, slc)?;
    }
    whole(model)
}

fn ranges(model: &SsdModel) -> Result<(), Fault> {
    let (layout, n, m, l) = (&model.layout, &model.nand, &model.memory, &model.link);
    within(&[
        ("layout.capacity_bytes", layout.capacity_bytes, 1 << 20, 1 << 44),
        ("layout.chunk_bytes", layout.chunk_bytes, 512, 1 << 30),
        ("nand.channels", n.channels.into(), 1, 256),
        ("nand.dies_per_channel", n.dies_per_channel.into(), 1, 256),
        ("nand.planes", n.planes.into(), 1, 16),
        ("nand.page_bytes", n.page_bytes, 512, 1 << 20),
        ("nand.pages_per_block", n.pages_per_block.into(), 1, 1 << 14),
        ("nand.bits_per_cell", n.bits_per_cell.into(), 1, 4),
        ("nand.erase_ns", n.erase_ns, 0, NS),
        ("nand.jitter_permille", n.jitter_permille, 0, 1000),
        ("nand.spikes_per_million", n.spikes_per_million, 0, 1_000_000),
        ("nand.spike_ns", n.spike_ns, 0, NS),
        ("nand.channel_bytes_per_s", n.channel_bytes_per_s, 1_000_000, 1 << 40),
        ("nand.reads_before_program", n.reads_before_program.into(), 1, 1 << 20),
        ("memory.write_bytes", m.write_bytes, layout.map_bytes, 1 << 40),
        ("link.bytes_per_s", l.bytes_per_s, 1_000_000, 1 << 40),
        ("link.command_ns", l.command_ns, 1, NS),
        ("link.command_jitter_ns", l.command_jitter_ns, 0, NS),
        ("link.latency_ns", l.latency_ns, 0, NS),
        ("link.queue_depth", l.queue_depth, 1, 1 << 20),
    ])?;
    let dies = u64::from(n.channels) * u64::from(n.dies_per_channel);
    within(&[("nand.dies_per_channel", dies, 1, DIES_MAX)])
}

fn layout(model: &SsdModel) -> Result<(), Fault> {
    let layout = &model.layout;
    powers_of_two(&[
        ("layout.logical_block_bytes", layout.logical_block_bytes, 512, 65_536),
        ("layout.physical_block_bytes", layout.physical_block_bytes, 512, 65_536),
        ("layout.map_bytes", layout.map_bytes, 512, 65_536),
    ])?;
    let row = model.nand.page_bytes * u64::from(model.nand.planes);
    for (key, bytes, unit, of) in [
        (
            "layout.physical_block_bytes",
            layout.physical_block_bytes,
            layout.logical_block_bytes,
            "logical block",
        ),
        ("layout.map_bytes", layout.map_bytes, layout.logical_block_bytes, "logical block"),
        ("layout.capacity_bytes", layout.capacity_bytes, layout.map_bytes, "unit of mapping"),
        ("layout.chunk_bytes", layout.chunk_bytes, layout.map_bytes, "unit of mapping"),
        ("nand.page_bytes", row, layout.map_bytes, "unit of mapping, over all planes"),
    ] {
        if bytes == 0 || !bytes.is_multiple_of(unit) {
            return Err((key, format!("{bytes} is not a multiple of {unit}, the {of}")));
        }
    }
    if layout.mapping == MappingModel::InPlace && row != layout.map_bytes {
        let what =
            format!("{row} over all planes is not {}, the unit of mapping", layout.map_bytes);
        return Err(("nand.page_bytes", what));
    }
    match (layout.collection, layout.choices) {
        (CollectionModel::Choices, None) => {
            return Err(("layout.choices", "how many are drawn is not said".to_owned()));
        }
        (CollectionModel::Choices, Some(choices)) => {
            within(&[("layout.choices", u64::from(choices), 1, 1000)])?;
        }
        _ => {}
    }
    let op = layout.over_provisioning;
    let low = if layout.mapping == MappingModel::Page { 0.01 } else { 0.0 };
    within(&[("layout.over_provisioning", op, low, 10.0)])
}

fn times(model: &SsdModel) -> Result<(), Fault> {
    let nand = &model.nand;
    for (key, list) in [("nand.read_ns", &nand.read_ns), ("nand.program_ns", &nand.program_ns)] {
        if list.len() != nand.bits_per_cell as usize {
            let what = format!(
                "has {} times; a cell of {} bits has as many types of page",
                list.len(),
                nand.bits_per_cell
            );
            return Err((key, what));
        }
        for &time in list {
            within(&[(key, time, 1, NS)])?;
        }
    }
    Ok(())
}

fn single_bit(model: &SsdModel, slc: &SlcModel) -> Result<(), Fault> {
    let nand = &model.nand;
    within(&[
        ("slc.bytes", slc.bytes, 1, 1 << 44),
        ("slc.read_ns", slc.read_ns, 1, NS),
        ("slc.program_ns", slc.program_ns, 1, NS),
        ("slc.fold_bytes_per_s", slc.fold_bytes_per_s, 1, 1 << 40),
        ("slc.idle_before_fold_ns", slc.idle_before_fold_ns, 0, NS * 60),
    ])?;
    if model.layout.mapping == MappingModel::InPlace {
        return Err(("slc.area", "cells that are written in place need no such cache".to_owned()));
    }
    if nand.bits_per_cell == 1 {
        return Err(("slc.area", "cells of one bit are written with one bit anyway".to_owned()));
    }
    if !nand.pages_per_block.is_multiple_of(nand.bits_per_cell) {
        let what = format!(
            "{} is not a multiple of {} bits: a block in single-bit mode would end inside a page",
            nand.pages_per_block, nand.bits_per_cell
        );
        return Err(("nand.pages_per_block", what));
    }
    Ok(())
}

fn whole(model: &SsdModel) -> Result<(), Fault> {
    let (layout, shape) = (&model.layout, Shape::of(model));
    let too_large = || {
        let what = format!("{} has more units than can be counted", layout.capacity_bytes);
        Err(("layout.capacity_bytes", what))
    };
    if layout.capacity_bytes / layout.map_bytes >= u64::from(u32::MAX) || !shape.fits() {
        return too_large();
    }
    if layout.mapping == MappingModel::Page && shape.log.data_blocks < BLOCKS_MIN {
        let what = format!(
            "{} leaves {} blocks to each of {} dies, and at least {BLOCKS_MIN} are needed; take a larger capacity",
            Bytes(layout.capacity_bytes).about(),
            shape.log.data_blocks,
            shape.dies
        );
        return Err(("layout.capacity_bytes", what));
    }
    if layout.mapping == MappingModel::Page && !shape.log.is_workable() {
        let what = format!(
            "{} of a capacity of {} is too few blocks of a die to collect; take more of it, or a larger capacity",
            layout.over_provisioning,
            Bytes(layout.capacity_bytes).about()
        );
        return Err(("layout.over_provisioning", what));
    }
    if layout.mapping == MappingModel::Page {
        memory(model, &shape)?;
    }
    if let Some(slc) = shape.log.slc
        && !slc.is_static
        && slc.blocks > shape.log.data_blocks
    {
        let what =
            format!("needs {} blocks of a die that has {}", slc.blocks, shape.log.data_blocks);
        return Err(("slc.bytes", what));
    }
    Ok(())
}

/// A drive whose tables alone would bring down the machine is refused rather than opened.
fn memory(model: &SsdModel, shape: &Shape) -> Result<(), Fault> {
    let die = shape.log.bytes_at_first(shape::collection(model), shape::initial(model));
    let bytes = die.saturating_mul(shape.dies.into());
    if bytes <= BYTES_AT_FIRST_MAX {
        return Ok(());
    }
    let what = format!(
        "{} takes {} GiB of memory to begin with, and at most {} are allowed; take a smaller one, larger units and \
         blocks, or one that begins fresh",
        model.layout.capacity_bytes,
        bytes >> 30,
        BYTES_AT_FIRST_MAX >> 30
    );
    Err(("layout.capacity_bytes", what))
}
