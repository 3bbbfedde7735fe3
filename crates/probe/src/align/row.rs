//! Input of the judgement: one row for each class of boundaries, measured by drivescope or published by others.

use serde::{Deserialize, Serialize};

use super::class::Class;
use super::estimate::Estimate;

/// Times of reading one block before, across and after the boundaries of one class, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The class.
    pub class: Class,
    /// The least boundary of the class, in bytes: the number by which flashbench names the row.
    pub align_bytes: u64,
    /// Boundaries that it is an average over.
    pub places: u64,
    /// The block that ends at the boundary.
    pub pre_ns: f64,
    /// The block half of which lies on either side.
    pub on_ns: f64,
    /// The block that begins at the boundary.
    pub post_ns: f64,
    /// on - (pre + post) / 2. Free of what a command costs, and of what any place costs inside a page.
    pub diff: Estimate,
    /// on - (pre + post). Where both sides are read from cells of their own, as above the boundary of a page, it is
    /// free of how long those take, which differs from page to page.
    pub excess: Estimate,
    /// The lower quartile of the excess, over places: where but some boundaries of a class cost more, it does not show.
    pub lower: Estimate,
    /// on - max(pre, post): what crossing costs where both sides are read at once, and the slower one is waited for.
    pub beyond: Estimate,
    /// pre - post: what the last block before a boundary costs more than the first after it.
    pub sides: Estimate,
}

impl Row {
    /// A row of a published table: `align` in bytes, 2^k or 3 x 2^k, else `None`; times in nanoseconds. `diff` is
    /// its last column, which is printed with more digits than `on` allows, and `None` where it was cut. Errors are
    /// those of printing `digits` significant digits: all else is for [`infer`](super::infer) to estimate.
    pub fn published(align: u64, [pre, on, post]: [f64; 3], diff: Option<f64>) -> Option<Row> {
        let class = Class::of(align)?;
        let mean = (pre + post) / 2.0;
        // A column that disagrees with the others by more than their digits allow was cut or is of another row.
        let slack = printed(on) + printed(pre) + printed(post);
        let exact = diff.filter(|diff| (diff - (on - mean)).abs() <= slack + printed(*diff));
        let on_from_diff = exact.map_or(on, |diff| diff + mean);
        let uniform = 12f64.sqrt();
        let [e_pre, e_on, e_post] = [pre, on, post].map(|time| printed(time) / uniform);
        let e_diff = exact
            .map_or(e_on.hypot(e_pre / 2.0).hypot(e_post / 2.0), |diff| printed(diff) / uniform);
        let excess = Estimate {
            value_ns: on_from_diff - 2.0 * mean,
            error_ns: e_diff.hypot(e_pre / 2.0).hypot(e_post / 2.0),
        };
        Some(Row {
            class,
            align_bytes: align,
            places: 7,
            pre_ns: pre,
            on_ns: on_from_diff,
            post_ns: post,
            diff: Estimate { value_ns: on_from_diff - mean, error_ns: e_diff },
            excess,
            // Tables do not contain the lower quartile.
            lower: excess,
            beyond: Estimate {
                value_ns: on_from_diff - pre.max(post),
                error_ns: e_diff.hypot(e_pre / 2.0).hypot(e_post / 2.0),
            },
            sides: Estimate { value_ns: pre - post, error_ns: e_pre.hypot(e_post) },
        })
    }

    /// False for a row that no drive can have: an error that was written down as a time of 0, or worse.
    pub(super) fn is_sound(&self) -> bool {
        let times = [self.pre_ns, self.on_ns, self.post_ns];
        let estimates = [self.diff, self.excess, self.lower, self.beyond, self.sides];
        times.iter().all(|time| time.is_finite() && *time > 0.0)
            && estimates.iter().all(|e| e.value_ns.is_finite() && e.error_ns.is_finite())
    }

    /// on - share x (pre + post), for a share of 1/2 to 1.
    pub(super) fn contrast(&self, share: f64) -> Estimate {
        let to_excess = 2.0 * share - 1.0;
        let value_ns = (1.0 - to_excess) * self.diff.value_ns + to_excess * self.excess.value_ns;
        let error_ns = match share {
            0.5 => self.diff.error_ns,
            1.0 => self.excess.error_ns,
            _ => self.diff.error_ns.max(self.excess.error_ns),
        };
        Estimate { value_ns, error_ns }
    }
}

/// The step between two numbers of three significant digits at `value`.
fn printed(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    10f64.powi(value.abs().log10().floor() as i32 - 2)
}

/// Source of the rows, which determines what is known of their errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// This program: errors are estimated from samples at fresh places, and classes are pure.
    Measured,
    /// A table of flashbench: means over seven places of the least of some times, errors unknown. Of the seven
    /// boundaries of a row of 2^k, two are multiples of 3 x 2^k too.
    Published,
}

impl Source {
    /// Density of a row that went wrong, in a table whose reads take `time`: one in fifty, anywhere up to twice that
    /// either way. Our own rows are means of many samples.
    pub(super) fn wild(self, time: f64) -> f64 {
        match self {
            Source::Measured => 0.0,
            Source::Published => 0.02 / (4.0 * time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when the last column is not taken for what it is: the third digit of `on` alone makes the rows of a
    // table with times above a millisecond differ by 10 µs.
    #[test]
    fn the_last_column_makes_on_exact() {
        let row = Row::published(1 << 27, [735e3, 1.08e6, 780e3], Some(324e3)).unwrap();
        assert!((row.on_ns - 1_081_500.0).abs() < 1e-6 && row.diff.error_ns < 300.0, "{row:?}");
        let cut = Row::published(1 << 27, [735e3, 1.08e6, 780e3], Some(-412_331.0)).unwrap();
        assert!((cut.on_ns - 1.08e6).abs() < 1e-6 && cut.diff.error_ns > 2000.0, "{cut:?}");
        assert!(Row::published(5 << 20, [1.0; 3], None).is_none());
    }
}
