//! What changed between two readings of one drive.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Finding, Health};

/// What changed of one drive.
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
    /// What it was.
    pub before: u64,
    /// What it is.
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
        /// What differs.
        what: &'static str,
        /// Then.
        before: String,
        /// Now.
        after: String,
    },
    /// Nothing tells whether they are of one drive.
    #[error(
        "{0} has no serial number: nothing tells that the earlier reading is of the same drive"
    )]
    Nameless(String),
}

impl Change {
    /// What changed from `before` to `after`.
    ///
    /// # Errors
    /// When they are readings of different drives, or nothing tells that they are not.
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
