//! Answers about a drive as terminal text: what was found, how sure that is, and what to do with it.

use anstyle::Style as Ansi;
use stats::{Assessment, Caveat, Quantity};

use crate::number;
use crate::sheet::Tone;
use crate::styled::Styled;
use crate::terminal::{BOLD, DIM, GREEN, Page, RED, Style, YELLOW, of_tone, paint};

/// A page of answers.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Heading: the command and its subject.
    pub title: String,
    /// The answer that decides against the drive, in one sentence.
    pub warning: Option<String>,
    /// Circumstances, as short lines.
    pub facts: Vec<String>,
    /// The answers.
    pub answers: Vec<Answer>,
    /// Other observations, by name.
    pub remarks: Vec<(String, String)>,
    /// Actions to take.
    pub advice: Vec<ToDo>,
    /// Doubts.
    pub caveats: Vec<Caveat>,
    /// One sentence.
    pub closing: String,
    /// How the closing sentence stands.
    pub tone: Tone,
}

impl Answers {
    /// The answers, those that are bad for the user first.
    pub fn in_order(&self) -> impl Iterator<Item = &Answer> {
        let is_bad = |answer: &&Answer| answer.assessment == Assessment::Bad;
        let others = self.answers.iter().filter(move |answer| !is_bad(answer));
        self.answers.iter().filter(is_bad).chain(others)
    }
}

/// One thing to do.
#[derive(Clone, Debug, Default)]
pub struct ToDo {
    /// Contents that the command erases.
    pub erases: Option<String>,
    /// The command that does it, where one does.
    pub command: Option<String>,
    /// Reason.
    pub why: String,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Subject of the answer.
    pub name: String,
    /// The answer itself.
    pub said: Said,
    /// Confidence in it, from 0 to 1; `None` where nothing is claimed.
    pub confidence: Option<f64>,
    /// Why, in one sentence.
    pub reason: String,
    /// Whether it is good or bad for the user.
    pub assessment: Assessment,
    /// True of a value that is not confirmed.
    pub is_provisional: bool,
}

/// Content of an answer.
#[derive(Clone, Debug)]
pub enum Said {
    /// A value.
    Value(Quantity),
    /// A word.
    Word(String),
    /// There is no such thing.
    None,
    /// It is not known.
    Unknown,
}

/// Widths of the columns before the reason.
const NAME: usize = 16;
const VALUE: usize = 9;

/// A page of answers as text, with a line feed at its end.
pub fn render_answers(answers: &Answers, style: Style) -> Styled {
    let mut page = Page::new(style);
    page.wrapped("", &answers.title, BOLD);
    for fact in &answers.facts {
        page.wrapped("  ", fact, DIM);
    }
    if let Some(warning) = &answers.warning {
        page.blank();
        page.wrapped("", &format!("✗ {warning}"), of_tone(Tone::Bad).bold());
    }
    if !answers.answers.is_empty() {
        page.blank();
    }
    for answer in answers.in_order() {
        line(&mut page, answer, style);
    }
    if !answers.remarks.is_empty() {
        page.blank();
    }
    for (name, text) in &answers.remarks {
        let lead = Styled::from("  ") + paint(DIM, name) + "  ";
        page.hanging(&lead, "    ", text, Ansi::new());
    }
    if !answers.advice.is_empty() {
        page.blank();
        page.wrapped("", "What to do", BOLD);
    }
    for ToDo { erases, command, why } in &answers.advice {
        if let Some(erases) = erases {
            let lead = Styled::from("  ") + paint(RED, "!") + " ";
            page.hanging(&lead, "    ", erases, RED);
        }
        if let Some(command) = command {
            // Not broken: it is there to be copied.
            page.line(&(Styled::from("  ") + paint(GREEN, command)));
        }
        page.wrapped(if command.is_some() { "    " } else { "  " }, why, Ansi::new());
    }
    if !answers.caveats.is_empty() {
        page.blank();
        page.caveats(&answers.caveats);
    }
    page.blank();
    page.wrapped("", &answers.closing, of_tone(answers.tone));
    page.text
}

/// `✓ erase block      8 MiB  99.9%`, and the reason under it.
fn line(page: &mut Page, answer: &Answer, style: Style) {
    let (found, tone) = match answer.assessment {
        Assessment::Good => ("✓", GREEN),
        Assessment::Neutral => ("✓", Ansi::new()),
        Assessment::Bad => ("✗", RED),
    };
    let is_bad = answer.assessment == Assessment::Bad;
    let (found, tone) =
        if answer.is_provisional && !is_bad { ("!", YELLOW) } else { (found, tone) };
    let (sign, colour, value) = match &answer.said {
        Said::Value(quantity) => (found, tone, number::value(quantity, style.rate)),
        Said::Word(word) => (found, tone, word.clone()),
        Said::None => ("–", DIM, "none".to_owned()),
        Said::Unknown => ("?", YELLOW, "unknown".to_owned()),
    };
    let (sign, colour) = if is_bad { (found, tone) } else { (sign, colour) };
    let sure = answer.confidence.map_or(String::new(), confidence);
    let sure = if answer.is_provisional { format!("{sure} provisional") } else { sure };
    let name = format!(" {:<NAME$} ", answer.name);
    let value = paint(BOLD, &format!("{value:>VALUE$}"));
    page.line(&(paint(colour, sign) + name + value + "  " + sure));
    page.wrapped("    ", &answer.reason, DIM);
}

/// How sure an answer is: never more nines than a probe's noise model can bear.
pub fn confidence(share: f64) -> String {
    if share >= 0.9995 { "> 99.9%".to_owned() } else { format!("{:.1}%", share * 100.0) }
}

#[cfg(test)]
mod tests {
    use stats::{Better, Unit};

    use super::*;

    fn bytes(value: f64) -> Quantity {
        Quantity {
            value,
            low: None,
            high: None,
            confidence: 0.99,
            unit: Unit::Bytes,
            n: 1,
            n_effective: 1.0,
            better: Better::Neither,
        }
    }

    // Breaks when an answer that is not known looks like one that was found, or text leaves the page.
    #[test]
    fn answers_tell_themselves_apart_without_colour() {
        let answer = |name: &str, said, confidence| {
            Answer {
            name: name.to_owned(),
            said,
            confidence,
            reason: "reads across it take longer than any others of the drive, and the step stands in all rows above"
                .to_owned(),
            assessment: Assessment::Neutral,
            is_provisional: name == "rate",
        }
        };
        let page = Answers {
            warning: None,
            title: "drivescope probe: a drive".to_owned(),
            facts: vec!["7.46 GiB".to_owned()],
            answers: vec![
                answer("erase block", Said::Value(bytes(8.0 * 1_048_576.0)), Some(0.99999)),
                answer("page", Said::Unknown, None),
                answer("fat zone", Said::None, Some(0.982)),
                answer("rate", Said::Word("530 MB/s".to_owned()), Some(0.95)),
            ],
            remarks: vec![("says of itself".to_owned(), "AU_SIZE 4 MiB".to_owned())],
            advice: vec![ToDo {
                erases: Some("this erases /dev/sdb: partition 1".to_owned()),
                command: Some("mkfs.ext4 -E stride=4".to_owned()),
                why: "allocation keeps to it".to_owned(),
            }],
            caveats: Vec::new(),
            closing: "1 of 3 found.".to_owned(),
            tone: Tone::Mixed,
        };
        let text = render_answers(&page, Style::default());
        let plain = text.plain();
        assert!(plain.contains("✓ erase block          8 MiB  > 99.9%\n"), "{plain}");
        assert!(plain.contains("? page               unknown\n"), "{plain}");
        assert!(plain.contains("– fat zone              none  98.2%\n"), "{plain}");
        assert!(plain.contains("! rate              530 MB/s  95.0% provisional\n"), "{plain}");
        // The warning is on the line before the command that loses the data.
        let lines = "  ! this erases /dev/sdb: partition 1\n  mkfs.ext4 -E stride=4\n    allocation keeps to it\n";
        assert!(plain.contains(lines), "{plain}");
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
    }

    // Breaks when what is bad for the user looks like what is good, or comes after it.
    #[test]
    fn what_is_bad_comes_first() {
        let answer = |name: &str, assessment| Answer {
            name: name.to_owned(),
            said: Said::Word("here".to_owned()),
            confidence: None,
            reason: "seen".to_owned(),
            assessment,
            is_provisional: false,
        };
        let page = Answers {
            title: "drivescope survey: a drive".to_owned(),
            warning: Some("COUNTERFEIT: do not use it".to_owned()),
            facts: Vec::new(),
            answers: vec![
                answer("good", Assessment::Good),
                answer("plain", Assessment::Neutral),
                answer("bad", Assessment::Bad),
                Answer { said: Said::Unknown, ..answer("worse", Assessment::Bad) },
            ],
            remarks: Vec::new(),
            advice: Vec::new(),
            caveats: Vec::new(),
            closing: "3 of 3 found.".to_owned(),
            tone: Tone::Bad,
        };
        let text = render_answers(&page, Style::default());
        let green = paint(GREEN, "✓");
        assert_eq!(text.as_str().matches(green.as_str()).count(), 1, "{}", text.as_str());
        let plain = text.plain();
        let at = |text: &str| plain.find(text).unwrap();
        assert!(at("✗ COUNTERFEIT: do not use it\n") < at("✗ bad"), "{plain}");
        assert!(at("✗ bad") < at("✗ worse") && at("✗ worse") < at("✓ good"), "{plain}");
        assert!(at("✓ good") < at("✓ plain"), "{plain}");
    }
}
