//! Enterprise tests on an open drive: `tests` is their run as the runner sees it, `rig` the drive with its purge, `estimate` the
//! time and bytes that they will take.

mod estimate;
mod rig;
mod tests;

pub use estimate::{Planned, estimate};
pub use rig::{Tester, Work};
pub use tests::{TestBodies, Tests};
