//! Results of others, judged again: was the drive in a steady state when they were measured?
//!
//! [`take`] reads files, [`read_given`] makes [`Recorded`] of them, each format in a file of its own; [`judge`] says of
//! each what can be shown. Nothing here opens a file, so that what is said depends on what is in them alone. Logs may be of
//! any length, and the memory does not follow it.

mod crystal;
mod diskspd;
mod diskspd_xml;
mod error;
mod ezfio;
mod fio_belonging;
mod fio_cell;
mod fio_hist;
mod fio_json;
mod fio_kind;
mod fio_log;
mod fio_log_measured;
mod fio_log_sums;
mod fio_measured;
mod fio_number;
mod fio_options;
mod fio_rounds;
mod fio_traps;
mod fio_values;
mod format;
mod given;
mod in_bytes;
mod joined;
mod known;
mod lines;
pub mod measured;
mod recorded;
mod series;
mod tkperf;
mod verdict;
mod xml;

use std::collections::BTreeMap;

pub use error::JudgeError;
pub use fio_json::{LogPrefixes, log_prefixes};
pub use fio_log::by_name as log_by_name;
pub use fio_rounds::rounds;
pub use format::{Text, format_in, format_of};
pub use known::{Known, Start, Transient};
pub use recorded::{
    Before, Claim, Figure, FioSteadyState, Format, Load, Pattern, Quantity, Recorded, Rounds,
    Series, Window,
};
pub use verdict::{Judged, RuleName, RuleSays, judge};

pub use given::{Given, TEXTS_MAX, take};

use fio_log::Log;
use given::Content;

/// Reads all results in `texts`. Logs of fio belong to the jobs of a JSON among them that names them; what is left of
/// them are results of their own, a name each.
///
/// # Errors
/// At the first file that is damaged, or whose format is unknown.
pub fn read(texts: &[Text]) -> Result<Vec<Recorded>, JudgeError> {
    read_as(texts, None)
}

/// As [`read`], with the format of all of them given: what is in a file is not asked then.
///
/// # Errors
/// As [`read`].
pub fn read_as(texts: &[Text], format: Option<Format>) -> Result<Vec<Recorded>, JudgeError> {
    let mut left = TEXTS_MAX;
    let given =
        texts.iter().map(|text| take(&text.file, &mut text.text.as_bytes(), format, &mut left));
    read_given(given.collect::<Result<_, _>>()?, format)
}

/// As [`read_as`], of files that were taken.
///
/// # Errors
/// As [`read`].
pub fn read_given(given: Vec<Given>, format: Option<Format>) -> Result<Vec<Recorded>, JudgeError> {
    let mut logs = Vec::new();
    let mut others = Vec::new();
    for Given { file, content, .. } in given {
        match content {
            Content::Log(log) => logs.push(*log),
            Content::Histogram(result) => others.push((file, Err(result))),
            Content::Text(text) => {
                match format.or_else(|| format_in(&file, &text)) {
                    Some(Format::FioLog) => logs.push(fio_log::read(&file, &mut text.as_bytes())?),
                    Some(format) => others.push((file, Ok((format, text)))),
                    None => return Err(nobodys(&file)),
                };
            }
        }
    }
    let mut results = Vec::new();
    for (file, other) in others {
        let (format, text) = match other {
            Ok(text) => text,
            Err(result) => {
                results.push(*result);
                continue;
            }
        };
        let (file, text) = (file.as_str(), text.as_str());
        let read = match format {
            Format::FioJson => fio_json::read(file, text, &logs)?,
            Format::Ezfio => ezfio::read(file, text)?,
            Format::Tkperf => tkperf::read(file, text)?,
            Format::Diskspd => diskspd::read(file, text)?,
            Format::DiskspdXml => diskspd_xml::read(file, text)?,
            Format::CrystalDiskMark => crystal::read(file, text)?,
            Format::FioHistLog => vec![fio_hist::read(file, &mut text.as_bytes())?],
            Format::FioLog => Vec::new(),
        };
        results.extend(read);
    }
    let is_taken =
        |log: &Log| results.iter().any(|result: &Recorded| result.files.contains(&log.file));
    // A log that was passed over for another one of the same job is not a result of its own.
    let prefixes: Vec<String> =
        logs.iter().filter(|log| is_taken(log)).map(|log| log.prefix.clone()).collect();
    let is_out =
        |log: &Log| results.iter().any(|result: &Recorded| result.left_out.contains(&log.file));
    let left: Vec<&Log> =
        logs.iter().filter(|log| !prefixes.contains(&log.prefix) && !is_out(log)).collect();
    let alone = alone(&left);
    results.extend(alone);
    Ok(results)
}

fn nobodys(file: &str) -> JudgeError {
    JudgeError::whole(
        file,
        "is not a result that can be read",
        "give fio's JSON (--output-format=json) or logs (x_bw.1.log), ezFIO's CSV, TKperf's XML, diskspd's text or XML, or \
         CrystalDiskMark's text",
    )
}

/// Logs without a JSON, a result for each name.
fn alone(logs: &[&Log]) -> Vec<Recorded> {
    let mut by_prefix: BTreeMap<&str, Vec<&Log>> = BTreeMap::new();
    for log in logs {
        by_prefix.entry(log.prefix.as_str()).or_default().push(log);
    }
    let one = |(prefix, logs): (&str, Vec<&Log>)| {
        let first = logs.first().map_or("", |log| log.file.as_str());
        let mut result = Recorded::of(prefix, Format::FioLog, first);
        result.files.clear();
        fio_json::attach(&mut result, &logs, None);
        if result.files.is_empty() {
            result.files = logs.iter().map(|log| log.file.clone()).collect();
        }
        result.written_bytes = result.series.as_ref().and_then(Series::written_bytes);
        result.measured = fio_log_measured::measured(&logs);
        if result.written_bytes == Some(0) {
            result.load.pattern = Pattern::ReadsOnly;
        }
        let threads = result.series.as_ref().map_or(0, |series| series.threads);
        if threads > 1 {
            result.doubt(
                "threads_added_up",
                format!("the files of {threads} threads were added up as if all had run at the same time"),
                stats::remedy::Command::JsonOfThreads,
            );
        }
        result
    };
    by_prefix.into_iter().map(one).collect()
}
