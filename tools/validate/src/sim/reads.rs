//! Random reads by depth.

use anyhow::Result;

use super::claims::Claims;
use super::drive::{Drive, UNIT};

/// Filled drives, small ones of the same dies: what reads cost does not depend on the size.
const SPECS: [&str; 2] =
    ["sim:mlc-nvme?capacity=16GiB&state=filled", "sim:enterprise-28op?capacity=16GiB&state=filled"];
/// Reads at each depth.
const READS: u64 = 1_000_000;

pub(super) fn check(claims: &mut Claims) -> Result<()> {
    claims.section(
        "Random reads by depth",
        "Uniform random 4 KiB reads of filled drives, beside a simulation of the same closed network of queues by other \
         code: latency, one controller, the dies, the channels, the link, each in order of arrival. The ceiling is the \
         least of what each kind of station can do.",
    );
    for spec in SPECS {
        let drive = Drive::open(spec)?;
        let (path, deepest) = (drive.parameters.read_path(UNIT), 16 * drive.parameters.dies());
        let depths = (0..).map(|power| 1_u64 << power).take_while(|depth| *depth <= deepest);
        for depth in depths {
            let mut drive = Drive::open(spec)?;
            let found = drive.read_random(u16::try_from(depth)?, READS)?;
            let expected = path.rate(depth, READS, depth);
            let case = format!("{spec}, depth {depth}");
            claims.near(&case, "reads a second", (found, 0), (expected, 0.03));
            if depth == deepest {
                let share = found / path.ceiling();
                claims.within(&case, "of the ceiling", (share, 3), (0.95, 1.005));
            }
        }
    }
    Ok(())
}
