//! Real and virtual drives as one: a name becomes a [`TargetSpec`], and each kind of target an [`IoPath`], which is what
//! instruments work on.
//!
//! The loop that issues the I/O of a step is generic over the drive, and it is compiled where a target loses its
//! type. That is here and nowhere else in the product, so it is compiled once for each kind of drive, and optimised for
//! speed whatever the crates are that use it.

mod spec;

pub use spec::{TargetSpec, Unnamed, VirtualSpec};

use engine::IoPath;
use linux::drive::NullTarget;
use linux::target::{AnyTarget, Calibration};
use sim::VirtualTarget;

/// A file or block device, with the kernel interface that was chosen for it.
pub fn of_real(target: &mut AnyTarget) -> &mut dyn IoPath {
    match target {
        AnyTarget::IoUring(target) => target,
        AnyTarget::Libaio(target) => target,
        AnyTarget::Psync(target) => target,
    }
}

/// A virtual drive.
pub fn of_virtual(target: &mut VirtualTarget) -> &mut dyn IoPath {
    target
}

/// `null:`, which costs nothing.
pub fn of_null(target: &mut NullTarget) -> &mut dyn IoPath {
    target
}

/// The device of the kernel that costs nothing, by which the tester's own limit is measured.
pub fn of_calibration(target: &mut Calibration) -> &mut dyn IoPath {
    target
}
