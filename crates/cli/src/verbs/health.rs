//! `drivescope health`: what a drive says of its own state.

use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use bench::durable;
use bench::originals;
use bench::outputs;
use block::health::{Change, Health};
use block::{Layer, Leaf, Medium, Stack, WallClock};
use drives::{Look, TargetSpec};
use linux::health::{self, Manner, Protocol, Subject};
use linux::passthrough::{Commands, Device, Playback, Recorder};
use linux::sysfs::Roots;
use record::RunId;
use report::Style;
use serde::{Deserialize, Serialize};

use crate::args::{DevicesArgs, HealthArgs, Patient, RECORDING};
use crate::envelope::{SystemClock, document};
use crate::exit::Exit;
use crate::messages;
use crate::verbs::devices;

/// The form of the body.
const SCHEMA: &str = "drivescope.health/1";

#[derive(Serialize)]
struct Body {
    target: String,
    stack: Stack,
    drives: Vec<Health>,
    /// Changes since the earlier reading, if one was named.
    changes: Vec<Change>,
}

/// Runs the verb.
///
/// # Errors
/// When the target is not there, a recording is none, or an earlier reading is of another drive.
pub fn main(args: &HealthArgs) -> Result<Exit> {
    let Some(device) = &args.device else { return list(args.json) };
    args.record_commands.as_deref().map_or(Ok(()), outputs::declare)?;
    let earlier = args.since.as_deref().map(earlier).transpose()?;
    if let Patient::Drive(target) = device {
        originals::note_pending_at(target.as_path());
    }
    let (stack, drives) = ask(device, args)?;
    let changes =
        earlier.map(|earlier| changes(&earlier, &drives)).transpose().with_context(|| {
            let name = args.since.as_deref().unwrap_or(Path::new("-"));
            format!("{}: nothing can be compared with it", name.display())
        })?;
    let is_bad = drives.iter().any(Health::is_bad);
    if args.json {
        let run_id = RunId::new(SystemClock.now(), u64::from(std::process::id()));
        let changes = changes.unwrap_or_default();
        let body = Body { target: device.to_string(), stack, drives, changes };
        messages::document(&document(SCHEMA, run_id, &SystemClock, body))?;
    } else {
        let listing = views::health::listing(&drives, changes.as_deref());
        messages::result(&report::render_listing(&listing, Style::default()))?;
    }
    Ok(if is_bad { Exit::No } else { Exit::Done })
}

/// Health that the drives below `target` report; those in standby are not woken.
///
/// # Errors
/// Returns an error if the target does not exist.
pub fn of(target: &TargetSpec) -> Result<Vec<Health>> {
    let device = Patient::Drive(target.clone());
    let args =
        HealthArgs { device: None, json: false, since: None, wake: false, record_commands: None };
    ask(&device, &args).map(|(_, drives)| drives)
}

/// Lists the drives whose health can be asked.
fn list(json: bool) -> Result<Exit> {
    let devices = devices::list(&DevicesArgs { devices: Vec::new(), json })?;
    let first =
        devices.first().map_or("/dev/sda".into(), |device| device.path.display().to_string());
    messages::note(&format!("to see the health of one: drivescope health {first}"));
    Ok(Exit::Done)
}

fn ask(device: &Patient, args: &HealthArgs) -> Result<(Stack, Vec<Health>)> {
    let manner = Manner { may_wake: args.wake };
    let is_real = match device {
        Patient::Drive(target) => !target.is_virtual(),
        Patient::Recording(_) => false,
    };
    if !is_real && args.record_commands.is_some() {
        bail!("--record-commands is for real drives, and {device} is none");
    }
    match device {
        Patient::Drive(target @ TargetSpec::Virtual(_)) => {
            let Look { stack, health, .. } = drives::look(target)?;
            Ok((stack, health.into_iter().collect()))
        }
        Patient::Drive(target) => of_real(target, args, manner),
        Patient::Recording(file) => of_recording(file, manner),
    }
}

fn of_recording(file: &Path, manner: Manner) -> Result<(Stack, Vec<Health>)> {
    let mut playback = Playback::open(file)?;
    let health = health::read_played(&mut playback, manner).map_err(anyhow::Error::msg)?;
    if playback.remaining() > 0 {
        messages::note(&format!(
            "{}: {} recorded commands were not asked; another version may have asked them",
            file.display(),
            playback.remaining()
        ));
    }
    let name = playback.device().to_owned();
    let layer = Layer { kind: "recording".to_owned(), name: name.clone(), ..Layer::default() };
    let leaf = Leaf { name, medium: Medium::Unknown, model: health.model.clone() };
    Ok((Stack { layers: vec![layer], leaves: vec![leaf] }, vec![health]))
}

fn of_real(target: &TargetSpec, args: &HealthArgs, manner: Manner) -> Result<(Stack, Vec<Health>)> {
    let roots = Roots::default();
    let path = target.as_path();
    // Other programs query the controller; here, health belongs to the drive that holds the data.
    let is_controller = path.strip_prefix("/dev").is_ok_and(|name| {
        !name.as_os_str().is_empty() && roots.sys.join("class/nvme").join(name).exists()
    });
    if is_controller {
        bail!(
            "{target}: is a controller; name one of its namespaces, such as {target}n1 (drivescope devices lists them)"
        );
    }
    let stack = linux::stack::resolve(&roots, path)?;
    if args.record_commands.is_some() && stack.leaves.len() != 1 {
        let names: Vec<_> = stack.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        bail!(
            "--record-commands records one drive, and below {target} there are {}; name one of them",
            names.join(", ")
        );
    }
    let of_leaf = |leaf: &Leaf| match Subject::find(&roots, &leaf.name) {
        Some(subject) => of_subject(&roots, &subject, args, manner),
        None => Ok(health::of_unknown(leaf)),
    };
    let drives = stack.leaves.iter().map(of_leaf).collect::<Result<Vec<_>>>()?;
    Ok((stack, drives))
}

fn of_subject(
    roots: &Roots,
    subject: &Subject,
    args: &HealthArgs,
    manner: Manner,
) -> Result<Health> {
    let device = subject.open(roots, manner);
    match (device, &args.record_commands, subject.protocol()) {
        (Ok(device), Some(file), Some(protocol)) => record(subject, device, protocol, file, manner),
        (Ok(mut device), ..) => Ok(subject.health(Ok(&mut device), manner)),
        (Err(why), Some(_), _) => {
            bail!("{}: there is nothing to record: {why}", subject.name());
        }
        (Err(why), None, _) => Ok(subject.health(Err(why), manner)),
    }
}

fn record(
    subject: &Subject,
    device: Device,
    protocol: Protocol,
    path: &Path,
    manner: Manner,
) -> Result<Health> {
    let fail = || format!("{}: cannot be written", path.display());
    let file = outputs::create_new(path)?;
    let word = protocol.to_string();
    let mut recorder = Recorder::new(device, subject.name(), &word, BufWriter::new(file));
    if let Protocol::Nvme(Some(nsid)) = protocol {
        recorder.namespace(nsid);
    }
    let health = {
        let commands: &mut dyn Commands = &mut recorder;
        subject.health(Ok(commands), manner)
    };
    recorder.finish().with_context(fail)?;
    durable::settle(path).with_context(fail)?;
    messages::note(&format!(
        "{}: holds all that the drive said, its serial number among it; to see it again: drivescope health \
         {RECORDING}{}",
        path.display(),
        path.display()
    ));
    Ok(health)
}

/// Fields that an earlier reading must have, in any envelope.
#[derive(Deserialize)]
struct Earlier {
    body: EarlierBody,
}

#[derive(Deserialize)]
struct EarlierBody {
    drives: Vec<Health>,
}

fn earlier(path: &Path) -> Result<Vec<Health>> {
    let bytes = crate::inputs::read(path)?;
    let what =
        || format!("{}: is not a reading that drivescope health --json made", path.display());
    let value: serde_json::Value = serde_json::from_slice(&bytes).with_context(what)?;
    let form = value["envelope"]["schema"].as_str().unwrap_or("none").to_owned();
    if form != SCHEMA {
        bail!("{}: has the form {form}, and this version reads {SCHEMA}", path.display());
    }
    // Of the text once more, which has lines and columns to name.
    let read: Earlier = serde_json::from_slice(&bytes).with_context(what)?;
    Ok(read.body.drives)
}

/// Changes of each drive that is also in the earlier reading; a drive that was added since has none.
fn changes(earlier: &[Health], now: &[Health]) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    let mut refusal = None;
    for drive in now {
        let tried = earlier.iter().map(|before| Change::between(before, drive));
        let mut errors = Vec::new();
        let found = tried.filter_map(|change| change.map_err(|error| errors.push(error)).ok());
        match found.collect::<Vec<_>>().into_iter().next() {
            Some(change) => changes.push(change),
            None => refusal = errors.into_iter().next().or(refusal),
        }
    }
    match refusal {
        Some(error) if changes.is_empty() => Err(error.into()),
        _ => Ok(changes),
    }
}
