//! Readers of the results and command lines of other programs: a target for each form.

use std::collections::BTreeMap;

use block::Bytes;
use mark::diskspd::Options;
use mark::explain;
use probe::flashbench;
use pts::judge::measured::joined;
use pts::judge::{Format, Known, Text, judge, log_prefixes, read_as};

/// A reader that the bytes are given to.
#[derive(Clone, Copy)]
pub enum Results {
    /// The reader of one form of result.
    Form(Format),
    /// Whichever is found for them: ezFIO's and TKperf's too.
    Found,
    /// Command lines of all programs, and diskspd's own.
    Commands,
    /// Job files of fio.
    Jobs,
    /// Published tables of flashbench.
    Flashbench,
}

impl Results {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Results); 10] = [
        ("fio-json", Results::Form(Format::FioJson)),
        ("fio-log", Results::Form(Format::FioLog)),
        ("fio-hist-log", Results::Form(Format::FioHistLog)),
        ("diskspd", Results::Form(Format::Diskspd)),
        ("diskspd-xml", Results::Form(Format::DiskspdXml)),
        ("crystaldiskmark", Results::Form(Format::CrystalDiskMark)),
        ("results", Results::Found),
        ("commands", Results::Commands),
        ("fio-jobs", Results::Jobs),
        ("flashbench", Results::Flashbench),
    ];

    /// Reads `data`, and panics when a promise is broken.
    pub fn run(self, data: &[u8]) {
        let text = String::from_utf8_lossy(data);
        match self {
            Results::Form(format) => results(&text, Some(format)),
            Results::Found => results(&text, None),
            Results::Commands => commands(&text),
            Results::Jobs => {
                explained(&explain::Given::JobFile("fuzz".to_owned(), text.into_owned()))
            }
            Results::Flashbench => tables(data),
        }
    }
}

/// The name of a file says which log of fio it is. The text selects the name, so that a file is always read the same way.
const NAMES: [&str; 5] =
    ["fuzz_bw.1.log", "fuzz_iops.1.log", "fuzz_lat.1.log", "fuzz_clat.1.log", "fuzz"];

fn results(text: &str, format: Option<Format>) {
    let kinds = if format == Some(Format::FioLog) { NAMES.len() - 1 } else { NAMES.len() };
    let file = NAMES[text.len() % kinds].to_owned();
    log_prefixes(text);
    let read = read_as(&[Text { file: file.clone(), text: text.to_owned() }], format);
    let found = match read {
        Ok(found) => found,
        Err(error) => return assert_eq!(error.file, file, "{error}"),
    };
    for result in joined(found) {
        for measured in &result.measured {
            let rates = [Some(measured.bytes_per_s), measured.iops, measured.latency.mean_ns];
            assert!(rates.into_iter().flatten().all(|x| x.is_finite() && x >= 0.0), "{measured:?}");
            let percentiles = &measured.latency.percentiles;
            assert!(percentiles.iter().all(|(percent, _)| (0.0..=100.0).contains(percent)));
        }
        judge(result, &Known::default());
    }
}

fn commands(text: &str) {
    if let Ok(words) = explain::split(text) {
        // Refusals are for people, and are made of what was given.
        let _ = Options::parse(&words).map_err(|error| error.to_string());
    }
    if let Ok(given) = explain::read("fuzz", text) {
        explained(&given);
    }
}

fn explained(given: &explain::Given) {
    let mut files = BTreeMap::new();
    for name in explain::job_files(given).into_iter().take(4) {
        files.insert(name, "[a]\nrw=randread\nsize=1m\nfilename=f\n".to_owned());
    }
    for target in [None, Some(Bytes::gib(1))] {
        let _ = explain::explain(given, &files, target).map_err(|error| error.to_string());
    }
}

fn tables(data: &[u8]) {
    let Ok(parsed) = flashbench::parse_all([("fuzz", data)]) else { return };
    let tables: Vec<_> = parsed.into_iter().map(|parsed| parsed.table).collect();
    flashbench::judge(&tables, None);
}
