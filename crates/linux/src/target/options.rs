//! How a target is opened.

use block::EngineKind;

/// Access to the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing but reads; needs only read permission.
    #[default]
    ReadOnly,
    /// Reads and writes. The safety gate must have agreed before.
    ReadWrite,
}

/// How a target is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// How requests reach the kernel.
    pub engine: EngineKind,
    /// Reads only, or writes.
    pub access: Access,
    /// Past the page cache (`O_DIRECT`); false is `--buffered`.
    pub direct: bool,
    /// Every write is durable before it completes (`O_DSYNC`).
    pub dsync: bool,
    /// Poll for completions instead of being interrupted; io_uring with direct I/O only, and a device
    /// with polling queues. A poll ends with a completion, not with a deadline.
    pub iopoll: bool,
    /// Keeps submitter i on CPU `cpus[i % n]`.
    pub pin_cpus: Option<Vec<usize>>,
    /// Block devices only: fail when anyone else holds the device, and keep them out (`O_EXCL`).
    pub exclusive: bool,
}

impl Default for OpenOptions {
    /// io_uring, read-only, direct.
    fn default() -> Self {
        OpenOptions {
            engine: EngineKind::default(),
            access: Access::default(),
            direct: true,
            dsync: false,
            iopoll: false,
            pin_cpus: None,
            exclusive: false,
        }
    }
}
