//! The drives that a scenario asks for, and their description for the emulator.

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

/// Longest serial number that every kind of drive can report.
const SERIAL_CHARS_MAX: usize = 20;
/// A zone of a zoned namespace.
const ZONE_BYTES: u64 = 4 << 20;

/// Interface of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An NVMe controller with its namespaces.
    Nvme,
    /// A paravirtual disk.
    Virtio,
    /// A SCSI disk.
    Scsi,
    /// An ATA disk on an AHCI controller.
    Ata,
    /// A USB mass-storage device.
    Usb,
    /// A memory card in an SDHCI reader.
    Sd,
}

/// A size in bytes, written as `64MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Size(pub u64);

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Size, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match &text[digits.len()..] {
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => return Err(format!("{text:?} is not a size: write 512KiB, 64MiB or 1GiB")),
        };
        let count: u64 = digits.parse().map_err(|_| format!("{text:?} is not a size"))?;
        let bytes = count.checked_shl(shift).filter(|b| b >> shift == count && *b > 0);
        bytes.map(Size).ok_or_else(|| format!("{text:?} is not a size that a drive can have"))
    }
}

/// A drive of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Becomes the variable of its path in scripts, in capitals.
    pub name: String,
    /// Its interface.
    pub kind: Kind,
    /// Its size; NVMe drives may have `namespaces` instead.
    pub size: Option<Size>,
    /// Sizes of its namespaces.
    #[serde(default)]
    pub namespaces: Vec<Size>,
    /// Its serial number, at most 20 characters. Made of scenario and name when missing.
    pub serial: Option<String>,
    /// Model name that it reports; an error for a kind whose name cannot be set.
    pub model: Option<String>,
    /// Its only namespace is zoned, in zones of 4 MiB.
    #[serde(default)]
    pub zoned: bool,
    /// Bytes of a logical block: 512 or 4096.
    pub logical_block: Option<u32>,
    /// False for a drive that says it does not turn.
    pub rotational: Option<bool>,
    /// The emulator refuses writes.
    #[serde(default)]
    pub read_only: bool,
    /// A power cut takes what was not flushed, or a part of it, see [`crate::volatile`].
    #[serde(default)]
    pub volatile: bool,
    /// Most MiB that it moves in a second, reads and writes of all its namespaces together.
    pub mib_per_s: Option<u32>,
    /// Most requests that it answers in a second, in the same way.
    pub ios_per_s: Option<u32>,
    /// Properties of the emulated device for which there is no key here, as the emulator names them.
    #[serde(default)]
    pub properties: toml::Table,
}

/// An image behind a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// File name, unique in a boot.
    pub file: String,
    /// Bytes.
    pub bytes: u64,
}

impl Drive {
    /// Whether the kind can be what the keys say.
    ///
    /// # Errors
    /// Names the key.
    pub fn check(&self) -> Result<()> {
        let nvme = self.kind == Kind::Nvme;
        let name = &self.name;
        ensure!(
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
            "name: {name:?} is not of the letters a to z"
        );
        ensure!(nvme || self.namespaces.is_empty(), "namespaces: only NVMe drives have them");
        ensure!(nvme || !self.zoned, "zoned: only NVMe drives can be");
        match (&self.size, self.namespaces.len()) {
            (None, 0) => bail!("size: missing"),
            (Some(_), 1..) => bail!("size: the namespaces have theirs"),
            _ => {}
        }
        ensure!(!self.zoned || self.images("").len() == 1, "zoned: only with one namespace");
        // A FUA write stays in the cache: with QEMU 7.2, ext4 lost its commits.
        ensure!(!(nvme && self.volatile), "volatile: the emulator's NVMe drives do not heed FUA");
        ensure!(
            !self.volatile || (!self.read_only && self.logical_block == Some(4096)),
            "volatile: only one that is written, with logical_block = 4096"
        );
        ensure!(
            self.logical_block.is_none_or(|b| b == 512 || b == 4096),
            "logical_block: 512 or 4096"
        );
        ensure!(
            self.logical_block.is_none() || !matches!(self.kind, Kind::Ata | Kind::Sd),
            "logical_block: this kind has its own"
        );
        ensure!(
            self.model.is_none() || matches!(self.kind, Kind::Scsi | Kind::Ata),
            "model: this kind has its own"
        );
        ensure!(
            self.rotational.is_none() || matches!(self.kind, Kind::Scsi | Kind::Ata),
            "rotational: this kind cannot tell"
        );
        ensure!(
            self.serial.as_ref().is_none_or(|s| s.len() <= SERIAL_CHARS_MAX && !s.is_empty()),
            "serial: 1 to {SERIAL_CHARS_MAX} characters"
        );
        ensure!(self.mib_per_s != Some(0), "mib_per_s: 0");
        ensure!(self.ios_per_s != Some(0), "ios_per_s: 0");
        ensure!(
            self.kind != Kind::Sd || self.size.is_some_and(|s| s.0.is_power_of_two()),
            "size: that of a memory card is a power of two"
        );
        Ok(())
    }

    /// The variable of its path in scripts.
    pub fn variable(&self) -> String {
        self.name.to_ascii_uppercase()
    }

    /// Its serial number in `scenario`: what the file says, or the end of both names.
    pub fn serial(&self, scenario: &str) -> String {
        self.serial.clone().unwrap_or_else(|| {
            let whole = format!("{scenario}-{}", self.name);
            let begin = whole.len().saturating_sub(SERIAL_CHARS_MAX);
            whole[begin..].trim_start_matches('-').to_ascii_uppercase()
        })
    }

    /// Its images in a boot, one a namespace.
    pub fn images(&self, scenario: &str) -> Vec<Image> {
        let sizes: Vec<Size> = if self.namespaces.is_empty() {
            self.size.into_iter().collect()
        } else {
            self.namespaces.clone()
        };
        let file = |i: usize| match i {
            0 => format!("{scenario}-{}.img", self.name),
            _ => format!("{scenario}-{}-{}.img", self.name, i + 1),
        };
        sizes.iter().enumerate().map(|(i, s)| Image { file: file(i), bytes: s.0 }).collect()
    }

    /// The emulator's devices of this drive, in the order in which they are made. `id` is the drive's own in the
    /// boot; its images are the nodes `ID-0`, `ID-1` and so on.
    ///
    /// # Errors
    /// When `properties` cannot be converted to JSON.
    pub fn devices(&self, id: &str, slot: u8, serial: &str) -> Result<Vec<Value>> {
        let controller = |driver: &str| json!({"driver": driver, "id": format!("{id}-c"), "addr": format!("{slot:x}.0")});
        let node = format!("{id}-0");
        let bus = format!("{id}-c.0");
        let (mut devices, own) = match self.kind {
            Kind::Nvme => {
                let mut nvme = controller("nvme");
                nvme["serial"] = json!(serial);
                (self.nvme(nvme, id), 0)
            }
            Kind::Virtio => {
                let mut disk = controller("virtio-blk-pci");
                disk["drive"] = json!(node);
                disk["serial"] = json!(serial);
                (vec![disk], 0)
            }
            Kind::Scsi => {
                let disk =
                    json!({"driver": "scsi-hd", "bus": bus, "drive": node, "serial": serial});
                (vec![controller("virtio-scsi-pci"), disk], 1)
            }
            Kind::Ata => {
                let disk = json!({"driver": "ide-hd", "bus": bus, "drive": node, "serial": serial});
                (vec![controller("ich9-ahci"), disk], 1)
            }
            Kind::Usb => {
                let stick =
                    json!({"driver": "usb-storage", "bus": bus, "drive": node, "serial": serial});
                (vec![controller("qemu-xhci"), stick], 1)
            }
            // Its bus has the same name on every reader: the card takes the free one.
            Kind::Sd => {
                (vec![controller("sdhci-pci"), json!({"driver": "sd-card", "drive": node})], 1)
            }
        };
        self.adorn(&mut devices[own])?;
        if own == 1 {
            devices[1]["id"] = json!(format!("{id}-d"));
        }
        Ok(devices)
    }

    fn nvme(&self, controller: Value, id: &str) -> Vec<Value> {
        let mut devices = vec![controller];
        for i in 0..self.images("").len() {
            let mut namespace = json!({
                "driver": "nvme-ns", "id": format!("{id}-n{i}"), "bus": format!("{id}-c"),
                "nsid": i + 1, "drive": format!("{id}-{i}"),
            });
            if let Some(bytes) = self.logical_block {
                namespace["logical_block_size"] = json!(bytes);
                namespace["physical_block_size"] = json!(bytes);
            }
            if self.zoned {
                namespace["zoned"] = json!(true);
                namespace["zoned.zone_size"] = json!(ZONE_BYTES);
            }
            devices.push(namespace);
        }
        devices
    }

    /// Sets the properties of the device itself that the scenario gives.
    fn adorn(&self, device: &mut Value) -> Result<()> {
        if let (Some(bytes), true) = (self.logical_block, self.kind != Kind::Nvme) {
            device["logical_block_size"] = json!(bytes);
            device["physical_block_size"] = json!(bytes);
        }
        if let Some(model) = &self.model {
            device[if self.kind == Kind::Scsi { "product" } else { "model" }] = json!(model);
        }
        if let Some(rotational) = self.rotational {
            // A rate of 1 says that nothing turns (SBC-4, medium rotation rate).
            device["rotation_rate"] = json!(if rotational { 7200 } else { 1 });
        }
        for (key, value) in &self.properties {
            device[key] =
                serde_json::to_value(value).with_context(|| format!("properties: {key}"))?;
        }
        Ok(())
    }

    /// The emulator's object that holds its speed back, when it has one of its own (`throttle-group`, QEMU QMP
    /// reference, `ThrottleLimits`).
    pub fn throttle(&self, id: &str) -> Option<Value> {
        let mut limits = serde_json::Map::new();
        if let Some(mib) = self.mib_per_s {
            limits.insert("bps-total".to_owned(), json!(u64::from(mib) << 20));
        }
        if let Some(ios) = self.ios_per_s {
            limits.insert("iops-total".to_owned(), json!(ios));
        }
        let id = format!("{id}-speed");
        let is_limited = !limits.is_empty();
        is_limited.then(|| json!({"qom-type": "throttle-group", "id": id, "limits": limits}))
    }

    /// The device that goes away when the drive is taken out of the running guest.
    pub fn removable(&self, id: &str) -> String {
        match self.kind {
            Kind::Nvme | Kind::Virtio => format!("{id}-c"),
            _ => format!("{id}-d"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(text: &str) -> Drive {
        toml::from_str(text).unwrap()
    }

    // A drive that silently is not what the scenario says makes its steps show something else.
    #[test]
    fn keys_that_a_kind_cannot_have_are_refused_by_name() {
        let cases = [
            ("kind = 'nvme'", "size: missing"),
            ("kind = 'nvme'\nsize = '1MiB'\nios_per_s = 0", "ios_per_s: 0"),
            ("kind = 'nvme'\nsize = '1MiB'\nmib_per_s = 0", "mib_per_s: 0"),
            ("kind = 'nvme'\nsize = '1MiB'\nnamespaces = ['1MiB']", "size: the namespaces"),
            ("kind = 'virtio'\nnamespaces = ['1MiB']", "namespaces: only NVMe"),
            ("kind = 'ata'\nsize = '1MiB'\nzoned = true", "zoned: only NVMe"),
            ("kind = 'nvme'\nnamespaces = ['8MiB', '8MiB']\nzoned = true", "zoned: only with one"),
            ("kind = 'scsi'\nsize = '1MiB'\nlogical_block = 520", "logical_block: 512 or 4096"),
            ("kind = 'ata'\nsize = '1MiB'\nlogical_block = 4096", "logical_block: this kind"),
            ("kind = 'nvme'\nsize = '1MiB'\nmodel = 'x'", "model: this kind"),
            ("kind = 'virtio'\nsize = '1MiB'\nrotational = false", "rotational: this kind"),
            ("kind = 'nvme'\nsize = '1MiB'\nvolatile = true", "volatile: the emulator's NVMe"),
            ("kind = 'scsi'\nsize = '1MiB'\nread_only = true\nvolatile = true", "volatile: only"),
            ("kind = 'sd'\nsize = '3MiB'", "size: that of a memory card"),
            ("kind = 'scsi'\nsize = '1MiB'\nserial = '123456789012345678901'", "serial: 1 to 20"),
        ];
        for (text, fault) in cases {
            let error = drive(&format!("name = 'a'\n{text}")).check().unwrap_err().to_string();
            assert!(error.starts_with(fault), "{text}: {error}");
        }
        drive("name = 'a'\nkind = 'sd'\nsize = '4MiB'").check().unwrap();
        assert!(drive("name = 'A'\nkind = 'sd'\nsize = '4MiB'").check().is_err());
    }

    #[test]
    fn sizes_are_those_of_their_units() {
        let size = |text: &str| Size::try_from(text.to_owned());
        assert_eq!(size("512KiB"), Ok(Size(512 << 10)));
        assert_eq!(size("1GiB"), Ok(Size(1 << 30)));
        for wrong in ["64", "64MB", "MiB", "-1MiB", "0MiB", "99999999999GiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn serials_fit_every_kind_and_tell_drives_apart() {
        let drive = drive("name = 'a'\nkind = 'virtio'\nsize = '4MiB'");
        assert_eq!(drive.serial("boots"), "BOOTS-A");
        assert_eq!(drive.serial("a-very-long-name-of-a-scenario").len(), SERIAL_CHARS_MAX);
    }

    #[test]
    fn every_namespace_has_an_image_and_a_device() {
        let drive = drive("name = 'a'\nkind = 'nvme'\nnamespaces = ['8MiB', '16MiB']");
        let images = drive.images("s");
        assert_eq!(images[1], Image { file: "s-a-2.img".into(), bytes: 16 << 20 });
        let devices = drive.devices("d0", 5, "S").unwrap();
        assert_eq!(devices.len(), 3);
        assert_eq!(devices[0]["addr"], "5.0");
        assert_eq!(devices[2]["nsid"], 2);
        assert_eq!(devices[2]["drive"], "d0-1");
    }
}
