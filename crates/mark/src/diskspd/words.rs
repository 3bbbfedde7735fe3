//! diskspd's command line as words: the options in it, each with its value, as `argp_parse(3)` splits them.

use std::collections::BTreeMap;

use super::usage::UsageError;

/// Whether a value belongs to an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// None.
    No,
    /// Always: joined, or the next word.
    Always,
    /// Perhaps: joined only, so that the next word is not swallowed.
    Perhaps,
}

/// Letter, long name and value of each option that is known. The last two are those of diskspd for Windows only, and
/// have no long name there.
pub(super) const KNOWN: [(char, &str, Value); 25] = [
    ('a', "cpu-affinity", Value::Always),
    ('b', "block-size", Value::Always),
    ('B', "base-offset", Value::Always),
    ('c', "create-files", Value::Always),
    ('d', "duration", Value::Always),
    ('D', "iops-std-dev", Value::Perhaps),
    ('f', "target-size", Value::Always),
    ('F', "total-threads", Value::Always),
    ('g', "throttle-throughput", Value::Always),
    ('L', "latency", Value::No),
    ('n', "no-affinity", Value::No),
    ('o', "overlap", Value::Always),
    ('r', "random-align", Value::Perhaps),
    ('s', "sequential-stride", Value::Always),
    ('S', "caching-options", Value::Always),
    ('t', "threads-per-target", Value::Always),
    ('T', "thread-stride", Value::Always),
    ('v', "verbose", Value::No),
    ('w', "write", Value::Perhaps),
    ('W', "warmup-time", Value::Always),
    ('x', "io-engine", Value::Always),
    ('z', "rand-seed", Value::Perhaps),
    ('Z', "io-buffers", Value::Always),
    ('C', "", Value::Always),
    ('R', "", Value::Perhaps),
];

/// Letters that diskspd for Windows knows besides. None is taken for something else.
const WINDOWS: &str = "eEGhHiIjlNOpPuXyY";

/// Options and targets of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Values by letter; empty where none was given.
    pub(super) options: BTreeMap<char, String>,
    /// Everything else, in order.
    pub(super) targets: Vec<String>,
}

impl Words {
    /// Takes `args` apart, without the program's name.
    pub(super) fn read<S: AsRef<str>>(args: &[S]) -> Result<Words, UsageError> {
        let mut args = args.iter().map(AsRef::as_ref);
        let mut words = Words::default();
        while let Some(word) = args.next() {
            if word == "--" {
                words.targets.extend(args.by_ref().map(str::to_owned));
            } else if let Some(long) = word.strip_prefix("--") {
                words.long(long, &mut args)?;
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                words.letters(letters, &mut args)?;
            } else {
                words.targets.push(word.to_owned());
            }
        }
        Ok(words)
    }

    fn long<'a>(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), UsageError> {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        if ["help", "usage"].contains(&name) {
            return Err(UsageError::Help);
        }
        let (letter, long, value) = by_name(name)?;
        let value = match (value, joined) {
            (Value::No, Some(_)) => return Err(UsageError::Value(format!("--{long}"))),
            (Value::Always, None) => {
                rest.next().ok_or_else(|| UsageError::NoValue(format!("--{long}")))?
            }
            (_, joined) => joined.unwrap_or_default(),
        };
        self.take(letter, value)
    }

    fn letters<'a>(
        &mut self,
        letters: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), UsageError> {
        for (at, letter) in letters.char_indices() {
            let joined = &letters[at + letter.len_utf8()..];
            let known = KNOWN.iter().find(|(known, ..)| *known == letter);
            match known.map(|(_, _, value)| value) {
                None if letter == '?' => return Err(UsageError::Help),
                None if WINDOWS.contains(letter) => return Err(UsageError::OnWindows(letter)),
                None => return Err(UsageError::Unknown(format!("-{letter}"))),
                Some(Value::No) => self.take(letter, "")?,
                Some(Value::Always) if joined.is_empty() => {
                    let value =
                        rest.next().ok_or_else(|| UsageError::NoValue(format!("-{letter}")))?;
                    return self.take(letter, value);
                }
                Some(Value::Always | Value::Perhaps) => return self.take(letter, joined),
            }
        }
        Ok(())
    }

    /// diskspd takes no option twice, not even with the same value.
    fn take(&mut self, letter: char, value: &str) -> Result<(), UsageError> {
        match self.options.insert(letter, value.to_owned()) {
            None => Ok(()),
            Some(_) => Err(UsageError::Twice(letter)),
        }
    }
}

/// The long option of that name, or the only one that begins so.
fn by_name(name: &str) -> Result<(char, &'static str, Value), UsageError> {
    let long = || KNOWN.iter().filter(|(_, long, _)| !long.is_empty());
    if let Some(option) = long().find(|(_, long, _)| *long == name) {
        return Ok(*option);
    }
    let begins: Vec<_> =
        long().filter(|(_, long, _)| !name.is_empty() && long.starts_with(name)).collect();
    match begins[..] {
        [option] => Ok(*option),
        [] => Err(UsageError::Unknown(format!("--{name}"))),
        _ => Err(UsageError::Ambiguous {
            given: format!("--{name}"),
            meant: begins.iter().map(|(_, long, _)| format!("--{long}")).collect(),
        }),
    }
}
