//! One line taken apart into words as a shell does it, with nothing expanded.

use super::error::ExplainError;

/// Words that may stand before a program without changing what it does.
const BEFORE: [&str; 4] = ["sudo", "time", "nohup", "exec"];

/// The words of `line`: parted by blanks, with quotes and backslashes as in POSIX's shell (2.2, "Quoting"). Variables,
/// patterns and `~` stay as they are written.
///
/// # Errors
/// When a quotation is not closed, or commands are joined.
pub fn split(line: &str) -> Result<Vec<String>, ExplainError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        None => return Err(ExplainError::Quote('\'')),
                        Some('\'') => break,
                        Some(other) => word.push(other),
                    }
                }
            }
            '"' => quoted(&mut letters, word.get_or_insert_default())?,
            // At the end of a line it joins the next one.
            '\\' if word.as_deref().is_some_and(is_windows_path) => {
                word.get_or_insert_default().push('\\');
            }
            '\\' => match letters.next() {
                None | Some('\n') => {}
                Some(other) => word.get_or_insert_default().push(other),
            },
            '|' | '&' | ';' | '<' | '>' => return Err(ExplainError::Shell(letter)),
            '#' if word.is_none() => break,
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// True for the beginning of a path with a drive's letter: a backslash parts directories there, and hides nothing.
fn is_windows_path(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':')
}

fn quoted(letters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), ExplainError> {
    loop {
        match letters.next() {
            None => return Err(ExplainError::Quote('"')),
            Some('"') => return Ok(()),
            Some('\\') => match letters.next() {
                None => return Err(ExplainError::Quote('"')),
                Some('\n') => {}
                Some(special @ ('"' | '\\' | '$' | '`')) => word.push(special),
                Some(other) => word.extend(['\\', other]),
            },
            Some(other) => word.push(other),
        }
    }
}

/// The program's name without its directory, and what stands behind it. A prompt, `sudo` and the like, and variables
/// that are set for it, are left out.
pub(super) fn program(words: &[String]) -> Option<(&str, &[String])> {
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first() {
        let sets = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        if BEFORE.contains(&first.as_str()) || sets || ["$", "#"].contains(&first.as_str()) {
            rest = behind;
        } else {
            return Some((first.rsplit(['/', '\\']).next().unwrap_or(first), behind));
        }
    }
    None
}

/// A program's name as it is known here, and whether it is one of Windows's. CrystalDiskMark brings diskspd under names
/// that tell the processor.
pub(super) fn name(program: &str) -> (String, bool) {
    let lower = program.to_ascii_lowercase();
    let (name, exe) = match lower.strip_suffix(".exe") {
        Some(name) => (name, true),
        None => (lower.as_str(), false),
    };
    let of_diskspd = name
        .strip_prefix("diskspd")
        .filter(|rest| exe && rest.chars().all(|c| c.is_ascii_digit() || c == 'a' || c == 'l'));
    (if of_diskspd.is_some() { "diskspd" } else { name }.to_owned(), exe)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A word taken apart wrongly is another option than the one that will run.
    #[test]
    fn words_are_those_of_a_shell() {
        let cases: [(&str, &[&str]); 8] = [
            ("fio --name=x  --bs=4k", &["fio", "--name=x", "--bs=4k"]),
            ("a 'b c' \"d \\\" e\" f\\ g", &["a", "b c", "d \" e", "f g"]),
            ("a'b'\"c\" ''", &["abc", ""]),
            ("fio \\\n --bs=4k # why", &["fio", "--bs=4k"]),
            ("dd if=$HOME/* of=~", &["dd", "if=$HOME/*", "of=~"]),
            ("\"a\\b\"", &["a\\b"]),
            ("C:\\tools\\d.exe D:\\f", &["C:\\tools\\d.exe", "D:\\f"]),
            ("", &[]),
        ];
        for (line, words) in cases {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert_eq!(split("'a"), Err(ExplainError::Quote('\'')));
        assert_eq!(split("\"a\\"), Err(ExplainError::Quote('"')));
        for joined in ["a | b", "a; b", "a && b", "a > b", "a 2>&1"] {
            assert!(matches!(split(joined), Err(ExplainError::Shell(_))), "{joined}");
        }
    }

    #[test]
    fn a_program_is_found_behind_what_stands_before_it() {
        let words = split("$ sudo LC_ALL=C /usr/bin/fio --name=x").unwrap();
        let (program, rest) = program(&words).unwrap();
        assert_eq!((program, rest), ("fio", &["--name=x".to_owned()][..]));
        assert_eq!(super::program(&[]), None);
    }
}
