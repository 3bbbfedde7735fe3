//! Format of a file, found by its content.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use probe::flashbench::parse_all;
use pts::judge;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Most that is read of a file.
const READ_BYTES_MAX: u64 = 8 << 20;
/// Most that is read of JSON, of which nothing is kept.
const JSON_BYTES_MAX: u64 = 512 << 20;

/// Format of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// It has no content.
    Empty,
    /// It is a directory.
    Directory,
    /// gzip, as `runs export` writes it.
    Archive,
    /// Parquet, as a trace is.
    Trace,
    /// Output of `--json` with this schema.
    Document(String),
    /// Result of this program.
    Result(&'static str),
    /// Output of flashbench.
    Flashbench,
    /// Other JSON.
    Json,
    /// Other content that is not text.
    Binary,
    /// A job file of fio, by its sections and one of its words. Results have none.
    FioJob,
}

/// Format of the file at `path`; `None` of other text, and of what cannot be read.
pub fn detect_format(path: &Path) -> Option<FileFormat> {
    if path.is_dir() {
        return Some(FileFormat::Directory);
    }
    let mut bytes = Vec::new();
    // A pipe that waits for a writer has no content to look at.
    let file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    match bytes.as_slice() {
        [] => return Some(FileFormat::Empty),
        [0x1f, 0x8b, ..] => return Some(FileFormat::Archive),
        [b'P', b'A', b'R', b'1', ..] => return Some(FileFormat::Trace),
        _ => {}
    }
    let json = json(path);
    if let Some(Some(form)) = json {
        return Some(FileFormat::Document(form));
    }
    let name = path.to_string_lossy().into_owned();
    if parse_all([(name.as_str(), bytes.as_slice())]).is_ok() {
        return Some(FileFormat::Flashbench);
    }
    let is_text = std::str::from_utf8(&bytes).is_ok();
    let text = String::from_utf8_lossy(&bytes);
    match (judge::format_in(&name, &text), json) {
        (Some(format), _) => Some(FileFormat::Result(format.tool())),
        (None, Some(_)) => Some(FileFormat::Json),
        (None, None) if !is_text => Some(FileFormat::Binary),
        (None, None) if is_job(&text) => Some(FileFormat::FioJob),
        _ => None,
    }
}

/// True of a file with output of `--json`, whatever its name.
pub fn is_document(path: &Path) -> bool {
    let mut first = [0];
    let begins = |mut file: File| file.read_exact(&mut first).is_ok() && first == *b"{";
    // A disk's image is not read to its end for this.
    path.is_file()
        && File::open(path).is_ok_and(begins)
        && matches!(detect_format(path), Some(FileFormat::Document(_)))
}

fn is_job(text: &str) -> bool {
    let has = |words: &[&str]| {
        text.lines().any(|line| words.iter().any(|word| line.trim_start().starts_with(word)))
    };
    has(&["["]) && has(&["rw=", "readwrite=", "ioengine=", "filename="])
}

/// Beginning of every document; the rest is skipped.
#[derive(Deserialize)]
struct Document {
    envelope: Head,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// The schema that the envelope of a JSON file names, if it has one; `None` when the file is not JSON.
fn json(path: &Path) -> Option<Option<String>> {
    let open = || Some(BufReader::new(File::open(path).ok()?.take(JSON_BYTES_MAX)));
    let document = serde_json::from_reader::<_, Document>(open()?);
    if let Ok(document) = document {
        return Some(Some(document.envelope.schema));
    }
    serde_json::from_reader::<_, IgnoredAny>(open()?).ok().map(|_| None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Errors name the verb that reads a file: of a wrong format they would name the wrong one.
    #[test]
    fn formats_are_found_by_content_alone() {
        let dir = std::env::temp_dir().join(format!("drivescope-formats-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let of = |content: &[u8]| {
            let path = dir.join("file.txt");
            fs::write(&path, content).unwrap();
            (detect_format(&path), is_document(&path))
        };
        assert_eq!(detect_format(&dir), Some(FileFormat::Directory));
        assert_eq!(detect_format(&dir.join("none")), None);
        let cases: [(&[u8], Option<FileFormat>); 8] = [
            (b"", Some(FileFormat::Empty)),
            (b"\x1f\x8b\x08", Some(FileFormat::Archive)),
            (b"PAR1", Some(FileFormat::Trace)),
            (b"{\"a\": 1}", Some(FileFormat::Json)),
            (b"\xff\xfe\0", Some(FileFormat::Binary)),
            (b"[job]\nrw=read\n", Some(FileFormat::FioJob)),
            (b"Total IO\nthread | bytes\n", None),
            (b"some words", None),
        ];
        for (content, format) in cases {
            assert_eq!(of(content), (format, false), "{}", String::from_utf8_lossy(content));
        }
        let schema = "drivescope.mark/1".to_owned();
        let document = b"{\"envelope\": {\"schema\": \"drivescope.mark/1\"}, \"body\": {}}";
        assert_eq!(of(document), (Some(FileFormat::Document(schema)), true));
        fs::remove_dir_all(&dir).unwrap();
    }
}
