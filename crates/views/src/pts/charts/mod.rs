//! Enterprise tests as charts: what `--plot` draws, a terminal shows, and the report's pages hold.

pub mod demand;
pub mod latency;
mod parts;
pub mod rounds;
pub mod time;

use pts::body::Body;
use pts::options::Test;
use report::chart::{Axis, Chart};
use stats::Unit;

/// The most important chart of a test.
pub fn main(body: &Body) -> Option<Chart> {
    let table = |key: &str| body.tables.get(key);
    match body.test {
        Test::Iops => demand::by_block(body, table("iops")?),
        Test::Throughput => {
            let key = body.tables.keys().find(|key| key.starts_with("convergence"))?;
            rounds::convergence(body, table(key)?, Axis::new("Throughput", Unit::MbPerS), None)
        }
        Test::Latency => latency::confidence(body, &latency::LOOPS),
        Test::Wsat => time::saturation(body),
        Test::Hir => time::recovery(body),
        Test::Xsr => time::stimuli(body, None),
        Test::Cbw | Test::Dirth => demand::variation(body),
        Test::QdSweep => demand::by_depth(body, table("qd_sweep")?).or_else(|| time::curve(body)),
        Test::Ezfio => demand::by_threads(body).or_else(|| time::curve(body)),
    }
}
