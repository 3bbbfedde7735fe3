//! Which format a file has, by what is in it.

use super::options::{Format, Options};
use super::sample::Sample;
use super::{disksim, reading::Reading};
use crate::{Place, TraceError};

/// A format of lines that is known by its rows.
struct Known {
    format: Format,
    /// In words, with the form of its rows.
    form: &'static str,
    fits: fn(&Sample) -> bool,
}

/// Formats that are known by what their files begin with, or by their rows. No row fits two of them.
const KNOWN: [Known; 1] = [Known {
    format: Format::DiskSim,
    form: "DiskSim, SSDSim or MQSim (`time device address length type`)",
    fits: |sample| sample.mostly(disksim::is_row),
}];

/// What the file is that `sample` is the beginning of.
///
/// # Errors
/// [`TraceError`] when it is none that is known, or could be several.
pub fn format(sample: &Sample, options: &Options) -> Result<Format, TraceError> {
    let bytes = sample.bytes();
    if let Some(format) = options.format {
        return Ok(format);
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
    if bytes.get(257..262) == Some(b"ustar") {
        return Err(malformed("is a tar archive; unpack it, and name the files in it"));
    }
    let fitting: Vec<&Known> = KNOWN.iter().filter(|known| (known.fits)(sample)).collect();
    match fitting.as_slice() {
        [one] => Ok(one.format),
        [] => Err(malformed(&unknown(sample))),
        several => Err(TraceError::Ambiguous {
            file: sample.file.clone(),
            question: format!(
                "could be {}",
                several.iter().map(|known| known.form).collect::<Vec<_>>().join(", or ")
            ),
            flag: several
                .iter()
                .map(|known| format!("--format {}", known.format))
                .collect::<Vec<_>>()
                .join(" or "),
        }),
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
        _ => Err(TraceError::Unsuited(format!("{format} cannot be read yet"))),
    }
}
