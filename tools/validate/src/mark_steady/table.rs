//! The page.

use stats::{Verdict, proportion_interval};

use super::NOISES;
use super::course::Course;
use super::judged::Judged;
use crate::sheet;

/// Greatest share of tests beyond the margin that may be proven: as a bound over all courses, and by itself in each.
const WRONG_MAX: f64 = 0.01;
/// Greatest share of steady tests that may be refuted.
const REFUTED_MAX: f64 = 0.05;

struct Share {
    count: usize,
    of: usize,
}

impl Share {
    fn of(judged: &[&Judged], verdict: Verdict) -> Share {
        Share {
            count: judged.iter().filter(|one| one.verdict == verdict).count(),
            of: judged.len(),
        }
    }

    /// One-sided, 95% (Clopper and Pearson).
    fn at_most(&self) -> f64 {
        proportion_interval(self.count, self.of, 0.9).map_or(1.0, |bounds| bounds.high)
    }

    fn value(&self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }

    fn words(&self) -> String {
        let share = 100.0 * self.value();
        format!(
            "{} of {} ({share:.1}%), at most {:.2}%",
            self.count,
            self.of,
            100.0 * self.at_most()
        )
    }
}

/// A claim: its words, what it came to, what is wanted, and whether it holds.
type Claim = (String, String, &'static str, bool);

fn claims(judged: &[Judged]) -> Vec<Claim> {
    let beyond = |course: Option<Course>| -> Vec<&Judged> {
        let is_of = |one: &&Judged| course.is_none_or(|course| one.course == course);
        judged.iter().filter(|one| one.is_beyond).filter(is_of).collect()
    };
    let mut claims = Vec::new();
    let courses = Course::ALL.into_iter().filter(|course| *course != Course::Steady).map(Some);
    for course in [None].into_iter().chain(courses) {
        let wrong = Share::of(&beyond(course), Verdict::Proven);
        let of = course.map_or("all courses", Course::words);
        let (wanted, most) = if course.is_none() {
            ("bound ≤ 1%", wrong.at_most())
        } else {
            ("≤ 1%", wrong.value())
        };
        claims.push((
            format!("changes by more than 5% and is proven steady: {of}"),
            wrong.words(),
            wanted,
            most <= WRONG_MAX,
        ));
    }
    let steady: Vec<&Judged> = judged.iter().filter(|one| one.course == Course::Steady).collect();
    let refuted = Share::of(&steady, Verdict::Refuted);
    let holds = refuted.at_most() <= REFUTED_MAX;
    claims.push(("steady and refuted".to_owned(), refuted.words(), "bound ≤ 5%", holds));
    claims
}

/// Claims that do not hold.
pub(super) fn shortfalls(judged: &[Judged]) -> Vec<String> {
    claims(judged).into_iter().filter(|claim| !claim.3).map(|claim| claim.0).collect()
}

pub(super) fn text(head: &str, judged: &[Judged]) -> String {
    let claims: Vec<Vec<String>> = claims(judged)
        .into_iter()
        .map(|(words, found, wanted, holds)| {
            vec![words, found, wanted.to_owned(), if holds { "yes" } else { "**no**" }.to_owned()]
        })
        .collect();
    let mut rows = Vec::new();
    for course in Course::ALL {
        for noise in NOISES {
            rows.push(row(judged, course, noise));
        }
    }
    let columns = [
        "latent rate",
        "noise of a window",
        "tests",
        "change ≤ 5%: proven",
        "refuted",
        "unprovable",
        "change > 5%: proven",
        "refuted",
        "unprovable",
    ];
    format!(
        "# The proof *steady* of a mark\n\n{head}Each test has 6, 10 or 20 runs, or 6 to 18 as they decide, of one window in 50 slices, drawn about a latent \
         rate and judged by the findings of `drivescope mark`. Windows take 10 to 75% of the time between runs. The noise is the \
         standard deviation of a window's mean: from run to run, from slice to slice, from slice to slice with a correlation of \
         0.5 to 0.9, or half from runs and half from slices. The latent change is the greatest between means of windows, or within windows \
         between their fifths where more than a quarter of the windows have it. Up to 5% the proof calls it none.\n\n\
         ## Claims\n\n{}\n## By course and noise\n\n{}",
        sheet::table(1, &["claim", "found", "wanted", "holds"], &claims),
        sheet::table(1, &columns, &rows)
    )
}

fn row(judged: &[Judged], course: Course, noise: f64) -> Vec<String> {
    let own: Vec<&Judged> =
        judged.iter().filter(|one| one.course == course && one.noise == noise).collect();
    let mut cells =
        vec![course.words().to_owned(), format!("{:.0}%", 100.0 * noise), own.len().to_string()];
    for is_beyond in [false, true] {
        for verdict in [Verdict::Proven, Verdict::Refuted, Verdict::Unprovable] {
            let is = |one: &&&Judged| one.is_beyond == is_beyond && one.verdict == verdict;
            cells.push(own.iter().filter(is).count().to_string());
        }
    }
    cells
}
