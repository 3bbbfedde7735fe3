//! What the program prints, word for word: on virtual drives, where it is the same each time.
//!
//! A change of wording is made by changing the program and then the transcripts, with
//! `TRYCMD=overwrite cargo test -p drivescope --test transcripts`, and reading the difference.

#[test]
fn transcripts() {
    let cases = trycmd::TestCases::new();
    cases.env("COLUMNS", "80").env("NO_COLOR", "1");
    cases.case("tests/transcripts/*.trycmd");
}
