//! `drivescope devices`: what can be measured here, and what must not be touched.

use anyhow::{Context as _, Result, bail};
use bench::originals;
use block::quoted;
use drives::TargetSpec;
use linux::devices::{self, Device};
use linux::gate;
use linux::sysfs::Roots;
use report::Style;
use serde::Serialize;

use crate::args::DevicesArgs;
use crate::exit::Exit;
use crate::messages;
use crate::verbs::print_json;

#[derive(Serialize)]
struct Body<'a> {
    devices: &'a [Device],
}

/// Runs the verb.
///
/// # Errors
/// When a named device is not there.
pub fn main(args: &DevicesArgs) -> Result<Exit> {
    list(args).map(|_| Exit::Done)
}

/// Prints the devices, and returns them.
///
/// # Errors
/// As [`main`].
pub fn list(args: &DevicesArgs) -> Result<Vec<Device>> {
    let roots = Roots::default();
    devices::told(&roots).context("what is here cannot be listed; a container may hide /sys")?;
    let mut devices = devices::list(&roots);
    for name in &args.devices {
        if name.is_virtual() {
            let quoted = quoted(name.as_str());
            bail!("{name}: is a virtual drive; drivescope sim show {quoted} describes it");
        }
        if !devices.iter().any(|device| is_named(device, name)) {
            let known: Vec<_> = devices.iter().map(|d| d.path.display().to_string()).collect();
            bail!("{name}: no such disk with a medium; there are {}", known.join(", "));
        }
    }
    if !args.devices.is_empty() {
        devices.retain(|device| args.devices.iter().any(|name| is_named(device, name)));
    }
    devices.iter().for_each(|device| originals::note_pending_at(&device.path));
    if args.json {
        print_json("drivescope.devices/1", Body { devices: &devices })?;
    } else {
        let flags = |device: &Device| match gate::word(&roots, &device.path) {
            Some(word) => format!("--write --consent {}", quoted(&word)),
            None => "--write and --consent".to_owned(),
        };
        let shown: Vec<_> = devices.iter().map(|device| (device, flags(device))).collect();
        let listing = views::devices::listing(&shown);
        messages::result(&report::render_listing(&listing, Style::default()))?;
    }
    Ok(devices)
}

fn is_named(device: &Device, name: &TargetSpec) -> bool {
    let name = name.as_str();
    let short = name.strip_prefix("/dev/").unwrap_or(name);
    let link = std::fs::canonicalize(name).ok();
    device.identity.name == short
        || link.is_some_and(|real| real == device.path)
        || device.partitions.iter().any(|p| p.name == short)
}
