//! What is surveyed, as it stands before anything is measured.

use std::fs;

use anyhow::{Context as _, Result, bail};
use block::health::Health;
use block::{Bytes, DriveIdentity, DriveInfo, DriveKind, Environment as _, Stack, Target as _};
use drives::TargetSpec;
use linux::sysfs::Roots;
use survey::parts::Sort;

use crate::measure::{identity_by_name, unopened};
use crate::opening::null_stack;
use crate::verbs::health;
use crate::{outputs, talk};

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
        match &name {
            TargetSpec::Virtual(spec) => {
                let target = spec.open()?;
                let mut environment = target.environment();
                let health = Health::of_virtual(target.info(), &environment.snapshot());
                let (info, stack) = (target.info().clone(), environment.stack().clone());
                let told = Subject::told(name, info, stack, chosen);
                Ok(Subject { health: vec![health], ..told })
            }
            TargetSpec::Null => {
                let info = DriveInfo { kind: DriveKind::Null, ..unopened(name.as_str()) };
                Ok(Subject::told(name, info, null_stack(), chosen))
            }
            TargetSpec::Path(_) => Subject::of_real(name, chosen),
        }
    }

    /// Of a target that is who its name says.
    fn told(name: TargetSpec, info: DriveInfo, stack: Stack, chosen: Option<String>) -> Subject {
        Subject {
            name,
            chosen,
            identity: identity_by_name(&info),
            sort: Sort::of(&info, &stack, false),
            info,
            stack,
            health: Vec::new(),
        }
    }

    fn of_real(name: TargetSpec, chosen: Option<String>) -> Result<Subject> {
        let (path, roots) = (name.as_path(), Roots::default());
        let meta = fs::metadata(path).with_context(|| {
            format!("{name}: cannot be surveyed; name a directory, a file, a device or a virtual drive, such as {EMBEDDED}")
        })?;
        outputs::protect(path)?;
        let stack = linux::stack::resolve(&roots, path)?;
        let mut info = unopened(name.as_str());
        if !meta.is_dir() {
            info.capacity_bytes = linux::target::size_of(path)?;
            enough(&name, info.capacity_bytes)?;
        }
        if !meta.is_dir() && !meta.is_file() {
            info.kind = DriveKind::BlockDevice;
        }
        linux::describe::describe(&roots, &stack, &mut info);
        Ok(Subject {
            chosen,
            identity: linux::describe::identify(&roots, &stack, path, &info),
            sort: Sort::of(&info, &stack, meta.is_dir()),
            info,
            stack,
            health: health::of(&name)?,
            name,
        })
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
            Err(error) => {
                Subject::embedded(&format!("the current directory: {}", talk::told(&error)))
            }
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
