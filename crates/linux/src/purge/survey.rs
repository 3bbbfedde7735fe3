//! Identity and capabilities of a drive, read without changing anything.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use block::Bytes;
use block::health::{AtaCapabilities, Detail, Health, NvmeDetail};
use thiserror::Error;

use super::{
    Capability, Facts, Neighbour, NvmeFacts, Sweep, Wishes, capabilities, listed, neighbours,
};
use crate::devices::Identity;
use crate::health::{Manner, Subject};
use crate::passthrough::Device;
use crate::syscalls;
use crate::sysfs::{BlockNode, DevNo, Roots};

/// A drive, or a partition of one, that may be purged.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// As the user named it.
    pub path: PathBuf,
    /// Its number.
    pub number: DevNo,
    /// Identity.
    pub identity: Identity,
    /// Facts that determine the methods.
    pub facts: Facts,
    /// The methods.
    pub capabilities: Vec<Capability>,
    /// Health that it reports, if it could be queried.
    pub health: Option<Health>,
    /// The other namespaces of its subsystem.
    pub others: Vec<Neighbour>,
    /// Its unit of discarding; its logical block where it has none.
    pub unit: Bytes,
}

impl Surveyed {
    /// All of it.
    pub fn whole(&self) -> Sweep {
        Sweep { size: self.identity.size_bytes, unit: self.unit }
    }

    /// True when `file` is this device, and not another that took its name after it was looked at.
    pub fn is_open_as(&self, file: &File) -> bool {
        let is_same = |meta: Metadata| DevNo::from_raw(meta.rdev()) == self.number;
        file.metadata().is_ok_and(is_same)
    }

    /// Lets the kernel forget the partitions that a disk no longer has; false when it still shows some.
    pub fn forget_partitions(&self, roots: &Roots, file: &File) -> bool {
        let shown =
            || BlockNode::by_number(roots, self.number).map_or(0, |node| node.partitions().len());
        // A driver that knows no partitions refuses, and has none to forget.
        shown() == 0 || syscalls::read_partitions_again(file).is_ok() && shown() == 0
    }
}

/// Why there is nothing to purge.
#[derive(Debug, Error)]
pub enum SurveyError {
    /// It cannot be looked at.
    #[error("{}: cannot look at it: {source}", .path.display())]
    Io {
        /// The path as the user named it.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// It is something else.
    #[error("{}: is not a block device; purging is for drives, which `drivescope devices` lists, and for virtual ones (`drivescope sim list`)", .0.display())]
    Kind(PathBuf),
}

/// Looks at a block device, and asks it what it can. `wishes` say which of several forms of a method is wanted.
///
/// # Errors
/// [`SurveyError`]. A drive that cannot be asked for lack of permissions is not an error: its own methods are not
/// offered then.
pub fn survey(roots: &Roots, path: &Path, wishes: Wishes) -> Result<Surveyed, SurveyError> {
    let fail = |source| SurveyError::Io { path: path.to_owned(), source };
    let meta = std::fs::metadata(path).map_err(fail)?;
    if !meta.file_type().is_block_device() {
        return Err(SurveyError::Kind(path.to_owned()));
    }
    let number = DevNo::from_raw(meta.rdev());
    let unknown = || fail(io::Error::other(format!("sysfs has no block device {number}")));
    let node = BlockNode::by_number(roots, number).ok_or_else(unknown)?;
    let identity = Identity::of(roots, &node);
    let disk = node.disk();
    let size = |name: &str| Bytes(disk.attr_u64(name).unwrap_or(0));
    let asked = ask(roots, &disk);
    let others = neighbours(roots, &disk, &asked.listed);
    let facts = Facts {
        bus: identity.bus,
        is_partition: node.is_partition(),
        discard_max: size("queue/discard_max_bytes"),
        zeroes_max: size("queue/write_zeroes_max_bytes"),
        card: disk.attr("device/type"),
        nvme: asked.nvme(),
        ata: asked.ata(),
        unasked: asked.why,
        others: others.iter().map(|other| other.name.clone()).collect(),
    };
    let unit = size("queue/discard_granularity").max(identity.logical_block_bytes);
    Ok(Surveyed {
        path: path.to_owned(),
        number,
        capabilities: capabilities(&facts, wishes),
        health: asked.health,
        identity,
        facts,
        others,
        unit,
    })
}

/// Answers of a drive.
#[derive(Default)]
struct Asked {
    health: Option<Health>,
    /// Namespaces that an NVMe controller lists.
    listed: Vec<u32>,
    /// Why it was not asked.
    why: Option<String>,
}

impl Asked {
    fn nvme(&self) -> Option<NvmeFacts> {
        let Detail::Nvme(detail) = &self.health.as_ref()?.detail else { return None };
        let NvmeDetail { controller, namespace, sanitize, .. } = (**detail).clone();
        Some(NvmeFacts { controller: controller?, namespace, sanitize })
    }

    fn ata(&self) -> Option<AtaCapabilities> {
        match &self.health.as_ref()?.detail {
            Detail::Ata(detail) => detail.capabilities,
            _ => None,
        }
    }
}

/// A drive that is to be emptied may be woken.
const MANNER: Manner = Manner { may_wake: true };

fn ask(roots: &Roots, disk: &BlockNode) -> Asked {
    let Some(subject) = Subject::find(roots, disk.name()) else { return Asked::default() };
    match subject.open(roots, MANNER) {
        Err(why) => Asked { why: Some(why), ..Asked::default() },
        Ok(mut device) => {
            let health = subject.health(Ok(&mut device), MANNER);
            let manages = match &health.detail {
                Detail::Nvme(detail) => {
                    detail.controller.as_ref().map(|controller| controller.can_manage_namespaces)
                }
                _ => None,
            };
            let listed = manages.map(|manages| listed(&mut device, manages)).unwrap_or_default();
            // A fact that is missing is missing for a reason, and most of them for the same one.
            let why = health.missing.get("says_good").cloned();
            Asked { health: Some(health), listed, why }
        }
    }
}

/// Returns the health of a drive, read through a descriptor that is already open, such as the permit's; `None` for a
/// drive without commands of its own.
pub fn health_by(roots: &Roots, name: &str, device: &mut Device) -> Option<Health> {
    let subject = Subject::find(roots, name)?;
    subject.protocol()?;
    Some(subject.health(Ok(device), MANNER))
}
