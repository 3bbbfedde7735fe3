//! Commands that users can copy from a message: refusals and remedies of every crate contain them.

/// A word as a shell takes it: as it is where nothing in it means something to one, else in quotes.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command line to be copied.
pub fn command_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a name with a blank or a quote is two words, or another one, once it was pasted.
    #[test]
    fn a_word_stays_one() {
        for (word, told) in [
            ("/dev/sdb", "/dev/sdb"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("sim:a?seed=7", "'sim:a?seed=7'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), told);
        }
    }
}
