//! Rules of language that a machine can see.
//!
//! This file names what it looks for, so it is not looked at itself.

use crate::repository::Source;
use crate::style::Fault;

/// Words that begin a clause without a noun, which leaves the reader to guess what a comment names.
const HEADLESS: [&str; 6] = ["What", "Where", "Who", "Whose", "Which", "Whoever"];

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
            let place = format!("{}:{number}", source.path);
            faults.push(Fault { place, what: words.to_owned() });
        }
        begins = false;
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a headless clause passes, or a sentence that continues with such a word is refused.
    #[test]
    fn headless_clauses_are_seen_where_a_comment_begins() {
        let faults = |text: &str| {
            let source = Source { path: "crates/a/src/a.rs".to_owned(), text: text.to_owned() };
            headless_comments(&source).len()
        };
        for bad in [
            "/// What each run leaves.",
            "//! Whose it is",
            "    // Where it lies.",
            "fn f()\n/// Who asks.",
        ] {
            assert_eq!(faults(bad), 1, "{bad}");
        }
        for good in [
            "/// Record of one run.",
            "/// Record.\n///\n/// Where it is full, the first goes.",
            "/// Whatever",
            "// Which of them?",
        ] {
            assert_eq!(faults(good), 0, "{good}");
        }
    }
}
