//! Is what is measured now and then still what it was?

use serde::{Deserialize, Serialize};

use crate::compare::{Agreement, Contrast, Design, RatioEstimate, agreement, holm, open};
use crate::sample;
use crate::shift::{Shift, shift};

/// Fewer values have no course.
pub const COURSE_MIN: usize = 6;

/// Of fewer values chance makes correlations that look as large as real ones do.
const WANDERING_MIN: usize = 20;
/// Widening of an interval by the correlation, as a factor, above which values wander.
const WANDERING: f64 = 1.5;

/// Seed of the permutations that show the effect of chance; it decides nothing else.
const SEED: u64 = 0x636f_7572;

/// Values of one thing in the order of time.
///
/// A change is looked for among the values' ranks, so that a single bad day weighs no more than any other.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The most likely lasting shift; `None` where all values are alike.
    shift: Option<Shift>,
    /// Values after the shift compared with those before; without a shift, as [`Course::halves`].
    around: Contrast,
    /// The later half to the earlier.
    halves: Contrast,
    wanders: bool,
}

/// Verdict on a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// It went up, and stayed there.
    Higher,
    /// It went down, and stayed there.
    Lower,
    /// It is what it was, within the margin.
    Unchanged,
    /// The values do not decide it.
    Undecided,
}

/// A course and what is said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedCourse {
    /// The verdict.
    pub turn: Turn,
    /// Index of the first value after the change; `None` where none is known.
    pub at: Option<usize>,
    /// Ratio of the values after the change to those before; where no change is known, of the later half to the earlier. The
    /// place of a change is chosen by the same values, which the interval does not count.
    pub ratio: RatioEstimate,
    /// How likely a course without a change looks as much like one.
    pub p_value: f64,
    /// The same by Holm's procedure over all courses judged together.
    pub p_holm: f64,
    /// Values before and values after at which it would be decided, each; `None` where it is.
    pub values_to_decide: Option<usize>,
}

impl Course {
    /// `None` for fewer than [`COURSE_MIN`] values, and when one is not positive and finite.
    pub fn new(values: &[f64]) -> Option<Course> {
        if values.len() < COURSE_MIN || !values.iter().all(|x| x.is_finite() && *x > 0.0) {
            return None;
        }
        let divided = |at: usize| Contrast::new(&values[at..], &values[..at], Design::Separate);
        let shift = shift(&sample::midranks(values), SEED);
        let middle = values.len() / 2;
        let (halves, around) = (divided(middle)?, divided(shift.map_or(middle, |shift| shift.at))?);
        let wanders = values.len() >= WANDERING_MIN && around.stretch() > WANDERING;
        let (halves, around) = (halves.of_independent(), around.of_independent());
        Some(Course { shift, around, halves, wanders })
    }

    /// True where a value resembles the one before more than by chance, apart from the change: such a course goes up and down
    /// by itself, and is called changed more often than the confidence allows. Always false below 20 values.
    pub fn wanders(&self) -> bool {
        self.wanders
    }

    /// How likely a course without a change looks as much like one: by the orders of its values, and by the difference of
    /// what came before and after, which has no interval where too little came. The greater of both. That values may
    /// resemble the one before is not counted: a dozen values do not show by how much, and one change in ten would be missed.
    pub fn p_value(&self) -> f64 {
        self.shift.map_or(1.0, |shift| shift.p_value.max(self.around.p_value()))
    }
}

/// Judges courses together: the probability that any of them is said to have changed though none has is at most
/// 1 - `confidence` (Holm 1979), for values that are independent. What changed by less than the `margin` (0.02 for 2%), or of
/// which the halves agree within it, is unchanged.
pub fn judge_courses(courses: &[Course], confidence: f64, margin: f64) -> Vec<JudgedCourse> {
    let error = 1.0 - confidence;
    let p_values: Vec<f64> = courses.iter().map(Course::p_value).collect();
    let adjusted = holm(&p_values);
    let open = open(&adjusted, error);
    let judged = |(index, course): (usize, &Course)| {
        let agrees = |contrast: &Contrast| {
            let narrow = contrast.estimate(1.0 - 2.0 * error);
            agreement((narrow.low, narrow.high), margin) == Agreement::Agrees
        };
        let is_changed = adjusted[index] <= error;
        let seen = if is_changed { &course.around } else { &course.halves };
        let turn = match (agrees(seen), is_changed) {
            (true, _) => Turn::Unchanged,
            (false, false) => Turn::Undecided,
            (false, true) if seen.ratio() > 1.0 => Turn::Higher,
            (false, true) => Turn::Lower,
        };
        let has_turned = matches!(turn, Turn::Higher | Turn::Lower);
        JudgedCourse {
            turn,
            at: course.shift.filter(|_| has_turned).map(|shift| shift.at),
            ratio: seen.estimate(confidence),
            p_value: p_values[index],
            p_holm: adjusted[index],
            values_to_decide: seen
                .runs_to_decide(margin, open, error)
                .filter(|_| turn == Turn::Undecided),
        }
    };
    courses.iter().enumerate().map(judged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;
    use crate::rng::Stream;

    const CONFIDENCE: f64 = 0.95;

    /// Values about `level(index)` with a spread of 3%.
    fn drawn(stream: &mut Stream, count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let noise = |stream: &mut Stream| 1.0 + 0.03 * normal::quantile(stream.open01());
        (0..count).map(|index| level(index) * noise(stream)).collect()
    }

    fn turn(values: &[f64]) -> JudgedCourse {
        judge_courses(&[Course::new(values).unwrap()], CONFIDENCE, 0.02).remove(0)
    }

    // A drive that is called slower though it is not is sent back for nothing; of 300 courses without a change 5% are 15,
    // and 28 are more than chance makes once in a thousand.
    #[test]
    fn what_did_not_change_is_seldom_said_to_have() {
        let mut stream = Stream::new(71);
        for count in [6, 12, 30] {
            let alarms = (0..300).filter(|_| {
                let found = turn(&drawn(&mut stream, count, |_| 500.0)).turn;
                matches!(found, Turn::Higher | Turn::Lower)
            });
            let alarms = alarms.count();
            assert!(alarms <= 28, "{alarms} of 300 courses of {count}");
        }
    }

    #[test]
    fn a_tenth_less_is_found_and_where_it_was_lost() {
        let mut stream = Stream::new(72);
        let (mut found, mut placed, mut covered) = (0, 0, 0);
        for _ in 0..300 {
            let values = drawn(&mut stream, 12, |index| if index < 6 { 500.0 } else { 450.0 });
            let judged = turn(&values);
            found += usize::from(judged.turn == Turn::Lower);
            placed += usize::from(judged.at.is_some_and(|at| at.abs_diff(6) <= 1));
            let ends = judged.ratio.low.zip(judged.ratio.high);
            covered += usize::from(ends.is_some_and(|(low, high)| low <= 0.9 && 0.9 <= high));
        }
        assert!(found >= 285, "{found}");
        assert!(placed >= 285, "{placed}");
        assert!(covered >= 270, "{covered}");
    }

    // A drive that wears out loses a little with each month and has no day on which it broke.
    #[test]
    fn a_slow_decline_is_one() {
        let mut stream = Stream::new(73);
        let found = (0..100).filter(|_| {
            let values = drawn(&mut stream, 20, |index| 500.0 * (1.0 - 0.01 * index as f64));
            turn(&values).turn == Turn::Lower
        });
        assert!(found.count() >= 95);
    }

    #[test]
    fn one_bad_day_is_no_change() {
        let mut stream = Stream::new(74);
        let mut values = drawn(&mut stream, 12, |_| 500.0);
        values[11] = 250.0;
        assert!(!matches!(turn(&values).turn, Turn::Lower | Turn::Higher));
    }

    #[test]
    fn values_that_agree_are_unchanged_also_when_all_are_alike() {
        let still: Vec<f64> = (0..12).map(|index| 500.0 + f64::from(index % 3)).collect();
        assert_eq!(turn(&still).turn, Turn::Unchanged);
        let alike = turn(&[500.0; 8]);
        assert_eq!((alike.turn, alike.ratio.ratio, alike.at), (Turn::Unchanged, 1.0, None));
        // A change that is certain and too small to matter.
        let step: Vec<f64> = (0..20).map(|index| if index < 10 { 500.0 } else { 501.0 }).collect();
        assert_eq!(turn(&step).turn, Turn::Unchanged);
    }

    #[test]
    fn too_few_values_and_no_numbers_have_no_course() {
        assert_eq!(Course::new(&[1.0; 5]), None);
        assert_eq!(Course::new(&[1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0]), None);
        assert_eq!(Course::new(&[1.0, 2.0, 3.0, 0.0, 5.0, 6.0]), None);
    }

    // A drive that goes up and down by itself must not be reported as *slower* without saying so.
    #[test]
    fn a_course_that_wanders_is_known_as_one() {
        let mut stream = Stream::new(76);
        let (mut wandering, mut still) = (0, 0);
        for _ in 0..100 {
            let noise = drawn(&mut stream, 60, |_| 500.0);
            still += usize::from(Course::new(&noise).unwrap().wanders());
            let mut off = 0.0;
            let walk = |value: &f64| {
                off = 0.7 * off + (value - 500.0);
                500.0 + off
            };
            let walked: Vec<f64> = noise.iter().map(walk).collect();
            wandering += usize::from(Course::new(&walked).unwrap().wanders());
        }
        assert!(wandering >= 80 && still <= 10, "{wandering} {still}");
    }

    // Each further course is a further chance of a false alarm.
    #[test]
    fn many_courses_together_raise_few_alarms() {
        let mut stream = Stream::new(75);
        let alarms = (0..200).filter(|_| {
            let draw = |_| Course::new(&drawn(&mut stream, 12, |_| 500.0)).unwrap();
            let courses: Vec<Course> = (0..8).map(draw).collect();
            let judged = judge_courses(&courses, CONFIDENCE, 0.02);
            judged.iter().any(|one| matches!(one.turn, Turn::Higher | Turn::Lower))
        });
        let alarms = alarms.count();
        assert!(alarms <= 21, "{alarms} of 200");
    }
}
