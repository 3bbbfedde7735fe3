//! How a ring is set up, on kernels of different age.

use std::io;

use io_uring::IoUring;

/// Ways to set a ring up, best first. Each is a step down for an older kernel: `NO_SQARRAY` came with
/// Linux 6.6, `DEFER_TASKRUN` with 6.1, `SINGLE_ISSUER` with 6.0, `COOP_TASKRUN` with 5.19,
/// `SUBMIT_ALL` with 5.18.
pub(super) const SETUPS: u8 = 6;

/// A disabled ring of the best mode that the kernel has.
///
/// # Errors
/// The kernel's answer; [`io::ErrorKind::Unsupported`] where its rings cannot wait with a timeout.
pub(super) fn best(entries: u32, iopoll: bool) -> io::Result<IoUring> {
    let mut step = 0;
    let uring = loop {
        match build(step, entries, iopoll) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && step + 1 < SETUPS => {
                step += 1;
            }
            other => break other?,
        }
    };
    if !uring.params().is_feature_ext_arg() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this kernel's io_uring cannot wait with a timeout (Linux 5.11 can)",
        ));
    }
    Ok(uring)
}

/// Makes each of the calls that a ring needs, once: a filter may deny any of them.
///
/// # Errors
/// The answer of the first call that was refused.
pub(crate) fn probe() -> io::Result<()> {
    let uring = best(1, false)?;
    uring.submitter().register_enable_rings()?;
    uring.submit().map(drop)
}

/// A disabled ring of the mode `step`.
pub(super) fn build(step: u8, entries: u32, iopoll: bool) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    // Disabled until attach: with a single issuer, the thread that enables it becomes the issuer.
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
        // The flag shows in user space that completions wait to be delivered.
        builder.setup_coop_taskrun().setup_taskrun_flag();
    }
    if step < 5 {
        builder.setup_submit_all();
    }
    builder.build(entries)
}
