//! Counts right and wrong answers.

use std::collections::BTreeMap;

use ::probe::{Finding, Name, Verdict};
use stats::{ProportionInterval, proportion_interval};

/// Confidence of the bounds of every share.
const CONFIDENCE: f64 = 0.95;
/// Greatest upper bound of the share of wrong answers.
pub const WRONG_MAX: f64 = 0.01;
/// Edges between the classes of stated confidence.
const EDGES: [f64; 6] = [0.8, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// The greatest share of unknown answers at a level of noise; `None` where nothing is promised.
pub fn unknown_max(level: f64) -> Option<f64> {
    match level {
        level if level <= 0.1 => Some(0.02),
        level if level <= 0.5 => Some(0.15),
        _ => None,
    }
}

/// Assessment of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The true value.
    FoundRight,
    /// Another value, or a value of what is not there.
    FoundWrong,
    /// There is none, and it was said so.
    NoneRight,
    /// It was said that there is none, and there is.
    NoneWrong,
    /// Several values were left, the true one among them.
    Class,
    /// Several values were left, and the true one is not among them.
    ClassWrong,
    /// It was left open.
    Unknown,
}

impl Mark {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Mark; 7] = [
        Mark::FoundRight,
        Mark::FoundWrong,
        Mark::NoneRight,
        Mark::NoneWrong,
        Mark::Class,
        Mark::ClassWrong,
        Mark::Unknown,
    ];

    /// Marks what was said where `truth` is so.
    pub fn of(said: &Finding, truth: Option<u64>) -> Mark {
        match (said.verdict, truth) {
            (Verdict::Unknown, _) if said.one_of.is_empty() => Mark::Unknown,
            (Verdict::Unknown, Some(truth)) if said.one_of.contains(&truth) => Mark::Class,
            (Verdict::Unknown, _) => Mark::ClassWrong,
            (Verdict::None, None) => Mark::NoneRight,
            (Verdict::None, Some(_)) => Mark::NoneWrong,
            (Verdict::Found, truth) if truth.is_some() && said.value == truth => Mark::FoundRight,
            (Verdict::Found, _) => Mark::FoundWrong,
        }
    }

    /// True for an answer that decides and is not so.
    pub fn is_wrong(self) -> bool {
        matches!(self, Mark::FoundWrong | Mark::NoneWrong | Mark::ClassWrong)
    }

    /// As in the raw figures.
    pub fn word(self) -> &'static str {
        match self {
            Mark::FoundRight => "found right",
            Mark::FoundWrong => "found wrong",
            Mark::NoneRight => "none right",
            Mark::NoneWrong => "none wrong",
            Mark::Class => "class right",
            Mark::ClassWrong => "class wrong",
            Mark::Unknown => "unknown",
        }
    }
}

/// One answer about one card.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Noise: standard deviation over the cost of an erase block's boundary.
    pub level: f64,
    /// Seed of the card.
    pub seed: u64,
    /// True value; `None` if there is no such thing.
    pub truth: Option<u64>,
    /// True when the card's times show it at all.
    pub carried: bool,
    /// The answer itself.
    pub said: Finding,
}

impl Answer {
    /// Its assessment.
    pub fn mark(&self) -> Mark {
        Mark::of(&self.said, self.truth)
    }
}

/// Counts of one property at one level.
#[derive(Clone, Debug)]
pub struct Score {
    pub name: Name,
    pub level: f64,
    counts: BTreeMap<Mark, usize>,
    /// Cards.
    pub cards: usize,
}

impl Score {
    /// Counts `answers`.
    pub fn of<'a>(name: Name, level: f64, answers: impl Iterator<Item = &'a Answer>) -> Score {
        let mut counts = BTreeMap::new();
        let mut cards = 0;
        for answer in answers.filter(|a| a.said.name == name && a.level == level) {
            *counts.entry(answer.mark()).or_default() += 1;
            cards += 1;
        }
        Score { name, level, counts, cards }
    }

    /// How many answers are worth `mark`.
    pub fn count(&self, mark: Mark) -> usize {
        self.counts.get(&mark).copied().unwrap_or(0)
    }

    /// Share of answers that decide and are not so.
    pub fn wrong(&self) -> Option<ProportionInterval> {
        self.share(Mark::ALL.into_iter().filter(|m| m.is_wrong()).map(|m| self.count(m)).sum())
    }

    /// Share of answers that were left open.
    pub fn unknown(&self) -> Option<ProportionInterval> {
        self.share(self.count(Mark::Unknown))
    }

    fn share(&self, count: usize) -> Option<ProportionInterval> {
        proportion_interval(count, self.cards, CONFIDENCE)
    }

    /// Lists the promises that it does not meet.
    pub fn shortfalls(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        if self.wrong().is_none_or(|share| share.high > WRONG_MAX) {
            // When none is wrong, the bound shows only that so few cards cannot support a promise.
            let none = self.wrong().is_none_or(|share| share.value == 0.0);
            found.push(if none { "too few cards" } else { "wrong" });
        }
        let open = self
            .unknown()
            .is_none_or(|share| unknown_max(self.level).is_some_and(|most| share.value > most));
        if open {
            found.push("unknown");
        }
        found
    }
}

/// Lists shares that surely exceed their limits: even the lower bound is beyond. For samples too small to promise
/// anything.
#[cfg(test)]
pub fn surely_broken(score: &Score) -> Vec<&'static str> {
    const SURE: f64 = 0.99;
    let beyond = |count: usize, most: f64| {
        proportion_interval(count, score.cards, SURE).is_none_or(|share| share.low > most)
    };
    let wrong = Mark::ALL.into_iter().filter(|m| m.is_wrong()).map(|m| score.count(m)).sum();
    let mut found = Vec::new();
    if beyond(wrong, WRONG_MAX) {
        found.push("wrong");
    }
    if beyond(score.count(Mark::Unknown), unknown_max(score.level).unwrap_or(1.0)) {
        found.push("unknown");
    }
    found
}

/// Confidence that answers of one class state, and the share of them that is right.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Mean of the confidence that they state.
    pub stated: f64,
    /// Answers.
    pub answers: usize,
    /// Share of them that is right.
    pub right: ProportionInterval,
}

impl Calibration {
    /// That of `answers`, as far as they decide; `None` when none does.
    pub fn of<'a>(answers: impl Iterator<Item = &'a Answer>) -> Option<Calibration> {
        let stated: Vec<(f64, bool)> = answers
            .filter_map(|answer| Some((answer.said.confidence?, !answer.mark().is_wrong())))
            .collect();
        let right = stated.iter().filter(|(_, right)| *right).count();
        let right = proportion_interval(right, stated.len(), CONFIDENCE)?;
        let sum: f64 = stated.iter().map(|(confidence, _)| confidence).sum();
        Some(Calibration { stated: sum / stated.len() as f64, answers: stated.len(), right })
    }

    /// True when they are surely less often right than they say.
    pub fn overstates(&self) -> bool {
        self.right.high < self.stated
    }
}

/// Answers by class of stated confidence: the class in words, and what is so in it.
pub fn calibrations(answers: &[Answer]) -> Vec<(String, Calibration)> {
    let ends = std::iter::once(0.0).chain(EDGES).zip(EDGES.into_iter().chain([f64::INFINITY]));
    let class = |(from, to): (f64, f64)| {
        let inside = |answer: &&Answer| {
            answer.said.confidence.is_some_and(|stated| (from..to).contains(&stated))
        };
        let words = if to.is_finite() { format!("{from} to {to}") } else { format!("{from} on") };
        Some((words, Calibration::of(answers.iter().filter(inside))?))
    };
    ends.filter_map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(said: Finding, truth: Option<u64>) -> Answer {
        Answer { level: 0.1, seed: 1, truth, carried: true, said }
    }

    fn found(value: u64, confidence: f64) -> Finding {
        Finding::found(Name::Page, value, confidence, "")
    }

    // Breaks when a value of what is not there, or a denial of what is, counts as anything but wrong.
    #[test]
    fn answers_are_marked_against_the_truth() {
        let none = || Finding::none(Name::Page, 0.9, "");
        let open = || Finding::unknown(Name::Page, "");
        let marks = [
            Mark::of(&found(8, 0.9), Some(8)),
            Mark::of(&found(8, 0.9), Some(4)),
            Mark::of(&found(8, 0.9), None),
            Mark::of(&none(), None),
            Mark::of(&none(), Some(8)),
            Mark::of(&open(), None),
            Mark::of(&open(), Some(8)),
        ];
        let [right, wrong, of_nothing, absent, denied, left, open] = marks;
        assert_eq!(
            (right, wrong, of_nothing),
            (Mark::FoundRight, Mark::FoundWrong, Mark::FoundWrong)
        );
        assert_eq!((absent, denied), (Mark::NoneRight, Mark::NoneWrong));
        assert_eq!((left, open), (Mark::Unknown, Mark::Unknown));
    }

    // Breaks when bounds are not those that are promised: 3 wrong of 1,000 pass and 4 do not, whichever way they are
    // wrong; and unknown answers are counted by level.
    #[test]
    fn shortfalls_are_those_of_the_promise() {
        let shortfalls = |wrong: usize, open: usize, level: f64| {
            let one = |at: usize| {
                let said = match at {
                    at if at < wrong / 2 => Finding::none(Name::Page, 0.9, ""),
                    at if at < wrong => found(4, 0.9),
                    at if at < wrong + open => Finding::unknown(Name::Page, ""),
                    _ => found(8, 0.9),
                };
                Answer { level, ..answer(said, Some(8)) }
            };
            let answers: Vec<Answer> = (0..1000).map(one).collect();
            Score::of(Name::Page, level, answers.iter()).shortfalls()
        };
        assert!(shortfalls(3, 20, 0.1).is_empty());
        assert_eq!(shortfalls(4, 0, 0.1), ["wrong"]);
        assert_eq!(shortfalls(0, 21, 0.1), ["unknown"]);
        assert!(shortfalls(0, 150, 0.5).is_empty());
        assert_eq!(shortfalls(0, 151, 0.5), ["unknown"]);
        assert!(shortfalls(0, 900, 1.0).is_empty());
        let none = Score::of(Name::Page, 0.1, [].iter());
        assert_eq!(none.shortfalls(), ["too few cards", "unknown"]);
    }

    // Breaks when answers that are wrong more often than they say pass for calibrated, or those that do not decide
    // are counted.
    #[test]
    fn confidence_is_held_against_what_was_right() {
        let mut answers: Vec<Answer> = (0..200).map(|_| answer(found(8, 0.995), Some(8))).collect();
        answers.push(answer(Finding::unknown(Name::Page, ""), Some(8)));
        let classes = calibrations(&answers);
        assert_eq!(classes.len(), 1);
        assert_eq!((classes[0].0.as_str(), classes[0].1.answers), ("0.99 to 0.999", 200));
        assert!(!classes[0].1.overstates());
        answers.extend((0..20).map(|_| answer(found(4, 0.995), Some(8))));
        answers.push(answer(found(8, 1.0), Some(8)));
        let classes = calibrations(&answers);
        assert!(classes[0].1.overstates());
        assert_eq!(classes[1].0, "0.9999 on");
    }
}
