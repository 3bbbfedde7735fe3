//! The safety gate: nothing is written to a device or an existing file except through here.
//!
//! Writing needs three things: that the target is not in use now, that everything on it which would be lost was named,
//! and that its serial number (or another name that no typing error makes up) was typed out. No flag overrides a use;
//! it has to end first.
//!
//! The exclusive open happens before the last look at the device, and is held by the [`Permit`] for the whole run, so
//! that nothing can mount it in between.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::locks::Unlocking;
use crate::sysfs::Roots;

mod device;
mod file;
mod hazard;
mod look;
mod opening;
mod refusal;
mod users;

pub use hazard::{Hazard, HazardError};
use look::{Found, Looked, Mode, fail};
pub use look::{GateError, Request};
pub use refusal::{Consent, Cost, Reason, Refusal};

/// The right to write to one target, as long as it lives.
#[derive(Debug)]
pub struct Permit {
    /// Its lock ends with the permit.
    file: Unlocking,
    path: PathBuf,
    cost: Cost,
}

impl Permit {
    /// The target, open for reading and writing without direct I/O; a block device is open for
    /// exclusive use, a file is locked (`flock`).
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The target's path as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that will be written, as a share of the capacity.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }
}

/// Opens an existing block device or regular file for writing, if there is no reason against it.
///
/// A device is refused while it or a part of it is mounted (in any mount namespace that can be seen), is swap, is held
/// by another device, is a member of a filesystem in use, is open for exclusive use or is open in a process that can be
/// seen, while it is exported, while it is a zoned drive, and where the kernel's account of these cannot be read
/// (`/proc/self/mountinfo`, `/proc/swaps`, `/sys`); these reasons are final. It is refused when it is partitioned or
/// carries a known signature that [`Request::allow`] does not name, and when [`Request::consent`] is not its serial
/// number (of one of several NVMe namespaces with `-n` and its identifier, of a partition with `-part` and its number),
/// a name of it in `/dev/disk/by-id` or the name of a mapped device (a device with none of these is named by its kernel
/// name). A file is refused while it is swap or the backing file of a loop device, by whatever name, while it is a
/// mounted image, lies in a layer of a mounted overlay or is exported, while another program has locked it or a part of
/// it or has it open, and when the consent is not its name.
///
/// A file that this process itself has open counts as open, and so does a device that it has open exclusively. If
/// another process has the target open only for a moment, this function waits, two seconds at most.
///
/// # Errors
/// [`GateError::Refused`] with every reason at once; the others when the target cannot be used at
/// all.
pub fn check(roots: &Roots, path: &Path, request: &Request) -> Result<Permit, GateError> {
    let Found { file, refusal } = find(roots, path, request, Mode::Take)?;
    match file {
        Some(file) if refusal.reasons.is_empty() => {
            Ok(Permit { file, path: refusal.target, cost: refusal.cost })
        }
        _ => Err(GateError::Refused(Box::new(refusal))),
    }
}

/// Finds out whether [`check`] would give a permit, without opening anything for writing.
///
/// # Errors
/// Those of [`check`].
pub fn look(roots: &Roots, path: &Path, request: &Request) -> Result<(), GateError> {
    let refusal = find(roots, path, request, Mode::Look)?.refusal;
    if refusal.reasons.is_empty() { Ok(()) } else { Err(GateError::Refused(Box::new(refusal))) }
}

/// As [`check`], for a device that the user has named in another way, such as among all that a command reaches: it
/// needs no consent word of its own. All other reasons for a refusal apply.
///
/// # Errors
/// Those of [`check`].
pub fn check_named(roots: &Roots, path: &Path, request: &Request) -> Result<Permit, GateError> {
    check(roots, path, &Request { consent: word(roots, path), ..request.clone() })
}

/// The word that consents to writing to the device or file at `path`, as far as it can be found out: nothing is opened.
pub fn word(roots: &Roots, path: &Path) -> Option<String> {
    consent(roots, path)?.accepted.into_iter().next()
}

/// All words that consent to writing to the device or file at `path`, as far as they can be found out: nothing is opened.
pub fn consent(roots: &Roots, path: &Path) -> Option<Consent> {
    let real = fs::canonicalize(path).ok()?;
    let meta = fs::symlink_metadata(&real).ok()?;
    let target = Looked { path, real: &real, meta: &meta };
    match (meta.file_type().is_block_device(), meta.is_file()) {
        (true, _) => device::consent(roots, &target),
        (_, true) => Some(file::consent(&target)),
        _ => None,
    }
}

fn find(roots: &Roots, path: &Path, request: &Request, mode: Mode) -> Result<Found, GateError> {
    let real = fs::canonicalize(path).map_err(fail(path, "find it"))?;
    // No link any more; what becomes one now is of a kind that is refused.
    let meta = fs::symlink_metadata(&real).map_err(fail(path, "look at it"))?;
    let target = Looked { path, real: &real, meta: &meta };
    if meta.file_type().is_block_device() {
        device::find(roots, &target, request, mode)
    } else if meta.is_file() {
        file::find(roots, &target, request, mode)
    } else {
        Err(GateError::Kind(path.to_owned()))
    }
}
