//! Health of a drive: wear, errors, temperature, and findings about them.
//!
//! The facts that most drives report are in [`Health`] under one name each, whatever protocol they come by; facts of
//! one protocol alone are in its [`Detail`]. A fact that a drive does not report is `None`, with the reason in
//! [`Health::missing`]. Findings are data too ([`Finding`]), made of the facts alone by [`Health::judge`]. A drive
//! that does not judge itself is never called good: it is [`Standing::NotTold`].

mod ata;
mod change;
mod findings;
mod mmc;
mod nvme;
mod scsi;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, DriveInfo, Snapshot};

pub use ata::{
    AtaAttribute, AtaCapabilities, AtaDetail, AtaPower, AtaSanitize, AtaSecurity, AtaStatistic,
    AttributeState, Rotation,
};
pub use change::{Change, ChangeError, CounterChange};
pub use findings::{Finding, Severity, Standing};
pub use mmc::{MmcDetail, MmcKind, PreEol};
pub use nvme::{
    NvmeController, NvmeDetail, NvmeEnduranceGroup, NvmeFormat, NvmeNamespace, NvmeOcp,
    NvmeSanitize, NvmeSanitizeState, NvmeSmart,
};
pub use scsi::{ScsiDetail, ScsiErrors};

/// Health report of one drive, at one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Kernel name (`nvme0n1`), or the virtual drive's.
    pub device: String,
    /// Model as the drive states it.
    pub model: Option<String>,
    /// Serial number as the drive states it.
    pub serial: Option<String>,
    /// Firmware revision as the drive states it.
    pub firmware: Option<String>,
    /// Size of what can be addressed; of an NVMe drive, of this namespace.
    pub capacity_bytes: Option<Bytes>,
    /// True when it rests with its motor off, and was not asked what could wake it.
    pub is_asleep: bool,
    /// Verdict of the drive on itself: `true` when it reports that all is well, `false` when it reports that it fails
    /// or will fail; `None` when it does not judge itself.
    pub says_good: Option<bool>,
    /// Temperature in degrees Celsius.
    pub temperature_c: Option<i32>,
    /// Temperature from which the drive warns, in degrees Celsius.
    pub temperature_warning_c: Option<i32>,
    /// Temperature from which the drive calls its own state critical, in degrees Celsius.
    pub temperature_critical_c: Option<i32>,
    /// Highest temperature in its life, in degrees Celsius.
    pub temperature_highest_c: Option<i32>,
    /// Times at which heat made the drive slow itself down, over its life.
    pub throttle_events: Option<u64>,
    /// Share of the rated life that is used, in percent; the drive's own estimate, and more than 100 when the
    /// rating is used up.
    pub life_used_percent: Option<u32>,
    /// Share of the spare capacity that is left, in percent.
    pub spare_percent: Option<u32>,
    /// Bytes that the host read, over the drive's life.
    pub host_read_bytes: Option<Bytes>,
    /// Bytes that the host wrote, over the drive's life.
    pub host_write_bytes: Option<Bytes>,
    /// Unit that the two counts above are kept in: a span of less may not show. The smallest that it can be, where the
    /// drive does not say which.
    pub host_unit_bytes: Option<Bytes>,
    /// Bytes that the medium was programmed with, over the drive's life.
    pub media_write_bytes: Option<Bytes>,
    /// Hours with power.
    pub power_on_hours: Option<u64>,
    /// Times at which power came.
    pub power_cycles: Option<u64>,
    /// Times at which power went without notice.
    pub unsafe_shutdowns: Option<u64>,
    /// Errors that the drive could not correct: data that was not read, or not as it was written.
    pub media_errors: Option<u64>,
    /// Facts of its protocol alone.
    pub detail: Detail,
    /// Verdict on all this, in one word.
    pub standing: Standing,
    /// Findings, the worst first.
    pub findings: Vec<Finding>,
    /// Why a fact is not there, by its name: everything above that is `None` has an entry.
    pub missing: BTreeMap<String, String>,
}

/// Facts that only one protocol has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "snake_case")]
pub enum Detail {
    /// An NVMe namespace and its controller.
    Nvme(Box<NvmeDetail>),
    /// An ATA drive, perhaps behind a bridge.
    Ata(Box<AtaDetail>),
    /// A SCSI drive.
    Scsi(Box<ScsiDetail>),
    /// An eMMC or SD card at a controller of its own.
    Mmc(MmcDetail),
    /// A model in virtual time.
    Virtual,
    /// Only what the kernel reports.
    #[default]
    None,
}

impl Health {
    /// True where it has failed or says that it will, is worn out, or has lost data.
    pub fn is_bad(&self) -> bool {
        self.standing == Standing::Bad || self.findings.iter().any(Finding::is_bad)
    }

    /// A drive that has not reported anything yet. Call [`Health::complete`] when all of it is filled in.
    pub fn of(device: &str) -> Health {
        Health {
            device: device.to_owned(),
            model: None,
            serial: None,
            firmware: None,
            capacity_bytes: None,
            is_asleep: false,
            says_good: None,
            temperature_c: None,
            temperature_warning_c: None,
            temperature_critical_c: None,
            temperature_highest_c: None,
            throttle_events: None,
            life_used_percent: None,
            spare_percent: None,
            host_read_bytes: None,
            host_write_bytes: None,
            host_unit_bytes: None,
            media_write_bytes: None,
            power_on_hours: None,
            power_cycles: None,
            unsafe_shutdowns: None,
            media_errors: None,
            detail: Detail::None,
            standing: Standing::NotTold,
            findings: Vec::new(),
            missing: BTreeMap::new(),
        }
    }

    /// Health of a virtual drive, from its model and environment. It counts what its host and its medium were given
    /// since it was opened, and does not age.
    pub fn of_virtual(info: &DriveInfo, snapshot: &Snapshot) -> Health {
        let mut health = Health::of(&info.name);
        health.model = info.model.clone();
        health.serial = info.serial.clone();
        health.capacity_bytes = Some(info.capacity_bytes);
        health.temperature_c = snapshot.temperature_c.map(|degrees| degrees.round() as i32);
        health.throttle_events = snapshot.throttle_events;
        let sum = |of: fn(&crate::DeviceCounters) -> Bytes| -> Option<Bytes> {
            snapshot.devices.iter().map(of).reduce(|a, b| Bytes(a.0.saturating_add(b.0)))
        };
        health.host_read_bytes = sum(|device| device.read_bytes);
        health.host_write_bytes = sum(|device| device.write_bytes);
        if let Some(endurance) = snapshot.endurance {
            health.host_write_bytes = Some(endurance.host_write_bytes);
            health.media_write_bytes = Some(endurance.media_write_bytes);
        }
        health.host_unit_bytes = Some(Bytes(1));
        health.detail = Detail::Virtual;
        if let Some(why) = snapshot.missing.get("temperature_c") {
            health.missing.insert("temperature_c".to_owned(), why.clone());
        }
        health.complete("a virtual drive is a model that does not age and does not judge itself")
    }

    /// Gives every fact that is not there and has no reason yet `why` for one, and judges.
    pub fn complete(mut self, why: &str) -> Health {
        for (name, is_there) in self.facts() {
            if is_there {
                self.missing.remove(name);
            } else {
                self.missing.entry(name.to_owned()).or_insert_with(|| why.to_owned());
            }
        }
        self.judge();
        self
    }

    /// Makes [`Health::findings`] and [`Health::standing`] again, from the facts alone.
    pub fn judge(&mut self) {
        self.findings = findings::all(self);
        self.standing = findings::standing(self.says_good, &self.findings);
    }

    /// How the drive is spoken to, in a word.
    pub fn protocol(&self) -> &'static str {
        match &self.detail {
            Detail::Nvme(_) => "NVMe",
            Detail::Ata(_) => "ATA",
            Detail::Scsi(_) => "SCSI",
            Detail::Mmc(detail) => detail.kind.word(),
            Detail::Virtual => "virtual",
            Detail::None => "unknown",
        }
    }

    /// The facts that may be missing, with whether they are there.
    fn facts(&self) -> [(&'static str, bool); 20] {
        [
            ("model", self.model.is_some()),
            ("serial", self.serial.is_some()),
            ("firmware", self.firmware.is_some()),
            ("capacity_bytes", self.capacity_bytes.is_some()),
            ("says_good", self.says_good.is_some()),
            ("temperature_c", self.temperature_c.is_some()),
            ("temperature_warning_c", self.temperature_warning_c.is_some()),
            ("temperature_critical_c", self.temperature_critical_c.is_some()),
            ("temperature_highest_c", self.temperature_highest_c.is_some()),
            ("throttle_events", self.throttle_events.is_some()),
            ("life_used_percent", self.life_used_percent.is_some()),
            ("spare_percent", self.spare_percent.is_some()),
            ("host_read_bytes", self.host_read_bytes.is_some()),
            ("host_write_bytes", self.host_write_bytes.is_some()),
            ("host_unit_bytes", self.host_unit_bytes.is_some()),
            ("media_write_bytes", self.media_write_bytes.is_some()),
            ("power_on_hours", self.power_on_hours.is_some()),
            ("power_cycles", self.power_cycles.is_some()),
            ("unsafe_shutdowns", self.unsafe_shutdowns.is_some()),
            ("media_errors", self.media_errors.is_some()),
        ]
    }
}
