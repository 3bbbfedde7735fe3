//! `drivescope trace export`.

use anyhow::Result;
use bench::outputs;
use serde::Serialize;
use trace::export::{Exported, blktrace, fio, msr};
use trace::{Source, TraceError};

use crate::args::{ExportFormat, TraceExportArgs};
use crate::exit::Exit;
use crate::messages;
use crate::verbs::print_json;

use crate::trace_files::{existing, in_the_way, opened};

/// The form of what this verb prints as JSON.
const SCHEMA: &str = "drivescope.trace-export/1";

/// Runs the verb.
///
/// # Errors
/// When the trace cannot be read, or the file cannot be written.
pub fn main(args: &TraceExportArgs) -> Result<Exit> {
    outputs::check(&args.output, args.force)?;
    let mut source = opened(&args.trace, &args.reading.options())?;
    let exported = write(args, &mut *source).map_err(|error| in_the_way(&args.output, error))?;
    for note in &exported.notes {
        messages::note(note);
    }
    if args.json {
        let body = Body {
            file: args.output.display().to_string(),
            format: args.to.words(),
            exported: &exported,
        };
        print_json(SCHEMA, body)?;
    } else {
        messages::plain(&text(args, &exported))?;
    }
    Ok(Exit::Done)
}

fn write(args: &TraceExportArgs, source: &mut dyn Source) -> Result<Exported, TraceError> {
    let existing = existing(args.force);
    let to = &args.output;
    match args.to {
        ExportFormat::Blktrace => blktrace::write(source, to, existing, blktrace::Files::One),
        ExportFormat::BlktraceCpus => {
            blktrace::write(source, to, existing, blktrace::Files::EachCpu)
        }
        ExportFormat::Fio => fio::write(source, to, existing, fio::Version::Three),
        ExportFormat::FioV2 => fio::write(source, to, existing, fio::Version::Two),
        ExportFormat::Msr => msr::write(source, to, existing),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    file: String,
    format: &'static str,
    #[serde(flatten)]
    exported: &'a Exported,
}

fn text(args: &TraceExportArgs, exported: &Exported) -> String {
    let mut text = format!(
        "{} I/Os written to {} as {}\n",
        exported.ios,
        args.output.display(),
        args.to.words()
    );
    if !exported.lost.is_empty() {
        text.push_str("What the format cannot hold:\n");
        for sentence in &exported.lost {
            text.push_str(&format!("  - {}\n", sentence));
        }
    }
    text
}
