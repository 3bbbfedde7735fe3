//! A served drive as programs see it: through the kernel.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use std::fs::{self, File};
use std::io::{ErrorKind, IoSliceMut, Read as _, Write as _};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::time::Duration;

use block::{Bytes, Op};
use common::{Drive, timed};
use drivescope_serve::Backing;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::{FallocateFlags, OFlags, fallocate};

const DISK: &str = "sim:hdd-7200?seed=7";

/// 4 KiB on any drive, aligned as direct I/O wants it.
#[derive(Clone)]
#[repr(align(4096))]
struct Page([u8; 4096]);

// Breaks when a byte is stored at another place than the one it is read from.
#[test]
fn what_is_written_is_read_back() {
    let Some(drive) = Drive::new(DISK) else { return };
    let file = drive.open(OFlags::empty());
    let mut plain = vec![0_u8; 64 << 10];
    let place = (0_usize..plain.len(), 1_usize..9000, any::<bool>(), any::<u8>());
    let mut runner = TestRunner::new(Config { cases: 60, ..Config::default() });
    for _ in 0..60 {
        let (at, len, whole, byte) = place.new_tree(&mut runner).unwrap().current();
        let at = if whole { at & !511 } else { at };
        let end =
            (if whole { (at + len).next_multiple_of(512) } else { at + len }).min(plain.len());
        for (i, b) in plain[at..end].iter_mut().enumerate() {
            *b = byte.wrapping_add((i % 249) as u8);
        }
        file.write_all_at(&plain[at..end], at as u64).unwrap();
        let from = at.saturating_sub(700);
        let mut seen = vec![0; end - from];
        file.read_exact_at(&mut seen, from as u64).unwrap();
        assert!(seen == plain[from..end], "{len} bytes at {at}");
    }
    let mut seen = vec![0; plain.len()];
    file.read_exact_at(&mut seen, 0).unwrap();
    assert!(seen == plain);
    drop(file);
    let ended = drive.stop();
    assert!(!ended.was_busy);
    assert!(ended.tally.requests(Op::Write) >= 60 && ended.tally.errors() == 0);
}

// Breaks when the file is not of the drive's size, somebody else's, or dated at random.
#[test]
fn it_looks_like_a_drive_of_ones_own() {
    let Some(drive) = Drive::new(DISK) else { return };
    let seen = fs::metadata(drive.path()).unwrap();
    assert_eq!(seen.len(), 4_000_787_030_016);
    assert_eq!(seen.blocks() * 512, seen.len());
    assert_eq!(seen.mode() & 0o7777, 0o600);
    assert_eq!(seen.uid(), rustix::process::geteuid().as_raw());
    assert_eq!(i128::from(seen.mtime()) * 1_000_000_000, common::DATE.0);
    let names: Vec<_> =
        fs::read_dir(drive.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["drive"]);
    assert!(File::create(drive.dir.path().join("other")).is_err());
    assert!(fs::remove_file(drive.path()).is_err());
    // As testers open it, and as shells do.
    drive.open(OFlags::DIRECT | OFlags::SYNC | OFlags::NOATIME);
    File::create(drive.path()).unwrap().write_all(&[7; 512]).unwrap();
    assert_eq!(fs::metadata(drive.path()).unwrap().len(), seen.len());
    assert!(fs::metadata(drive.path()).unwrap().modified().unwrap() > seen.modified().unwrap());
    let resized = drive.open(OFlags::empty()).set_len(4096).unwrap_err();
    assert_eq!(resized.kind(), ErrorKind::InvalidInput);
}

// Breaks when a program gets a different answer than a block device would give.
#[test]
fn the_ends_of_the_drive_are_those_of_a_block_device() {
    let Some(drive) = Drive::new(DISK) else { return };
    let file = drive.open(OFlags::empty());
    let capacity = fs::metadata(drive.path()).unwrap().len();
    let mut buffer = [1; 4096];
    assert_eq!(file.read_at(&mut buffer, capacity - 512).unwrap(), 512);
    assert_eq!(file.read_at(&mut buffer, capacity).unwrap(), 0);
    assert_eq!(file.read_at(&mut buffer, capacity + 4096).unwrap(), 0);
    assert_eq!(file.write_at(&buffer, capacity - 512).unwrap(), 512);
    assert_eq!(file.write_at(&buffer, capacity).unwrap_err().raw_os_error(), Some(28));
    // A page cache would make whole blocks of it; direct I/O goes past that.
    let direct = drive.open(OFlags::DIRECT);
    for at in [1, 511, capacity - 511] {
        assert_eq!(direct.read_at(&mut buffer, at).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(
            direct.write_at(&buffer[..100], at).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
        assert_eq!(file.read_at(&mut buffer[..100], at).unwrap(), 100);
    }
    // Length of a drive, as flashbench asks for it.
    use std::io::{Seek, SeekFrom};
    assert_eq!((&file).seek(SeekFrom::End(0)).unwrap(), capacity);
    assert_eq!((&file).read(&mut buffer).unwrap(), 0);
}

// Breaks when reads are answered by the page cache: everything after the first would be instant and free.
#[test]
fn every_read_is_one_of_the_drive() {
    let Some(drive) = Drive::new(DISK) else { return };
    let file = drive.open(OFlags::empty());
    let mut buffer = [0; 4096];
    for _ in 0..20 {
        file.read_exact_at(&mut buffer, 1 << 30).unwrap();
    }
    drop(file);
    let tally = drive.stop().tally;
    assert_eq!((tally.requests(Op::Read), tally.read_bytes()), (20, Bytes(20 * 4096)));
}

// Breaks when replies wait for each other: readers of different threads would take turns.
#[test]
fn several_in_flight_are_served_at_once() {
    let Some(drive) = Drive::new(DISK) else { return };
    let file = drive.open(OFlags::DIRECT);
    let read = |offset: u64| {
        let mut page = Page([1; 4096]);
        file.read_exact_at(&mut page.0, offset).unwrap();
    };
    std::thread::scope(|scope| {
        for thread in 0..16_u64 {
            scope.spawn(move || (0..4).for_each(|i| read((thread * 4 + i) << 35)));
        }
    });
    assert!(drive.served().tally().outstanding_max() >= 8);
}

// Breaks when fsync is swallowed, or answers before what was written is on the platters; and when a
// synchronous write is done as soon as the drive's memory has it.
#[test]
fn what_must_be_durable_takes_the_platters_time() {
    let Some(drive) = Drive::new(DISK) else { return };
    let file = drive.open(OFlags::DIRECT);
    let write = |file: &File, i: u64| {
        let page = Page([3; 4096]);
        file.write_all_at(&page.0, (i * 7 % 16) << 36).unwrap();
    };
    let ((), cached) = timed(|| (0..16).for_each(|i| write(&file, i)));
    let ((), flushed) = timed(|| file.sync_all().unwrap());
    // Sixteen places far apart, at 8.3 ms a turn.
    assert!(flushed > Duration::from_millis(40), "{flushed:?} after {cached:?}");
    let synchronous = drive.open(OFlags::DIRECT | OFlags::DSYNC);
    let ((), durable) = timed(|| (0..16).for_each(|i| write(&synchronous, i)));
    assert!(durable > Duration::from_millis(40), "{durable:?}");
    assert!(cached * 3 < durable, "{cached:?} in memory, {durable:?} on the platters");
    assert_eq!(drive.served().tally().requests(Op::Flush), 1);
}

// Breaks when a drive that does not do it says that it did.
#[test]
fn a_disk_discards_nothing() {
    let Some(drive) = Drive::new(DISK) else { return };
    let file = drive.open(OFlags::empty());
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    assert_eq!(fallocate(&file, punch, 0, 4096), Err(rustix::io::Errno::OPNOTSUPP));
    fallocate(&file, FallocateFlags::KEEP_SIZE, 0, 1 << 30).unwrap();
}

// Breaks when a hole is punched into the content alone, and the drive never hears of it.
#[test]
fn a_punched_hole_is_a_discard() {
    let Some(drive) = Drive::new("sim:sata-a") else { return };
    let file = drive.open(OFlags::empty());
    file.write_all_at(&[5; 12288], 1 << 20).unwrap();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&file, punch, (1 << 20) + 4096, 4096).unwrap();
    // More than one command of a drive can hold.
    fallocate(&file, punch, 2 << 30, 5 << 30).unwrap();
    let mut seen = [1; 12288];
    file.read_exact_at(&mut seen, 1 << 20).unwrap();
    let (kept, gone) = (&seen[..4096], &seen[4096..8192]);
    assert!(kept.iter().all(|b| *b == 5) && gone.iter().all(|b| *b == 0) && seen[8192] == 5);
    let tally = drive.served().tally();
    assert_eq!((tally.requests(Op::Discard), tally.errors()), (2, 0));
}

// Breaks when the directory's file is not used, or is limited by what memory may hold.
#[test]
fn content_can_lie_in_a_directory() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let backing = Backing::Directory(dir.path().to_owned());
    let Some(drive) = Drive::with("sim:hdd-7200?capacity=16GB", backing) else { return };
    let file = drive.open(OFlags::empty());
    let data: Vec<u8> = (0..3 << 20).map(|i: u32| (i % 253) as u8).collect();
    file.write_all_at(&data, 8 << 30).unwrap();
    let mut seen = vec![0; data.len()];
    file.read_exact_at(&mut seen, 8 << 30).unwrap();
    assert!(seen == data);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(drive.served().tally().held() >= Bytes::mib(3));
}

// Breaks when the kernel cuts requests smaller than it has to, so that a model sees other ones.
#[test]
fn a_megabyte_is_one_request() {
    let Some(drive) = Drive::new(DISK) else { return };
    let file = drive.open(OFlags::DIRECT);
    let mut buffer = vec![Page([0; 4096]); 256];
    let pages: Vec<_> = buffer.iter_mut().map(|page| IoSliceMut::new(&mut page.0)).collect();
    assert_eq!(rustix::io::preadv(&file, &mut { pages }, 0), Ok(1 << 20));
    assert_eq!(drive.served().tally().requests(Op::Read), 1);
}

// Breaks when a mount point that holds something is covered, or an error does not say what to do.
#[test]
fn a_mount_point_that_is_none_is_refused() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = |mountpoint: std::path::PathBuf| drivescope_serve::Options {
        mountpoint,
        backing: Backing::Memory(Bytes::mib(1)),
        source: "sim:hdd-7200".to_owned(),
        date: common::DATE,
    };
    let refused = |path: std::path::PathBuf| {
        let clock = std::sync::Arc::new(common::Clock(std::time::Instant::now()));
        let target = sim::open(DISK).unwrap();
        drivescope_serve::serve(target, clock, &options(path)).unwrap_err().to_string()
    };
    assert!(refused(dir.path().join("none")).contains("mkdir -p"));
    fs::write(dir.path().join("file"), "x").unwrap();
    assert!(refused(dir.path().to_owned()).contains("not empty"));
    assert!(refused(dir.path().join("file")).contains("not a directory"));
}

// Breaks when a program that keeps the drive open keeps the server from ending.
#[test]
fn a_busy_drive_is_taken_away_all_the_same() {
    let Some(drive) = Drive::new(DISK) else { return };
    let path = drive.path();
    let file = File::options().read(true).custom_flags(0).open(&path).unwrap();
    let ended = drive.stop();
    assert!(ended.was_busy);
    assert!(!path.exists());
    drop(file);
}

// Breaks when a drive that claims more than it holds keeps everything all the same: a fake-capacity test would not find
// it.
#[test]
fn a_fake_drive_wraps() {
    let Some(drive) = Drive::new("sim:fake-64g") else { return };
    let file = drive.open(OFlags::empty());
    let truth = sim::show("sim:fake-64g").unwrap().truth;
    let real = truth.real_capacity_bytes.unwrap().0;
    let above: Vec<u8> = (0..2 << 20).map(|i: u32| (i / 512 % 251) as u8 + 1).collect();
    let capacity = fs::metadata(drive.path()).unwrap().len();
    assert!(capacity > 6 * real);
    file.write_all_at(&above, 5 * real + (1 << 20)).unwrap();
    let mut below = vec![0; above.len()];
    file.read_exact_at(&mut below, 1 << 20).unwrap();
    assert!(below == above);
}

// Breaks when a drive that is gone still answers, or hangs its programs.
#[test]
fn a_drive_that_vanishes_fails() {
    let Some(drive) = Drive::new("sim:hdd-7200?faults.vanish_at_ns=300000000") else { return };
    let file = drive.open(OFlags::empty());
    let mut buffer = [0; 512];
    file.read_exact_at(&mut buffer, 0).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    file.read_exact_at(&mut buffer, 1 << 30).unwrap_err();
    file.write_all_at(&buffer, 1 << 30).unwrap_err();
    assert_eq!(drive.served().tally().errors(), 2);
}

// Breaks when every model is served at one speed, or a slow one faster than it is. The bounds are wide, for
// the machine has other work: late replies make the fast one slower, and nothing makes the slow one faster.
#[test]
fn a_slow_model_is_slow_and_a_fast_one_fast() {
    let (Some(slow), Some(fast)) = (Drive::new(DISK), Drive::new("sim:optane")) else { return };
    let read = |drive: &Drive| {
        let file = drive.open(OFlags::DIRECT);
        let mut page = Page([0; 4096]);
        let blocks = fs::metadata(drive.path()).unwrap().len() / 4096;
        let mut spans = Vec::new();
        for i in 1..=40_u64 {
            // Far apart from each other, by the golden ratio's multiples.
            let place = (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 16) % blocks;
            spans.push(timed(|| file.read_exact_at(&mut page.0, place * 4096).unwrap()).1);
        }
        spans.sort();
        spans[20]
    };
    let (slow, fast) = (read(&slow), read(&fast));
    assert!(slow > Duration::from_millis(4), "half a turn and a seek take longer than {slow:?}");
    assert!(fast * 4 < slow, "{fast:?} and {slow:?}");
}
