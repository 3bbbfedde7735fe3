//! Changes between two readings of one drive.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Finding, Health};

/// Changes of one drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// [`Health::device`] of the later reading.
    pub device: String,
    /// Counters that both readings have, in a fixed order.
    pub counters: Vec<CounterChange>,
    /// Counters that only one of them has.
    pub only_once: Vec<String>,
    /// Findings whose code the earlier reading did not have.
    pub arisen: Vec<Finding>,
    /// Findings whose code the later reading does not have any more.
    pub gone: Vec<Finding>,
}

/// One counter, twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterChange {
    /// Name of the fact, with its unit.
    pub name: String,
    /// Earlier value.
    pub before: u64,
    /// Later value.
    pub after: u64,
}

impl CounterChange {
    /// By how much it grew; `None` for a counter that went back, which none of these does by itself: the drive was
    /// reset by its maker's tools, or it is another drive.
    pub fn growth(&self) -> Option<u64> {
        self.after.checked_sub(self.before)
    }
}

/// Why two readings cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// They are of two drives.
    #[error("the earlier reading is of another drive: its {what} was {before} and is {after}")]
    OtherDrive {
        /// Property that differs.
        what: &'static str,
        /// Then.
        before: String,
        /// Now.
        after: String,
    },
    /// Nothing shows whether they are of one drive.
    #[error(
        "{0} has no serial number: nothing shows that the earlier reading is of the same drive"
    )]
    Nameless(String),
}

impl Change {
    /// Returns the changes from `before` to `after`.
    ///
    /// # Errors
    /// Returns an error if they are readings of different drives, or nothing shows that they are of the same one.
    pub fn between(before: &Health, after: &Health) -> Result<Change, ChangeError> {
        same_drive(before, after)?;
        let mut counters = Vec::new();
        let mut only_once = Vec::new();
        for ((name, then), (_, now)) in before.counters().into_iter().zip(after.counters()) {
            match (then, now) {
                (Some(before), Some(after)) => {
                    counters.push(CounterChange { name: name.to_owned(), before, after });
                }
                (None, None) => {}
                _ => only_once.push(name.to_owned()),
            }
        }
        let without = |all: &[Finding], others: &[Finding]| -> Vec<Finding> {
            let is_new = |one: &&Finding| !others.iter().any(|other| other.code == one.code);
            all.iter().filter(is_new).cloned().collect()
        };
        Ok(Change {
            device: after.device.clone(),
            counters,
            only_once,
            arisen: without(&after.findings, &before.findings),
            gone: without(&before.findings, &after.findings),
        })
    }
}

fn same_drive(before: &Health, after: &Health) -> Result<(), ChangeError> {
    let pairs =
        [("serial number", &before.serial, &after.serial), ("model", &before.model, &after.model)];
    for (what, then, now) in pairs {
        if then != now {
            let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
            return Err(ChangeError::OtherDrive { what, before: word(then), after: word(now) });
        }
    }
    // Namespaces of one controller share its serial number.
    if before.capacity_bytes != after.capacity_bytes {
        let word = |health: &Health| {
            health.capacity_bytes.map_or("none".to_owned(), |bytes| bytes.0.to_string())
        };
        let (before, after) = (word(before), word(after));
        return Err(ChangeError::OtherDrive { what: "capacity in bytes", before, after });
    }
    match after.serial {
        Some(_) => Ok(()),
        None => Err(ChangeError::Nameless(after.device.clone())),
    }
}

impl Health {
    /// The facts that only grow, in a fixed order.
    pub fn counters(&self) -> [(&'static str, Option<u64>); 10] {
        let used = self.life_used_percent.map(u64::from);
        [
            ("host_read_bytes", self.host_read_bytes.map(|bytes| bytes.0)),
            ("host_write_bytes", self.host_write_bytes.map(|bytes| bytes.0)),
            ("media_write_bytes", self.media_write_bytes.map(|bytes| bytes.0)),
            ("life_used_percent", used),
            ("power_on_hours", self.power_on_hours),
            ("power_cycles", self.power_cycles),
            ("unsafe_shutdowns", self.unsafe_shutdowns),
            ("media_errors", self.media_errors),
            ("throttle_events", self.throttle_events),
            ("error_log_entries", self.error_log_entries()),
        ]
    }

    fn error_log_entries(&self) -> Option<u64> {
        match &self.detail {
            super::Detail::Nvme(detail) => Some(detail.smart.as_ref()?.error_log_entries),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bytes;
    use crate::health::{Severity, Standing};
    use crate::{CpuTimes, DeviceCounters, DriveInfo, DriveKind, Endurance, Snapshot};

    fn drive(written: u64) -> Health {
        let mut health = Health::of("sda");
        health.serial = Some("S1".to_owned());
        health.model = Some("Disk".to_owned());
        health.capacity_bytes = Some(Bytes::gib(1));
        health.host_write_bytes = Some(Bytes(written));
        health.says_good = Some(true);
        health.complete("not told")
    }

    // Breaks when two drives are compared as one: the wear of one would be reported for the other.
    #[test]
    fn readings_of_two_drives_are_not_compared() {
        let now = drive(9);
        let differs = |change: fn(&mut Health)| {
            let mut then = drive(1);
            change(&mut then);
            Change::between(&then, &now).unwrap_err().to_string()
        };
        assert!(differs(|d| d.serial = Some("S2".to_owned())).contains("was S2 and is S1"));
        assert!(differs(|d| d.model = None).contains("model was none"));
        assert!(differs(|d| d.capacity_bytes = Some(Bytes(1))).contains("capacity in bytes was 1"));
        let mut nameless = drive(1);
        nameless.serial = None;
        let error = Change::between(&nameless, &nameless).unwrap_err();
        assert_eq!(error, ChangeError::Nameless("sda".to_owned()));
    }

    #[test]
    fn counters_grow_vanish_and_go_back() {
        let (then, mut now) = (drive(5), drive(3));
        now.media_errors = Some(1);
        now.device = "sdb".to_owned();
        let now = now.complete("not told");
        let change = Change::between(&then, &now).unwrap();
        assert_eq!(change.device, "sdb", "kernel names change");
        assert_eq!(change.counters.len(), 1);
        assert_eq!(change.counters[0].growth(), None, "it went back");
        assert_eq!(change.only_once, ["media_errors"]);
        assert_eq!((change.arisen.len(), change.arisen[0].severity), (1, Severity::Warning));
        assert_eq!(Change::between(&now, &then).unwrap().gone[0].code, "media_errors");
        let same = Change::between(&then, &then).unwrap();
        assert_eq!(same.counters[0].growth(), Some(0));
    }

    // A drive that does not judge itself is not good, whatever else it reports.
    #[test]
    fn only_a_drive_that_judges_itself_is_good() {
        assert_eq!(drive(0).standing, Standing::Good);
        let mut silent = drive(0);
        silent.says_good = None;
        let mut silent = silent.complete("it does not say");
        assert_eq!(silent.standing, Standing::NotTold);
        assert_eq!(silent.missing["says_good"], "it does not say");
        silent.life_used_percent = Some(100);
        silent.judge();
        assert_eq!(silent.standing, Standing::Attention);
        silent.says_good = Some(false);
        silent.judge();
        assert_eq!(silent.standing, Standing::Bad);
        let now = silent.complete("");
        assert!(!now.missing.contains_key("life_used_percent"), "it is there now");
    }

    #[test]
    fn a_virtual_drive_tells_what_its_environment_counts() {
        let info = DriveInfo {
            name: "sim:x".to_owned(),
            kind: DriveKind::Virtual,
            model: Some("X".to_owned()),
            serial: None,
            capacity_bytes: Bytes::gib(2),
            logical_block_bytes: Bytes(512),
            physical_block_bytes: Bytes(512),
            rotational: None,
            write_cache: None,
            cache_bytes: None,
            link_bytes_per_s: None,
        };
        let device = |read, write| DeviceCounters {
            read_bytes: Bytes(read),
            write_bytes: Bytes(write),
            ..DeviceCounters::default()
        };
        let mut snapshot = Snapshot {
            devices: vec![device(1, 2), device(10, 20)],
            temperature_c: Some(41.6),
            process_cpu: Some(CpuTimes::default()),
            ..Snapshot::default()
        };
        let told = Health::of_virtual(&info, &snapshot);
        assert_eq!(
            (told.host_read_bytes, told.host_write_bytes),
            (Some(Bytes(11)), Some(Bytes(22)))
        );
        assert_eq!((told.temperature_c, told.media_write_bytes), (Some(42), None));
        assert_eq!(told.standing, Standing::NotTold);
        let (host_write_bytes, media_write_bytes) = (Bytes(7), Bytes(9));
        snapshot.endurance = Some(Endurance { host_write_bytes, media_write_bytes });
        snapshot.temperature_c = None;
        snapshot.missing.insert("temperature_c".to_owned(), "no thermometer".to_owned());
        let told = Health::of_virtual(&info, &snapshot);
        assert_eq!(
            (told.host_write_bytes, told.media_write_bytes),
            (Some(Bytes(7)), Some(Bytes(9)))
        );
        assert_eq!(told.missing["temperature_c"], "no thermometer");
    }
}
