//! Rules of language that a machine can see.
//!
//! This file names what it looks for, so it is not looked at itself.

use crate::repository::Source;
use crate::rust;
use crate::style::{Fault, at};

/// Words that begin a clause without a noun, which leaves the reader to guess what a comment names.
const HEADLESS: [&str; 6] = ["What", "Where", "Who", "Whose", "Which", "Whoever"];

/// Phrases that read as translated. The blanks around them are word boundaries.
const PRIVATE: [&str; 8] = [
    " is no ",
    " told ",
    " tells ",
    " anew ",
    " held against ",
    " lest ",
    " so many ",
    " whoever ",
];

/// Phrases that hold such a one and are plain English.
const PLAIN: [&str; 13] = [
    " there is no ",
    " answer is no ",
    " is no longer ",
    " is no more ",
    " is no less ",
    " is no larger ",
    " is no smaller ",
    " is no faster ",
    " is no slower ",
    " is no higher ",
    " is no lower ",
    " is no difference ",
    " is no change ",
];

/// Units in a form that is not ours, behind a number or a placeholder.
const UNITS: [&str; 2] = ["us", "%"];

/// Line of a validation page before its handwritten part; the part before it is made by a program.
const BY_HAND: &str = "<!-- Written by hand";

/// Comments that begin with a headless clause, such as "What each run leaves" for "Record of one run".
pub fn headless_comments(source: &Source) -> Vec<Fault> {
    if !source.path.ends_with(".rs") {
        return Vec::new();
    }
    let mut begins = true;
    let mut faults = Vec::new();
    for (number, line) in source.lines() {
        let words =
            line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']));
        let Some(words) = words.map(str::trim) else {
            begins = true;
            continue;
        };
        let first = words.split(|letter: char| !letter.is_alphabetic()).next();
        if begins && first.is_some_and(|word| HEADLESS.contains(&word)) && !words.ends_with('?') {
            faults.push(at(source, number, words));
        }
        begins = false;
    }
    faults
}

/// Private words in texts that the product prints.
pub fn private_words_printed(source: &Source) -> Vec<Fault> {
    let is_product = source.path.starts_with("crates/") && source.path.contains("/src/");
    let is_test = source.path.ends_with("tests.rs") || source.path.contains("/tests/");
    if !source.path.ends_with(".rs") || !is_product || is_test {
        return Vec::new();
    }
    let literals = rust::literals(source.product()).into_iter();
    literals
        .filter(|(_, literal)| has_private_words(&without_placeholders(literal)))
        .map(|(line, literal)| at(source, line, literal))
        .collect()
}

/// Private words in documents, outside code and generated parts.
pub fn private_words_in_documents(source: &Source) -> Vec<Fault> {
    if !source.path.ends_with(".md") {
        return Vec::new();
    }
    let is_generated = source.path.starts_with("docs/validation/");
    let (mut is_ours, mut is_code) = (!is_generated, false);
    let mut faults = Vec::new();
    for (number, line) in source.lines() {
        is_ours |= line.starts_with(BY_HAND);
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_ours && !is_code && has_private_words(&without_code(line)) {
            faults.push(at(source, number, line));
        }
    }
    faults
}

/// Private words in comments.
pub fn private_words_in_comments(source: &Source) -> Vec<Fault> {
    if !source.path.ends_with(".rs") {
        return Vec::new();
    }
    let comments = source.lines().filter(|(_, line)| line.trim_start().starts_with("//"));
    comments
        .filter(|(_, line)| has_private_words(&without_code(line)))
        .map(|(number, line)| at(source, number, line))
        .collect()
}

/// `text` with its placeholders empty: their names are code.
fn without_placeholders(text: &str) -> String {
    let mut parts = text.split('{');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push('{');
        plain += part.find('}').map_or(part, |end| &part[end..]);
    }
    plain
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// True where a phrase of [`PRIVATE`] or [`UNITS`] is in `text`, in no phrase of [`PLAIN`].
fn has_private_words(text: &str) -> bool {
    let mut spaced = String::new();
    for letter in text.to_lowercase().replace("\\\n", " ").chars() {
        match letter {
            letter if letter.is_alphanumeric() || "{}%_".contains(letter) => spaced.push(letter),
            letter if letter.is_whitespace() => spaced.push(' '),
            _ => spaced += " . ",
        }
    }
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let is_number = |word: &str| word.ends_with(|last: char| last.is_ascii_digit() || last == '}');
    let has_unit = words.windows(2).any(|pair| is_number(pair[0]) && UNITS.contains(&pair[1]));
    let mut words = format!(" {} ", words.join(" "));
    for plain in PLAIN {
        words = words.replace(plain, " ");
    }
    has_unit || PRIVATE.iter().any(|phrase| words.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    /// Asserts how many faults each of `texts` has.
    fn assert_faults(faults: impl Fn(&str) -> usize, count: usize, texts: &[&str]) {
        for text in texts {
            assert_eq!(faults(text), count, "{text}");
        }
    }

    // Breaks when a headless clause passes, or a sentence that continues with such a word is refused.
    #[test]
    fn headless_clauses_are_seen_where_a_comment_begins() {
        let faults = |text: &str| headless_comments(&source("crates/a/src/a.rs", text)).len();
        let bad = [
            "/// What each run leaves.",
            "//! Whose it is",
            "    // Where it lies.",
            "fn f()\n/// Who asks.",
        ];
        assert_faults(faults, 1, &bad);
        let good = [
            "/// Record of one run.",
            "/// Record.\n///\n/// Where it is full, the first goes.",
            "/// Whatever",
            "// Which of them?",
        ];
        assert_faults(faults, 0, &good);
    }

    // Breaks when a private word passes, or a name of code is taken for one.
    #[test]
    fn private_words_are_seen_in_texts_and_not_in_code() {
        let faults = |text: &str| private_words_printed(&source("crates/a/src/a.rs", text)).len();
        let bad = [
            r#"let a = "it tells nothing";"#,
            r#"bail!("{a}: is no file")"#,
            "\"begins \\\n     anew\"",
            r##"r#"made anew"#"##,
            r#""took {} us in all""#,
            r#""{share} % of""#,
            r#""took 72.6 us""#,
            "#[cfg(test)]\nmod tests;\nconst A: &str = \"told\";",
        ];
        assert_faults(faults, 1, &bad);
        let good = [
            r#"let told = "there is no room";"#,
            r#""{told} of {}""#,
            "// it tells \"nothing\"",
            r#""is no longer there""#,
            r#""untold""#,
            r#""code_not_told""#,
            r#""{name:>10} | % of it""#,
            "let a = 1;\n#[cfg(test)]\nmod tests {\n const A: &str = \"told\"; }",
        ];
        assert_faults(faults, 0, &good);
        let lines = private_words_printed(&source("crates/a/src/a.rs", "a\n\"b\"\n\"so many\""));
        assert_eq!(lines[0].place, "crates/a/src/a.rs:3");
    }

    // Breaks when code or a generated part of a page is read as our prose, or our prose is not.
    #[test]
    fn documents_are_read_outside_code_and_generated_parts() {
        let faults = |path: &str, text: &str| private_words_in_documents(&source(path, text)).len();
        assert_eq!(faults("docs/a.md", "it tells\n```\nit tells\n```\n`it tells`\nanew"), 2);
        let page = "it tells\n<!-- Written by hand -->\nit tells";
        assert_eq!(faults("docs/validation/a.md", page), 1);
    }
}
