//! A refusal that says everything at once: each reason, what to do, what to type, what it costs.

use std::fmt;
use std::path::PathBuf;

use block::{Bytes, quoted};

use super::hazard::Hazard;
use crate::devices::Use;

/// A refusal to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The target as the user named it.
    pub target: PathBuf,
    /// True for a block device, false for a file.
    pub is_device: bool,
    /// The drive's model.
    pub model: Option<String>,
    /// Every reason; never empty in a refusal that is returned.
    pub reasons: Vec<Reason>,
    /// Bytes that would be written, as a share of the capacity.
    pub cost: Cost,
}

/// One reason of a [`Refusal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is in use; no flag helps.
    InUse(Use),
    /// It would lose something that was not named.
    NotAllowed {
        /// Use or content that was found.
        found: Use,
        /// Hazard that would have to be allowed.
        hazard: Hazard,
    },
    /// Its name was not typed out, or another was.
    NoConsent {
        /// Text that was typed.
        given: Option<String>,
        /// Names that would be accepted.
        consent: Consent,
    },
}

/// Names, one of which the user must type to consent to writing to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// Kind of the first name.
    pub what: &'static str,
    /// Names that count, the best first; never empty.
    pub accepted: Vec<String>,
}

impl Consent {
    /// True when `given` is one of the names, exactly; a by-id name or that of a mapped device may come with its
    /// directory.
    pub fn is_given_by(&self, given: &str) -> bool {
        let given = given.trim();
        let directories = ["/dev/disk/by-id/", "/dev/mapper/"];
        let name = directories.iter().find_map(|dir| given.strip_prefix(dir)).unwrap_or(given);
        self.accepted.iter().any(|accepted| accepted == name)
    }
}

/// Bytes to be written, as a share of what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Most bytes that will be written; `None` when only time bounds them.
    pub bytes: Option<Bytes>,
    /// Size of the target.
    pub capacity: Bytes,
}

impl Cost {
    /// How many times over the whole capacity would be written: the unit in which endurance is
    /// rated (drive writes). `None` without a bound or without a capacity.
    pub fn drive_writes(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|_| self.capacity > Bytes::ZERO)?;
        Some(bytes.0 as f64 / self.capacity.0 as f64)
    }
}

/// Says what will be written and its share, without a full stop.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.bytes, self.drive_writes()) {
            (Some(Bytes::ZERO), _) => write!(
                f,
                "no data would be written; all of its {} may be erased",
                self.capacity.human()
            ),
            (Some(bytes), Some(share)) => write!(
                f,
                "up to {} would be written, {share:.3} times its capacity of {}",
                bytes.human(),
                self.capacity.human()
            ),
            (Some(bytes), None) => write!(f, "up to {} would be written", bytes.human()),
            (None, _) => write!(f, "writing would be bounded by time only"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused to write to {}", self.target.display())?;
        if let Some(model) = &self.model {
            write!(f, " ({model})")?;
        }
        // While it is in use no word helps, so none is asked for.
        let in_use = self.reasons.iter().any(|r| matches!(r, Reason::InUse(_)));
        for reason in &self.reasons {
            if !(in_use && matches!(reason, Reason::NoConsent { .. })) {
                write!(f, "\n  - {reason}")?;
            }
        }
        write!(f, "\n  {}", self.cost)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::InUse(found) => {
                write!(f, "{found}: {}; no flag overrides this", remedy(found))
            }
            Reason::NotAllowed { found, hazard: Hazard::UnknownUsers } => {
                write!(f, "{found}: if nothing uses it, add --allow {}", Hazard::UnknownUsers)
            }
            Reason::NotAllowed { found, hazard: Hazard::UnknownContent } => write!(
                f,
                "{found}: if nothing on it is needed, add --allow {}",
                Hazard::UnknownContent
            ),
            Reason::NotAllowed { found, hazard } => write!(
                f,
                "{found}, which writing destroys: if nothing of it is needed, add --allow {hazard}"
            ),
            Reason::NoConsent { given, consent } => {
                let word = quoted(consent.accepted.first().map_or("", String::as_str));
                match given {
                    Some(given) => {
                        write!(f, "{given:?} is not {}; to consent: --consent {word}", consent.what)
                    }
                    None => write!(
                        f,
                        "writing destroys what is there: to consent, type out {}: --consent {word}",
                        consent.what
                    ),
                }
            }
        }
    }
}

fn remedy(found: &Use) -> String {
    match found {
        Use::Mounted { mount_point, seen_by: None, .. } => {
            format!("unmount it first (umount {})", quoted(&mount_point.to_string_lossy()))
        }
        Use::Mounted { seen_by: Some(pid), .. } => {
            format!("unmount it there first (nsenter -m -t {pid} umount …)")
        }
        // A file is named by its path, a device by its kernel name.
        Use::Swap { device } if device.starts_with('/') => {
            format!("end its use first (swapoff {})", quoted(device))
        }
        Use::Swap { device } => format!("end its use first (swapoff /dev/{device})"),
        Use::Held { by, .. } => format!("take {by} apart first, or measure /dev/{by} itself"),
        Use::Member { of, .. } => format!("unmount or stop {of} first"),
        Use::Busy { .. } => "end that program, or export the pool, first".to_owned(),
        Use::Open { device, by } if by.is_empty() => {
            format!("unmount it or end its user first (findmnt; fuser -v {})", quoted(device))
        }
        Use::Open { by, .. } if by.iter().all(|user| user.pid == std::process::id()) => {
            "do not redirect input or output to the target".to_owned()
        }
        Use::Open { .. } => "end that program first".to_owned(),
        Use::Exported { .. } => "disable that export first".to_owned(),
        Use::Layer { mount_point, .. } => format!(
            "unmount the overlay first, or name the file by its path below {}",
            quoted(&mount_point.to_string_lossy())
        ),
        Use::LoopBacking { by, .. } => format!("detach it first (losetup -d /dev/{by})"),
        Use::ReadOnly { .. } => "measure reads only (--read-only)".to_owned(),
        Use::Zoned { .. } => {
            "measure reads only; writes out of order are not what such a drive is for".to_owned()
        }
        Use::Unseen { .. } => {
            "let it be read first; a container or a sandbox may hide /proc or /sys".to_owned()
        }
        Use::Unread { .. } => "measure as a user who may read it".to_owned(),
        Use::Partitioned { .. }
        | Use::Signed { .. }
        | Use::UsersUnknown { .. }
        | Use::ContentUnknown { .. }
        | Use::Unreadable { .. } => "name it".to_owned(),
    }
}
