//! The kept files of each format: good ones are known for what they are and read without a fault, bad ones are refused
//! with the file's name and a reason. Fuzzing begins with the same files.

use std::path::{Path, PathBuf};

use crate::common::rest;
use drivescope_trace::import::{Format, Options, open};

fn files(format: Format) -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format.word());
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    files.sort();
    files
}

/// All but our own container, and the recordings of events, which tests of their own read.
fn formats() -> impl Iterator<Item = Format> {
    let of_rows = |format: &Format| {
        !matches!(format, Format::Container | Format::Blktrace | Format::Blkparse | Format::Ftrace)
    };
    Format::ALL.into_iter().filter(of_rows)
}

/// MQSim's rows are those of SSDSim: a user has to say which.
fn options(format: Format) -> Options {
    Options { format: (format == Format::MqSim).then_some(format), ..Options::default() }
}

#[test]
fn good_files_are_known_and_read() {
    for format in formats() {
        for (name, path) in files(format).iter().filter(|(name, _)| name.starts_with("good")) {
            let mut source = open(std::slice::from_ref(path), &options(format))
                .unwrap_or_else(|error| panic!("{error}"));
            let ios = rest(source.as_mut()).unwrap_or_else(|error| panic!("{error}"));
            let info = source.info();
            let words = match format {
                Format::Biosnoop => "biosnoop",
                Format::Iosnoop => "iosnoop",
                Format::Fio => "fio",
                Format::Spc => "SPC",
                Format::Msr => "MSR",
                Format::Fiu => "FIU",
                Format::Systor => "SYSTOR",
                Format::Alibaba => "Alibaba",
                Format::Tencent => "Tencent",
                Format::K5cloud => "K5cloud",
                Format::Vscsi => "vscsi",
                Format::Etw => "ETW",
                Format::Wpa => "wpaexporter",
                Format::DiskSim => "DiskSim",
                Format::MqSim => "MQSim",
                _ => "table",
            };
            assert!(info.source.starts_with(words), "{name} was taken for {}", info.source);
            assert!(ios.len() >= 3, "{name} has {} I/Os", ios.len());
            assert!(!info.settled.is_empty(), "{name}: nothing is said of how it was read");
        }
    }
}

#[test]
fn bad_files_are_refused_with_their_name() {
    for format in formats() {
        let files = files(format);
        assert!(files.iter().any(|(name, _)| name.starts_with("bad")), "{format} has none");
        for (name, path) in files.iter().filter(|(name, _)| name.starts_with("bad")) {
            let error = match open(std::slice::from_ref(path), &options(format)) {
                Err(error) => error,
                Ok(mut source) => rest(source.as_mut())
                    .expect_err(&format!("{format}: {name} was read as {}", source.info().source)),
            };
            assert!(error.to_string().contains(name.as_str()), "{name}: {error}");
        }
    }
}
