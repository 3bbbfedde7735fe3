//! Masks over what is of the moment, of the machine or of the build: dates, run ids, host, version and checksum of the
//! binary, and the directory in which a record is made. Bodies of documents stay as they are.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use block::UnixNanos;
use serde_json::Value;

/// Fields of a document's envelope that are not the same in two runs of one command.
const OF_ENVELOPE: [&str; 5] = ["date", "host", "run_id", "version", "binary"];
/// Files of a record in which checksums of other files stand, which hold dates.
const OF_SUMS: [&str; 2] = ["SHA256SUMS", "record.json"];

/// A file of a record, the text before a value in it that changes from run to run, and the characters of the value.
type OfMoment = (&'static str, &'static str, fn(char) -> bool);
/// Values of the moment: when a run began, and checksums of lines that name runs.
const VALUES: [OfMoment; 3] = [
    ("record.json", "\"begun_ns\": ", |c| c.is_ascii_digit()),
    ("journal.jsonl", "{\"crc32\":\"", |c| c.is_ascii_hexdigit()),
    (".hlog", "#[StartTime: ", |c| c.is_ascii_digit() || c == '.'),
];

/// Replacements to make in a text.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    /// Words and their replacements; longer ones first.
    words: Vec<(String, &'static str)>,
    /// Days of the recording, as `2026-01-31`.
    days: Vec<String>,
}

impl Masks {
    /// Those of what `binary` prints now, working in `work`.
    ///
    /// # Errors
    /// When it cannot be run, or prints no envelope.
    pub fn of(binary: &Path, work: &Path) -> Result<Masks> {
        let output = Command::new(binary)
            .args(["sim", "list", "--json"])
            .output()
            .with_context(|| format!("{}: cannot be started", binary.display()))?;
        let document: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} sim list --json printed no JSON", binary.display()))?;
        let mut words = vec![(work.to_string_lossy().into_owned(), "[WORK]")];
        let facts = [
            ("/envelope/binary/sha256", "[BINARY]"),
            ("/envelope/host/name", "[HOST]"),
            ("/envelope/host/kernel", "[KERNEL]"),
            ("/envelope/host/machine/cpu_model", "[CPU]"),
        ];
        for (pointer, mask) in facts {
            let fact = document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            // A short name may be a word of any sentence.
            if fact.len() >= 5 {
                words.push((fact.to_owned(), mask));
            }
        }
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        let now = now();
        let day = |offset: i128| record::rfc3339(UnixNanos(now + offset * DAY))[..10].to_owned();
        Ok(Masks { words, days: [-1, 0, 1].map(day).to_vec() })
    }

    /// `text` with masks; `name` is that of the file, or `stdout` or `stderr`.
    pub fn masked(&self, name: &str, text: &str) -> String {
        let file = name.rsplit('/').next().unwrap_or(name);
        let mut text = match file {
            "envelope.json" => with_members_masked(text, text.find('{')),
            _ => with_envelopes_masked(text),
        };
        for (word, mask) in &self.words {
            text = text.replace(word, mask);
        }
        for day in &self.days {
            text = replaced(&text, &day.replace('-', ""), run_id_length, "[RUN]");
            text = replaced(&text, day, date_length, "[DATE]");
        }
        for (of, begin, is_of_value) in VALUES {
            if file.ends_with(of) {
                text = without_values(&text, begin, is_of_value);
            }
        }
        if text.contains("\"fio version\"") {
            for field in ["\"timestamp\": ", "\"timestamp_ms\": "] {
                text = without_values(&text, field, |c| c.is_ascii_digit());
            }
        }
        if OF_SUMS.contains(&file) { without_sums(&text) } else { text }
    }
}

/// A day in nanoseconds.
const DAY: i128 = 86_400_000_000_000;

/// The present second as it begins a run's id: `20231114T221320Z`.
pub fn this_second() -> String {
    record::rfc3339(UnixNanos(now()))[..19].replace(['-', ':'], "") + "Z"
}

fn now() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}

/// `text` with each stretch that begins with `begin` replaced, when `length` says that one is there, how long it is.
fn replaced(text: &str, begin: &str, length: fn(&str) -> Option<usize>, mask: &str) -> String {
    let (mut made, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(begin) {
        let after_digit = rest[..at].chars().next_back().is_some_and(|c| c.is_ascii_digit());
        let found = length(&rest[at + begin.len()..]).filter(|_| !after_digit);
        made.push_str(&rest[..at]);
        match found {
            Some(length) => {
                made.push_str(mask);
                rest = &rest[at + begin.len() + length..];
            }
            None => {
                made.push_str(begin);
                rest = &rest[at + begin.len()..];
            }
        }
    }
    made + rest
}

/// Length of what follows the day in a run's id or the beginning of one: `T221320Z-00000007`.
fn run_id_length(rest: &str) -> Option<usize> {
    let clock = rest.strip_prefix('T')?;
    let digits = clock.bytes().take_while(u8::is_ascii_digit).count().min(6);
    let tail = &clock[digits..];
    let nonce = tail.strip_prefix("Z-").map(|nonce| {
        nonce.bytes().take_while(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(c)).count().min(8)
    });
    let tail = match nonce {
        Some(nonce) => 2 + nonce,
        None => usize::from(tail.starts_with('Z')),
    };
    Some(1 + digits + tail)
}

/// Length of what follows the day in a date: nothing, or `T22:13:20.123Z`, ` 22:13`, ` 22:13:20 UTC`.
fn date_length(rest: &str) -> Option<usize> {
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let is_clock = |text: &str| {
        let form = text.bytes().take(5).map(|c| if c.is_ascii_digit() { b'0' } else { c });
        form.eq(*b"00:00")
    };
    let Some(clock) = rest.strip_prefix(['T', ' ']).filter(|clock| is_clock(clock)) else {
        return Some(0);
    };
    let is_part = |c: &u8| c.is_ascii_digit() || *c == b':' || *c == b'.';
    let mut length = clock.bytes().take_while(is_part).count();
    // A sentence ends behind a date, too.
    while clock[..length].ends_with(['.', ':']) {
        length -= 1;
    }
    let zone = [" UTC", "Z"].iter().find(|zone| clock[length..].starts_with(**zone));
    Some(1 + length + zone.map_or(0, |zone| zone.len()))
}

/// `text` with each value masked that follows `begin`.
fn without_values(text: &str, begin: &str, is_of_value: fn(char) -> bool) -> String {
    let mut parts = text.split(begin);
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        made.push_str(begin);
        made.push_str("[MASKED]");
        made.push_str(part.trim_start_matches(is_of_value));
    }
    made
}

/// `text` with each word of 64 hexadecimal digits masked.
fn without_sums(text: &str) -> String {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let (mut made, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(is_hex) {
        let length = rest[at..].find(|c| !is_hex(c)).unwrap_or(rest.len() - at);
        made.push_str(&rest[..at]);
        made.push_str(if length == 64 { "[SHA256]" } else { &rest[at..at + length] });
        rest = &rest[at + length..];
    }
    made + rest
}

/// `text` with the fields of all envelopes of documents in it masked.
fn with_envelopes_masked(text: &str) -> String {
    const KEY: &str = "\"envelope\"";
    let (mut made, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(KEY) {
        let (before, from) = rest.split_at(at + KEY.len());
        made.push_str(before);
        let value = from.len() - from.trim_start_matches([':', ' ', '\n']).len();
        let is_object = from[value..].starts_with('{');
        let Some(end) = value_end(from, value).filter(|_| is_object) else {
            rest = from;
            continue;
        };
        made.push_str(&with_members_masked(&from[..end], Some(value)));
        rest = &from[end..];
    }
    made + rest
}

/// `text` with the members of the object at `object` masked that an envelope has.
fn with_members_masked(text: &str, object: Option<usize>) -> String {
    let Some(object) = object else { return text.to_owned() };
    let (mut made, mut done, mut at) = (String::with_capacity(text.len()), 0, object + 1);
    let space = |at: usize| {
        let part = text.get(at..).unwrap_or_default();
        at + part.len() - part.trim_start_matches([' ', '\n', '\t', ',', ':']).len()
    };
    loop {
        let key = space(at);
        let Some(key_end) = value_end(text, key).filter(|_| text[key..].starts_with('"')) else {
            break;
        };
        let value = space(key_end);
        let Some(end) = value_end(text, value) else { break };
        let name = text[key..key_end].trim_matches('"');
        // None is kept, since whether something is there is of the program.
        if OF_ENVELOPE.contains(&name) && &text[value..end] != "null" {
            made.push_str(&text[done..value]);
            made.push_str(&format!("\"[{name}]\""));
            done = end;
        }
        at = end;
    }
    made + &text[done..]
}

/// End of the JSON value that begins at `at`: a text, an object, a list, or a word.
fn value_end(text: &str, at: usize) -> Option<usize> {
    let (mut depth, mut in_text, mut is_escaped) = (0usize, false, false);
    for (offset, c) in text.get(at..)?.char_indices() {
        let end = at + offset;
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_text => is_escaped = true,
            '"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return Some(end + 1);
                }
            }
            _ if in_text => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 0 => return (end > at).then_some(end),
            '}' | ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(end + 1);
                }
            }
            ',' | '\n' if depth == 0 => return (end > at).then_some(end),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks() -> Masks {
        let words = vec![
            ("/tmp/outputs-0000000042".to_owned(), "[WORK]"),
            ("Xeon 3000".to_owned(), "[CPU]"),
        ];
        Masks { words, days: vec!["2026-11-27".to_owned()] }
    }

    // Breaks when what two runs of one command differ in stays, or more than that goes.
    #[test]
    fn dates_and_ids_of_the_recording_go_and_others_stay() {
        let of = |text: &str| masks().masked("stdout", text);
        let shown = "drivescope runs show 20261127T221320Z-0000000a, or 20261127T2213.";
        assert_eq!(of(shown), "drivescope runs show [RUN], or [RUN].");
        assert_eq!(of("at 2026-11-27T22:13:20.123456789Z."), "at [DATE].");
        assert_eq!(of("2026-11-27 22:13 and 2026-11-27 22:13:20 UTC"), "[DATE] and [DATE]");
        assert_eq!(of("on 2026-11-27, 12 runs"), "on [DATE], 12 runs");
        let others = "20261121T221320Z-0000000a of 2026-11-21 and 12026-11-27, 2026-11-270";
        assert_eq!(of(others), others);
        let figures = "1593008 B in 22:13:20, 15.2k IOPS, p99 455 ms, seed 20261127";
        assert_eq!(of(figures), figures);
    }

    #[test]
    fn the_machine_and_the_place_of_the_recording_go() {
        let text = "Xeon 3000: cannot write /tmp/outputs-0000000042/mark/cwd/x.csv";
        assert_eq!(masks().masked("stderr", text), "[CPU]: cannot write [WORK]/mark/cwd/x.csv");
    }

    // Breaks when a mask reaches into a body, which has fields of the same names.
    #[test]
    fn only_the_envelope_of_a_document_is_masked() {
        let text = r#"{
  "envelope": {
    "schema": "drivescope.mark/1",
    "date": "2026-11-27T22:13:20Z",
    "host": { "name": "a \"b\" }", "cpus": 2 },
    "run_id": "20261127T221320Z-00000007",
    "version": "0.1.0",
    "binary": null,
    "arguments": ["mark", "--seed=7"]
  },
  "body": { "version": "0.1.0", "date": "2026-11-21", "host": [1, 2] }
}
"#;
        let masked = masks().masked("stdout", text);
        let expected = r#"{
  "envelope": {
    "schema": "drivescope.mark/1",
    "date": "[date]",
    "host": "[host]",
    "run_id": "[run_id]",
    "version": "[version]",
    "binary": null,
    "arguments": ["mark", "--seed=7"]
  },
  "body": { "version": "0.1.0", "date": "2026-11-21", "host": [1, 2] }
}
"#;
        assert_eq!(masked, expected);
        let flat = r#"{"envelope":{"date":"x","schema":"s"},"body":{"date":"x"}}"#;
        let masked = masks().masked("stdout", flat);
        assert_eq!(masked, r#"{"envelope":{"date":"[date]","schema":"s"},"body":{"date":"x"}}"#);
        let alone = r#"{"schema":"s","run_id":"x"}"#;
        let masked = masks().masked("runs/[RUN]/envelope.json", alone);
        assert_eq!(masked, r#"{"schema":"s","run_id":"[run_id]"}"#);
        for cut in [r#"{"envelope": "#, r#"{"envelope": {"date": "x"#, r#""envelope" is a word"#] {
            assert_eq!(masks().masked("stderr", cut), cut);
        }
    }

    #[test]
    fn checksums_are_masked_where_they_are_of_other_files() {
        let sum = "0123456789abcdef".repeat(4);
        let text = format!("{sum}  plan.toml\n");
        let masked = masks().masked("runs/[RUN]/SHA256SUMS", &text);
        assert_eq!(masked, "[SHA256]  plan.toml\n");
        assert_eq!(masks().masked("stdout", &text), text);
        let journal = r#"{"crc32":"e2e1c752","entry":{"seq":24,"crc32":"e2e1c752"}}"#;
        let masked = masks().masked("runs/[RUN]/journal.jsonl", journal);
        assert_eq!(masked, r#"{"crc32":"[MASKED]","entry":{"seq":24,"crc32":"e2e1c752"}}"#);
        assert_eq!(masks().masked("cwd/x.jsonl", journal), journal);
        let began = "  \"begun_ns\": 1795821991897853584,\n";
        assert_eq!(masks().masked("record.json", began), "  \"begun_ns\": [MASKED],\n");
        let of_fio = "{\n  \"fio version\": \"x\",\n  \"timestamp\": 1795821993\n}";
        let masked = "{\n  \"fio version\": \"x\",\n  \"timestamp\": [MASKED]\n}";
        assert_eq!(masks().masked("stdout", of_fio), masked);
        let longer = format!("{sum}0");
        assert_eq!(masks().masked("record.json", &longer), longer);
    }
}
