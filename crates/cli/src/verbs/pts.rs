//! `drivescope pts`: enterprise tests.

use anyhow::Result;

use crate::args::{Given, PtsArgs};
use crate::exit::Exit;
use crate::testing;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &PtsArgs, given: &Given) -> Result<Exit> {
    match (&args.resume, args.test, &args.target) {
        (Some(run), ..) => testing::resume(run, args.device.as_ref(), args, given),
        (None, Some(test), Some(target)) => testing::run(test, target, args),
        (None, ..) => {
            anyhow::bail!("name a test and a target, such as: drivescope pts wsat sim:mlc-nvme")
        }
    }
}
