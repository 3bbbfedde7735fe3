//! Nothing waits for ever, whatever else the arm is kept busy with.

use crate::common::{
    GIB, MIB, Sample, one, random, request, run_requests, setup, shared_cursor, virtual_hdd,
};
use block::{Nanos, Op, Request, Target};

/// The age limit of `hdd-7200`, and a second for what is under way when it is reached.
const LIMIT_NS: u64 = 600_000_000 + 1_000_000_000;

fn slowest(samples: &[Sample], which: impl Fn(&Sample) -> bool) -> u64 {
    let own = samples.iter().filter(|s| which(s));
    own.map(Sample::latency_ns).max().unwrap()
}

// Breaks when readers who join a stream one after the other keep the arm for as long as they come:
// memory is full, and a write finds no room in it for ever.
#[test]
fn sequential_readers_do_not_shut_writers_out() {
    let mut target = virtual_hdd("");
    let (mut reads, mut writes) = (shared_cursor(0, 8 * GIB, MIB), random(1, 16 * GIB, GIB, 4096));
    let mut idle = [0, 600, 1200, 1800, 6000, 6000, 6000, 6000];
    let samples = run_requests(&mut target, 8, Nanos::secs(20), |slot| {
        let idle = &mut idle[usize::from(slot)];
        if *idle > 0 {
            // Refused within 5 µs each. Readers who come one after the other join; those who come
            // at once are served one by one, and the arm is free in between.
            *idle -= 1;
            return request(Op::Discard, 0, 4096, slot);
        }
        match slot {
            0..4 => request(Op::Read, reads(slot), MIB, slot),
            _ => request(Op::Write, writes(slot), 4096, slot),
        }
    });
    let late: Vec<Sample> =
        samples.iter().copied().filter(|s| s.completed.0 > 15_000_000_000).collect();
    let count = |op: Op| late.iter().filter(|s| s.op == op).count();
    assert!(count(Op::Write) > 0, "no write completed in the last quarter");
    assert!(count(Op::Read) > 0, "nor may the writers shut out the readers");
    let slow = slowest(&samples, |s| s.op == Op::Write);
    assert!(slow < LIMIT_NS, "a write took {slow} ns");
}

// Breaks when a forced read that waits until its range is written does not count as waiting: requests
// nearer by would go before the run that it waits for, for as long as they come.
#[test]
fn a_forced_read_of_dirty_data_far_away_is_served_within_the_age_limit() {
    for sequential in [false, true] {
        let mut target = virtual_hdd("");
        let far = target.info().capacity_bytes.0 - MIB;
        {
            // A reader just before keeps destaging from beginning by itself.
            let mut lanes = target.open(&setup(1)).unwrap();
            one(&mut lanes[0], request(Op::Read, 0, 4096, 0));
            one(&mut lanes[0], request(Op::Write, far, 4096, 0));
        }
        let mut near = random(1, 0, GIB / 8, 4096);
        let mut stream = shared_cursor(0, GIB, MIB);
        let samples = run_requests(&mut target, 32, Nanos::secs(5), |slot| match slot {
            31 => Request { fua: true, ..request(Op::Read, far, 4096, slot) },
            _ if sequential => request(Op::Read, stream(slot), MIB, slot),
            _ => request(Op::Read, near(slot), 4096, slot),
        });
        let slow = slowest(&samples, |s| s.slot == 31);
        assert!(slow < LIMIT_NS, "sequential {sequential}: a forced read took {slow} ns");
    }
}

// Breaks when forced writes, which wait for the arm themselves, keep it from what memory holds.
#[test]
fn forced_writes_do_not_shut_cached_ones_out() {
    let mut target = virtual_hdd("?memory.write_runs=64");
    let (mut forced, mut cached) =
        (shared_cursor(0, 8 * GIB, 65_536), random(1, 16 * GIB, GIB, 4096));
    let samples = run_requests(&mut target, 12, Nanos::secs(20), |slot| match slot {
        0..4 => request(Op::Write, cached(slot), 4096, slot),
        _ => Request { fua: true, ..request(Op::Write, forced(slot), 65_536, slot) },
    });
    let slow = slowest(&samples, |s| s.len == 4096);
    let unserved = samples.iter().rev().take(2000).filter(|s| s.len == 4096).count();
    assert!(slow < LIMIT_NS && unserved > 0, "a cached write took {slow} ns");
}

// Breaks when a request that a stream passes is not served by it, and waits for as long as readers keep the
// stream going: its data would be in memory, and it would wait for the age limit all the same.
#[test]
fn a_request_ahead_of_sequential_readers_is_served_when_they_come_there() {
    let mut target = virtual_hdd("");
    let mut next = 0;
    // Refused requests let the readers come one after the other, and the third once they are at it.
    let mut idle = [0, 600, 6000];
    let samples = run_requests(&mut target, 3, Nanos::secs(10), |slot| {
        let idle = &mut idle[usize::from(slot)];
        if *idle > 0 {
            *idle -= 1;
            return request(Op::Discard, 0, 4096, slot);
        }
        if slot == 2 {
            *idle = 10_000;
            return request(Op::Read, next + 20 * MIB, 4096, slot);
        }
        next += MIB;
        request(Op::Read, next, MIB, slot)
    });
    let ahead: Vec<u64> = samples
        .iter()
        .filter(|s| s.slot == 2 && s.op == Op::Read)
        .map(Sample::latency_ns)
        .collect();
    assert!(ahead.len() > 20, "{ahead:?}");
    // 20 MiB pass in 118 ms.
    assert!(ahead.iter().all(|latency| *latency < 140_000_000), "{ahead:?}");
}
