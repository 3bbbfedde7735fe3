//! Doubts that differ in their subjects and numbers only, each printed once with all its subjects.

use stats::Caveat;

/// A doubt, and the numbers in its cause, one list for each subject.
struct Folded<'a> {
    caveat: Caveat,
    /// The cause between its numbers.
    words: Vec<&'a str>,
    numbers: Vec<Vec<&'a str>>,
}

/// `caveats`, whose remedies are written, in the order of their first: those with one code, remedy and cause become one. Where
/// their causes differ in numbers, it has the least and the largest of each.
pub(super) fn folded(caveats: &[Caveat]) -> Vec<Caveat> {
    let mut all: Vec<Folded<'_>> = Vec::new();
    for caveat in caveats {
        let (words, numbers) = parts(&caveat.cause);
        let same = all.iter_mut().find(|one| {
            one.caveat.code == caveat.code
                && one.caveat.sentence() == caveat.sentence()
                && one.words == words
        });
        match same {
            Some(one) => {
                if one.caveat.subject != caveat.subject {
                    one.caveat.subject = format!("{}, {}", one.caveat.subject, caveat.subject);
                }
                one.numbers.push(numbers);
            }
            None => all.push(Folded { caveat: caveat.clone(), words, numbers: vec![numbers] }),
        }
    }
    all.into_iter().map(|one| Caveat { cause: one.cause(), ..one.caveat }).collect()
}

impl Folded<'_> {
    /// The cause with the range of each number.
    fn cause(&self) -> String {
        let mut cause = String::new();
        for (index, words) in self.words.iter().enumerate() {
            cause.push_str(words);
            cause.push_str(&range(self.numbers.iter().filter_map(|of_one| of_one.get(index))));
        }
        cause
    }
}

/// The least and the largest of `numbers`; one where they are the same, none where there are none.
fn range<'a>(numbers: impl Iterator<Item = &'a &'a str> + Clone) -> String {
    let value = |text: &&&str| text.parse::<f64>().unwrap_or_default();
    let by_value = |a: &&&str, b: &&&str| value(a).total_cmp(&value(b));
    let (least, most) = (numbers.clone().min_by(by_value), numbers.max_by(by_value));
    match least.zip(most) {
        Some((least, most)) if least == most => (*least).to_owned(),
        Some((least, most)) => format!("{least}–{most}"),
        None => String::new(),
    }
}

/// A text in its words and the numbers behind each of them. Digits within a name (`Q32T1`, `/dev/sda1`) belong to the name.
fn parts(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut words, mut numbers, mut start, mut at) = (Vec::new(), Vec::new(), 0, 0);
    let is_of_name = |before: Option<char>| {
        before.is_some_and(|one| one.is_alphanumeric() || ['/', '_', '-', '.', ':'].contains(&one))
    };
    while let Some(next) = text[at..].chars().next() {
        let is_number = next.is_ascii_digit() && !is_of_name(text[..at].chars().next_back());
        if !is_number {
            at += next.len_utf8();
            continue;
        }
        let rest = &text[at..];
        let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches('.');
        words.push(&text[start..at]);
        numbers.push(number);
        at += number.len();
        start = at;
    }
    words.push(&text[start..]);
    (words, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Remedy;

    fn caveat(subject: &str, cause: &str) -> Caveat {
        Caveat::new("unsettled", subject, cause, Remedy::Words("use a longer --settle".to_owned()))
    }

    // Breaks when a doubt about several results is printed once for each of them.
    #[test]
    fn doubts_that_differ_in_numbers_are_one() {
        let caveats = [
            caveat("SEQ1M read", "2 of 6 runs began early: reads took up to 1.5x."),
            caveat("SEQ1M write", "the file lies in pieces"),
            caveat("RND4K read", "10 of 6 runs began early: reads took up to 1.25x."),
            caveat("RND4K write", "4 of 6 runs began early: reads took up to 3x."),
        ];
        let folded = folded(&caveats);
        assert_eq!(folded.len(), 2);
        assert_eq!(folded[0].subject, "SEQ1M read, RND4K read, RND4K write");
        assert_eq!(folded[0].cause, "2–10 of 6 runs began early: reads took up to 1.25–3x.");
        assert_eq!(folded[1], caveats[1]);
    }

    // Breaks when doubts about different drives or tests become one.
    #[test]
    fn digits_of_names_are_no_numbers() {
        let caveats = [caveat("a", "/dev/sda1 is busy"), caveat("b", "/dev/sda2 is busy")];
        assert_eq!(folded(&caveats), caveats);
        let other = Caveat { code: "busy".to_owned(), ..caveats[0].clone() };
        assert_eq!(folded(&[other.clone(), caveats[0].clone()]), [other, caveats[0].clone()]);
    }
}
