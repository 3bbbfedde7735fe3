//! The marks of one drive over time: is it still what it was?
//!
//! Each recorded run is one point of a test's history: the median of its repetitions. A drive that is measured twice a
//! month says more of itself than one that is measured twice in a minute, so it is the runs that are counted.

use std::collections::BTreeSet;

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use stats::remedy::Run;
use stats::{Caveat, Course, JudgedCourse, Remedy, Turn, judge_courses};

use crate::body::CONFIDENCE;
use crate::body::{Body, Test};

/// A recorded mark of the drive, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a> {
    /// The run's name.
    pub run_id: &'a str,
    /// When it was begun, RFC 3339.
    pub date: &'a str,
    /// Target: a device, or a directory's filesystem, as the record names it.
    pub place: &'a str,
    /// Circumstances by kind: machine, kernel, version of drivescope.
    pub with: &'a [(&'a str, String)],
    /// The mark.
    pub body: &'a Body,
}

/// Result of the analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Ratios within this share of 1 do not count as a change, in percent.
    pub margin_percent: f64,
    /// Confidence of the intervals; one less it is the probability that any of the verdicts *faster* and *slower* is wrong.
    pub confidence: f64,
    /// Verdict on the drive.
    pub verdict: Verdict,
    /// By test, each with the settings that its runs have in common.
    pub histories: Vec<History>,
    /// Doubts, each with cause and remedy.
    pub caveats: Vec<Caveat>,
}

/// Verdict on a history, or on all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It went down and stayed there; of all: one did.
    Slower,
    /// It went up and stayed there; of all: one did, and none went down.
    Faster,
    /// It is what it was, within the margin; of all: each is.
    Unchanged,
    /// The runs do not decide it.
    Undecided,
    /// There are fewer than six runs.
    TooFew,
}

impl Verdict {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Unchanged => "unchanged",
            Verdict::Undecided => "undecided",
            Verdict::TooFew => "too few runs",
        }
    }
}

/// One test, made again and again in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// `SEQ1M Q8T1`.
    pub name: String,
    /// `read`, `write`, or `mix70`.
    pub op: String,
    /// Other settings that its runs have in common.
    pub settings: Settings,
    /// The runs, the oldest first.
    pub points: Vec<Point>,
    /// Verdict.
    pub verdict: Verdict,
    /// The evidence; null with fewer than six runs.
    pub course: Option<JudgedCourse>,
    /// True when the latest run alone lies far out of what the others are: no change yet, and worth another run.
    pub is_latest_far_out: bool,
}

/// How a test was made, as far as its numbers depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Target.
    pub place: String,
    /// How I/O was issued.
    pub engine: String,
    /// The page cache was bypassed.
    pub direct: bool,
    /// Each write had to be durable.
    pub durable: bool,
    /// Size of the region that was used.
    pub region_bytes: Bytes,
    /// Offset of the region on the target.
    pub region_offset_bytes: Bytes,
    /// Measured time of a repetition.
    pub duration_ns: Nanos,
    /// Load before it.
    pub warm_up_ns: Nanos,
    /// Idle time before it.
    pub pause_ns: Nanos,
}

/// One run of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The run's name.
    pub run_id: String,
    /// When it was begun.
    pub date: String,
    /// Median of its repetitions.
    pub mb_s: f64,
}

impl History {
    /// The run after the change, where one is known.
    pub fn changed_at(&self) -> Option<&Point> {
        self.points.get(self.course.as_ref()?.at?)
    }

    /// Throughput of each run, the oldest first.
    pub fn rates(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.mb_s).collect()
    }
}

/// The history of a drive's marks, given in the order of time; `margin_percent` such as 2. Numbers that were withdrawn are
/// left out.
pub fn trend(marks: &[Marked<'_>], margin_percent: f64) -> Trend {
    let mut histories: Vec<History> = Vec::new();
    let mut withdrawn: Vec<&str> = Vec::new();
    for mark in marks {
        let settings = settings(mark);
        for test in &mark.body.tests {
            let Some(mb_s) = test.mb_s.median.filter(|rate| *rate > 0.0) else { continue };
            if !test.headline {
                withdrawn.push(mark.run_id);
                continue;
            }
            let (run_id, date) = (mark.run_id.to_owned(), mark.date.to_owned());
            history(&mut histories, test, &settings).points.push(Point { run_id, date, mb_s });
        }
    }
    let courses: Vec<Option<Course>> =
        histories.iter().map(|history| Course::new(&history.rates())).collect();
    let told: Vec<Course> = courses.iter().flatten().cloned().collect();
    let mut judged = judge_courses(&told, CONFIDENCE, margin_percent / 100.0).into_iter();
    let mut wandering = Vec::new();
    for (history, course) in histories.iter_mut().zip(&courses) {
        let Some(course) = course else { continue };
        history.course = judged.next();
        history.verdict = match history.course.as_ref().map(|judged| judged.turn) {
            Some(Turn::Lower) => Verdict::Slower,
            Some(Turn::Higher) => Verdict::Faster,
            Some(Turn::Unchanged) => Verdict::Unchanged,
            Some(Turn::Undecided) | None => Verdict::Undecided,
        };
        history.is_latest_far_out = is_last_far_out(&history.rates());
        if course.wanders() {
            wandering.push(format!("{} {}", history.name, history.op));
        }
    }
    let mut caveats = Vec::new();
    caveats.extend(changed_around(&histories, marks));
    caveats.extend(doubts(&histories, &wandering, &withdrawn));
    Trend {
        margin_percent,
        confidence: CONFIDENCE,
        verdict: overall(&histories),
        histories,
        caveats,
    }
}

fn settings(mark: &Marked<'_>) -> Settings {
    let setup = &mark.body.setup;
    Settings {
        place: mark.place.to_owned(),
        engine: setup.engine.clone(),
        direct: setup.direct,
        durable: setup.durable,
        region_bytes: setup.region_bytes,
        region_offset_bytes: setup.region_offset_bytes,
        duration_ns: setup.duration_ns,
        warm_up_ns: setup.warm_up_ns,
        pause_ns: setup.pause_ns,
    }
}

/// The history that `test` belongs to.
fn history<'a>(
    histories: &'a mut Vec<History>,
    test: &Test,
    settings: &Settings,
) -> &'a mut History {
    let is_it = |history: &History| {
        (&history.name, &history.op, &history.settings) == (&test.name, &test.op, settings)
    };
    let at = histories.iter().position(is_it).unwrap_or_else(|| {
        histories.push(History {
            name: test.name.clone(),
            op: test.op.clone(),
            settings: settings.clone(),
            points: Vec::new(),
            verdict: Verdict::TooFew,
            course: None,
            is_latest_far_out: false,
        });
        histories.len() - 1
    });
    &mut histories[at]
}

/// Distance from the usual value, as a share, up to which a value is not far out.
const OFF_MIN: f64 = 0.02;

/// True when the last value lies beyond the outer fences (Tukey 1977) of those before it.
fn is_last_far_out(rates: &[f64]) -> bool {
    let Some((last, before)) = rates.split_last() else { return false };
    // The fences of values that hardly differ nearly coincide, and a value beyond them is not yet a change.
    let is_off = stats::median(before).is_some_and(|usual| (last / usual - 1.0).abs() > OFF_MIN);
    is_off
        && stats::tukey_fences(before)
            .is_some_and(|fences| *last < fences.outer_low || *last > fences.outer_high)
}

fn overall(histories: &[History]) -> Verdict {
    let any = |verdict| histories.iter().any(|history| history.verdict == verdict);
    let told: Vec<&History> =
        histories.iter().filter(|history| history.verdict != Verdict::TooFew).collect();
    if any(Verdict::Slower) {
        Verdict::Slower
    } else if any(Verdict::Faster) {
        Verdict::Faster
    } else if told.is_empty() {
        Verdict::TooFew
    } else if told.iter().all(|history| history.verdict == Verdict::Unchanged) {
        Verdict::Unchanged
    } else {
        Verdict::Undecided
    }
}

/// Changes of circumstances that coincide with a change of the numbers: they may be its cause, with the drive unchanged.
fn changed_around(histories: &[History], marks: &[Marked<'_>]) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = Vec::new();
    for history in histories {
        let Some(at) = history.course.as_ref().and_then(|course| course.at) else { continue };
        let of = |index: usize| {
            let run_id = &history.points.get(index)?.run_id;
            marks.iter().find(|mark| mark.run_id == run_id)
        };
        let Some((before, after)) = at.checked_sub(1).and_then(of).zip(of(at)) else { continue };
        let differs = before.with.iter().filter_map(|(what, then)| {
            let (_, now) = after.with.iter().find(|(other, _)| other == what)?;
            (now != then).then(|| format!("{what} went from {then} to {now}"))
        });
        let differs: Vec<String> = differs.collect();
        if differs.is_empty() {
            continue;
        }
        let subject = format!("{} {}", history.name, history.op);
        let cause = format!("with the change, {}", differs.join("; "));
        caveats.push(Caveat::new("changed_around", &subject, cause, Run::RestoreCircumstances));
    }
    caveats
}

/// `withdrawn` are the runs of the numbers that were left out, one for each number.
fn doubts(histories: &[History], wandering: &[String], withdrawn: &[&str]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for history in histories.iter().filter(|history| history.is_latest_far_out) {
        let subject = format!("{} {}", history.name, history.op);
        let last = history.points.last().map_or("", |point| &point.run_id);
        let cause = format!("the latest run ({last}) lies far out of what the others are");
        caveats.push(Caveat::new("latest_far_out", &subject, cause, Run::MeasureTwiceMore));
    }
    for test in wandering {
        let cause = "its runs resemble the ones before them: it goes up and down by itself";
        caveats.push(Caveat::new("wandering", test, cause, Run::LookAtPoints));
    }
    if let Some(last) = withdrawn.last() {
        let cause = match withdrawn.len() {
            1 => "1 number is left out: its run withdrew it".to_owned(),
            count => format!("{count} numbers are left out: their runs withdrew them"),
        };
        let runs: BTreeSet<_> = withdrawn.iter().collect();
        let (run_id, last_of_several) = ((*last).to_owned(), runs.len() > 1);
        let remedy = Remedy::ShowRun { run_id, last_of_several };
        caveats.push(Caveat::new("withdrawn", "the history", cause, remedy));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a tenth of a percent is called far out, because what came before agrees even better; or a third is not.
    #[test]
    fn far_out_is_beyond_the_others_and_beyond_what_matters() {
        let before = [184.9, 184.7, 184.5, 184.7, 184.7];
        let with = |last: f64| is_last_far_out(&[&before[..], &[last]].concat());
        assert!(!with(184.9) && !with(187.0));
        assert!(with(120.0) && with(260.0));
        assert!(!is_last_far_out(&[100.0, 140.0, 90.0, 120.0, 160.0]));
    }
}
