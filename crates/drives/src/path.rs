//! Open targets as paths of I/O. The loop that issues the I/O of a step is compiled here, once for each kind of drive: these
//! functions are not inlined, since the loop would then be compiled again in each crate that calls one, and for size.

use engine::IoPath;
use linux::drive::NullTarget;
use linux::target::{AnyTarget, Calibration};
use sim::VirtualTarget;

/// A file or block device, with the kernel interface that was chosen for it.
#[inline(never)]
pub fn of_real(target: &mut AnyTarget) -> &mut dyn IoPath {
    match target {
        AnyTarget::IoUring(target) => target,
        AnyTarget::Libaio(target) => target,
        AnyTarget::Psync(target) => target,
    }
}

/// A virtual drive.
#[inline(never)]
pub fn of_virtual(target: &mut VirtualTarget) -> &mut dyn IoPath {
    target
}

/// `null:`, which costs nothing.
#[inline(never)]
pub fn of_null(target: &mut NullTarget) -> &mut dyn IoPath {
    target
}

/// The device of the kernel that costs nothing, by which the tester's own limit is measured.
#[inline(never)]
pub fn of_calibration(target: &mut Calibration) -> &mut dyn IoPath {
    target
}
