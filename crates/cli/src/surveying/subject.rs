//! What is surveyed, as it stands before anything is measured.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use block::health::Health;
use block::{Bytes, DriveIdentity, DriveInfo, DriveKind, Environment as _, Stack, Target as _};
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
    pub name: String,
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
    pub fn of(name: &str, chosen: Option<String>) -> Result<Subject> {
        if name.starts_with("sim:") {
            return Subject::of_virtual(name, chosen);
        }
        if name == "null:" {
            let info = DriveInfo { kind: DriveKind::Null, ..unopened(name) };
            return Ok(Subject::told(info, null_stack(), chosen));
        }
        Subject::of_real(name, chosen)
    }

    fn of_virtual(name: &str, chosen: Option<String>) -> Result<Subject> {
        let target = sim::open(name)?;
        let mut environment = target.environment();
        let health = Health::of_virtual(target.info(), &environment.snapshot());
        let told = Subject::told(target.info().clone(), environment.stack().clone(), chosen);
        Ok(Subject { name: name.to_owned(), health: vec![health], ..told })
    }

    /// Of a target that is who its name says.
    fn told(info: DriveInfo, stack: Stack, chosen: Option<String>) -> Subject {
        Subject {
            name: info.name.clone(),
            chosen,
            identity: identity_by_name(&info),
            sort: Sort::of(&info, &stack, false),
            info,
            stack,
            health: Vec::new(),
        }
    }

    fn of_real(name: &str, chosen: Option<String>) -> Result<Subject> {
        let (path, roots) = (Path::new(name), Roots::default());
        let meta = fs::metadata(path).with_context(|| {
            format!("{name}: cannot be surveyed; name a directory, a file, a device or a virtual drive, such as {EMBEDDED}")
        })?;
        outputs::protect(path)?;
        let stack = linux::stack::resolve(&roots, path)?;
        let mut info = unopened(name);
        if !meta.is_dir() {
            info.capacity_bytes = linux::target::size_of(path)?;
            enough(name, info.capacity_bytes)?;
        }
        if !meta.is_dir() && !meta.is_file() {
            info.kind = DriveKind::BlockDevice;
        }
        linux::describe::describe(&roots, &stack, &mut info);
        Ok(Subject {
            name: name.to_owned(),
            chosen,
            identity: linux::describe::identify(&roots, &stack, path, &info),
            sort: Sort::of(&info, &stack, meta.is_dir()),
            info,
            stack,
            health: health::of(name)?,
        })
    }

    /// What the user named, or the current directory where its data lies on a drive, or else the virtual drive.
    ///
    /// # Errors
    /// When what the user named is not there.
    pub fn chosen(target: Option<&str>) -> Result<Subject> {
        if let Some(name) = target {
            return Subject::of(name, None);
        }
        match Subject::of(".", Some("no target was named: the current directory".to_owned())) {
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
        Subject::of(EMBEDDED, Some(chosen))
    }

    /// True for what nobody loses anything on.
    pub fn is_not_real(&self) -> bool {
        matches!(self.info.kind, DriveKind::Virtual | DriveKind::Null)
    }
}

fn enough(name: &str, size: Bytes) -> Result<()> {
    if size < SMALLEST {
        bail!(
            "{name} has {}, and a survey reads blocks of {}\nhint: name a larger file, its directory or a device",
            size.human(),
            SMALLEST.human()
        );
    }
    Ok(())
}
