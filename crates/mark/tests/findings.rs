//! Each proof, each way it can come out, from runs made up for it.

mod world;

use block::{
    Bytes, CpuTimes, DriveKind, Errno, Extents, Layer, Leaf, LinkState, Medium, Nanos, Op,
    PageCache, TaskIo, Time,
};
use drivescope_mark::{Broken, Ceiling, Direction, FailedRun, RunFigures};
use engine::{Failure, FailureKind};
use stats::remedy::Run;
use stats::{Evidence, Verdict};
use workload::plan::{Address, Arrival, Gaps};
use world::*;

#[test]
fn a_sound_run_has_all_six_proofs() {
    let world = World::sound();
    assert_eq!(world.doubts(), []);
    let body = world.body();
    assert!(!body.refuted() && body.caveats.is_empty(), "{:?}", body.caveats);
    let mb_s = body.tests[0].mb_s;
    assert_eq!(mb_s.n, 8);
    // 8 runs: the interval is from the least to the greatest, in MB of 10^6 bytes.
    let rate = |mib: u64| Some((mib * MIB) as f64 / 1e6);
    assert_eq!((mb_s.low, mb_s.high), (rate(497), rate(503)));
}

#[test]
fn reached_is_refuted_by_what_the_stack_is_made_of() {
    let mut ram = World::sound();
    ram.stack.leaves = vec![leaf(Medium::Ram)];
    assert_eq!(ram.doubts(), [("reached", Verdict::Refuted)]);
    let body = ram.body();
    assert!(body.refuted() && !body.tests[0].headline, "no headline without the device");
    assert!(body.caveats.iter().any(|c| c.code == "not_reached"));
}

#[test]
fn reached_is_refuted_by_a_file_that_was_never_written() {
    for (unwritten, hole) in [(Bytes::gib(1), Bytes::ZERO), (Bytes::ZERO, Bytes::mib(100))] {
        let mut world = World::sound();
        world.extents = Some(Extents {
            file_bytes: Bytes::gib(1),
            unwritten_bytes: unwritten,
            hole_bytes: hole,
            ..Extents::default()
        });
        assert_eq!(world.doubts(), [("reached", Verdict::Refuted)]);
    }
}

#[test]
fn a_compressed_file_is_refuted_as_what_it_is() {
    let mut world = World::sound().each(|_, run| {
        run.after.devices[0].read_bytes = Bytes((1 << 40) + run.run.bytes / 3);
        run.after.task =
            Some(TaskIo { read_bytes: Bytes((1 << 40) + run.run.bytes / 3), ..TaskIo::default() });
    });
    world.extents = Some(Extents {
        file_bytes: Bytes::gib(1),
        encoded_bytes: Bytes::gib(1),
        extents: 1,
        ..Extents::default()
    });
    let reached = world.test().proofs.reached;
    assert_eq!(reached.verdict, Verdict::Refuted);
    assert!(reached.reason.contains("compressed"), "{}", reached.reason);
    let caveats = world.body().caveats;
    assert!(caveats.iter().any(|c| c.remedy == Run::PlainFile.into()), "{caveats:?}");
}

#[test]
fn reached_is_judged_by_what_crossed_into_the_device() {
    let share = |device: f64, task: f64| {
        World::sound().each(move |_, run| {
            let scaled = |share: f64| Bytes((1 << 40) + (run.run.bytes as f64 * share) as u64);
            run.after.devices[0].read_bytes = scaled(device);
            run.after.task = Some(TaskIo { read_bytes: scaled(task), ..TaskIo::default() });
        })
    };
    let reached = |world: World| world.test().proofs.reached.verdict;
    assert_eq!(reached(share(0.98, 0.98)), Verdict::Proven);
    assert_eq!(reached(share(0.90, 0.90)), Verdict::Refuted, "a tenth came from a cache");
    assert_eq!(reached(share(0.0, 0.0)), Verdict::Refuted);
    assert_eq!(reached(share(1.5, 1.0)), Verdict::Proven, "others read beside us, ours arrived");
    assert_eq!(reached(share(1.5, 0.5)), Verdict::Unprovable, "others hide what was ours");
    let blind = World::sound().each(|_, run| run.after.devices.clear());
    assert_eq!(reached(blind), Verdict::Unprovable);
    let mut half_blind = World::sound();
    half_blind.stack.leaves.push(Leaf { name: "sdb".to_owned(), ..leaf(Medium::Device) });
    assert_eq!(
        reached(half_blind),
        Verdict::Unprovable,
        "a leaf that cannot be counted is missing"
    );
    assert_eq!(reached(share(0.0, 1.0)), Verdict::Unprovable, "counters that are switched off");
    let warmed = World::sound().each(|_, run| {
        let cached_bytes = Bytes(run.run.bytes / 2);
        run.after.page_cache = Some(PageCache { cached_bytes, dirty_bytes: None });
    });
    assert_eq!(reached(warmed), Verdict::Unprovable, "a cold page cache in between");
}

#[test]
fn pattern_sees_the_faults_of_other_tools() {
    // Eight private cursors one block apart: every block is read eight times.
    let rereading = World::sound().each(|_, run| {
        let slots: Vec<u64> = (0..500).flat_map(|i| (0..8).map(move |q| i / 8 + q)).collect();
        run.audit = audit(MIB, &slots);
    });
    assert_eq!(rereading.doubts(), [("pattern", Verdict::Refuted)]);
    assert!(!rereading.test().headline);
    // Random 4 KiB reads that are aligned to 64 KiB touch a sixteenth of the blocks.
    let mut aligned = World::sound().each(|index, run| {
        let mut at = 12_345 + index as u64;
        let slots: Vec<u64> = (0..50_000)
            .map(|_| {
                at = at
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (at >> 40) % 16_384 * 16
            })
            .collect();
        run.audit = audit(4096, &slots);
        run.achieved_depth = 32.0;
    });
    aligned.plan = plan("RND4KQ32T1", Direction::Read);
    assert_eq!(aligned.doubts(), [("pattern", Verdict::Refuted)]);
}

#[test]
fn pattern_holds_reads_against_the_drives_own_cache() {
    // Two laps over 64 MiB: a drive with a cache of 128 MiB serves the second from it.
    let laps = |cache: Option<Bytes>, rotational| {
        let mut world = World::sound().each(|_, run| {
            let slots: Vec<u64> = (0..500).map(|i| i % 64).collect();
            run.audit = audit(MIB, &slots);
            // The region is as small as the laps are.
            run.audit.slots = 64;
        });
        world.info.cache_bytes = cache;
        world.info.rotational = Some(rotational);
        world.test().proofs.pattern.verdict
    };
    assert_eq!(laps(Some(Bytes::mib(128)), true), Verdict::Refuted);
    assert_eq!(laps(Some(Bytes::mib(16)), true), Verdict::Proven);
    assert_eq!(laps(None, true), Verdict::Unprovable, "a disk that does not tell may have 256 MiB");
    assert_eq!(laps(None, false), Verdict::Proven);
}

#[test]
fn steady_compares_the_halves_of_the_windows() {
    let falling = |second_half: u64| {
        World::sound().each(move |_, run| {
            let slice = run.run.bytes / 50;
            run.series_bytes = vec![slice; 25];
            run.series_bytes.extend(vec![slice * second_half / 100; 25]);
        })
    };
    assert_eq!(falling(98).doubts(), []);
    assert_eq!(falling(70).doubts(), [("steady", Verdict::Refuted)]);
    let scattered = World::sound().each(|index, run| {
        let slice = run.run.bytes / 50;
        run.series_bytes = vec![slice; 25];
        run.series_bytes
            .extend(vec![if index % 2 == 0 { slice * 8 / 10 } else { slice * 12 / 10 }; 25]);
    });
    assert_eq!(scattered.doubts(), [("steady", Verdict::Unprovable)]);
}

#[test]
fn steady_sees_runs_that_sink_one_after_the_other() {
    let world = World::sound().each(|index, run| run.run.mb_s = 520.0 - 5.0 * index as f64);
    let test = world.test();
    assert_eq!(test.proofs.steady.verdict, Verdict::Refuted);
    assert!(test.headline, "a drift is a doubt, not a lie");
}

#[test]
fn steady_needs_a_bound_on_the_level_over_the_runs() {
    let rates = |rates: [f64; 8]| {
        World::sound().each(move |index, run| run.run.mb_s = rates[index]).test().proofs.steady
    };
    let step = rates([500.0, 504.0, 497.0, 501.0, 452.0, 449.0, 451.0, 448.0]);
    assert_eq!(
        step.verdict,
        Verdict::Unprovable,
        "half of the runs are a tenth slower: {}",
        step.reason
    );
    let last = rates([500.0, 504.0, 497.0, 501.0, 499.0, 500.0, 502.0, 310.0]);
    assert_eq!(last.verdict, Verdict::Unprovable, "{}", last.reason);
    let scattered = rates([500.0, 540.0, 470.0, 520.0, 460.0, 530.0, 480.0, 510.0]);
    assert_eq!(scattered.verdict, Verdict::Unprovable, "{}", scattered.reason);
    assert!(scattered.reason.contains("from the first run to the last"), "{}", scattered.reason);
}

#[test]
fn waves_within_the_windows_are_no_steady_state() {
    let wave = |windows: usize| {
        World::sound().each(move |index, run| {
            let slice = run.run.bytes / 50;
            let level = |at: usize| if index < windows && at / 10 % 2 == 1 { 70 } else { 100 };
            // The first and the last 20 slices are alike, so that the halves of the window agree.
            run.series_bytes = (0..50)
                .map(|at| slice * level(at.min(49 - at)) / 100 + (at as u64 * 37) % 11)
                .collect();
        })
    };
    assert_eq!(wave(1).doubts(), [], "one window of eight: something else used the drive");
    let test = wave(8).test();
    assert_eq!(test.proofs.steady.verdict, Verdict::Unprovable);
    assert!(
        test.proofs.steady.reason.contains("went up and down by up to 4"),
        "{}",
        test.proofs.steady.reason
    );
}

#[test]
fn repeatable_tells_spread_from_two_groups() {
    let rates = |rates: [f64; 8]| {
        let world = World::sound().each(move |index, run| run.run.mb_s = rates[index]);
        world.test().proofs.repeatable
    };
    let apart = rates([160.0, 120.0, 161.0, 119.0, 160.5, 120.5, 159.5, 121.0]);
    assert_eq!(apart.verdict, Verdict::Refuted);
    assert!(apart.reason.contains("two groups"), "{}", apart.reason);
    let wide = rates([100.0, 130.0, 80.0, 115.0, 92.0, 140.0, 105.0, 70.0]);
    assert_eq!(wide.verdict, Verdict::Refuted);
    let outlier = rates([100.0, 101.0, 99.5, 100.5, 60.0, 100.2, 99.8, 100.1]);
    assert_eq!(outlier.verdict, Verdict::Unprovable, "one stray run of eight: more runs decide");
    assert!(outlier.evidence.contains_key("runs_needed"));
    assert!(outlier.reason.contains("runs are needed"), "{}", outlier.reason);
    let cliff = rates([655.0, 655.2, 655.1, 2621.0, 655.3, 655.1, 655.2, 654.9]);
    assert_eq!(cliff.verdict, Verdict::Unprovable);
    assert!(cliff.reason.contains("no practical count of runs"), "{}", cliff.reason);
    let mut few = World::sound();
    few.runs.truncate(5);
    let test = few.test();
    assert_eq!(test.proofs.repeatable.verdict, Verdict::Unprovable);
    assert_eq!((test.mb_s.low, test.mb_s.high), (None, None));
}

#[test]
fn unhindered_finds_the_testers_share() {
    let verdict = |world: World| world.test().proofs.unhindered.verdict;
    assert_eq!(verdict(World::sound().each(|_, r| r.achieved_depth = 1.0)), Verdict::Refuted);
    assert_eq!(verdict(World::sound().each(|_, r| r.achieved_depth = 6.8)), Verdict::Unprovable);
    assert_eq!(verdict(World::sound().each(|_, r| r.run.slat_ns = 500_000.0)), Verdict::Refuted);
    let cpu = |ms: u64| {
        move |_: usize, r: &mut RunFigures| {
            r.before.process_cpu = Some(CpuTimes::default());
            let user_ns = Nanos::millis(ms);
            r.after.process_cpu = Some(CpuTimes { user_ns, system_ns: Nanos::ZERO });
        }
    };
    assert_eq!(verdict(World::sound().each(cpu(995))), Verdict::Refuted);
    // Others take the CPU: the submitter had half of it, and was ready for all of it.
    let shared = |delay_ms: u64| {
        let world = World::sound().each(cpu(450));
        world.each(move |_, r| {
            r.before.run_delay_ns = Some(Nanos::ZERO);
            r.after.run_delay_ns = Some(Nanos::millis(delay_ms));
        })
    };
    assert_eq!(verdict(shared(200)), Verdict::Proven);
    assert_eq!(verdict(shared(545)), Verdict::Refuted);
    // Sixteen submitters on two CPUs that are both busy: each has but an eighth of one.
    let mut crowd = World::sound().each(cpu(1_990));
    crowd.plan = plan("SEQ1MQ8T16", Direction::Read);
    let crowd = crowd.each(|_, r| r.achieved_depth = 128.0);
    assert_eq!(verdict(crowd), Verdict::Refuted);
    let mut slow_tester = World::sound();
    slow_tester.ceiling = Some(Ceiling { iops: 550.0, through_kernel: true });
    assert_eq!(verdict(slow_tester), Verdict::Refuted);
    let mut unknown = World::sound();
    unknown.ceiling = None;
    assert_eq!(verdict(unknown), Verdict::Unprovable);
}

/// With intended times the depth is what the drive makes of them, and no sign of the tester.
#[test]
fn the_depth_of_timed_arrivals_is_not_held_against_the_tester() {
    let mut world = World::sound().each(|_, r| r.achieved_depth = 0.4);
    let timed = Arrival::Timed { depth: 8, per_s: 500.0, gaps: Gaps::Constant };
    world.plan.steps[0].phases.iter_mut().for_each(|phase| phase.arrival = timed);
    assert_eq!(world.test().proofs.unhindered.verdict, Verdict::Proven);
    let busy = world.each(|_, r| {
        r.after.process_cpu = Some(CpuTimes { user_ns: Nanos::secs(999_999), system_ns: Nanos(0) });
    });
    assert_eq!(busy.test().proofs.unhindered.verdict, Verdict::Refuted, "no CPU time is left");
}

/// One account of addresses cannot be compared with two patterns at once.
#[test]
fn a_step_of_several_patterns_has_none_to_refute() {
    let mut world = World::sound();
    let mut other = world.plan.steps[0].phases[0].clone();
    (other.name, other.address) = ("other".to_owned(), Address::Random);
    other.block = Bytes::kib(4);
    world.plan.steps[0].phases.push(other);
    let world = world.each(|_, run| run.audit.blocks_touched *= 8);
    let test = world.test();
    assert_eq!(test.proofs.pattern.verdict, Verdict::Unprovable);
    assert!(test.headline);
    let caveats = world.body().caveats;
    assert!(caveats.iter().any(|c| c.code == "phases_left_out"), "{caveats:?}");
}

#[test]
fn undisturbed_sees_others() {
    let verdict = |world: World| world.test().proofs.undisturbed.verdict;
    let foreign_reads = World::sound().each(|_, r| r.after.devices[0].read_bytes.0 += 100 * MIB);
    assert_eq!(verdict(foreign_reads), Verdict::Refuted);
    let foreign_writes = World::sound().each(|_, r| r.after.devices[0].write_bytes.0 += 100 * MIB);
    assert_eq!(verdict(foreign_writes), Verdict::Refuted);
    let mut parity = World::sound().each(|_, r| {
        (r.totals.written, r.totals.read) = (r.totals.read, Bytes::ZERO);
        r.after.devices[0].write_bytes = r.after.devices[0].read_bytes;
    });
    parity.plan = plan("SEQ1MQ8T1", Direction::Write);
    assert_eq!(verdict(parity), Verdict::Refuted, "reads that a test of writes did not make");
    let mut parity = World::sound().each(|_, r| {
        (r.totals.written, r.totals.read) = (r.totals.read, Bytes::ZERO);
        r.after.devices[0].write_bytes = r.after.devices[0].read_bytes;
    });
    parity.plan = plan("SEQ1MQ8T1", Direction::Write);
    parity.stack.layers.push(Layer { kind: "md".to_owned(), ..Layer::default() });
    assert_eq!(verdict(parity), Verdict::Proven, "a RAID of parity reads what it writes");
    let stolen = World::sound().each(|_, r| r.after.steal_ns = Some(Nanos::millis(100)));
    assert_eq!(verdict(stolen), Verdict::Refuted);
    let hot = World::sound().each(|_, r| r.after.throttle_events = Some(4));
    assert_eq!(verdict(hot), Verdict::Refuted);
    let blind = World::sound().each(|_, r| r.after.devices.clear());
    assert_eq!(verdict(blind), Verdict::Unprovable);
    let worn = World::sound().each(|_, r| {
        (r.before.media_errors, r.after.media_errors) = (Some(7), Some(8));
    });
    assert_eq!(verdict(worn), Verdict::Refuted);
    let old = World::sound().each(|_, r| {
        (r.before.media_errors, r.after.media_errors) = (Some(7), Some(7));
    });
    assert_eq!(verdict(old), Verdict::Proven, "errors of its earlier life are not of this run");
}

#[test]
fn undisturbed_sees_a_link_that_slows_down() {
    let link = |speed: &str| LinkState { leaf: "nvme0n1".to_owned(), speed: speed.to_owned() };
    let run_over = |then: &str, now: &str| {
        let (then, now) = (link(then), link(now));
        let world = World::sound().each(move |_, r| {
            (r.before.links, r.after.links) = (vec![then.clone()], vec![now.clone()]);
        });
        world.test().proofs.undisturbed
    };
    let slowed = run_over("8.0 GT/s PCIe x4", "2.5 GT/s PCIe x4");
    assert_eq!(slowed.verdict, Verdict::Refuted);
    assert!(slowed.reason.contains("8.0 GT/s PCIe x4 to 2.5 GT/s"), "{}", slowed.reason);
    assert_eq!(run_over("8.0 GT/s PCIe x4", "8.0 GT/s PCIe x4").verdict, Verdict::Proven);
}

/// A mirror of two drives that is written to, each byte to as many of them as `copies` says.
fn mirrored(copies: f64) -> World {
    let mut world = World::sound().each(move |_, r| {
        (r.totals.written, r.totals.read) = (r.totals.read, Bytes::ZERO);
        let (written, device) = (r.run.bytes, &mut r.after.devices[0]);
        device.read_bytes = r.before.devices[0].read_bytes;
        device.write_bytes = Bytes((written as f64 * copies) as u64);
        let write_bytes = Bytes((written as f64 * copies.min(1.0)) as u64);
        r.after.task = Some(TaskIo { read_bytes: Bytes(1 << 40), write_bytes });
    });
    world.plan = plan("SEQ1MQ8T1", Direction::Write);
    let facts = [("md_level", "raid1"), ("md_raid_disks", "2")];
    let md = Layer {
        kind: "md".to_owned(),
        name: "md0".to_owned(),
        attributes: facts.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        below: vec![1, 2],
        ..Layer::default()
    };
    world.stack.layers.insert(0, md);
    world.stack.layers.push(Layer { kind: "disk".to_owned(), ..Layer::default() });
    world
}

#[test]
fn reached_knows_what_a_mirror_makes_of_a_byte() {
    let reached = |world: &World| world.test().proofs.reached;
    let whole = reached(&mirrored(2.0));
    assert_eq!(whole.verdict, Verdict::Proven);
    assert!(whole.reason.contains("2.000") && whole.reason.contains("RAID 1 over 2 members"));
    assert_eq!(whole.evidence["expected_write_ratio"], [2.0, 2.0].into());
    // A single copy of all, or both of one half: the counters cannot distinguish them.
    let half = reached(&mirrored(1.0));
    assert_eq!(half.verdict, Verdict::Unprovable, "{}", half.reason);
    assert_eq!(reached(&mirrored(0.9)).verdict, Verdict::Refuted);
    // Another 10% may be others'.
    assert_eq!(reached(&mirrored(2.15)).verdict, Verdict::Proven);
    let others = reached(&mirrored(2.5));
    assert!(others.reason.contains("others"), "{}", others.reason);
}

// Breaks when the runs before the one that failed look like those of a sound drive.
#[test]
fn a_drive_that_failed_is_not_undisturbed() {
    let mut world = World::sound();
    let failure = Failure {
        op: Op::Read,
        offset: Bytes(8192),
        len: Bytes(4096),
        at: Time::ZERO,
        kind: FailureKind::Error(Errno::IO),
        gone: None,
    };
    let step = world.plan.steps[0].name.clone();
    let (target, run) = ("/srv".to_owned(), 9);
    world.broken = Some(Broken { target, step: step.clone(), run, failure: failure.clone() });
    let of = |step: &str, run| FailedRun {
        position: run - 1,
        step: step.to_owned(),
        run,
        failure: failure.to_string(),
    };
    world.failed = vec![of(&step, 9)];
    assert_eq!(world.doubts(), [("undisturbed", Verdict::Refuted)]);
    let body = world.body();
    let told = &body.tests[0].proofs.undisturbed;
    assert!(told.reason.starts_with("in run 9 the read of 4 KiB at byte 8192 failed"), "{told:?}");
    assert_eq!(told.evidence["errors"], Evidence::Count(1));
    let caveat = body.caveats.iter().find(|c| c.code == "incomplete");
    assert!(caveat.is_some_and(|c| c.cause.contains("at byte 8192 failed")), "{:?}", body.caveats);
    // Gone on with, it does not become a sound one.
    world.broken = None;
    world.failed = vec![of(&step, 3), of("another", 4), of(&step, 9)];
    assert_eq!(world.doubts(), [("undisturbed", Verdict::Refuted)]);
    let body = world.body();
    let told = &body.tests[0].proofs.undisturbed;
    assert!(told.reason.starts_with("in run 3 the read of 4 KiB at byte 8192"), "{told:?}");
    assert!(told.reason.ends_with("in another run"), "{told:?}");
    assert_eq!(told.evidence["errors"], Evidence::Count(2));
    assert!(!body.interrupted);
    let caveat = body.caveats.iter().find(|c| c.code == "failed_before");
    assert!(caveat.is_some_and(|c| c.cause.contains("in run 3 of")), "{:?}", body.caveats);
    // Another test's numbers are not touched by it.
    world.failed = vec![of("another", 4)];
    assert_eq!(world.doubts(), []);
}

#[test]
fn an_array_that_lacks_a_member_is_a_doubt_and_one_that_rebuilds_disturbs() {
    let array = |degraded, action: Option<&str>| {
        let sync_action = action.map(str::to_owned);
        block::ArrayState { name: "md0".to_owned(), degraded, sync_action }
    };
    let degraded = mirrored(1.0).each(|_, r| r.after.arrays = vec![array(1, None)]);
    assert_eq!(degraded.doubts(), [], "a single copy is what it should write");
    let body = degraded.body();
    let caveat = body.caveats.iter().find(|c| c.code == "degraded");
    assert!(caveat.is_some_and(|c| c.cause.contains("md0 lacks 1")), "{:?}", body.caveats);
    let rebuilding = mirrored(2.0).each(|_, r| r.before.arrays = vec![array(0, Some("resync"))]);
    assert_eq!(rebuilding.doubts(), [("undisturbed", Verdict::Refuted)]);
    let reason = rebuilding.test().proofs.undisturbed.reason;
    assert!(reason.contains("md0") && reason.contains("resync"), "{reason}");
}

#[test]
fn a_cache_that_is_a_drive_is_told() {
    let mut world = World::sound().each(|_, r| {
        for counted in [&mut r.before, &mut r.after] {
            let mut cache = counted.devices[0].clone();
            cache.name = "nvme0n1".to_owned();
            counted.devices.push(cache);
            counted.devices[0].read_bytes = Bytes::ZERO;
        }
    });
    let layer = |kind: &str, name: &str, below: Vec<usize>| Layer {
        kind: kind.to_owned(),
        name: name.to_owned(),
        below,
        ..Layer::default()
    };
    world.stack.layers = vec![
        layer("bcache", "bcache0", vec![1, 2]),
        layer("disk", "sda", vec![]),
        layer("partition", "nvme0n1p1", vec![3]),
        layer("disk", "nvme0n1", vec![]),
    ];
    world.stack.layers[2].attributes.insert("bcache_role".to_owned(), "cache".to_owned());
    world.stack.leaves.push(Leaf { name: "nvme0n1".to_owned(), ..leaf(Medium::Device) });
    assert_eq!(world.doubts(), [], "a drive served it");
    let body = world.body();
    let caveat = body.caveats.iter().find(|c| c.code == "cache_device").unwrap();
    assert!(caveat.cause.contains("nvme0n1") && caveat.cause.contains("100%"), "{caveat:?}");
}

/// The kernel hands in again what it could not do without waiting, and charges it twice; a cache that serves a part
/// stays visible.
#[test]
fn what_was_handed_in_again_is_charged_twice() {
    let verdict = |kind: DriveKind, charged: f64| {
        let mut world = World::sound().each(move |_, run| {
            let times = |share: f64| Bytes((1 << 40) + (run.run.bytes as f64 * share) as u64);
            // Others read half as much again.
            run.after.devices[0].read_bytes = times(1.5);
            run.after.task = Some(TaskIo { read_bytes: times(charged), ..TaskIo::default() });
        });
        world.info.kind = kind;
        world.test().proofs.reached.verdict
    };
    assert_eq!(verdict(DriveKind::BlockDevice, 2.0), Verdict::Proven);
    assert_eq!(verdict(DriveKind::BlockDevice, 1.0), Verdict::Proven);
    assert_eq!(verdict(DriveKind::BlockDevice, 1.4), Verdict::Unprovable);
    assert_eq!(verdict(DriveKind::BlockDevice, 0.4), Verdict::Refuted);
    assert_eq!(verdict(DriveKind::File, 2.0), Verdict::Unprovable);
    let written = |filesystem: &str, charged: f64| {
        let mut world = mirrored(3.0).each(|_, r| {
            let write_bytes = Bytes((r.run.bytes as f64 * charged) as u64);
            r.after.task = Some(TaskIo { write_bytes, ..TaskIo::default() });
        });
        world.stack.layers.push(Layer { kind: filesystem.to_owned(), ..Layer::default() });
        world.test().proofs.reached.verdict
    };
    assert_eq!(written("jfs", 2.0), Verdict::Proven);
    assert_eq!(written("xfs", 2.0), Verdict::Unprovable);
    // Trees that move with the data.
    assert_eq!(written("btrfs", 1.3), Verdict::Proven);
    assert_eq!(written("xfs", 1.3), Verdict::Unprovable);
}

#[test]
fn a_test_without_runs_claims_nothing() {
    let mut world = World::sound();
    world.runs.clear();
    let test = world.test();
    assert!(!test.headline);
    assert!(test.proofs.named().iter().all(|(_, p)| p.verdict == Verdict::Unprovable));
}

/// Breaks when the page cache's speed is taken for the drive's because it wrote back meanwhile.
#[test]
fn what_the_page_cache_took_is_not_proven_unless_each_write_waited() {
    let verdict = |durable: bool, direct| {
        let mut world = mirrored(2.0);
        world.direct = direct;
        let phases = world.plan.steps[0].phases.iter_mut();
        phases.flat_map(|p| &mut p.ops).for_each(|op| op.fua = durable);
        world.test().proofs.reached
    };
    assert_eq!(verdict(false, true).verdict, Verdict::Proven);
    let buffered = verdict(false, false);
    assert_eq!(buffered.verdict, Verdict::Unprovable, "{}", buffered.reason);
    assert_eq!(verdict(true, false).verdict, Verdict::Proven);
}
