//! Idle time between runs.

use std::sync::atomic::Ordering;

use block::Nanos;
use engine::{Control, IoPath};

/// Lets `span` go by in slices short enough that Ctrl-C does not have to wait for its end.
pub(crate) fn rest(target: &mut dyn IoPath, span: Nanos, control: Control<'_>) {
    let mut left = span;
    while left > Nanos::ZERO && !control.cancel.load(Ordering::Relaxed) {
        let slice = left.min(Nanos::millis(100));
        target.pause(slice);
        left = left - slice;
    }
}
