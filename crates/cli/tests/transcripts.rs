//! Output of the program, word for word: on virtual drives, where it is the same each time.
//!
//! A change of wording is made by changing the program and then the transcripts, with
//! `TRYCMD=overwrite cargo test -p drivescope --test transcripts`, and reading the difference. A run's name
//! is its date and a random number, which the transcripts have as `[..]`. In a program of its own, which is run by its
//! name.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

#[test]
fn transcripts() {
    let runs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory for runs");
    let cases = trycmd::TestCases::new();
    cases.env("COLUMNS", "80").env("NO_COLOR", "1");
    cases.env("DRIVESCOPE_RUNS_DIR", runs.path().to_str().expect("a path of UTF-8"));
    cases.case("tests/transcripts/*.trycmd");
}
