//! Rows of tables in a line: in a line of their own, many in one line, or cut off at its end.

use super::figure::{self, Time};

/// A row of `--align` as printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawAlign {
    pub line: u32,
    pub align_bytes: u64,
    /// pre, on, post.
    pub times: [Time; 3],
    /// diff, unless the text ends before it.
    pub diff: Option<Time>,
    /// Text of diff as printed.
    pub diff_text: String,
}

/// Result of a search for a row of `--align`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Found<'a> {
    /// A row that begins at `at`, and what follows it.
    Row {
        at: usize,
        row: RawAlign,
        rest: &'a str,
    },
    /// A row that begins at `at` and cannot be read to its end; `open` when the text ends before it does.
    Broken {
        at: usize,
        align_bytes: u64,
        expected: &'static str,
        open: bool,
    },
    Nothing,
}

/// Finds the first row of `--align` in `text`.
pub(super) fn align(text: &str, line: u32) -> Found<'_> {
    for (at, word) in text.match_indices("align") {
        let inside = text[..at].ends_with(|c: char| c.is_alphanumeric() || "_-".contains(c));
        let behind = &text[at + word.len()..];
        let Some((align_bytes, rest)) = alignment(behind).filter(|_| !inside) else { continue };
        return match figures(rest) {
            Ok((times, diff, rest)) => {
                let diff_text = diff_text(text, rest);
                Found::Row { at, row: RawAlign { line, align_bytes, times, diff, diff_text }, rest }
            }
            Err((_, _)) if !rest.trim_start().starts_with("pre") => continue,
            Err((expected, open)) => Found::Broken { at, align_bytes, expected, open },
        };
    }
    Found::Nothing
}

/// True when `text` ends inside the beginning of a row: `align 4096`.
pub(super) fn begins_align(text: &str) -> bool {
    let Some((_, behind)) = text.rsplit_once("align") else { return false };
    alignment(behind).is_some_and(|(_, rest)| "pre".starts_with(rest.trim()))
}

fn alignment(text: &str) -> Option<(u64, &str)> {
    let tight = text.trim_start();
    let end = tight.find(|c: char| !c.is_ascii_digit()).unwrap_or(tight.len());
    let bytes = tight.get(..end)?.parse().ok().filter(|bytes| *bytes > 0)?;
    Some((bytes, tight.get(end..)?))
}

type Figures<'a> = ([Time; 3], Option<Time>, &'a str);

/// `pre T on T post T diff T`. The error: what was expected, and whether the text ends there.
fn figures(text: &str) -> Result<Figures<'_>, (&'static str, bool)> {
    let (pre, rest) = figure(text, "pre", "a time behind `pre`")?;
    let (on, rest) = figure(rest, "on", "a time behind `on`")?;
    let (post, rest) = figure(rest, "post", "a time behind `post`")?;
    let tight = rest.trim_start();
    let times = [pre, on, post];
    match tight.strip_prefix("diff").map(|behind| figure::time(behind.trim_start())) {
        Some(Some((diff, rest))) => Ok((times, Some(diff), rest)),
        Some(None) => Ok((times, None, tight.strip_prefix("diff").unwrap_or(tight))),
        // The word itself may be cut off.
        None if !tight.is_empty() && "diff".starts_with(tight) => Ok((times, None, "")),
        None => Ok((times, None, rest)),
    }
}

fn figure<'a>(
    text: &'a str,
    key: &str,
    expected: &'static str,
) -> Result<(Time, &'a str), (&'static str, bool)> {
    let tight = text.trim_start();
    let broken = |rest: &str| (expected, rest.is_empty());
    let Some(behind) = tight.strip_prefix(key) else {
        return Err((expected, key.starts_with(tight)));
    };
    let behind = behind.trim_start();
    let (time, rest) = figure::time(behind).ok_or_else(|| broken(behind))?;
    // Only the end of a text, or of a line that goes on in the next, takes a unit away from these.
    if time.unit.is_none() || time.number.value() < 0.0 {
        return Err(broken(rest.trim_start()));
    }
    Ok((time, rest))
}

/// The last word of the row, which ends where `rest` begins.
fn diff_text(text: &str, rest: &str) -> String {
    let row = text.get(..text.len() - rest.len()).unwrap_or(text);
    let word = row.rsplit_once("diff").map_or("", |(_, word)| word.trim());
    word.chars().take(40).collect()
}

/// A row of rates: the size of the writes and one rate or more.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawRates {
    pub line: u32,
    pub len_bytes: u64,
    /// Value, step, and whether the decimal point was a comma.
    pub rates: Vec<(f64, f64, bool)>,
}

/// Rows of rates found in a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RatesFound {
    /// Start of the first row and end of the last, in bytes from the beginning of the line.
    pub at: usize,
    pub end: usize,
    pub rows: Vec<RawRates>,
    /// Size and text of a row that is cut short at the end of the line, if there is one.
    pub broken: Option<(u64, String)>,
}

/// Least number of rows that make a line with other words a table whose lines were joined.
const JOINED_ROWS_MIN: usize = 3;

/// Finds rows of rates. A line of rows alone may have one; in a line with other words they must be a series of halves.
pub(super) fn rates(text: &str, line: u32) -> RatesFound {
    let mut found = RatesFound::default();
    let mut words = positions(text).peekable();
    let mut others = false;
    while let Some((at, word)) = words.next() {
        let Some(len_bytes) = figure::size(word) else {
            // Text after a series is not part of it.
            if found.rows.len() >= JOINED_ROWS_MIN {
                break;
            }
            others = true;
            continue;
        };
        let mut rates = Vec::new();
        let mut end = at + word.len();
        while let Some(rate) = words.peek().and_then(|(_, word)| figure::rate(word)) {
            rates.push(rate);
            end = words.next().map_or(end, |(at, word)| at + word.len());
        }
        if rates.is_empty() || words.peek().is_some_and(|(_, word)| looks_like_rate(word)) {
            // A size without a rate is a word like others, unless the line has nothing else.
            let tail = text.get(at..).unwrap_or_default();
            let alone = positions(tail).skip(1).all(|(_, word)| looks_like_rate(word));
            if alone && !others {
                found.broken = Some((len_bytes, tail.chars().take(200).collect()));
                return found;
            }
            others = true;
            continue;
        }
        if found.rows.is_empty() {
            found.at = at;
        }
        found.end = end;
        found.rows.push(RawRates { line, len_bytes, rates });
    }
    let halves = |pair: &[RawRates]| pair[0].len_bytes == pair[1].len_bytes * 2;
    let series = found.rows.len() >= JOINED_ROWS_MIN && found.rows.windows(2).all(halves);
    if others && !series { RatesFound::default() } else { found }
}

/// Rates alone: what a mail program broke off from the row before.
pub(super) fn bare_rates(text: &str) -> Option<Vec<(f64, f64, bool)>> {
    let rates: Option<Vec<_>> = text.split_whitespace().map(figure::rate).collect();
    rates.filter(|rates| !rates.is_empty())
}

/// True for what may be left of a rate: `302`, `302K`.
fn looks_like_rate(word: &str) -> bool {
    let number = figure::number(word);
    number.is_some_and(|(_, unit)| ["", ".", "K", "M", "G", "B", "K/", "M/", "G/"].contains(&unit))
        || word.strip_suffix('.').is_some_and(|digits| figure::number(digits).is_some())
}

/// Words with their places.
fn positions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    let places = text.split_inclusive(char::is_whitespace).map(move |piece| {
        let begin = end;
        end += piece.len();
        (begin, piece.trim_end())
    });
    places.filter(|(_, word)| !word.is_empty())
}
