//! Access to texts that others published, which are kept beside the repository, not in it.

use std::fs;
use std::path::PathBuf;

/// A text and its name.
pub type Text = (String, Vec<u8>);

/// All files of a directory beside the repository whose names begin so. Where there is none the test has nothing to
/// do, and says so.
pub fn beside(directory: &str, prefix: &str) -> Option<Vec<Text>> {
    let texts = if_beside(directory, prefix);
    if texts.is_none() {
        println!("skipped: this machine has no {directory}");
    }
    texts
}

/// The same for a test that has enough to do without them.
pub fn if_beside(directory: &str, prefix: &str) -> Option<Vec<Text>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = fs::read_dir(root.join(directory)).ok()?;
    let mut texts: Vec<Text> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect();
    texts.sort();
    assert!(!texts.is_empty(), "{directory} has no {prefix}*");
    Some(texts)
}

/// Published tables.
pub const CASES: &str = "../shared/cases/flashbench";

/// The articles that contain them.
pub const SOURCES: &str = "../shared/sources";
