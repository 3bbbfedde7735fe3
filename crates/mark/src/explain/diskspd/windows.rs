//! Options that only diskspd for Windows accepts, so that a command of CrystalDiskMark can be explained. They are removed from
//! the command line before [`crate::diskspd::Options`] parses it as the program for Linux does.

/// Options found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Windows {
    /// Options as typed that the one for Linux refuses.
    pub told_by: Vec<String>,
    /// Options whose effect is not predicted.
    pub strange: Vec<String>,
    /// `-Z` with a size: writes are parts of one buffer of random bytes, as large as this says.
    pub source: Option<String>,
    /// `-g` with an i: I/Os per second and thread, at most.
    pub iops: Option<u64>,
}

/// The words that are left for both programs, and what was only for Windows.
pub(super) fn read(words: &[String]) -> (Vec<String>, Windows) {
    let mut found = Windows::default();
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if word == "--" {
            kept.extend_from_slice(&words[at..]);
            break;
        }
        let letter = word.strip_prefix('-').and_then(|rest| rest.chars().next());
        let Some(letter) = letter.filter(|letter| letter.is_ascii_alphabetic()) else {
            kept.push(word.clone());
            continue;
        };
        let value = &word[2..];
        // On Windows a value is always joined; on Linux it may be the next word.
        let next = words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-'));
        let alone = value.is_empty();
        match found.take(letter, value, alone, next) {
            Taken::No => kept.push(word.clone()),
            Taken::Instead(instead) => {
                kept.push(instead);
                found.told_by.push(word.clone());
            }
            Taken::Out => found.told_by.push(word.clone()),
            Taken::Strange => {
                found.told_by.push(word.clone());
                found.strange.push(word.clone());
            }
        }
    }
    (kept, found)
}

enum Taken {
    /// Both know it.
    No,
    /// It is the same as this.
    Instead(String),
    /// It changes nothing in the explanation, or is kept in [`Windows`].
    Out,
    /// It changes what is not predicted.
    Strange,
}

impl Windows {
    fn take(&mut self, letter: char, value: &str, alone: bool, next: Option<&str>) -> Taken {
        let is_mode = |text: &str| !text.is_empty() && text.chars().all(|c| "dshuwmb".contains(c));
        let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        match letter {
            'S' if alone && !next.is_some_and(is_mode) => Taken::Instead("-Su".to_owned()),
            'h' if alone => Taken::Instead("-Sh".to_owned()),
            'Z' if alone && !next.is_some_and(|n| ["z", "r", "s", "rs", "zs"].contains(&n)) => {
                Taken::Instead("-Zz".to_owned())
            }
            'Z' if digits(value) => {
                self.source = Some(value.to_owned());
                Taken::Out
            }
            'a' if value.starts_with('g') || alone && !next.is_some_and(digits) => Taken::Out,
            's' if alone && !next.is_some_and(|n| n == "i" || digits(n)) => Taken::Out,
            'x' if alone && !next.is_some_and(|n| ["k", "p"].contains(&n)) => Taken::Out,
            'f' if value.starts_with(['r', 's', 't']) => Taken::Out,
            'r' if value.starts_with('d') => {
                self.strange.push(format!("-r{value}"));
                Taken::Instead("-r".to_owned())
            }
            'g' => match value.strip_suffix('i').and_then(|count| count.parse().ok()) {
                Some(iops) => {
                    self.iops = Some(iops);
                    Taken::Out
                }
                None => Taken::No,
            },
            // Outstanding for a thread, where -o counts for each of its targets.
            'O' => Taken::Instead(format!("-o{value}")),
            // Affinity, tracing, priority, large pages, progress and events.
            'A' | 'e' | 'I' | 'l' | 'P' | 'y' => Taken::Out,
            'E' | 'G' | 'H' | 'i' | 'j' | 'N' | 'p' | 'u' | 'Y' => Taken::Strange,
            _ => Taken::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // An option that swallows the next one, or a value that is taken for a target, is another load.
    #[test]
    fn options_of_windows_are_taken_out() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let (kept, found) = read(&words);
            (kept.join(" "), found.told_by.join(" "))
        };
        for (line, kept, told_by) in [
            ("-S -w0 -Z4K -ag f", "-Su -w0 f", "-S -Z4K -ag"),
            ("-S d f", "-S d f", ""),
            ("-h -si -A0 f", "-Sh -si f", "-h -A0"),
            ("-a 0,1 -Sh f", "-a 0,1 -Sh f", ""),
            ("-a0,1 -Zr -x p -- -S", "-a0,1 -Zr -x p -- -S", ""),
            ("-fr -f1G -Z -s f", "-f1G -Zz f", "-fr -Z -s"),
        ] {
            assert_eq!(of(line), (kept.to_owned(), told_by.to_owned()), "{line}");
        }
    }
}
