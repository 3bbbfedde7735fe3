//! A drive on the bench, with what it says of itself.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use block::{Bytes, DriveIdentity, DriveInfo, DriveKind, Environment};
use engine::{Bench, IoPath, TargetBench};
use linux::sysfs::Roots;
use probe::Task;
use probe::claims::Claim;

use crate::args::ProbePlaceArgs;
use crate::consent;
use crate::exit::Refused;
use crate::opening::{self, Place, Visitor};

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

/// Opens what `place` names and lets `work` have it, as [`opening::open`] does.
///
/// # Errors
/// As [`opening::open`], and the errors of `work`.
pub fn with_bench<R>(
    place: &ProbePlaceArgs,
    writes: Option<Bytes>,
    cancel: &AtomicBool,
    work: Work<'_, R>,
) -> Result<R> {
    let name = place.name();
    if name == "null:" {
        bail!("null: has no times of its own; name a device, a file or sim:usb-8m");
    }
    opening::tell_without_effect(name, place.engine, place.cpus.as_deref(), &[]);
    let opened = Place {
        name,
        engine: place.engine,
        cpus: place.cpus.as_deref(),
        buffered: false,
        write: place.write,
        consent: place.consent.as_ref(),
        allow: &place.allow,
        seed: place.seed,
        what: "probed",
    };
    opening::open(opened, writes, &mut OnBench { cancel, work })
}

struct OnBench<'a, 'b, R> {
    cancel: &'a AtomicBool,
    work: Work<'b, R>,
}

impl<R> Visitor for OnBench<'_, '_, R> {
    type Out = R;

    fn visit(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        opened: &opening::Opened<'_>,
    ) -> Result<R> {
        let (claims, classes) = stated(target.info(), environment);
        let opened = Opened {
            identity: opened.identity.clone(),
            engine: opened.engine.clone(),
            may_write: opened.may_write,
            claims,
            classes,
        };
        (self.work)(&mut TargetBench::new(target, environment, self.cancel), &opened)
    }
}

/// What a drive says of itself: sizes, and classes of speed.
fn stated(info: &DriveInfo, environment: &dyn Environment) -> (Vec<Claim>, Vec<String>) {
    let of_capacity = probe::claims::of_capacity(info.capacity_bytes);
    if info.kind == DriveKind::Virtual {
        return (of_capacity.into_iter().collect(), Vec::new());
    }
    let stated = linux::claims::of(&Roots::default(), environment.stack());
    let sizes = stated.sizes.into_iter().map(|claim| Claim {
        name: claim.name,
        meaning: claim.meaning.to_owned(),
        source: claim.source,
        bytes: claim.bytes,
    });
    let classes = stated.classes.into_iter().map(|class| class.name).collect();
    (sizes.chain(of_capacity).collect(), classes)
}

/// Refuses a verb that can do nothing without writing, when it may not.
///
/// # Errors
/// [`Refused`], with what to add.
pub fn must_write(place: &ProbePlaceArgs, task: &Task) -> Result<()> {
    let is_put_back = matches!(task, Task::Capacity(options) if options.keeps);
    let is_full = matches!(task, Task::Capacity(options) if options.full);
    let verb = if is_full { "capacity --full" } else { task.word() };
    if place.name().starts_with("sim:") || place.write {
        return Ok(());
    }
    opening::check_name(place.name(), "probed")?;
    let size = linux::target::size_of(Path::new(place.name())).ok();
    let most = size.and_then(|size| will_write(task, size));
    let most = most.map_or_else(String::new, |most| {
        format!(" up to {}", report::number::bytes(most.0 as f64))
    });
    Err(Refused(format!(
        "{}: probe {verb} writes{most}, and {}; add {}",
        place.name(),
        match (is_put_back, is_full) {
            (true, _) => "restores what it overwrote",
            (_, true) => "erases everything that the drive holds",
            _ => "what the drive holds is lost",
        },
        consent::flags_for(place.name())
    ))
    .into())
}

/// Bytes that a probe writes to a genuine drive of `size`, where that is known before; a fake takes more.
pub fn will_write(task: &Task, size: Bytes) -> Option<Bytes> {
    let Task::Capacity(options) = task else { return None };
    Some(Bytes(options.writes(size.0)))
}
