//! The step from a filesystem to what it lies on.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use block::Medium;

use super::{Attributes, Walk};
use crate::mounts::Mount;
use crate::sysfs::{BlockNode, DevNo, names_in};
use crate::zfs;

/// Filesystems in this machine's memory.
const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];

/// Filesystems on other machines. A FUSE subtype follows `fuse.`.
const REMOTE: [&str; 20] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ceph",
    "afs",
    "lustre",
    "gpfs",
    "beegfs",
    "orangefs",
    "coda",
    "ncpfs",
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.glusterfs",
    "fuse.cephfs",
    "fuse.davfs",
    "fuse.curlftpfs",
];

impl Walk<'_> {
    pub(super) fn filesystem(&mut self, mount: &Mount, path: &Path) {
        let mut attributes = Attributes::default();
        attributes.set("source", mount.source.display());
        attributes.set("options", options(mount));
        let fstype = mount.fstype.as_str();
        let layer = self.push(fstype, mount.mount_point.to_string_lossy(), attributes);
        let source = mount.source.to_string_lossy().into_owned();
        match fstype {
            _ if IN_MEMORY.contains(&fstype) => {
                let name = format!("{fstype} {}", mount.mount_point.display());
                self.lost(layer, &name, Medium::Ram, "this machine's memory");
            }
            _ if REMOTE.contains(&fstype) => {
                self.lost(layer, &source, Medium::Network, "no local block device");
            }
            "btrfs" => self.btrfs(layer, mount),
            "bcachefs" => self.listed(layer, source.split(':').map(PathBuf::from).collect()),
            "overlay" => self.overlay(layer, mount, path),
            "zfs" => self.zfs(layer, &source),
            _ => match self.device_of(mount) {
                Some(node) => self.on_device(layer, fstype, &node),
                None => self.without_device(layer, fstype, &source),
            },
        }
    }

    fn device_of(&self, mount: &Mount) -> Option<BlockNode> {
        match mount.device {
            number if number.is_anonymous() => BlockNode::by_dev_path(self.roots, &mount.source),
            number => BlockNode::by_number(self.roots, number),
        }
    }

    fn on_device(&mut self, layer: usize, fstype: &str, node: &BlockNode) {
        // A daemon such as ntfs-3g opens the device itself, buffered: what O_DIRECT on the file
        // promises ends at the daemon.
        if fstype.starts_with("fuse") {
            self.stack.layers[layer].page_cache =
                Some(format!("the FUSE daemon reads {} through its page cache", node.name()));
        }
        self.device(node);
    }

    fn without_device(&mut self, layer: usize, fstype: &str, source: &str) {
        let note = match fstype {
            "9p" | "virtiofs" => "lies on the host of this virtual machine",
            _ if fstype.starts_with("fuse") => {
                "a FUSE daemon serves it, from where is not known here; it may cache"
            }
            _ => "no local block device is known under it",
        };
        self.lost(layer, source, Medium::Unknown, note);
    }

    fn btrfs(&mut self, layer: usize, mount: &Mount) {
        let fs_dir = self.roots.sys.join("fs/btrfs");
        let source = BlockNode::by_dev_path(self.roots, &mount.source);
        let members = |id: &String| names_in(&fs_dir.join(id).join("devices"));
        let mut pools: Vec<String> = names_in(&fs_dir);
        pools.retain(|id| !members(id).is_empty());
        let of_source = source.as_ref().and_then(|node| {
            pools.iter().find(|id| members(id).iter().any(|name| name == node.name()))
        });
        // The source may be written as /dev/root; a single pool leaves no choice.
        let pool = of_source.or(if pools.len() == 1 { pools.first() } else { None });
        let nodes: Vec<BlockNode> = match pool {
            Some(id) => {
                let found =
                    members(id).iter().filter_map(|n| BlockNode::by_name(self.roots, n)).collect();
                let attributes = &mut self.stack.layers[layer].attributes;
                attributes.insert("fsid".to_owned(), id.clone());
                let sector = crate::sysfs::read_text(&fs_dir.join(id).join("sectorsize"));
                attributes.extend(sector.map(|bytes| ("sector_bytes".to_owned(), bytes)));
                for of in ["data", "metadata"] {
                    let profiles = profiles(&fs_dir.join(id).join("allocation").join(of));
                    attributes.extend(profiles.map(|names| (format!("{of}_profile"), names)));
                }
                found
            }
            None => source.into_iter().collect(),
        };
        self.devices(layer, nodes);
    }

    fn listed(&mut self, layer: usize, sources: Vec<PathBuf>) {
        let nodes = sources.iter().filter_map(|p| BlockNode::by_dev_path(self.roots, p)).collect();
        self.devices(layer, nodes);
    }

    fn devices(&mut self, layer: usize, nodes: Vec<BlockNode>) {
        if nodes.is_empty() {
            let name = self.stack.layers[layer].name.clone();
            self.lost(layer, &name, Medium::Unknown, "its member devices are not to be found");
        }
        self.members(layer, &nodes);
    }

    /// A file of an overlay lies in the upper directory, or in the first lower one that has it; a
    /// new file always goes to the upper one.
    fn overlay(&mut self, layer: usize, mount: &Mount, path: &Path) {
        let below = mount.within(path);
        let mut readings = mount.layer_dirs("upperdir");
        let upper = readings.iter().position(|dir| dir.exists()).unwrap_or(0);
        let upper = (upper < readings.len()).then(|| readings.swap_remove(upper));
        let has_upper = upper.is_some();
        let dirs: Vec<PathBuf> = upper.into_iter().chain(mount.lower_dirs()).collect();
        // A directory that was never copied up will be, as soon as a file is made in it.
        let writes_above = path.is_dir() && has_upper;
        let found = dirs.iter().enumerate().find_map(|(at, dir)| {
            let real = match dir.join(&below) {
                _ if at == 0 && writes_above => fs::canonicalize(dir).ok()?,
                file => fs::canonicalize(file).ok()?,
            };
            let number = DevNo::from_raw(fs::metadata(&real).ok()?.dev());
            Some((real, number))
        });
        self.depth += 1;
        match found {
            Some((real, number)) if self.depth < super::DEPTH_MAX => self.below_file(&real, number),
            _ => {
                let note = "the directories of this overlay are out of sight, as in a container";
                self.lost(layer, "overlay", Medium::Unknown, note);
            }
        }
    }

    fn zfs(&mut self, layer: usize, dataset: &str) {
        let version = zfs::version(self.roots);
        if let Some(version) = &version {
            let direct = zfs::honours_direct(self.roots, version);
            let attributes = &mut self.stack.layers[layer].attributes;
            attributes.insert("version".to_owned(), version.clone());
            attributes.insert(
                "direct_io".to_owned(),
                if direct { "honoured" } else { "ignored" }.to_owned(),
            );
        }
        if !version.is_some_and(|version| zfs::honours_direct(self.roots, &version)) {
            self.stack.layers[layer].page_cache = Some(
                "ZFS's own cache (ARC): before OpenZFS 2.3 direct I/O does not bypass it"
                    .to_owned(),
            );
        }
        let note = "sysfs does not show the members of a ZFS pool: `zpool status` does";
        self.lost(layer, dataset, Medium::Unknown, note);
    }
}

/// How Btrfs spreads and copies chunks of one sort: each profile in use has a directory among the files that count.
/// More than one while a balance converts them.
fn profiles(dir: &Path) -> Option<String> {
    let mut names = names_in(dir);
    names.retain(|name| dir.join(name).is_dir());
    (!names.is_empty()).then(|| names.join(","))
}

fn options(mount: &Mount) -> String {
    match mount.super_options.as_str() {
        "" => mount.options.clone(),
        more => format!("{},{more}", mount.options),
    }
}
