//! From bytes to lines: encodings, line ends, quote marks, and what terminals leave in a log.

use std::borrow::Cow;

/// A line of a text, without what mail programs put before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// From 1.
    pub number: u32,
    /// Without quote marks, without space at its ends; lines that a backslash joins are one.
    pub text: String,
}

/// All lines that are not empty.
pub(super) fn lines(bytes: &[u8]) -> Vec<Line> {
    let text = decode(bytes);
    let mut lines: Vec<Line> = Vec::new();
    let mut joins = false;
    for (number, raw) in (1..).zip(text.split('\n')) {
        let clean = clean(raw);
        let bare =
            clean.trim_start_matches(|c: char| c.is_whitespace() || "|>".contains(c)).trim_end();
        let (bare, goes_on) = match bare.strip_suffix('\\') {
            Some(rest) => (rest.trim_end(), true),
            None => (bare, false),
        };
        match lines.last_mut() {
            Some(last) if joins => {
                last.text.push(' ');
                last.text.push_str(bare);
            }
            _ if bare.is_empty() && !goes_on => {}
            _ => lines.push(Line { number, text: bare.to_owned() }),
        }
        joins = goes_on;
    }
    lines
}

/// UTF-8, or UTF-16 with its mark. A line that is not UTF-8 is taken for Latin-1, in which every byte is a letter.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units = bytes.get(2..).unwrap_or_default().chunks_exact(2);
        char::decode_utf16(units.map(|unit| from([unit[0], unit[1]])))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => return Cow::Owned(wide(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => return Cow::Owned(wide(u16::from_be_bytes)),
        _ => {}
    }
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let line = |line: &[u8]| match str::from_utf8(line) {
                Ok(text) => text.to_owned(),
                Err(_) => line.iter().map(|byte| char::from(*byte)).collect(),
            };
            Cow::Owned(bytes.split(|byte| *byte == b'\n').map(line).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Tags that forums and web pages put before the first row, behind the last, or between.
const TAGS: [&str; 12] = [
    "[code]", "[/code]", "[quote]", "[/quote]", "<pre>", "</pre>", "<code>", "</code>", "<br>",
    "<br/>", "<br />", "```",
];

/// Without tags, colours and other orders to a terminal, and without signs that have no width.
fn clean(raw: &str) -> Cow<'_, str> {
    let mut raw = Cow::Borrowed(raw);
    for tag in TAGS {
        if raw.contains(tag) {
            raw = Cow::Owned(raw.replace(tag, " "));
        }
    }
    match printable(&raw) {
        Cow::Owned(text) => Cow::Owned(text),
        Cow::Borrowed(_) => raw,
    }
}

fn printable(raw: &str) -> Cow<'_, str> {
    let invisible = |c: char| matches!(c, '\u{200b}'..='\u{200d}' | '\u{feff}' | '\u{ad}' | '\r');
    if !raw.contains(|c: char| c == '\u{1b}' || invisible(c)) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut signs = raw.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\u{1b}' if signs.peek() == Some(&'[') => {
                signs.next();
                // Ends with the first byte from @ to ~.
                signs.by_ref().find(|c| ('@'..='~').contains(c));
            }
            '\u{1b}' => {}
            // Old line ends stand inside what is a line here.
            '\r' => out.push(' '),
            _ if invisible(sign) => {}
            _ => out.push(sign),
        }
    }
    Cow::Owned(out)
}

/// At most `most` bytes of `text`, whole letters.
pub(super) fn clip(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}
