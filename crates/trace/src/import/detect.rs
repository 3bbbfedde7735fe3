//! Detection of a file's format from its content.

use super::options::{Format, Options};
use super::reading::Reading;
use super::sample::Sample;
use super::snoop::{self, Tool};
use super::tables::{PUBLISHED, published};
use super::{blkparse, csv, disksim, etw, fio, fiu, ftrace, vscsi, wpa};
use crate::{Place, TraceError};

/// A format of lines that is known by its rows.
struct Known {
    format: Format,
    fits: fn(&Sample) -> bool,
}

/// Formats that are known by what their files begin with, or by their rows. No row fits two of them.
const KNOWN: [Known; 10] = [
    Known { format: Format::Blkparse, fits: is_blkparse },
    Known { format: Format::Ftrace, fits: ftrace::is_recording },
    Known { format: Format::Biosnoop, fits: |sample| snoop::tool(sample) == Some(Tool::Biosnoop) },
    Known { format: Format::Iosnoop, fits: |sample| snoop::tool(sample) == Some(Tool::Iosnoop) },
    Known { format: Format::Fio, fits: |sample| fio::version(sample).is_some() },
    Known { format: Format::Wpa, fits: wpa::begins },
    Known { format: Format::Etw, fits: etw::begins },
    Known { format: Format::Fiu, fits: |sample| sample.mostly(fiu::is_row) },
    Known { format: Format::DiskSim, fits: |sample| sample.mostly(disksim::is_row) },
    Known {
        format: Format::Vscsi,
        fits: |sample| sample.is_binary() && vscsi::version(sample).is_some(),
    },
];

/// The first line after the preamble is an event: where events are few, most lines are in the summary.
fn is_blkparse(sample: &Sample) -> bool {
    sample.lines().find(|line| !blkparse::is_preamble(line)).is_some_and(blkparse::is_row)
}

/// Returns the format of the file that `sample` is the beginning of.
///
/// # Errors
/// [`TraceError`] when it is not a known format, or could be several.
pub fn format(sample: &Sample, options: &Options) -> Result<Format, TraceError> {
    let bytes = sample.bytes();
    if let Some(format) = options.format {
        return Ok(format);
    }
    if options.columns.is_some() {
        return Ok(Format::Csv);
    }
    let malformed = |reason: &str| TraceError::Malformed {
        file: sample.file.clone(),
        place: Place::Whole,
        reason: reason.to_owned(),
    };
    if bytes.is_empty() {
        return Err(malformed("is empty"));
    }
    if crate::container::is_container(bytes) {
        return Ok(Format::Container);
    }
    if bytes.starts_with(b"PAR1") {
        return Err(malformed("is a Parquet file, but no trace of drivescope's"));
    }
    if super::blktrace::begins(bytes) {
        return Ok(Format::Blktrace);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Err(malformed("is a tar archive; unpack it, and name the files in it"));
    }
    let known = KNOWN.iter().filter(|known| (known.fits)(sample)).map(|known| known.format);
    let tables = PUBLISHED.iter().filter(|one| one.fits(sample)).map(|one| one.format);
    let fitting: Vec<Format> = known.chain(tables).collect();
    match fitting.as_slice() {
        [one] => Ok(*one),
        [] if csv::has_head(sample) => Ok(Format::Csv),
        [] => Err(malformed(&unknown(sample))),
        several => {
            let words: Vec<String> =
                several.iter().map(|format| format!("--format {format}")).collect();
            Err(TraceError::Ambiguous {
                file: sample.file.clone(),
                question: "its rows have the form of several formats".to_owned(),
                flag: words.join(" or "),
            })
        }
    }
}

fn unknown(sample: &Sample) -> String {
    if sample.is_binary() {
        return "is binary, and begins as no format does that is known".to_owned();
    }
    let first = sample.lines().next().unwrap_or_default();
    format!(
        "has no format that is known; its first row is {}; if it is a table, say what its columns hold, such as \
         --columns time:us,op,offset:bytes,size:bytes",
        super::records::quoted(first)
    )
}

/// Refuses what the user says of a thing that the format says itself: one of the two would be wrong, and silently.
///
/// # Errors
/// [`TraceError::Unsuited`] with the flag.
pub fn check(format: Format, options: &Options) -> Result<(), TraceError> {
    let simulators = matches!(format, Format::DiskSim | Format::SsdSim | Format::MqSim);
    let table = format == Format::Csv;
    let events = matches!(format, Format::Blktrace | Format::Blkparse | Format::Ftrace);
    let rows = !events && format != Format::Container;
    let own_times = matches!(
        format,
        Format::Tencent
            | Format::Vscsi
            | Format::Etw
            | Format::Wpa
            | Format::Biosnoop
            | Format::Iosnoop
    );
    let flags = [
        ("--time-unit", options.time_unit.is_some(), rows && !own_times),
        ("--read-flag", options.read_flag.is_some(), simulators || table),
        (
            "--address-unit",
            options.address_unit.is_some(),
            simulators || table || format == Format::Fiu,
        ),
        ("--op", options.ops.is_some(), table),
        ("--columns", options.columns.is_some(), table),
        ("--spaces", options.spaces.is_some(), rows),
        ("--sort", options.sort, rows),
    ];
    match flags.into_iter().find(|(_, given, heeded)| *given && !heeded) {
        None => Ok(()),
        Some((flag, ..)) => Err(TraceError::Unsuited(format!(
            "{flag} is of no use for the format {format}, which leaves nothing open there; leave it out"
        ))),
    }
}

/// How files of `format` are read, as `samples` of them and `options` say.
///
/// # Errors
/// [`TraceError`] when they do not say it.
pub fn settle(
    format: Format,
    samples: &[Sample],
    options: &Options,
) -> Result<Reading, TraceError> {
    match format {
        Format::DiskSim | Format::SsdSim | Format::MqSim => disksim::settle(samples, options),
        Format::Biosnoop | Format::Iosnoop => snoop::settle(samples, options),
        Format::Fio => fio::settle(samples, options),
        Format::Wpa => wpa::settle(samples, options),
        Format::Etw => etw::settle(samples, options),
        Format::Fiu => fiu::settle(samples, options),
        Format::Vscsi => vscsi::settle(samples, options),
        Format::Csv => csv::settle(samples, options),
        Format::Spc
        | Format::Msr
        | Format::Systor
        | Format::Alibaba
        | Format::Tencent
        | Format::K5cloud => match published(format) {
            Some(published) => published.settle(samples, options),
            None => Err(TraceError::Unsuited(format!("{format} is not a table"))),
        },
        Format::Container | Format::Blktrace | Format::Blkparse | Format::Ftrace => {
            Err(TraceError::Unsuited(format!("{format} is not read row by row")))
        }
    }
}
