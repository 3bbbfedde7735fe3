//! Purging a virtual drive: no data is lost, and the effect is known.

use anyhow::{Context as _, Result};
use block::{Bytes, Target as _};
use documents::purge::{Body, Device, Outcome, Verified};
use drives::{OpenDrive, VirtualSpec};
use linux::purge::read_back::{self, Promise};
use linux::purge::{Capability, Facts, Method, NoMethod, capabilities, choose};
use sim::VirtualTarget;

use super::caveats;
use super::job::{Job, PurgeOutcome, Settings, show};
use super::on_drive::{self, Limits};

/// The largest discard that a virtual drive takes at a time.
const DISCARD_BYTES_MAX: Bytes = Bytes(1 << 30);

/// Purges what `job` names. The places that are read back are written before: a virtual drive holds nothing until then.
pub fn purge(job: &Job<'_>, spec: &VirtualSpec) -> Result<PurgeOutcome> {
    let OpenDrive { mut target, identity, .. } =
        drives::open_virtual(spec, Some(job.settings.seed))?;
    let (body, promise) = body(job, &target)?;
    let method = body.method;
    if job.settings.dry_run {
        return Ok(PurgeOutcome::Planned(Box::new(body)));
    }
    job.done(&identity, body, &mut |body| {
        body.outcome = Some(empty(job, drives::of_virtual(&mut target), method, promise)?);
        Ok(())
    })
}

/// Purges a drive that is open already, by discarding all of it.
pub fn held(job: &Job<'_>, target: &mut dyn engine::IoPath) -> Result<Outcome> {
    empty(job, target, Method::Discard, Promise::Gone)
}

/// Empties `target`, and holds what is read afterwards against what was written before.
fn empty(
    job: &Job<'_>,
    target: &mut dyn engine::IoPath,
    method: Method,
    promise: Promise,
) -> Result<Outcome> {
    let info = target.info();
    let (capacity, block) = (info.capacity_bytes, info.logical_block_bytes);
    let places = read_back::places(capacity, block, job.settings.seed);
    on_drive::mark(target, &places)?;
    let before = on_drive::look(target, &places)?;
    let begun = target.now();
    let mut bar = job.progress();
    let limits = Limits { cancel: &job.cancel, time: job.settings.timeout };
    let ended = on_drive::empty(target, method, limits, &mut |share| {
        show(&mut bar, method.word(), capacity, share);
    })?;
    let seconds = target.now().since(begun).0 as f64 / 1e9;
    let after = on_drive::look(target, &places)?;
    let read_back = read_back::judge(&places, &before, &after, promise);
    let verified = Verified { read_back: Some(read_back), told_before: None, told_after: None };
    Ok(Outcome { ended, seconds, verified })
}

/// The offer of the virtual drive, the method that is taken, and why that one.
pub fn chosen(
    settings: &Settings,
    target: &VirtualTarget,
) -> Result<(Vec<Capability>, Capability, String), NoMethod> {
    let discard_max = if target.discards() { DISCARD_BYTES_MAX } else { Bytes::ZERO };
    let unasked = Some("a virtual drive has no commands of its own".to_owned());
    let facts = Facts { discard_max, unasked, ..Facts::default() };
    let offered = capabilities(&facts, settings.wishes);
    let (chosen, why) = choose(&offered, settings.method, &[])?;
    Ok((offered, chosen, why))
}

fn body(job: &Job<'_>, target: &VirtualTarget) -> Result<(Body, Promise)> {
    let info = target.info();
    let (offered, chosen, why) =
        chosen(job.settings, target).with_context(|| format!("{}: cannot be purged", info.name))?;
    let (method, promise) = (chosen.method, chosen.promise);
    let body = Body {
        target: job.settings.device.to_string(),
        device: Device {
            name: info.name.clone(),
            model: info.model.clone(),
            serial: info.serial.clone(),
            firmware: None,
            capacity_bytes: info.capacity_bytes,
            logical_block_bytes: info.logical_block_bytes,
        },
        method,
        why,
        capabilities: offered,
        blast_radius: vec![info.name.clone()],
        engine: None,
        outcome: None,
        caveats: caveats::of_method(method, true, &info.name),
    };
    Ok((body, promise))
}
