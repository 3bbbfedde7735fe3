//! Text from outside: from files, drives, processes and other machines. It must neither command a terminal nor show
//! something else than it says, wherever it is read: on a terminal, on a page, in a table.

use std::borrow::Cow;

/// True of characters that are obeyed rather than shown: controls of terminals (C0, DEL, C1), those that change the
/// direction of text (Unicode's bidirectional controls, UAX #9), separators of lines, and others without a shape of
/// their own that hide or reorder the text beside them.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` with each hostile character replaced, so that it is one line and nothing in it is obeyed.
pub fn harmless(text: &str) -> Cow<'_, str> {
    replaced(text, is_hostile)
}

/// Like [`harmless`], for text that may have several lines, and tabs in them.
pub fn harmless_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_hostile(c) && c != '\n' && c != '\t')
}

fn replaced(text: &str, is_bad: fn(char) -> bool) -> Cow<'_, str> {
    match text.contains(is_bad) {
        true => text.chars().map(|c| if is_bad(c) { '\u{fffd}' } else { c }).collect(),
        false => text.into(),
    }
}

/// `json`, which is a JSON text, with hostile characters written as escapes. They can only be within its strings, so
/// its value stays the same.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let is_bad = |c: char| is_hostile(c) && !matches!(c, '\n' | '\r' | '\t');
    if !json.contains(is_bad) {
        return json.into();
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_bad(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(c);
        }
    }
    text.into()
}

/// `field` as a field of CSV (RFC 4180, section 2), in quotes where it needs them. Hostile characters are replaced, but
/// for line feeds; and an apostrophe precedes what a spreadsheet would take for a formula, as spreadsheets
/// themselves write text (OWASP, CSV Injection).
pub fn csv_field(field: &str) -> String {
    let text = replaced(field, |c| is_hostile(c) && c != '\n');
    let text = if is_formula(&text) { format!("'{text}").into() } else { text };
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into_owned(),
    }
}

/// True of what a spreadsheet would compute: it begins with one of four signs, and is not a number, with or without a
/// unit behind it. Spreadsheets skip blanks and line feeds at the beginning.
fn is_formula(field: &str) -> bool {
    let field = field.trim_start();
    let Some(rest) = field.strip_prefix(['+', '-']) else {
        return field.starts_with(['=', '@']);
    };
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let unit = rest.trim_start_matches(number);
    let is_unit = unit.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '%' | '/'));
    let begins = unit.is_empty() || unit.starts_with([' ', '%']);
    let is_measured = rest.len() > unit.len() && begins && is_unit;
    !is_measured && field.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a character that a terminal or a reader's eye obeys is let through, or one of a name is lost.
    #[test]
    fn every_character_is_either_shown_or_replaced() {
        // Unicode's own list of controls of direction (Bidi_Control), and those of terminals.
        let bidi = [
            0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068,
            0x2069,
        ];
        for code in (0..0x20).chain(0x7f..0xa0).chain(bidi) {
            let c = char::from_u32(code).unwrap();
            assert!(is_hostile(c), "{code:x}");
            assert_eq!(harmless(&format!("a{c}b")), "a\u{fffd}b", "{code:x}");
            let kept = c == '\n' || c == '\t';
            assert_eq!(harmless_lines(&c.to_string()).contains(c), kept, "{code:x}");
            let field = csv_field(&format!("a{c}b"));
            assert_eq!(field.contains(c), c == '\n', "{code:x}");
        }
        let names = "Größe µ 4 KiB – 東京 ‰ é\u{301} 👩\u{200d}🔧 \u{a0}≤ \\ '\"";
        assert_eq!(harmless(names), names);
        assert!(matches!(harmless(names), Cow::Borrowed(_)));
        let shown = (0x20..0x11_0000).filter_map(char::from_u32).filter(|c| !is_hostile(*c));
        assert_eq!(shown.count(), 0x11_0000 - 0x800 - 33 - 32 - 3 - 1 - 2 - 7 - 16 - 3 - 128);
    }

    // Breaks when a value that a program reads is another one than was printed.
    #[test]
    fn escaped_json_means_the_same() {
        let json = "{\n\t\"a\": \"\u{9b}2J\u{202e}\u{e0041}\u{7f}é👩\"\n}";
        let escaped = escaped_json(json);
        assert_eq!(escaped, "{\n\t\"a\": \"\\u009b2J\\u202e\\udb40\\udc41\\u007fé👩\"\n}");
        assert!(matches!(escaped_json("{\"a\": \"é\"}\r\n"), Cow::Borrowed(_)));
    }

    // Breaks when a spreadsheet computes what somebody has called a drive, or when numbers become text.
    #[test]
    fn no_field_is_a_formula() {
        for formula in [
            "=1+1",
            "@SUM(A1)",
            "+A1",
            "-A1",
            "-1+A1",
            "-1 cmd|' /C calc'!A0",
            "+",
            "-",
            " =1",
            "\n=1",
            "--5",
            "-5A1(",
            "-.x",
        ] {
            let field = csv_field(formula);
            assert!(field.trim_start_matches('"').starts_with('\''), "{formula:?}: {field:?}");
        }
        for text in ["-5", "+1.25", "-1e300", "-inf", "-3.5%", "+12 MB/s", "-4%", "a=b", "", "5-3"]
        {
            assert_eq!(csv_field(text), text);
        }
        assert_eq!(csv_field("a,b\"c"), "\"a,b\"\"c\"");
        assert_eq!(csv_field("a\nb\u{1b}[2J\r"), "\"a\nb\u{fffd}[2J\u{fffd}\"");
        assert_eq!(csv_field("=a,b"), "\"'=a,b\"");
    }
}
