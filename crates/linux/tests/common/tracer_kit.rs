//! Helpers of the tests of recorders.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fmt::Debug;
use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::common::{has_means, skip};

pub const TRACING: &str = "/sys/kernel/tracing";
pub const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// True when this machine can be traced; says what is missing otherwise.
pub fn can_trace() -> bool {
    if !has_means(&["losetup"]) {
        return false;
    }
    let there = Path::new(INSTANCES).is_dir();
    if !there {
        skip("needs /sys/kernel/tracing/instances");
    }
    there
}

/// Keeps other tests off the tracer of which the machine has one, in whatever process they are.
pub fn only_tracer() -> File {
    let file = File::open(Path::new(TRACING).join("per_cpu")).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}

/// Checks that two recorders recorded the same; where they did not, prints a few of either around the first
/// difference, and not the thousands of lines that `assert_eq` would print.
#[track_caller]
pub fn assert_alike<T: PartialEq + Debug>(what: &str, one: &[T], other: &[T]) {
    let differs = one.iter().zip(other).position(|(one, other)| one != other);
    if let Some(at) = differs {
        let near = at.saturating_sub(4)..(at + 5).min(one.len()).min(other.len());
        panic!("{what}: one told {:#?}, the other {:#?}", &one[near.clone()], &other[near]);
    }
    assert_eq!(one.len(), other.len(), "{what}");
}
