//! Estimate of a run's time and bytes, before it begins.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::options::{Minute, Options, Profile, Rule, Test};

/// Time and bytes of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Of each test.
    pub tests: Vec<TestEstimate>,
    /// The range of addresses that is used.
    pub range_bytes: u64,
    /// Least time of all, where a minute is a time; fills come on top, at whatever rate the drive has.
    pub timed_ns_min: Option<u64>,
    /// Most of it.
    pub timed_ns_max: Option<u64>,
    /// Bytes that are written in any case.
    pub bytes_min: u64,
    /// Most bytes that can be written; null where the drive's rate is not known and time alone bounds them.
    pub bytes_max: Option<u64>,
    /// Deviations from the specification.
    pub deviations: Vec<String>,
}

/// Time and bytes of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestEstimate {
    /// The test.
    pub test: Test,
    /// Fills of the range that are written in any case.
    pub fills: f64,
    /// Fills at most, of what is bounded by bytes.
    pub fills_max: f64,
    /// Minutes of I/O and of rests at least.
    pub minutes_min: f64,
    /// Minutes at most.
    pub minutes_max: f64,
    /// Minutes of writing at most, beside the fills; of mixes, the writes' share.
    pub write_minutes_max: f64,
}

/// Fills after which random writes end although the drive is not steady yet.
const FILLS_TO_STEADY_MAX: f64 = 60.0;

impl TestEstimate {
    fn of(test: Test, options: &Options) -> TestEstimate {
        let most = f64::from(options.rounds_max);
        let wipc = f64::from(options.wipc_fills);
        // Once more what latency and wsat log, at a share of the rate.
        let open = options.open_loop.map_or(0.0, |share| 20.0 * share);
        let open_minutes = if open > 0.0 { 20.0 } else { 0.0 };
        // Of random writes before what is measured.
        let (random, random_max) = match options.until {
            Rule::Fills(fills) => (fills, fills),
            Rule::Pts | Rule::Bytes => (0.0, FILLS_TO_STEADY_MAX),
        };
        // Fills, fills at most, minutes a round, of which writes, minutes besides, of which writes.
        let (fills, fills_max, round, round_writes, other, other_writes) = match test {
            Test::Iops => (wipc, wipc, 56.0, 28.0, 0.0, 0.0),
            Test::Throughput => {
                let blocks = if options.profile == Profile::Enterprise { 2.0 } else { 1.0 };
                (blocks * wipc, blocks * wipc, blocks * 2.0, blocks, 0.0, 0.0)
            }
            Test::Latency => (wipc, wipc, 9.0, 4.05, 20.0 + open_minutes, 20.0 + open),
            Test::Wsat => {
                let (fills, fills_max) = match options.until {
                    Rule::Pts => (0.0, 4.0),
                    Rule::Bytes => (0.0, FILLS_TO_STEADY_MAX),
                    Rule::Fills(fills) => (fills, fills),
                };
                (fills, fills_max, 0.0, 0.0, 21.0 + open_minutes, 21.0 + open)
            }
            Test::Hir => (0.0, 0.0, 30.0, 30.0, 870.0, 300.0),
            Test::Xsr => (0.0, 0.0, 0.0, 0.0, 1320.0, 1320.0),
            Test::Cbw | Test::Dirth => (0.0, 0.0, 84.0, 84.0, 210.0, 210.0),
            Test::QdSweep => (wipc + random, wipc + random_max, 0.0, 0.0, 11.0, 11.0),
            Test::Ezfio => (wipc + 1.0 + random, wipc + 1.0 + random_max, 0.0, 0.0, 146.0, 66.0),
        };
        TestEstimate {
            test,
            fills,
            fills_max,
            minutes_min: 5.0 * round + other,
            minutes_max: most * round + other,
            write_minutes_max: most * round_writes + other_writes,
        }
    }
}

impl Estimate {
    /// Of `options` on a drive of `capacity` that takes `bytes_per_s` at most, where that is known.
    pub fn of(options: &Options, capacity: Bytes, bytes_per_s: Option<u64>) -> Estimate {
        let range = match (options.region, options.profile) {
            (Some(region), _) => region.length.0,
            (None, Profile::Enterprise) => capacity.0,
            (None, Profile::Client) => capacity.0 / 4 * 3,
        };
        let tests: Vec<TestEstimate> =
            options.tests.iter().map(|test| TestEstimate::of(*test, options)).collect();
        let sum = |figure: &dyn Fn(&TestEstimate) -> f64| tests.iter().map(figure).sum::<f64>();
        let of_range = |fills: f64| (fills * range as f64) as u64;
        let minute = match options.minute {
            Minute::Time(minute) => Some(minute),
            Minute::Fill(_) => None,
        };
        let timed = |minutes: f64| minute.map(|Nanos(ns)| (minutes * ns as f64) as u64);
        let write_minutes = sum(&|test| test.write_minutes_max);
        let timed_bytes = match options.minute {
            Minute::Fill(share) => Some(of_range(write_minutes * share)),
            Minute::Time(minute) => {
                bytes_per_s.map(|rate| (write_minutes * minute.as_secs_f64() * rate as f64) as u64)
            }
        };
        let fills_max = of_range(sum(&|test| test.fills_max));
        let most = timed_bytes.map(|bytes| bytes.saturating_add(fills_max));
        let most = match (most, options.write_limit().map(|(most, _)| most)) {
            (Some(most), Some(Bytes(budget))) => Some(most.min(budget)),
            (most, budget) => most.or(budget.map(|budget| budget.0)),
        };
        Estimate {
            range_bytes: range,
            timed_ns_min: timed(sum(&|test| test.minutes_min)),
            timed_ns_max: timed(sum(&|test| test.minutes_max)),
            bytes_min: of_range(sum(&|test| test.fills)),
            bytes_max: most,
            deviations: options.deviations(&options.tests),
            tests,
        }
    }
}
