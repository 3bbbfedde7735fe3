//! `drivescope trace import`: what a trace of another tool's is, and a file of ours made of it.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use trace::container::{Existing, Writer};
use trace::{Io, Kind, Source, TraceError, TraceInfo, each_batch};

use crate::args::TraceImportArgs;
use crate::exit::Exit;
use crate::verbs::print_json;
use crate::{outputs, talk, view};

use super::{existing, in_the_way, opened};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.trace-import/1";

/// What was read.
#[derive(Debug, Default, Serialize)]
pub struct Imported {
    /// The format.
    pub format: String,
    /// The files, as they were named.
    pub files: Vec<String>,
    /// I/Os.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Flushes, discards and the like among them.
    pub others: u64,
    /// Bytes of all reads.
    pub bytes_read: u64,
    /// Bytes of all writes.
    pub bytes_written: u64,
    /// From the first arrival to the last.
    pub span_ns: u64,
    /// Date of the first arrival, where it is known: since 1970.
    pub begins_unix_ns: Option<i64>,
    /// The finest step of its times.
    pub resolution_ns: u64,
    /// I/Os whose completion is known.
    pub with_completion: u64,
    /// I/Os whose task is known.
    pub with_task: u64,
    /// Rows that say of themselves that they are no I/O.
    pub ignored_rows: u64,
    /// Rows that could not be read and were left out.
    pub skipped_rows: u64,
    /// The first of them.
    pub faults: Vec<String>,
    /// Events that the recorder lost.
    pub lost_events: u64,
    /// How each ambiguity was settled.
    pub settled: Vec<String>,
    /// Its address spaces.
    pub spaces: Vec<SpaceSeen>,
    /// What was written.
    pub written: Option<FileWritten>,
}

/// An address space.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SpaceSeen {
    /// Its name.
    pub name: String,
    /// I/Os on it.
    pub requests: u64,
    /// First byte behind all of them.
    pub end_bytes: u64,
}

/// The file that was written.
#[derive(Debug, Serialize)]
pub struct FileWritten {
    /// As it was named.
    pub file: String,
    /// Its length.
    pub bytes: u64,
}

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
    // One of our own tells what it was recorded on, and not where it is.
    if imported.files.is_empty() {
        imported.files = args.files.iter().map(|file| file.display().to_string()).collect();
    }
    if imported.skipped_rows > 0 {
        talk::note(&format!(
            "{} rows could not be read and were left out; the first: {}",
            imported.skipped_rows,
            imported.faults.first().map_or("", String::as_str)
        ));
    }
    if args.json {
        print_json(SCHEMA, &imported)?;
    } else {
        let listing = view::import_trace::listing(&imported);
        talk::result(&report::render_listing(&listing, report::Style::default()))?;
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

impl Imported {
    fn see(&mut self, io: &Io) {
        self.requests += 1;
        match io.kind {
            Kind::Read => {
                self.reads += 1;
                self.bytes_read = self.bytes_read.saturating_add(io.length.0);
            }
            Kind::Write => {
                self.writes += 1;
                self.bytes_written = self.bytes_written.saturating_add(io.length.0);
            }
            _ => self.others += 1,
        }
        self.span_ns = self.span_ns.max(io.arrival.0);
        self.with_completion += u64::from(io.completed.known());
        self.with_task += u64::from(io.pid != 0);
        let space = io.space as usize;
        if self.spaces.len() <= space {
            self.spaces.resize(space + 1, SpaceSeen::default());
        }
        let space = &mut self.spaces[space];
        space.requests += 1;
        space.end_bytes = space.end_bytes.max(io.end().0);
    }

    /// What is known of the trace as a whole.
    fn tell(&mut self, info: &TraceInfo) {
        self.format.clone_from(&info.source);
        self.files.clone_from(&info.files);
        self.begins_unix_ns = info.origin_unix_ns;
        self.resolution_ns = info.resolution.0;
        self.ignored_rows = info.ignored_rows;
        self.skipped_rows = info.skipped_rows;
        self.faults.clone_from(&info.faults);
        self.lost_events = info.lost_events;
        self.settled.clone_from(&info.settled);
        self.spaces.resize(info.spaces.len(), SpaceSeen::default());
        for (seen, space) in self.spaces.iter_mut().zip(&info.spaces) {
            seen.name.clone_from(&space.name);
        }
    }
}
