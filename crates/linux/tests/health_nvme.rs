//! Health of an NVMe drive, from bytes laid out as the specification has them.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use block::Bytes;
use block::health::{Detail, Health, NvmeDetail, NvmeSanitizeState, Severity, Standing};
use common::fake::Fake;
use drivescope_linux::health::{Manner, Protocol, Watch, nvme, read};
use proptest::prelude::*;

/// Bytes with little-endian numbers at places.
struct Page(Vec<u8>);

impl Page {
    fn new(length: usize) -> Page {
        Page(vec![0; length])
    }

    fn put(mut self, at: usize, bytes: usize, value: u128) -> Page {
        self.0[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        self
    }

    fn text(mut self, at: usize, length: usize, text: &str) -> Page {
        self.0[at..at + length].fill(b' ');
        self.0[at..at + text.len()].copy_from_slice(text.as_bytes());
        self
    }
}

fn identify_controller() -> Page {
    Page::new(4096)
        .put(0, 2, 0x144d)
        .text(4, 20, "S123")
        .text(24, 40, "Model X")
        .text(64, 8, "FW1")
        .put(80, 4, 0x0001_0400)
        .put(256, 2, 0b0111)
        .put(266, 2, 273 + 70)
        .put(268, 2, 273 + 85)
        .put(516, 4, 1)
        .put(520, 2, 0b1100)
        .put(524, 1, 0b0100)
        .put(525, 1, 1)
}

fn identify_namespace() -> Page {
    Page::new(4096)
        .put(0, 8, 2_000_000)
        .put(8, 8, 1_900_000)
        .put(16, 8, 1_000_000)
        .put(25, 1, 1)
        .put(26, 1, 1)
        .put(128, 4, 0x0209_0000)
        .put(132, 4, 0x010c_0008)
}

fn smart_log() -> Page {
    Page::new(512)
        .put(1, 2, 273 + 41)
        .put(3, 1, 98)
        .put(4, 1, 10)
        .put(5, 1, 7)
        .put(32, 16, 1_000)
        .put(48, 16, 2_000)
        .put(64, 16, 3)
        .put(80, 16, 4)
        .put(96, 16, 5)
        .put(112, 16, 6)
        .put(128, 16, 7)
        .put(144, 16, 8)
        .put(160, 16, 0)
        .put(176, 16, 10)
        .put(192, 4, 11)
        .put(196, 4, 12)
        .put(200, 2, 300)
        .put(214, 2, 308)
        .put(216, 4, 13)
        .put(220, 4, 14)
        .put(224, 4, 15)
        .put(228, 4, 16)
}

fn ocp_log() -> Page {
    Page::new(512)
        .put(0, 16, 3_000_000_000)
        .put(16, 16, u128::MAX)
        .put(32, 6, 17)
        .put(38, 2, 99)
        .put(40, 8, u128::from(u64::MAX))
        .put(48, 8, 18)
        .put(56, 8, 19)
        .put(80, 1, 20)
        .put(88, 4, 22)
        .put(92, 4, 21)
        .put(96, 1, 23)
        .put(97, 1, 0)
        .put(112, 4, 24)
        .put(120, 1, 25)
        .put(128, 2, 0xffff)
        .put(494, 2, 3)
        .put(496, 16, 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5)
}

/// A drive that has these pages, by opcode and identifier, and refuses all others.
fn drive(pages: Vec<((u8, u8), Page)>) -> Fake {
    Fake::nvme(move |command| {
        let id = (command.cdw10_to_15[0] & 0xff) as u8;
        let found = pages.iter().find(|(key, _)| *key == (command.opcode, id));
        found.map(|(_, page)| page.0.clone()).ok_or(0x4109)
    })
}

fn plain() -> Vec<((u8, u8), Page)> {
    vec![
        ((0x06, 1), identify_controller()),
        ((0x06, 0), identify_namespace()),
        ((0x02, 2), smart_log()),
    ]
}

fn health_of(mut drive: Fake) -> Health {
    read(&mut drive, Protocol::Nvme(Some(1)), "nvme0n1", Manner::default())
}

fn detail(health: &Health) -> &NvmeDetail {
    match &health.detail {
        Detail::Nvme(detail) => detail,
        other => panic!("{other:?}"),
    }
}

fn codes(health: &Health, severity: Severity) -> Vec<&str> {
    let of = health.findings.iter().filter(|finding| finding.severity == severity);
    of.map(|finding| finding.code.as_str()).collect()
}

// A field read from its neighbour's place would go unseen for years: both are plausible numbers.
#[test]
fn every_field_is_read_from_its_own_place() {
    let health = health_of(drive(plain()));
    assert_eq!(health.model.as_deref(), Some("Model X"));
    assert_eq!(health.serial.as_deref(), Some("S123"));
    assert_eq!(health.firmware.as_deref(), Some("FW1"));
    assert_eq!(health.capacity_bytes, Some(Bytes(2_000_000 * 4096)));
    assert_eq!(health.temperature_c, Some(41));
    assert_eq!(health.temperature_warning_c, Some(70));
    assert_eq!(health.temperature_critical_c, Some(85));
    assert_eq!((health.spare_percent, health.life_used_percent), (Some(98), Some(7)));
    assert_eq!(health.host_read_bytes, Some(Bytes(512_000_000)));
    assert_eq!(health.host_write_bytes, Some(Bytes(1_024_000_000)));
    assert_eq!(health.host_unit_bytes, Some(Bytes(512_000)));
    assert_eq!((health.power_cycles, health.power_on_hours), (Some(6), Some(7)));
    assert_eq!((health.unsafe_shutdowns, health.media_errors), (Some(8), Some(0)));
    assert_eq!(health.says_good, Some(true));
    assert_eq!(health.throttle_events, Some(27));

    let detail = detail(&health);
    let smart = detail.smart.as_ref().unwrap();
    assert_eq!((smart.host_reads, smart.host_writes, smart.busy_minutes), (3, 4, 5));
    assert_eq!(smart.error_log_entries, 10);
    assert_eq!((smart.warning_temperature_minutes, smart.critical_temperature_minutes), (11, 12));
    assert_eq!(smart.sensors_k, [300, 0, 0, 0, 0, 0, 0, 308]);
    assert_eq!((smart.light_throttle_events, smart.heavy_throttle_events), (13, 14));
    assert_eq!((smart.light_throttle_seconds, smart.heavy_throttle_seconds), (15, 16));
    let controller = detail.controller.as_ref().unwrap();
    assert_eq!((controller.vendor_id, controller.version), (0x144d, [1, 4, 0]));
    assert!(controller.can_format && controller.can_security && controller.can_crypto_erase);
    assert!(!controller.can_manage_namespaces && !controller.formats_all && !controller.erases_all);
    assert!(controller.can_deallocate && controller.can_write_zeroes);
    assert!(controller.has_volatile_cache && !controller.can_sanitize());
    let namespace = detail.namespace.as_ref().unwrap();
    assert_eq!((namespace.capacity_blocks, namespace.used_blocks), (1_900_000, 1_000_000));
    assert_eq!((namespace.format, namespace.formats.len()), (1, 2));
    assert_eq!(namespace.formats[0].data_bytes, Bytes(512));
    assert_eq!(namespace.formats[1].metadata_bytes, Bytes(8));
    assert_eq!((namespace.formats[0].performance, namespace.formats[1].performance), (2, 1));
}

// Each bit by itself: a shifted mask would call a drive that lost its power-loss protection sound.
#[test]
fn capabilities_are_read_bit_by_bit() {
    let of = |at: usize, bytes: usize, value: u128| {
        nvme::controller(&Page::new(4096).put(at, bytes, value).0)
    };
    assert!(of(328, 4, 1).can_sanitize_crypto && of(328, 4, 2).can_sanitize_block);
    assert!(of(328, 4, 4).can_sanitize_overwrite && !of(328, 4, 8).can_sanitize());
    assert!(
        of(524, 1, 1).formats_all && of(524, 1, 2).erases_all && of(524, 1, 4).can_crypto_erase
    );
    assert!(of(256, 2, 8).can_manage_namespaces && of(96, 4, 16).has_endurance_groups);
    assert!(of(322, 2, 1).has_thermal_management);
    assert_eq!(of(280, 16, 5).total_bytes, Some(Bytes(5)));
    assert_eq!(of(296, 16, 6).unallocated_bytes, Some(Bytes(6)));
    assert_eq!((of(0, 1, 0).total_bytes, of(0, 1, 0).unallocated_bytes), (None, None));
    assert_eq!(of(256, 2, 8).unallocated_bytes, Some(Bytes(0)), "all is in namespaces");

    // FLBAS goes on in bits 6:5 only where there are more than 16 formats.
    let many = |count: u128| Page::new(4096).put(25, 1, count - 1).put(26, 1, 0x23);
    assert_eq!(nvme::namespace(&many(16).0, 1).format, 3);
    assert_eq!(nvme::namespace(&many(32).0, 1).format, 0x13);
    // A format that is not there has no size, and its namespace none either.
    assert_eq!(nvme::namespace(&many(32).0, 1).size_bytes(), None);
}

#[test]
fn logs_are_asked_for_only_where_the_drive_has_them() {
    let asked = |pages| {
        let fake = drive(pages);
        let asked = fake.asked();
        let health = health_of(fake);
        (health, asked.lock().unwrap().join("; "))
    };
    let smart = "Identify controller; Identify namespace; Get Log Page (SMART / health)";
    let (health, list) = asked(plain());
    assert_eq!(list, smart, "a drive for a single computer is not asked for OCP's log");
    assert!(health.missing["media_write_bytes"].contains("no log that counts writes"));

    // One that manages namespaces may be of OCP's kind, and if it refuses, that is an answer.
    let mut pages = plain();
    pages[0].1 = identify_controller().put(256, 2, 0b1111).put(328, 4, 2).put(96, 4, 16);
    pages[1].1 = identify_namespace().put(102, 2, 9);
    pages.push(((0x02, 0x81), Page::new(512).put(0, 2, 0xffff).put(2, 2, 0x101).put(16, 4, 30)));
    let group = Page::new(512).put(0, 1, 1).put(3, 1, 5).put(4, 1, 10).put(64, 16, 2);
    pages.push(((0x02, 0x09), group.put(48, 16, 1).put(80, 16, 3).put(32, 16, 4)));
    let (health, list) = asked(pages);
    let more =
        "Get Log Page (endurance group); Get Log Page (OCP SMART); Get Log Page (sanitize status)";
    assert_eq!(list, format!("{smart}; {more}"));
    assert_eq!(health.media_write_bytes, Some(Bytes(3_000_000_000)));
    let told = detail(&health);
    let group = told.endurance_group.as_ref().unwrap();
    assert_eq!((group.id, group.spare_percent, group.spare_threshold_percent), (9, 5, 10));
    assert_eq!(group.host_read_bytes, Some(Bytes(1_000_000_000)));
    assert_eq!(group.host_write_bytes, Some(Bytes(2_000_000_000)));
    assert_eq!(group.endurance_bytes, Some(Bytes(4_000_000_000)));
    assert!(codes(&health, Severity::Critical).contains(&"endurance_group_warning"));
    let sanitize = told.sanitize.as_ref().unwrap();
    assert_eq!((sanitize.state, sanitize.crypto_seconds), (NvmeSanitizeState::Done, Some(30)));
    assert!(sanitize.is_unwritten_since);

    // From NVMe 2.0 on the drive says which logs it has.
    let supported = |has: u128| {
        let mut pages = plain();
        pages[0].1 = identify_controller().put(80, 4, 0x0002_0000);
        pages.push(((0x02, 0x00), Page::new(1024).put(0xc0 * 4, 4, has)));
        pages.push(((0x02, 0xc0), ocp_log()));
        asked(pages)
    };
    let (health, list) = supported(0);
    assert!(list.ends_with("(supported log pages)") && detail(&health).ocp.is_none(), "{list}");
    let (health, list) = supported(1);
    assert!(list.ends_with("(OCP SMART)"), "{list}");
    assert_eq!(health.media_write_bytes, Some(Bytes(3_000_000_000)));
}

// Page C0h is the vendor's: what another vendor keeps there must not be taken for OCP's.
#[test]
fn ocps_log_is_known_by_its_guid() {
    let ocp = nvme::ocp(&ocp_log().0).unwrap();
    assert_eq!(ocp.media_write_bytes, Some(Bytes(3_000_000_000)));
    assert_eq!((ocp.media_read_bytes, ocp.bad_system_blocks), (None, None), "all ones: not told");
    assert_eq!((ocp.bad_user_blocks, ocp.parity_recoveries), (Some(17), Some(18)));
    assert_eq!((ocp.uncorrectable_reads, ocp.system_life_used_percent), (Some(19), Some(20)));
    assert_eq!((ocp.erases_min, ocp.erases_max), (Some(21), Some(22)));
    assert_eq!((ocp.throttle_events, ocp.throttle_now), (Some(23), Some(0)));
    assert_eq!((ocp.incomplete_shutdowns, ocp.free_blocks_percent), (Some(24), Some(25)));
    assert_eq!((ocp.capacitor_percent, ocp.page_version), (None, 3));
    assert_eq!(nvme::ocp(&ocp_log().put(511, 1, 0xae).0), None);
    assert_eq!(nvme::ocp(&[0; 512]), None);
}

#[test]
fn warnings_become_findings() {
    let with = |page: Page| {
        let mut pages = plain();
        pages[2].1 = page;
        health_of(drive(pages))
    };
    let calm = || smart_log().put(192, 4, 0).put(196, 4, 0).put(216, 8, 0).put(144, 16, 0);
    let good = with(calm());
    assert_eq!((good.standing, good.findings.as_slice()), (Standing::Good, &[][..]));
    for (bit, code) in
        [(0, "spare_low"), (2, "reliability_degraded"), (3, "read_only"), (4, "backup_failed")]
    {
        let health = with(calm().put(0, 1, 1 << bit));
        assert_eq!(codes(&health, Severity::Critical), [code]);
        assert_eq!((health.standing, health.says_good), (Standing::Bad, Some(false)));
    }
    for (bit, code) in [(1, "temperature_outside"), (5, "persistent_memory")] {
        let health = with(calm().put(0, 1, 1 << bit));
        assert_eq!(codes(&health, Severity::Warning), [code]);
        assert_eq!((health.standing, health.says_good), (Standing::Attention, None));
        assert!(health.missing["says_good"].contains("not of a failure"));
    }
    // The drive may forget to warn; its own threshold says the same.
    assert_eq!(codes(&with(calm().put(3, 1, 9)), Severity::Critical), ["spare_low"]);
    let worn = with(calm().put(5, 1, 104));
    assert_eq!(codes(&worn, Severity::Warning), ["life_used_up"]);
    assert!(worn.findings[0].cause.contains("104%"));
    assert_eq!(codes(&with(calm().put(160, 16, 1)), Severity::Warning), ["media_errors"]);
    assert_eq!(
        codes(&with(calm().put(1, 2, 273 + 70)), Severity::Warning),
        ["temperature_warning"]
    );
    assert_eq!(
        codes(&with(calm().put(1, 2, 273 + 85)), Severity::Critical),
        ["temperature_critical"]
    );
    let seen = with(smart_log());
    assert_eq!(codes(&seen, Severity::Warning), ["critical_heat_seen"]);
    assert_eq!(codes(&seen, Severity::Note), ["heat_seen", "throttling_seen", "unsafe_shutdowns"]);
}

// A value that a drive does not report must never look like an answer.
#[test]
fn what_is_not_told_is_missing_with_a_reason() {
    let mut pages = plain();
    pages[2].1 = smart_log().put(1, 4, 0).put(48, 16, u128::MAX).put(216, 8, 0);
    pages[0].1 = identify_controller().put(266, 4, 0);
    let health = health_of(drive(pages));
    assert_eq!((health.temperature_c, health.temperature_warning_c), (None, None));
    assert_eq!((health.host_write_bytes, health.throttle_events), (None, None));
    assert!(health.missing["host_write_bytes"].contains("more than a drive can have written"));
    assert!(health.missing["throttle_events"].contains("thermal management"));
    assert!(health.spare_percent.is_none() && health.missing["spare_percent"].contains("zero"));
    assert_eq!(codes(&health, Severity::Critical), Vec::<&str>::new());
    assert!(health.missing["temperature_warning_c"].contains("WCTEMP"));

    let mut pages = plain();
    pages[1].1 = Page::new(4096);
    assert_eq!(health_of(drive(pages)).capacity_bytes, None, "a namespace that is not active");

    let silent = health_of(drive(Vec::new()));
    assert_eq!((silent.standing, silent.says_good), (Standing::NotTold, None));
    assert!(silent.missing["says_good"].contains("invalid log page"), "{:?}", silent.missing);
    assert_eq!(silent.missing.len(), 20, "each of them");
    // A drive that refuses its SMART log alone still says who it is.
    let mut pages = plain();
    pages.pop();
    let health = health_of(drive(pages));
    assert_eq!(health.model.as_deref(), Some("Model X"));
    assert_eq!(health.standing, Standing::NotTold);
    assert!(health.missing["life_used_percent"].contains("SMART / health"));
}

// Around a run only these are asked, and a count of another grain is not set against the drive's own.
#[test]
fn a_watched_drive_is_asked_little() {
    let fake = drive(plain());
    let asked = fake.asked();
    let mut watch = Watch::of(Box::new(fake), Some(1)).unwrap();
    asked.lock().unwrap().clear();
    let reading = watch.read().unwrap();
    assert_eq!(*asked.lock().unwrap(), ["Get Log Page (SMART / health)"]);
    assert_eq!((reading.temperature_c, reading.endurance), (Some(41), None));
    assert_eq!(reading.throttle_events, 11 + 12 + 13 + 14);

    let mut pages = plain();
    pages[0].1 = identify_controller().put(256, 2, 0b1111);
    pages.push(((0x02, 0xc0), ocp_log()));
    let endurance = Watch::of(Box::new(drive(pages)), Some(1)).unwrap().read().unwrap().endurance;
    assert_eq!(endurance.unwrap().host_write_bytes, Bytes(1_024_000_000));
    assert_eq!(endurance.unwrap().media_write_bytes, Bytes(3_000_000_000));

    let mut pages = plain();
    pages[0].1 = identify_controller().put(96, 4, 16);
    pages[1].1 = identify_namespace().put(102, 2, 9);
    pages.push(((0x02, 0x09), Page::new(512).put(64, 16, 2).put(80, 16, 3)));
    let endurance = Watch::of(Box::new(drive(pages)), Some(1)).unwrap().read().unwrap().endurance;
    assert_eq!(endurance.unwrap().host_write_bytes, Bytes(2_000_000_000), "of the same log");
    assert!(Watch::of(Box::new(drive(Vec::new())), Some(1)).is_err());
}

proptest! {
    // Whatever a drive says, nothing panics, and what is not there has a reason.
    #[test]
    fn no_answer_makes_a_panic(
        seed in proptest::collection::vec(any::<u8>(), 1..4096),
        statuses in proptest::collection::vec(any::<u16>(), 12),
        nsid in any::<Option<u32>>(),
    ) {
        let mut turn = 0;
        let mut fake = Fake::nvme(move |command| {
            turn += 1;
            let status = statuses[turn % statuses.len()];
            let bytes = seed.iter().cycle().skip(turn * 7 + usize::from(command.opcode));
            if status % 3 == 0 { Err(status.max(1) & 0x7fff | 1) } else { Ok(bytes.take(4096).copied().collect()) }
        });
        let health = read(&mut fake, Protocol::Nvme(nsid), "x", Manner::default());
        let json = serde_json::to_value(&health).unwrap();
        for (name, value) in json.as_object().unwrap() {
            prop_assert!(!value.is_null() || health.missing.contains_key(name), "{name}");
        }
        let again: Health = serde_json::from_value(json).unwrap();
        prop_assert_eq!(again, health);
    }
}
