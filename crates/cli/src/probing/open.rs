//! From a name to a drive on the bench.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use block::{Bytes, DriveIdentity, DriveInfo, Target};
use engine::{Bench, TargetBench};
use linux::environment::RealEnvironment;
use linux::sysfs::Roots;
use linux::target::{Access, AnyTarget, OpenOptions, RealTarget};
use probe::claims::Claim;

use crate::args::ProbePlaceArgs;
use crate::consent::{self, Said};
use crate::exit::Refused;
use crate::measure::identity_by_name;

/// A drive that is open.
pub struct Opened {
    /// Who it is.
    pub identity: DriveIdentity,
    /// How I/O is issued: `io_uring`, `libaio`, `psync`, `virtual`.
    pub engine: String,
    /// True when it may be written to.
    pub may_write: bool,
    /// What it says of itself.
    pub claims: Vec<Claim>,
    /// Classes of speed that it says it has.
    pub classes: Vec<String>,
}

/// Does something with a drive on the bench.
pub type Work<'a, R> = &'a mut dyn FnMut(&mut dyn Bench, &Opened) -> Result<R>;

/// Opens what `place` names and lets `work` have it. `writes` is the most that will be written, where anything
/// will: of a virtual drive nobody loses anything, and of a real one the safety gate is asked when the user says
/// `--write`; otherwise it is opened for reading alone.
///
/// # Errors
/// What makes probing impossible, each with what to do; [`Refused`] inside when it is the safety gate that says no;
/// and the errors of `work`.
pub fn with_bench<R>(
    place: &ProbePlaceArgs,
    writes: Option<Bytes>,
    cancel: &AtomicBool,
    work: Work<'_, R>,
) -> Result<R> {
    let name = place.name();
    if name.starts_with("sim:") {
        return on_virtual(place, cancel, work);
    }
    if name == "null:" {
        bail!("null: has no times of its own; name a device, a file or sim:usb-8m");
    }
    let path = Path::new(name);
    let meta = std::fs::metadata(path).with_context(|| {
        format!(
            "{name}: cannot be probed; name a device, a file or a virtual drive, such as sim:usb-8m"
        )
    })?;
    if meta.is_dir() {
        bail!(
            "{name}: is a directory, and a filesystem hides where on its device a file lies; name the device, which \
             `drivescope devices` lists"
        );
    }
    on_real(place, path, writes, cancel, work)
}

fn on_virtual<R>(place: &ProbePlaceArgs, cancel: &AtomicBool, work: Work<'_, R>) -> Result<R> {
    let mut target = sim::open(place.name())?;
    if let Some(seed) = place.seed {
        target.reseed(seed);
    }
    let mut environment = target.environment();
    let opened = Opened {
        identity: identity_by_name(target.info()),
        engine: "virtual".to_owned(),
        may_write: true,
        claims: of_capacity(target.info()),
        classes: Vec::new(),
    };
    work(&mut TargetBench::new(&mut target, &mut environment, cancel), &opened)
}

fn on_real<R>(
    place: &ProbePlaceArgs,
    path: &Path,
    writes: Option<Bytes>,
    cancel: &AtomicBool,
    work: Work<'_, R>,
) -> Result<R> {
    let roots = Roots::default();
    let stack = linux::stack::resolve(&roots, path)?;
    let options = |access| OpenOptions {
        engine: place.engine,
        access,
        pin_cpus: place.cpus.clone(),
        ..OpenOptions::default()
    };
    // Held to the end: it keeps everybody else away from the device.
    let permit = match writes {
        Some(bytes) if place.write => {
            let said = Said { consent: place.consent.as_ref(), allow: &place.allow };
            Some(consent::ask(said, path, Some(bytes))?)
        }
        _ => None,
    };
    let mut target = match &permit {
        Some(permit) => {
            let file = permit.file().try_clone().context("cannot keep the target open")?;
            RealTarget::from_file(file, place.name(), options(Access::ReadWrite))?
        }
        None => RealTarget::open(path, options(Access::ReadOnly))?,
    };
    target.describe(|info| linux::describe::describe(&roots, &stack, info));
    let stated = linux::claims::of(&roots, &stack);
    let sizes = stated.sizes.into_iter().map(|claim| Claim {
        name: claim.name,
        meaning: claim.meaning.to_owned(),
        source: claim.source,
        bytes: claim.bytes,
    });
    let opened = Opened {
        identity: linux::describe::identify(&roots, &stack, path, target.info()),
        engine: place.engine.to_string(),
        may_write: permit.is_some(),
        claims: sizes.chain(of_capacity(target.info())).collect(),
        classes: stated.classes.into_iter().map(|class| class.name).collect(),
    };
    let watched = target.file().try_clone().context("cannot keep the target open")?;
    let mut environment = RealEnvironment::new(roots, stack, Some(watched));
    match target.engine()? {
        AnyTarget::IoUring(mut target) => {
            work(&mut TargetBench::new(&mut target, &mut environment, cancel), &opened)
        }
        AnyTarget::Libaio(mut target) => {
            work(&mut TargetBench::new(&mut target, &mut environment, cancel), &opened)
        }
        AnyTarget::Psync(mut target) => {
            work(&mut TargetBench::new(&mut target, &mut environment, cancel), &opened)
        }
    }
}

fn of_capacity(info: &DriveInfo) -> Vec<Claim> {
    probe::claims::of_capacity(info.capacity_bytes).into_iter().collect()
}

/// Refuses a verb that can do nothing without writing, when it may not.
///
/// # Errors
/// [`Refused`], with what to add.
pub fn must_write(place: &ProbePlaceArgs, verb: &str) -> Result<()> {
    if place.name().starts_with("sim:") || place.write {
        return Ok(());
    }
    Err(Refused(format!(
        "{}: probe {verb} writes, and what the drive holds is lost; add --write --consent SERIAL, which `drivescope \
         devices` tells",
        place.name()
    ))
    .into())
}
