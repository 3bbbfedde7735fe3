//! Health of SCSI drives and cards, and the protocol by which each device is queried.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use block::Bytes;
use block::health::{Detail, Health, MmcKind, Rotation, Severity, Standing};
use common::Machine;
use common::fake::{Fake, UNKNOWN, unknown};
use drivescope_linux::health::{Manner, Protocol, Subject, Watch, read};
use drivescope_linux::passthrough::ScsiAnswer;
use proptest::prelude::*;

/// A log page of parameters.
fn log(page: u8, parameters: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (code, value) in parameters {
        body.extend(code.to_be_bytes());
        body.extend([0x03, value.len() as u8]);
        body.extend(*value);
    }
    let mut all = vec![page, 0];
    all.extend((body.len() as u16).to_be_bytes());
    all.extend(body);
    all
}

fn vital(page: u8, body: &[u8]) -> Vec<u8> {
    let mut all = vec![0, page, 0, body.len() as u8];
    all.extend(body);
    all
}

fn standard() -> Vec<u8> {
    let mut inquiry = vec![0, 0, 6, 2, 91, 0, 0, 2];
    inquiry.extend(b"MAKER   Product X       R1.0");
    inquiry.resize(96, 0);
    inquiry
}

fn logs() -> Vec<Vec<u8>> {
    let mut listed = vec![0x00, 0x00, 0x00, 0x08];
    listed.extend([0x00, 0x02, 0x03, 0x0d, 0x0e, 0x11, 0x15, 0x2f]);
    vec![
        listed,
        log(0x02, &[(3, &[0, 0, 0, 9]), (5, &[0, 0, 0, 1, 0, 0, 0, 0]), (6, &[0])]),
        log(0x03, &[(3, &[5]), (5, &[0x10, 0, 0, 0]), (6, &[0, 2])]),
        log(0x0d, &[(0, &[0, 35]), (1, &[0, 60])]),
        log(0x0e, &[(1, b"201502"), (4, &[0, 0, 0, 44])]),
        log(0x11, &[(1, &[0, 0, 0, 12])]),
        log(0x15, &[(0, &[0, 0, 0x0e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0])]),
        log(0x2f, &[(0, &[0, 0, 34, 0])]),
    ]
}

fn drive(logs: Vec<Vec<u8>>, resting: bool) -> Fake {
    Fake::scsi(move |cdb| match cdb {
        [0x03, ..] => {
            let code = if resting { [0x5e, 0x04] } else { [0, 0] };
            Ok(vec![0x70, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, code[0], code[1], 0, 0, 0, 0])
        }
        [0x12, 0, ..] => Ok(standard()),
        [0x12, 1, 0x00, ..] => Ok(vital(0x00, &[0x00, 0x80, 0xb1])),
        [0x12, 1, 0x80, ..] => Ok(vital(0x80, b"  SER1  ")),
        [0x12, 1, 0xb1, ..] => Ok(vital(0xb1, &[0x2a, 0x30, 0, 0])),
        [0x4d, _, page, ..] => {
            let found = logs.iter().find(|log| log[0] & 0x3f == page & 0x3f);
            found.cloned().ok_or_else(unknown)
        }
        _ => Err(unknown()),
    })
}

fn health_of(logs: Vec<Vec<u8>>) -> Health {
    read(&mut drive(logs, false), Protocol::Scsi, "sdb", Manner::default())
}

fn replaced(page: u8, with: Vec<u8>) -> Health {
    health_of(logs().into_iter().map(|l| if l[0] == page { with.clone() } else { l }).collect())
}

#[test]
fn log_pages_are_read_by_their_parameters() {
    let health = health_of(logs());
    assert_eq!(health.model.as_deref(), Some("MAKER Product X"));
    assert_eq!(
        (health.serial.as_deref(), health.firmware.as_deref()),
        (Some("SER1"), Some("R1.0"))
    );
    assert_eq!((health.temperature_c, health.temperature_warning_c), (Some(35), Some(60)));
    assert_eq!(health.host_write_bytes, Some(Bytes(1 << 32)));
    assert_eq!(health.host_read_bytes, Some(Bytes(0x1000_0000)));
    assert_eq!((health.power_cycles, health.power_on_hours), (Some(44), Some(60)));
    assert_eq!((health.life_used_percent, health.media_errors), (Some(12), Some(2)));
    assert_eq!((health.says_good, health.standing), (Some(true), Standing::Attention));
    let Detail::Scsi(detail) = &health.detail else { panic!("{health:?}") };
    assert_eq!(detail.rotation, Some(Rotation::PerMinute(10_800)));
    assert_eq!(detail.write_errors.unwrap().corrected, Some(9));
    assert_eq!(detail.verify_errors, None, "not listed, and not asked");
}

#[test]
fn a_prediction_of_failure_is_bad_and_255_degrees_are_none() {
    let failing = replaced(0x2f, log(0x2f, &[(0, &[0x5d, 0x10, 34, 0])]));
    assert_eq!((failing.says_good, failing.standing), (Some(false), Standing::Bad));
    assert!(failing.findings[0].cause.contains("5Dh/10h"));
    let warm = replaced(0x2f, log(0x2f, &[(0, &[0x0b, 0x01, 34, 0])]));
    assert_eq!((warm.says_good, warm.findings[0].severity), (None, Severity::Warning));
    let silent = replaced(0x0d, log(0x0d, &[(0, &[0, 0xff]), (1, &[0, 0xff])]));
    assert_eq!(
        (silent.temperature_c, silent.temperature_warning_c),
        (Some(34), None),
        "by page 2Fh"
    );
    // The page ends in the middle of a parameter: what is whole is read, what is not is not made up.
    let mut cut = log(0x02, &[(3, &[9]), (6, &[0, 0, 0, 1])]);
    cut.truncate(cut.len() - 2);
    assert_eq!(replaced(0x02, cut).media_errors, Some(2), "of reading alone");
    let other = replaced(0x0d, log(0x0e, &[(0, &[0, 50])]));
    assert_eq!(other.temperature_c, Some(34), "a page that says that it is another");
}

#[test]
fn a_drive_without_log_pages_is_not_told() {
    let health = health_of(Vec::new());
    assert_eq!((health.standing, health.serial.as_deref()), (Standing::NotTold, Some("SER1")));
    assert!(health.missing["temperature_c"].contains("no log pages"), "{:?}", health.missing);
    let mut resting = drive(logs(), true);
    let asked = resting.asked();
    let health = read(&mut resting, Protocol::Scsi, "sdb", Manner::default());
    assert!(health.is_asleep && !asked.lock().unwrap().contains(&"LOG SENSE".to_owned()));
    let mut tape = Fake::scsi(|cdb| match cdb[0] {
        0x12 => Ok(vec![1; 96]),
        _ => Err(ScsiAnswer { status: 2, sense: UNKNOWN.to_vec(), transferred: 0 }),
    });
    let health = read(&mut tape, Protocol::Scsi, "st0", Manner::default());
    assert_eq!(health.missing["power_cycles"], "it is not a disk");
}

proptest! {
    #[test]
    fn no_answer_makes_a_panic(
        bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 8),
        inquiry in proptest::collection::vec(any::<u8>(), 0..96),
    ) {
        let pages = [0x02, 0x03, 0x05, 0x0d, 0x0e, 0x11, 0x15, 0x2f];
        let mut logs: Vec<Vec<u8>> = pages.iter().zip(bodies).map(|(page, body)| {
            let mut log = vec![*page, 0, 0xff, 0xff];
            log.extend(body);
            log
        }).collect();
        logs.push([vec![0, 0, 0, 8], pages.to_vec()].concat());
        let mut fake = Fake::scsi(move |cdb| match cdb {
            [0x4d, _, page, ..] => {
                logs.iter().find(|log| log[0] == page & 0x3f).cloned().ok_or_else(unknown)
            }
            [0x12, 0, ..] if inquiry.len() % 2 == 0 => Ok(standard()),
            _ => Ok(inquiry.clone()),
        });
        let health = read(&mut fake, Protocol::Scsi, "x", Manner::default());
        let json = serde_json::to_value(&health).unwrap();
        for (name, value) in json.as_object().unwrap() {
            prop_assert!(!value.is_null() || health.missing.contains_key(name), "{name}");
        }
    }
}

/// A disk below a bus, as sysfs has it.
fn disk(machine: &Machine, name: &str, above: &str, bus: &str, attrs: &[(&str, &str)]) -> Subject {
    machine.device(&format!("{above}/block/{name}"), &format!("8:{}", name.len() * 16), attrs);
    machine
        .link(&format!("sys/devices/{above}"), &format!("sys/devices/{above}/block/{name}/device"));
    machine.write(&format!("sys/bus/{bus}/name"), "");
    machine.link(&format!("sys/bus/{bus}"), &format!("sys/devices/{above}/subsystem"));
    Subject::find(&machine.roots, name).unwrap()
}

// A command of the wrong kind can hang a bridge until it is unplugged.
#[test]
fn each_device_is_asked_in_its_own_language() {
    let machine = Machine::new();
    let nvme = disk(&machine, "nvme0n1", "pci/nvme/nvme0", "nvme", &[("nsid", "3")]);
    assert_eq!(nvme.protocol(), Some(Protocol::Nvme(Some(3))));
    let plain = disk(&machine, "sdaa", "pci/host1/target1/1:0:0:0", "scsi", &[]);
    assert_eq!(plain.protocol(), Some(Protocol::Scsi));
    machine.write("sys/devices/pci/host2/target2/2:0:0:0/vendor", "ATA     ");
    let translated = disk(&machine, "sdaab", "pci/host2/target2/2:0:0:0", "scsi", &[]);
    assert_eq!(translated.protocol(), Some(Protocol::Ata), "a host adapter that translates");

    machine.write("sys/bus/usb/name", "");
    machine.link("sys/bus/usb", "sys/devices/usb1/subsystem");
    let stick = disk(&machine, "sdaabb", "usb1/host3/3:0:0:0", "scsi", &[]);
    assert_eq!(stick.protocol(), None);
    machine.write("sys/devices/usb1/host4/4:0:0:0/vpd_pg89", "");
    let bridge = disk(&machine, "sdaabbcd", "usb1/host4/4:0:0:0", "scsi", &[]);
    assert_eq!(bridge.protocol(), Some(Protocol::Ata));

    let unasked = stick
        .health(Err(stick.open(&machine.roots, Manner::default()).unwrap_err()), Manner::default());
    assert_eq!(unasked.standing, Standing::NotTold);
    assert!(unasked.missing["life_used_percent"].contains("USB bridge"));
    let why = Watch::open(&machine.roots, "sdaa").unwrap_err();
    assert!(why.contains("only NVMe"), "{why}");
    assert!(Watch::open(&machine.roots, "none").is_err());
}

#[test]
fn the_kernel_is_asked_where_the_drive_may_not_be() {
    let machine = Machine::new();
    let above = "pci/host1/target1/1:0:0:0";
    machine.write(&format!("sys/devices/{above}/hwmon/hwmon3/temp1_input"), "-1600");
    machine.write(&format!("sys/devices/{above}/model"), "Model Y");
    let subject = disk(&machine, "sdb", above, "scsi", &[]);
    let health = subject.health(Err("not for you".to_owned()), Manner::default());
    assert_eq!((health.temperature_c, health.model.as_deref()), (Some(-2), Some("Model Y")));
    assert_eq!(health.capacity_bytes, Some(Bytes::gib(1)));
    assert_eq!(health.missing["power_cycles"], "not for you");

    // A disk that may rest is not asked by way of the kernel either: its sensor is read by asking the disk.
    let turning = machine.device("pci/host5/sdq", "65:0", &[("queue/rotational", "1")]);
    machine.write("sys/devices/pci/host5/sdq/device/hwmon/hwmon4/temp1_input", "30000");
    let turning = Subject::find(&machine.roots, turning.name()).unwrap();
    let of = |manner| turning.health(Err("not for you".to_owned()), manner).temperature_c;
    assert_eq!((of(Manner::default()), of(Manner { may_wake: true })), (None, Some(30)));

    machine.write(&format!("sys/devices/{above}/power/runtime_status"), "suspended");
    let why = subject.open(&machine.roots, Manner::default()).unwrap_err();
    assert!(why.contains("suspended"), "{why}");
    let health = subject.health(Err(why), Manner::default());
    assert!(health.is_asleep && health.temperature_c.is_none(), "a sensor would wake it too");
}

#[test]
fn a_card_tells_what_the_kernel_shows() {
    let machine = Machine::new();
    let above = "platform/mmc0/mmc0:0001";
    let card = |attrs: &[(&str, &str)]| {
        for (name, text) in attrs {
            machine.write(&format!("sys/devices/{above}/{name}"), text);
        }
        let subject = disk(&machine, "mmcblk0", above, "mmc", &[]);
        subject.health(Err("unused".to_owned()), Manner::default())
    };
    let health = card(&[
        ("type", "MMC"),
        ("name", "DG4064"),
        ("serial", "0x12345678"),
        ("manfid", "0x000045"),
        ("oemid", "0x0100"),
        ("date", "05/2019"),
        ("fwrev", "0x33"),
        ("life_time", "0x02 0x0b"),
        ("pre_eol_info", "0x02"),
    ]);
    assert_eq!(
        (health.model.as_deref(), health.serial.as_deref()),
        (Some("DG4064"), Some("0x12345678"))
    );
    assert_eq!((health.life_used_percent, health.standing), (Some(110), Standing::Attention));
    let codes: Vec<_> = health.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["reserve_low", "life_used_up"]);
    let Detail::Mmc(detail) = &health.detail else { panic!("{health:?}") };
    assert_eq!(
        (detail.kind, detail.manufacturer_id, detail.oem_id),
        (MmcKind::Emmc, Some(0x45), Some(0x100))
    );
    assert_eq!(detail.life_tenths, Some([2, 11]));

    let machine = Machine::new();
    machine.write(&format!("sys/devices/{above}/type"), "SD");
    let subject = disk(&machine, "mmcblk0", above, "mmc", &[]);
    let health = subject.health(Err("unused".to_owned()), Manner::default());
    assert_eq!((health.standing, health.life_used_percent), (Standing::NotTold, None));
    assert!(health.missing["life_used_percent"].contains("SD card does not report"));
}
