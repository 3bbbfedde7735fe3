//! The links between a drive and the host, and the ceiling that they set.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::sysfs::{BlockNode, names_in, read_text};

/// One link on the way from the drive to the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// `sata`, `usb` or `pcie`.
    pub kind: &'static str,
    /// The speed as the kernel says it: `6.0 Gbps`, `480 Mb/s`, `8.0 GT/s PCIe x4`.
    pub speed: String,
    /// Ceiling of what it carries in one direction, after line coding and before protocol overhead,
    /// so that no honest figure is above it.
    pub bytes_per_s: u64,
}

/// All links above a device, nearest first. The slowest one is the ceiling.
pub(super) fn links(node: &BlockNode) -> Vec<Link> {
    node.ancestors().filter_map(|dir| at(&dir)).collect()
}

/// The directories that describe those links, for reading them again.
pub(crate) fn places(node: &BlockNode) -> Vec<PathBuf> {
    node.ancestors().filter(|dir| at(dir).is_some()).collect()
}

/// The link that a directory of sysfs describes.
pub(crate) fn at(dir: &Path) -> Option<Link> {
    sata(dir).or_else(|| usb(dir)).or_else(|| pcie(dir))
}

/// A port of libata keeps its negotiated speed in `link*/ata_link/link*/sata_spd`. The line is coded
/// 8b/10b in all generations.
fn sata(dir: &Path) -> Option<Link> {
    if !dir.join("ata_port").is_dir() {
        return None;
    }
    let speed =
        names_in(dir).into_iter().filter(|name| name.starts_with("link")).find_map(|name| {
            read_text(&dir.join(&name).join("ata_link").join(&name).join("sata_spd"))
        })?;
    let gbps: f64 = speed.strip_suffix(" Gbps")?.parse().ok()?;
    Some(Link { kind: "sata", bytes_per_s: (gbps * 1e8) as u64, speed })
}

/// A USB device reports its speed in Mb/s. Up to 5 Gb/s the line is coded 8b/10b (or bit-stuffed,
/// which costs less), from 10 Gb/s on 128b/132b.
fn usb(dir: &Path) -> Option<Link> {
    let mbps: f64 = read_text(&dir.join("speed"))?.parse().ok()?;
    if !dir.join("busnum").exists() {
        return None;
    }
    let coding = match mbps {
        slow if slow < 5_000.0 => 1.0,
        first if first < 10_000.0 => 8.0 / 10.0,
        _ => 128.0 / 132.0,
    };
    let bytes_per_s = (mbps * 1e6 / 8.0 * coding) as u64;
    Some(Link { kind: "usb", speed: format!("{mbps} Mb/s"), bytes_per_s })
}

/// A PCIe function reports its transfer rate per lane and its width. Generations 1 and 2 are coded
/// 8b/10b, 3 to 5 are coded 128b/130b; generation 6 packs 236 of 256 bytes.
fn pcie(dir: &Path) -> Option<Link> {
    let rate = read_text(&dir.join("current_link_speed"))?;
    let width: u64 = read_text(&dir.join("current_link_width"))?.parse().ok()?;
    let gigatransfers: f64 = rate.split_whitespace().next()?.parse().ok()?;
    if width == 0 || gigatransfers <= 0.0 {
        return None;
    }
    let coding = match gigatransfers {
        old if old < 8.0 => 8.0 / 10.0,
        modern if modern < 64.0 => 128.0 / 130.0,
        _ => 236.0 / 256.0,
    };
    let bytes_per_s = (gigatransfers * 1e9 / 8.0 * coding * width as f64) as u64;
    Some(Link { kind: "pcie", speed: format!("{rate} x{width}"), bytes_per_s })
}
