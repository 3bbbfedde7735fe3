//! Reasons not to touch a block device: its current users and its content.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Serialize;

use super::exports::{self, Export};
use super::loops::{self, Backing};
use super::openers::User;
use crate::mounts::{self, Mount};
use crate::signature::Signature;
use crate::stack::{kind_of, member_of_btrfs};
use crate::sysfs::{BlockNode, Roots};

/// Most processes that are named.
const USERS_NAMED: usize = 4;

/// One reason not to write to a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "use", rename_all = "snake_case")]
pub enum Use {
    /// A filesystem on it is mounted.
    Mounted {
        /// Kernel name of the disk or partition.
        device: String,
        /// Mount point.
        mount_point: PathBuf,
        /// Filesystem.
        fstype: String,
        /// A process that sees the mount, when it is in another mount namespace than ours.
        seen_by: Option<u32>,
    },
    /// It is an active swap area.
    Swap {
        /// Kernel name of the disk or partition.
        device: String,
    },
    /// Another device is built upon it.
    Held {
        /// Kernel name of the disk or partition.
        device: String,
        /// Kernel name of the device built upon it.
        by: String,
        /// Kind of that device, with its article: `a mapped device (vg-home)`, `an md array`.
        what: String,
    },
    /// It is a member of a filesystem in use that spans devices.
    Member {
        /// Kernel name of the disk or partition.
        device: String,
        /// The filesystem, with its identifier.
        of: String,
    },
    /// Someone has it open for exclusive use, without showing who: ZFS, a virtual machine, another
    /// benchmark.
    Busy {
        /// Kernel name of the device, or the file's path.
        device: String,
    },
    /// Another program has it open, without a claim or a lock.
    Open {
        /// Kernel name of the disk or partition, or the file's path.
        device: String,
        /// The processes, as far as they can be seen; without any, the kernel or a hidden one has it open.
        by: Vec<User>,
    },
    /// This machine lends it to others.
    Exported {
        /// Kernel name of the disk or partition, or the file's path.
        device: String,
        /// The target or gadget.
        by: String,
    },
    /// The file belongs to a mounted overlay.
    Layer {
        /// The file's path.
        file: PathBuf,
        /// `upper` or `work`.
        layer: &'static str,
        /// The overlay.
        mount_point: PathBuf,
    },
    /// It may be in use by somebody who cannot be seen.
    UsersUnknown {
        /// Kernel name of the disk or partition, or the file's path.
        device: String,
        /// Why.
        why: String,
    },
    /// It has a partition table that could not be read in full, so what lies in its partitions is not known.
    ContentUnknown {
        /// The device, or the partition of a table.
        device: String,
        /// Why.
        why: String,
    },
    /// It has bad blocks where a filesystem or a table may be described, so what it carries is not known in full.
    Unreadable {
        /// Kernel name of the disk or partition.
        device: String,
        /// Places on it, and the kernel's answer.
        why: String,
    },
    /// A loop device is backed by this file.
    LoopBacking {
        /// The file's path.
        file: PathBuf,
        /// Kernel name of the loop device.
        by: String,
    },
    /// It cannot be written to.
    ReadOnly {
        /// Kernel name of the device.
        device: String,
    },
    /// It takes writes only in the order of its zones, or slows down when they come otherwise: a shingled disk, an NVMe
    /// namespace of zones.
    Zoned {
        /// Kernel name of the disk.
        device: String,
        /// Zone model: `host-managed` (writes out of order fail) or `host-aware`.
        model: String,
    },
    /// It is divided into partitions.
    Partitioned {
        /// Kernel name of the disk.
        device: String,
        /// Kernel names of its partitions; empty when the table is there and the kernel did not read it.
        partitions: Vec<String>,
    },
    /// Its content could not be read, so it is unknown what would be lost.
    Unread {
        /// Kernel name of the disk or partition.
        device: String,
        /// The node and the kernel's answer.
        why: String,
    },
    /// The kernel's own account of who uses what cannot be read, so it may be in use.
    Unseen {
        /// Kernel name of the device, or the file's path.
        device: String,
        /// Possible use, as the end of "whether it is …".
        what: &'static str,
        /// Source that was read, and the kernel's answer.
        why: String,
    },
    /// It carries the signature of a filesystem or the like.
    Signed {
        /// Kernel name of the disk or partition.
        device: String,
        /// Signature that was found.
        signature: Signature,
    },
}

impl Use {
    /// True when no word of the user's can make writing right: someone would lose what is in use
    /// now. The way out is to end the use first.
    pub fn is_final(&self) -> bool {
        !matches!(
            self,
            Use::Partitioned { .. }
                | Use::Signed { .. }
                | Use::UsersUnknown { .. }
                | Use::ContentUnknown { .. }
                | Use::Unreadable { .. }
        )
    }
}

/// Says what is the case, without a full stop.
impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Use::Mounted { device, mount_point, fstype, seen_by } => {
                write!(f, "{device} is mounted on {} ({fstype})", mount_point.display())?;
                match seen_by {
                    Some(pid) => write!(f, " in the mount namespace of process {pid}"),
                    None => Ok(()),
                }
            }
            Use::Swap { device } => write!(f, "{device} is in use as swap"),
            Use::Held { device, by, what } => write!(f, "{device} is held by {by}, {what}"),
            Use::Member { device, of } => write!(f, "{device} is a member of {of}"),
            Use::Busy { device } => {
                write!(f, "{device} is held for exclusive use by another program or filesystem")
            }
            Use::Open { device, by } if by.is_empty() => {
                write!(f, "{device} is in use by the kernel or by a process that cannot be seen")
            }
            Use::Open { device, by } => {
                let named: Vec<String> = by.iter().take(USERS_NAMED).map(User::to_string).collect();
                let more = match by.len().saturating_sub(USERS_NAMED) {
                    0 => String::new(),
                    count => format!(" and {count} more"),
                };
                write!(f, "{device} is open in {}{more}", named.join(", "))
            }
            Use::Exported { device, by } => write!(f, "{device} is exported by {by}"),
            Use::Layer { file, layer, mount_point } => write!(
                f,
                "{} lies in the {layer} directory of the overlay mounted on {}",
                file.display(),
                mount_point.display()
            ),
            Use::UsersUnknown { device, why } => {
                write!(f, "it is not known whether another program uses {device} ({why})")
            }
            Use::ContentUnknown { device, why } => {
                write!(f, "the partition table of {device} cannot be read in full ({why})")
            }
            Use::Unreadable { device, why } => {
                write!(
                    f,
                    "{device} cannot be read where a filesystem or a partition table may be described ({why})"
                )
            }
            Use::LoopBacking { file, by } => {
                write!(f, "{} is the backing file of {by}", file.display())
            }
            Use::ReadOnly { device } => write!(f, "{device} is read-only"),
            Use::Zoned { device, model } => {
                write!(
                    f,
                    "{device} is a zoned drive ({model}), and zones are written from their beginning only"
                )
            }
            Use::Unread { device, why } => {
                write!(f, "what {device} carries is not known ({why})")
            }
            Use::Unseen { device, what, why } => {
                write!(f, "whether {device} is {what} is unknown ({why})")
            }
            Use::Partitioned { device, partitions } if partitions.is_empty() => {
                write!(f, "{device} has a partition table")
            }
            Use::Partitioned { device, partitions } => {
                write!(f, "{device} is partitioned: {}", partitions.join(", "))
            }
            Use::Signed { device, signature } => {
                write!(f, "{device} carries {signature}")
            }
        }
    }
}

/// Mounts, swaps and loop devices of the machine, read once for many devices.
#[derive(Clone, Debug)]
pub struct InUse {
    mounts: Vec<Mount>,
    swaps: Vec<BlockNode>,
    loops: Vec<Backing>,
    exports: Vec<Export>,
    /// Uses that could not be read: the possible use, and why it is not known.
    unseen: Vec<(&'static str, String)>,
}

impl InUse {
    /// Reads what is mounted, in every mount namespace that can be seen, what is swapped to, and what loop devices lie
    /// on. A source that cannot be read is a reason against writing to anything.
    pub fn now(roots: &Roots) -> InUse {
        let mut unseen = Vec::new();
        let mounts = known(mounts::all_namespaces(roots), "mounted", &mut unseen);
        let swaps = known(mounts::swaps(roots), "in use as swap", &mut unseen);
        let loops = known(loops::all(roots), "under a loop device", &mut unseen);
        let mut areas = Vec::new();
        for path in &swaps {
            match BlockNode::by_dev_path(roots, path) {
                Some(node) => areas.push(node),
                // A file holds no device of its own.
                None if fs::metadata(path).is_ok_and(|meta| meta.is_file()) => {}
                None => {
                    let why = format!("{}: sysfs does not show which device it is", path.display());
                    unseen.push(("in use as swap", why));
                }
            }
        }
        InUse { mounts, swaps: areas, loops, exports: exports::all(roots), unseen }
    }

    /// Mounts of exactly this device.
    pub fn mounts_of<'a>(
        &'a self,
        roots: &'a Roots,
        node: &'a BlockNode,
    ) -> impl Iterator<Item = &'a Mount> {
        let number = node.number();
        self.mounts.iter().filter(move |mount| match mount.device {
            device if !device.is_anonymous() => Some(device) == number,
            // Btrfs and bcachefs have no number of their own, and name one or all of their members.
            _ => {
                let sources = mount.source.to_string_lossy().into_owned();
                matches!(mount.fstype.as_str(), "btrfs" | "bcachefs")
                    && sources.split(':').any(|source| {
                        BlockNode::by_dev_path(roots, source.as_ref()).as_ref() == Some(node)
                    })
            }
        })
    }

    /// True when swap goes to exactly this device.
    pub fn is_swap(&self, node: &BlockNode) -> bool {
        self.swaps.contains(node)
    }

    /// Uses that belong to exactly this device, not to its disk or its partitions, and that can be
    /// seen without opening it.
    fn of_node(&self, roots: &Roots, node: &BlockNode) -> Vec<Use> {
        let device = || node.name().to_owned();
        let mut uses: Vec<Use> = self
            .mounts_of(roots, node)
            .map(|mount| Use::Mounted {
                device: device(),
                mount_point: mount.mount_point.clone(),
                fstype: mount.fstype.clone(),
                seen_by: mount.seen_by,
            })
            .collect();
        if self.is_swap(node) {
            uses.push(Use::Swap { device: device() });
        }
        if let Err(error) = node.readable() {
            let (what, why) = ("held by another device", error.to_string());
            uses.push(Use::Unseen { device: device(), what, why });
        }
        uses.extend(node.holders().iter().map(|holder| Use::Held {
            device: device(),
            by: holder.name().to_owned(),
            what: what_holds(holder),
        }));
        // Neither a holder in sysfs nor a claim shows these.
        uses.extend(self.loops.iter().filter(|backing| backing.is_node(node)).map(|backing| {
            Use::Held { device: device(), by: backing.by.clone(), what: "a loop device".to_owned() }
        }));
        let lent = self.exports.iter().filter(|export| export.is_device(node.number()));
        let by = |export: &Export| Use::Exported { device: device(), by: export.by.clone() };
        uses.extend(lent.map(by));
        if let Some(fsid) = member_of_btrfs(roots, node) {
            uses.push(Use::Member { device: device(), of: format!("the Btrfs filesystem {fsid}") });
        }
        // A backing device of bcache without its bcache device, and a caching device, show no holder.
        if node.has("bcache") && kind_of(node) != "bcache" && node.holders().is_empty() {
            uses.push(Use::Member { device: device(), of: "a bcache set".to_owned() });
        }
        if node.attr("ro").as_deref() == Some("1") {
            uses.push(Use::ReadOnly { device: device() });
        }
        uses
    }

    /// All reasons against writing to a device that can be seen without opening it: uses of itself, of its partitions,
    /// and, for a partition, of the disk that holds it as a whole.
    pub fn of(&self, roots: &Roots, node: &BlockNode) -> Vec<Use> {
        let mut uses = self.of_node(roots, node);
        let found = node.number().and_then(|number| BlockNode::by_number(roots, number));
        if found.as_ref() != Some(node) {
            let why = format!("{}: it is not there", roots.sys.join("dev/block").display());
            uses.push(Use::Unseen { device: node.name().to_owned(), what: "in use", why });
        }
        uses.extend(self.unseen.iter().map(|(what, why)| Use::Unseen {
            device: node.name().to_owned(),
            what,
            why: why.clone(),
        }));
        if node.is_partition() {
            uses.extend(self.of_node(roots, &node.disk()));
        }
        // A word of the disk's queue, which partitions share. Older kernels do not have it.
        if let Some(model) = node.disk().attr("queue/zoned").filter(|model| model != "none") {
            uses.push(Use::Zoned { device: node.disk().name().to_owned(), model });
        }
        let partitions = node.partitions();
        for partition in &partitions {
            uses.extend(self.of_node(roots, partition));
        }
        if !partitions.is_empty() {
            uses.push(Use::Partitioned {
                device: node.name().to_owned(),
                partitions: partitions.iter().map(|p| p.name().to_owned()).collect(),
            });
        }
        uses.sort();
        uses.dedup();
        uses
    }
}

/// Returns what was read; on failure returns the default and notes the possible use in `unseen`.
fn known<T: Default>(
    read: io::Result<T>,
    what: &'static str,
    unseen: &mut Vec<(&'static str, String)>,
) -> T {
    read.unwrap_or_else(|error| {
        unseen.push((what, error.to_string()));
        T::default()
    })
}

fn what_holds(holder: &BlockNode) -> String {
    match (kind_of(holder), holder.attr("dm/name")) {
        ("dm", Some(name)) => format!("a mapped device ({name})"),
        ("md", _) => "an md array".to_owned(),
        ("bcache", _) => "a bcache device".to_owned(),
        _ if holder.is_partition() => "a partition".to_owned(),
        _ => "a device built upon it".to_owned(),
    }
}
