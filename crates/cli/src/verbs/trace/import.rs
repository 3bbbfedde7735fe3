//! `drivescope trace import`: what a trace of another tool's is, and a file of ours made of it.

use std::path::Path;

use anyhow::Result;
use bench::outputs;
use documents::trace_import::{FileWritten, Imported};
use trace::container::{Existing, Writer};
use trace::{Source, TraceError, each_batch};

use crate::args::TraceImportArgs;
use crate::exit::Exit;
use crate::messages;
use crate::verbs::print_json;

use crate::trace_files::{existing, in_the_way, opened};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.trace-import/1";

/// Runs the verb.
///
/// # Errors
/// When the trace cannot be read, or the file not be written.
pub fn main(args: &TraceImportArgs) -> Result<Exit> {
    args.output.as_deref().map_or(Ok(()), |path| outputs::check(path, args.force))?;
    let mut source = opened(&args.files, &args.reading.options())?;
    let output = args.output.as_deref();
    let mut imported = run(&mut *source, output, existing(args.force))
        .map_err(|error| in_the_way(output.unwrap_or(Path::new("")), error))?;
    // A drivescope recording names the recorded devices, but no file.
    if imported.files.is_empty() {
        imported.files = args.files.iter().map(|file| file.display().to_string()).collect();
    }
    if imported.skipped_rows > 0 {
        messages::note(&format!(
            "{} rows could not be read and were left out; the first: {}",
            imported.skipped_rows,
            imported.faults.first().map_or("", String::as_str)
        ));
    }
    if args.json {
        print_json(SCHEMA, &imported)?;
    } else {
        let listing = views::import_trace::listing(&imported);
        messages::result(&report::render_listing(&listing, report::Style::default()))?;
    }
    Ok(Exit::Done)
}

/// Reads all of `source`, and writes it where that is asked for.
fn run(
    source: &mut dyn Source,
    output: Option<&Path>,
    existing: Existing,
) -> Result<Imported, TraceError> {
    let mut writer = output.map(|path| Writer::create(path, existing)).transpose()?;
    let mut imported = Imported::default();
    each_batch(source, |batch, info| {
        batch.iter().for_each(|io| imported.see(io));
        writer.as_mut().map_or(Ok(()), |writer| writer.write(batch, &info.spaces))
    })?;
    imported.tell(source.info());
    if let (Some(writer), Some(path)) = (writer, output) {
        let bytes = writer.finish(source.info())?.bytes;
        imported.written = Some(FileWritten { file: path.display().to_string(), bytes });
    }
    Ok(imported)
}
