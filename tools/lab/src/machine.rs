//! The emulated machine: the drives in its slots, and the emulator's command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::json;

use crate::drive::Drive;
use crate::protocol::Place;
use crate::scenario::Scenario;

/// Its program.
pub const EMULATOR: &str = "qemu-system-x86_64";

/// Drives of a boot: each has a controller with a slot of its own. The bus has 32 slots, of which the machine
/// itself and the port to the host take three.
pub const DRIVES_MAX: usize = 28;
const SLOT_FIRST: u8 = 3;
const SLOT_PORT: u8 = 2;

/// Memory of the guest in MiB: kernel, the first root directory with all programs, and what scenarios write to it.
const MEMORY_MIB: u32 = 1536;

/// A drive in its slot.
#[derive(Clone, Debug)]
pub struct Slotted {
    /// Its scenario's name.
    pub scenario: String,
    /// The drive.
    pub drive: Drive,
    /// Its own in the emulator.
    pub id: String,
    /// Slot of the bus.
    pub slot: u8,
    /// Its serial number.
    pub serial: String,
}

impl Slotted {
    /// Returns its location in the guest.
    pub fn place(&self) -> Place {
        Place {
            variable: self.drive.variable(),
            pci: format!("0000:00:{:02x}.0", self.slot),
            namespaces: self.drive.images("").len(),
            serial: self.serial.clone(),
        }
    }

    /// Returns the socket that serves it, if it is volatile: if a power cut may lose writes of it.
    pub fn volatile_socket(&self, directory: &Path) -> Option<PathBuf> {
        self.drive.volatile.then(|| directory.join(&self.id))
    }

    /// Its images.
    pub fn images(&self, directory: &Path) -> Vec<PathBuf> {
        let images = self.drive.images(&self.scenario);
        images.iter().map(|image| directory.join(&image.file)).collect()
    }
}

/// The drives of `scenarios`, each in its slot.
///
/// # Errors
/// When they are more than there are slots.
pub fn slots(scenarios: &[Scenario]) -> Result<Vec<Slotted>> {
    let drives = scenarios.iter().flat_map(|s| s.drives.iter().map(move |d| (s, d)));
    let slotted: Vec<Slotted> = drives
        .enumerate()
        .map(|(i, (scenario, drive))| Slotted {
            scenario: scenario.name.clone(),
            drive: drive.clone(),
            id: format!("d{i}"),
            slot: SLOT_FIRST.saturating_add(u8::try_from(i).unwrap_or(u8::MAX)),
            serial: drive.serial(&scenario.name),
        })
        .collect();
    ensure!(slotted.len() <= DRIVES_MAX, "{} drives in one boot", slotted.len());
    Ok(slotted)
}

/// Parts of a boot.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// The kernel.
    pub kernel: &'a Path,
    /// Its first root directory.
    pub initramfs: &'a Path,
    /// Parameters of the kernel besides the lab's own.
    pub parameters: &'a str,
    /// Directory of the images.
    pub images: &'a Path,
    /// Directory with the sockets of volatile drives.
    pub sockets: &'a Path,
    /// Sockets for port and monitor.
    pub port: &'a Path,
    /// See `port`.
    pub monitor: &'a Path,
    /// File for the guest's console output.
    pub console: &'a Path,
}

/// Arguments of the emulator.
///
/// # Errors
/// When a drive's properties cannot be converted to JSON.
pub fn arguments(parts: &Parts, drives: &[Slotted]) -> Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
    add(&["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-vga", "none"]);
    // Hardware virtualisation is not asked for: where the lab runs it is often there and does not work.
    add(&["-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off", "-smp", "2"]);
    add(&["-m", &format!("{MEMORY_MIB}M")]);
    add(&["-kernel", &parts.kernel.to_string_lossy()]);
    add(&["-initrd", &parts.initramfs.to_string_lossy()]);
    // The kernel counts ticks to see whether the timer works; on a busy host the emulator is late, and it gives up.
    let own = "console=ttyS0 loglevel=5 panic=-1 mitigations=off nokaslr no_timer_check unknown_nmi_panic";
    let parameters = format!("{own} {}", parts.parameters);
    add(&["-append", parameters.trim()]);
    add(&["-serial", &format!("file:{}", parts.console.display())]);
    let socket = |id: &str, path: &Path| format!("socket,id={id},path={}", path.display());
    add(&["-chardev", &socket("monitor", parts.monitor), "-mon", "chardev=monitor,mode=control"]);
    add(&["-chardev", &socket("port", parts.port)]);
    add(&["-device", &format!("virtio-serial-pci,addr={SLOT_PORT:x}.0")]);
    add(&["-device", &format!("virtserialport,chardev=port,name={}", crate::protocol::PORT)]);
    for slotted in drives {
        let speed = slotted.drive.throttle(&slotted.id);
        if let Some(group) = &speed {
            add(&["-object", &group.to_string()]);
        }
        for (i, image) in slotted.images(parts.images).iter().enumerate() {
            // Nothing here outlives the machine it runs on, so a flush need not reach the host's disk; but a server that
            // holds back what was not flushed has to hear of it.
            let socket = slotted.volatile_socket(parts.sockets);
            let no_flush = socket.is_none();
            let file = match socket {
                None => json!({"driver": "file", "filename": image, "discard": "unmap"}),
                Some(path) => json!({"driver": "nbd", "server": {"type": "unix", "path": path}}),
            };
            // The uppermost node is the one that is counted by its name.
            let name = format!("{}-{i}", slotted.id);
            let below = if speed.is_some() { format!("{name}-image") } else { name.clone() };
            let node = json!({
                "driver": "raw", "node-name": below,
                "discard": "unmap", "read-only": slotted.drive.read_only,
                "file": file,
                "cache": {"no-flush": no_flush},
            });
            add(&["-blockdev", &node.to_string()]);
            if let Some(group) = &speed {
                let throttle = json!({
                    "driver": "throttle", "node-name": name, "throttle-group": group["id"],
                    "discard": "unmap", "read-only": slotted.drive.read_only,
                    "cache": {"no-flush": no_flush}, "file": below,
                });
                add(&["-blockdev", &throttle.to_string()]);
            }
        }
        for device in slotted.drive.devices(&slotted.id, slotted.slot, &slotted.serial)? {
            add(&["-device", &device.to_string()]);
        }
    }
    Ok(arguments)
}

/// Modules that a guest needs to speak with the host and to see `drives`.
pub fn modules(drives: &[Slotted]) -> Vec<&'static str> {
    use crate::drive::Kind;
    let mut modules = vec!["virtio_pci", "virtio_console"];
    for slotted in drives {
        modules.extend_from_slice(match slotted.drive.kind {
            Kind::Nvme => &["nvme"],
            Kind::Virtio => &["virtio_blk"],
            Kind::Scsi => &["virtio_scsi", "sd_mod"],
            Kind::Ata => &["ahci", "sd_mod"],
            Kind::Usb => &["xhci_pci", "usb_storage", "sd_mod"],
            Kind::Sd => &["sdhci_pci", "mmc_block"],
        });
    }
    modules.sort_unstable();
    modules.dedup();
    modules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    fn scenario(name: &str, drives: usize) -> Scenario {
        let mut text =
            "summary = 's'\ntimeout_s = 9\n[[step]]\nname = 'n'\nrun = 'true'\n".to_owned();
        for i in 0..drives {
            let name = char::from(b'a' + i as u8);
            text += &format!("[[drive]]\nname = '{name}'\nkind = 'virtio'\nsize = '1MiB'\n");
        }
        parse(name, &text).unwrap()
    }

    // Two drives in one slot are refused by the emulator, and a drive that is looked for in the wrong slot is
    // another scenario's.
    #[test]
    fn every_drive_of_a_boot_has_a_slot_and_images_of_its_own() {
        let drives = slots(&[scenario("x", 2), scenario("y", 1)]).unwrap();
        let places: Vec<_> = drives.iter().map(|d| d.place().pci).collect();
        assert_eq!(places, ["0000:00:03.0", "0000:00:04.0", "0000:00:05.0"]);
        let images: Vec<_> = drives.iter().flat_map(|d| d.images(Path::new("i"))).collect();
        assert_eq!(images, ["i/x-a.img", "i/x-b.img", "i/y-a.img"].map(PathBuf::from));
        assert!(slots(&[scenario("x", 20), scenario("y", 9)]).is_err());
        let most = slots(&[scenario("x", 20), scenario("y", 8)]).unwrap();
        assert_eq!(most.last().unwrap().slot, 30);
    }

    #[test]
    fn the_emulator_is_told_every_image_and_every_device() {
        let path = Path::new("p");
        let parts = Parts {
            kernel: path,
            initramfs: path,
            parameters: "a=b",
            images: Path::new("i"),
            sockets: Path::new("s"),
            port: path,
            monitor: path,
            console: path,
        };
        let mut drives = slots(&[scenario("x", 3)]).unwrap();
        drives[2].drive.volatile = true;
        drives[1].drive.ios_per_s = Some(400);
        let arguments = arguments(&parts, &drives).unwrap();
        let all = arguments.join(" ".as_ref()).into_string().unwrap();
        assert!(all.contains("s/d2") && !all.contains("i/x-c.img"), "{all}");
        assert_eq!(all.matches("\"no-flush\":false").count(), 1, "{all}");
        // A drive with a speed of its own that is not held back ranks the emulation; one under another name is not counted.
        for part in [r#""limits":{"iops-total":400}"#, r#""throttle-group":"d1-speed""#] {
            assert_eq!(all.matches(part).count(), 1, "{part} in {all}");
        }
        assert!(all.contains(r#""file":"d1-0-image","node-name":"d1-0""#), "{all}");
        for part in ["i/x-a.img", "i/x-b.img", "\"addr\":\"3.0\"", "\"addr\":\"4.0\"", " a=b"] {
            assert!(all.contains(part), "{part} in {all}");
        }
    }
}
