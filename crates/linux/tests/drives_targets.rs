//! Opening targets: what is found out about them, and what is refused, in words that help.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::File;

use block::{Bytes, Drive, DriveKind, Nanos, Op, Target};
use drivescope_linux::drive::{Engine, Uring};
use drivescope_linux::target::{
    Access, AnyTarget, EngineKind, NullTarget, OpenOptions, RealTarget, TargetError,
};

use crate::drive_kit::*;

fn refusal(path: &std::path::Path, options: OpenOptions) -> TargetError {
    match RealTarget::open(path, options) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

// Each error must name the path and a way out: it is what the user sees instead of a result.
#[test]
fn what_cannot_be_measured_is_refused_with_a_way_out() {
    let read = OpenOptions::default;
    let empty = Scratch::new("empty", Bytes(0));
    let fifo = Scratch(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("a-pipe"));
    let _ = std::fs::remove_file(fifo.path());
    let made = std::process::Command::new("mkfifo").arg(fifo.path()).status().unwrap();
    assert!(made.success());
    let cases = [
        ("/no/such/place", "no such file or device; `drivescope devices`"),
        ("/", "name a device (drivescope devices lists them) or a file"),
        ("/dev/null", "a character device is not storage"),
        (fifo.path().to_str().unwrap(), "a pipe is not storage"),
        (empty.path().to_str().unwrap(), "no content to measure; write data to it first"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "is not storage"),
    ];
    for (path, words) in cases {
        if !path.starts_with("/no/") && !std::path::Path::new(path).exists() {
            skipped(&format!("this machine has no {path}"));
            continue;
        }
        let text = refusal(path.as_ref(), read()).to_string();
        assert!(text.starts_with(&format!("{path}: ")) && text.contains(words), "{text}");
    }
    let file = Scratch::new("refusals", Bytes(8192));
    let text = refusal(file.path(), OpenOptions { iopoll: true, direct: false, ..read() });
    assert!(text.to_string().contains("needs --engine io_uring and direct I/O"), "{text}");
    let read_only = File::open(file.path()).unwrap();
    let Err(text) = RealTarget::from_file(read_only, "mine", writable()) else {
        panic!("a read-only descriptor was taken for writing");
    };
    assert_eq!(text.to_string(), "mine: it is not open for reading and writing; open it with both");
}

// Breaks when a filesystem in memory is refused without the flag that measures it.
#[test]
fn what_has_no_direct_io_is_refused_with_the_flag_that_does_without() {
    if !rustix::process::geteuid().is_root() {
        return skipped("needs root");
    }
    let ramfs = Ramfs(tempfile::tempdir().unwrap());
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "ramfs", "none"]).arg(ramfs.0.path());
    assert!(mount.status().unwrap().success());
    let path = ramfs.0.path().join("file");
    std::fs::write(&path, [0; 8192]).unwrap();
    let text = refusal(&path, OpenOptions::default()).to_string();
    assert!(text.contains("no direct I/O") && text.contains("use --buffered"), "{text}");
    RealTarget::open(&path, OpenOptions { direct: false, ..OpenOptions::default() }).unwrap();
}

struct Ramfs(tempfile::TempDir);

impl Drop for Ramfs {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

// Exclusive use is what keeps a mount from happening in the middle of a write test.
#[test]
fn exclusive_use_of_a_device_excludes() {
    let Some(device) = LoopDevice::new("exclusive", Bytes::mib(1)) else { return };
    let exclusive = || OpenOptions { exclusive: true, ..OpenOptions::default() };
    let held = RealTarget::open(&device.path, exclusive()).unwrap();
    assert!(matches!(refusal(&device.path, exclusive()), TargetError::Busy { .. }));
    drop(held);
    RealTarget::open(&device.path, exclusive()).unwrap();
}

// Wrong sizes would make every later check of plans against the target wrong.
#[test]
fn a_target_knows_its_size_and_alignment() {
    let file = Scratch::new("info", Bytes(12_288));
    let target = RealTarget::open(file.path(), OpenOptions::default()).unwrap();
    let (info, alignment) = (target.info(), target.alignment());
    assert_eq!((info.kind, info.capacity_bytes), (DriveKind::File, Bytes(12_288)));
    assert_eq!(info.logical_block_bytes, alignment.offset);
    assert!(alignment.offset.0 >= 512 && alignment.offset.0 <= 65_536);
    assert!(info.physical_block_bytes >= info.logical_block_bytes);
    let Some(device) = LoopDevice::new("info-loop", Bytes::mib(3)) else { return };
    let mut target = RealTarget::open(&device.path, OpenOptions::default()).unwrap();
    assert_eq!(target.info().kind, DriveKind::BlockDevice);
    assert_eq!(target.info().capacity_bytes, Bytes::mib(3));
    let name = device.path.file_name().unwrap().to_str().unwrap();
    let sysfs = |attribute: &str| -> u64 {
        let text = std::fs::read_to_string(format!("/sys/block/{name}/queue/{attribute}")).unwrap();
        text.trim().parse().unwrap()
    };
    assert_eq!(target.info().logical_block_bytes.0, sysfs("logical_block_size"));
    assert_eq!(target.info().physical_block_bytes.0, sysfs("physical_block_size"));
    target.describe(|info| info.model = Some("made of paper".into()));
    let AnyTarget::IoUring(target) = target.engine().unwrap() else { panic!("not the default") };
    assert_eq!(target.info().model.as_deref(), Some("made of paper"));
}

// A descriptor handed over must end up in the mode that was asked for, whatever mode it came in.
#[test]
fn a_descriptor_handed_over_gets_the_mode_asked_for() {
    let file = Scratch::new("handed-over", Bytes(8192));
    let open = || File::options().read(true).write(true).open(file.path()).unwrap();
    let misaligned = |options| {
        let target = RealTarget::from_file(open(), "handed", options).unwrap();
        let mut target = target.with_engine::<Uring>().unwrap();
        let mut outcome = 0;
        let read = [request(Op::Read, 1, 4096)];
        run(&mut target, 1, &read, None, |_, done, _| outcome = done.outcome.0);
        outcome
    };
    assert_eq!(misaligned(writable()), -libc::EINVAL, "direct was not switched on");
    assert_eq!(misaligned(OpenOptions { direct: false, ..writable() }), 4096);
}

// Without the fallback per write, --dsync on the safety gate's descriptor would silently do nothing.
#[test]
fn dsync_holds_on_a_descriptor_that_lacks_it() {
    let Some(device) = LoopDevice::new("handed-dsync", Bytes::mib(1)) else { return };
    let name = device.path.file_name().unwrap().to_str().unwrap();
    let flushes = || -> u64 {
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_whitespace().nth(15).unwrap().parse().unwrap()
    };
    fn check<E: Engine>(device: &LoopDevice, flushes: &dyn Fn() -> u64) {
        let file = File::options().read(true).write(true).open(&device.path).unwrap();
        let options = OpenOptions { dsync: true, ..writable() };
        let target = RealTarget::from_file(file, "handed", options).unwrap();
        let mut target = target.with_engine::<E>().unwrap();
        let before = flushes();
        let writes = shuffled(Op::Write, 16 * 4096, 4096, 1);
        run(&mut target, 1, &writes, Some(Pattern(1)), |_, _, _| {});
        let flushed = flushes() - before;
        assert!(flushed >= 16, "{}: {flushed} flushes for 16 writes", E::KIND);
    }
    each_engine!(check, &device, &flushes);
}

// A submitter that wanders between CPUs measures the scheduler.
#[test]
fn a_pinned_submitter_stays_on_its_cpu_and_is_free_afterwards() {
    use rustix::thread::sched_getaffinity;
    let file = Scratch::new("pinned", Bytes(8192));
    let before = sched_getaffinity(None).unwrap();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).rfind(|&cpu| before.is_set(cpu)).unwrap();
    let options = OpenOptions { pin_cpus: Some(vec![cpu]), ..OpenOptions::default() };
    let mut target = open::<Uring>(file.path(), options);
    let mut drives = target.open(&setup(1, 4096, None)).unwrap();
    drives[0].attach().unwrap();
    let pinned = sched_getaffinity(None).unwrap();
    assert!(pinned.is_set(cpu) && pinned.count() == 1);
    drop(drives);
    assert!(sched_getaffinity(None).unwrap() == before);
    let options = OpenOptions { pin_cpus: Some(vec![100_000]), ..OpenOptions::default() };
    let mut target = open::<Uring>(file.path(), options);
    let error = target.open(&setup(1, 4096, None)).unwrap()[0].attach().unwrap_err();
    assert!(error.to_string().contains("CPU 100000"), "{error}");
}

// A ring that polls must not break the operations that cannot be polled for.
#[test]
fn a_polling_ring_still_flushes() {
    let file = Scratch::new("polling", Bytes(8192));
    let options = OpenOptions { iopoll: true, ..writable() };
    assert_eq!(outcome::<Uring>(file.path(), options.clone(), request(Op::Flush, 0, 0)), 0);
    let discard = request(Op::Discard, 4096, 4096);
    assert_eq!(outcome::<Uring>(file.path(), options.clone(), discard), 0);
    let read = outcome::<Uring>(file.path(), options, request(Op::Read, 0, 4096));
    match read {
        4096 => {}
        error if error == -libc::EOPNOTSUPP => skipped("the disk has no polling queue"),
        other => panic!("a polled read answered {other}"),
    }
}

// `null:` is the yardstick for our own cost: it must do everything a drive does, and nothing more.
#[test]
fn the_null_target_completes_everything_at_once() {
    let mut target = NullTarget::default();
    assert_eq!(target.info().capacity_bytes, Bytes(1 << 40));
    assert_eq!(target.info().kind, DriveKind::Null);
    let lanes = block::LaneSetup { submitters: 3, ..setup(8, 4096, None) };
    let mut drives = target.open(&lanes).unwrap();
    assert_eq!(drives.len(), 3);
    for (i, drive) in (0u16..).zip(&mut drives) {
        drive.attach().unwrap();
        let mut reads = shuffled(Op::Read, 64 * 4096, 4096, 1);
        reads.iter_mut().for_each(|r| r.submitter = i);
        let counts = pump(drive, 8, &reads, |_, _, _| {});
        assert_eq!((counts.completed, counts.bytes, counts.errors), (64, 64 * 4096, 0));
        let until = drive.now() + Nanos::millis(20);
        let mut done = Vec::new();
        let now = drive.wait_until(until, &mut done).unwrap();
        assert!(now >= until && done.is_empty());
    }
    drop(drives);
    let before = target.now();
    target.pause(Nanos::millis(20));
    assert!(target.now().since(before) >= Nanos::millis(20));
}

#[test]
fn options_start_harmless() {
    let options = OpenOptions::default();
    assert_eq!((options.engine, options.access), (EngineKind::IoUring, Access::ReadOnly));
    assert!(options.direct && !options.dsync && !options.iopoll && !options.exclusive);
    assert_eq!(EngineKind::ALL.map(|e| e.to_string()), ["io_uring", "libaio", "psync"]);
}
