//! `drivescope pts`: enterprise tests.

use anyhow::Result;
use pts::options::Test;

use crate::args::{PtsTestArgs, PtsVerb};
use crate::exit::Exit;
use crate::testing;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(verb: &PtsVerb) -> Result<Exit> {
    let one = |test: Test, args: &PtsTestArgs| testing::run(&[test], test.word(), args);
    match verb {
        PtsVerb::Iops(args) => one(Test::Iops, args),
        PtsVerb::Throughput(args) => one(Test::Throughput, args),
        PtsVerb::Latency(args) => one(Test::Latency, args),
        PtsVerb::Wsat(args) => one(Test::Wsat, args),
        PtsVerb::Hir(args) => one(Test::Hir, args),
        PtsVerb::Xsr(args) => one(Test::Xsr, args),
        PtsVerb::Cbw(args) => one(Test::Cbw, args),
        PtsVerb::Dirth(args) => one(Test::Dirth, args),
        PtsVerb::QdSweep(args) => one(Test::QdSweep, args),
        PtsVerb::Ezfio(args) => one(Test::Ezfio, args),
        PtsVerb::All(args) => testing::run(&Test::PTS, "all", args),
        PtsVerb::Resume(args) => testing::resume(args),
    }
}
