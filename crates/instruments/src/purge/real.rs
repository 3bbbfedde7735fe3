//! Purging a drive of this machine.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use bench::consent::{self, Consent};
use bench::engines;
use block::health::{AtaCapabilities, Health};
use block::{Bytes, EngineKind};
use documents::purge::{Body, Device, DriveReport, Outcome, Verified};
use linux::gate::{self, Permit, Request};
use linux::passthrough::{Commands, Device as Asked};
use linux::purge::read_back::{self, Content, Place};
use linux::purge::{
    self, Capability, Ended, Method, Patience, Reader, Status, Surveyed, ata, choose, nvme,
};
use linux::sysfs::Roots;
use linux::target::{Access, AnyTarget, OpenOptions, RealTarget};
use runner::exit::Refused;
use runner::messages;

use super::caveats;
use super::job::{Job, PurgeOutcome, Settings, show};
use super::on_drive::{self, Limits};

/// Purges what `job` names.
pub fn purge(job: &Job<'_>) -> Result<PurgeOutcome> {
    let roots = Roots::default();
    let path = job.settings.device.as_path();
    let found = purge::survey(&roots, path, job.settings.wishes)?;
    let also = &job.settings.also;
    let (chosen, why) = choose(&found.capabilities, job.settings.method, also)
        .with_context(|| format!("{}: cannot be purged", path.display()))?;
    let body = body(job, &found, &chosen, why);
    if job.settings.dry_run {
        let args = job.settings;
        let consent = Consent { consent: args.consent.as_ref(), allow: &args.allow };
        if let Err(refusal) = consent::foresee(consent, path, Some(writes(&found, &chosen))) {
            messages::note(&format!("without --dry-run: {}", messages::described(&refusal)));
        }
        return Ok(PurgeOutcome::Planned(Box::new(body)));
    }
    // Held to the end: they keep other programs away from all that is emptied.
    let (permit, _others) = permits(job, &roots, &found, &chosen)?;
    if !found.is_open_as(permit.file()) {
        let name = path.display();
        return Err(
            Refused(format!("refused to purge {name}: another device took its name")).into()
        );
    }
    let stack = linux::stack::resolve(&roots, path)?;
    let info = found.identity.drive_info(job.settings.device.as_str());
    let identity = linux::describe::identify(&roots, &stack, path, &info);
    job.done(&identity, body, &mut |body| empty(job, &permit, (&found, &chosen), body))
}

/// The offer of the drive at `path`, the method that is taken as a part of something larger, and why that one. It has to
/// empty nothing else.
///
/// # Errors
/// When there is none.
pub fn chosen(settings: &Settings, path: &Path) -> Result<(Surveyed, Capability, String)> {
    let found = purge::survey(&Roots::default(), path, settings.wishes)?;
    let (chosen, why) = choose(&found.capabilities, settings.method, &[])
        .with_context(|| format!("{}: cannot be purged", path.display()))?;
    if !chosen.touches.is_empty() {
        let (method, others) = (chosen.method, chosen.touches.join(", "));
        let refusal =
            format!("refused to purge {}: {method} would empty {others} too", path.display());
        return Err(Refused(refusal).into());
    }
    Ok((found, chosen, why))
}

/// Purges a drive that is held already, as a part of something larger that has consent to all that it does.
pub fn held(job: &Job<'_>, permit: &Permit) -> Result<Body> {
    let (found, chosen, why) = chosen(job.settings, permit.path())?;
    if !found.is_open_as(permit.file()) {
        let name = permit.path().display();
        let refusal = format!("refused to purge {name}: another device took its name");
        return Err(Refused(refusal).into());
    }
    let mut body = body(job, &found, &chosen, why);
    empty(job, permit, (&found, &chosen), &mut body)?;
    Ok(body)
}

/// Empties what `permit` holds, and holds what is read afterwards against what was read before.
fn empty(
    job: &Job<'_>,
    permit: &Permit,
    (found, chosen): (&Surveyed, &Capability),
    body: &mut Body,
) -> Result<()> {
    let roots = Roots::default();
    let places = places(job, found);
    let before = look(job, permit, &places, "read before")?;
    let told_before = reported(&roots, permit, found)?;
    let (ended, seconds) = carry_out(job, permit, found, chosen.method)?;
    let mut verified = Verified { read_back: None, told_before, told_after: None };
    // A drive that is still at it would let reads wait for it.
    if ended.status != Status::Running {
        let after = look(job, permit, &places, "read back")?;
        let seen = read_back::judge(&places, &before, &after, chosen.promise);
        verified.read_back = Some(seen);
        verified.told_after = reported(&roots, permit, found)?;
    }
    if !found.facts.is_partition && !found.forget_partitions(&roots, permit.file()) {
        body.caveats.push(caveats::of_partitions(&found.identity.name));
    }
    if let (Some(before), Some(after)) = (&verified.told_before, &verified.told_after)
        && before.differs_in_form(after)
    {
        body.caveats.push(caveats::of_form(&found.identity.name));
    }
    body.outcome = Some(Outcome { ended, seconds, verified });
    Ok(())
}

fn body(job: &Job<'_>, found: &Surveyed, chosen: &Capability, why: String) -> Body {
    let identity = &found.identity;
    let promises = chosen.promise != read_back::Promise::Nothing;
    let own = std::iter::once(&identity.name);
    Body {
        target: job.settings.device.to_string(),
        device: Device {
            name: identity.name.clone(),
            model: identity.model.clone(),
            serial: identity.serial.clone(),
            firmware: identity.firmware.clone(),
            capacity_bytes: identity.size_bytes,
            logical_block_bytes: identity.logical_block_bytes,
        },
        method: chosen.method,
        why,
        capabilities: found.capabilities.clone(),
        blast_radius: own.chain(&chosen.touches).cloned().collect(),
        engine: Some(engines::chosen(&job.settings.device, job.settings.engine)),
        outcome: None,
        caveats: caveats::of_method(chosen.method, promises, &identity.name),
    }
}

/// The right to empty the target and all else that the method reaches, each held for exclusive use.
fn permits(
    job: &Job<'_>,
    roots: &Roots,
    found: &Surveyed,
    chosen: &Capability,
) -> Result<(Permit, Vec<Permit>)> {
    let args = job.settings;
    let unnamed: Vec<&str> = chosen
        .touches
        .iter()
        .filter(|name| !args.also.contains(name))
        .map(String::as_str)
        .collect();
    if !unnamed.is_empty() {
        let refusal = format!(
            "refused to purge {}: {} would empty {} too; if nothing of that is needed, add --also {}",
            found.path.display(),
            chosen.method,
            unnamed.join(", "),
            unnamed.join(",")
        );
        return Err(Refused(refusal).into());
    }
    let stranger = args.also.iter().find(|name| {
        !found.others.iter().any(|other| other.name == **name) && **name != found.identity.name
    });
    if let Some(name) = stranger {
        bail!(
            "--also {name}: is not another namespace of the subsystem of {}",
            found.path.display()
        );
    }
    let allow = args.allow.iter().map(|word| word.parse()).collect::<Result<BTreeSet<_>, _>>()?;
    let reached = found.others.iter().filter(|other| chosen.touches.contains(&other.name));
    let mut others = Vec::new();
    for path in reached.filter_map(|other| other.path.as_deref()) {
        let request =
            Request { bytes_to_write: Some(Bytes::ZERO), allow: allow.clone(), consent: None };
        others.push(gate::check_named(roots, path, &request)?);
    }
    let consent = Consent { consent: args.consent.as_ref(), allow: &args.allow };
    Ok((consent::ask(consent, &found.path, Some(writes(found, chosen)))?, others))
}

/// Bytes that the host writes; the other methods wear no more than one erase of each block.
fn writes(found: &Surveyed, chosen: &Capability) -> Bytes {
    match chosen.method {
        Method::Zero => found.identity.size_bytes,
        _ => Bytes::ZERO,
    }
}

fn places(job: &Job<'_>, found: &Surveyed) -> Vec<Place> {
    let identity = &found.identity;
    read_back::places(identity.size_bytes, identity.logical_block_bytes, job.settings.seed)
}

/// The drive with the engine that was asked for; `None` for psync, whose calls the descriptor takes itself.
fn with_engine(job: &Job<'_>, permit: &Permit) -> Result<Option<AnyTarget>> {
    let engine = engines::chosen(&job.settings.device, job.settings.engine);
    if engine == EngineKind::Psync {
        return Ok(None);
    }
    let file = permit.file().try_clone().context("cannot keep the device open")?;
    let options = OpenOptions { engine, access: Access::ReadWrite, ..OpenOptions::default() };
    let target = RealTarget::from_file(file, &permit.path().display().to_string(), options)?;
    Ok(Some(target.engine()?))
}

fn look(job: &Job<'_>, permit: &Permit, places: &[Place], what: &str) -> Result<Vec<Content>> {
    if let Some(mut target) = with_engine(job, permit)? {
        return on_drive::look(drives::of_real(&mut target), places);
    }
    let mut bar = job.progress();
    let whole: Bytes = places.iter().map(|place| place.len).sum();
    let mut reader = Reader::new(permit.file()).with_context(|| {
        format!("{}: cannot be read past the page cache", permit.path().display())
    })?;
    let mut done = Bytes::ZERO;
    Ok(read_back::look(places, &mut |offset, buffer| {
        done = Bytes(done.0 + buffer.len() as u64);
        show(&mut bar, what, whole, done.0 as f64 / whole.0.max(1) as f64);
        reader.read(offset, buffer)
    }))
}

/// The way to the drive itself, through the descriptor that holds it.
fn commands(permit: &Permit) -> Result<Asked> {
    let file = permit.file().try_clone().context("cannot keep the device open")?;
    Ok(Asked::from_file(file, &permit.path().display().to_string()))
}

fn reported(roots: &Roots, permit: &Permit, found: &Surveyed) -> Result<Option<DriveReport>> {
    // Asked only where it answered before: a descriptor does not give a right that was not there.
    if found.health.is_none() || found.facts.is_partition {
        return Ok(None);
    }
    let health: Option<Health> =
        purge::health_by(roots, &found.identity.name, &mut commands(permit)?);
    Ok(health.as_ref().map(DriveReport::of))
}

/// Does it; returns how it ended and the seconds that it took.
fn carry_out(
    job: &Job<'_>,
    permit: &Permit,
    found: &Surveyed,
    method: Method,
) -> Result<(Ended, f64)> {
    let mut bar = job.progress();
    let whole = found.whole();
    let mut progress = |share: f64| show(&mut bar, method.word(), whole.size, share);
    if method == Method::Zero
        && let Some(mut target) = with_engine(job, permit)?
    {
        let target = drives::of_real(&mut target);
        let limits = Limits { cancel: &job.cancel, time: job.settings.timeout };
        let begun = target.now();
        let ended = on_drive::empty(target, method, limits, &mut progress)?;
        return Ok((ended, target.now().since(begun).0 as f64 / 1e9));
    }
    let mut patience = Patience::new(&job.cancel, job.settings.timeout, &mut progress);
    let ended = match method {
        Method::NvmeFormat => format(job, permit, found, &mut patience)?,
        Method::NvmeSanitize => sanitize(job, permit, found, &mut patience)?,
        Method::AtaErase => erase(permit, found, &mut patience)?,
        Method::SecureDiscard | Method::Discard | Method::Zero => {
            purge::whole_device(permit.file(), method, whole, &mut patience)
        }
    };
    Ok((ended, patience.elapsed().0 as f64 / 1e9))
}

/// The error when facts are gone that the choice of the method was based on.
const KNOWN: &str = "the drive does not say any more what it said before";

fn format(
    job: &Job<'_>,
    permit: &Permit,
    found: &Surveyed,
    patience: &mut Patience<'_>,
) -> Result<Ended> {
    let namespace = found.facts.nvme.as_ref().and_then(|nvme| nvme.namespace.as_ref());
    let namespace = namespace.context(KNOWN)?;
    let commands: Box<dyn Commands> = Box::new(commands(permit)?);
    Ok(nvme::format(commands, namespace, job.settings.wishes.secure_erase, patience))
}

fn sanitize(
    job: &Job<'_>,
    permit: &Permit,
    found: &Surveyed,
    patience: &mut Patience<'_>,
) -> Result<Ended> {
    let controller = &found.facts.nvme.as_ref().context(KNOWN)?.controller;
    let best = nvme::Sanitizing::best(controller);
    let action = job.settings.wishes.sanitizing.or(best).context(KNOWN)?;
    Ok(nvme::sanitize(&mut commands(permit)?, controller, action, patience))
}

fn erase(permit: &Permit, found: &Surveyed, patience: &mut Patience<'_>) -> Result<Ended> {
    let can: &AtaCapabilities = found.facts.ata.as_ref().context(KNOWN)?;
    let way = ata::AtaWay::best(can).map_err(anyhow::Error::msg)?;
    Ok(ata::erase(Box::new(commands(permit)?), way, patience))
}
