//! `trend`: how often a drive's history is said to have changed though it has not, and how often a change is found; by draws
//! of histories whose truth is known.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use stats::{Course, JudgedCourse, Turn, judge_courses, proportion_interval};

use crate::compare::Draw;
use crate::provenance::{self, Machine};
use crate::sheet;

/// The rule was made without looking at the draws of this seed.
const SEED: u64 = 20_261_124;
/// Histories for each line; another count is a trial.
const HISTORIES: usize = 1000;
/// A share of 5% gives this many of a thousand, or more, with a probability of one in a thousand.
const FALSE_MAX: usize = 73;
/// Least share of the changes that is found.
const FOUND_MIN: f64 = 0.95;
const CV: f64 = 0.03;
const MARGIN: f64 = 0.02;
const CONFIDENCE: f64 = 0.95;

/// Options of `trend`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Histories for each line; another count is a trial
    #[arg(long, default_value_t = HISTORIES)]
    histories: usize,
    /// Output directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// How the level goes.
#[derive(Clone, Copy)]
enum Level {
    Same,
    /// It loses this share after this many runs.
    Step(f64, usize),
    /// It loses this share from the first run to the last.
    Decline(f64),
}

/// How runs are about their level.
#[derive(Clone, Copy)]
enum Noise {
    Independent,
    /// Each resembles the one before, with this correlation.
    Correlated(f64),
    /// Three runs of ten are slower by a sixth.
    TwoModes,
    /// One run of ten is slower by up to a half.
    BadDays,
}

/// Criterion of a line.
#[derive(Clone, Copy)]
enum Wanted {
    AtMost(usize),
    AtLeast(f64),
    Told,
}

struct Case {
    level: Level,
    noise: Noise,
    runs: usize,
    /// Tests that are judged together; the first has the level, all others none.
    tests: usize,
    wanted: Wanted,
}

const fn case(level: Level, noise: Noise, runs: usize, wanted: Wanted) -> Case {
    Case { level, noise, runs, tests: 1, wanted }
}

const CASES: [Case; 16] = [
    case(Level::Same, Noise::Independent, 6, Wanted::AtMost(FALSE_MAX)),
    case(Level::Same, Noise::Independent, 12, Wanted::AtMost(FALSE_MAX)),
    case(Level::Same, Noise::Independent, 50, Wanted::AtMost(FALSE_MAX)),
    Case { tests: 8, ..case(Level::Same, Noise::Independent, 12, Wanted::AtMost(FALSE_MAX)) },
    case(Level::Same, Noise::TwoModes, 12, Wanted::AtMost(FALSE_MAX)),
    case(Level::Same, Noise::BadDays, 12, Wanted::AtMost(FALSE_MAX)),
    case(Level::Same, Noise::Correlated(0.3), 12, Wanted::Told),
    case(Level::Same, Noise::Correlated(0.5), 12, Wanted::Told),
    case(Level::Same, Noise::Correlated(0.5), 50, Wanted::Told),
    case(Level::Step(0.1, 6), Noise::Independent, 12, Wanted::AtLeast(FOUND_MIN)),
    Case { tests: 8, ..case(Level::Step(0.1, 6), Noise::Independent, 12, Wanted::Told) },
    case(Level::Step(0.1, 6), Noise::BadDays, 12, Wanted::Told),
    case(Level::Step(0.05, 6), Noise::Independent, 12, Wanted::Told),
    case(Level::Step(0.05, 20), Noise::Independent, 30, Wanted::Told),
    case(Level::Step(0.1, 21), Noise::Independent, 24, Wanted::Told),
    case(Level::Decline(0.2), Noise::Independent, 20, Wanted::AtLeast(FOUND_MIN)),
];

impl Case {
    fn words(&self) -> String {
        let level = match self.level {
            Level::Same => "no change".to_owned(),
            Level::Step(lost, after) => format!("{:.0}% less after {after}", 100.0 * lost),
            Level::Decline(lost) => format!("{:.0}% less bit by bit", 100.0 * lost),
        };
        let noise = match self.noise {
            Noise::Independent => "independent".to_owned(),
            Noise::Correlated(with) => format!("each resembles the one before, correlation {with}"),
            Noise::TwoModes => "two modes, three runs of ten slower by a sixth".to_owned(),
            Noise::BadDays => "one run of ten slower by up to a half".to_owned(),
        };
        format!("{level}; {noise}")
    }

    fn levels(&self) -> Vec<f64> {
        let level = |run: usize| match self.level {
            Level::Same => 1.0,
            Level::Step(lost, after) => {
                if run < after {
                    1.0
                } else {
                    1.0 - lost
                }
            }
            Level::Decline(lost) => 1.0 - lost * run as f64 / (self.runs - 1) as f64,
        };
        (0..self.runs).map(level).collect()
    }

    fn history(&self, draw: &mut Draw, levels: &[f64]) -> Vec<f64> {
        let with_before = if let Noise::Correlated(with) = self.noise { with } else { 0.0 };
        let noise = draw.correlated(self.runs, with_before);
        let mut run = |(level, noise): (&f64, f64)| {
            let slower = match self.noise {
                Noise::TwoModes if draw.unit() < 0.3 => 5.0 / 6.0,
                Noise::BadDays if draw.unit() < 0.1 => 0.5 + 0.5 * draw.unit(),
                _ => 1.0,
            };
            500.0 * level * slower * (1.0 + CV * noise)
        };
        levels.iter().zip(noise).map(&mut run).collect()
    }
}

/// Results of a case.
#[derive(Default)]
struct Found {
    lower: usize,
    higher: usize,
    /// Of those found lower, the change is placed within one run of where it was.
    placed: usize,
    /// The interval of the ratio holds the truth, of those found lower.
    covered: usize,
}

fn score(case: &Case, line: u64, histories: usize) -> Found {
    let mut draw = Draw::of(SEED, line);
    let mut found = Found::default();
    let levels = case.levels();
    let still = vec![1.0; case.runs];
    for _ in 0..histories {
        let of = |test: usize| if test == 0 { &levels } else { &still };
        let courses: Vec<Course> = (0..case.tests)
            .filter_map(|test| Course::new(&case.history(&mut draw, of(test))))
            .collect();
        let judged = judge_courses(&courses, CONFIDENCE, MARGIN);
        // Of several without a change, any that is said to have one is an alarm.
        let is_any = |turn: Turn| match case.level {
            Level::Same => judged.iter().any(|judged| judged.turn == turn),
            _ => judged.first().is_some_and(|judged| judged.turn == turn),
        };
        found.higher += usize::from(is_any(Turn::Higher));
        if is_any(Turn::Lower) {
            found.lower += 1;
            if let (Level::Step(lost, after), Some(judged)) = (case.level, judged.first()) {
                place(judged, lost, after, &mut found);
            }
        }
    }
    found
}

fn place(judged: &JudgedCourse, lost: f64, after: usize, found: &mut Found) {
    found.placed += usize::from(judged.at.is_some_and(|at| at.abs_diff(after) <= 1));
    let ends = judged.ratio.low.zip(judged.ratio.high);
    let truth = 1.0 - lost;
    found.covered += usize::from(ends.is_some_and(|(low, high)| low <= truth && truth <= high));
}

/// Scores the rule and writes the table; false when a claim does not hold.
///
/// # Errors
/// When the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.histories != HISTORIES)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let mut csv = "what,runs,tests,lower,higher,placed,covered,of\n".to_owned();
    let mut rows = Vec::new();
    let mut all_hold = true;
    for (line, case) in (100..).zip(&CASES) {
        let found = score(case, line, options.histories);
        let (of, words) = (options.histories, case.words());
        let Found { lower, higher, placed, covered } = found;
        let (runs, tests) = (case.runs, case.tests);
        let _ =
            writeln!(csv, "\"{words}\",{runs},{tests},{lower},{higher},{placed},{covered},{of}");
        let is_changed = !matches!(case.level, Level::Same);
        let hits = if is_changed { lower } else { lower + higher };
        let low = proportion_interval(hits, of, CONFIDENCE).map_or(0.0, |found| found.low);
        let share = 100.0 * hits as f64 / of.max(1) as f64;
        let (wanted, holds) = match case.wanted {
            Wanted::AtMost(most) => (format!("at most {most}"), hits <= most),
            Wanted::AtLeast(least) => {
                let is_found = hits as f64 >= least * of as f64;
                (format!("at least {:.0}%", 100.0 * least), is_found)
            }
            Wanted::Told => ("told".to_owned(), true),
        };
        all_hold &= holds;
        let of_found = |count: usize| match case.level {
            Level::Step(..) if lower > 0 => format!("{:.1}%", 100.0 * count as f64 / lower as f64),
            _ => "–".to_owned(),
        };
        rows.push(vec![
            words,
            runs.to_string(),
            tests.to_string(),
            format!("{hits} of {of}"),
            format!("{share:.1}%, at least {:.1}", 100.0 * low),
            of_found(placed),
            of_found(covered),
            wanted,
            if holds { "yes" } else { "**no**" }.to_owned(),
        ]);
    }
    let path = out.join("trend.csv");
    fs::write(&path, csv).with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "trend.csv", &more);
    let columns = [
        "history",
        "runs",
        "tests",
        "said to be changed",
        "share",
        "placed within a run",
        "interval holds the truth",
        "wanted",
        "holds",
    ];
    let page = format!(
        "# Histories\n\n{head}Each line draws histories of runs about a level, with a spread (CV) of 3%, and asks the rule that \
         `drivescope trend` asks ([method](../method/trend.md)), with a margin of 2%. Where the level changes, what counts is \
         that the history is said to have become slower. Of several tests judged together one has the level and the others have no \
         change; without a change, one that is said to have any is an alarm. The last two columns are of the \
         changes that were found.\n\n{}",
        sheet::table(1, &columns, &rows)
    );
    sheet::write(&out.join("trend.md"), &page)?;
    Ok(all_hold)
}
