//! Recordings of real devices, compared with the I/O that the tests issue to them.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::{common, tracer_kit};

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use block::Nanos;
use block::trace::{Action, DeviceNumber, TraceEvent, TraceNote, Traits};
use drivescope_linux::sysfs::Roots;
use drivescope_linux::tracer::{
    self, Backend, Collected, Collector, Options, Recorded, Subject, Tracer,
};
use rustix::fs::OFlags;

use common::{Loop, Partition, has_means};
use tracer_kit::{assert_alike, can_trace};

/// A loop device that splits none of the I/Os of these tests: what somebody has set of it outlives its file.
fn device(size: u64) -> Loop {
    let device = Loop::new(size, true);
    let queue = Path::new("/sys/block").join(device.name()).join("queue");
    let most = std::fs::read_to_string(queue.join("max_hw_sectors_kb")).unwrap();
    std::fs::write(queue.join("max_sectors_kb"), most.trim()).unwrap();
    device
}

/// Events that a test keeps.
const EVENTS_MAX: usize = 1 << 20;

fn subject(path: &Path) -> Subject {
    Subject::find(&Roots::default(), path).unwrap()
}

fn record(paths: &[&Path]) -> Tracer<Collector> {
    let subjects: Vec<Subject> = paths.iter().map(|path| subject(path)).collect();
    tracer::start(&subjects, &Options::default(), Collector::new(EVENTS_MAX)).unwrap()
}

fn stop(tracer: Tracer<Collector>) -> (Collected, Recorded) {
    let (collector, recorded) = tracer.stop();
    assert_eq!(recorded.fault, None);
    assert_eq!(recorded.malformed, 0, "records were not understood");
    let kept = collector.finish();
    assert_eq!(kept.left_out, 0);
    assert!(kept.events.is_sorted_by_key(|event| event.time), "{} were late", recorded.late);
    (kept, recorded)
}

/// Issues direct I/Os of these (offset, length, is a write) in pages of 4 KiB, one after the other.
fn issue(path: &Path, ios: &[(u64, usize, bool)]) {
    let flags = OFlags::DIRECT.bits().cast_signed();
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap();
    let mut memory = vec![0x5a; (256 << 10) + 4096];
    let skip = memory.as_ptr().align_offset(4096);
    for &(offset, length, is_write) in ios {
        let buffer = &mut memory[skip..skip + length];
        if is_write {
            file.write_all_at(buffer, offset).unwrap();
        } else {
            file.read_exact_at(buffer, offset).unwrap();
        }
    }
}

/// `count` I/Os of mixed sizes at places that are spread over `span`.
fn mixed(count: u64, span: u64) -> Vec<(u64, usize, bool)> {
    let sizes = [4096, 8192, 65536, 131_072];
    let one = |n: u64| {
        let length = sizes[(n % 4) as usize];
        let places = span / length as u64;
        (n.wrapping_mul(7919) % places * length as u64, length, n.is_multiple_of(3))
    };
    (0..count).map(one).collect()
}

fn of(kept: &Collected, action: Action) -> Vec<&TraceEvent> {
    kept.events.iter().filter(|event| event.action == action).collect()
}

/// I/Os that events of one action report, in the form that `issue` takes.
fn told(events: &[&TraceEvent]) -> Vec<(u64, usize, bool)> {
    let one = |event: &&TraceEvent| {
        (event.sector * 512, event.bytes as usize, event.traits.has(Traits::WRITE))
    };
    events.iter().map(one).collect()
}

// Breaks when an event is lost, recorded twice, or recorded with another address, length or direction than issued.
#[test]
fn all_that_is_issued_to_a_loop_device_is_recorded_once_and_as_it_was() {
    if !can_trace() {
        return;
    }
    let device = device(64 << 20);
    let ios = mixed(500, 64 << 20);
    let tracer = record(&[&device.path]);
    assert_eq!(tracer.backend(), Backend::Tracepoints);
    issue(&device.path, &ios);
    let (kept, recorded) = stop(tracer);
    assert_eq!(recorded.lost, 0);
    assert_eq!(recorded.events, kept.events.len() as u64);
    for action in [Action::Queue, Action::GetRequest, Action::Issue, Action::Complete] {
        assert_eq!(told(&of(&kept, action)), ios, "{action:?}");
    }
    assert!(kept.events.iter().all(|event| event.device == subject(&device.path).number));
    assert!(
        of(&kept, Action::Queue)
            .iter()
            .all(|event| event.pid == rustix::thread::gettid().as_raw_nonzero().get() as u32)
    );
    assert!(kept.events.iter().all(|event| event.error == 0));
}

// Breaks when a recording has the times of another clock, no date, or no name of the task.
#[test]
fn marks_dates_and_names_are_told() {
    if !can_trace() {
        return;
    }
    let device = device(8 << 20);
    let tracer = record(&[&device.path]);
    issue(&device.path, &[(0, 4096, false)]);
    tracer.mark("second phase\nand no more").unwrap();
    issue(&device.path, &[(4096, 4096, false)]);
    let (kept, _) = stop(tracer);
    let reads = of(&kept, Action::Queue);
    let marks: Vec<_> = kept
        .notes
        .iter()
        .filter_map(|note| match note {
            TraceNote::Message { time, text } => Some((*time, text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(marks.len(), 1);
    assert_eq!(marks[0].1, "second phase");
    assert!(reads[0].time < marks[0].0 && marks[0].0 < reads[1].time);
    let Some(TraceNote::Clock { time, unix }) = kept.notes.first() else {
        panic!("{:?}", kept.notes)
    };
    let date =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
            as i128;
    assert!((0..60_000_000_000).contains(&(date - unix.0)), "{unix:?} is not the date");
    assert!(
        (0..60_000_000_000).contains(&(reads[0].time.0 - time.0)),
        "the date is told of another clock"
    );
    let me = std::fs::read_to_string("/proc/thread-self/comm").unwrap().trim().to_owned();
    let named = TraceNote::Process { pid: reads[0].pid, name: me };
    assert!(kept.notes.contains(&named), "{named:?} is not among {:?}", kept.notes);
}

// Breaks when one recording takes events away from another, or receives those of another's device.
#[test]
fn two_recordings_at_once_do_not_disturb_each_other() {
    if !can_trace() {
        return;
    }
    let (one, two) = (device(16 << 20), device(16 << 20));
    let ios = mixed(200, 16 << 20);
    let (first, second) = (record(&[&one.path]), record(&[&two.path]));
    let both = record(&[&one.path, &two.path]);
    issue(&one.path, &ios);
    issue(&two.path, &ios[..120]);
    let (first, _) = stop(first);
    issue(&two.path, &ios[120..]);
    let (second, _) = stop(second);
    let (both, _) = stop(both);
    assert_eq!(told(&of(&first, Action::Complete)), ios);
    assert_eq!(told(&of(&second, Action::Complete)), ios);
    for (device, kept) in [(&one, &first), (&two, &second)] {
        let number = subject(&device.path).number;
        // Each recording reads the clock for itself.
        let said = |event: &TraceEvent| TraceEvent { time: Nanos::ZERO, ..*event };
        let own: Vec<_> =
            both.events.iter().filter(|event| event.device == number).map(said).collect();
        let alone: Vec<_> = kept.events.iter().map(said).collect();
        assert_alike(&format!("{number}, of both and alone"), &own, &alone);
    }
}

// Breaks when the partition's I/Os are recorded with the disk's addresses, or along with those of its neighbours.
#[test]
fn a_partition_is_told_in_its_own_addresses_and_its_disk_in_the_disks() {
    if !can_trace() || !has_means(&["addpart", "delpart"]) {
        return;
    }
    let device = device(64 << 20);
    let _partition = Partition::of(&device);
    let path = format!("{}p1", device.dev());
    let path = Path::new(&path);
    let ios = mixed(60, 32 << 20);
    let (part, disk) = (record(&[path]), record(&[&device.path]));
    issue(path, &ios);
    issue(&device.path, &[(0, 4096, false), (48 << 20, 4096, true)]);
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.sync_all().unwrap();
    let (part, _) = stop(part);
    let (disk, _) = stop(disk);
    let number = subject(path).number;
    assert_ne!(number, subject(&device.path).number);
    assert!(part.events.iter().all(|event| event.device == number));
    let data = |kept: &Collected, action| {
        let events: Vec<_> = of(kept, action).into_iter().filter(|event| event.bytes > 0).collect();
        told(&events)
    };
    for action in [Action::Queue, Action::Issue, Action::Complete] {
        assert_eq!(data(&part, action), ios, "{action:?}");
        let start = 1 << 20;
        let mut all: Vec<_> =
            ios.iter().map(|&(at, length, write)| (at + start, length, write)).collect();
        all.extend([(0, 4096, false), (48 << 20, 4096, true)]);
        assert_eq!(data(&disk, action), all, "{action:?}");
    }
    assert!(of(&part, Action::Remap).is_empty());
    assert_eq!(of(&disk, Action::Remap).len(), ios.len());
    let flushes = |kept: &Collected| {
        of(kept, Action::Complete)
            .iter()
            .filter(|e| e.bytes == 0 && e.traits.has(Traits::FLUSH))
            .count()
    };
    assert_eq!(
        (flushes(&part), flushes(&disk)),
        (1, 1),
        "a flush reaches the disk and so the partition"
    );
}

#[test]
fn unknown_devices_and_files_on_none_are_refused() {
    let find =
        |path: &str| Subject::find(&Roots::default(), Path::new(path)).unwrap_err().to_string();
    assert!(
        find("/proc/self/status").contains("name a block device"),
        "{}",
        find("/proc/self/status")
    );
    assert!(find("/dev/null").contains("name a block device"));
    assert!(find("/nowhere/at/all").contains("/nowhere/at/all"));
    assert_eq!(DeviceNumber::new(7, 3).to_string(), "7,3");
}
