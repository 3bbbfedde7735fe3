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

/// Hands on all lines that are not empty, one by one: a text of line ends alone would fill the memory otherwise.
pub(super) fn each_line<E>(
    bytes: &[u8],
    mut each: impl FnMut(&Line) -> Result<(), E>,
) -> Result<(), E> {
    let text = decode(bytes);
    let mut begun: Option<Line> = None;
    for (number, raw) in (1..).zip(text.split('\n')) {
        let clean = clean(raw);
        let bare = bare(&clean);
        let (bare, goes_on) = match bare.strip_suffix('\\') {
            Some(rest) => (rest.trim_end(), true),
            None => (bare.as_ref(), false),
        };
        let line = match begun.take() {
            Some(Line { number, text }) => Line { number, text: text + " " + bare },
            None => Line { number, text: bare.to_owned() },
        };
        if goes_on {
            begun = Some(line);
        } else if !line.text.is_empty() {
            each(&line)?;
        }
    }
    begun.map_or(Ok(()), |line| each(&line))
}

/// Without quote marks, and without space at its ends.
fn bare(clean: &str) -> Cow<'_, str> {
    let is_mark = |c: char| c.is_whitespace() || "|>".contains(c);
    // Pages that show a file as a table leave bars behind each row.
    let bare =
        clean.trim_start_matches(is_mark).trim_end_matches(|c: char| c.is_whitespace() || c == '|');
    if !clean.trim_start().starts_with('|') {
        return Cow::Borrowed(bare);
    }
    // A row of a table in Markdown has them between its cells, too.
    Cow::Owned(bare.replace('|', " ").trim_end().to_owned())
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
            // Old line ends are inside what is a line here.
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
