//! The file of single I/Os that `--samples` writes.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use block::Op;
use mark::TracedRun;

/// Makes the file before anything is measured, so that a path that cannot be written is known at once.
///
/// # Errors
/// Names the path.
pub fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("{}: cannot be written", path.display()))
}

/// Writes all traced I/Os as CSV: times in nanoseconds since the run's first request.
///
/// # Errors
/// Names the path.
pub fn write(file: File, path: &Path, traced: &[TracedRun]) -> Result<()> {
    let mut out = BufWriter::new(file);
    rows(&mut out, traced)
        .and_then(|()| out.flush())
        .with_context(|| format!("{}: cannot be written", path.display()))
}

fn rows(out: &mut impl Write, traced: &[TracedRun]) -> std::io::Result<()> {
    writeln!(
        out,
        "step,run,submitter,op,offset_bytes,length_bytes,intended_ns,issued_ns,completed_ns"
    )?;
    for run in traced {
        let step = field(&run.step);
        for s in &run.samples {
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{}",
                step,
                run.run + 1,
                s.submitter,
                word(s.op),
                s.offset.0,
                s.len.0,
                s.intended.0,
                s.issued.0,
                s.completed.0
            )?;
        }
    }
    Ok(())
}

/// A name as a field of RFC 4180: a plan may name its steps as it likes.
fn field(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\"")).into()
    } else {
        name.into()
    }
}

fn word(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Flush => "flush",
        Op::Discard => "discard",
    }
}
