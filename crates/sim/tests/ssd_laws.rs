//! Laws of theory that a drive of flash must follow, on small drives; `scripts/validate sim` does the same at
//! full size.

use crate::oracles::addresses::{Addresses, Permutation};
use crate::oracles::load::{Load, Series, issue};
use crate::oracles::model::SsdParameters;
use crate::oracles::theory;
use block::{Nanos, Op, Target};
use drivescope_sim::VirtualTarget;

const UNIT: u64 = 4096;
const WRITES: Load = Load { op: Op::Write, block: UNIT, depth: 128 };

/// Two dies with blocks of 128 units.
const SMALL: &str = "nand.channels=2&nand.dies_per_channel=1&nand.pages_per_block=16";

struct Drive {
    target: VirtualTarget,
    parameters: SsdParameters,
    addresses: Addresses,
}

impl Drive {
    fn open(spec: &str) -> Drive {
        let shown = drivescope_sim::show(spec).unwrap();
        Drive {
            target: drivescope_sim::open(spec).unwrap(),
            parameters: SsdParameters(serde_json::to_value(shown.parameters).unwrap()),
            addresses: Addresses(1),
        }
    }

    fn units(&self) -> u64 {
        self.parameters.capacity() / UNIT
    }

    /// Writes `fills` of the drive at random; gives media bytes for each byte of the host, and I/Os of each hundredth
    /// of a second.
    fn write(&mut self, fills: f64) -> (f64, Series) {
        let units = self.units();
        let mut left = (units as f64 * fills) as u64;
        let mut addresses = self.addresses;
        let written = self.write_to(|| {
            left = left.checked_sub(1)?;
            Some(addresses.below(units) * UNIT)
        });
        self.addresses = addresses;
        written
    }

    fn write_to(&mut self, next: impl FnMut() -> Option<u64>) -> (f64, Series) {
        let before = self.target.media();
        let mut series = Series::new(self.target.now(), 10_000_000);
        issue(&mut self.target, WRITES, next, |completion| series.add(completion)).unwrap();
        let after = self.target.media();
        let host = after.host_write_bytes.0 - before.host_write_bytes.0;
        let media = after.medium_write_bytes.0 - before.medium_write_bytes.0;
        (media as f64 / host as f64, series)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

// Breaks when the drive's own counters, its shape or its way of calling the collection depart from the log's, which
// is tested against theory alone. 1,000 blocks a die.
#[test]
fn uniform_random_writes_are_amplified_as_theory_says() {
    for (op, capacity) in [(0.15, "912MB"), (0.50, "699MB")] {
        for policy in ["greedy", "fifo", "choices&layout.choices=10"] {
            let spec = format!(
                "sim:enterprise-28op?{SMALL}&capacity={capacity}&state=steady\
                 &layout.over_provisioning={op}&layout.collection={policy}"
            );
            let truth = drivescope_sim::show(&spec).unwrap().truth;
            let a = 1.0 + truth.over_provisioning.unwrap();
            assert!((a - 1.0 - op).abs() < 0.003, "{a}");
            let mut drive = Drive::open(&spec);
            drive.write(1.0);
            let (found, _) = drive.write(2.0);
            let (fifo, greedy) = (theory::fifo(a), theory::greedy(a, 128.0));
            let range = match policy {
                "fifo" => 0.97 * fifo..1.03 * fifo,
                _ => 0.98 * greedy..1.02 * fifo,
            };
            assert!(range.contains(&found), "OP {op}, {policy}: {found} of {range:?}");
        }
    }
}

// The life of a drive after a purge. Breaks when over-provisioning is not net, when the transition sets in elsewhere,
// or when collection costs other time than its reads, programs and erases.
#[test]
fn a_purged_drive_falls_off_its_cliff_where_and_as_deep_as_its_figures_say() {
    let mut drive = Drive::open(
        "sim:mlc-nvme?nand.dies_per_channel=1&nand.pages_per_block=32&capacity=2GiB\
         &memory.write_bytes=8388608",
    );
    let times = drive.parameters.write_times();
    let (_, series) = drive.write(2.0);
    let rates = series.rates();
    let plateau = mean(&rates[10..rates.len() / 4]);
    let expected = times.plateau(drive.parameters.dies() as f64);
    assert!(
        (plateau / expected - 1.0).abs() < 0.05,
        "plateau {plateau}, by its figures {expected}"
    );
    let mut sum = 0;
    let cliff = series.counts.iter().find_map(|count| {
        sum += count;
        ((*count as f64) * 100.0 < 0.7 * plateau).then_some(sum - count)
    });
    let fills = cliff.unwrap() as f64 / drive.units() as f64;
    let expected = 1.0 + drive.parameters.over_provisioning();
    assert!((fills / expected - 1.0).abs() < 0.05, "cliff at {fills} fills, expected {expected}");
    drive.write(3.0);
    let (amplification, series) = drive.write(0.5);
    let rates = series.rates();
    let share = mean(&rates[10..]) / plateau;
    let expected = times.share(amplification);
    assert!((share / expected - 1.0).abs() < 0.10, "steady {share} of the plateau, {expected}");
}

// The riddle of the drive that was flat to the end: its tester wrote one permutation twice.
#[test]
fn two_passes_of_one_permutation_stay_on_the_plateau() {
    let mut drive = Drive::open(
        "sim:mlc-nvme?nand.dies_per_channel=1&nand.pages_per_block=64&capacity=1GiB\
         &memory.write_bytes=8388608",
    );
    let units = drive.units();
    let order = Permutation::new(units, 3);
    let mut at = 0..2 * units;
    let (amplification, series) = drive.write_to(|| Some(order.at(at.next()? % units) * UNIT));
    assert!(amplification < 1.01, "{amplification}");
    let rates = series.rates();
    // Old data is only erased: nothing is moved.
    let times = drive.parameters.write_times();
    let plateau = times.plateau(drive.parameters.dies() as f64) * times.share(1.0);
    let least = rates[10..].windows(10).map(mean).fold(f64::INFINITY, f64::min);
    assert!(least > 0.93 * plateau, "{least} of {plateau}");
}

// A second at full size: tables of a terabyte are made in no time.
#[test]
fn the_plateau_of_mlc_nvme_is_that_of_the_drives_it_stands_for() {
    let mut drive = Drive::open("sim:mlc-nvme");
    let (_, series) = drive.write(0.002);
    let plateau = mean(&series.rates()[10..]);
    assert!((600e3..700e3).contains(&plateau), "{plateau}");
}

// Breaks when stations overlap that must not, or wait where they need not.
#[test]
fn random_reads_by_depth_are_those_of_a_closed_network_of_queues() {
    let spec = "sim:mlc-nvme?nand.dies_per_channel=1&capacity=4GiB&state=filled";
    let path = Drive::open(spec).parameters.read_path(UNIT);
    for depth in [1, 8, 32, 128] {
        let mut drive = Drive::open(spec);
        let (units, mut left) = (drive.units(), 60_000);
        let mut addresses = Addresses(5);
        let next = || {
            left -= 1;
            (left > 0).then(|| addresses.below(units) * UNIT)
        };
        let mut series = Series::new(drive.target.now(), 1_000_000);
        let load = Load { op: Op::Read, block: UNIT, depth };
        issue(&mut drive.target, load, next, |completion| series.add(completion)).unwrap();
        let rates = series.rates();
        let rate = mean(&rates[rates.len() / 10..]);
        let expected = path.rate(depth.into(), 300_000, 1);
        assert!((rate / expected - 1.0).abs() < 0.03, "depth {depth}: {rate}, expected {expected}");
        if depth == 128 {
            assert!(rate > 0.95 * path.ceiling(), "{rate} of {}", path.ceiling());
        }
    }
}

/// Bytes written before the rate falls below the middle of what it was and what it becomes. In its first tenth of a
/// second the drive's memory fills.
fn cliff(series: &Series, block: u64) -> u64 {
    let rates = series.rates();
    let (first, last) = (mean(&rates[10..20]), mean(&rates[rates.len() - 10..]));
    assert!(last < 0.7 * first, "no cliff: from {first} to {last}");
    let at = rates.iter().skip(10).position(|rate| *rate < f64::midpoint(first, last)).unwrap();
    series.counts[..at + 10].iter().sum::<u64>() * block
}

// Breaks when the single-bit part is larger or smaller than the model says, or moves on at another rate.
#[test]
fn the_single_bit_cache_is_as_large_and_recovers_as_fast_as_the_model_says() {
    for area in ["static", "dynamic"] {
        let mut drive = Drive::open(&format!(
            "sim:tlc-pslc?capacity=16GiB&slc.bytes=2000000000&slc.area={area}&nand.pages_per_block=96\
             &nand.channels=4&nand.dies_per_channel=1&layout.over_provisioning=0.2\
             &slc.fold_bytes_per_s=100000000"
        ));
        let told = drive.target.info().capacity_bytes.0;
        let (cache, buffer) =
            (drive.parameters.single_bit(), drive.target.info().cache_bytes.unwrap().0);
        let block = 1 << 17;
        let load = Load { op: Op::Write, block, depth: 32 };
        let mut at = 0;
        let mut fill = |drive: &mut Drive, bytes: u64| {
            let mut left = bytes / block;
            let mut series = Series::new(drive.target.now(), 10_000_000);
            let next = || {
                left = left.checked_sub(1)?;
                at += block;
                Some(at % told)
            };
            issue(&mut drive.target, load, next, |completion| series.add(completion)).unwrap();
            series
        };
        // The drive's memory holds some of what was written by then.
        let first = cliff(&fill(&mut drive, 3 << 30), block) - buffer;
        let off = first as f64 / cache.bytes as f64 - 1.0;
        assert!(off.abs() < 0.03, "{area}: cliff at {first} bytes of {}", cache.bytes);
        let pause = Nanos(cache.idle_before_fold_ns + 8_000_000_000);
        drive.target.pause(pause);
        let again = cliff(&fill(&mut drive, 2 << 30), block) - buffer;
        let folded = 8 * cache.fold_bytes_per_s;
        let off = again as f64 / folded as f64 - 1.0;
        assert!(off.abs() < 0.05, "{area}: {again} bytes after a pause that folds {folded}");
    }
}

// Breaks when the truth gives the cache that a drive would have if it were empty: a probe that finds what a full
// drive has left of it would be scored as wrong.
#[test]
fn a_full_drive_lends_its_cache_only_what_is_free_and_says_so() {
    let drive = |state: &str| {
        let spec = format!(
            "sim:tlc-pslc?capacity=16GiB&slc.bytes=2000000000&slc.area=dynamic&nand.pages_per_block=96\
             &nand.channels=4&nand.dies_per_channel=1&layout.over_provisioning=0.2&state={state}"
        );
        let told = drivescope_sim::show(&spec).unwrap().truth.slc_cache_bytes.unwrap().0;
        (Drive::open(&spec), told)
    };
    let (_, empty) = drive("fresh");
    let (mut full, told) = drive("filled");
    assert!(told > 0 && 2 * told < 3 * empty && told < empty, "{told} of {empty}");
    let buffer = full.target.info().cache_bytes.unwrap().0;
    let load = Load { op: Op::Write, block: 1 << 17, depth: 32 };
    let mut places = 0..(3_u64 << 30) >> 17;
    let mut series = Series::new(full.target.now(), 10_000_000);
    let next = || Some(places.next()? << 17);
    issue(&mut full.target, load, next, |completion| series.add(completion)).unwrap();
    let found = cliff(&series, 1 << 17) - buffer;
    assert!((found as f64 / told as f64 - 1.0).abs() < 0.05, "{found}, told {told}");
    assert_eq!(drive("steady").1, 0, "what endless writes leave is full");
}
