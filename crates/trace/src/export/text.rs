//! A source written as lines of text.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::rc::Rc;

use crate::output::{Existing, Pending};
use crate::{BATCH, Io, Source, TraceError, TraceInfo};

/// Bytes that are written at a time.
const BUFFER: usize = 256 << 10;

/// The file that is being written.
pub(super) type Out = BufWriter<File>;

/// A format in the making.
pub(super) trait Lines {
    /// Writes the lines before the first I/O.
    fn begin(&mut self, to: &mut Out, info: &TraceInfo) -> io::Result<()>;
    /// One I/O. `info` is what is known by now.
    fn io(&mut self, to: &mut Out, io: &Io, info: &TraceInfo) -> io::Result<()>;
    /// Writes the lines after the last I/O.
    fn end(&mut self, to: &mut Out) -> io::Result<()>;
}

/// Writes all that comes from `source` to `path`.
pub(super) fn write(
    lines: &mut impl Lines,
    source: &mut dyn Source,
    path: &Path,
    existing: Existing,
) -> Result<(), TraceError> {
    let failed = |source| TraceError::Io { file: path.display().to_string(), source };
    let (file, pending) = Pending::begin(path, existing).map_err(failed)?;
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let mut batch = Vec::with_capacity(BATCH);
    source.next(&mut batch)?;
    lines.begin(&mut out, source.info()).map_err(failed)?;
    while !batch.is_empty() {
        let info = source.info();
        batch.iter().try_for_each(|io| lines.io(&mut out, io, info)).map_err(failed)?;
        batch.clear();
        source.next(&mut batch)?;
    }
    lines.end(&mut out).map_err(failed)?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    pending.publish(&file).map_err(failed)
}

/// `name` as a word of at most 200 bytes that holds only what `allowed` says, and whether that is another.
pub(super) fn word(name: &str, allowed: impl Fn(char) -> bool) -> (String, bool) {
    let mut word = String::new();
    for character in name.chars() {
        if word.len() + character.len_utf8() > 200 {
            break;
        }
        word.push(if allowed(character) { character } else { '_' });
    }
    let changed = word != name;
    (word, changed)
}

/// Makes a name for a space that no other has: `name`, or that and the space's number.
pub(super) fn unlike(name: String, number: u32, others: &BTreeMap<u32, Rc<str>>) -> String {
    let taken = |name: &str| others.values().any(|other| **other == *name);
    if name.is_empty() {
        return unlike("space".to_owned() + &number.to_string(), number, others);
    }
    let mut unlike = name;
    while taken(&unlike) {
        unlike = format!("{unlike}.{number}");
    }
    unlike
}
