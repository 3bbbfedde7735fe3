//! Surroundings of a drive: each with its effect, and without it where it is absent.

use crate::common;
use crate::common::{
    GIB, Load, MIB, Sample, mb_per_s, one, random, request, run, setup, virtual_hdd,
};
use block::{Bytes, Drive, Environment, Errno, Nanos, Op, Outcome, Target, Time};
use drivescope_sim::{Stored, VirtualTarget, open, show};

const SECOND: Nanos = Nanos::secs(1);

fn history(mut target: VirtualTarget) -> Vec<Sample> {
    let mut samples =
        run(&mut target, Load::read(4096, 8, Nanos::secs(2)), random(1, 0, GIB, 4096));
    let writes = Load::write(65_536, 2, Nanos::secs(2));
    samples.extend(run(&mut target, writes, random(2, 0, GIB, 65_536)));
    samples.extend(run(&mut target, Load::read(4096, 2, SECOND), random(3, 0, GIB, 4096)));
    samples
}

const EACH: [&str; 6] = [
    "host.queue_depth=2&host.link_bytes_per_s=30000000",
    "faults.unreadable=100MiB+200MiB&faults.error_after_ns=1000000",
    "faults.storm.period_ns=1000000000&faults.storm.length_ns=100000000",
    "heat.begins_c=40&heat.throttle_above_c=35&heat.resume_below_c=30&heat.throttled_bytes_per_s=1000000",
    "neighbour.ios_per_s=20",
    "aftermath.work_per_mib_ns=1000000000&aftermath.read_added_ns=5000000",
];

// Breaks when a wrapper that has nothing to do delays or reorders anything.
#[test]
fn what_is_not_there_changes_nothing() {
    let plain = history(virtual_hdd("?seed=3"));
    for idle in [
        "host.queue_depth=65535",
        "faults.error_after_ns=5",
        "faults.unreadable=3TiB+1MiB",
        "faults.vanish_at_ns=900000000000",
        "faults.storm.factor=1",
        "faults.real_capacity_bytes=4000787030016",
        "heat.throttle_above_c=500",
        "neighbour.begins_ns=900000000000",
        "aftermath.read_added_ns=0",
    ] {
        assert!(history(virtual_hdd(&format!("?seed=3&{idle}"))) == plain, "{idle} changed it");
    }
}

#[test]
fn one_seed_gives_one_history_whatever_stands_around() {
    let plain = history(virtual_hdd("?seed=3"));
    let all = EACH.join("&");
    for around in EACH.into_iter().chain([all.as_str()]) {
        let of = |seed: u64| history(virtual_hdd(&format!("?seed={seed}&{around}")));
        let first = of(3);
        assert!(first == of(3), "{around}: one seed gave two histories");
        assert!(first != of(4), "{around}: the seed makes no difference");
        assert!(first != plain, "{around}: it has no effect at all");
    }
}

// Breaks when a wrapper forgets a command of some kind of device, hands one over that the device does not
// admit, or hides from the environment what the device reports.
#[test]
fn everything_may_stand_around_every_model() {
    let all =
        EACH.join("&").replace("faults.unreadable=100MiB+200MiB", "faults.unreadable=8MiB+1MiB");
    for info in drivescope_sim::list() {
        // A card's write may take half a second.
        let span = if info.kind == "card" { Nanos::secs(5) } else { Nanos::millis(400) };
        let history = |around: &str| {
            let mut target = open(&format!("sim:{}?seed=3{around}", info.name)).unwrap();
            let mut samples = Vec::new();
            for (op, depth) in [(Op::Write, 4), (Op::Read, 16), (Op::Write, 16), (Op::Flush, 1)] {
                let block = if op == Op::Flush { 0 } else { 16_384 };
                let load = Load { op, ..Load::read(block, depth, span) };
                samples.extend(run(&mut target, load, random(5, 0, 32 * MIB, 16_384)));
                target.pause(Nanos::millis(50));
            }
            (samples, target.environment().snapshot())
        };
        let (plain, counted) = history("");
        let (samples, beside) = history(&format!("&{all}"));
        assert_eq!(history(&format!("&{all}")).0, samples, "{}", info.name);
        assert_ne!(samples, plain, "{}", info.name);
        assert!(samples.len() > 10, "{}: {}", info.name, samples.len());
        let failed = samples.iter().filter(|s| s.outcome.bytes().is_err()).collect::<Vec<_>>();
        let bad = |s: &&Sample| s.offset < 9 * MIB && s.offset + s.len > 8 * MIB;
        assert!(failed.iter().all(bad), "{}: {failed:?}", info.name);
        assert_eq!(counted.endurance.is_some(), beside.endurance.is_some(), "{}", info.name);
    }
}

// ---- host

#[test]
fn a_host_with_a_queue_of_one_gains_nothing_from_depth() {
    let rate = |query: &str, depth: u16| {
        let load = Load::read(4096, depth, Nanos::secs(20));
        mb_per_s(&run(&mut virtual_hdd(query), load, random(1, 0, GIB, 4096)))
    };
    assert!(rate("", 32) > 2.5 * rate("", 1));
    let (deep, shallow) = (rate("?host.queue_depth=1", 32), rate("", 1));
    assert!((deep / shallow - 1.0).abs() < 0.02, "{deep} and {shallow} MB/s");
}

#[test]
fn a_hosts_link_bounds_reads_and_writes_together() {
    let query = "?host.link_bytes_per_s=40000000";
    for op in [Op::Read, Op::Write] {
        let load = Load { op, ..Load::read(MIB, 8, Nanos::secs(5)) };
        let slow =
            mb_per_s(&run(&mut virtual_hdd(query), load, common::shared_cursor(0, GIB, MIB)));
        assert!((39.5..=40.1).contains(&slow), "{op:?}: {slow} MB/s");
        let fast = mb_per_s(&run(&mut virtual_hdd(""), load, common::shared_cursor(0, GIB, MIB)));
        assert!(fast > 150.0, "{op:?}: {fast} MB/s");
    }
    assert_eq!(virtual_hdd(query).info().link_bytes_per_s, Some(40_000_000));
    let wide = virtual_hdd("?host.link_bytes_per_s=900000000");
    assert_eq!(wide.info().link_bytes_per_s, Some(550_000_000), "the drive's own is less");
}

// ---- faults

fn all_of(drive: &mut impl Drive, requests: &[block::Request]) -> Vec<block::Completion> {
    drive.submit(requests).unwrap();
    let mut done = Vec::new();
    while done.len() < requests.len() {
        drive.wait_until(Time::NEVER, &mut done).unwrap();
    }
    done
}

#[test]
fn a_bad_place_fails_after_a_long_time_and_holds_up_the_rest() {
    let query = "?faults.unreadable=1GiB%&faults.error_after_ns=7000000000";
    let query = query.replace('%', "+64KiB");
    let mut target = virtual_hdd(&query);
    let mut lanes = target.open(&setup(2)).unwrap();
    let drive = &mut lanes[0];
    let read = |offset: u64, len: u64| request(Op::Read, offset, len, 0);
    for fine in [read(GIB - 4096, 4096), read(GIB + 65_536, 4096)] {
        assert_eq!(one(drive, fine).outcome, Outcome(4096));
    }
    assert_eq!(one(drive, request(Op::Write, GIB, 4096, 0)).outcome, Outcome(4096));
    for bad in [read(GIB, 4096), read(GIB - 4096, 8192), read(GIB + 65_024, 4096)] {
        let sample = one(drive, bad);
        assert_eq!(sample.outcome.bytes(), Err(Errno::IO));
        let ns = sample.latency_ns();
        assert!((7_000_000_000..7_100_000_000).contains(&ns), "{ns}");
    }
    // Another comes while the drive is trying: it waits until that is over.
    let begun = drive.now();
    drive.submit(&[read(GIB, 4096)]).unwrap();
    drive.wait_until(begun + SECOND, &mut Vec::new()).unwrap();
    let later = request(Op::Read, 2 * GIB, 4096, 1);
    let done = all_of(drive, &[later]);
    let mut rest = done.clone();
    while rest.len() < 2 {
        drive.wait_until(Time::NEVER, &mut rest).unwrap();
    }
    let of = |slot: u16| rest.iter().find(|c| c.slot == slot).unwrap();
    assert!(of(0).outcome.bytes().is_err() && of(1).outcome == Outcome(4096));
    assert!(of(1).completed > of(0).completed, "it was served beside the attempts");
}

#[test]
fn a_drive_that_vanishes_fails_what_is_under_way_at_once_and_what_comes_later() {
    let mut target = virtual_hdd("?faults.vanish_at_ns=5000000000");
    let load = Load::read(4096, 8, Nanos::secs(6));
    let samples = run(&mut target, load, random(1, 0, GIB, 4096));
    let at = Time(5_000_000_000);
    let of = |errno: Errno| samples.iter().filter(move |s| s.outcome.bytes() == Err(errno));
    assert_eq!(of(Errno::IO).count(), 8, "the eight that were under way");
    assert!(of(Errno::IO).all(|s| s.issued < at && s.completed == at));
    assert!(of(Errno::NO_DEVICE).all(|s| s.issued >= at && s.latency_ns() == 5_000));
    assert!(of(Errno::NO_DEVICE).count() > 1000);
    assert!(samples.iter().all(|s| s.outcome.bytes().is_ok() == (s.completed < at)));
}

#[test]
fn a_storm_delays_what_would_end_in_it_and_nothing_else() {
    // Forced, so that none is answered from memory within microseconds.
    let load = Load { fua: true, ..Load::read(4096, 1, Nanos::secs(60)) };
    let storm = "&faults.storm.period_ns=4000000000&faults.storm.length_ns=1000000000&faults.storm.factor=40";
    let mut target = virtual_hdd(&format!("?seed=1{storm}"));
    let samples = run(&mut target, load, random(1, 0, GIB, 4096));
    let period = 4_000_000_000;
    let calm = |s: &&Sample| s.completed.0 % period < 3_000_000_000;
    // Not the last one of a storm, which may end after it.
    let begun_late = |s: &&Sample| (3_020_000_000..3_970_000_000).contains(&(s.issued.0 % period));
    let slow = |s: &Sample| s.latency_ns() > 30_000_000;
    // The last of a storm ends in the calm after it.
    let calmed =
        samples.iter().filter(calm).filter(|s| s.issued.0 / period == s.completed.0 / period);
    assert!(calmed.clone().count() > 1000);
    assert!(!calmed.clone().any(slow), "slow without a storm");
    let stormy: Vec<_> = samples.iter().filter(begun_late).collect();
    assert!(stormy.len() > 20, "{}", stormy.len());
    assert!(
        stormy.iter().all(|s| slow(s)),
        "fast in a storm: {:?}",
        stormy.iter().find(|s| !slow(s))
    );
    let added = virtual_hdd(
        "?faults.storm.period_ns=10&faults.storm.length_ns=10&faults.storm.factor=1&faults.storm.added_ns=50000000",
    );
    let always = |mut target| run(&mut target, load, random(1, 0, GIB, 4096));
    assert!(always(added).iter().all(|s| s.latency_ns() > 50_000_000));
}

const FAKE: &str = "?capacity=64GB&faults.real_capacity_bytes=8000000000";

#[test]
fn a_fake_claims_more_than_it_holds_and_serves_the_address_it_wraps_to() {
    let shown = show(&format!("sim:hdd-7200{FAKE}")).unwrap();
    let real = shown.truth.real_capacity_bytes.unwrap();
    assert_eq!(real, Bytes(8_000_000_000 / 4096 * 4096), "whole blocks");
    let mut target = virtual_hdd(FAKE);
    assert_eq!(target.info().capacity_bytes, Bytes(64_000_000_000));
    assert_eq!(shown.info.capacity_bytes, Bytes(64_000_000_000));
    let end = target.info().capacity_bytes.0;
    let mut lanes = target.open(&setup(1)).unwrap();
    let drive = &mut lanes[0];
    let mut read = |offset: u64| one(drive, request(Op::Read, offset, 4096, 0));
    let first = read(GIB);
    let other = read(GIB + 3 * real.0);
    assert!(first.latency_ns() > 500_000 && other.latency_ns() < 200_000, "{other:?}");
    assert!(read(end - 4096).outcome == Outcome(4096));
    // Two pieces, and one answer for both.
    let across = one(drive, request(Op::Read, real.0 - MIB, 2 * MIB, 0));
    assert_eq!(across.outcome, Outcome(2 << 20));
    let before = target.media().medium_served_read_bytes;
    assert!(before.0 >= 2 * MIB);
}

#[test]
fn content_is_told_as_the_faults_have_it() {
    let sound = open("sim:hdd-7200").unwrap();
    assert_eq!(sound.content().stored(Bytes(5 * GIB)), Stored::At(Bytes(5 * GIB)));
    assert_eq!(sound.content().medium_bytes(), sound.info().capacity_bytes);
    let fake = virtual_hdd(&format!("{FAKE}&faults.corrupt=1GiB+4KiB&faults.lost=2GiB+4KiB"));
    let real = fake.content().medium_bytes().0;
    let stored = |offset: u64| fake.content().stored(Bytes(offset));
    assert_eq!(stored(2 * real + 7), Stored::At(Bytes(7)));
    assert_eq!((stored(GIB), stored(2 * GIB)), (Stored::Corrupt(Bytes(GIB)), Stored::Lost));
    let limbo = virtual_hdd(&format!("{FAKE}&faults.beyond=lose"));
    assert_eq!(limbo.content().stored(Bytes(real)), Stored::Lost);
    assert_eq!(limbo.content().stored(Bytes(real - 1)), Stored::At(Bytes(real - 1)));
}

// ---- aftermath

/// Latencies of 200 I/Os, one after the other, in microseconds.
fn latencies_us(target: &mut VirtualTarget, op: Op, block: u64) -> Vec<f64> {
    let mut lanes = target.open(&setup(1)).unwrap();
    let places = (0..200).map(|index| request(op, index * block, block, 0));
    places.map(|place| one(&mut lanes[0], place).latency_ns() as f64 / 1e3).collect()
}

/// Mean latency of reads.
fn read_us(target: &mut VirtualTarget) -> f64 {
    latencies_us(target, Op::Read, 4096).iter().sum::<f64>() / 200.0
}

#[test]
fn reads_take_longer_while_work_of_writes_is_left() {
    let open = |query: &str| open(&format!("sim:optane?seed=1{query}")).unwrap();
    let after = |query: &str, pause: Nanos| {
        let mut target = open(query);
        let writes = latencies_us(&mut target, Op::Write, MIB);
        target.pause(pause);
        (writes, read_us(&mut target))
    };
    let table = "&aftermath.work_per_mib_ns=20000000&aftermath.most_ns=1000000000&aftermath.read_added_ns=500000";
    let idle_us = read_us(&mut open(table));
    assert_eq!(idle_us, read_us(&mut open("")), "nothing was written");
    let (writes, plain_us) = after("", Nanos::millis(100));
    let (same, busy_us) = after(table, Nanos::millis(100));
    assert!(writes == same, "writes are not delayed");
    let added = busy_us - plain_us;
    assert!((440.0..560.0).contains(&added), "{added}");
    // 200 MiB leave 4 s of work, of which a second is kept.
    let (_, later_us) = after(table, Nanos::millis(1001));
    assert!((later_us / plain_us - 1.0).abs() < 0.05, "{later_us} and {plain_us}");
}

// ---- heat

#[test]
fn work_warms_throttles_and_idling_cools() {
    // 4 W per 100 MB/s above an idle that brings 25 + 9.6 degrees; a second to warm up.
    let query = "?heat.read_nj_per_4kib=163840&heat.time_constant_ns=1000000000\
        &heat.throttle_above_c=80&heat.resume_below_c=70&heat.throttled_bytes_per_s=20000000";
    let mut target = virtual_hdd(query);
    let mut environment = target.environment();
    let begun = environment.snapshot();
    assert_eq!((begun.temperature_c, begun.throttle_events), (Some(34.6), Some(0)));
    let sequential = Load::read(MIB, 4, Nanos::secs(20));
    let samples = run(&mut target, sequential, common::shared_cursor(0, GIB, MIB));
    let hot = environment.snapshot();
    assert!(hot.throttle_events.unwrap() > 5, "{hot:?}");
    assert!((69.0..82.0).contains(&hot.temperature_c.unwrap()), "{hot:?}");
    // 177 MB/s would bring 85 degrees more; what keeps it between the limits is some 95 MB/s.
    let rate = mb_per_s(&samples);
    assert!((60.0..120.0).contains(&rate), "{rate} MB/s");
    let fastest = mb_per_s(&samples[..50]);
    assert!(fastest > 170.0, "cold, it is as fast as ever: {fastest} MB/s");
    target.pause(Nanos::secs(30));
    let cool = environment.snapshot();
    assert_eq!(cool.temperature_c, Some(34.6));
    assert_eq!(cool.throttle_events, hot.throttle_events);
}

#[test]
fn a_load_that_can_be_borne_never_throttles() {
    let query = "?heat.read_nj_per_4kib=163840&heat.time_constant_ns=1000000000";
    let truth = show(&format!("sim:hdd-7200{query}")).unwrap().truth;
    let bearable = truth.heat_limits.unwrap().bearable_read_bytes_per_s.unwrap();
    assert!((90_000_000..100_000_000).contains(&bearable), "{bearable}");
    let mut target = virtual_hdd(&format!("{query}&host.link_bytes_per_s=90000000"));
    run(&mut target, Load::read(MIB, 4, Nanos::secs(20)), common::shared_cursor(0, GIB, MIB));
    let snapshot = target.environment().snapshot();
    assert_eq!(snapshot.throttle_events, Some(0));
    assert!(snapshot.temperature_c.unwrap() > 70.0, "{snapshot:?}");
    assert!(virtual_hdd("").environment().snapshot().temperature_c == Some(36.0), "a constant");
}

// ---- neighbour

struct Foreign {
    ios: u64,
    bytes: u64,
}

/// Returns the I/O that the device counted beyond the task's, over a load of random reads; and the task's rate.
fn foreign(query: &str, depth: u16) -> (Foreign, f64) {
    let mut target = virtual_hdd(query);
    let mut environment = target.environment();
    let samples =
        run(&mut target, Load::read(4096, depth, Nanos::secs(20)), random(1, 0, GIB, 4096));
    let snapshot = environment.snapshot();
    let (device, task) = (&snapshot.devices[0], snapshot.task.unwrap());
    let ios = device.reads + device.writes - samples.len() as u64;
    let bytes = device.read_bytes.0 + device.write_bytes.0 - samples.len() as u64 * 4096;
    assert!(
        task.write_bytes == Bytes::ZERO && task.read_bytes.0 <= (samples.len() as u64 + 64) * 4096
    );
    (Foreign { ios, bytes }, mb_per_s(&samples))
}

#[test]
fn a_neighbour_is_counted_by_the_device_alone_and_takes_its_time() {
    let (none, alone) = foreign("", 1);
    assert_eq!((none.ios, none.bytes), (0, 0));
    let (some, disturbed) = foreign("?neighbour.ios_per_s=40&neighbour.length_bytes=1073741824", 1);
    assert!(some.ios.abs_diff(40 * 20) < 60, "{} of 800", some.ios);
    assert_eq!(some.bytes, some.ios * 65_536);
    assert!(disturbed < 0.9 * alone, "{disturbed} MB/s beside it, {alone} without");
    let (mixed, _) = foreign("?neighbour.read_percent=0&neighbour.order=sequential", 1);
    assert!(mixed.ios > 800);
}

// Breaks when a neighbour that asks for more than there is starves the task, or the task it.
#[test]
fn task_and_neighbour_share_a_queue_of_one() {
    let greedy = "?schedule.queue_depth=1&neighbour.ios_per_s=100000&neighbour.block_bytes=4096\
        &neighbour.length_bytes=1073741824";
    let (some, disturbed) = foreign(greedy, 8);
    let (_, alone) = foreign("?schedule.queue_depth=1", 8);
    let share = disturbed / alone;
    assert!((0.4..0.6).contains(&share), "the task has {share} of what it has alone");
    assert!(some.ios > 1000);
}

#[test]
fn a_neighbour_keeps_its_hours() {
    let query = "?neighbour.begins_ns=2000000000&neighbour.active_ns=1000000000&neighbour.quiet_ns=3000000000\
        &neighbour.ios_per_s=30";
    let mut target = virtual_hdd(query);
    let mut environment = target.environment();
    let mut counted = Vec::new();
    for _ in 0..12 {
        let before = environment.snapshot().devices[0].clone();
        target.pause(SECOND);
        let after = environment.snapshot().devices[0].clone();
        assert_eq!(after.busy_ns > before.busy_ns, after.reads > before.reads);
        counted.push(after.reads - before.reads);
    }
    for (second, reads) in counted.iter().enumerate() {
        let active = second >= 2 && (second - 2) % 4 == 0;
        // One that begins in the last moment of an hour ends after it.
        assert!(if active { *reads > 15 } else { *reads <= 2 }, "{second}: {counted:?}");
    }
}

// ---- what is refused

#[test]
fn what_cannot_be_is_refused_with_its_field() {
    for (query, key, words) in [
        ("host.queue_depth=0", "host.queue_depth", "1 to 65535"),
        ("host.width=8", "host.width", "there is no field `width`"),
        ("faults.unreadable=1GiB", "faults.unreadable", "OFFSET+LENGTH"),
        ("faults.lost=4096GiB+4KiB", "faults.lost", "none of the"),
        (
            "faults.real_capacity_bytes=5000787030016",
            "faults.real_capacity_bytes",
            "what is claimed",
        ),
        (
            "faults.real_capacity_bytes=1000",
            "faults.real_capacity_bytes",
            "`1000` is less than the physical block",
        ),
        (
            "faults.real_capacity_bytes=100000",
            "faults.real_capacity_bytes",
            "geometry.capacity_bytes: 98304 is outside 1048576",
        ),
        ("faults.beyond=explode", "faults.beyond", "unknown variant"),
        ("faults.storm.length_ns=99000000000", "faults.storm.length_ns", "outside 0 to"),
        ("heat.resume_below_c=90", "heat.resume_below_c", "outside -100 to 80"),
        ("neighbour.block_bytes=1000", "neighbour.block_bytes", "not a multiple of 512"),
        ("neighbour.quiet_ns=5", "neighbour.quiet_ns", "neighbour.active_ns: 0 is outside 1"),
    ] {
        let error = open(&format!("sim:hdd-7200?{query}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("?{key}: ")) && error.contains(words), "{error}");
    }
}

// Breaks when a drive that is gone from the first instant takes what is issued then: it would fail in no time at all,
// and the clock of a closed loop over it would not advance.
#[test]
fn a_drive_that_was_never_there_refuses_from_the_first() {
    for model in ["hdd-7200", "usb-8m", "mlc-nvme"] {
        let mut target = open(&format!("sim:{model}?faults.vanish_at_ns=0")).unwrap();
        let sample = one(&mut target.open(&setup(1)).unwrap()[0], request(Op::Read, 0, 4096, 0));
        assert_eq!(sample.outcome.bytes(), Err(Errno::NO_DEVICE), "{model}");
        assert!(sample.latency_ns() > 0, "{model}");
    }
}

// Breaks when something is drawn from the seed while the drive is made, and not drawn again by reseeding.
#[test]
fn reseeding_is_the_same_as_opening_with_the_seed_whatever_stands_around() {
    let all =
        EACH.join("&").replace("faults.unreadable=100MiB+200MiB", "faults.unreadable=8MiB+1MiB");
    for info in drivescope_sim::list() {
        if info.name.starts_with("random-") {
            continue;
        }
        let history = |seed: u64, again: Option<u64>| {
            let mut target = open(&format!("sim:{}?seed={seed}&{all}", info.name)).unwrap();
            again.into_iter().for_each(|seed| target.reseed(seed));
            let load = Load::write(16_384, 4, Nanos::secs(1));
            let samples = run(&mut target, load, random(3, 0, 4 << 30, 16_384));
            (samples, target.media(), target.environment().snapshot())
        };
        assert!(history(0, Some(7)) == history(7, None), "{}", info.name);
    }
}
