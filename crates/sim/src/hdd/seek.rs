//! How long the arm takes.

/// The seek curve: `a + b·sqrt(d)` below a crossing distance, `c + m·d` from there, for a distance of
/// `d` cylinders; the form that Ruemmler and Wilkes fitted to measured disks ("An Introduction to Disk
/// Drive Modeling", IEEE Computer 27(3), 1994). A short seek accelerates half way and brakes half
/// way, hence the root; a long one coasts at full speed, hence the line.
///
/// Three figures fix it: one cylinder, a third of the stroke (the mean distance of two random
/// cylinders), and the full stroke. Where the two parts meet they have one value and one slope, if the
/// figures allow that.
///
/// With the line through the last two figures, `b = 2·m·sqrt(x)` at the crossing `x` (equal slopes)
/// and `a = t1 - b`, equal values ask for `r² - 2r - (c - t1)/m = 0` with `r = sqrt(x)`, hence
/// `r = 1 + sqrt(1 + (c - t1)/m)`. All of it in integers: a curve that came out of a platform's
/// floating point could differ between machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeekCurve {
    /// `a`, in nanoseconds; negative when the root part is steep.
    base: i64,
    /// `b²`, in square nanoseconds per cylinder.
    root_squared: u128,
    /// `x`, in cylinders.
    crossing: u64,
    /// `c`, in nanoseconds.
    line: i64,
    /// `m` as a fraction: nanoseconds per `run` cylinders.
    rise: u64,
    run: u64,
}

impl SeekCurve {
    /// Fits the curve for `cylinders` cylinders; times in nanoseconds.
    ///
    /// # Errors
    /// Why no such curve exists, for people.
    pub(super) fn fit(
        cylinders: u64,
        one: u64,
        average: u64,
        full: u64,
    ) -> Result<SeekCurve, String> {
        let third = cylinders / 3;
        let stroke = cylinders.saturating_sub(1);
        if third < 2 {
            return Err(format!("{cylinders} cylinders are too few for a seek curve"));
        }
        if !(one < average && average < full) {
            return Err(format!(
                "track to track {one} ns, average {average} ns and full stroke {full} ns must rise"
            ));
        }
        let (rise, run) = (full - average, stroke - third);
        let climb = u64::try_from(u128::from(rise) * u128::from(third) / u128::from(run))
            .map_err(|_| "the times are too long".to_owned())?;
        let Some(line) = average.checked_sub(climb).filter(|line| *line > one) else {
            return Err(format!(
                "from {average} ns at a third of the stroke to {full} ns at all of it is so steep \
                 that short seeks would take less than the {one} ns of one cylinder; \
                 bring average and full stroke closer together"
            ));
        };
        // r in units of 2^-16, so that the root keeps its fraction.
        const ONE: u128 = 1 << 32;
        let ratio = u128::from(line - one) * u128::from(run) * ONE / u128::from(rise);
        let root = (1 << 16) + (ONE + ratio).isqrt();
        let smooth = (root * root) >> 32;
        let (crossing, slope) = if smooth <= u128::from(third) {
            (smooth as u64, ((2 * u128::from(rise) * root / u128::from(run)) >> 16) as u64)
        } else {
            // The line cannot begin beyond the figure that it was drawn through. The root then goes
            // through both its figures and meets the line at an angle.
            let root = (u128::from(third) << 32).isqrt() - (1 << 16);
            (third, ((u128::from(average - one) << 16) / root) as u64)
        };
        Ok(SeekCurve {
            base: one as i64 - slope as i64,
            root_squared: u128::from(slope) * u128::from(slope),
            crossing,
            line: line as i64,
            rise,
            run,
        })
    }

    /// Time for `distance` cylinders, in nanoseconds; zero for none.
    pub(super) fn time(&self, distance: u64) -> u64 {
        let time = if distance == 0 {
            0
        } else if distance < self.crossing {
            self.base + (self.root_squared * u128::from(distance)).isqrt() as i64
        } else {
            let climb = u128::from(self.rise) * u128::from(distance) / u128::from(self.run);
            self.line + climb as i64
        };
        u64::try_from(time).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_passes_through_its_three_figures() {
        let curve = SeekCurve::fit(400_000, 900_000, 8_500_000, 17_000_000).unwrap();
        for (distance, expected) in [(1, 900_000), (133_333, 8_500_000), (399_999, 17_000_000)] {
            let time = curve.time(distance);
            assert!(time.abs_diff(expected) < 1_000, "{distance} cylinders: {time} ns");
        }
        assert_eq!(curve.time(0), 0);
    }

    // Breaks when the two parts do not meet: a probe that fits the curve would find a step.
    #[test]
    fn it_rises_without_a_step_and_bends_once() {
        let curve = SeekCurve::fit(400_000, 900_000, 8_500_000, 17_000_000).unwrap();
        let x = curve.crossing;
        assert!((50_000..133_333).contains(&x), "{x}");
        assert!(curve.time(x).abs_diff(curve.time(x - 1)) < 1_000);
        let slope = |d: u64| curve.time(d + 1_000) - curve.time(d);
        assert!(slope(x - 1_100).abs_diff(slope(x)) < 500, "slopes differ at the crossing");
        let mut before = 0;
        for distance in (1..400_000).step_by(97) {
            assert!(curve.time(distance) >= before);
            before = curve.time(distance);
        }
    }

    // Breaks when a small disk, or one whose figures no smooth curve joins, cannot be modelled.
    #[test]
    fn figures_that_no_smooth_curve_joins_are_still_met() {
        for (cylinders, one, average, full) in
            [(24, 1_910_000, 8_500_000, 17_000_000), (1_000, 10, 8_000_000, 8_000_100)]
        {
            let curve = SeekCurve::fit(cylinders, one, average, full).unwrap();
            for (distance, expected) in [(1, one), (cylinders / 3, average), (cylinders - 1, full)]
            {
                let off = curve.time(distance).abs_diff(expected);
                assert!(off < 1_000, "{distance} of {cylinders} cylinders is {off} ns off");
            }
            assert!((1..cylinders - 1).all(|d| curve.time(d) <= curve.time(d + 1)));
        }
    }

    #[test]
    fn impossible_figures_are_refused_with_the_reason() {
        for (cylinders, one, average, full, word) in [
            (3, 1, 2, 3, "too few"),
            (1_000, 5, 4, 9, "must rise"),
            (1_000, 900_000, 1_000_000, 9_000_000, "so steep"),
        ] {
            let error = SeekCurve::fit(cylinders, one, average, full).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
