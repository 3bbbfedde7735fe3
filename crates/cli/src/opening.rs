//! From a name to an open drive with what stands around it: the glue that probing and replaying share.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use block::{
    Bytes, DriveIdentity, EngineChoice, EngineKind, Environment, Layer, Leaf, Medium, Stack,
    Target as _,
};
use drives::{TargetSpec, VirtualSpec};
use linux::drive::NullTarget;
use linux::environment::RealEnvironment;
use linux::gate::Permit;
use linux::sysfs::Roots;
use linux::target::{Access, AnyTarget, OpenOptions, RealTarget};

use crate::args::PlaceArgs;
use crate::consent::{self, Said};
use crate::measure::identity_by_name;
use crate::probing::originals;
use crate::{engines, outputs, talk};

/// What is to be opened, and what may be done there.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Block device, file, virtual drive or `null:`.
    pub target: &'a TargetSpec,
    /// How I/O is issued to a real drive.
    pub engine: EngineChoice,
    /// CPUs that submitters are kept on.
    pub cpus: Option<&'a [usize]>,
    /// I/O to a real drive goes through the page cache, on purpose.
    pub buffered: bool,
    /// The user said that it may be written to.
    pub write: bool,
    /// The word of consent.
    pub consent: Option<&'a String>,
    /// What may be lost.
    pub allow: &'a [String],
    /// Seed of a virtual drive's own noise.
    pub seed: Option<u64>,
    /// What cannot be done with a wrong name, as the end of "cannot be …".
    pub what: &'static str,
}

/// Says which flags do nothing on a drive that no kernel stands before. Only those that were set to something else than
/// their default: who leaves them alone expects nothing of them.
pub fn tell_without_effect(
    target: &TargetSpec,
    engine: EngineChoice,
    cpus: Option<&[usize]>,
    others: &[(&'static str, bool)],
) {
    if target.is_real() {
        return;
    }
    let by_name = [
        ("--engine", engine.first() != EngineKind::default()),
        ("--cpus", cpus.is_some() && target.is_virtual()),
    ];
    let given = by_name.iter().chain(others).filter(|(_, is_given)| *is_given);
    let flags: Vec<&str> = given.map(|(flag, _)| *flag).collect();
    let does = match flags.len() {
        0 => return,
        1 => "does",
        _ => "do",
    };
    let flags = flags.join(", ");
    talk::note(&format!("{flags} {does} nothing on {target}: no kernel stands before it"));
}

/// A drive that is open.
pub struct Opened<'a> {
    /// Who it is.
    pub identity: DriveIdentity,
    /// How I/O is issued: `io_uring`, `libaio`, `psync`, `virtual`, `null`.
    pub engine: String,
    /// True when it may be written to.
    pub may_write: bool,
    /// The right to write to a real drive, where the safety gate gave it.
    pub permit: Option<&'a Permit>,
    /// Opens a real drive once more, by the same file, with another engine.
    pub again: Option<Again<'a>>,
}

/// Opens what is open once more.
pub type Again<'a> = &'a dyn Fn(EngineKind) -> Result<AnyTarget>;

/// What will be written.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// Nothing.
    Nothing,
    /// So much at most.
    AtMost(Bytes),
    /// What the drive takes in the time.
    Unbounded,
}

impl From<Option<Bytes>> for Writes {
    fn from(most: Option<Bytes>) -> Writes {
        most.map_or(Writes::Nothing, Writes::AtMost)
    }
}

/// Does something with a drive that is open, whatever sort it is.
pub trait Visitor {
    /// What comes of it.
    type Out;

    /// Is handed the drive.
    ///
    /// # Errors
    /// Its own.
    fn visit(
        &mut self,
        target: &mut dyn engine::IoPath,
        environment: &mut dyn Environment,
        opened: &Opened<'_>,
    ) -> Result<Self::Out>;
}

/// Opens what `place` names and lets `visitor` have it. `writes` is the most that will be written, where anything
/// will: of a virtual drive nobody loses anything, and of a real one the safety gate is asked when the user says
/// `--write`; otherwise it is opened for reading alone.
///
/// # Errors
/// What makes it impossible, each with what to do; [`crate::exit::Refused`] inside when it is the safety gate that
/// says no; and the errors of `visitor`.
pub fn open<V: Visitor>(
    place: Place<'_>,
    writes: impl Into<Writes>,
    visitor: &mut V,
) -> Result<V::Out> {
    open_held(place, writes, None, visitor)
}

/// As [`open`], where the safety gate may have given the right to write already.
///
/// # Errors
/// Those of [`open`].
pub fn open_held<V: Visitor>(
    place: Place<'_>,
    writes: impl Into<Writes>,
    held: Option<Permit>,
    visitor: &mut V,
) -> Result<V::Out> {
    match place.target {
        TargetSpec::Virtual(spec) => on_virtual(place, spec, visitor),
        TargetSpec::Null => on_null(place, visitor),
        TargetSpec::Path(path) => {
            check_name(place.target, place.what)?;
            let path = Path::new(path);
            outputs::protect(path)?;
            on_real(place, path, writes.into(), held, visitor)
        }
    }
}

/// Finds out, before anybody is asked for a word, whether what is to be `what` can be opened at all.
///
/// # Errors
/// When it is not there, or is a directory.
pub fn check_name(target: &TargetSpec, what: &str) -> Result<()> {
    let TargetSpec::Path(name) = target else { return Ok(()) };
    if name.is_empty() {
        bail!("a name is wanted of what is to be {what}, and it is empty");
    }
    let meta = std::fs::metadata(name).with_context(|| {
        format!(
            "{name}: cannot be {what}; name a device, a file or a virtual drive, such as sim:usb-8m"
        )
    })?;
    if meta.is_dir() {
        bail!(
            "{name}: is a directory, and a filesystem hides where on its device a file lies; name the device, which \
             `drivescope devices` lists"
        );
    }
    Ok(())
}

fn on_virtual<V: Visitor>(place: Place<'_>, spec: &VirtualSpec, visitor: &mut V) -> Result<V::Out> {
    let mut target = spec.open()?;
    note_rounding(spec, target.info().capacity_bytes);
    if let Some(seed) = place.seed {
        target.reseed(seed);
    }
    let mut environment = target.environment();
    let opened = Opened {
        identity: identity_by_name(target.info()),
        engine: "virtual".to_owned(),
        may_write: true,
        permit: None,
        again: None,
    };
    visitor.visit(drives::of_virtual(&mut target), &mut environment, &opened)
}

/// Says what became of the capacity that was asked for.
pub fn note_rounding(spec: &VirtualSpec, capacity: Bytes) {
    if let Some(Bytes(asked)) = spec.rounded_from(capacity) {
        talk::note(&format!(
            "{spec}: has {} bytes, since its model consists of whole units; {asked} were asked for",
            capacity.0
        ));
    }
}

fn on_null<V: Visitor>(place: Place<'_>, visitor: &mut V) -> Result<V::Out> {
    let null = NullTarget::default();
    let mut target = match place.cpus {
        Some(cpus) => null.pin_cpus(cpus.to_vec()),
        None => null,
    };
    let mut environment = RealEnvironment::new(Roots::default(), null_stack(), None);
    let opened = Opened {
        identity: identity_by_name(target.info()),
        engine: "null".to_owned(),
        may_write: true,
        permit: None,
        again: None,
    };
    visitor.visit(drives::of_null(&mut target), &mut environment, &opened)
}

/// What I/O to nothing passes through.
pub fn null_stack() -> Stack {
    let name = "null:".to_owned();
    let layer = Layer { kind: "null".to_owned(), name: name.clone(), ..Default::default() };
    Stack { layers: vec![layer], leaves: vec![Leaf { name, medium: Medium::Unknown, model: None }] }
}

fn on_real<V: Visitor>(
    place: Place<'_>,
    path: &Path,
    writes: Writes,
    held: Option<Permit>,
    visitor: &mut V,
) -> Result<V::Out> {
    let engine = engines::chosen(place.target, place.engine);
    let options = |access| OpenOptions {
        engine,
        access,
        direct: !place.buffered,
        pin_cpus: place.cpus.map(<[usize]>::to_vec),
        ..OpenOptions::default()
    };
    // Held to the end: it keeps everybody else away from the device.
    let most = match writes {
        Writes::Nothing => None,
        Writes::AtMost(bytes) => Some(Some(bytes)),
        Writes::Unbounded => Some(None),
    };
    let permit = match most.filter(|_| place.write) {
        _ if held.is_some() => held,
        Some(most) => {
            let said = Said { consent: place.consent, allow: place.allow };
            Some(consent::ask(said, path, most)?)
        }
        None => None,
    };
    // After the gate was asked: of what cannot be looked at, it knows best whether it may be written to.
    let roots = Roots::default();
    let stack = linux::stack::resolve(&roots, path)?;
    let mut target = match &permit {
        Some(permit) => {
            let file = permit.file().try_clone().context("cannot keep the target open")?;
            RealTarget::from_file(file, place.target.as_str(), options(Access::ReadWrite))?
        }
        None => RealTarget::open(path, options(Access::ReadOnly))?,
    };
    target.describe(|info| linux::describe::describe(&roots, &stack, info));
    let identity = linux::describe::identify(&roots, &stack, path, target.info());
    originals::tell(&identity, &PlaceArgs::default());
    let same = target.try_clone()?;
    let again = |engine| -> Result<AnyTarget> { Ok(same.again(engine)?) };
    let opened = Opened {
        identity,
        engine: engine.to_string(),
        may_write: permit.is_some(),
        permit: permit.as_ref(),
        again: Some(&again),
    };
    let watched = target.file().try_clone().context("cannot keep the target open")?;
    let mut environment = RealEnvironment::new(roots, stack, Some(watched));
    visitor.visit(drives::of_real(&mut target.engine()?), &mut environment, &opened)
}
