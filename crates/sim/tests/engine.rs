//! Promises of the engine to its callers: time, order, determinism, counters.

use crate::common;
use crate::common::{GIB, Load, MIB, one, random, request, run, setup, virtual_hdd};
use block::{
    Bytes, Completion, Drive, Environment, Errno, Medium, Nanos, Op, Outcome, Request, Target,
    Time, WriteCache,
};

fn read(offset: u64, slot: u16) -> Request {
    request(Op::Read, offset, 4096, slot)
}

// Breaks when anything but the seed decides: hash order, addresses, host time.
#[test]
fn one_seed_gives_one_history_and_another_seed_another() {
    let history = |seed: u64| {
        let mut target = virtual_hdd(&format!("?seed={seed}"));
        let random_reads = Load::read(4096, 32, Nanos::secs(5));
        let mut samples = run(&mut target, random_reads, random(9, 0, GIB, 4096));
        let random_writes = Load::write(4096, 8, Nanos::secs(5));
        samples.extend(run(&mut target, random_writes, random(10, 0, GIB, 4096)));
        target.pause(Nanos::secs(1));
        let sequential = Load::read(MIB, 8, Nanos::secs(1));
        samples.extend(run(&mut target, sequential, common::shared_cursor(0, GIB, MIB)));
        (samples, target.media(), target.environment().snapshot())
    };
    assert!(history(7) == history(7), "the same seed gave two histories");
    assert!(history(7) != history(8), "the seed makes no difference");
}

#[test]
fn reseeding_is_the_same_as_opening_with_the_seed() {
    let history = |mut target: drivescope_sim::VirtualTarget| {
        run(&mut target, Load::read(4096, 4, Nanos::secs(1)), random(1, 0, GIB, 4096))
    };
    let mut reseeded = virtual_hdd("");
    reseeded.reseed(7);
    assert_eq!(history(reseeded), history(virtual_hdd("?seed=7")));
}

// Breaks when the time after all time is waited for, which never comes: the program would hang.
#[test]
fn even_the_longest_pause_ends() {
    let mut target = virtual_hdd("");
    target.pause(Nanos(u64::MAX));
    assert!(target.now().0 > u64::MAX / 2);
}

#[test]
fn time_moves_only_in_waiting_and_pausing() {
    let mut target = virtual_hdd("");
    assert_eq!(target.now(), Time::ZERO);
    target.pause(Nanos::millis(3));
    assert_eq!(target.now(), Time(3_000_000));
    let mut lanes = target.open(&setup(2)).unwrap();
    assert_eq!(lanes.len(), 1);
    let drive = &mut lanes[0];
    drive.submit(&[read(0, 0), read(GIB, 1)]).unwrap();
    assert_eq!(drive.now(), Time(3_000_000));
    let mut done = Vec::new();
    // Nothing can complete in 10 µs: the wait ends on time, with nothing.
    assert_eq!(drive.wait_until(Time(3_010_000), &mut done).unwrap(), Time(3_010_000));
    assert!(done.is_empty());
    // A wait into the past does not turn time back.
    assert_eq!(drive.wait_until(Time::ZERO, &mut done).unwrap(), Time(3_010_000));
    let first = drive.wait_until(Time::NEVER, &mut done).unwrap();
    assert_eq!(done.len(), 1, "a wait ends at the first completion");
    assert_eq!((done[0].issued, done[0].completed), (Time(3_000_000), first));
    drive.wait_until(Time::NEVER, &mut done).unwrap();
    assert_eq!(done.len(), 2);
    // Nothing is outstanding: a wait lasts until its end, and one without an end does not begin.
    let end = drive.now() + Nanos::secs(9);
    assert_eq!(drive.wait_until(end, &mut done).unwrap(), end);
    assert_eq!(drive.wait_until(Time::NEVER, &mut done).unwrap(), end);
    assert_eq!(done.len(), 2);
}

// Breaks when ties are ordered by whatever the drive's own lists happen to hold.
#[test]
fn completions_of_one_instant_come_together_by_submitter_and_then_by_submission() {
    let mut target = virtual_hdd("");
    let mut lanes = target.open(&setup(2)).unwrap();
    let drive = &mut lanes[0];
    let beyond = |submitter, slot| Request { submitter, ..read(u64::MAX - 4095, slot) };
    drive.submit(&[beyond(2, 0), beyond(0, 1), beyond(1, 0), beyond(0, 0)]).unwrap();
    let mut done: Vec<Completion> = Vec::new();
    drive.wait_until(Time::NEVER, &mut done).unwrap();
    let order: Vec<(u16, u16)> = done.iter().map(|c| (c.submitter, c.slot)).collect();
    assert_eq!(order, [(0, 1), (0, 0), (1, 0), (2, 0)]);
}

#[test]
fn what_the_drive_cannot_do_is_an_outcome_that_takes_time() {
    let mut target = virtual_hdd("");
    let capacity = target.info().capacity_bytes.0;
    let mut lanes = target.open(&setup(1)).unwrap();
    let drive = &mut lanes[0];
    for (request, errno) in [
        (request(Op::Discard, 0, 4096, 0), 95),
        (request(Op::Read, capacity, 512, 0), 22),
        (request(Op::Read, capacity - 512, 1024, 0), 22),
        (request(Op::Write, u64::MAX - 511, 512, 0), 22),
        (request(Op::Read, 100, 512, 0), 22),
        (request(Op::Read, 0, 100, 0), 22),
        (request(Op::Read, 0, 0, 0), 22),
        (request(Op::Read, 0, 1 << 31, 0), 22),
    ] {
        let sample = one(drive, request);
        assert_eq!(sample.outcome.bytes(), Err(Errno(errno)), "{request:?}");
        assert!(sample.latency_ns() > 0, "a closed loop over refusals must not stand still");
    }
    let last = one(drive, request(Op::Read, capacity - 512, 512, 0));
    assert_eq!(last.outcome, Outcome(512));
    let media = target.media();
    assert_eq!(media.medium_served_read_bytes, Bytes(512), "nothing else reached the drive");
}

// Breaks when the 33rd request is served beside 32 others: queue depth would have no ceiling.
#[test]
fn requests_beyond_the_queue_wait_in_the_host_in_order() {
    let mut target = virtual_hdd("?schedule.queue_depth=1");
    let mut lanes = target.open(&setup(8)).unwrap();
    let drive = &mut lanes[0];
    let mut pick = random(1, 0, GIB, 4096);
    let requests: Vec<Request> = (0..8).map(|slot| read(pick(slot), slot)).collect();
    drive.submit(&requests).unwrap();
    let mut done = Vec::new();
    while done.len() < 8 {
        drive.wait_until(Time::NEVER, &mut done).unwrap();
    }
    let order: Vec<u16> = done.iter().map(|c| c.slot).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7], "a queue of one serves in order");
    assert!(done.iter().all(|c| c.issued == Time::ZERO));
    assert!(done.windows(2).all(|w| w[0].completed < w[1].completed));
}

// Breaks when the nearest request always wins: one far away would wait for as long as near ones come.
#[test]
fn a_far_request_is_served_within_the_age_limit() {
    let mut target = virtual_hdd("");
    let far = target.info().capacity_bytes.0 - MIB;
    let mut near = random(1, 0, GIB / 8, 4096);
    let samples = run(&mut target, Load::read(4096, 32, Nanos::secs(3)), |slot| match slot {
        31 => far,
        _ => near(slot),
    });
    let slow = samples.iter().filter(|s| s.offset == far).map(|s| s.latency_ns()).max().unwrap();
    assert!((400_000_000..700_000_000).contains(&slow), "{slow} ns; the limit is 600 ms");
}

#[test]
fn a_flush_waits_until_the_platters_hold_everything() {
    let mut target = virtual_hdd("");
    let mut lanes = target.open(&setup(1)).unwrap();
    let drive = &mut lanes[0];
    let mut pick = random(1, 0, GIB, 4096);
    for _ in 0..100 {
        let write = one(drive, request(Op::Write, pick(0), 4096, 0));
        assert!(write.latency_ns() < 100_000, "taken by memory: {write:?}");
    }
    let flush = one(drive, request(Op::Flush, 0, 0, 0));
    assert!(flush.latency_ns() > 50 * 2_000_000, "100 places on the platters: {flush:?}");
    let again = one(drive, request(Op::Flush, 0, 0, 0));
    assert!(again.latency_ns() < 100_000, "nothing is dirty: {again:?}");
    let mut environment = target.environment();
    assert_eq!(target.media().medium_write_bytes, Bytes(100 * 4096));
    assert_eq!(environment.snapshot().devices[0].flushes, 2);
}

#[test]
fn idle_time_destages_and_reads_ahead() {
    let mut target = virtual_hdd("");
    {
        let mut lanes = target.open(&setup(1)).unwrap();
        one(&mut lanes[0], read(0, 0));
        one(&mut lanes[0], request(Op::Write, GIB, 4096, 0));
    }
    assert_eq!(target.media().medium_write_bytes, Bytes::ZERO, "a read was just served");
    target.pause(Nanos::secs(1));
    assert_eq!(target.media().medium_write_bytes, Bytes(4096));
    let ahead = target.media().medium_read_bytes.0;
    assert!((4 * MIB..5 * MIB).contains(&ahead), "{ahead} bytes: reading ahead has an end");
    let mut lanes = target.open(&setup(1)).unwrap();
    let next = one(&mut lanes[0], request(Op::Read, 4096, MIB, 0));
    assert!(next.latency_ns() < 2_100_000, "it was read ahead: {next:?}");
}

// Breaks when force unit access is only a word: it must come from the medium, and see what was written.
#[test]
fn forced_access_goes_to_the_medium() {
    let mut target = virtual_hdd("");
    let mut lanes = target.open(&setup(1)).unwrap();
    let drive = &mut lanes[0];
    one(drive, request(Op::Write, GIB, 4096, 0));
    let forced = one(drive, Request { fua: true, ..read(GIB, 0) });
    assert!(forced.latency_ns() > 8_000_000, "written first, then read a turn later: {forced:?}");
    let write = one(drive, Request { fua: true, ..request(Op::Write, 0, 4096, 0) });
    assert!(write.latency_ns() > 1_000_000, "{write:?}");
    let media = target.media();
    assert_eq!(media.medium_write_bytes, Bytes(2 * 4096));
    assert_eq!(media.cache_served_read_bytes, Bytes::ZERO);
    assert_eq!(media.medium_served_write_bytes, Bytes(4096));
}

// Breaks when a write of part of a physical block costs no more than one of all of it.
#[test]
fn part_of_a_block_takes_a_turn_more() {
    let latency = |len: u64| {
        let mut target = virtual_hdd("?write_cache=write_through&seed=1");
        let mut lanes = target.open(&setup(1)).unwrap();
        one(&mut lanes[0], request(Op::Write, GIB, len, 0)).latency_ns()
    };
    assert!(latency(512).abs_diff(latency(4096) + 8_333_333) < 30_000);
}

// Breaks when a step hears of requests that an earlier step left behind.
#[test]
fn a_new_lane_hears_nothing_of_the_old_ones_requests() {
    let mut target = virtual_hdd("");
    let mut lanes = target.open(&setup(40)).unwrap();
    let mut pick = random(1, 0, GIB, 4096);
    let left: Vec<Request> = (0..40).map(|slot| read(pick(slot), slot)).collect();
    lanes[0].submit(&left).unwrap();
    lanes[0].wait_until(Time(1_000_000), &mut Vec::new()).unwrap();
    drop(lanes);
    let mut lanes = target.open(&setup(1)).unwrap();
    let sample = one(&mut lanes[0], read(0, 0));
    assert_eq!(sample.issued, Time(1_000_000));
    drop(lanes);
    target.pause(Nanos::secs(1));
    let reads = target.environment().snapshot().devices[0].reads;
    assert_eq!(reads, 41, "all of them were carried out all the same");
}

#[test]
fn the_environment_counts_what_crossed_the_link() {
    let mut target = virtual_hdd("");
    let mut environment = target.environment();
    assert_eq!(environment.snapshot().devices[0].busy_ns, Nanos::ZERO);
    let samples = run(&mut target, Load::read(MIB, 1, Nanos::secs(1)), |_| 0);
    target.pause(Nanos::secs(5));
    let snapshot = environment.snapshot();
    let (device, task) = (&snapshot.devices[0], snapshot.task.unwrap());
    assert_eq!(device.read_bytes.0, task.read_bytes.0);
    assert_eq!(device.reads as usize, samples.len() + 1, "one was on its way at the end");
    assert!((1_000_000_000..1_010_000_000).contains(&device.busy_ns.0), "{device:?}");
    // The bytes crossed the link, and yet only the first of them came from the platters.
    let media = environment.media();
    assert_eq!(media.medium_served_read_bytes, Bytes(MIB));
    assert_eq!(media.cache_served_read_bytes.0 + MIB, device.read_bytes.0);
    assert!(snapshot.process_cpu.is_none() && snapshot.missing.contains_key("process_cpu"));
    assert_eq!(snapshot.steal_ns, Some(Nanos::ZERO));
    assert_eq!(snapshot.page_cache.unwrap().cached_bytes, Bytes::ZERO);
    assert_eq!(snapshot.temperature_c, Some(36.0));
    let stack = environment.stack();
    assert_eq!(
        (stack.layers[0].kind.as_str(), stack.leaves[0].medium),
        ("virtual", Medium::Virtual)
    );
    assert_eq!(stack.leaves[0].name, device.name);
    assert!(environment.extents().is_none());
    assert_eq!(target.info().write_cache, Some(WriteCache::WriteBack));
}
