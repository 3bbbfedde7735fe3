//! A look at a target: what it is asked for, and what it comes to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use block::Bytes;
use thiserror::Error;

use super::hazard::Hazard;
use super::refusal::{Consent, Reason, Refusal};
use crate::devices::Use;
use crate::locks::Unlocking;
use crate::signature::Usage;

/// Request for permission to write: its size, the losses allowed and the consent given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Most bytes that will be written; `None` when there is no bound but time.
    pub bytes_to_write: Option<Bytes>,
    /// Losses that are allowed.
    pub allow: BTreeSet<Hazard>,
    /// The target's serial number or another of its names, typed out.
    pub consent: Option<String>,
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
        /// Action that failed, as the end of "cannot …".
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Neither a block device nor a regular file (exit code 2).
    #[error("{}: only a block device or a regular file can be measured", .0.display())]
    Kind(PathBuf),
}

pub(super) fn fail(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> GateError {
    let path = path.to_owned();
    move |source| GateError::Io { path, action, source }
}

/// How a target is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// For reading, to be closed at once.
    Look,
    /// For writing, to be kept.
    Take,
}

/// Result of examining a target.
pub(super) struct Found {
    /// The target, open, as far as nothing final was found.
    pub file: Option<Unlocking>,
    /// Its reasons may be none.
    pub refusal: Refusal,
}

/// A target that was looked at, and not opened yet.
pub(super) struct Looked<'a> {
    /// As the user named it.
    pub path: &'a Path,
    /// Absolute, without links.
    pub real: &'a Path,
    pub meta: &'a fs::Metadata,
}

pub(super) fn judge(uses: Vec<Use>, consent: &Consent, request: &Request) -> Vec<Reason> {
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
            Use::UsersUnknown { .. } => Hazard::UnknownUsers,
            Use::ContentUnknown { .. } | Use::Unreadable { .. } => Hazard::UnknownContent,
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
