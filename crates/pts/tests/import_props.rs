//! Output of other programs, generated in their formats and read back: each figure is found again in its place,
//! within the rounding of the format. A text that was cut off yields nothing that the whole does not contain.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

#[path = "import_props/crystal.rs"]
mod crystal;
#[path = "import_props/diskspd.rs"]
mod diskspd;
#[path = "import_props/fio_json.rs"]
mod fio_json;
#[path = "import_props/fio_logs.rs"]
mod fio_logs;

use drivescope_pts::judge::measured::Measured;
use drivescope_pts::judge::{Format, JudgeError, Recorded, Text, read, read_as};
use proptest::prelude::*;

/// Reads one file, whose format is detected by its content.
fn read_one(file: &str, text: &str) -> Result<Vec<Recorded>, JudgeError> {
    read(&[Text { file: file.to_owned(), text: text.to_owned() }])
}

/// The text with line ends of Windows, as most ways between two machines leave it.
fn ended(text: &str, is_windows: bool) -> String {
    if is_windows { text.replace('\n', "\r\n") } else { text.to_owned() }
}

/// Share of the text to keep: any, and more often one among the last figures, where a part of a figure is still a figure.
fn shares() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0_f64, 0.97..1.0_f64]
}

/// The first `share` of 1 of the text, which is never all of it.
fn cut(text: &str, share: f64) -> &str {
    let mut at = (text.len() as f64 * share) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

/// Results without the parts that name their files, for comparison.
fn told(results: &[Recorded]) -> Vec<(String, &[Measured], String)> {
    let one = |result: &Recorded| format!("{:?} {:?}", result.asked, result.load);
    results.iter().map(|r| (r.name.clone(), r.measured.as_slice(), one(r))).collect()
}

/// A text that was cut off gives either an error that names the file, or all that the whole text gives: only its signatures and
/// empty lines are missing then.
fn cut_is_no_part(
    file: &str,
    format: Format,
    whole: &str,
    share: f64,
) -> Result<Option<u64>, TestCaseError> {
    let text = |text: &str| Text { file: file.to_owned(), text: text.to_owned() };
    let all = read_as(&[text(whole)], Some(format)).unwrap();
    let left = cut(whole, share);
    for form in [Some(format), None] {
        match read_as(&[text(left)], form) {
            Ok(found) => prop_assert_eq!(told(&found), told(&all), "{:?}", left),
            Err(error) => prop_assert_eq!(&error.file, file),
        }
    }
    Ok(read_as(&[text(left)], Some(format)).err().and_then(|error| error.line))
}

/// Equal but for what sums in another order differ by.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}
