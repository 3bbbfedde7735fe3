//! Identity of a drive: names, serial numbers, capabilities.

use std::fs;
use std::path::Path;

use block::{Bytes, DriveInfo, DriveKind, WriteCache};
use serde::Serialize;

use super::link::{self, Link};
use crate::stack::{kind_of, model_of, subsystem};
use crate::sysfs::{BlockNode, DevNo, Roots, names_in, read_text};

/// How a drive is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bus {
    /// NVMe, over PCIe or a network.
    Nvme,
    /// ATA, serial or parallel.
    Ata,
    /// SCSI that is none of the others: SAS, iSCSI, RAID controllers.
    Scsi,
    /// USB storage, whatever is behind the bridge.
    Usb,
    /// eMMC or SD.
    Mmc,
    /// Paravirtual disk.
    Virtio,
    /// Paravirtual disk.
    Xen,
    /// A file presented as a disk.
    Loop,
    /// Compressed memory.
    Zram,
    /// Memory.
    Ram,
    /// Device mapper.
    Dm,
    /// Software RAID.
    Md,
    /// A cached disk.
    Bcache,
    /// Something else.
    #[default]
    Other,
}

/// Identity that a drive reports. A value is absent when the drive does not report it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Identity {
    /// Kernel name.
    pub name: String,
    /// Names in `/dev/disk/by-id`, sorted.
    pub by_id: Vec<String>,
    /// How it is attached.
    pub bus: Bus,
    /// Model.
    pub model: Option<String>,
    /// Serial number. One of nothing but zeros, as cheap USB bridges have, is none.
    pub serial: Option<String>,
    /// World-wide identifier.
    pub wwid: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Length.
    pub size_bytes: Bytes,
    /// Unit of addressing.
    pub logical_block_bytes: Bytes,
    /// Unit that the drive prefers.
    pub physical_block_bytes: Bytes,
    /// Length of an I/O that suits it best.
    pub optimal_io_bytes: Option<Bytes>,
    /// True for a disk that turns; unknown for a virtual disk, whose host seldom says.
    pub rotational: Option<bool>,
    /// State of the volatile write cache.
    pub write_cache: Option<WriteCache>,
    /// True when a single write can be forced to the medium.
    pub fua: Option<bool>,
    /// Links to the host, nearest first.
    pub links: Vec<Link>,
    /// Ceiling of the slowest link, in bytes per second.
    pub link_bytes_per_s: Option<u64>,
}

/// Returns the identity of the block device with this number; a partition has its own name and
/// size and its disk's identity. `None` when sysfs does not know the number.
pub fn identity(roots: &Roots, number: DevNo) -> Option<Identity> {
    Some(Identity::of(roots, &BlockNode::by_number(roots, number)?))
}

impl Identity {
    pub(crate) fn of(roots: &Roots, node: &BlockNode) -> Identity {
        let disk = node.disk();
        let bus = bus_of(&disk);
        let links = link::links(&disk);
        let flag = |name: &str| disk.attr(name).map(|text| text == "1");
        let size = |name: &str| disk.attr_u64(name).filter(|&n| n > 0).map(Bytes);
        let logical = size("queue/logical_block_size").unwrap_or(Bytes(512));
        let is_virtual = matches!(bus, Bus::Virtio | Bus::Xen);
        Identity {
            name: node.name().to_owned(),
            by_id: by_id(roots, node),
            bus,
            model: model_of(&disk),
            serial: serial(roots, &disk),
            wwid: disk.attr("wwid").or_else(|| disk.attr("device/wwid")),
            firmware: ["device/firmware_rev", "device/rev", "device/fwrev"]
                .iter()
                .find_map(|name| disk.attr(name)),
            size_bytes: node.size(),
            logical_block_bytes: logical,
            physical_block_bytes: size("queue/physical_block_size").unwrap_or(logical),
            optimal_io_bytes: size("queue/optimal_io_size"),
            rotational: flag("queue/rotational").filter(|_| !is_virtual),
            write_cache: match disk.attr("queue/write_cache").as_deref() {
                Some("write back") => Some(WriteCache::WriteBack),
                Some("write through") => Some(WriteCache::WriteThrough),
                _ => None,
            },
            fua: flag("queue/fua"),
            link_bytes_per_s: links.iter().map(|link| link.bytes_per_s).min(),
            links,
        }
    }

    /// Returns the description that the engines need before anything is issued. `name` is the
    /// target as the user named it.
    pub fn drive_info(&self, name: &str) -> DriveInfo {
        DriveInfo {
            name: name.to_owned(),
            kind: DriveKind::BlockDevice,
            model: self.model.clone(),
            serial: self.serial.clone(),
            capacity_bytes: self.size_bytes,
            logical_block_bytes: self.logical_block_bytes,
            physical_block_bytes: self.physical_block_bytes,
            rotational: self.rotational,
            write_cache: self.write_cache,
            cache_bytes: None,
            link_bytes_per_s: self.link_bytes_per_s,
        }
    }
}

pub(super) fn bus_of(node: &BlockNode) -> Bus {
    let disk = node.disk();
    match kind_of(&disk) {
        "zram" => return Bus::Zram,
        "loop" => return Bus::Loop,
        "dm" => return Bus::Dm,
        "md" => return Bus::Md,
        "bcache" => return Bus::Bcache,
        _ => {}
    }
    match subsystem(&disk.dir().join("device")).as_deref() {
        Some("nvme" | "nvme-subsystem") => Bus::Nvme,
        Some("mmc") => Bus::Mmc,
        Some("virtio") => Bus::Virtio,
        Some("xen") => Bus::Xen,
        // All that speaks SCSI to the kernel looks alike here; the parent directories differ.
        Some("scsi") => disk
            .ancestors()
            .find_map(|dir| match subsystem(&dir).as_deref() {
                Some("usb") => Some(Bus::Usb),
                Some("virtio") => Some(Bus::Virtio),
                _ if dir.join("ata_port").is_dir() => Some(Bus::Ata),
                _ => None,
            })
            .unwrap_or(Bus::Scsi),
        _ if disk.number().is_some_and(|number| number.major == 1) => Bus::Ram,
        _ => Bus::Other,
    }
}

/// In the order of trust: what the drive itself says, what udev asked it, what its USB bridge says.
fn serial(roots: &Roots, disk: &BlockNode) -> Option<String> {
    let usb = || {
        let device = disk.ancestors().find(|dir| dir.join("busnum").exists())?;
        read_text(&device.join("serial"))
    };
    let told = disk
        .attr("device/serial")
        .or_else(|| disk.attr("serial"))
        .or_else(|| vpd_serial(disk))
        .or_else(|| udev(roots, disk).property("ID_SERIAL_SHORT").map(str::to_owned))
        .or_else(usb)?;
    let told = told.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned();
    let says_something = told.chars().any(|c| c.is_alphanumeric() && c != '0');
    says_something.then_some(told)
}

/// Unit serial number page of SCSI (SPC, VPD page 80h): two bytes of length at 2, then text.
fn vpd_serial(disk: &BlockNode) -> Option<String> {
    let page = fs::read(disk.dir().join("device/vpd_pg80")).ok()?;
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = page.get(4..4 + length)?;
    String::from_utf8(text.to_vec()).ok().filter(|text| !text.trim().is_empty())
}

fn by_id(roots: &Roots, node: &BlockNode) -> Vec<String> {
    let dir = roots.dev.join("disk/by-id");
    let is_ours =
        |name: &String| BlockNode::by_dev_path(roots, &dir.join(name)).as_ref() == Some(node);
    let mut names: Vec<String> = names_in(&dir).into_iter().filter(is_ours).collect();
    let udev = udev(roots, node);
    let told = udev.links().filter_map(|link| link.strip_prefix("disk/by-id/"));
    names.extend(told.map(str::to_owned));
    names.sort();
    names.dedup();
    names
}

/// Properties and links of a device in udev's database (`/run/udev/data/b8:0`).
pub(super) struct Udev(String);

pub(super) fn udev(roots: &Roots, node: &BlockNode) -> Udev {
    let read = |number: DevNo| read_text(&udev_file(&roots.run_udev, number));
    Udev(node.number().and_then(read).unwrap_or_default())
}

fn udev_file(run_udev: &Path, number: DevNo) -> std::path::PathBuf {
    run_udev.join("data").join(format!("b{number}"))
}

impl Udev {
    pub(super) fn property(&self, name: &str) -> Option<&str> {
        self.0
            .lines()
            .find_map(|line| line.strip_prefix("E:")?.strip_prefix(name)?.strip_prefix('='))
    }

    fn links(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter_map(|line| line.strip_prefix("S:"))
    }
}
