//! Results of others, judged again: was the drive in a steady state when they were measured?
//!
//! [`read`] takes files as texts and makes [`Recorded`] of them, each format in a file of its own; [`judge`] says of
//! each what can be shown. Nothing here opens a file, so that what is said depends on the texts alone.

mod crystal;
mod diskspd;
mod diskspd_xml;
mod error;
mod ezfio;
mod fio_hist;
mod fio_json;
mod fio_log;
mod fio_measured;
mod fio_options;
mod fio_traps;
mod in_bytes;
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
pub use recorded::{
    Before, Claim, Figure, FioSteadyState, Format, Load, Pattern, Quantity, Recorded, Rounds,
    Series, Window,
};
pub use verdict::{Judged, Known, RuleName, RuleSays, Start, Transient, judge};

use fio_log::Log;

/// A file, as it was named, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its name, for what is said of it.
    pub file: String,
    /// What is in it.
    pub text: String,
}

/// Whose file it is; none when it is nobody's that is known.
pub fn format_of(text: &Text) -> Option<Format> {
    let is = &text.text;
    // By what is in it before by its name: a log has nothing in it that says so.
    if fio_json::is_it(is) {
        Some(Format::FioJson)
    } else if tkperf::is_it(is) {
        Some(Format::Tkperf)
    } else if ezfio::is_it(is) {
        Some(Format::Ezfio)
    } else if diskspd::is_it(is) {
        Some(Format::Diskspd)
    } else if diskspd_xml::is_it(is) {
        Some(Format::DiskspdXml)
    } else if crystal::is_it(is) {
        Some(Format::CrystalDiskMark)
    } else if fio_hist::is_it(is) {
        Some(Format::FioHistLog)
    } else {
        log_by_name(&text.file).map(|_| Format::FioLog)
    }
}

/// Reads all results in `texts`. Logs of fio belong to the jobs of a JSON among them that names them; what is left of
/// them are results of their own, a name each.
///
/// # Errors
/// At the first file that is nobody's, or is damaged.
pub fn read(texts: &[Text]) -> Result<Vec<Recorded>, JudgeError> {
    read_as(texts, None)
}

/// As [`read`], with the format of all of them given: what is in a file is not asked then.
///
/// # Errors
/// As [`read`].
pub fn read_as(texts: &[Text], format: Option<Format>) -> Result<Vec<Recorded>, JudgeError> {
    let mut logs = Vec::new();
    let mut others = Vec::new();
    for text in texts {
        match format.or_else(|| format_of(text)) {
            Some(Format::FioLog) => logs.push(fio_log::read(&text.file, &text.text)?),
            Some(format) => others.push((format, text)),
            None => return Err(nobodys(&text.file)),
        }
    }
    let mut results = Vec::new();
    for (format, text) in others {
        let (file, text) = (text.file.as_str(), text.text.as_str());
        let read = match format {
            Format::FioJson => fio_json::read(file, text, &logs)?,
            Format::Ezfio => ezfio::read(file, text)?,
            Format::Tkperf => tkperf::read(file, text)?,
            Format::Diskspd => diskspd::read(file, text)?,
            Format::DiskspdXml => diskspd_xml::read(file, text)?,
            Format::CrystalDiskMark => crystal::read(file, text)?,
            Format::FioHistLog => vec![fio_hist::read(file, text)?],
            Format::FioLog => Vec::new(),
        };
        results.extend(read);
    }
    let is_taken =
        |log: &Log| results.iter().any(|result: &Recorded| result.files.contains(&log.file));
    // A log that told less than another of the same job is no result of its own.
    let prefixes: Vec<String> =
        logs.iter().filter(|log| is_taken(log)).map(|log| log.prefix.clone()).collect();
    let left: Vec<&Log> = logs.iter().filter(|log| !prefixes.contains(&log.prefix)).collect();
    let alone = alone(&left);
    results.extend(alone);
    Ok(results)
}

fn nobodys(file: &str) -> JudgeError {
    JudgeError::whole(
        file,
        "is no result that can be read",
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
        result.measured = fio_log::measured(&logs);
        if result.written_bytes == Some(0) {
            result.load.pattern = Pattern::ReadsOnly;
        }
        let threads = result.series.as_ref().map_or(0, |series| series.threads);
        if threads > 1 {
            result.doubt(
                "threads_added_up",
                format!("the files of {threads} threads were added up as if all had run at the same time"),
                "give fio's JSON too, which tells whose thread is whose job's",
            );
        }
        result
    };
    by_prefix.into_iter().map(one).collect()
}
