//! One story in three layouts of blktrace's, and as blkparse prints it: what is kept for fuzzing to begin with.

use std::path::PathBuf;

use crate::common::rest;
use drivescope_trace::import::{Options, open};
use drivescope_trace::{Io, TraceError};

fn read(name: &str) -> Result<Vec<Io>, TraceError> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    rest(open(&[path], &Options::default())?.as_mut())
}

/// Version and byte order are a matter of layout: if one failed, recordings from other machines would be misread.
#[test]
fn one_story_in_three_layouts_is_one_trace() {
    let little = read("blktrace/good-v1.blktrace.0").unwrap();
    assert_eq!(little.len(), 5, "{little:?}");
    assert!(little.iter().any(|io| io.error == 5), "{little:?}");
    assert_eq!(read("blktrace/good-v1-big.blktrace.0").unwrap(), little);
    assert_eq!(read("blktrace/good-v2.blktrace.0").unwrap(), little);
    assert_eq!(read("blkparse/good.txt").unwrap().len(), little.len());
}

/// A recording that was cut short is refused, with the place.
#[test]
fn a_recording_that_was_cut_short_is_refused() {
    for name in ["blktrace/bad-cut.blktrace.0", "blkparse/bad-cut.txt"] {
        let error = read(name).unwrap_err();
        assert!(matches!(error, TraceError::Malformed { .. }), "{error}");
    }
}
