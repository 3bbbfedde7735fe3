//! Published figures of the drives that models represent, and what the models do.

use crate::common::{Load, Sample, mb_per_s, one, random, request, run, setup, shared_cursor};
use block::{Nanos, Op, Target};
use drivescope_sim::{VirtualTarget, open};

fn iops(samples: &[Sample]) -> f64 {
    mb_per_s(samples) * 1e6 / samples[0].len as f64
}

fn mean_us(samples: &[Sample]) -> f64 {
    samples.iter().map(Sample::latency_ns).sum::<u64>() as f64 / samples.len() as f64 / 1e3
}

fn reads(target: &mut VirtualTarget, block: u64, depth: u16) -> Vec<Sample> {
    let span = target.info().capacity_bytes.0 / block * block;
    let load = Load::read(block, depth, Nanos::millis(300));
    run(target, load, random(u64::from(depth), 0, span, block))
}

fn writes(target: &mut VirtualTarget, depth: u16) -> Vec<Sample> {
    let span = target.info().capacity_bytes.0;
    let load = Load::write(4096, depth, Nanos::millis(400));
    run(target, load, random(u64::from(depth), 0, span, 4096))
}

fn within(value: f64, target: f64, share: f64, what: &str) {
    assert!((value / target - 1.0).abs() < share, "{what}: {value}, published {target}");
}

// Tom's Hardware of the P4800X: 98,000 IOPS alone and 562,619 at 32 outstanding, with no preconditioning drop.
#[test]
fn optane_is_that_of_the_reviews() {
    let mut target = open("sim:optane").unwrap();
    within(iops(&reads(&mut target, 4096, 1)), 98_000.0, 0.03, "alone");
    within(iops(&reads(&mut target, 4096, 32)), 562_619.0, 0.02, "32 outstanding");
    within(iops(&writes(&mut target, 32)), 562_619.0, 0.15, "writes: 500,000 to 550,000");
}

// The data sheet of the 970 PRO 1TB: 15,000 reads and 55,000 writes alone (with a host's time in them), 500,000 each
// at 128; 2,700 MB/s written one after the other.
#[test]
fn mlc_nvme_is_of_the_class_of_its_data_sheet() {
    let mut target = open("sim:mlc-nvme?state=filled").unwrap();
    within(iops(&reads(&mut target, 4096, 1)), 15_000.0, 0.1, "one read");
    within(iops(&reads(&mut target, 4096, 128)), 500_000.0, 0.1, "128 reads");
    let mut fresh = open("sim:mlc-nvme").unwrap();
    let load = Load::write(131_072, 8, Nanos::millis(500));
    let span = 1 << 39;
    let sequential = run(&mut fresh, load, shared_cursor(0, span, 131_072));
    within(mb_per_s(&sequential[sequential.len() / 2..]), 2_700.0, 0.03, "MB/s written");
}

// The paper's two: a transaction load whose requests came one by one took A 1,029 s and B 1,481 s in all; a search
// load, large reads and always many of them, 158,118 s and 155,705 s. No order of the two drives is "the" order.
#[test]
fn of_two_sata_drives_one_is_quicker_alone_and_the_other_under_load() {
    let (mut alone, mut loaded) = ([0.0; 2], [0.0; 2]);
    for (at, name) in ["sata-a", "sata-b"].into_iter().enumerate() {
        let mut target = open(&format!("sim:{name}?state=filled")).unwrap();
        loaded[at] = mean_us(&reads(&mut target, 16_384, 32));
        alone[at] = mean_us(&reads(&mut target, 4096, 1)) + mean_us(&writes(&mut target, 1));
    }
    within(alone[1] / alone[0], 1_481.0 / 1_029.0, 0.1, "B to A, alone");
    within(loaded[0] / loaded[1], 158_118.0 / 155_705.0, 0.01, "A to B, under load");
    assert!(loaded[1] < loaded[0]);
}

// Speed of a single-bit cache, and after it.
#[test]
fn writes_into_single_bit_cells_are_several_times_as_fast_as_those_after_them() {
    for (model, least) in [("tlc-pslc", 3.0), ("qlc-pslc", 8.0)] {
        // A hundredth of the cache, so that its end comes soon.
        let spec = format!("sim:{model}?slc.bytes=2000000000&memory.write_bytes=4194304");
        let mut target = open(&spec).unwrap();
        let load = Load::write(1 << 20, 4, Nanos::millis(500));
        let cached = mb_per_s(&run(&mut target, load, shared_cursor(0, 1 << 35, 1 << 20)));
        let mut lanes = target.open(&setup(1)).unwrap();
        for at in 0..4096 {
            one(&mut lanes[0], request(Op::Write, (1 << 35) + (at << 20), 1 << 20, 0));
        }
        drop(lanes);
        let beyond = mb_per_s(&run(&mut target, load, shared_cursor(1 << 36, 1 << 35, 1 << 20)));
        assert!(cached > least * beyond, "{model}: {cached} MB/s, then {beyond}");
    }
}
