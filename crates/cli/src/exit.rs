//! The exit code of an error.

use linux::gate::GateError;
use linux::scratch::ScratchError;

pub use runner::exit::{Exit, InMemory, Refused, Stopped};

/// The exit code that an error asks for.
pub fn of(error: &anyhow::Error) -> Exit {
    let refused = |e: &(dyn std::error::Error + 'static)| {
        let inner = e.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        e.is::<Refused>()
            || matches!(e.downcast_ref(), Some(GateError::Refused(_)))
            || inner.is_some_and(|inner| inner.is::<trace::IsProtected>())
    };
    let cancelled = |e: &(dyn std::error::Error + 'static)| {
        e.is::<Stopped>() || matches!(e.downcast_ref(), Some(ScratchError::Cancelled))
    };
    if error.chain().any(refused) {
        Exit::Refused
    } else if error.chain().any(cancelled) {
        Exit::Interrupted
    } else if error.chain().any(|e| e.is::<InMemory>()) {
        Exit::No
    } else {
        Exit::Failed
    }
}
