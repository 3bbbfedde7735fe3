//! The safety gate: nothing is written to a device or an existing file except through here.
//!
//! Writing needs three things: that nobody uses the target now, that everything on it which would
//! be lost was named, and that its serial number (or another name that no typing error makes up) was
//! typed out. What is in use now cannot be overridden by any flag; the use has to end first.
//!
//! The exclusive open happens before the last look at the device, and is held by the [`Permit`] for
//! the whole run: nobody can mount it in between.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use block::Bytes;
use thiserror::Error;

use crate::devices::{Identity, InUse, Use, loops};
use crate::mounts;
use crate::signature::{self, Usage};
use crate::sysfs::{BlockNode, DevNo, Roots};

mod opening;
mod refusal;

pub use refusal::{Consent, Cost, Reason, Refusal};

/// Something on a device that would be lost, which the user may allow by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// A partition table and the partitions in it (`partitions`).
    Partitions,
    /// A signature of this kind, on the device or in one of its partitions (`signature:ext4`).
    Signature(String),
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hazard::Partitions => f.write_str("partitions"),
            Hazard::Signature(kind) => write!(f, "signature:{kind}"),
        }
    }
}

/// A word that names no hazard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{0:?} cannot be allowed; what can be is `partitions` and `signature:<kind>` (mounted, swap and \
     held devices are never written to)"
)]
pub struct HazardError(String);

impl FromStr for Hazard {
    type Err = HazardError;

    fn from_str(text: &str) -> Result<Hazard, HazardError> {
        match text.split_once(':') {
            None if text == "partitions" => Ok(Hazard::Partitions),
            Some(("signature", kind)) if !kind.is_empty() => {
                Ok(Hazard::Signature(kind.to_ascii_lowercase()))
            }
            _ => Err(HazardError(text.to_owned())),
        }
    }
}

/// What the user wants, and what the user said to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Most bytes that will be written; `None` when there is no bound but time.
    pub bytes_to_write: Option<Bytes>,
    /// What may be lost.
    pub allow: BTreeSet<Hazard>,
    /// The target's serial number or another of its names, typed out.
    pub consent: Option<String>,
}

/// The right to write to one target, as long as it lives.
#[derive(Debug)]
pub struct Permit {
    file: File,
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

    /// What will be written, as a share of what there is.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }
}

impl Drop for Permit {
    /// Gives the lock on a file back now. A child of this process holds a copy of the descriptor
    /// from its fork to its exec, and the lock would live on in it.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.file, rustix::fs::FlockOperation::Unlock);
    }
}

/// Why there is no permit.
#[derive(Debug, Error)]
pub enum GateError {
    /// Refused for safety (exit code 3).
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The target cannot be used at all (exit code 2).
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// The path as the user named it.
        path: PathBuf,
        /// What was tried, as the end of "cannot …".
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Neither a block device nor a regular file (exit code 2).
    #[error("{}: only a block device or a regular file can be measured", .0.display())]
    Kind(PathBuf),
}

fn fail(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> GateError {
    let path = path.to_owned();
    move |source| GateError::Io { path, action, source }
}

/// Opens a block device or a regular file for measuring without writing. Needs no more than the
/// right to read, and asks nothing.
///
/// # Errors
/// [`GateError::Io`] with the kernel's answer; [`GateError::Kind`] for anything else, a pipe that
/// nobody writes to would be waited for.
pub fn open_for_reading(path: &Path) -> Result<File, GateError> {
    let kind = fs::metadata(path).map_err(fail(path, "look at it"))?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(GateError::Kind(path.to_owned()));
    }
    File::open(path).map_err(fail(path, "open it for reading"))
}

/// Opens an existing block device or regular file for writing, if nothing stands against it.
///
/// A device is refused while it or a part of it is mounted (in any mount namespace that can be
/// seen), is swap, is held by another device, is a member of a filesystem in use, or is open for
/// exclusive use, while it is a zoned drive, and where the kernel's account of these cannot be read
/// (`/proc/self/mountinfo`, `/proc/swaps`, `/sys`); these are final. It is refused when it is partitioned or carries a
/// known signature that [`Request::allow`] does not name, and when [`Request::consent`] is not its serial number
/// (of one of several NVMe namespaces with `-n` and its identifier, of a partition with `-part` and its number), a name
/// of it in `/dev/disk/by-id` or the name of a mapped device
/// (a device with none of these is named by its kernel name). A file
/// is refused while it is swap or the backing file of a loop device, by whatever name, while another
/// program has locked it or a part of it, and when the consent is not its name.
///
/// # Errors
/// [`GateError::Refused`] with every reason at once; the others when the target cannot be used at
/// all.
pub fn check(roots: &Roots, path: &Path, request: &Request) -> Result<Permit, GateError> {
    let real = fs::canonicalize(path).map_err(fail(path, "find it"))?;
    // No link any more; what becomes one now is of a kind that is refused.
    let meta = fs::symlink_metadata(&real).map_err(fail(path, "look at it"))?;
    let target = Looked { path, real: &real, meta: &meta };
    if meta.file_type().is_block_device() {
        check_device(roots, &target, request)
    } else if meta.is_file() {
        check_file(roots, &target, request)
    } else {
        Err(GateError::Kind(path.to_owned()))
    }
}

/// As [`check`], for a device that the user has named in another way, such as among all that a command reaches: no
/// word of its own is asked for then. Whatever else stands against it counts all the same.
///
/// # Errors
/// Those of [`check`].
pub fn check_named(roots: &Roots, path: &Path, request: &Request) -> Result<Permit, GateError> {
    let first = check(roots, path, &Request { consent: None, ..request.clone() });
    match word_in(&first) {
        Some(word) => check(roots, path, &Request { consent: Some(word), ..request.clone() }),
        None => first,
    }
}

/// The word that consents to writing to the device or file at `path`, as far as it can be found out: nothing is opened to be
/// written to.
pub fn word(roots: &Roots, path: &Path) -> Option<String> {
    word_in(&check(roots, path, &Request::default()))
}

fn word_in(answer: &Result<Permit, GateError>) -> Option<String> {
    let Err(GateError::Refused(refusal)) = answer else { return None };
    refusal.reasons.iter().find_map(|reason| match reason {
        Reason::NoConsent { consent, .. } => consent.accepted.first().cloned(),
        _ => None,
    })
}

/// A target that was looked at, and not opened yet.
struct Looked<'a> {
    /// As the user named it.
    path: &'a Path,
    /// Absolute, without links.
    real: &'a Path,
    meta: &'a fs::Metadata,
}

fn check_device(
    roots: &Roots,
    target: &Looked<'_>,
    request: &Request,
) -> Result<Permit, GateError> {
    let Looked { path, real, meta } = *target;
    let number = DevNo::from_raw(meta.rdev());
    let Some(node) = BlockNode::by_number(roots, number) else {
        return Err(not_in_sysfs(roots, target, number, request));
    };
    let mut uses = examine(roots, &node);
    // Opened for writing only when nobody uses it: closing such a descriptor makes udev look again.
    let is_free = !uses.iter().any(Use::is_final);
    let file = match opening::device(real, meta, is_free) {
        Ok(file) => Some(file),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            uses.push(Use::Busy { device: node.name().to_owned() });
            opening::device(real, meta, false).ok()
        }
        // Reasons are worth more than a look inside that is not permitted.
        Err(_) if !is_free => None,
        Err(error) => return Err(fail(path, "open it for writing")(error)),
    };
    if let Some(file) = &file {
        let found = signatures(&node, file);
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
    grant(file, refusal)
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

/// Uses that can be seen without opening the device.
fn examine(roots: &Roots, node: &BlockNode) -> Vec<Use> {
    InUse::now(roots).of(roots, node)
}

/// Signatures on the device, and in its partitions through the device itself.
fn signatures(node: &BlockNode, file: &File) -> io::Result<Vec<Use>> {
    use std::os::unix::fs::FileExt;
    let mut regions = vec![(node.name().to_owned(), Bytes::ZERO, node.size())];
    regions.extend(node.partitions().iter().map(|partition| {
        (partition.name().to_owned(), partition.start().unwrap_or_default(), partition.size())
    }));
    let mut uses = Vec::new();
    for (device, start, size) in regions {
        let found = signature::probe(size, &mut |offset, buffer| {
            file.read_exact_at(buffer, start.0 + offset)
        })?;
        for signature in found {
            // The kernel may not have read the table; then nothing else told of partitions.
            let told = uses.iter().any(|seen| matches!(seen, Use::Partitioned { .. }));
            if signature.usage == Usage::Table && !told {
                uses.push(Use::Partitioned { device: device.clone(), partitions: Vec::new() });
            }
            uses.push(Use::Signed { device: device.clone(), signature });
        }
    }
    Ok(uses)
}

/// Names that no typing error makes up, the best first. A kernel name counts only where there is no other: it
/// belongs to whatever drive was found first.
fn consent_for(roots: &Roots, identity: &Identity, node: &BlockNode) -> Consent {
    let partition = node.attr("partition");
    let mut accepted = Vec::new();
    let mut what = "the device's kernel name (it has no serial number)";
    if let Some(serial) = &identity.serial {
        // Who consents to the loss of a partition has not consented to that of the disk, nor the other way round; nor
        // to that of one namespace who consents to that of another.
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

fn judge(uses: Vec<Use>, consent: &Consent, request: &Request) -> Vec<Reason> {
    let mut hazards: BTreeSet<Use> = BTreeSet::new();
    let (last, rest): (Vec<Use>, Vec<Use>) = uses.into_iter().partition(Use::is_final);
    let kernel_told = rest
        .iter()
        .any(|u| matches!(u, Use::Partitioned { partitions, .. } if !partitions.is_empty()));
    hazards.extend(rest.into_iter().filter(|u| {
        !(kernel_told && matches!(u, Use::Partitioned { partitions, .. } if partitions.is_empty()))
    }));
    let mut reasons: Vec<Reason> = last.into_iter().map(Reason::InUse).collect();
    for found in hazards {
        let hazard = match &found {
            // The table itself is allowed with the partitions in it.
            Use::Signed { signature, .. } if signature.usage != Usage::Table => {
                Hazard::Signature(signature.kind.to_owned())
            }
            _ => Hazard::Partitions,
        };
        let is_table = matches!(&found, Use::Signed { .. }) && hazard == Hazard::Partitions;
        if !is_table && !request.allow.contains(&hazard) {
            reasons.push(Reason::NotAllowed { found, hazard });
        }
    }
    match &request.consent {
        Some(given) if consent.is_given_by(given) => {}
        given => {
            reasons.push(Reason::NoConsent { given: given.clone(), consent: consent.clone() });
        }
    }
    reasons
}

fn grant(file: Option<File>, refusal: Refusal) -> Result<Permit, GateError> {
    match file {
        Some(file) if refusal.reasons.is_empty() => {
            Ok(Permit { file, path: refusal.target, cost: refusal.cost })
        }
        _ => Err(GateError::Refused(Box::new(refusal))),
    }
}

fn check_file(roots: &Roots, target: &Looked<'_>, request: &Request) -> Result<Permit, GateError> {
    let Looked { path, real, meta } = *target;
    let mut uses = uses_of_file(roots, real, meta);
    let mut file = None;
    if uses.is_empty() {
        let open = opening::file(real, meta).map_err(fail(path, "open it for writing"))?;
        match opening::is_locked(&open).map_err(fail(path, "ask who has locked it"))? {
            true => uses.push(Use::Busy { device: real.display().to_string() }),
            false => file = Some(open),
        }
    }
    let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let consent = Consent { what: "the file's name", accepted: vec![name] };
    let refusal = Refusal {
        target: path.to_owned(),
        is_device: false,
        model: None,
        reasons: judge(uses, &consent, request),
        cost: Cost { bytes: request.bytes_to_write, capacity: Bytes(meta.len()) },
    };
    grant(file, refusal)
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
    uses
}

/// True when `other` is the path of this file, or, by a hard link or a bind mount, of its inode.
fn leads_to(other: &Path, real: &Path, meta: &fs::Metadata) -> bool {
    let is_inode = |at: fs::Metadata| (at.dev(), at.ino()) == (meta.dev(), meta.ino());
    other == real || fs::metadata(other).is_ok_and(is_inode)
}
