//! Health of a drive, queried in its own protocol: NVMe, ATA, SCSI, and the kernel's attributes of cards.
//!
//! A query changes nothing and wakes nothing: a sleeping disk gets no command that would spin it up, unless that is
//! requested. Reading a drive's health never fails as a whole. A value that could not be read is missing, with the
//! reason beside it ([`Health::missing`]).

mod asked;
pub mod ata;
mod bytes;
mod mmc;
pub mod nvme;
mod scsi;
mod watch;

use std::fmt;
use std::path::Path;

use block::Leaf;
use block::health::Health;

use crate::devices::{Bus, Identity};
use crate::passthrough::{Commands, Device, Playback};
use crate::stack::subsystem;
use crate::sysfs::{BlockNode, Roots, read_text};
use crate::thermometers::thermometers;

pub use watch::{Reading, Watch};

/// How a drive is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// NVMe admin commands, of the namespace of this number where it is known.
    Nvme(Option<u32>),
    /// ATA commands inside of SCSI ones.
    Ata,
    /// SCSI commands.
    Scsi,
}

impl fmt::Display for Protocol {
    /// The word that a recording names it by.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Nvme(_) => "nvme",
            Protocol::Ata => "ata",
            Protocol::Scsi => "scsi",
        })
    }
}

/// Side effects that a query may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// A disk that rests may be woken.
    pub may_wake: bool,
}

/// Asks a drive by `protocol`. `device` is what it is called in the answer.
pub fn read<C: Commands + ?Sized>(
    commands: &mut C,
    protocol: Protocol,
    device: &str,
    manner: Manner,
) -> Health {
    match protocol {
        Protocol::Nvme(nsid) => nvme::read(commands, device, nsid),
        Protocol::Ata => ata::read(commands, device, manner.may_wake),
        Protocol::Scsi => scsi::read(commands, device, manner.may_wake),
    }
}

/// Asks a recording.
///
/// # Errors
/// When it is of a protocol that is not known, in words that name the file.
pub fn read_played(playback: &mut Playback, manner: Manner) -> Result<Health, String> {
    let protocol = match playback.protocol() {
        "nvme" => Protocol::Nvme(playback.namespace()),
        "ata" => Protocol::Ata,
        "scsi" => Protocol::Scsi,
        other => {
            let file = playback.name();
            return Err(format!(
                "{file}: is of the protocol {other:?}; nvme, ata and scsi are known"
            ));
        }
    };
    let device = playback.device().to_owned();
    Ok(read(playback, protocol, &device, manner))
}

/// A device at the bottom of a stack, and how it is asked.
#[derive(Debug)]
pub struct Subject {
    node: BlockNode,
    identity: Identity,
    protocol: Result<Protocol, Unasked>,
}

/// Why a device is not asked.
#[derive(Debug)]
enum Unasked {
    /// It is a card, and the kernel shows what there is.
    Card,
    /// Nothing can be asked, in words.
    Why(&'static str),
}

impl Subject {
    /// The device of this kernel name, or partition of it; `None` when there is no such block device.
    pub fn find(roots: &Roots, name: &str) -> Option<Subject> {
        let node = BlockNode::by_name(roots, name)?.disk();
        let identity = Identity::of(roots, &node);
        let protocol = protocol_of(&node, identity.bus);
        Some(Subject { node, identity, protocol })
    }

    /// Its kernel name.
    pub fn name(&self) -> &str {
        self.node.name()
    }

    /// How it is asked; `None` when there is nothing to ask.
    pub fn protocol(&self) -> Option<Protocol> {
        self.protocol.as_ref().ok().copied()
    }

    /// Opens it for asking. A device that the kernel has suspended would be resumed by that.
    ///
    /// # Errors
    /// Why it cannot be asked, in words: its driver, the user's rights, or its sleep.
    pub fn open(&self, roots: &Roots, manner: Manner) -> Result<Device, String> {
        match &self.protocol {
            Err(Unasked::Card) => return Err("the kernel shows what there is".to_owned()),
            Err(Unasked::Why(why)) => return Err((*why).to_owned()),
            Ok(_) if self.is_suspended() && !manner.may_wake => {
                return Err("the kernel has suspended it, and asking would wake it".to_owned());
            }
            Ok(_) => {}
        }
        let path = self.node.dev_path(roots);
        Device::open(&path).map_err(|error| open_error(&path, &error))
    }

    fn is_suspended(&self) -> bool {
        self.node.attr("device/power/runtime_status").as_deref() == Some("suspended")
    }

    /// Its health, by `commands`, which lead to it, or by what the kernel shows where there are none.
    pub fn health(&self, commands: Result<&mut dyn Commands, String>, manner: Manner) -> Health {
        let was_asked = commands.is_ok();
        let health = match (&self.protocol, commands) {
            (Ok(protocol), Ok(commands)) => read(commands, *protocol, self.name(), manner),
            (Err(Unasked::Card), _) => mmc::read(&self.node),
            (Err(Unasked::Why(why)), _) => Health::of(self.name()).complete(why),
            (Ok(_), Err(why)) => {
                let mut health = Health::of(self.name());
                health.is_asleep = self.is_suspended() && !manner.may_wake;
                health.complete(&why)
            }
        };
        // A sensor that the kernel reads needs no rights; but the kernel asks the disk, and might wake it. One that was
        // asked is known to be awake, or to rest.
        let may_rest = !was_asked && self.identity.rotational == Some(true);
        let may_read = manner.may_wake || !health.is_asleep && !may_rest;
        self.supplement(health, may_read)
    }

    /// Adds what the kernel knows and the drive was not asked for, or did not report.
    fn supplement(&self, mut health: Health, may_read_sensor: bool) -> Health {
        let Identity { model, serial, firmware, size_bytes, .. } = &self.identity;
        health.model = health.model.or_else(|| model.clone());
        health.serial = health.serial.or_else(|| serial.clone());
        health.firmware = health.firmware.or_else(|| firmware.clone());
        let size = Some(*size_bytes).filter(|size| size.0 > 0);
        health.capacity_bytes = health.capacity_bytes.or(size);
        if health.temperature_c.is_none() && may_read_sensor {
            let milli = thermometers(self.node.dir()).iter().find_map(|path| read_text(path));
            let milli = milli.and_then(|text| text.parse::<i32>().ok());
            health.temperature_c = milli.map(|milli| (milli + 500).div_euclid(1000));
        }
        health.complete("neither the drive nor the kernel reports it")
    }
}

fn open_error(path: &Path, error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            format!("{}: {error} (a drive's own commands are for root)", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    }
}

fn protocol_of(node: &BlockNode, bus: Bus) -> Result<Protocol, Unasked> {
    let is_scsi = subsystem(&node.dir().join("device")).as_deref() == Some("scsi");
    let says_ata = node.attr("device/vendor").as_deref() == Some("ATA");
    match bus {
        Bus::Nvme => Ok(Protocol::Nvme(node.attr_u64("nsid").and_then(|n| u32::try_from(n).ok()))),
        Bus::Ata => Ok(Protocol::Ata),
        // A host adapter that translates says so in the vendor's name (SAT-4, INQUIRY).
        Bus::Scsi if says_ata => Ok(Protocol::Ata),
        Bus::Scsi => Ok(Protocol::Scsi),
        Bus::Virtio if is_scsi => Ok(Protocol::Scsi),
        // The page that a bridge describes the ATA drive behind it with, which the kernel has read already: simple
        // bridges, and sticks that are none, hang themselves up on commands that they do not know.
        Bus::Usb if node.has("device/vpd_pg89") => Ok(Protocol::Ata),
        Bus::Usb => Err(Unasked::Why(
            "it does not say that an ATA drive is behind its USB bridge, and others report nothing of their health",
        )),
        Bus::Mmc => Err(Unasked::Card),
        Bus::Virtio | Bus::Xen => Err(Unasked::Why(
            "it is a disk of a virtual machine: only its host can ask what is below it",
        )),
        Bus::Ram | Bus::Zram => Err(Unasked::Why("it is this machine's memory")),
        Bus::Loop | Bus::Dm | Bus::Md | Bus::Bcache => {
            Err(Unasked::Why("it is built upon something that is not known here"))
        }
        Bus::Other => Err(Unasked::Why("its driver is of a kind that is not known here")),
    }
}

/// Health of a leaf that is not a block device of this machine.
pub fn of_unknown(leaf: &Leaf) -> Health {
    Health::of(&leaf.name).complete("it is not a block device of this machine")
}
