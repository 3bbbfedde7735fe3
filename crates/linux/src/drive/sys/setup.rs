//! How a ring is set up, on kernels of different age.

use std::io;

use io_uring::IoUring;

/// Ways to set a ring up, best first. Each is a step down for an older kernel: `NO_SQARRAY` came with
/// Linux 6.6, `DEFER_TASKRUN` with 6.1, `SINGLE_ISSUER` with 6.0, `COOP_TASKRUN` with 5.19,
/// `SUBMIT_ALL` with 5.18.
pub(super) const SETUPS: u8 = 6;

/// A disabled ring of the mode `step`.
pub(super) fn build(step: u8, entries: u32, iopoll: bool) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    // Disabled until attach: with a single issuer, whoever enables the ring becomes the issuer.
    builder.setup_r_disabled().dontfork();
    if iopoll {
        builder.setup_iopoll();
    }
    if step < 1 {
        builder.setup_no_sqarray();
    }
    if step < 2 {
        builder.setup_defer_taskrun();
    }
    if step < 3 {
        builder.setup_single_issuer();
    }
    if step < 4 {
        // The flag tells from user space that completions wait to be delivered.
        builder.setup_coop_taskrun().setup_taskrun_flag();
    }
    if step < 5 {
        builder.setup_submit_all();
    }
    builder.build(entries)
}
