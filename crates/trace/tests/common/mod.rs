//! Helpers for tests of importing.

use std::io::Cursor;

use drivescope_trace::import::{Options, read};
use drivescope_trace::{Io, Source, TraceError, TraceInfo};

/// All I/Os of a source, and what is known of it then.
pub fn all(mut source: Box<dyn Source>) -> (Vec<Io>, TraceInfo) {
    let ios = rest(source.as_mut()).unwrap();
    assert!(ios.is_sorted_by_key(|io| io.arrival), "not in the order of arrival");
    (ios, source.info().clone())
}

/// All I/Os that are left.
pub fn rest(source: &mut dyn Source) -> Result<Vec<Io>, TraceError> {
    let mut ios = Vec::new();
    loop {
        let before = ios.len();
        source.next(&mut ios)?;
        if ios.len() == before {
            return Ok(ios);
        }
    }
}

/// A trace that is in memory.
pub fn text(text: &str, options: &Options) -> Result<Box<dyn Source>, TraceError> {
    bytes(text.as_bytes(), options)
}

/// A trace that is in memory.
pub fn bytes(bytes: &[u8], options: &Options) -> Result<Box<dyn Source>, TraceError> {
    read(Box::new(Cursor::new(bytes.to_vec())), "trace", options)
}
