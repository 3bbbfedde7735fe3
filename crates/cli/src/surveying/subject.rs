//! Target of a survey, before anything is measured.

use std::fs;

use anyhow::{Context as _, Result, bail};
use bench::outputs;
use block::health::Health;
use block::{Bytes, DriveIdentity, DriveInfo, DriveKind, Stack};
use drives::{Look, TargetSpec};
use survey::parts::Sort;

use crate::messages;
use crate::verbs::health;

/// Size of one read of a survey: a smaller target has no rate.
const SMALLEST: Bytes = Bytes(1 << 20);

/// The virtual drive that is used if nothing can be measured.
pub const EMBEDDED: &str = "sim:usb-8m";

/// Target of a survey.
pub struct Subject {
    /// Name, as the user typed it.
    pub name: TargetSpec,
    /// Reason for the choice, if the user named none.
    pub chosen: Option<String>,
    /// Properties that it reports.
    pub info: DriveInfo,
    /// Layers that I/O to it passes through.
    pub stack: Stack,
    /// Identity.
    pub identity: DriveIdentity,
    /// Kind, which decides the order of parts.
    pub sort: Sort,
    /// Health of its drives, as they report it.
    pub health: Vec<Health>,
}

impl Subject {
    /// The target of this name.
    ///
    /// # Errors
    /// Returns an error if there is none.
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

    /// The named target, or the current directory if its data is on a drive, or else the virtual drive.
    ///
    /// # Errors
    /// Returns an error if the target that the user named does not exist.
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

    /// True for a drive without data to lose.
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
