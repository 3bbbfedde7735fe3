//! Results of others, damaged: whatever the bytes, there is an answer or an error that names the file.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::path::Path;

use drivescope_pts::judge::measured::joined;
use drivescope_pts::judge::{Format, Known, Text, format_of, judge, read_as};
use proptest::prelude::*;

const FORMATS: [Format; 6] = [
    Format::FioJson,
    Format::FioLog,
    Format::FioHistLog,
    Format::Diskspd,
    Format::DiskspdXml,
    Format::CrystalDiskMark,
];

/// Files of the fuzzing corpus, of each format.
fn kept() -> Vec<(String, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut found = Vec::new();
    for folder in std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            found.push((name, std::fs::read(file).unwrap()));
        }
    }
    found.sort();
    found
}

// A panic on a file from the network would end a program that reads a directory of them. Good files must be read, too.
#[test]
fn what_is_kept_is_read_by_the_format_that_is_found() {
    for (name, bytes) in kept() {
        let text = Text { file: name.clone(), text: String::from_utf8_lossy(&bytes).into_owned() };
        let read = format_of(&text).map(|format| read_as(&[text], Some(format)));
        if name.starts_with("good") || name.ends_with(".log") {
            let read = read.unwrap_or_else(|| panic!("{name}: nobody's")).unwrap();
            assert!(read.iter().any(|result| !result.measured.is_empty()), "{name}: {read:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    // Lines cut, doubled and exchanged, digits and bytes changed: nothing panics, and an error says of which file.
    #[test]
    fn damage_is_answered(
        which in 0_usize..64,
        form in 0_usize..FORMATS.len() + 1,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..12),
    ) {
        let kept = kept();
        let (name, mut bytes) = kept[which % kept.len()].clone();
        for (at, byte, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => bytes.insert(at, b'0' + byte % 10),
                _ => drop(bytes.remove(at)),
            }
        }
        let text = Text { file: name.clone(), text: String::from_utf8_lossy(&bytes).into_owned() };
        let format = FORMATS.get(form).copied();
        match read_as(&[text], format) {
            Ok(results) => {
                for result in joined(results) {
                    for measured in &result.measured {
                        prop_assert!(measured.bytes_per_s.is_finite() && measured.bytes_per_s >= 0.0);
                    }
                    judge(result, &Known::default());
                }
            }
            Err(error) => prop_assert!(error.file == name, "{}", error),
        }
    }
}
