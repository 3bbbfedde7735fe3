//! One line taken apart into words as a shell does it, with nothing expanded.

use super::error::ExplainError;

/// Words that may precede a program without changing what it does.
const BEFORE: [&str; 8] = ["sudo", "time", "nohup", "exec", "env", "nice", "ionice", "taskset"];
/// Programs whose commands are read.
const KNOWN: [&str; 5] = ["fio", "diskspd", "dd", "hdparm", "kdiskmark"];
/// Shells that may be given a line behind `-c`.
const SHELLS: [&str; 3] = ["sh", "bash", "dash"];

/// The words of `line`: parted by blanks, with quotes and backslashes as in POSIX's shell (2.2, "Quoting"). Variables,
/// patterns and `~` stay as they are written.
///
/// # Errors
/// When a quotation is not closed, or commands are joined.
pub fn split(line: &str) -> Result<Vec<String>, ExplainError> {
    let Line { mut commands, joined } = commands(line)?;
    match joined {
        Some(letter) => Err(ExplainError::Shell(letter)),
        None => Ok(commands.pop().unwrap_or_default()),
    }
}

/// Commands of a shell line.
pub(super) struct Line {
    /// The words of each command, without what they are redirected to; none where the line is empty.
    pub commands: Vec<Vec<String>>,
    /// First character that joins a command to another one, or to a file.
    pub joined: Option<char>,
}

/// The commands of `line`, in their order.
pub(super) fn commands(line: &str) -> Result<Line, ExplainError> {
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut joined = None;
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    // Index of the next word, if that is the file of a redirection.
    let mut file_at: Option<usize> = None;
    let mut open = 0usize;
    let mut letters = line.chars();
    let drop_file = |words: &mut Vec<String>, file_at: &mut Option<usize>| {
        if file_at.is_some_and(|at| words.len() > at) {
            words.truncate(file_at.take().unwrap_or_default());
        }
    };
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
            // `&>` sends both outputs to a file.
            '<' | '>' | '&' if letter != '&' || letters.clone().next() == Some('>') => {
                joined.get_or_insert(letter);
                // A number right before it is that of a stream.
                words.extend(word.take().filter(|word| !word.bytes().all(|b| b.is_ascii_digit())));
                drop_file(&mut words, &mut file_at);
                file_at = Some(words.len());
                while letters
                    .clone()
                    .next()
                    .is_some_and(|next| ['<', '>', '&', '|'].contains(&next))
                {
                    letters.next();
                }
            }
            '(' if word.is_none() => {
                joined.get_or_insert(letter);
                open += 1;
            }
            '|' | '&' | ';' | ')' if letter != ')' || open > 0 => {
                joined.get_or_insert(letter);
                open -= usize::from(letter == ')');
                words.extend(word.take());
                drop_file(&mut words, &mut file_at);
                file_at = None;
                commands.push(std::mem::take(&mut words));
            }
            '#' if word.is_none() => break,
            blank if blank.is_whitespace() => {
                words.extend(word.take());
                drop_file(&mut words, &mut file_at);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    drop_file(&mut words, &mut file_at);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    Ok(Line { commands, joined })
}

/// The first command of `line` whose program is known, and whether it is all of the line.
///
/// # Errors
/// When a quotation is not closed, or commands are joined of which none is known.
pub(super) fn known_command(line: &str) -> Result<(Vec<String>, bool), ExplainError> {
    let Line { commands, joined } = commands(line)?;
    for words in &commands {
        let Some((program, rest)) = program(words) else { continue };
        if is_known(program) || super::kdiskmark::is_test(program) {
            return Ok((words.clone(), joined.is_none()));
        }
        let behind = rest.iter().skip_while(|word| *word != "-c").nth(1);
        if let Some(inner) = behind.filter(|_| SHELLS.contains(&program))
            && let Ok((words, _)) = known_command(inner)
            && self::program(&words).is_some_and(|(program, _)| is_known(program))
        {
            return Ok((words, false));
        }
    }
    match joined {
        Some(letter) => Err(ExplainError::Shell(letter)),
        None => Ok((commands.into_iter().next().unwrap_or_default(), true)),
    }
}

/// True for the programs that are known, and for words that may precede one.
pub(super) fn may_begin(word: &str) -> bool {
    is_known(word) || BEFORE.contains(&word) || SHELLS.contains(&word)
}

fn is_known(program: &str) -> bool {
    KNOWN.contains(&name(program).0.as_str())
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

/// The program's name without its directory, and the words after it. A prompt, `sudo` and the like with their options,
/// and variables that are set for it, are left out.
pub(super) fn program(words: &[String]) -> Option<(&str, &[String])> {
    let mut rest = words;
    let mut is_behind = false;
    while let Some((first, behind)) = rest.split_first() {
        let sets = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        if BEFORE.contains(&first.as_str()) || sets || ["$", "#"].contains(&first.as_str()) {
            is_behind |= BEFORE.contains(&first.as_str());
            rest = behind;
        } else {
            let bare = |word: &'_ str| word.rsplit(['/', '\\']).next().map_or(0, str::len);
            let named = |word: &String| is_known(&word[word.len() - bare(word)..]);
            // Options of the words before it may have values.
            let at = rest.iter().position(named).filter(|_| is_behind).unwrap_or(0);
            let word = &rest[at];
            return Some((&word[word.len() - bare(word)..], &rest[at + 1..]));
        }
    }
    None
}

/// A program's name as it is known here, and whether it is one of Windows's. CrystalDiskMark ships diskspd under names
/// that contain the processor.
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
        // Finds the command, and drops words that are not part of it.
        let of =
            |line| known_command(line).map(|(words, is_all)| (words.join(" "), is_all)).unwrap();
        for (line, command) in [
            ("sync && dd if=a of=b", "dd if=a of=b"),
            ("sync; time dd if=a 2>&1 | grep bytes", "time dd if=a"),
            ("(dd if=a of=b > log 2> /dev/null; sync)", "dd if=a of=b"),
            ("dd if=a &>log bs=1M", "dd if=a bs=1M"),
            ("sudo sh -c 'dd if=a of=b && sync'", "dd if=a of=b"),
        ] {
            assert_eq!(of(line), (command.to_owned(), false), "{line}");
        }
        assert_eq!(of("fio --name='a|b;c'"), ("fio --name=a|b;c".to_owned(), true));
        assert_eq!(known_command("a | b"), Err(ExplainError::Shell('|')));
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
        let words = split("sudo -u dd-user ionice -c 2 dd if=a").unwrap();
        assert_eq!(super::program(&words).unwrap(), ("dd", &["if=a".to_owned()][..]));
    }
}
