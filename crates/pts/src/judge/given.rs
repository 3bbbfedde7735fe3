//! Files as they are given: logs are read line by line, and of everything else the text is kept.

use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, BufRead, Read};

use super::error::JudgeError;
use super::fio_hist;
use super::fio_log::by_name as log_by_name;
use super::fio_log::{self, Log};
use super::format::format_in;
use super::lines::unreadable;
use super::recorded::{Format, Recorded};

/// Most bytes of all texts together. JSON takes several times as much memory as its text.
pub const TEXTS_MAX: u64 = 32 << 20;
/// So much is read at a time.
const PIECE: u64 = 64 << 10;

/// A file that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Its name, for what is said of it.
    pub file: String,
    /// Its length and a hash of its content: equal ones are of one run.
    pub digest: (u64, u64),
    pub(super) content: Content,
}

/// Content of a file, as kept in memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Text(String),
    Log(Box<Log>),
    Histogram(Box<Recorded>),
}

impl Given {
    /// Format of the file; `None` when it is not a known one.
    pub fn format(&self) -> Option<Format> {
        match &self.content {
            Content::Log(_) => Some(Format::FioLog),
            Content::Histogram(_) => Some(Format::FioHistLog),
            Content::Text(text) => format_in(&self.file, text),
        }
    }

    /// Its text, where that is kept.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads the file named `file` from `input`; `format` is what it is, when that was said. A text takes its length from
/// `left`, which begins as [`TEXTS_MAX`].
///
/// # Errors
/// When it cannot be read, when a text is too long, or when a line is not one of a log of fio's.
pub fn take(
    file: &str,
    input: &mut dyn BufRead,
    format: Option<Format>,
    left: &mut u64,
) -> Result<Given, JudgeError> {
    let mut hashed = Hashed { input, hasher: DefaultHasher::new(), bytes: 0 };
    let mut head = Vec::new();
    let begun = (&mut hashed).take(PIECE).read_to_end(&mut head);
    begun.map_err(|error| unreadable(file, &error))?;
    let is_whole = (head.len() as u64) < PIECE;
    let first = first_line(&head);
    let is_log = format == Some(Format::FioLog)
        || format.is_none() && log_by_name(file).is_some() && fio_log::is_line(&first);
    let is_histogram =
        format == Some(Format::FioHistLog) || format.is_none() && fio_hist::is_it(&first);
    let is_wide = matches!(head[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let content = if is_wide || !(is_log || is_histogram) {
        let text = text_of(whole(file, head, &mut hashed, is_whole, left)?);
        match format {
            Some(Format::FioLog) => log(file, &mut text.as_bytes())?,
            Some(Format::FioHistLog) => histogram(file, &mut text.as_bytes())?,
            _ => Content::Text(text),
        }
    } else {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
        let mut all = io::BufReader::with_capacity(PIECE as usize, head.chain(&mut hashed));
        if is_log { log(file, &mut all)? } else { histogram(file, &mut all)? }
    };
    let digest = (hashed.bytes, hashed.hasher.finish());
    Ok(Given { file: file.to_owned(), digest, content })
}

fn log(file: &str, input: &mut dyn BufRead) -> Result<Content, JudgeError> {
    Ok(Content::Log(Box::new(fio_log::read(file, input)?)))
}

fn histogram(file: &str, input: &mut dyn BufRead) -> Result<Content, JudgeError> {
    Ok(Content::Histogram(Box::new(fio_hist::read(file, input)?)))
}

/// The first line that is not blank, as far as it is in `head`.
fn first_line(head: &[u8]) -> String {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.trim_ascii().is_empty());
    String::from_utf8_lossy(first.unwrap_or_default()).into_owned()
}

/// All of a text, whose `head` is read.
fn whole(
    file: &str,
    mut head: Vec<u8>,
    input: &mut dyn Read,
    is_whole: bool,
    left: &mut u64,
) -> Result<Vec<u8>, JudgeError> {
    let mut is_at_end = is_whole;
    while !is_at_end && head.len() as u64 <= *left {
        if head.try_reserve(PIECE as usize).is_err() {
            let what = "there is no memory for it";
            return Err(JudgeError::whole(file, what, "free some memory, or name fewer files"));
        }
        let read = (&mut *input).take(PIECE).read_to_end(&mut head);
        is_at_end = read.map_err(|error| unreadable(file, &error))? == 0;
    }
    let over = head.len() as u64 > *left;
    *left = left.saturating_sub(head.len() as u64);
    if over {
        let most = TEXTS_MAX >> 20;
        let what = format!("is too long: results of one call have at most {most} MiB of text");
        return Err(JudgeError::whole(file, what, "name fewer files; logs may be of any length"));
    }
    Ok(head)
}

/// Names in the texts of other programs may be of any bytes; figures are not.
fn text_of(bytes: Vec<u8>) -> String {
    if let Some(text) = utf16(&bytes) {
        return text;
    }
    let mut text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    text
}

/// Decodes the "Unicode" of Windows programs: UTF-16 in the byte order that its first two bytes give.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (read, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let units: Vec<u16> = rest.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
    let text = String::from_utf16(&units).ok()?;
    Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// A reader that counts and hashes the bytes read.
struct Hashed<'a> {
    input: &'a mut dyn BufRead,
    hasher: DefaultHasher,
    bytes: u64,
}

impl Read for Hashed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.hasher.write(&into[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(file: &str, bytes: &[u8], format: Option<Format>) -> Result<Given, JudgeError> {
        take(file, &mut &bytes[..], format, &mut TEXTS_MAX.clone())
    }

    // An input without an end would take all memory that there is.
    #[test]
    fn an_input_without_end_is_refused() {
        for (file, format) in
            [("x_lat.1.log", None), ("x_lat.1.log", Some(Format::FioLog)), ("x", None)]
        {
            let mut endless = io::BufReader::new(io::repeat(0));
            let error = take(file, &mut endless, format, &mut TEXTS_MAX.clone()).unwrap_err();
            assert!(error.what.contains("long"), "{error}");
        }
    }

    #[test]
    fn texts_of_several_files_have_one_limit() {
        let mut left = 5;
        take("a.txt", &mut &b"1234"[..], None, &mut left).unwrap();
        assert_eq!(left, 1);
        assert!(take("b.txt", &mut &b"1234"[..], None, &mut left).is_err());
    }

    #[test]
    fn equal_files_have_equal_digests() {
        let of = |text: &[u8]| taken("x_bw.1.log", text, None).unwrap().digest;
        assert_eq!(of(b"1, 1, 1, 0, 0\n"), of(b"1, 1, 1, 0, 0\n"));
        assert_ne!(of(b"1, 1, 1, 0, 0\n"), of(b"1, 2, 1, 0, 0\n"));
    }

    // Files that Windows saves as Unicode are texts like any other.
    #[test]
    fn marks_of_encodings_are_no_part_of_a_text() {
        let log = taken("x_bw.1.log", b"\xef\xbb\xbf1, 1, 1, 0, 0\n", None).unwrap();
        assert_eq!(log.format(), Some(Format::FioLog));
        let wide: Vec<u8> = "\u{feff}abc".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(taken("x.txt", &wide, None).unwrap().text(), Some("abc"));
    }
}
