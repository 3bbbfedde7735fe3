//! Health of an ATA drive, from bytes laid out as the standard has them.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use block::Bytes;
use block::health::{
    AtaDetail, AtaPower, AttributeState, Detail, Health, Rotation, Severity, Standing,
};
use common::fake::{Fake, registers, unknown};
use drivescope_linux::health::{Manner, Protocol, ata, read};
use drivescope_linux::passthrough::ScsiAnswer;
use proptest::prelude::*;

type Sector = [u8; 512];

/// State of a simulated drive.
#[derive(Clone)]
struct Made {
    identity: Sector,
    /// Count field of CHECK POWER MODE.
    power: u8,
    data: Sector,
    thresholds: Sector,
    /// LBA that SMART RETURN STATUS leaves.
    status_lba: u32,
    /// Pages of the statistics log, from 0.
    statistics: Vec<Sector>,
}

fn words(pairs: &[(usize, u16)]) -> Sector {
    let mut sector = [0; 512];
    for (word, value) in pairs {
        sector[2 * word..2 * word + 2].copy_from_slice(&value.to_le_bytes());
    }
    sector
}

fn letters(sector: &mut Sector, from: usize, to: usize, text: &str) {
    let field = format!("{text:<width$}", width = 2 * (to - from + 1));
    for (pair, letters) in
        sector[2 * from..2 * to + 2].chunks_mut(2).zip(field.as_bytes().chunks(2))
    {
        pair.copy_from_slice(&[letters[1], letters[0]]);
    }
}

fn identity() -> Sector {
    let mut sector = words(&[
        (59, 0xb000),
        (60, 0xffff),
        (61, 0x0fff),
        (82, 0x0001),
        (83, 0x4400),
        (84, 0x4020),
        (85, 0x0021),
        (89, 0x8003),
        (90, 0x0002),
        (100, 0x6db0),
        (101, 0x7470),
        (106, 0x5000),
        (117, 0x0800),
        (128, 0x0029),
        (169, 1),
        (217, 7200),
    ]);
    letters(&mut sector, 10, 19, "SN42");
    letters(&mut sector, 23, 26, "FW7");
    letters(&mut sector, 27, 46, "Disk of Glass");
    sector
}

fn sealed(mut sector: Sector) -> Sector {
    sector[511] = 0;
    let sum = sector.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    sector[511] = sum.wrapping_neg();
    sector
}

/// SMART READ DATA of attributes: number, flags, value, worst, raw.
fn data(attributes: &[(u8, u8, u8, u8, u64)]) -> Sector {
    let mut sector = [0; 512];
    for (place, (id, flags, value, worst, raw)) in attributes.iter().enumerate() {
        let entry = &mut sector[2 + 12 * place..14 + 12 * place];
        entry[..5].copy_from_slice(&[*id, *flags, 0, *value, *worst]);
        entry[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
    }
    sealed(sector)
}

fn thresholds(limits: &[(u8, u8)]) -> Sector {
    let mut sector = [0; 512];
    for (place, (id, limit)) in limits.iter().enumerate() {
        sector[2 + 12 * place..4 + 12 * place].copy_from_slice(&[*id, *limit]);
    }
    sealed(sector)
}

/// A page of statistics: place, flags, value.
fn page(number: u8, statistics: &[(usize, u8, u64)]) -> Sector {
    let mut sector = [0; 512];
    sector[2] = number;
    for (offset, flags, value) in statistics {
        let entry = value & 0x00ff_ffff_ffff_ffff | u64::from(*flags) << 56;
        sector[*offset..offset + 8].copy_from_slice(&entry.to_le_bytes());
    }
    sector
}

fn without_statistics() -> Made {
    let attributes = [
        (5, 3, 100, 100, 2),
        (9, 2, 90, 90, 0x1234_0000_2710),
        (12, 2, 100, 100, 55),
        (187, 2, 100, 100, 0),
        (194, 2, 66, 50, 0x003c_0014_0022),
        (197, 2, 100, 100, 3),
        (199, 2, 200, 200, 4),
        (241, 2, 99, 99, 777),
    ];
    Made {
        identity: identity(),
        power: 0xff,
        data: data(&attributes),
        thresholds: thresholds(&[(5, 10), (9, 0)]),
        status_lba: 0xc2_4f00,
        statistics: Vec::new(),
    }
}

fn with_statistics() -> Made {
    let mut supported = page(0, &[]);
    supported[8..13].copy_from_slice(&[4, 0, 1, 5, 7]);
    let statistics = vec![
        supported,
        page(
            1,
            &[
                (0x08, 0xc0, 66),
                (0x10, 0xc0, 4_000),
                (0x18, 0xc0, 1_000_000),
                (0x28, 0xc0, 2_000_000),
                // There and not valid; valid and not there.
                (0x20, 0x80, 5),
                (0x30, 0x40, 6),
            ],
        ),
        [0; 512],
        [0; 512],
        [0; 512],
        page(5, &[(0x08, 0xc0, 0xfb), (0x20, 0xc8, 61), (0x58, 0xc0, 60)]),
        [0; 512],
        page(7, &[(0x08, 0xe0, 104)]),
    ];
    Made { statistics, ..without_statistics() }
}

fn drive(made: Made) -> Fake {
    Fake::scsi(move |cdb| answer(&made, cdb))
}

fn answer(made: &Made, cdb: &[u8]) -> Result<Vec<u8>, ScsiAnswer> {
    if cdb[0] != 0x85 {
        return Err(unknown());
    }
    let (feature, log, log_page) = (cdb[4], cdb[8], cdb[10]);
    let delivered = match (cdb[14], feature) {
        (0xe5, _) => return Err(registers(0x50, 0, made.power, 0)),
        (0xec, _) => made.identity,
        (0xb0, 0xd0) => made.data,
        (0xb0, 0xd1) => made.thresholds,
        (0xb0, 0xda) => return Err(registers(0x50, 0, 0, made.status_lba)),
        (0x2f, _) if log == 0 => words(&[(4, made.statistics.len() as u16)]),
        (0x2f, _) if log == 4 && usize::from(log_page) < made.statistics.len() => {
            made.statistics[usize::from(log_page)]
        }
        _ => return Err(registers(0x51, 0x04, 0, 0)),
    };
    Ok(delivered.to_vec())
}

fn health_of(made: Made) -> Health {
    read(&mut drive(made), Protocol::Ata, "sda", Manner::default())
}

fn detail(health: &Health) -> &AtaDetail {
    match &health.detail {
        Detail::Ata(detail) => detail,
        other => panic!("{other:?}"),
    }
}

fn codes(health: &Health, severity: Severity) -> Vec<&str> {
    let of = health.findings.iter().filter(|finding| finding.severity == severity);
    of.map(|finding| finding.code.as_str()).collect()
}

#[test]
fn identification_is_read_word_by_word() {
    let identity = ata::identify(&identity());
    assert_eq!(identity.model.as_deref(), Some("Disk of Glass"));
    assert_eq!(
        (identity.serial.as_deref(), identity.firmware.as_deref()),
        (Some("SN42"), Some("FW7"))
    );
    assert_eq!(identity.logical_block_bytes, Bytes(4096));
    assert_eq!(identity.capacity_bytes, Some(Bytes(0x7470_6db0 * 4096)));
    assert_eq!(identity.capabilities.rotation, Some(Rotation::PerMinute(7200)));
    let can = identity.capabilities;
    assert!(can.has_smart && can.is_smart_on && can.is_write_cache_on && can.can_trim);
    assert!(identity.has_general_logs);
    let security = can.security;
    assert!(security.is_supported && security.is_frozen && security.can_erase_enhanced);
    assert!(!security.is_enabled && !security.is_locked && !security.is_expired);
    assert_eq!((security.erase_minutes, security.erase_enhanced_minutes), (Some(6), Some(4)));
    let sanitize = can.sanitize;
    assert!(sanitize.is_supported && sanitize.can_crypto && sanitize.can_block);
    assert!(!sanitize.can_overwrite);

    let of = |pairs: &[(usize, u16)]| ata::identify(&words(pairs));
    assert_eq!(of(&[(60, 8)]).capacity_bytes, Some(Bytes(4096)), "28 bits, 512 bytes");
    assert_eq!(of(&[(217, 1)]).capabilities.rotation, Some(Rotation::None));
    assert_eq!(of(&[(217, 0)]).capabilities.rotation, None);
    // Words that hold something only with a mark are not believed without it.
    assert!(!of(&[(84, 0x0020)]).has_general_logs && of(&[(87, 0x4020)]).has_general_logs);
    assert!(!of(&[(59, 0xe000)]).capabilities.sanitize.can_crypto);
}

#[test]
fn what_the_standard_defines_is_preferred() {
    let health = health_of(with_statistics());
    assert_eq!(health.temperature_c, Some(-5), "by the statistics, with its sign");
    assert_eq!((health.temperature_highest_c, health.temperature_warning_c), (Some(61), Some(60)));
    assert_eq!(health.host_write_bytes, Some(Bytes(1_000_000 * 4096)));
    assert_eq!(health.host_read_bytes, Some(Bytes(2_000_000 * 4096)));
    assert_eq!(health.host_unit_bytes, Some(Bytes(4096)));
    assert_eq!((health.power_cycles, health.power_on_hours), (Some(66), Some(4_000)));
    assert_eq!(health.life_used_percent, Some(104));
    assert_eq!((health.says_good, health.standing), (Some(true), Standing::Attention));
    let told = detail(&health);
    let names: Vec<_> = told.statistics.iter().map(|s| s.name.as_str()).collect();
    assert!(!names.contains(&"write commands") && !names.contains(&"read commands"), "{names:?}");
    assert!(told.statistics.iter().any(|s| s.is_condition_met && s.offset == 0x20));
    // A page that says that it is another is none.
    assert!(ata::statistics(&page(5, &[(0x08, 0xc0, 40)]), 1).is_empty());
}

#[test]
fn attributes_that_all_vendors_agree_on_stand_in() {
    let health = health_of(without_statistics());
    assert_eq!(health.temperature_c, Some(34), "the lowest byte; lowest and highest stand behind");
    assert_eq!(health.power_on_hours, Some(10_000), "the lower four bytes");
    assert_eq!((health.power_cycles, health.media_errors), (Some(55), Some(0)));
    assert_eq!(health.host_write_bytes, None);
    assert!(health.missing["host_write_bytes"].contains("attribute 241"), "{:?}", health.missing);
    let told = detail(&health);
    assert_eq!(
        (told.reallocated_sectors, told.pending_sectors, told.link_errors),
        (Some(2), Some(3), Some(4))
    );
    assert_eq!(codes(&health, Severity::Warning), ["pending_sectors"]);
    assert_eq!(codes(&health, Severity::Note), ["reallocated_sectors", "link_errors"]);
    let states: Vec<_> = told.attributes.iter().map(|a| (a.id, a.threshold, a.state)).collect();
    assert_eq!(states[0], (5, Some(10), AttributeState::Good));
    assert_eq!(states[1], (9, Some(0), AttributeState::NoThreshold));
    assert_eq!(states[2], (12, None, AttributeState::NoThreshold));
    // Minutes, or milliseconds with something above them.
    let odd = Made { data: data(&[(9, 2, 1, 1, 3_000_000)]), ..without_statistics() };
    let health = health_of(odd);
    assert_eq!(health.power_on_hours, None);
    assert!(health.missing["power_on_hours"].contains("attribute 9"));
}

// The one bit that matters most.
#[test]
fn a_failing_drive_is_bad() {
    let failing = Made { status_lba: 0x2c_f400, ..without_statistics() };
    let health = health_of(failing);
    assert_eq!((health.says_good, health.standing), (Some(false), Standing::Bad));
    assert_eq!(codes(&health, Severity::Critical), ["smart_failing"]);
    let neither = health_of(Made { status_lba: 0, ..without_statistics() });
    assert_eq!(neither.says_good, None);
    assert!(neither.missing["says_good"].contains("neither answer"));

    let worn = |flags, value, worst| {
        let made = Made { data: data(&[(5, flags, value, worst, 0)]), ..without_statistics() };
        health_of(made)
    };
    assert_eq!(codes(&worn(1, 10, 10), Severity::Critical), ["attribute_failing"]);
    assert_eq!(codes(&worn(0, 10, 10), Severity::Warning), ["attribute_used_up"]);
    assert_eq!(codes(&worn(1, 11, 10), Severity::Note), ["attribute_failed_before"]);
    assert_eq!(worn(1, 11, 11).standing, Standing::Good);
}

#[test]
fn what_is_damaged_or_switched_off_is_not_believed() {
    let mut broken = without_statistics();
    broken.data[100] ^= 1;
    let health = health_of(broken);
    assert!(detail(&health).attributes.is_empty());
    assert!(health.missing["power_cycles"].contains("wrong checksum"));
    let mut odd = without_statistics();
    odd.thresholds[100] ^= 1;
    assert_eq!(detail(&health_of(odd)).attributes[0].threshold, None);

    let mut off = without_statistics();
    off.identity[2 * 85] &= !1;
    let health = health_of(off);
    assert_eq!(
        (health.standing, codes(&health, Severity::Note)),
        (Standing::NotTold, vec!["smart_off"])
    );
    assert_eq!(health.missing["says_good"], "SMART is switched off");
}

// A disk that was woken by being asked how it is would be worn by being watched.
#[test]
fn a_resting_drive_is_asked_who_it_is_and_nothing_else() {
    let asleep = Made { power: 0x00, ..with_statistics() };
    let mut fake = drive(asleep.clone());
    let asked = fake.asked();
    let health = read(&mut fake, Protocol::Ata, "sda", Manner::default());
    assert_eq!(*asked.lock().unwrap(), ["CHECK POWER MODE", "IDENTIFY DEVICE"]);
    assert!(health.is_asleep && health.serial.is_some());
    assert_eq!((health.standing, health.temperature_c), (Standing::NotTold, None));
    assert!(health.missing["temperature_c"].contains("wake"));
    let woken = read(&mut drive(asleep), Protocol::Ata, "sda", Manner { may_wake: true });
    assert!(!woken.is_asleep && woken.temperature_c == Some(-5));
    assert_eq!(detail(&woken).power, Some(AtaPower::Standby));
    let idle = health_of(Made { power: 0x81, ..with_statistics() });
    assert!(!idle.is_asleep && detail(&idle).power == Some(AtaPower::Idle));
}

proptest! {
    #[test]
    fn no_answer_makes_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 512),
        power in any::<u8>(),
        lba in any::<u32>(),
        is_sealed in any::<bool>(),
    ) {
        let noise: Sector = bytes.try_into().unwrap();
        let seal = |sector| if is_sealed { sealed(sector) } else { sector };
        let mut identity = noise;
        // So that the code behind these bits is reached.
        identity[2 * 82] |= 1;
        identity[2 * 85] |= 1;
        identity[2 * 84] |= 0x20;
        identity[2 * 84 + 1] = 0x40;
        let mut first = noise;
        first[8..12].copy_from_slice(&[3, 1, 5, 7]);
        let numbered = |number| { let mut page = noise; page[2] = number; page };
        let made = Made {
            identity,
            power,
            data: seal(noise),
            thresholds: seal(noise),
            status_lba: lba & 0x0fff_ffff,
            statistics: (0..8).map(|n| if n == 0 { first } else { numbered(n) }).collect(),
        };
        let health = health_of(made);
        let json = serde_json::to_value(&health).unwrap();
        for (name, value) in json.as_object().unwrap() {
            prop_assert!(!value.is_null() || health.missing.contains_key(name), "{name}");
        }
    }
}
