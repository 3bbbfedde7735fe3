//! Formats of results, detected by the content of a file.

use super::fio_log::by_name as log_by_name;
use super::recorded::Format;
use super::{crystal, diskspd, diskspd_xml, ezfio, fio_hist, fio_json, tkperf};

/// A file, as it was named, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its name, for what is said of it.
    pub file: String,
    /// Its content.
    pub text: String,
}

/// Format of the file; `None` when it is not a known one.
pub fn format_of(text: &Text) -> Option<Format> {
    format_in(&text.file, &text.text)
}

/// Format of the file called `file`, by its content and then its name.
pub fn format_in(file: &str, is: &str) -> Option<Format> {
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
        log_by_name(file).map(|_| Format::FioLog)
    }
}
