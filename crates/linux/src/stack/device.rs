//! The step from a block device to what it is built upon.

use std::fs;
use std::path::{Path, PathBuf};

use block::Medium;

use super::{Attributes, DEPTH_MAX, Walk};
use crate::sysfs::{BlockNode, Roots};

/// Major number of RAM disks (kernel: `Documentation/admin-guide/devices.txt`).
const RAMDISK_MAJOR: u32 = 1;

impl Walk<'_> {
    pub(super) fn device(&mut self, node: &BlockNode) {
        // Two volumes of one group meet again at their physical volume: show it once.
        if let Some(&place) = self.seen.get(node.dir()) {
            return self.link(place);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            self.leaf(node.name(), Medium::Unknown, None);
            return;
        }
        // Either kind of layer below is the next to be pushed.
        self.seen.insert(node.dir().to_owned(), self.stack.layers.len());
        if node.is_partition() {
            let mut attributes = Attributes::default();
            attributes.set("size_bytes", node.size().0);
            attributes.set_some("start_bytes", node.start().map(|start| start.0));
            attributes.set_some("bcache_role", bcache_role(node));
            self.push("partition", node.name(), attributes);
            return self.device(&node.disk());
        }
        let kind = kind_of(node);
        let layer = self.push(kind, node.name(), queue_attributes(node));
        let slaves = node.slaves();
        match kind {
            "loop" => self.loop_device(layer, node),
            _ if slaves.is_empty() => {
                let (medium, note) = medium_of(self.roots, node);
                if let Some(note) = note {
                    self.stack.layers[layer].attributes.insert("note".to_owned(), note.to_owned());
                }
                self.leaf(node.name(), medium, model_of(node));
            }
            _ => self.members(layer, &slaves),
        }
    }

    fn loop_device(&mut self, layer: usize, node: &BlockNode) {
        let Some(backing) = node.attr("loop/backing_file") else {
            return self.lost(layer, node.name(), Medium::Unknown, "no file is attached to it");
        };
        if node.attr("loop/dio").as_deref() != Some("1") {
            self.stack.layers[layer].page_cache =
                Some(format!("loop without direct I/O: {backing}"));
        }
        let path = PathBuf::from(&backing);
        let real = fs::canonicalize(&path).and_then(|real| Ok((fs::metadata(&real)?, real)));
        match real {
            Ok((meta, real)) if is_block(&meta) => {
                match BlockNode::by_dev_path(self.roots, &real) {
                    Some(below) => self.device(&below),
                    None => self.leaf(backing, Medium::Unknown, None),
                }
            }
            Ok((meta, real)) => self.file(&real, &meta),
            Err(_) => {
                let note = "its backing file was deleted or is out of sight here";
                self.lost(layer, &backing, Medium::Unknown, note);
            }
        }
    }
}

fn is_block(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    meta.file_type().is_block_device()
}

/// Returns the kind of a device, by the directories that its driver keeps in sysfs.
pub(crate) fn kind_of(node: &BlockNode) -> &'static str {
    let by_driver = [("dm", "dm"), ("md", "md"), ("bcache", "bcache"), ("mm_stat", "zram")];
    match by_driver.iter().find(|(marker, _)| node.has(marker)) {
        // The cache and backing devices of bcache have such a directory too; only the device built
        // upon them has slaves.
        Some(("bcache", _)) if node.slaves().is_empty() => "disk",
        Some((_, kind)) => kind,
        None if node.has("loop") => "loop",
        // An idle loop device keeps no directory; its major number is fixed.
        None if node.number().is_some_and(|number| number.major == 7) => "loop",
        None if !node.slaves().is_empty() => "stacked",
        None => "disk",
    }
}

fn queue_attributes(node: &BlockNode) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.set("size_bytes", node.size().0);
    attributes.set_some("scheduler", node.scheduler());
    for (name, file) in [
        ("logical_block_bytes", "queue/logical_block_size"),
        ("physical_block_bytes", "queue/physical_block_size"),
        ("optimal_io_bytes", "queue/optimal_io_size"),
        ("dma_alignment_mask", "queue/dma_alignment"),
        ("max_sectors_kib", "queue/max_sectors_kb"),
        ("rotational", "queue/rotational"),
        ("write_cache", "queue/write_cache"),
        ("fua", "queue/fua"),
        ("dm_name", "dm/name"),
        ("dm_uuid", "dm/uuid"),
        ("md_level", "md/level"),
        ("md_metadata", "md/metadata_version"),
        ("md_raid_disks", "md/raid_disks"),
        ("md_chunk_bytes", "md/chunk_size"),
        ("md_layout", "md/layout"),
        ("md_degraded", "md/degraded"),
        ("md_consistency_policy", "md/consistency_policy"),
        ("bcache_mode", "bcache/cache_mode"),
        ("backing_file", "loop/backing_file"),
        ("loop_direct_io", "loop/dio"),
        ("loop_offset_bytes", "loop/offset"),
    ] {
        attributes.set_some(name, node.attr(file));
    }
    attributes.set_some("bcache_role", bcache_role(node));
    attributes
}

/// Role of a disk in bcache: only the cache has bucket statistics (kernel: `Documentation/admin-guide/bcache.rst`).
fn bcache_role(node: &BlockNode) -> Option<&'static str> {
    let member = node.has("bcache") && kind_of(node) != "bcache";
    member.then(|| if node.has("bcache/priority_stats") { "cache" } else { "backing" })
}

/// Medium of a device with no device under it, and a remark when the medium is not obvious.
pub(crate) fn medium_of(roots: &Roots, node: &BlockNode) -> (Medium, Option<&'static str>) {
    let driver = node.driver(roots).unwrap_or_default();
    let kind = kind_of(node);
    if kind == "zram" || node.number().is_some_and(|number| number.major == RAMDISK_MAJOR) {
        return (Medium::Ram, Some("this machine's memory"));
    }
    if node.attr("device/model").as_deref() == Some("scsi_debug") || driver == "nullb" {
        return (Medium::Ram, Some("a kernel test device: its data is in memory, or nowhere"));
    }
    if ["nbd", "rbd", "drbd"].contains(&driver.as_str())
        || nvme_transports(node).iter().any(|t| ["tcp", "rdma", "fc"].contains(&t.as_str()))
        || node.ancestors().any(|dir| dir.join("iscsi_session").is_dir())
    {
        return (Medium::Network, Some("lies on another machine"));
    }
    if kind == "loop" && node.has("loop/backing_file") {
        return (
            Medium::Unknown,
            Some("a file shown as a disk: what is measured lies under that file"),
        );
    }
    if ["dm", "md", "bcache", "loop"].contains(&kind) {
        return (Medium::Unknown, Some("nothing is known under it"));
    }
    if driver == "virtblk" || driver == "xvd" {
        let note = "a virtual disk: what its host keeps in memory cannot be seen from here";
        return (Medium::Device, Some(note));
    }
    (Medium::Device, None)
}

/// How an NVMe namespace is reached: by its controller or, with native multipath, by each controller
/// of its subsystem. `pcie`, `apple-nvme` and `loop` are of this machine; the others are a network.
fn nvme_transports(node: &BlockNode) -> Vec<String> {
    let device = fs::canonicalize(node.dir().join("device")).ok();
    // A namespace with several paths lies in the directory of its subsystem, with or without a link `device`.
    let homes = device.iter().map(PathBuf::as_path).chain(node.dir().parent());
    let mut dirs = Vec::new();
    for home in homes {
        dirs.push(home.to_owned());
        let names = crate::sysfs::names_in(home).into_iter();
        dirs.extend(names.filter(|name| name.starts_with("nvme")).map(|name| home.join(name)));
    }
    dirs.iter().filter_map(|dir| crate::sysfs::read_text(&dir.join("transport"))).collect()
}

/// Model for people; SCSI reports the vendor separately, NVMe and MMC do not.
pub(crate) fn model_of(node: &BlockNode) -> Option<String> {
    let disk = node.disk();
    let model = disk.attr("device/model").or_else(|| {
        let is_mmc = subsystem(&disk.dir().join("device")).as_deref() == Some("mmc");
        disk.attr("device/name").filter(|_| is_mmc)
    })?;
    // "ATA" is not who made it, but how it is spoken to.
    let vendor = disk.attr("device/vendor");
    let vendor = vendor.filter(|vendor| vendor != "ATA" && !vendor.starts_with("0x"));
    Some(vendor.map_or(model.clone(), |vendor| format!("{vendor} {model}")))
}

/// Name of the bus or class that a directory of the device tree belongs to.
pub(crate) fn subsystem(dir: &Path) -> Option<String> {
    let link = fs::canonicalize(dir.join("subsystem")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

/// The Btrfs filesystem in use that has this device as a member.
pub(crate) fn member_of_btrfs(roots: &Roots, node: &BlockNode) -> Option<String> {
    let dir = roots.sys.join("fs/btrfs");
    let has = |fsid: &String| dir.join(fsid).join("devices").join(node.name()).exists();
    crate::sysfs::names_in(&dir).into_iter().find(has)
}
