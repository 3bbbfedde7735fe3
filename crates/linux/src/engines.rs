//! Engines that the kernel lets this process use.

use std::io;

use block::EngineKind;

pub use crate::drive::probe;

/// The engine that is used, and those that would have come first.
#[derive(Debug)]
pub struct Chosen {
    /// The first that the kernel does not refuse.
    pub kind: EngineKind,
    /// Refused engines in the order in which they were tried, with the kernel's answers.
    pub refused: Vec<(EngineKind, io::Error)>,
}

/// Asks the kernel for `first` and then for the engines after it in [`EngineKind::ALL`], up to one that it allows.
///
/// A lack of descriptors or of I/O contexts is not a refusal: another engine would measure something else, and the user
/// can mend it.
pub fn choose(first: EngineKind) -> Chosen {
    let mut refused = Vec::new();
    for kind in EngineKind::ALL.into_iter().skip_while(|kind| *kind != first) {
        match probe(kind) {
            Err(error) if is_refusal(&error) => refused.push((kind, error)),
            _ => return Chosen { kind, refused },
        }
    }
    Chosen { kind: EngineKind::Psync, refused }
}

/// True when the kernel, or a filter before it, does not let this process use the engine.
pub fn is_refusal(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(errno) => {
            [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EINVAL, libc::ENOMEM].contains(&errno)
        }
        None => error.kind() == io::ErrorKind::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A process that is short of descriptors would measure with another engine than it was asked for, and say that the
    // machine blocks it.
    #[test]
    fn only_what_the_kernel_forbids_is_a_refusal() {
        let of = |errno| is_refusal(&io::Error::from_raw_os_error(errno));
        assert!(of(libc::EPERM) && of(libc::ENOSYS) && of(libc::EACCES));
        assert!(!of(libc::EMFILE) && !of(libc::ENFILE) && !of(libc::EAGAIN));
        assert!(is_refusal(&io::ErrorKind::Unsupported.into()));
    }
}
