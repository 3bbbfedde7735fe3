//! Records that are made here, by layouts of two kernels, and what is read from them.

use std::path::PathBuf;

use block::Nanos;
use proptest::prelude::*;
use tempfile::TempDir;

use super::super::page::tests::{HEADER_PAGE, Made, layout};
use super::super::subject::{Subject, tests::subject};
use super::*;

const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

/// Fields of a tracepoint, in the order in which the kernel lays them out: name, size, signed.
type Fields<'a> = &'a [(&'a str, usize, bool)];

/// Those of each.
const LAYOUTS: [(&str, Fields<'_>); 13] = [
    ("block_bio_queue", BIO),
    ("block_bio_backmerge", BIO),
    ("block_bio_frontmerge", BIO),
    ("block_getrq", BIO),
    ("block_rq_insert", REQUEST),
    ("block_rq_issue", REQUEST),
    ("block_rq_merge", REQUEST),
    ("block_rq_complete", COMPLETE),
    (
        "block_rq_requeue",
        &[("dev", 4, false), ("sector", 8, false), ("nr_sector", 4, false), ("rwbs", 10, false)],
    ),
    (
        "block_bio_remap",
        &[
            ("dev", 4, false),
            ("sector", 8, false),
            ("nr_sector", 4, false),
            ("old_dev", 4, false),
            ("old_sector", 8, false),
            ("rwbs", 10, false),
        ],
    ),
    (
        "block_split",
        &[
            ("dev", 4, false),
            ("sector", 8, false),
            ("new_sector", 8, false),
            ("rwbs", 10, false),
            ("comm", 16, false),
        ],
    ),
    ("block_plug", &[("comm", 16, false)]),
    ("block_unplug", &[("nr_rq", 4, true), ("comm", 16, false)]),
];

const BIO: Fields<'_> = &[
    ("dev", 4, false),
    ("sector", 8, false),
    ("nr_sector", 4, false),
    ("rwbs", 10, false),
    ("comm", 16, false),
];
const REQUEST: Fields<'_> = &[
    ("dev", 4, false),
    ("sector", 8, false),
    ("nr_sector", 4, false),
    ("bytes", 4, false),
    ("ioprio", 2, false),
    ("rwbs", 10, false),
    ("comm", 16, false),
    ("cmd", 4, false),
];
const COMPLETE: Fields<'_> = &[
    ("dev", 4, false),
    ("sector", 8, false),
    ("nr_sector", 4, false),
    ("error", 4, true),
    ("ioprio", 2, false),
    ("rwbs", 10, false),
];

/// The value of a field.
#[derive(Clone, Copy)]
enum Value<'a> {
    Number(u64),
    Text(&'a str),
}
use Value::{Number as N, Text as T};

/// A directory `events` as a kernel shows it. `gap` bytes precede the first field of each event, so that no
/// hard-coded layout fits.
struct Kernel {
    dir: TempDir,
    gap: usize,
}

impl Kernel {
    fn new(gap: usize) -> Kernel {
        let kernel = Kernel { dir: tempfile::tempdir().unwrap(), gap };
        std::fs::write(kernel.events().join("header_page"), HEADER_PAGE).unwrap();
        for (at, (name, fields)) in LAYOUTS.iter().enumerate() {
            let dir = kernel.events().join("block").join(name);
            std::fs::create_dir_all(&dir).unwrap();
            let mut text = format!("name: {name}\nID: {}\nformat:\n{COMMON}", 900 + at);
            for (field, offset, size, signed) in kernel.places(fields) {
                let signed = u8::from(signed);
                text += &format!(
                    "\tfield:x {field};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
                );
            }
            std::fs::write(dir.join("format"), text).unwrap();
        }
        kernel
    }

    fn events(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Each field with its offset.
    fn places<'a>(
        &self,
        fields: Fields<'a>,
    ) -> impl Iterator<Item = (&'a str, usize, usize, bool)> {
        let mut offset = 8 + self.gap;
        fields.iter().map(move |&(field, size, signed)| {
            let align = if size > 8 { 1 } else { size };
            let at = offset.next_multiple_of(align);
            offset = at + size;
            (field, at, size, signed)
        })
    }

    /// A record of event `name` by task `pid`.
    fn record(&self, name: &str, pid: u32, values: &[(&str, Value<'_>)]) -> Vec<u8> {
        let at = LAYOUTS.iter().position(|(known, _)| *known == name).unwrap();
        let mut record = vec![0xee; 8 + self.gap];
        record[0..2].copy_from_slice(&(900 + at as u16).to_ne_bytes());
        record[4..8].copy_from_slice(&pid.to_ne_bytes());
        for (field, offset, size, _) in self.places(LAYOUTS[at].1) {
            record.resize(offset + size, 0);
            let value = values.iter().find(|(known, _)| *known == field).map(|(_, value)| *value);
            let place = &mut record[offset..offset + size];
            match value {
                Some(Value::Number(n)) if size == 8 => place.copy_from_slice(&n.to_ne_bytes()),
                Some(Value::Number(n)) => place.copy_from_slice(&(n as u32).to_ne_bytes()),
                Some(Value::Text(text)) => place[..text.len()].copy_from_slice(text.as_bytes()),
                None => place.fill(0),
            }
        }
        record
    }

    fn decoder(&self, subjects: &Subjects) -> Decoder {
        let tracepoints = find(&self.events(), subjects).unwrap();
        Decoder::new(&self.events(), &tracepoints, subjects.clone()).unwrap()
    }

    fn told(&self, subjects: &Subjects, records: &[Vec<u8>]) -> Gathered {
        let layout = layout(HEADER_PAGE);
        let mut made = Made::at(1000);
        for record in records {
            made.event(10, record);
        }
        let mut gathered = Gathered::default();
        self.decoder(subjects).page(1, &made.page(&layout, None), &mut gathered);
        assert_eq!(gathered.malformed, 0);
        gathered
    }
}

fn disk() -> Subjects {
    Subjects::new(&[subject("sda", 0, None)]).unwrap()
}

const SDA: u64 = 8 << 20;

// Breaks when an event becomes another action, or a field is read from another's place.
#[test]
fn every_event_is_told_with_all_that_it_says() {
    for gap in [0, 24] {
        let kernel = Kernel::new(gap);
        let place = [("dev", N(SDA)), ("sector", N(4096)), ("nr_sector", N(16)), ("rwbs", T("WS"))];
        let with = |more: &[(&'static str, Value<'static>)]| [&place[..], more].concat();
        let fs = Traits::WRITE | Traits::SYNC | Traits::FS;
        let bio = Traits::WRITE | Traits::SYNC;
        let disk_of = |minor| DeviceNumber::new(8, minor);
        let from = Extra::From { device: disk_of(1), sector: 2048 };
        let sized = with(&[("bytes", N(8192))]);
        let split =
            [("dev", N(SDA)), ("sector", N(4096)), ("new_sector", N(4100)), ("rwbs", T("WS"))];
        type Case<'a> = (&'a str, Vec<(&'a str, Value<'a>)>, Action, Traits, u16, Extra);
        let cases: [Case<'_>; 11] = [
            ("block_bio_queue", with(&[]), Action::Queue, bio, 0, Extra::None),
            ("block_bio_backmerge", with(&[]), Action::BackMerge, bio, 0, Extra::None),
            ("block_bio_frontmerge", with(&[]), Action::FrontMerge, bio, 0, Extra::None),
            ("block_getrq", with(&[]), Action::GetRequest, bio, 0, Extra::None),
            ("block_rq_insert", sized.clone(), Action::Insert, fs, 0, Extra::None),
            ("block_rq_issue", sized.clone(), Action::Issue, fs, 0, Extra::None),
            ("block_rq_merge", sized, Action::BackMerge, fs, 0, Extra::None),
            (
                "block_rq_complete",
                with(&[("error", N((-5i64).cast_unsigned()))]),
                Action::Complete,
                fs,
                5,
                Extra::None,
            ),
            ("block_rq_requeue", with(&[]), Action::Requeue, fs, 0, Extra::None),
            (
                "block_bio_remap",
                with(&[("old_dev", N(SDA + 1)), ("old_sector", N(2048))]),
                Action::Remap,
                bio,
                0,
                from,
            ),
            ("block_split", split.to_vec(), Action::Split, bio, 0, Extra::SplitAt(4100)),
        ];
        let records: Vec<_> = cases.iter().map(|case| kernel.record(case.0, 77, &case.1)).collect();
        let gathered = kernel.told(&disk(), &records);
        assert_eq!(gathered.events.len(), cases.len());
        for (at, (event, case)) in gathered.events.iter().zip(&cases).enumerate() {
            let expected = TraceEvent {
                time: Nanos(1000 + 10 * (at as u64 + 1)),
                sector: 4096,
                bytes: if case.2 == Action::Split { 0 } else { 8192 },
                device: disk_of(0),
                pid: 77,
                cpu: 1,
                sequence: 0,
                action: case.2,
                traits: case.3,
                error: case.4,
                extra: case.5,
            };
            assert_eq!(*event, expected, "{} with a gap of {gap}", case.0);
        }
    }
}

#[test]
fn plugs_name_a_task_and_a_count_and_no_device() {
    let kernel = Kernel::new(0);
    let plug = kernel.record("block_plug", 7, &[("comm", T("dd"))]);
    let unplug = kernel.record("block_unplug", 7, &[("nr_rq", N(12)), ("comm", T("dd"))]);
    let gathered = kernel.told(&disk(), &[plug, unplug]);
    assert_eq!(gathered.events[0].device, UNPLACED);
    assert_eq!(gathered.events[1].extra, Extra::Requests(12));
    let name = TraceNote::Process { pid: 7, name: "dd".to_owned() };
    assert_eq!(gathered.notes, [name], "a name is told once");
}

// A flush has no address; its completion says so with all bits set.
#[test]
fn a_flush_is_at_sector_zero_and_a_command_is_passed_through() {
    let kernel = Kernel::new(0);
    let flush = [("dev", N(SDA)), ("sector", N(u64::MAX)), ("rwbs", T("FF"))];
    let command = [("dev", N(SDA)), ("bytes", N(512)), ("rwbs", T("N"))];
    let records = [
        kernel.record("block_rq_complete", 0, &flush),
        kernel.record("block_rq_issue", 9, &command),
    ];
    let told = kernel.told(&disk(), &records).events;
    assert_eq!((told[0].sector, told[0].bytes, told[0].traits), (0, 0, Traits::FLUSH | Traits::FS));
    assert_eq!((told[1].sector, told[1].bytes, told[1].traits), (0, 512, Traits::PASSTHROUGH));
}

// Breaks when a partition receives the I/O of its neighbours, or its own with the disk's addresses.
#[test]
fn a_partition_has_addresses_of_its_own() {
    let kernel = Kernel::new(0);
    let subjects = Subjects::new(&[subject("sda2", 2, Some((4096, 8192)))]).unwrap();
    let queue = |sector| {
        let values =
            [("dev", N(SDA)), ("sector", N(sector)), ("nr_sector", N(8)), ("rwbs", T("R"))];
        kernel.record("block_bio_queue", 7, &values)
    };
    let split = [("dev", N(SDA)), ("sector", N(4200)), ("new_sector", N(4300)), ("rwbs", T("R"))];
    let remap =
        [("dev", N(SDA)), ("sector", N(4200)), ("nr_sector", N(8)), ("old_dev", N(SDA + 2))];
    let records = [
        queue(4095),
        queue(4096),
        queue(8192),
        kernel.record("block_split", 7, &split),
        kernel.record("block_bio_remap", 7, &remap),
    ];
    let told = kernel.told(&subjects, &records).events;
    let said: Vec<_> = told.iter().map(|event| (event.action, event.sector, event.extra)).collect();
    assert_eq!(said, [(Action::Queue, 0, Extra::None), (Action::Split, 104, Extra::SplitAt(204))]);
    assert!(told.iter().all(|event| event.device == DeviceNumber::new(8, 2)));
}

#[test]
fn the_kernel_is_asked_for_what_the_subjects_can_say() {
    let kernel = Kernel::new(0);
    let subjects =
        Subjects::new(&[subject("sda2", 2, Some((4096, 8192))), subject("sdb", 16, None)]).unwrap();
    let tracepoints = find(&kernel.events(), &subjects).unwrap();
    let filter =
        |name: &str| tracepoints.iter().find(|found| found.name == name).unwrap().filter.clone();
    let part = "(dev == 8388608 && (nr_sector == 0 || (sector >= 4096 && sector < 8192)))";
    assert_eq!(filter("block_rq_issue").unwrap(), format!("{part} || (dev == 8388624)"));
    let split = "(dev == 8388608 && ((sector >= 4096 && sector < 8192)))";
    assert_eq!(filter("block_split").unwrap(), format!("{split} || (dev == 8388624)"));
    assert_eq!(filter("block_plug"), None);
    // If no subject can be plugged, the plugs of other devices are not recorded.
    let stacked = Subject { has_requests: false, ..subject("dm-0", 32, None) };
    let found = find(&kernel.events(), &Subjects::new(&[stacked]).unwrap()).unwrap();
    assert!(found.iter().all(|found| !found.name.ends_with("plug")) && found.len() == 11);
}

#[test]
fn a_kernel_without_the_events_that_matter_is_refused_with_the_reason() {
    let kernel = Kernel::new(0);
    let path = kernel.events().join("block/block_rq_issue/format");
    std::fs::write(&path, "name: block_rq_issue\nID: 3\n").unwrap();
    assert!(find(&kernel.events(), &disk()).unwrap_err().contains("block_rq_issue/format"));
    std::fs::remove_dir_all(kernel.events().join("block")).unwrap();
    assert!(find(&kernel.events(), &disk()).unwrap_err().contains("CONFIG_BLK_DEV_IO_TRACE"));
}

// Records may be shorter than their layout says, or of events that were not requested.
#[test]
fn no_record_panics() {
    let kernel = Kernel::new(0);
    let record = (0u16..20, proptest::collection::vec(any::<u8>(), 0..90));
    proptest!(|(records in proptest::collection::vec(record, 0..30))| {
        let mut made = Made::at(5);
        for (kind, mut data) in records {
            data.splice(0..data.len().min(2), (898 + kind).to_ne_bytes());
            made.event(1, &data);
        }
        let mut gathered = Gathered::default();
        kernel.decoder(&disk()).page(0, &made.page(&layout(HEADER_PAGE), None), &mut gathered);
        prop_assert!(gathered.events.len() <= 30);
    });
}
