//! What is surveyed, as it stands before anything is measured.

use std::fs;

use anyhow::{Context as _, Result, bail};
use bench::outputs;
use block::health::Health;
use block::{Bytes, DriveIdentity, DriveInfo, DriveKind, Stack};
use drives::{Look, TargetSpec};
use survey::parts::Sort;

use crate::messages;
use crate::verbs::health;

/// What a survey reads in one piece: of less there is no rate.
const SMALLEST: Bytes = Bytes(1 << 20);

/// The virtual drive that is taken where nothing can be measured.
pub const EMBEDDED: &str = "sim:usb-8m";

/// What is surveyed.
pub struct Subject {
    /// As the user named it.
    pub name: TargetSpec,
    /// Why it was taken, when the user named none.
    pub chosen: Option<String>,
    /// What it says of itself.
    pub info: DriveInfo,
    /// What I/O to it passes through.
    pub stack: Stack,
    /// Who it is.
    pub identity: DriveIdentity,
    /// What decides the order of parts.
    pub sort: Sort,
    /// What its drives say of their state.
    pub health: Vec<Health>,
}

impl Subject {
    /// The target of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn of(name: TargetSpec, chosen: Option<String>) -> Result<Subject> {
        if let TargetSpec::Path(path) = &name {
            fs::metadata(path).with_context(|| {
                format!("{name}: cannot be surveyed; name a directory, a file, a device or a virtual drive, such as {EMBEDDED}")
            })?;
            outputs::protect(name.as_path())?;
        }
        let Look { info, stack, identity, health, is_directory } = drives::look(&name)?;
        let health = match &name {
            TargetSpec::Path(_) => {
                if !is_directory {
                    enough(&name, info.capacity_bytes)?;
                }
                health::of(&name)?
            }
            TargetSpec::Virtual(_) | TargetSpec::Null => health.into_iter().collect(),
        };
        let sort = Sort::of(&info, &stack, is_directory);
        Ok(Subject { name, chosen, info, stack, identity, sort, health })
    }

    /// What the user named, or the current directory where its data lies on a drive, or else the virtual drive.
    ///
    /// # Errors
    /// When what the user named is not there.
    pub fn chosen(target: Option<&TargetSpec>) -> Result<Subject> {
        if let Some(name) = target {
            return Subject::of(name.clone(), None);
        }
        let why = "no target was named: the current directory";
        match Subject::of(TargetSpec::of("."), Some(why.to_owned())) {
            Ok(here) if here.sort != Sort::NoMedium && !here.stack.is_memory() => Ok(here),
            Ok(_) => Subject::embedded("the current directory lies in this machine's memory"),
            Err(error) => Subject::embedded(&format!(
                "the current directory: {}",
                messages::described(&error)
            )),
        }
    }

    /// The virtual drive, for this reason.
    ///
    /// # Errors
    /// Those of `sim`.
    pub fn embedded(why: &str) -> Result<Subject> {
        let chosen = format!("no target was named, and {why}; so this is a virtual drive");
        Subject::of(TargetSpec::of(EMBEDDED), Some(chosen))
    }

    /// True for what nobody loses anything on.
    pub fn is_not_real(&self) -> bool {
        matches!(self.info.kind, DriveKind::Virtual | DriveKind::Null)
    }
}

fn enough(name: &TargetSpec, size: Bytes) -> Result<()> {
    if size < SMALLEST {
        bail!(
            "{name} has {}, and a survey reads blocks of {}\nhint: name a larger file, its directory or a device",
            size.human(),
            SMALLEST.human()
        );
    }
    Ok(())
}
