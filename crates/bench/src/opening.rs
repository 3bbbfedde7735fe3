//! Opens a target for an instrument: its name is checked, consent asked for, the engine chosen.

use anyhow::{Context as _, Result, bail};
use block::{Bytes, DriveIdentity, EngineChoice, EngineKind, Environment};
use drives::{OpenDrive, OpenRequest, OpenTarget, TargetSpec, VirtualSpec};
use linux::gate::Permit;
use linux::target::AnyTarget;
use runner::messages;

use crate::consent::{self, Consent};
use crate::{engines, originals, outputs};

/// A target to open, and the permissions for it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Block device, file, virtual drive or `null:`.
    pub target: &'a TargetSpec,
    /// Engine for a real drive.
    pub engine: EngineChoice,
    /// CPUs that submitters are kept on.
    pub cpus: Option<&'a [usize]>,
    /// I/O to a real drive goes through the page cache, on purpose.
    pub buffered: bool,
    /// The user said that it may be written to.
    pub write: bool,
    /// The word of consent.
    pub consent: Option<&'a String>,
    /// Hazards that the user allowed, by name.
    pub allow: &'a [String],
    /// Seed of a virtual drive's own noise.
    pub seed: Option<u64>,
    /// The use of the target, as the end of "cannot be …" when its name is wrong.
    pub what: &'static str,
}

/// Reports flags that have no effect without a kernel in front of the drive. Only those that were set to something else than
/// their default: who leaves them alone expects nothing of them.
pub fn note_without_effect(
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
    messages::note(&format!("{flags} {does} nothing on {target}: no kernel stands before it"));
}

/// A drive that is open.
pub struct Opened<'a> {
    /// Its identity.
    pub identity: DriveIdentity,
    /// Its engine: `io_uring`, `libaio`, `psync`, `virtual`, `null`.
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

/// Bytes that will be written.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// Nothing.
    Nothing,
    /// So much at most.
    AtMost(Bytes),
    /// As many as the drive takes in the time.
    Unbounded,
}

impl Writes {
    /// The most that is written, where anything is: `Some(None)` where only time bounds it.
    fn most(self) -> Option<Option<Bytes>> {
        match self {
            Writes::Nothing => None,
            Writes::AtMost(bytes) => Some(Some(bytes)),
            Writes::Unbounded => Some(None),
        }
    }
}

impl From<Option<Bytes>> for Writes {
    fn from(most: Option<Bytes>) -> Writes {
        most.map_or(Writes::Nothing, Writes::AtMost)
    }
}

/// Does something with a drive that is open, whatever sort it is.
pub trait Visitor {
    /// Its result.
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

/// Opens the target of `place` and passes it to `visitor`. `writes` limits what will be written, if anything is: a virtual
/// drive has no data to lose; for a real one the safety gate is asked when the user gives `--write`, and otherwise it is
/// opened read-only.
///
/// # Errors
/// When it cannot be opened, with what to do; [`runner::exit::Refused`] inside when the safety gate refuses;
/// and the errors of `visitor`.
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
    let target = place.target;
    check_name(target, place.what)?;
    outputs::protect(target.as_path())?;
    let engine = engines::chosen(target, place.engine);
    // Held to the end: it keeps everybody else away from the device.
    let permit = match writes.into().most().filter(|_| place.write && target.is_real()) {
        _ if held.is_some() => held,
        Some(most) => {
            let said = Consent { consent: place.consent, allow: place.allow };
            Some(consent::ask(said, target.as_path(), most)?)
        }
        None => None,
    };
    // After the gate was asked: of what cannot be looked at, it knows best whether it may be written to.
    let drive = drives::open(OpenRequest {
        direct: !place.buffered,
        cpus: place.cpus,
        seed: place.seed,
        permit,
        ..OpenRequest::read(target, engine)
    })?;
    let OpenDrive { target: opened, mut environment, identity, permit } = drive;
    if let TargetSpec::Virtual(spec) = target {
        note_rounding(spec, opened.info().capacity_bytes);
    }
    if target.is_real() {
        originals::note_pending(&identity);
    }
    let same = match &opened {
        OpenTarget::Real(target) => Some(target.try_clone()?),
        OpenTarget::Virtual(_) | OpenTarget::Null(_) => None,
    };
    let again = same.map(|same| move |engine| -> Result<AnyTarget> { Ok(same.again(engine)?) });
    let mut driven = opened.engine()?;
    let opened = Opened {
        identity,
        engine: driven.engine().to_owned(),
        may_write: permit.is_some() || !target.is_real(),
        permit: permit.as_ref(),
        again: again.as_ref().map(|again| again as Again<'_>),
    };
    visitor.visit(driven.io_path(), &mut *environment, &opened)
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

/// Says what became of the capacity that was asked for.
pub fn note_rounding(spec: &VirtualSpec, capacity: Bytes) {
    if let Some(Bytes(asked)) = spec.rounded_from(capacity) {
        messages::note(&format!(
            "{spec}: has {} bytes, since its model consists of whole units; {asked} were asked for",
            capacity.0
        ));
    }
}
