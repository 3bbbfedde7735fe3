//! Real drives on the real kernel: what one engine wrote every engine reads, and all operations and
//! errors look the same whichever engine meets them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;

use block::{Bytes, Drive, DriveError, Op, Payload, Target};
use drivescope_linux::drive::{Aio, Engine, Psync, Uring};
use drivescope_linux::target::OpenOptions;

use crate::drive_kit::*;

const SIZE: u64 = 4 << 20;

/// Runs `check` on a file and, where possible, on a loop device with direct I/O.
fn on_file_and_device(name: &str, check: impl Fn(&Path)) {
    let file = Scratch::new(name, Bytes(SIZE));
    check(file.path());
    if let Some(device) = LoopDevice::new(&format!("{name}-loop"), Bytes(SIZE)) {
        check(&device.path);
    }
}

fn write_all<E: Engine>(path: &Path, pattern: Pattern) {
    let requests = shuffled(Op::Write, SIZE, 8192, pattern.0);
    let mut target = open::<E>(path, writable());
    let counts = run(&mut target, 8, &requests, Some(pattern), |_, _, _| {});
    assert_eq!(
        counts,
        Counts {
            submitted: requests.len(),
            completed: requests.len(),
            bytes: SIZE,
            errors: 0,
            outstanding_max: 8
        },
        "{}",
        E::KIND
    );
}

fn read_all<E: Engine>(path: &Path, pattern: Pattern) {
    let requests = shuffled(Op::Read, SIZE, 4096, !pattern.0);
    let mut target = open::<E>(path, OpenOptions::default());
    let counts = run(&mut target, 8, &requests, None, |request, completion, buffer| {
        assert_eq!(completion.outcome.0, 4096);
        let wrong = pattern.mismatch(request.offset, &buffer[..4096]);
        assert_eq!(wrong, None, "{} read wrong content at {}", E::KIND, request.offset);
    });
    let read = (counts.submitted, counts.completed, counts.bytes, counts.errors);
    assert_eq!(read, (requests.len(), requests.len(), SIZE, 0), "{}", E::KIND);
}

// Breaks if an engine mixes up slots, buffers or offsets, or loses or repeats a completion.
#[test]
fn every_engine_reads_what_every_engine_wrote() {
    on_file_and_device("content", |path| {
        write_all::<Uring>(path, Pattern(1));
        each_engine!(read_all, path, Pattern(1));
        write_all::<Aio>(path, Pattern(2));
        each_engine!(read_all, path, Pattern(2));
        write_all::<Psync>(path, Pattern(3));
        each_engine!(read_all, path, Pattern(3));
    });
}

// Breaks if one of the operations is not carried out, or answers differently by engine.
#[test]
fn all_operations_do_what_they_say() {
    fn check<E: Engine>(path: &Path) {
        let mut fua = request(Op::Write, 8192, 4096);
        fua.fua = true;
        assert_eq!(outcome::<E>(path, writable(), fua), 4096, "{} fua write", E::KIND);
        let dsync = OpenOptions { dsync: true, ..writable() };
        let write = request(Op::Write, 16384, 4096);
        assert_eq!(outcome::<E>(path, dsync, write), 4096, "{} dsync", E::KIND);
        let flush = request(Op::Flush, 0, 0);
        assert_eq!(outcome::<E>(path, writable(), flush), 0, "{} flush", E::KIND);
        let discard = request(Op::Discard, 8192, 4096);
        assert_eq!(outcome::<E>(path, writable(), discard), 0, "{} discard", E::KIND);
        let mut target = open::<E>(path, OpenOptions::default());
        let reads = [request(Op::Read, 8192, 4096), request(Op::Read, 16384, 4096)];
        run(&mut target, 2, &reads, None, |request, _, buffer| {
            let data = &buffer[..4096];
            if request.offset == Bytes(8192) {
                assert!(data.iter().all(|&b| b == 0), "{}: discarded data is there", E::KIND);
            } else {
                let wrong = Pattern(0xABC).mismatch(request.offset, data);
                assert_eq!(wrong, None, "{}: discard hit its neighbour", E::KIND);
            }
        });
    }
    on_file_and_device("operations", |path| each_engine!(check, path));
}

// Breaks if a discard is larger than the transfer buffer is refused, or misses a part.
#[test]
fn a_discard_may_be_longer_than_the_largest_block() {
    fn check<E: Engine>(path: &Path) {
        write_all::<Psync>(path, Pattern(5));
        let mut target = open::<E>(path, writable());
        let mut drives = target.open(&setup(1, 4096, None)).unwrap();
        let drive = &mut drives[0];
        drive.attach().unwrap();
        pump(drive, 1, &[request(Op::Discard, 0, SIZE / 2)], |_, done, _| {
            assert_eq!(done.outcome.0, 0, "{}", E::KIND);
        });
        let reads = shuffled(Op::Read, SIZE, 4096, 1);
        pump(drive, 1, &reads, |request, _, buffer| {
            if request.offset.0 < SIZE / 2 {
                assert!(buffer[..4096].iter().all(|&b| b == 0), "{}", E::KIND);
            } else {
                assert_eq!(Pattern(5).mismatch(request.offset, &buffer[..4096]), None);
            }
        });
    }
    on_file_and_device("discard", |path| each_engine!(check, path));
}

// A write asked to be durable must carry its flag to the kernel: without one, fewer flushes reach
// the layer below. Counted at the loop device's own statistics.
#[test]
fn a_durable_write_reaches_the_medium_and_a_plain_one_does_not_ask() {
    let Some(device) = LoopDevice::new("durable", Bytes(SIZE)) else { return };
    let name = device.path.file_name().unwrap().to_str().unwrap().to_owned();
    let flushes = || -> u64 {
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_whitespace().nth(15).expect("Linux 5.5 counts flushes").parse().unwrap()
    };
    fn write<E: Engine>(path: &Path, fua: bool, dsync: bool) {
        let options = OpenOptions { dsync, ..writable() };
        let mut requests = shuffled(Op::Write, 16 * 4096, 4096, 9);
        requests.iter_mut().for_each(|r| r.fua = fua);
        let mut target = open::<E>(path, options);
        assert_eq!(run(&mut target, 1, &requests, Some(Pattern(1)), |_, _, _| {}).bytes, 65536);
    }
    fn check<E: Engine>(path: &Path, flushes: &dyn Fn() -> u64) {
        let before = flushes();
        write::<E>(path, false, false);
        let plain = flushes() - before;
        write::<E>(path, true, false);
        let fua = flushes() - before - plain;
        write::<E>(path, false, true);
        let dsync = flushes() - before - plain - fua;
        assert!(plain < 4, "{}: {plain} flushes for 16 plain writes", E::KIND);
        assert!(fua >= 16, "{}: {fua} flushes for 16 fua writes", E::KIND);
        assert!(dsync >= 16, "{}: {dsync} flushes for 16 dsync writes", E::KIND);
    }
    each_engine!(check, &device.path, &flushes);
}

// Breaks if a failed or short transfer is hidden, or ends the drive instead of the request.
#[test]
fn failures_of_one_request_are_outcomes() {
    fn on_file<E: Engine>(path: &Path) {
        let read = |offset, len| {
            outcome::<E>(path, OpenOptions::default(), request(Op::Read, offset, len))
        };
        assert_eq!(read(SIZE, 4096), 0, "{}: at the end", E::KIND);
        assert_eq!(read(SIZE - 4096, 8192), 4096, "{}: across the end", E::KIND);
        assert_eq!(read(1, 4096), -libc::EINVAL, "{}: misaligned", E::KIND);
        let write = request(Op::Write, 0, 4096);
        let mut target = open::<E>(path, OpenOptions::default());
        run(&mut target, 1, &[write], Some(Pattern(1)), |_, completion, _| {
            assert_eq!(completion.outcome.0, -libc::EBADF, "{}: opened to read", E::KIND);
        });
    }
    fn on_device<E: Engine>(device: &LoopDevice) {
        let end = request(Op::Write, SIZE, 4096);
        assert_eq!(outcome::<E>(&device.path, writable(), end), -libc::ENOSPC, "{}", E::KIND);
        let odd = request(Op::Discard, 1, 4096);
        assert_eq!(outcome::<E>(&device.path, writable(), odd), -libc::EINVAL, "{}", E::KIND);
    }
    let file = Scratch::new("failures", Bytes(SIZE));
    each_engine!(on_file, file.path());
    if let Some(device) = LoopDevice::new("failures-loop", Bytes(SIZE)) {
        each_engine!(on_device, &device);
    }
}

// A drive that goes away in the middle must show as EIO on each request, never as data.
#[test]
fn a_medium_that_vanishes_is_an_io_error() {
    fn check<E: Engine>(device: &LoopDevice) {
        let backing = std::fs::OpenOptions::new().write(true).open(device.backing.path()).unwrap();
        let mut target = open::<E>(&device.path, OpenOptions::default());
        let mut drives = target.open(&setup(8, 4096, None)).unwrap();
        drives[0].attach().unwrap();
        let reads = shuffled(Op::Read, SIZE, 4096, 3);
        assert_eq!(pump(&mut drives[0], 8, &reads, |_, _, _| {}).errors, 0);
        backing.set_len(0).unwrap();
        let counts = pump(&mut drives[0], 8, &reads, |_, completion, _| {
            assert_eq!(completion.outcome.0, -libc::EIO, "{}", E::KIND);
        });
        assert_eq!((counts.errors, counts.completed), (reads.len(), reads.len()));
        backing.set_len(SIZE).unwrap();
    }
    if let Some(device) = LoopDevice::new("vanish", Bytes(SIZE)) {
        each_engine!(check, &device);
    }
}

// Each of these would overwrite a buffer in flight, or write garbage, were it taken.
#[test]
fn a_drive_refuses_what_was_not_set_up() {
    fn check<E: Engine>(path: &Path) {
        let mut target = open::<E>(path, writable());
        let mut drives = target.open(&setup(2, 4096, None)).unwrap();
        let drive = &mut drives[0];
        drive.attach().unwrap();
        let refused = |result: Result<(), DriveError>, words: &str| {
            let text = result.unwrap_err().to_string();
            assert!(text.contains(words), "{}: {text}", E::KIND);
        };
        let read = request(Op::Read, 0, 4096);
        let mut beyond = read;
        beyond.slot = 2;
        refused(drive.submit(&[beyond]), "fewer slots");
        refused(
            drive.submit(&[request(Op::Read, 0, 8192)]),
            "longer than the step's largest block",
        );
        refused(drive.submit(&[request(Op::Write, 0, 4096)]), "without data to write");
        refused(drive.submit(&[read, read]), "has not completed");
        let mut fua = read;
        fua.fua = true;
        fua.slot = 1;
        let error = drive.submit(&[fua]).unwrap_err();
        assert!(matches!(error, DriveError::Unsupported { op: Op::Read, .. }), "{error}");
        // The one read that was good is still served, and its slot can be used again.
        let mut done = Vec::new();
        let until = drive.now() + block::Nanos::secs(60);
        while done.is_empty() && drive.now() < until {
            drive.wait_until(until, &mut done).unwrap();
        }
        assert_eq!(done.len(), 1);
        assert_eq!(pump(drive, 2, &[read, read, read], |_, _, _| {}).bytes, 3 * 4096);
    }
    let file = Scratch::new("misuse", Bytes(SIZE));
    each_engine!(check, file.path());
}

// T submitters are T drives, each usable on a thread of its own at the same time.
#[test]
fn submitters_run_on_threads_of_their_own() {
    fn check<E: Engine>(path: &Path) {
        let mut target = open::<E>(path, writable());
        let payload = |i: u16| Box::new(Pattern(u64::from(i))) as Box<dyn Payload>;
        let lanes = block::LaneSetup {
            submitters: 4,
            depth: 4,
            block_bytes_max: Bytes(4096),
            payload: Some(&payload),
            ..block::LaneSetup::default()
        };
        let drives = target.open(&lanes).unwrap();
        assert_eq!(drives.len(), 4);
        let part = SIZE / 4;
        std::thread::scope(|scope| {
            for (i, mut drive) in (0u16..).zip(drives) {
                scope.spawn(move || {
                    drive.attach().unwrap();
                    for op in [Op::Write, Op::Read] {
                        let mut requests = shuffled(op, part, 4096, 11);
                        for request in &mut requests {
                            request.submitter = i;
                            request.offset += Bytes(u64::from(i) * part);
                        }
                        let counts = pump(&mut drive, 4, &requests, |request, _, buffer| {
                            let wrong =
                                Pattern(u64::from(i)).mismatch(request.offset, &buffer[..4096]);
                            assert_eq!(wrong, None);
                        });
                        assert_eq!((counts.bytes, counts.errors), (part, 0), "{}", E::KIND);
                    }
                });
            }
        });
    }
    on_file_and_device("threads", |path| each_engine!(check, path));
}

// Buffered mode has no alignment, and its data is the same data.
#[test]
fn buffered_reads_take_any_offset() {
    fn check<E: Engine>(path: &Path) {
        write_all::<E>(path, Pattern(6));
        let options = OpenOptions { direct: false, ..OpenOptions::default() };
        let mut target = open::<E>(path, options);
        assert_eq!(target.info().logical_block_bytes, Bytes(1));
        run(&mut target, 1, &[request(Op::Read, 24, 1000)], None, |request, completion, buffer| {
            assert_eq!(completion.outcome.0, 1000);
            assert_eq!(Pattern(6).mismatch(request.offset, &buffer[..1000]), None, "{}", E::KIND);
        });
    }
    let file = Scratch::new("buffered", Bytes(SIZE));
    each_engine!(check, file.path());
}
