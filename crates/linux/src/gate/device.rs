//! A block device before the gate.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use block::Bytes;

use super::look::{Found, GateError, Looked, Mode, Request, fail, judge};
use super::refusal::{Consent, Cost, Reason, Refusal};
use super::{opening, users};
use crate::devices::{Identity, InUse, Use, content};
use crate::locks::Unlocking;
use crate::sysfs::{BlockNode, DevNo, Roots};

/// Looks at a device and opens it.
pub(super) fn find(
    roots: &Roots,
    target: &Looked<'_>,
    request: &Request,
    mode: Mode,
) -> Result<Found, GateError> {
    let Looked { path, real, meta } = *target;
    let number = DevNo::from_raw(meta.rdev());
    let Some(node) = BlockNode::by_number(roots, number) else {
        return Err(not_in_sysfs(roots, target, number, request));
    };
    let mut uses = InUse::now(roots).of(roots, &node);
    // Opened for writing only when it is not in use: closing such a descriptor makes udev look again.
    let is_free = !uses.iter().any(Use::is_final);
    let file = match opening::device(real, meta, is_free.then_some(mode)) {
        Ok(file) => Some(file),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            uses.push(Use::Busy { device: node.name().to_owned() });
            opening::device(real, meta, None).ok()
        }
        // Reasons are worth more than a look inside that is not permitted.
        Err(_) if !is_free => None,
        Err(error) => return Err(fail(path, "open it for writing")(error)),
    };
    if !uses.iter().any(Use::is_final) {
        uses.extend(users::of_device(roots, &node));
    }
    if let Some(file) = &file {
        let found = content::inside(&node, file);
        // An unreadable target is refused when it would be written to, and only then fatal.
        uses.extend(
            found
                .or_else(|error| if is_free { Err(error) } else { Ok(Vec::new()) })
                .map_err(fail(path, "read it to look for filesystems"))?,
        );
    }
    let identity = Identity::of(roots, &node);
    let refusal = Refusal {
        target: path.to_owned(),
        is_device: true,
        model: identity.model.clone(),
        reasons: judge(uses, &consent_for(roots, &identity, &node), request),
        cost: Cost { bytes: request.bytes_to_write, capacity: node.size() },
    };
    Ok(Found { file: file.map(Unlocking::new), refusal })
}

/// A device that sysfs does not show is gone; where nothing at all is shown, any device may be in use.
fn not_in_sysfs(roots: &Roots, target: &Looked<'_>, number: DevNo, request: &Request) -> GateError {
    let shown = roots.sys.join("dev/block");
    let why = match fs::read_dir(&shown).map(|mut entries| entries.next().is_some()) {
        Ok(true) => {
            let unknown = io::Error::other(format!("sysfs has no block device {number}"));
            return fail(target.path, "find it")(unknown);
        }
        Ok(false) => format!("{}: it is empty", shown.display()),
        Err(error) => format!("{}: {error}", shown.display()),
    };
    let device = target.real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found = Use::Unseen { device, what: "in use", why };
    GateError::Refused(Box::new(Refusal {
        target: target.path.to_owned(),
        is_device: true,
        model: None,
        reasons: vec![Reason::InUse(found)],
        cost: Cost { bytes: request.bytes_to_write, capacity: Bytes::ZERO },
    }))
}

/// Words that consent to writing to a device; `None` where sysfs does not show it.
pub(super) fn consent(roots: &Roots, target: &Looked<'_>) -> Option<Consent> {
    let node = BlockNode::by_number(roots, DevNo::from_raw(target.meta.rdev()))?;
    Some(consent_for(roots, &Identity::of(roots, &node), &node))
}

/// Names that no typing error makes up, the best first. A kernel name counts only where there is no other: it
/// belongs to whatever drive was found first.
fn consent_for(roots: &Roots, identity: &Identity, node: &BlockNode) -> Consent {
    let partition = node.attr("partition");
    let mut accepted = Vec::new();
    let mut what = "the device's kernel name (it has no serial number)";
    if let Some(serial) = &identity.serial {
        // Consent to the loss of a partition is not consent to the loss of the disk, nor the other way round; nor is
        // consent for one namespace consent for another.
        let disk = node.disk();
        let several = !disk.other_namespaces(roots).is_empty();
        let nsid = disk.attr("nsid").filter(|_| several);
        what = match (&partition, &nsid) {
            (Some(_), _) => "the drive's serial number with the partition's",
            (None, Some(_)) => "the drive's serial number with the namespace's",
            (None, None) => "the drive's serial number",
        };
        let space = nsid.map_or(String::new(), |number| format!("-n{number}"));
        let part = partition.as_ref().map_or(String::new(), |number| format!("-part{number}"));
        accepted.push(format!("{serial}{space}{part}"));
    }
    let mapped = ["dm/name", "dm/uuid"].iter().filter_map(|name| node.attr(name));
    accepted.extend(mapped);
    if identity.serial.is_none() && !accepted.is_empty() {
        what = "the mapped device's name";
    }
    if accepted.is_empty() && !identity.by_id.is_empty() {
        what = "the drive's name in /dev/disk/by-id";
    }
    accepted.extend(identity.by_id.iter().cloned());
    if accepted.is_empty() {
        accepted.push(identity.name.clone());
    }
    Consent { what, accepted }
}
