//! Right, a class that holds the truth, unknown, or wrong: counted, and set beside what was stated.

use std::fmt::Write as _;

use ::probe::{Finding, Name, Verdict};
use block::Bytes;
use stats::proportion_interval;

use super::SCORED;
use crate::probe::ask::Said;
use crate::sheet;

/// Greatest share of answers that may be wrong, of those that state 0.99 and more.
const WRONG_MAX: f64 = 0.01;

/// Assessment of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Right,
    /// Some values, of which one is the true one.
    Class,
    Unknown,
    Wrong,
}

impl Mark {
    const ALL: [Mark; 4] = [Mark::Right, Mark::Class, Mark::Unknown, Mark::Wrong];

    fn as_str(self) -> &'static str {
        match self {
            Mark::Right => "right",
            Mark::Class => "class",
            Mark::Unknown => "unknown",
            Mark::Wrong => "wrong",
        }
    }

    pub(super) fn is_wrong(self) -> bool {
        self == Mark::Wrong
    }

    /// Marks an answer. Memory is stated as a range, everything else to the byte.
    fn of(said: &Finding, truth: Option<u64>) -> Mark {
        let right = |right: bool| if right { Mark::Right } else { Mark::Wrong };
        match said.verdict {
            Verdict::Unknown if said.one_of.is_empty() => Mark::Unknown,
            Verdict::Unknown if truth.is_some_and(|truth| said.one_of.contains(&truth)) => {
                Mark::Class
            }
            Verdict::Unknown => Mark::Wrong,
            Verdict::None => right(truth.is_none()),
            Verdict::Found if said.name == Name::WriteBuffer => {
                let range = said.low.unwrap_or(0)..=said.high.unwrap_or(0);
                right(truth.is_some_and(|truth| range.contains(&truth)))
            }
            Verdict::Found => right(said.value == truth),
        }
    }
}

/// One answer about one drive.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    level: f64,
    seed: u64,
    kind: &'static str,
    said: Finding,
    truth: Option<u64>,
    pub(super) mark: Mark,
    /// Reads of the drive show its units.
    pub(super) shows: bool,
    seconds: f64,
    written: Bytes,
    wall: f64,
}

impl Answer {
    pub(super) fn new(
        (level, seed, kind): (f64, u64, &'static str),
        finding: Finding,
        truth: Option<u64>,
        said: &Said,
    ) -> Answer {
        let mark = Mark::of(&finding, truth);
        let spent = said.spent;
        Answer {
            level,
            seed,
            kind,
            said: finding,
            truth,
            mark,
            shows: false,
            seconds: spent.elapsed_ns.as_secs_f64(),
            written: spent.written_bytes,
            wall: said.wall.as_secs_f64(),
        }
    }

    /// The answer in a line.
    pub(super) fn line(&self) -> String {
        let number = |n: Option<u64>| n.map_or("none".to_owned(), |n| n.to_string());
        let confidence = self.said.confidence.unwrap_or(0.0);
        format!(
            "seed {} at {} ({}): {:?} {} {:?} ({confidence:.4}), true is {}: {}",
            self.seed,
            self.level,
            self.kind,
            self.said.name,
            number(self.said.value),
            self.said.one_of,
            number(self.truth),
            self.said.reason
        )
    }
}

/// One line for each answer.
pub(super) fn raw(answers: &[Answer]) -> String {
    let mut text =
        "level,seed,kind,finding,truth,mark,value,confidence,seconds,written,wall,reason\n"
            .to_owned();
    for a in answers {
        let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
        let _ = writeln!(
            text,
            "{},{},\"{}\",{:?},{},{},{},{},{:.3},{},{:.3},\"{}\"",
            a.level,
            a.seed,
            a.kind,
            a.said.name,
            number(a.truth),
            a.mark.as_str(),
            number(a.said.value),
            a.said.confidence.map_or(String::new(), |c| format!("{c:.6}")),
            a.seconds,
            a.written.0,
            a.wall,
            a.said.reason.replace('"', "'")
        );
    }
    text
}

/// True when of no finding more than four in a thousand answers are wrong, and of those that state 0.99 and more no
/// more than one in a hundred.
pub(super) fn is_right(answers: &[Answer]) -> bool {
    let few = |of: &[&Answer], most: f64| {
        let wrong = of.iter().filter(|a| a.mark.is_wrong()).count() as f64;
        wrong <= (most * of.len() as f64).floor()
    };
    let sure: Vec<&Answer> = answers.iter().filter(|a| a.said.confidence >= Some(0.99)).collect();
    let each = SCORED.iter().all(|name| {
        few(&answers.iter().filter(|a| a.said.name == *name).collect::<Vec<_>>(), 0.004)
    });
    each && few(&sure, WRONG_MAX)
}

/// The whole page.
pub(super) fn page(head: &str, answers: &[Answer]) -> String {
    let mut text = format!("# Probing drives of a second world\n\n{head}{METHOD}");
    text += "\n## All drives\n\n";
    text += &by(answers, |a| format!("{:?}", a.said.name), "finding");
    text += "\n## By noise\n\n";
    text += &by(answers, |a| format!("{:?} at {}", a.said.name, a.level), "finding and noise");
    text += "\n## By kind and state\n\n";
    text += &by(answers, |a| format!("{:?}, {}", a.said.name, a.kind), "finding, kind and state");
    text += "\n## Erase blocks that reads show\n\nCards that hold data, whose boundaries cost something, with units of a number \
             up to 27 times a power of two: an oracle that knows how they are drawn decides.\n\n";
    let shown: Vec<Answer> =
        answers.iter().filter(|a| a.shows && a.said.name == Name::EraseBlock).cloned().collect();
    text += &by(&shown, |a| format!("at {}", a.level), "noise");
    text += "\n## Stated confidence\n\n";
    let class = |a: &Answer| match a.said.confidence {
        None => "none stated".to_owned(),
        Some(c) if c >= 0.99 => "0.99 and more".to_owned(),
        Some(c) if c >= 0.95 => "0.95 to 0.99".to_owned(),
        Some(_) => "less than 0.95".to_owned(),
    };
    text += &by(answers, class, "confidence");
    let wrong: Vec<&Answer> = answers.iter().filter(|a| a.mark.is_wrong()).collect();
    let _ = writeln!(text, "\n## Wrong answers\n\n{} of {}.\n", wrong.len(), answers.len());
    for answer in wrong {
        let _ = writeln!(text, "- {}", answer.line());
    }
    text += &cost(answers);
    text
}

fn by(answers: &[Answer], key: impl Fn(&Answer) -> String, head: &str) -> String {
    let mut keys: Vec<String> = answers.iter().map(&key).collect();
    keys.sort();
    keys.dedup();
    let row = |wanted: String| {
        let of: Vec<&Answer> = answers.iter().filter(|a| key(a) == wanted).collect();
        let count = |mark: Mark| of.iter().filter(|a| a.mark == mark).count();
        let wrong = count(Mark::Wrong);
        // One-sided 95%: the upper end of the two-sided interval of 90%.
        let bound = proportion_interval(wrong, of.len(), 0.9).map_or(1.0, |share| share.high);
        let mut cells = vec![wanted, of.len().to_string()];
        cells.extend(Mark::ALL.map(|mark| count(mark).to_string()));
        cells.push(format!("{:.2}%", 100.0 * bound));
        cells
    };
    let rows: Vec<Vec<String>> = keys.into_iter().map(row).collect();
    let mut names = vec![head, "answers"];
    names.extend(Mark::ALL.map(Mark::as_str));
    names.push("wrong, at most");
    sheet::table(1, &names, &rows)
}

fn cost(answers: &[Answer]) -> String {
    let one: Vec<&Answer> = answers.iter().filter(|a| a.said.name == SCORED[0]).collect();
    let middle = |of: &dyn Fn(&Answer) -> f64| {
        let all: Vec<f64> = one.iter().map(|a| of(a)).collect();
        stats::median(&all).unwrap_or(0.0)
    };
    format!(
        "\n## Cost\n\nA probe run takes {:.0} s on the drive's clock and writes {:.0} MiB in the median.\n",
        middle(&|a| a.seconds),
        middle(&|a| a.written.0 as f64 / f64::from(1 << 20))
    )
}

/// The method, for the page.
const METHOD: &str = "\
Each seed is a drive of a model that depends on `block` alone and shares no code with `sim`, asked by the chain of \
probes at its defaults with consent to write. Its noise is normal; its standard deviation is 0.1, 0.5 or 1 times what \
the boundary of a unit costs a read. Up to one command in a hundred takes eight times as long more, and one drive in \
seven throttles itself by 1.3 to 4.

Ranges, wider than what is sold:

- Cards (78 of 100): 1 to 64 GiB; units of n x 2^k from 128 KiB to 128 MiB, n odd: 1 for 30%, 3 for 20%, 5 to 27 \
for 45%, 29 to 99 for 5%; pages of 2 to 32 KiB, 1, 2 or 4 planes, 40% of them even; 1, 2 or 4 groups read at once; \
1 to 4 kinds of pages; 1 to 64 open units, by least recent use or by age, 0 to all of them at random; zones of 1 to \
128 MiB on 35%, of which 40% do not show in reads; logs of 1 to 64 MiB for writes up to 4 to 256 KiB on 35%; 10% \
map pages and have no units; reads of 20% show nothing; 25% were never written.
- Solid-state drives (19 of 100): 2 to 32 dies, stripes of 4 to 128 KiB, maps that show every 2 to 16 MiB on half of \
them, 0 to 64 MiB of memory, fast cells of 0 to 30%, waves on 40%; never written, filled or steady.
- Disks (3 of 100) that do not report that they are rotational.

*Right* is the true value or a true *none*; for memory, a range that holds the truth. *Class* is a stated set of \
values that holds the truth. Everything else that decides is *wrong*. The upper bound of the share of wrong answers is \
one-sided, 95% (Clopper and Pearson).
";

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a class without the truth, or a number for what is not there, passes for anything but wrong.
    #[test]
    fn answers_are_marked_against_the_truth() {
        let found = |value| Finding::found(Name::Page, value, 0.9, "");
        let class = |values: &[u64]| Finding::one_of(Name::Page, values.to_vec(), "");
        assert_eq!(Mark::of(&found(8), Some(8)), Mark::Right);
        assert_eq!(Mark::of(&found(8), Some(4)), Mark::Wrong);
        assert_eq!(Mark::of(&found(8), None), Mark::Wrong);
        assert_eq!(Mark::of(&class(&[4, 8]), Some(8)), Mark::Class);
        assert_eq!(Mark::of(&class(&[4, 8]), Some(16)), Mark::Wrong);
        assert_eq!(Mark::of(&class(&[4, 8]), None), Mark::Wrong);
        assert_eq!(Mark::of(&Finding::unknown(Name::Page, ""), Some(8)), Mark::Unknown);
        let memory = Finding::found(Name::WriteBuffer, 10, 0.9, "").between(8, 12);
        assert_eq!(Mark::of(&memory, Some(12)), Mark::Right);
        assert_eq!(Mark::of(&memory, Some(13)), Mark::Wrong);
    }
}
