//! Asking an ATA drive (ACS-4), directly or through a bridge that passes ATA commands on.
//!
//! The standard's device statistics log is preferred. SMART's attributes are each vendor's own; of
//! them only those are taken for a fact that all vendors are known to agree on, and all are shown.

mod attributes;
mod identify;
mod statistics;

use block::Bytes;
use block::health::{AtaDetail, AtaPower, AtaStatistic, Detail, Health};

use super::asked::Asked;
use crate::passthrough::ata::SECTOR_BYTES;
use crate::passthrough::{AtaCommand, AtaRegisters, CommandError, Commands, Data};

pub use attributes::attributes;
pub use identify::{AtaIdentity, identify};
pub use statistics::{statistics, supported_pages};

/// LBA field of every SMART command: the key in bits 23:8 (ACS-4, SMART).
const SMART_KEY: u64 = 0x00c2_4f00;

/// LBA field after SMART RETURN STATUS when an attribute has failed.
const SMART_FAILING: u64 = 0x002c_f400;

/// Log that holds the device statistics.
const STATISTICS_LOG: u8 = 0x04;

/// Hours that no drive has been on: above it the attribute counts something shorter.
const HOURS_MAX: u64 = 300_000;

/// Reads what an ATA drive reports about itself. A drive in standby is only identified, unless `may_wake`.
pub(super) fn read<C: Commands + ?Sized>(commands: &mut C, device: &str, may_wake: bool) -> Health {
    let mut health = Health::of(device);
    let mut detail = AtaDetail::default();
    let mut asked = Asked::default();
    // Refused by some bridges: then it is not known whether it rests.
    let power = commands.ata(&AtaCommand::check_power_mode(), Data::None);
    detail.power = power.ok().map(|registers| power_of(&registers));
    health.is_asleep = detail.power == Some(AtaPower::Standby) && !may_wake;
    let identity = asked.keep(sector(commands, &AtaCommand::identify())).map(|b| identify(&b));
    if let Some(identity) = identity {
        introduce(&mut health, &mut detail, &identity);
        if !health.is_asleep {
            if identity.has_general_logs {
                detail.statistics = asked.keep(read_statistics(commands)).unwrap_or_default();
            }
            if identity.capabilities.is_smart_on {
                read_smart(commands, &mut health, &mut detail, &mut asked);
            }
            fill(&mut health, &mut detail, &identity);
        }
    }
    let why = if health.is_asleep {
        "it rests, and asking could wake it".to_owned()
    } else {
        asked.why("neither its statistics nor an attribute of known meaning reports it")
    };
    let is_off = detail.capabilities.is_some_and(|can| can.has_smart && !can.is_smart_on);
    if !health.is_asleep && is_off {
        let off = "SMART is switched off".to_owned();
        health.missing.insert("says_good".to_owned(), off);
    }
    health.detail = Detail::Ata(Box::new(detail));
    health.complete(&why)
}

/// Count field of CHECK POWER MODE (ACS-4, CHECK POWER MODE).
fn power_of(registers: &AtaRegisters) -> AtaPower {
    match registers.count & 0xff {
        0x00 | 0x01 => AtaPower::Standby,
        0x80..=0x83 => AtaPower::Idle,
        _ => AtaPower::Active,
    }
}

fn sector<C: Commands + ?Sized>(
    commands: &mut C,
    command: &AtaCommand,
) -> Result<[u8; SECTOR_BYTES], CommandError> {
    let mut bytes = [0; SECTOR_BYTES];
    commands.ata(command, Data::In(&mut bytes))?;
    Ok(bytes)
}

fn introduce(health: &mut Health, detail: &mut AtaDetail, identity: &AtaIdentity) {
    health.model = identity.model.clone();
    health.serial = identity.serial.clone();
    health.firmware = identity.firmware.clone();
    health.capacity_bytes = identity.capacity_bytes;
    detail.capabilities = Some(identity.capabilities);
}

/// READ LOG EXT of one page.
fn log_page<C: Commands + ?Sized>(
    commands: &mut C,
    log: u8,
    page: u8,
) -> Result<[u8; SECTOR_BYTES], CommandError> {
    let command = AtaCommand {
        extended: true,
        lba: u64::from(page) << 8 | u64::from(log),
        ..AtaCommand::sector("READ LOG EXT", 0x2f)
    };
    sector(commands, &command)
}

/// Pages of the device statistics that are known here; others are the vendor's, or say nothing about health.
const STATISTICS_PAGES: [u8; 6] = [1, 3, 4, 5, 6, 7];

fn read_statistics<C: Commands + ?Sized>(
    commands: &mut C,
) -> Result<Vec<AtaStatistic>, CommandError> {
    // The directory: word n is how many pages the log n has. A log that is not there must not be asked for: the
    // drive would note the refusal in its error log.
    let directory = log_page(commands, 0x00, 0)?;
    if super::bytes::u16_le(&directory, 2 * usize::from(STATISTICS_LOG)) == 0 {
        return Ok(Vec::new());
    }
    let supported = supported_pages(&log_page(commands, STATISTICS_LOG, 0)?);
    let mut all = Vec::new();
    for page in STATISTICS_PAGES.into_iter().filter(|page| supported.contains(page)) {
        all.extend(statistics(&log_page(commands, STATISTICS_LOG, page)?, page));
    }
    Ok(all)
}

/// A SMART command of this feature.
fn smart(name: &'static str, feature: u16, with_data: bool) -> AtaCommand {
    let plain =
        if with_data { AtaCommand::sector(name, 0xb0) } else { AtaCommand::plain(name, 0xb0) };
    AtaCommand { feature, lba: SMART_KEY, ..plain }
}

fn read_smart<C: Commands + ?Sized>(
    commands: &mut C,
    health: &mut Health,
    detail: &mut AtaDetail,
    asked: &mut Asked,
) {
    let data = asked.keep(sector(commands, &smart("SMART READ DATA", 0xd0, true)));
    // Obsolete since ATA-4, and answered by all drives that have attributes.
    let limits = sector(commands, &smart("SMART READ THRESHOLDS", 0xd1, true)).ok();
    if let Some(data) = data {
        match attributes(&data, limits.as_ref()) {
            Some(attributes) => detail.attributes = attributes,
            None => asked.note("its SMART data has a wrong checksum"),
        }
    }
    let status = commands.ata(&smart("SMART RETURN STATUS", 0xda, false), Data::None);
    match asked.keep(status).map(|registers| registers.lba & 0x00ff_ff00) {
        Some(SMART_KEY) => health.says_good = Some(true),
        Some(SMART_FAILING) => health.says_good = Some(false),
        Some(other) => {
            let why = format!("SMART RETURN STATUS leaves {other:06x}h, which is neither answer");
            health.missing.insert("says_good".to_owned(), why);
        }
        None => {}
    }
}

fn fill(health: &mut Health, detail: &mut AtaDetail, identity: &AtaIdentity) {
    let statistic = |page: u8, offset: u16| {
        let found = detail.statistics.iter().find(|s| (s.page, s.offset) == (page, offset));
        found.map(|statistic| statistic.value)
    };
    let count = |page, offset| statistic(page, offset).and_then(|value| u64::try_from(value).ok());
    let degrees = |offset| statistic(5, offset).and_then(|value| i32::try_from(value).ok());
    // The lower four bytes; some vendors keep something else in the upper two.
    let raw = |id: u8| {
        let found = detail.attributes.iter().find(|attribute| attribute.id == id);
        found.map(|attribute| attribute.raw & 0xffff_ffff)
    };
    // The lowest byte is the current temperature; in some drives the lowest and highest follow it.
    let warmth = |id: u8| raw(id).map(|raw| i32::from((raw & 0xff) as u8 as i8));
    health.temperature_c = degrees(0x08).or_else(|| warmth(194)).or_else(|| warmth(190));
    health.temperature_highest_c = degrees(0x20);
    health.temperature_warning_c = degrees(0x58);
    let sectors = |value: Option<u64>| {
        value.and_then(|sectors| sectors.checked_mul(identity.logical_block_bytes.0)).map(Bytes)
    };
    health.host_write_bytes = sectors(count(1, 0x18));
    health.host_read_bytes = sectors(count(1, 0x28));
    let counts = health.host_write_bytes.or(health.host_read_bytes);
    health.host_unit_bytes = counts.map(|_| identity.logical_block_bytes);
    health.life_used_percent = count(7, 0x08).and_then(|percent| u32::try_from(percent).ok());
    let hours = raw(9).filter(|hours| *hours <= HOURS_MAX);
    health.power_on_hours = count(1, 0x10).or(hours);
    health.power_cycles = count(1, 0x08).or_else(|| raw(12));
    health.media_errors = count(4, 0x08).or_else(|| raw(187)).or_else(|| raw(198));
    let reallocated = count(3, 0x20).or_else(|| raw(5));
    let pending = count(3, 0x38).or_else(|| raw(197));
    let link = count(6, 0x18).or_else(|| raw(199));
    explain(health, detail);
    detail.reallocated_sectors = reallocated;
    detail.pending_sectors = pending;
    detail.link_errors = link;
}

fn explain(health: &mut Health, detail: &AtaDetail) {
    let mut why = |name: &str, reason: String| {
        health.missing.insert(name.to_owned(), reason);
    };
    let doubtful = |ids: &[u8], what: &str| {
        let found = detail.attributes.iter().find(|attribute| ids.contains(&attribute.id))?;
        Some(format!(
            "only attribute {} counts it ({}), {what}, which its vendor alone knows",
            found.id, found.raw
        ))
    };
    let units = "in a unit of 512 bytes, 32 MiB, 1 GiB or another";
    for (name, id) in [("host_write_bytes", 241), ("host_read_bytes", 242)] {
        if let Some(reason) = doubtful(&[id], units) {
            why(name, reason);
        }
    }
    if let Some(reason) = doubtful(&[177, 231, 233, 202, 173, 169], "in a way") {
        why("life_used_percent", reason);
    }
    if let Some(reason) = doubtful(&[9], "in a unit") {
        why("power_on_hours", reason);
    }
    why("throttle_events", "ATA does not count it".to_owned());
    why("unsafe_shutdowns", "ATA's statistics do not count it".to_owned());
    why("temperature_critical_c", "ATA knows one limit, the highest to be operated at".to_owned());
}
