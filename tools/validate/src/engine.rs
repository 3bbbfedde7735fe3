//! The ways of issuing I/O that both programs have.

/// How I/O is issued; both programs use the kernel's same interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// `io_uring_enter(2)`.
    IoUring,
    /// `io_submit(2)` and `io_getevents(2)`.
    Libaio,
    /// `pread(2)`.
    Psync,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 3] = [Engine::IoUring, Engine::Libaio, Engine::Psync];

    /// Both programs call it the same.
    pub fn name(self) -> &'static str {
        match self {
            Engine::IoUring => "io_uring",
            Engine::Libaio => "libaio",
            Engine::Psync => "psync",
        }
    }

    /// Whether it can have `depth` requests outstanding.
    pub fn has_depth(self, depth: u16) -> bool {
        depth == 1 || self != Engine::Psync
    }
}
