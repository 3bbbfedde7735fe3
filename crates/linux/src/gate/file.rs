//! A regular file before the gate.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use block::Bytes;

use super::look::{Found, GateError, Looked, Mode, Request, fail, judge};
use super::refusal::{Consent, Cost, Refusal};
use super::{opening, users};
use crate::devices::{Use, exports, loops};
use crate::locks::Unlocking;
use crate::mounts::{self, Mount};
use crate::sysfs::Roots;

/// Looks at a file, opens and locks it.
pub(super) fn find(
    roots: &Roots,
    target: &Looked<'_>,
    request: &Request,
    mode: Mode,
) -> Result<Found, GateError> {
    let Looked { path, real, meta } = *target;
    let device = || real.display().to_string();
    let mut uses = uses_of_file(roots, real, meta);
    let mut file = None;
    if !uses.iter().any(Use::is_final) {
        match opening::file(real, meta, mode) {
            Ok(open) => file = Some(Unlocking::new(open)),
            // A program that runs.
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => {
                uses.push(Use::Open { device: device(), by: Vec::new() });
            }
            Err(error) => return Err(fail(path, "open it for writing")(error)),
        }
    }
    if let Some(file) = &file {
        match opening::is_locked(file).map_err(fail(path, "ask who has locked it"))? {
            true => uses.push(Use::Busy { device: device() }),
            false => uses.extend(users::of_file(roots, &device(), file)),
        }
    }
    let refusal = Refusal {
        target: path.to_owned(),
        is_device: false,
        model: None,
        reasons: judge(uses, &consent(target), request),
        cost: Cost { bytes: request.bytes_to_write, capacity: Bytes(meta.len()) },
    };
    Ok(Found { file, refusal })
}

/// The word that consents to writing to a file.
pub(super) fn consent(target: &Looked<'_>) -> Consent {
    let name = target.real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Consent { what: "the file's name", accepted: vec![name] }
}

/// Uses that can be seen without opening the file.
fn uses_of_file(roots: &Roots, real: &Path, meta: &fs::Metadata) -> Vec<Use> {
    let device = || real.display().to_string();
    let unseen =
        |what, error: io::Error| Use::Unseen { device: device(), what, why: error.to_string() };
    let mut uses = Vec::new();
    match mounts::swaps(roots) {
        Ok(swaps) if swaps.iter().any(|swap| leads_to(swap, real, meta)) => {
            uses.push(Use::Swap { device: device() });
        }
        Ok(_) => {}
        Err(error) => uses.push(unseen("in use as swap", error)),
    }
    match loops::all(roots) {
        Ok(loops) => {
            let on_it = loops.into_iter().filter(|backing| backing.is_file(real, meta));
            let by = |backing: loops::Backing| backing.by;
            uses.extend(on_it.map(by).map(|by| Use::LoopBacking { file: real.to_owned(), by }));
        }
        Err(error) => uses.push(unseen("under a loop device", error)),
    }
    let lent = exports::all(roots).into_iter().filter(|export| export.is_file(real, meta));
    uses.extend(lent.map(|export| Use::Exported { device: device(), by: export.by }));
    match mounts::all_namespaces(roots) {
        Ok(mounts) => uses.extend(of_mounts(roots, &mounts, real, meta)),
        Err(error) => uses.push(Use::UsersUnknown { device: device(), why: error.to_string() }),
    }
    uses
}

/// Mounts that a file is the image of, and overlays that it belongs to.
fn of_mounts(roots: &Roots, mounts: &[Mount], real: &Path, meta: &fs::Metadata) -> Vec<Use> {
    let device = real.display().to_string();
    let mounted = |mount: &Mount| Use::Mounted {
        device: device.clone(),
        mount_point: mount.mount_point.clone(),
        fstype: mount.fstype.clone(),
        seen_by: mount.seen_by,
    };
    let mut uses: Vec<Use> = mounts::of_image(roots, mounts, meta).map(mounted).collect();
    if let Some(layer) = mounts::layer_of(roots, mounts, real) {
        let (file, mount_point) = (real.to_owned(), layer.mount.mount_point.clone());
        uses.push(match layer.is_certain {
            true => Use::Layer { file, layer: layer.name, mount_point },
            false => {
                let why = format!(
                    "it may lie in the {} directory of the overlay on {}",
                    layer.name,
                    mount_point.display()
                );
                Use::UsersUnknown { device, why }
            }
        });
    }
    uses.sort();
    uses.dedup();
    uses
}

/// True when `other` is the path of this file, or, by a hard link or a bind mount, of its inode.
fn leads_to(other: &Path, real: &Path, meta: &fs::Metadata) -> bool {
    let is_inode = |at: fs::Metadata| (at.dev(), at.ino()) == (meta.dev(), meta.ino());
    other == real || fs::metadata(other).is_ok_and(is_inode)
}
